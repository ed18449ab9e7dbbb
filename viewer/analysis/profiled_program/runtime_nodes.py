"""The nodes that profiles of runtimes and compilers state, as operators with their tensors.

With `enable_profiling`, ONNX Runtime writes a slice "conv1_kernel_time" of category "Node" for each
node that ran, with its op type, its execution provider, and the shapes of its inputs and outputs:
`[{"float": [1, 3, 32, 32]}, ...]`. Names that exporters write as paths, "/layer1/conv/Conv", state
the module of a node. Arm's script makes a Chrome trace of an ETDump, with an ETRecord also the
types of the operators behind each event (`op_types`). LiteRT's `benchmark_model` lists "CONV_2D"
for the node "[conv1]:0", Vela "Conv2DBias" for each operator. Names are paths of outputs, whose
parts are modules. What LiteRT runs once, at initialization, is no node.

A table of layers may have their types and paths of nodes, so the layers of two runtimes can be
compared by module, although no runtime knows the names of the other. It is linked to a file with
information on the layers (`viewer.formats.layers.layer_info`) by the names of the layers.

Profilers name slices after Python functions, with the line of the definition, and modules:

    torch/nn/modules/conv.py(564): forward    torch.profiler: file, line, function
    nn.Module: Conv2d_1                       torch.profiler: a call of the second Conv2d
    leaf.<locals>.<genexpr> (sums.py:5)       viztracer: function, file, line

A PyTorch profile records the tensors of inputs (`record_shapes`). `Input Dims` has a shape per
argument, `[]` for a number and for what is not a tensor, a list of shapes for a list of tensors;
`Input type` has the types. Outputs that follow from them are computed for the operators whose
arithmetic can be counted.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Mapping, Sequence

import numpy as np

from viewer.analysis.links.link_table import Link, LinkTable, Reason
from viewer.analysis.links.match import Match, TraceMatch
from viewer.arrays import Ints
from viewer.dataclasses import dataclass
from viewer.model.queries import run_of_slices
from viewer.model.recorded_names import (
    CATEGORY,
    DELEGATE_CALL,
    LAYER_TABLE,
    OPERATOR_CALL,
    kernel_operator,
)
from viewer.model.recorded_names import LAYER_TYPE as TYPE
from viewer.model.recorded_names import RUNTIME_SCOPES as SCOPES
from viewer.model.trace import Column, KeyKind, RunKind, Trace
from viewer.program.frames import Frame
from viewer.program.module_tree import nodes_of_layer, path_modules, paths_in
from viewer.program.program import GraphNode, Program, Setting, Tensor


@dataclass(frozen=True, slots=True)
class ProfiledCall:
    """An operator, kernel, function or module call.

    method: the part of the program that it belongs to. node: what it is and where it was called.
    backend: the execution provider that ran it, "" if none is stated. fused: the other nodes that
    it ran.
    """

    method: str
    node: GraphNode
    backend: str = ""
    fused: tuple[GraphNode, ...] = ()


def text_at(column: Column | None, slice_: int) -> str:
    """Return the text of a slice in a column; "" without one, for a number, and for slice -1."""
    value = None if column is None or slice_ < 0 else column.value(slice_)
    return value if isinstance(value, str) else ""


def first_slices(trace: Trace) -> Ints:
    """Return the first slice of every key, -1 for a key without one."""
    first_slice = np.full(len(trace.keys), -1, np.int64)
    key = trace.slices.key
    first_slice[key[::-1]] = np.arange(len(key))[::-1]
    return first_slice


MODULE = "nn.Module: "
# Names are untrusted: numbers of more digits are not lines.
_PYTORCH = re.compile(r"(.+)\(([0-9]{1,9})\): (.+)", re.DOTALL)
# In the path no " (" starts, so that a long name is read once, not once per " (".
_VIZTRACER = re.compile(r"(.+) \(((?:(?! \().)+):([0-9]{1,9})\)", re.DOTALL)
_NUMBERED = re.compile(r"(.+)_([0-9]+)", re.DOTALL)


def frame_of(name: str) -> Frame | None:
    """Return the function that a slice is named after, or None if its file is not stated."""
    if match := _PYTORCH.fullmatch(name):
        path, line, function = match.groups()
    elif match := _VIZTRACER.fullmatch(name):
        function, path, line = match.groups()
    else:
        return None
    return None if path.startswith("<") else Frame(path, int(line), function, "")


def module_of(name: str) -> tuple[str, str] | None:
    """Return the name and class of the module that a slice is a call of, or None.

    The profiler numbers the modules of each class: "Conv2d_1" is the second Conv2d that it saw.
    """
    if not name.startswith(MODULE):
        return None
    module = name.removeprefix(MODULE)
    match = _NUMBERED.fullmatch(module)
    return module, match[1] if match else module


# The C++ names of element types, as c10 prints them -> the names of an ETRecord's dtypes.
_TORCH_DTYPES = {
    "float": "f32", "double": "f64", "c10::Half": "f16", "c10::BFloat16": "bf16", "bool": "bool",
    "signed char": "i8", "unsigned char": "u8", "short": "i16", "short int": "i16", "int": "i32",
    "long": "i64", "long int": "i64", "c10::complex<float>": "c64", "c10::complex<double>": "c128",
    "c10::qint8": "qi8", "c10::quint8": "qu8", "c10::qint32": "qi32",
    "c10::Float8_e4m3fn": "f8e4m3fn", "c10::Float8_e5m2": "f8e5m2",
}  # fmt: skip
_MOST_TEXT = 1 << 16
_Shape = tuple[int, ...]


def input_tensors(shapes: str, types: str) -> tuple[Tensor, ...]:
    """Return the tensors among an operator's arguments, in order; () if they are not recorded."""
    sizes, names = json_list(shapes), json_list(types)
    tensors = []
    for number, size in enumerate(sizes):
        name = names[number] if number < len(names) else ""
        dtype = _TORCH_DTYPES.get(name, "") if isinstance(name, str) else ""
        shape = shape_of(size)
        if shape is not None and (shape or dtype):
            tensors.append(Tensor(f"input {number}", dtype, shape))
        elif isinstance(size, list):
            members = ((i, shape_of(member)) for i, member in enumerate(size))
            tensors += [Tensor(f"input {number}.{i}", "", shape) for i, shape in members if shape]
    return tuple(tensors)


