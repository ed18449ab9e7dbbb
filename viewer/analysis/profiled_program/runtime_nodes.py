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

A table of layers may have the type of each layer, and names that are paths of nodes state modules.
So the layers of two runtimes can be compared by module, although no runtime knows the names of the
other. A file with information on the layers (`viewer.formats.layers.layer_info`) says more: it is
linked by the names of the layers.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping

import numpy as np

from viewer.analysis.links.link_table import Link, LinkTable, Reason
from viewer.analysis.links.match import Match, TraceMatch
from viewer.analysis.profiled_program.profiled_call import ProfiledCall, first_slices, text_at
from viewer.analysis.profiled_program.tensors import json_list, shape_of
from viewer.model.names.executorch import DELEGATE_CALL, OPERATOR_CALL, SCOPES, kernel_operator
from viewer.model.names.layers import TYPE
from viewer.model.names.profilers import CATEGORY, LAYER_TABLE
from viewer.model.queries import run_of_slices
from viewer.model.trace import Column, KeyKind, RunKind, Trace
from viewer.program.node_paths import nodes_of_layer, path_modules, paths_in
from viewer.program.program import GraphNode, Program, Tensor

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


def onnx_runtime_calls(trace: Trace) -> list[ProfiledCall | None]:
    """Return the node of every key; empty for a trace that ONNX Runtime did not write."""
    columns = trace.slices.columns
    category, op = columns.get(CATEGORY), columns.get(_OP)
    if category is None or op is None or _NODE not in (category.strings or ()):
        return []
    first = first_slices(trace)
    profiled_calls: list[ProfiledCall | None] = []
    for key, slice_ in enumerate(first.tolist()):
        name = trace.strings[int(trace.keys.name[key])]
        type_ = text_at(op, slice_)
        is_node = slice_ >= 0 and category.value(slice_) == _NODE and name.endswith(_KERNEL_TIME)
        if not is_node or not type_:
            profiled_calls.append(None)
            continue
        profiled_calls.append(_call(name.removesuffix(_KERNEL_TIME), type_, columns, slice_))
    return profiled_calls


def _call(name: str, type_: str, columns: Mapping[str, Column], slice_: int) -> ProfiledCall:
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
    return ProfiledCall(METHOD, node, "" if provider == CPU else provider)


def _tensors(text: str, what: str) -> tuple[Tensor, ...]:
    """Return the tensors of a list of {type: shape}."""
    return tuple(
        Tensor(f"{what} {number}", _DTYPES.get(dtype, ""), shape_of(shape))
        for number, entry in enumerate(json_list(text))
        if isinstance(entry, dict)
        for dtype, shape in entry.items()
    )


def runtime_calls(trace: Trace) -> list[ProfiledCall | None]:
    """Return the node of every key; empty for a trace without types."""
    name, library = _TYPES.get(trace.format, ("", ""))
    types = trace.slices.columns.get(name)
    if types is None:
        return []
    is_load = np.array([run.kind is RunKind.LOAD for run in trace.runs] + [False])
    in_load = is_load[run_of_slices(trace)]
    profiled_calls: list[ProfiledCall | None] = []
    for key, slice_ in enumerate(first_slices(trace).tolist()):
        type_ = text_at(types, slice_)
        if not type_ or in_load[slice_]:
            profiled_calls.append(None)
            continue
        label = trace.strings[int(trace.keys.name[key])]
        modules = path_modules(_output_of(label), type_)
        node = GraphNode(label, f"{library}::{type_}", -1, modules=modules, source_op=type_)
        profiled_calls.append(ProfiledCall(METHOD, node))
    return profiled_calls


