"""The large model of the benches and a profile of it: 5,000 operators, a call and a kernel each.

OPSCOPE_BENCH_RUNS sets how many runs; 100 are a million slices. The same every time. Every tenth
call is one of two operators, so some time is shared.
"""

import numpy as np

from tests.builders.bench_sizes import size
from viewer.model.building.builder import TraceBuilder
from viewer.model.trace import Clock, KeyKind, RunKind, Trace
from viewer.program.frames import Frame
from viewer.program.program import GraphNode, Method, Operator, Program

OPERATORS = 5000
RUNS = size(10, 2, "OPSCOPE_BENCH_RUNS")
LINES = 400  # of the source
_LONG = 1000  # ticks of a call


def program(source: str = "/m/models.py") -> Program:
    """A model of one source file: 50 blocks of 20 modules of 5 operators.

    Every tenth call is of two neighbors.
    """
    operators = []
    for i in range(OPERATORS):
        block, part = i // 100, i % 100 // 5
        chain = (
            ("", "m.Net"), ("blocks", "nn.ModuleList"), (f"blocks.{block}", "m.Block"),
            (f"blocks.{block}.part{part}", "nn.Linear"),
        )  # fmt: skip
        frame = Frame(source, i % LINES + 1, "forward", "")
        node = GraphNode(f"linear_{i}", "aten.linear.default", i + 1, (frame,), chain)
        operators.append(Operator(i, "forward", i + 1, (node,)))
    handles = {
        i: (i + 1, i % OPERATORS + 2) if i % 10 == 4 and i + 1 < OPERATORS else (i + 1,)
        for i in range(OPERATORS)
    }  # fmt: skip
    return Program(
        "/m/m.etrecord", "ETRecord", "1", (Method("forward", tuple(operators), handles),)
    )


def trace() -> Trace:
    """Runs of it, with a kernel in every call."""
    builder = TraceBuilder("/m/m.etdp", "ETDump", "", Clock("ns"))
    track, scope = builder.track("m.etdp", "forward"), builder.scope("Execute", "forward")
    execute = builder.key(KeyKind.FRAMEWORK, "Method::execute", scope=scope)
    calls = np.array(
        [builder.key(KeyKind.OPERATOR_CALL, "OPERATOR_CALL", scope=scope, instruction=i)
         for i in range(OPERATORS)], np.uint32,
    )  # fmt: skip
    kernels = np.array(
        [builder.key(KeyKind.KERNEL, "native_call_linear.out", scope=scope, instruction=i)
         for i in range(OPERATORS)], np.uint32,
    )  # fmt: skip
    rng = np.random.default_rng(3)
    for run in range(RUNS):
        begin = run * (OPERATORS + 2) * _LONG
        start = begin + 1 + np.arange(OPERATORS) * _LONG
        end = start + rng.integers(200, _LONG, OPERATORS)
        finish = begin + (OPERATORS + 1) * _LONG
        builder.run(RunKind.INFERENCE, "Execute", track, scope, begin, finish)
        for level, keys, name, a, b in (
            (0, execute, "Method::execute", np.array([begin]), np.array([finish])),
            (1, calls, "OPERATOR_CALL", start, end),
            (2, kernels, "native_call_linear.out", start + 20, end - 20),
        ):
            builder.add(
                track=track, start=a, end=b, name=builder.intern(name), key=keys,
                levels=np.full(len(a), level, np.int32),
            )  # fmt: skip
    return builder.build()
