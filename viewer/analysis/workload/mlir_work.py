"""The tensors and the number of operations of an MLIR operation, from its text.

Tensors are read from types. For any dialect, this reads:

* a function type at the end: `: (tensor<1x4xf32>, tensor<4xi8>) -> tensor<1xf32>`;
* destinations as in linalg: `ins(%a, %b : T, T) outs(%c : T)`, with or without a result;
* one type for all: `arith.addf %a, %b : T`, or two: `tensor.cast %a : T to T`.

A dynamic size ("?") stays a string, so that nothing is computed from it. For a quantized element,
the storage type counts: `!quant.uniform<i8:f32, 0.1>` is an i8. Integer arrays in attributes become
settings: `kernel = array<i64: 2, 2>`.

Operations are counted for the dialects tosa, linalg and arith, by the conventions of
`viewer.analysis.workload.operator_work`, except for the layout of weights: a kernel of tosa.conv2d
is [O, H, W, I], of linalg.conv_2d_nhwc_hwcf [H, W, I, O]. tosa.rescale counts like quantization: 4
per element (product, rounding shift, zero point, clamping). The body of linalg.generic is not read.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from math import prod

from viewer.analysis.workload.operator_tensors import NotKnown, elements_of, sizes_of
from viewer.dataclasses import replace
from viewer.model.times import group_digits
from viewer.program.mlir.locations import STRING_CONTENT
from viewer.program.mlir.operations import operations
from viewer.program.program import GraphNode, Operator, Program, Setting, Tensor, library_of

# The attribute that says how operands are indexed, such as transposed or broadcast.
INDEXING_MAPS = "indexing_maps"

Rule = Callable[[GraphNode], tuple[int, str]]


def input_of(node: GraphNode, number: int) -> Tensor:
    """Return an input of a node. Raises NotKnown."""
    if number >= len(node.inputs):
        raise NotKnown(_missing(node, "inputs of {} are"))
    return node.inputs[number]


def output_of(node: GraphNode) -> Tensor:
    """Return the first output of a node. Raises NotKnown."""
    if not node.outputs:
        raise NotKnown(_missing(node, "output of {} is"))
    return node.outputs[0]


def _missing(node: GraphNode, what: str) -> str:
    is_mlir = library_of(node.op) in ("tosa", "linalg", "arith")
    return (
        f"the types of {node.op} are not stated"
        if is_mlir
        else (f"the {what.format(node.op)} not recorded")
    )


def times_outputs(node: GraphNode, each: int, text: str) -> tuple[int, str]:
    """Return twice as many operations for each element of the output, and the rule."""
    outputs = elements_of(output_of(node))
    return 2 * outputs * each, f"2 × {group_digits(outputs)} outputs × {text}"


def times_inputs(node: GraphNode, each: int, text: str) -> tuple[int, str]:
    """Return the same for each element of the input of a transposed convolution."""
    inputs = elements_of(input_of(node, 0))
    return 2 * inputs * each, f"2 × {group_digits(inputs)} inputs × {text}, transposed"


def _kernel(node: GraphNode, rank: int, dimensions: slice) -> tuple[int, str]:
    """Return the elements of one kernel: the product of some dimensions of the weight."""
    sizes = sizes_of(input_of(node, 1))
    if len(sizes) != rank:
        raise NotKnown(f"the weight of {node.op} has {len(sizes)} dimensions, not {rank}")
    kernel_sizes = sizes[dimensions]
    return prod(kernel_sizes), " × ".join(map(group_digits, kernel_sizes))


def _convolution(rank: int, dimensions: slice) -> Rule:
    return lambda node: times_outputs(node, *_kernel(node, rank, dimensions))


def _transposed(node: GraphNode) -> tuple[int, str]:
    return times_inputs(node, *_kernel(node, 4, slice(0, 3)))  # [O, H, W, I]


def _product(axis: int) -> Rule:
    """Return the rule of a matrix product; its sums run over this dim of the first input."""

    def rule(node: GraphNode) -> tuple[int, str]:
        sizes = sizes_of(input_of(node, 0))
        if INDEXING_MAPS in dict(node.settings):
            raise NotKnown(f"the indexing maps of {node.op} are not read")
        if len(sizes) < -axis:
            raise NotKnown(f"the first input of {node.op} is not a matrix")
        return times_outputs(node, sizes[axis], group_digits(sizes[axis]))

    return rule


def per_output(each: int) -> Rule:
    """Return the rule of so many operations for each element of the output."""

    def rule(node: GraphNode) -> tuple[int, str]:
        outputs = elements_of(output_of(node))
        return each * outputs, f"{each} × {group_digits(outputs)} outputs"

    return rule


def compares(node: GraphNode) -> tuple[int, str]:
    """Count nothing."""
    return 0, "compares or selects, no arithmetic"


def reduction(node: GraphNode) -> tuple[int, str]:
    """Count one operation for each input element, and one less per result."""
    inputs, outputs = elements_of(input_of(node, 0)), elements_of(output_of(node))
    text = f"{group_digits(inputs)} inputs − {group_digits(outputs)} outputs"
    return max(inputs - outputs, 0), text


def _pooling(node: GraphNode) -> tuple[int, str]:
    window = dict(node.settings).get("kernel")
    if not isinstance(window, tuple) or len(window) != 2:
        raise NotKnown(f"the kernel size of {node.op} is not stated")
    outputs = elements_of(output_of(node))
    height, width = int(window[0]), int(window[1])
    return outputs * height * width, f"{group_digits(outputs)} outputs × {height} × {width}"


def _not_read(node: GraphNode) -> tuple[int, str]:
    raise NotKnown(f"the body of {node.op} is not read")


_TOSA_ELEMENTWISE = (
    "abs", "add", "ceil", "clamp", "cos", "erf", "exp", "floor", "intdiv", "log", "maximum",
    "minimum", "mul", "negate", "pow", "reciprocal", "rsqrt", "sigmoid", "sin", "sub", "tanh",
)  # fmt: skip
_TOSA_COMPARISONS = (
    "equal", "greater", "greater_equal", "logical_and", "logical_not", "logical_or", "logical_xor",
    "bitwise_and", "bitwise_not", "bitwise_or", "bitwise_xor", "select",
)  # fmt: skip
_ARITH_ELEMENTWISE = (
    "addf", "addi", "subf", "subi", "mulf", "muli", "divf", "divsi", "divui", "maximumf",
    "minimumf", "maxsi", "minsi", "negf",
)  # fmt: skip
_LINALG_ELEMENTWISE = (
    "abs", "add", "ceil", "div", "erf", "exp", "floor", "log", "max", "min", "mul", "negf",
    "reciprocal", "rsqrt", "sqrt", "square", "sub", "tanh",
)  # fmt: skip
MLIR_RULES: Mapping[str, Rule] = {
    "tosa.conv2d": _convolution(4, slice(1, 4)),  # [O, H, W, I]
    "tosa.conv3d": _convolution(5, slice(1, 5)),  # [O, D, H, W, I]
    "tosa.depthwise_conv2d": _convolution(4, slice(0, 2)),  # [H, W, C, M]
    "tosa.transpose_conv2d": _transposed,
    "tosa.fully_connected": _product(-1),
    "tosa.matmul": _product(-1),
    "tosa.max_pool2d": _pooling,
    "tosa.avg_pool2d": _pooling,
    "tosa.rescale": per_output(4),
    **{f"tosa.reduce_{kind}": reduction for kind in ("sum", "max", "min", "product")},
    **{f"tosa.{name}": per_output(1) for name in _TOSA_ELEMENTWISE},
    **{f"tosa.{name}": compares for name in _TOSA_COMPARISONS},
    **{f"arith.{name}": per_output(1) for name in _ARITH_ELEMENTWISE},
    **{f"linalg.{name}": per_output(1) for name in _LINALG_ELEMENTWISE},
    **{
        f"linalg.{name}": _product(-1)
        for name in (
            "matmul",
            "batch_matmul",
            "matmul_transpose_b",
            "batch_matmul_transpose_b",
            "matvec",
            "batch_matvec",
            "vecmat",
            "dot",
        )
    },
    **{
        f"linalg.{name}": _product(-2)
        for name in (
            "matmul_transpose_a",
            "batch_matmul_transpose_a",
        )
    },
    "linalg.conv_1d_nwc_wcf": _convolution(3, slice(0, 2)),
    "linalg.conv_1d_ncw_fcw": _convolution(3, slice(1, 3)),
    "linalg.conv_2d_nhwc_hwcf": _convolution(4, slice(0, 3)),
    "linalg.conv_2d_nhwc_fhwc": _convolution(4, slice(1, 4)),
    "linalg.conv_2d_nchw_fchw": _convolution(4, slice(1, 4)),
    "linalg.conv_3d_ndhwc_dhwcf": _convolution(5, slice(0, 4)),
    "linalg.depthwise_conv_2d_nhwc_hwc": _convolution(3, slice(0, 2)),
    "linalg.depthwise_conv_2d_nhwc_hwcm": _convolution(4, slice(0, 2)),
    "linalg.depthwise_conv_2d_nchw_chw": _convolution(3, slice(1, 3)),
    "linalg.generic": _not_read,
}


_STRING = re.compile(rf'"{STRING_CONTENT}"?')
_VALUE = re.compile(r"%[\w$.-]+(?:#\d+)?")
_SHAPED = re.compile(r"(?:tensor|memref|vector)<(?P<inner>.*)>", re.DOTALL)
_SIZE = re.compile(r"(\d{1,18}|\?|\*)x")
_QUANTIZED = re.compile(r"!quant\.[\w.]+<\s*([a-z]\w*)")
_COMPLEX = {"complex<f16>": "c32", "complex<f32>": "c64", "complex<f64>": "c128"}
_INS = re.compile(r"\bins\s*\(")
_OUTS = re.compile(r"\bouts\s*\(")
_ARRAY = re.compile(r"\b(\w+)\s*=\s*(?:array<i\d+:\s*([-\d, ]*)>|\[([-\d, ]*)\])")
_SHAPE = "!tosa.shape"
_LOCATION = re.compile(r"\s*\bloc\(.*\Z", re.DOTALL)
_OPENERS, _CLOSERS = "([{<", ")]}>"
# A longer statement, such as one with the weights of a layer, is not read.
_LONGEST = 1 << 16  # characters
_MOST_LINES = 64


def with_tensors(program: Program, operator: Operator) -> Operator:
    """Return an operator of a text with the tensors in its statement; others unchanged.

    Reads only the lines of the statement, so the cost does not depend on the text's length.
    """
    if not program.text_lines or not operator.nodes:
        return operator
    node = operator.nodes[0]
    first = int(operator.place.removeprefix("L") or 0) - 1
    lines: list[str] = []
    length = 0
    for line in program.text_lines[max(first, 0) : first + _MOST_LINES]:
        length += len(line)
        if length > _LONGEST:
            break
        lines.append(line)
    same = (f for f in operations(lines) if (f.name, f.result) == (node.op, node.name))
    operation_text = next(same, None)
    if operation_text is None:
        return operator
    return replace(operator, nodes=(_with_types(node, operation_text.text), *operator.nodes[1:]))


def _with_types(node: GraphNode, text: str) -> GraphNode:
    settings = _settings(text)
    # Strings may contain anything, including brackets.
    plain = _STRING.sub(lambda match: '"' + "_" * (len(match[0]) - 2) + '"', text)
    head, _, rest = plain.partition("=") if plain.startswith("%") else ("", "", plain)
    results = [name.partition(":")[0].strip() for name in head.split(",")] if head else []
    ins, outs = _inside(_INS, rest), _inside(_OUTS, rest)
    if ins is not None or outs is not None:
        # A destination is written; that some ops add to its previous value is not counted.
        taken, (names, output_types) = _side(ins or ""), _side(outs or "")
        if results:
            names = results
        return replace(
            node,
            inputs=_named(taken[1], taken[0]),
            outputs=_named(output_types, names),
            settings=settings,
        )
    colon = _last_colon(rest)
    if colon < 0:
        return replace(node, settings=settings)
    stated = _LOCATION.sub("", rest[colon + 1 :]).strip()
    operands = _VALUE.findall(rest[:colon])
    types = _signature(stated, len(operands), len(results))
    if types is None:
        return replace(node, settings=settings)
    taken_types, made_types = types
    return replace(
        node,
        inputs=_named(taken_types, operands),
        outputs=_named(made_types, results),
        settings=settings,
    )


def _signature(stated: str, operands: int, results: int) -> tuple[list[str], list[str]] | None:
    """Return the types of operands and results from the text after the colon."""
    before, arrow, after = _cut_at_arrow(stated)
    if arrow:
        return _types(before), _types(after)
    if " to " in stated:
        source, _, target = stated.partition(" to ")
        return [source.strip()], [target.strip()]
    types = _types(stated)
    return (types * operands, types * results) if len(types) == 1 else None


def _side(text: str) -> tuple[list[str], list[str]]:
    """Parse "%a, %b : T, T" to its names and types."""
    names, _, types = text.partition(":")
    return _VALUE.findall(names), _types(types)


def _named(types: Sequence[str], names: Sequence[str]) -> tuple[Tensor, ...]:
    fits = len(names) == len(types)
    return tuple(
        _tensor(stated, names[i] if fits else f"value {i + 1}")
        for i, stated in enumerate(types)
        if not stated.startswith(_SHAPE)  # a compile-time shape, not data
    )


def _tensor(stated: str, name: str) -> Tensor:
    """Parse "tensor<1x?xi8>" to a tensor; a type that is not shaped is a scalar."""
    shaped = _SHAPED.fullmatch(stated)
    if shaped is None:
        return Tensor(name, _dtype(stated), () if _dtype(stated) else None)
    rest, sizes = shaped["inner"].strip(), []
    while (size := _SIZE.match(rest)) is not None:
        sizes.append(size[1])
        rest = rest[size.end() :]
    dtype = _dtype(_split(rest)[0] if rest else "")
    if "*" in sizes:
        return Tensor(name, dtype, None)
    return Tensor(name, dtype, tuple(int(s) if s.isdecimal() else s for s in sizes))


def _dtype(stated: str) -> str:
    quantized = _QUANTIZED.match(stated)
    if quantized is not None:
        return quantized[1]
    name = _COMPLEX.get(stated, stated)
    return name if re.fullmatch(r"(?:[su]?i|bf|f|c)\d\w*|index", name) else ""


def _settings(text: str) -> tuple[tuple[str, Setting], ...]:
    settings: list[tuple[str, Setting]] = []
    for name, array, other in _ARRAY.findall(text):
        numbers = [part.strip() for part in (array or other).split(",")]
        if all(re.fullmatch(r"-?\d{1,18}", number) for number in numbers):
            settings.append((name, tuple(map(int, numbers))))
    if "indexing_maps" in text:
        settings.append((INDEXING_MAPS, True))
    return tuple(settings)


# -- brackets ("->" is not one) -------------------------------------------------------------------


def _depths(text: str) -> list[int]:
    """Return per character the number of open brackets before it."""
    depth, depths = 0, []
    for i, mark in enumerate(text):
        if mark in _CLOSERS and not (mark == ">" and text[i - 1 : i] == "-"):
            depth -= 1
        depths.append(depth)
        if mark in _OPENERS:
            depth += 1
    return depths


def _last_colon(text: str) -> int:
    depths = _depths(text)
    colons = [i for i, mark in enumerate(text) if mark == ":" and depths[i] == 0]
    return colons[-1] if colons else -1


def _cut_at_arrow(text: str) -> tuple[str, bool, str]:
    depths = _depths(text)
    arrow = next((i for i, d in enumerate(depths) if d == 0 and text.startswith("->", i)), -1)
    return (text[:arrow], True, text[arrow + 2 :]) if arrow >= 0 else (text, False, "")


def _split(text: str) -> list[str]:
    """Split a list at the commas outside brackets."""
    depths, parts, start = _depths(text), [], 0
    for i, mark in enumerate(text):
        if mark == "," and depths[i] == 0:
            parts.append(text[start:i].strip())
            start = i + 1
    return [*parts, text[start:].strip()]


def _types(text: str) -> list[str]:
    """Parse "(T, T)" or "T, T" to its types; "()" has none."""
    text = text.strip()
    if text.startswith("(") and text.endswith(")"):
        text = text[1:-1]
    return _split(text) if text.strip() else []


def _inside(opening: re.Pattern[str], text: str) -> str | None:
    """Return the text inside the bracket that the pattern opens, or None."""
    match = opening.search(text)
    if match is None:
        return None
    inner = text[match.end() :]
    depths = _depths(inner)
    end = next((i for i, d in enumerate(depths) if d < 0), len(inner))
    return inner[:end]