def executorch_calls(trace: Trace) -> list[ProfiledCall | None]:
    """Return the operator of every key; empty for a trace that is not made of an ETDump."""
    columns = trace.slices.columns
    block, types = columns.get(_EVENT_BLOCK), columns.get(_OP_TYPES)
    if block is None:
        return []
    profiled_calls: list[ProfiledCall | None] = []
    for key, slice_ in enumerate(first_slices(trace).tolist()):
        name, kind = trace.strings[int(trace.keys.name[key])], int(trace.keys.kind[key])
        stated = [dtype for dtype in json_list(text_at(types, slice_)) if isinstance(dtype, str)]
        if kind == KeyKind.KERNEL and not stated:
            stated = [kernel_operator(name)]
        if not stated or kind not in (KeyKind.KERNEL, KeyKind.DELEGATE_EVENT):
            profiled_calls.append(None)
            continue
        type_ = " + ".join(dict.fromkeys(stated))
        node = GraphNode(name, f"executorch::{type_}", -1, source_op=type_)
        profiled_calls.append(ProfiledCall(text_at(block, slice_) or METHOD, node))
    return profiled_calls


def _output_of(name: str) -> str:
    """Return the path of a node's first output: "net/conv1/Relu" of "[net/conv1/Relu;x]:3"."""
    match = _OUTPUT_NAMES.fullmatch(name)
    return (match[1] if match else name).partition(";")[0]


# Of the names of a table without types: others may have a slash by chance. And of the names of a
# table, to be of the layers that a file describes.
_LEAST_SHARE = 0.5
# Linking takes 35 µs per name, and no model has so many layers.
_MOST_NAMES = 20_000
# The tables of ExecuTorch's Inspector have the runtime's calls, not layers.
_CALLS = SCOPES | {DELEGATE_CALL, OPERATOR_CALL}
_UNKNOWN = Link(Reason.NO_IDENTITY, "The file with layers has none of this name")


def layer_calls(trace: Trace) -> list[ProfiledCall | None]:
    """Return the nodes of every key; empty for a table without types and paths."""
    names = _names(trace)
    if _CALLS.intersection(names):
        return []
    types = trace.slices.columns.get(TYPE)
    has_path = [bool(paths_in(name)) for name in names]
    if types is None and sum(has_path) < _LEAST_SHARE * len(names):
        return []
    profiled_calls: list[ProfiledCall | None] = []
    for name, is_path, slice_ in zip(names, has_path, first_slices(trace).tolist(), strict=True):
        stated = text_at(types, slice_)
        if stated or is_path:
            first, *fused = nodes_of_layer(name, stated)
            profiled_calls.append(ProfiledCall(METHOD, first, fused=tuple(fused)))
        else:
            profiled_calls.append(None)
    return profiled_calls


def described_layers(trace: Trace, programs: Iterable[Program]) -> LinkTable | None:
    """Return the links of a table to the file that describes most of its layers, None without."""
    names = _names(trace) if trace.format == LAYER_TABLE else []
    best: LinkTable | None = None
    most = _LEAST_SHARE * len(names)
    for program in programs:
        if not program.is_of_layers:
            continue
        number = {operator.nodes[0].name: operator.index for operator in program.operators}
        links = tuple(
            _UNKNOWN
            if name not in number
            else Link(Reason.BY_LAYER, f"Layer {name} of {program.path}", operators=(number[name],))
            for name in names
        )
        linked = sum(bool(link.operators) for link in links)
        if names and linked >= most:
            trace_match = _match(trace, program, Match(linked / len(names), len(names)))
            best, most = LinkTable(trace, program, trace_match, links), linked + 1
    return best


def _match(trace: Trace, program: Program, match: Match) -> TraceMatch:
    scopes = len(trace.scopes)
    return TraceMatch(
        match, (program.methods[0].name,) * scopes, (match,) * scopes, ((),) * scopes,
        (frozenset[int](),) * scopes,
    )  # fmt: skip


def _names(trace: Trace) -> list[str]:
    """The names of all keys, none of a table with too many."""
    if len(trace.keys) > _MOST_NAMES:
        return []
    return [trace.strings[number] for number in trace.keys.name.tolist()]