def settings_of(op: str, values: str) -> tuple[tuple[str, Setting], ...]:
    """Return the settings that counting a convolution or sum needs; values: `Concrete Inputs`."""
    settings = []
    texts = json_list(values)
    for name, position in _SETTINGS.get(op, ()):
        text = texts[position] if position < len(texts) else None
        setting = _setting_of(text) if isinstance(text, str) else None
        if setting is not None:
            settings.append((name, setting))
    return tuple(settings)


def output_tensors(
    op: str, inputs: Sequence[Tensor], settings: Sequence[tuple[str, Setting]]
) -> tuple[Tensor, ...]:
    """Return the output of an operator, if its shape follows from its inputs; else ()."""
    rule = _OUTPUT_RULES.get(op)
    if rule is None or any(tensor.shape is None for tensor in inputs):
        return ()
    shapes = [tuple(int(size) for size in tensor.shape or ()) for tensor in inputs]
    shape = rule(shapes, dict(settings))
    return () if shape is None or not inputs else (Tensor("output", inputs[0].dtype, shape),)


def json_list(text: str) -> list[object]:
    """Return a JSON list; [] for anything else, and for a text as long as thousands of inputs."""
    if not text or len(text) > _MOST_TEXT:
        return []
    try:
        parsed = json.loads(text)
    except (ValueError, RecursionError):
        return []
    return parsed if isinstance(parsed, list) else []


def shape_of(value: object) -> _Shape | None:
    """Return a list of sizes as a shape; None for anything else."""
    if not isinstance(value, list):
        return None
    sizes = [size for size in value if type(size) is int and size >= 0]
    return tuple(sizes) if len(sizes) == len(value) else None


def _setting_of(text: str) -> Setting | None:
    """Return a number, bool or tuple of integers from its text: "False", "[1, 1]"."""
    if text in ("True", "False"):
        return text == "True"
    try:
        value = json.loads(text)
    except (ValueError, RecursionError):
        return None
    if isinstance(value, int | float):
        return value
    shape = shape_of(value)
    return shape


_Settings = dict[str, Setting]
_Rule = Callable[[Sequence[_Shape], _Settings], _Shape | None]


