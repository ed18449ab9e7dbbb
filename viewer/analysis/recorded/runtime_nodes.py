"""The nodes in tables of runtimes and compilers that state an operator type, as operators.

LiteRT's `benchmark_model` lists "CONV_2D" for the node "[conv1]:0", Vela "Conv2DBias" for each
operator. Names are paths of outputs, whose parts are modules. What LiteRT runs once, at
initialization, is no node.
"""

from __future__ import annotations

import re

import numpy as np

from viewer.analysis.recorded.onnx_runtime import modules_of
from viewer.analysis.recorded.recorded_call import RecordedCall, first_slices, text_at
from viewer.model.queries import run_of_slices
from viewer.model.trace import RunKind, Trace
from viewer.program.program import GraphNode

METHOD = "model"
_OUTPUTS = re.compile(r"\[(.*)\](?::[0-9]+)?", re.DOTALL)
# The column of the type by format, and whose types they are.
_TYPES = {
    "LiteRT benchmark": ("type", "tflite"),
    "Vela per-layer CSV": ("NNG Operator", "vela"),
}


def runtime_calls(trace: Trace) -> list[RecordedCall | None]:
    """Return the node of every key; empty for a trace without types."""
    name, library = _TYPES.get(trace.format, ("", ""))
    types = trace.slices.columns.get(name)
    if types is None:
        return []
    is_load = np.array([run.kind is RunKind.LOAD for run in trace.runs] + [False])
    in_load = is_load[run_of_slices(trace)]
    found: list[RecordedCall | None] = []
    for key, slice_ in enumerate(first_slices(trace).tolist()):
        type_ = text_at(types, slice_)
        if not type_ or in_load[slice_]:
            found.append(None)
            continue
        label = trace.strings[int(trace.keys.name[key])]
        modules = modules_of(_output_of(label), type_)
        node = GraphNode(label, f"{library}::{type_}", -1, modules=modules, source_op=type_)
        found.append(RecordedCall(METHOD, node))
    return found


def _output_of(name: str) -> str:
    """Return the path of a node's first output: "net/conv1/Relu" of "[net/conv1/Relu;x]:3"."""
    found = _OUTPUTS.fullmatch(name)
    return (found[1] if found else name).partition(";")[0]
