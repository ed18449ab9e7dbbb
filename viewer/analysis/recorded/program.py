"""The operators that a profile itself records: a program without a model file, and its links.

PyTorch        operators, kernels, Python functions and calls of modules, per call site
ExecuTorch     kernels and the types of operators, in a Chrome trace of an ETDump
ONNX Runtime   the nodes of the model, with their op types and execution providers
viztracer      Python functions with file and line
LiteRT, Vela   the nodes of the model, with their operator types
layer tables   the same, or the nodes in the names of layers
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from viewer.analysis.links.link_table import Link, LinkTable, Reason
from viewer.analysis.recorded.frames import frame_of
from viewer.analysis.recorded.layer_nodes import LAYER_TABLE, layer_calls
from viewer.analysis.recorded.recorded_call import RecordedCall
from viewer.model.trace import Trace
from viewer.program.program import GraphNode, Method, Operator, Program

PYTORCH, ONNX_RUNTIME, PYTHON = "PyTorch profile", "ONNX Runtime profile", "Python profile"
EXECUTORCH = "ExecuTorch events"
_SCOPE = Link(Reason.FRAMEWORK, "A scope of the profiler or the runtime, not an operator")
_RECORDED = Link(Reason.BY_PROFILE, "The profile itself states its operator")
CALLS = "calls"
# Tables of runtimes and compilers that state the operator type of each row.
OF_RUNTIMES = frozenset(("LiteRT benchmark", "Vela per-layer CSV"))
# A trace of another kind may have a name that looks like a function by chance.
_LEAST_SHARE = 0.5
# Linking takes 5 µs per name, and no program has so many functions.
_MOST_NAMES = 200_000


def recorded_links(trace: Trace) -> LinkTable | None:
    """Return the links of a trace to the operators that it records; None if it records none."""
    if trace.format in OF_RUNTIMES:
        from viewer.analysis.recorded.runtime_nodes import runtime_calls

        nodes = runtime_calls(trace)
        return _linked(trace, f"{trace.format} profile", nodes) if any(nodes) else None
    if trace.format == LAYER_TABLE:
        layers = layer_calls(trace)
        return _linked(trace, f"{trace.format} profile", layers) if any(layers) else None
    if not trace.format.startswith("Chrome"):
        return None
    # Imports that other profiles do without: a tenth of the time of `opscope info`.
    from viewer.analysis.recorded.pytorch import pytorch_calls
    from viewer.analysis.recorded.runtime_nodes import executorch_calls, onnx_runtime_calls

    if trace.calls is not None:
        return _linked(trace, PYTORCH, pytorch_calls(trace, trace.calls))
    nodes = onnx_runtime_calls(trace)
    if any(nodes):
        return _linked(trace, ONNX_RUNTIME, nodes)
    nodes = executorch_calls(trace)
    if any(nodes):
        return _linked(trace, EXECUTORCH, nodes)
    functions = function_calls(trace)
    return _linked(trace, PYTHON, functions) if any(functions) else None


def _linked(trace: Trace, format_: str, calls: Sequence[RecordedCall | None]) -> LinkTable:
    """Return the links of every key to its call; equal calls are one operator."""
    number: dict[tuple[str, tuple[GraphNode, ...]], int] = {}
    # A node with a deep stack takes long to look up: once per key.
    own = [
        -1
        if call is None
        else number.setdefault((call.method, (call.node, *call.fused)), len(number))
        for call in calls
    ]
    by_method: dict[str, list[tuple[int, tuple[GraphNode, ...]]]] = {}
    for (name, nodes), first in number.items():
        by_method.setdefault(name, []).append((first, nodes))
    methods = []
    index = [0] * len(number)
    count = 0
    for name, members in by_method.items():
        operators = []
        for first, nodes in members:
            index[first] = count
            operators.append(Operator(count, name, nodes[0].debug_handle, nodes))
            count += 1
        methods.append(Method(name, tuple(operators)))
    program = Program(
        trace.path,
        format_,
        "",
        tuple(methods),
        is_recorded=True,
        is_nested=format_ in (PYTORCH, PYTHON),
    )
    _ = program.source_lines, program.module_paths  # cached here: the GUI thread shows them
    links = tuple(
        _SCOPE
        if call is None
        else Link(
            _RECORDED.reason,
            _RECORDED.detail,
            (),
            (index[first],),
            backend=call.backend,
        )
        for call, first in zip(calls, own, strict=True)
    )
    return LinkTable(trace, program, None, links)


def function_calls(trace: Trace) -> list[RecordedCall | None]:
    """Return the function of every key; empty unless most names of the trace are functions."""
    if not 0 < len(trace.keys) <= _MOST_NAMES:
        return []
    found: list[RecordedCall | None] = []
    for number in trace.keys.name.tolist():
        name = trace.strings[number]
        frame = frame_of(name)
        node = None
        if frame is not None:
            node = GraphNode(name, name, -1, (replace(frame, is_stated=True),), (), name)
        found.append(None if node is None else RecordedCall(CALLS, node))
    is_function = np.array([call is not None for call in found])
    slices = np.bincount(trace.slices.key, minlength=len(found))
    enough = slices[is_function].sum() >= _LEAST_SHARE * len(trace.slices)
    return found if enough and is_function.any() else []