def _convolved(shapes: Sequence[_Shape], settings: _Settings) -> _Shape | None:
    """The output of a convolution: input [N, C, points...], weight [O, I, points...]."""
    if len(shapes) < 2 or len(shapes[0]) != len(shapes[1]) or len(shapes[0]) < 3:
        return None
    input_shape, weight = shapes[0], shapes[1]
    if settings.get("transposed", False):
        return None
    dimensions = len(input_shape) - 2
    steps = [_each(settings.get(name), dimensions) for name in ("stride", "padding", "dilation")]
    if None in steps or 0 in (steps[0] or ()):
        return None
    points = []
    for size, kernel, stride, padding, dilation in zip(
        input_shape[2:], weight[2:], *(step or () for step in steps), strict=True
    ):
        points.append((size + 2 * padding - dilation * (kernel - 1) - 1) // stride + 1)
    return None if min(points) < 1 else (input_shape[0], weight[0], *points)


def _each(setting: Setting | None, dimensions: int) -> list[int] | None:
    """Return a setting for each dimension; one number applies to all."""
    if isinstance(setting, tuple):
        numbers = [number for number in setting if type(number) is int]
        if len(numbers) == 1:
            return numbers * dimensions
        return numbers if len(numbers) == dimensions == len(setting) else None
    return [setting] * dimensions if type(setting) is int else None


def _multiplied(a: int, b: int, *, by_rows: bool = False) -> _Rule:
    """Return the rule of a product of the inputs `a` and `b`; by_rows: b is [outputs, inputs]."""

    def rule(shapes: Sequence[_Shape], _: _Settings) -> _Shape | None:
        if len(shapes) <= b or not shapes[a] or not shapes[b]:
            return None
        left, right = shapes[a], shapes[b]
        if by_rows:
            return (*left[:-1], right[0]) if len(right) == 2 and right[1] == left[-1] else None
        if len(left) < 2 or len(right) < 2 or left[-1] != right[-2]:
            return None
        around = _broadcast([left[:-2], right[:-2]])
        return None if around is None else (*around, left[-2], right[-1])

    return rule


def _attended(shapes: Sequence[_Shape], _: _Settings) -> _Shape | None:
    """The output of an attention: as many rows as the query, as many columns as the value."""
    if len(shapes) < 3 or not shapes[0] or not shapes[2]:
        return None
    return (*shapes[0][:-1], shapes[2][-1])


def _broadcast(shapes: Sequence[_Shape], _: _Settings | None = None) -> _Shape | None:
    """Return the common shape of some tensors; a size of 1 stretches. None if they do not fit."""
    stretched_sizes: list[int] = []
    rank = max(map(len, shapes), default=0)
    for place in range(rank):
        sizes = {
            shape[len(shape) - rank + place] for shape in shapes if len(shape) - rank + place >= 0
        }
        stretched = sizes - {1}
        if len(stretched) > 1:
            return None
        stretched_sizes.append(stretched.pop() if stretched else 1)
    return tuple(stretched_sizes)


def _first(shapes: Sequence[_Shape], _: _Settings) -> _Shape | None:
    return shapes[0] if shapes else None


_CONVOLUTION = (("stride", 3), ("padding", 4), ("dilation", 5))
# Operator -> its settings, and their places among the arguments.
_SETTINGS: dict[str, tuple[tuple[str, int], ...]] = {
    **{f"aten::conv{n}d": (*_CONVOLUTION, ("groups", 6)) for n in (1, 2, 3)},
    "aten::convolution": (*_CONVOLUTION, ("transposed", 6), ("groups", 8)),
    "aten::add": (("alpha", 2),),
    "aten::sub": (("alpha", 2),),
    "aten::addmm": (("beta", 3), ("alpha", 4)),
    "aten::baddbmm": (("beta", 3), ("alpha", 4)),
}
_OUTPUT_RULES: dict[str, _Rule] = {
    **{f"aten::conv{n}d": _convolved for n in (1, 2, 3)},
    "aten::convolution": _convolved,
    "aten::scaled_dot_product_attention": _attended,
    "aten::_scaled_dot_product_flash_attention": _attended,
    "aten::_scaled_dot_product_flash_attention_for_cpu": _attended,
    "aten::_scaled_dot_product_efficient_attention": _attended,
    "aten::linear": _multiplied(0, 1, by_rows=True),
    "aten::mm": _multiplied(0, 1),
    "aten::bmm": _multiplied(0, 1),
    "aten::matmul": _multiplied(0, 1),
    "aten::addmm": _multiplied(1, 2),
    "aten::baddbmm": _multiplied(1, 2),
    **{f"aten::{name}": _broadcast for name in ("add", "sub", "mul", "div", "maximum", "minimum")},
    **{
        f"aten::{name}": _first
        for name in (
            "relu", "gelu", "silu", "sigmoid", "tanh", "exp", "log", "sqrt", "rsqrt", "neg", "abs",
            "pow", "_softmax", "softmax", "hardtanh", "leaky_relu", "layer_norm",
            "native_layer_norm", "copy_", "add_", "mul_", "div_", "sub_",
        )
    },
}  # fmt: skip


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
