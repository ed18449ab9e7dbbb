"""The number of operations of one MLIR operation: the dialects tosa, linalg and arith.

The conventions are those of `viewer.analysis.workload.flop_rules`, which takes the rules that both
have from here, except for the layout of weights: a kernel of tosa.conv2d is [O, H, W, I], of
linalg.conv_2d_nhwc_hwcf [H, W, I, O]. tosa.rescale counts like quantization: 4 per element
(product, rounding shift, zero point, clamping). The body of linalg.generic is not read.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from math import prod

from viewer.analysis.workload.operator_tensors import NotKnown, elements_of, sizes_of
from viewer.model.times import group_digits
from viewer.program.program import GraphNode, Tensor, library_of

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
