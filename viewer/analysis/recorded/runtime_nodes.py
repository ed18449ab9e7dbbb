"""The nodes that profiles of runtimes and compilers state, as operators.

With `enable_profiling`, ONNX Runtime writes a slice "conv1_kernel_time" of category "Node" for each
node that ran, with its op type, its execution provider, and the shapes of its inputs and outputs:
`[{"float": [1, 3, 32, 32]}, ...]`. Names that exporters write as paths, "/layer1/conv/Conv", state
the module of a node.

Arm's script makes a Chrome trace of an ETDump: kernels of ExecuTorch, and with an ETRecord the
types of the operators behind each event (`op_types`).

LiteRT's `benchmark_model` lists "CONV_2D" for the node "[conv1]:0", Vela "Conv2DBias" for each
operator. Names are paths of outputs, whose parts are modules. What LiteRT runs once, at
initialization, is no node.
"""

from __future__ import annotations

import re
from collections.abc import Mapping

import numpy as np

from viewer.analysis.recorded.recorded_call import RecordedCall, first_slices, text_at
from viewer.analysis.recorded.tensors import json_list, shape_of
from viewer.model.names.executorch import kernel_operator
from viewer.model.names.profilers import CATEGORY
from viewer.model.queries import run_of_slices
from viewer.model.trace import Column, KeyKind, RunKind, Trace
from viewer.program.node_paths import path_modules
from viewer.program.program import GraphNode, Tensor

LIBRARY = "onnx"
METHOD = "model"
_NODE = "Node"
_OP, _PROVIDER = "op_name", "provider"
_INPUTS, _OUTPUTS = "input_type_shape", "output_type_shape"
_KERNEL_TIME = "_kernel_time"
# Its own kernels run what no other execution provider takes.
CPU = "CPUExecutionProvider"
_OUTPUT_NAMES = re.compile(r"\[(.*)\](?::[0-9]+)?", re.DOTALL)
_EVENT_BLOCK, _OP_TYPES = "event_block", "op_types"
# The column of the type by format, and whose types they are.
_TYPES = {
    "LiteRT benchmark": ("type", "tflite"),
    "Vela per-layer CSV": ("NNG Operator", "vela"),
}
# The names of element types in ONNX -> those of an ETRecord's dtypes.
_DTYPES = {
    "float": "f32", "double": "f64", "float16": "f16", "bfloat16": "bf16", "bool": "bool",
    "int8": "i8", "uint8": "u8", "int16": "i16", "uint16": "u16", "int32": "i32",
    "uint32": "u32", "int64": "i64", "uint64": "u64",
}  # fmt: skip


def onnx_runtime_calls(trace: Trace) -> list[RecordedCall | None]:
    """Return the node of every key; empty for a trace that ONNX Runtime did not write."""
    columns = trace.slices.columns
    category, op = columns.get(CATEGORY), columns.get(_OP)
    if category is None or op is None or _NODE not in (category.strings or ()):
        return []
    first = first_slices(trace)
    found: list[RecordedCall | None] = []
    for key, slice_ in enumerate(first.tolist()):
        name = trace.strings[int(trace.keys.name[key])]
        type_ = text_at(op, slice_)
        is_node = slice_ >= 0 and category.value(slice_) == _NODE and name.endswith(_KERNEL_TIME)
        if not is_node or not type_:
            found.append(None)
            continue
        found.append(_call(name.removesuffix(_KERNEL_TIME), type_, columns, slice_))
    return found


def _call(name: str, type_: str, columns: Mapping[str, Column], slice_: int) -> RecordedCall:
    provider = text_at(columns.get(_PROVIDER), slice_)
    node = GraphNode(
        name,
        f"{LIBRARY}::{type_}",
        -1,
        modules=path_modules(name, type_),
        source_op=type_,
        inputs=_tensors(text_at(columns.get(_INPUTS), slice_), "input"),
        outputs=_tensors(text_at(columns.get(_OUTPUTS), slice_), "output"),
    )
    return RecordedCall(METHOD, node, "" if provider == CPU else provider)


def _tensors(text: str, what: str) -> tuple[Tensor, ...]:
    """Return the tensors of a list of {type: shape}."""
    return tuple(
        Tensor(f"{what} {number}", _DTYPES.get(dtype, ""), shape_of(shape))
        for number, one in enumerate(json_list(text))
        if isinstance(one, dict)
        for dtype, shape in one.items()
    )


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
        modules = path_modules(_output_of(label), type_)
        node = GraphNode(label, f"{library}::{type_}", -1, modules=modules, source_op=type_)
        found.append(RecordedCall(METHOD, node))
    return found


def executorch_calls(trace: Trace) -> list[RecordedCall | None]:
    """Return the operator of every key; empty for a trace that is not made of an ETDump."""
    columns = trace.slices.columns
    block, types = columns.get(_EVENT_BLOCK), columns.get(_OP_TYPES)
    if block is None:
        return []
    found: list[RecordedCall | None] = []
    for key, slice_ in enumerate(first_slices(trace).tolist()):
        name, kind = trace.strings[int(trace.keys.name[key])], int(trace.keys.kind[key])
        stated = [one for one in json_list(text_at(types, slice_)) if isinstance(one, str)]
        if kind == KeyKind.KERNEL and not stated:
            stated = [kernel_operator(name)]
        if not stated or kind not in (KeyKind.KERNEL, KeyKind.DELEGATE_EVENT):
            found.append(None)
            continue
        type_ = " + ".join(dict.fromkeys(stated))
        node = GraphNode(name, f"executorch::{type_}", -1, source_op=type_)
        found.append(RecordedCall(text_at(block, slice_) or METHOD, node))
    return found


def _output_of(name: str) -> str:
    """Return the path of a node's first output: "net/conv1/Relu" of "[net/conv1/Relu;x]:3"."""
    found = _OUTPUT_NAMES.fullmatch(name)
    return (found[1] if found else name).partition(";")[0]
