"""The operators that a profile itself records: a program without a model file, and its links.

PyTorch        operators, kernels, Python functions and calls of modules, per call site
ONNX Runtime   the nodes of the model, with their op types and execution providers
viztracer      Python functions with file and line
"""

from __future__ import annotations

from collections.abc import Sequence

from viewer.analysis.links.link_table import Link, LinkTable, Reason
from viewer.analysis.recorded.onnx_runtime import onnx_runtime_calls
from viewer.analysis.recorded.python_functions import function_calls
from viewer.analysis.recorded.pytorch import pytorch_calls
from viewer.analysis.recorded.recorded_call import RecordedCall
from viewer.model.trace import Trace
from viewer.program.program import GraphNode, Method, Operator, Program

PYTORCH, ONNX_RUNTIME, PYTHON = "PyTorch profile", "ONNX Runtime profile", "Python profile"
_SCOPE = Link(Reason.FRAMEWORK, "A scope of the profiler or the runtime, not an operator")
_RECORDED = Link(Reason.BY_PROFILE, "The profile itself states its operator")


def recorded_links(trace: Trace) -> LinkTable | None:
    """Return the links of a trace to the operators that it records; None if it records none."""
    if not trace.format.startswith("Chrome"):
        return None
    if trace.calls is not None:
        return _linked(trace, PYTORCH, pytorch_calls(trace, trace.calls))
    nodes = onnx_runtime_calls(trace)
    if any(nodes):
        return _linked(trace, ONNX_RUNTIME, nodes)
    functions = function_calls(trace)
    return _linked(trace, PYTHON, functions) if any(functions) else None


def _linked(trace: Trace, format_: str, calls: Sequence[RecordedCall | None]) -> LinkTable:
    """Return the links of every key to its call; equal calls are one operator."""
    number: dict[tuple[str, GraphNode], int] = {}
    by_method: dict[str, list[tuple[str, GraphNode]]] = {}
    for call in calls:
        if call is not None:
            what = call.method, call.node
            if what not in number:
                number[what] = -1
                by_method.setdefault(call.method, []).append(what)
    methods = []
    index = 0
    for name, members in by_method.items():
        operators = []
        for what in members:
            number[what] = index
            operators.append(Operator(index, name, what[1].debug_handle, (what[1],)))
            index += 1
        methods.append(Method(name, tuple(operators)))
    program = Program(
        trace.path, format_, "", tuple(methods), is_recorded=True, is_nested=format_ != ONNX_RUNTIME
    )
    links = tuple(
        _SCOPE
        if call is None
        else Link(
            _RECORDED.reason,
            _RECORDED.detail,
            (),
            (number[call.method, call.node],),
            backend=call.backend,
        )
        for call in calls
    )
    return LinkTable(trace, program, None, links)
