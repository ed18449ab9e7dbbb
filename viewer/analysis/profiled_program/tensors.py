"""The tensors that a PyTorch profile records of an operator's inputs (`record_shapes`).

`Input Dims` has a shape per argument, `[]` for a number and for what is not a tensor, a list of
shapes for a list of tensors; `Input type` has the types. Outputs are not recorded. Those that
follow from the inputs are computed for the operators whose arithmetic can be counted.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence

from viewer.program.program import Setting, Tensor

# The C++ names of element types, as c10 prints them -> the names of an ETRecord's dtypes.
_DTYPES = {
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
        dtype = _DTYPES.get(name, "") if isinstance(name, str) else ""
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
    rule = _OUTPUTS.get(op)
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
_OUTPUTS: dict[str, _Rule] = {
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
