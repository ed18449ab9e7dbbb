"""The large linked trace of the benches: 5,000 operators outside and 200 delegate calls with 20
events each, in 70 runs: a million slices. OPSCOPE_BENCH_RUNS sets the size.
"""

from functools import cache

import numpy as np

from tests.builders.bench_sizes import size
from viewer.model.building.builder import TraceBuilder
from viewer.model.inference_views import Inferences
from viewer.model.trace import Clock, KeyKind, RunKind
from viewer.program.debug_handles import DelegateMap
from viewer.program.program import GraphNode, Method, Operator, Program
from viewer.view.open_trace import OpenTrace, views_of
from viewer.workspace.workspace import Workspace

RUNS = size(70, 4, "OPSCOPE_BENCH_RUNS")
OPERATORS, CALLS, EVENTS = 5000, 200, 20
STEP = 1000  # ns of an instruction


@cache
def opened() -> OpenTrace:
    """The open trace, linked: operators at instructions 0 to 4999, delegates at those behind."""
    builder = TraceBuilder("/bench/run.etdp", "ETDump", "", Clock())
    track = builder.track("run", "forward")
    scope = builder.scope("Execute", "forward")
    execute = builder.key(KeyKind.FRAMEWORK, "Method::execute", scope=scope)
    start, long, key, depth = [0], [(OPERATORS + CALLS) * STEP], [execute], [0]
    for i in range(OPERATORS):
        for kind, name, level in (
            (KeyKind.OPERATOR_CALL, "OPERATOR_CALL", 1),
            (KeyKind.KERNEL, "native_call_relu.out", 2),
        ):
            start.append(i * STEP + 10 * level)
            long.append(STEP - 20 * level)
            key.append(builder.key(kind, name, scope=scope, instruction=i))
            depth.append(level)
    for i in range(OPERATORS, OPERATORS + CALLS):
        start.append(i * STEP)
        long.append(STEP - 10)
        key.append(builder.key(KeyKind.DELEGATE_CALL, "DELEGATE_CALL", scope=scope, instruction=i))
        depth.append(1)
        for n in range(EVENTS):
            start.append(i * STEP + 40 * n)
            long.append(30)
            key.append(
                builder.key(
                    KeyKind.DELEGATE_EVENT,
                    f"op{n}",
                    scope=scope,
                    instruction=i,
                    identifier=f"op{n}",
                )
            )
            depth.append(2)
    span = (OPERATORS + CALLS + 10) * STEP
    offset = np.repeat(np.arange(RUNS) * span, len(start))
    starts = np.tile(np.array(start), RUNS) + offset
    builder.add(
        track=np.full(len(starts), track, np.uint32), start=starts,
        end=starts + np.tile(np.array(long), RUNS),
        name=builder.intern_all(["x"])[np.zeros(len(starts), np.int64)],
        key=np.tile(np.array(key, np.uint32), RUNS), levels=np.tile(np.array(depth), RUNS),
    )  # fmt: skip
    for run in range(RUNS):
        at = run * span
        builder.run(RunKind.INFERENCE, "Execute", track, scope, at, at + (OPERATORS + CALLS) * STEP)
    space = Workspace()
    trace = builder.build()
    space.add(trace)
    space.add(record())
    space.pair(trace.path, "/bench/model.etrecord")
    return views_of(space, {Inferences.AS_RUN}, {})[trace, Inferences.AS_RUN]


def record() -> Program:
    operators = tuple(
        Operator(i, "forward", i + 1, (GraphNode(f"relu_{i}", "aten.relu.default", i + 1),))
        for i in range(OPERATORS + CALLS)
    )
    entries = {f"op{n}": (n + 1,) for n in range(EVENTS)}
    delegates = {i: DelegateMap("Npu", entries) for i in range(OPERATORS, OPERATORS + CALLS)}
    handles = {i: (i + 1,) for i in range(OPERATORS + CALLS)}
    method = Method("forward", operators, handles, delegates)
    return Program("/bench/model.etrecord", "ETRecord", "1.2+", (method,))
