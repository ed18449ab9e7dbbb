"""The operators that XNNPACK's nodes and events come from, for comparison with an ETRecord.

From the node visitors of ExecuTorch's XNNPACK backend (backends/xnnpack/operators) and XNNPACK's
names of operator types (src/operator-utils.c).
"""

from __future__ import annotations

from collections.abc import Collection

# Type of a node, in lower case and without "XNN" -> base names of operators that become such a
# node. Types that export inserts, such as transposes and conversions, prove nothing: not listed.
_OPERATORS: dict[str, frozenset[str]] = {
    "conv2d": frozenset({"convolution", "conv1d", "conv2d"}),
    "depthwiseconv2d": frozenset({"convolution", "conv1d", "conv2d"}),
    "convtranspose2d": frozenset({"convolution", "conv_transpose2d"}),
    "fullyconnected": frozenset({"linear", "addmm", "mm"}),
    "batchmatrixmultiply": frozenset({"bmm", "matmul", "mm"}),
    "scaleddotproductattention": frozenset({"scaled_dot_product_attention", "sdpa"}),
    "add": frozenset({"add", "add_"}),
    "subtract": frozenset({"sub"}),
    "multiply": frozenset({"mul"}),
    "div": frozenset({"div"}),
    "maximum": frozenset({"maximum"}),
    "minimum": frozenset({"minimum"}),
    "softmax": frozenset({"_softmax", "softmax"}),
    "sigmoid": frozenset({"sigmoid", "silu"}),
    "gelu": frozenset({"gelu"}),
    "tanh": frozenset({"tanh"}),
    "hardswish": frozenset({"hardswish"}),
    "elu": frozenset({"elu"}),
    "leakyrelu": frozenset({"leaky_relu"}),
    "prelu": frozenset({"prelu", "_prelu_kernel"}),
    "sin": frozenset({"sin"}),
    "cos": frozenset({"cos"}),
    "exp": frozenset({"exp"}),
    "log": frozenset({"log"}),
    "abs": frozenset({"abs"}),
    "negate": frozenset({"neg"}),
    "ceiling": frozenset({"ceil"}),
    "floor": frozenset({"floor"}),
    "square": frozenset({"pow", "square"}),
    "squareroot": frozenset({"sqrt"}),
    "reciprocalsquareroot": frozenset({"rsqrt"}),
    "avgpooling2d": frozenset({"avg_pool2d"}),
    "maxpooling2d": frozenset({"max_pool2d", "max_pool2d_with_indices"}),
    "globalavgpooling2d": frozenset({"mean", "_adaptive_avg_pool2d", "adaptive_avg_pool2d"}),
    "mean": frozenset({"mean", "_adaptive_avg_pool2d", "adaptive_avg_pool2d"}),
    "staticresizebilinear2d": frozenset({"upsample_bilinear2d"}),
    **{f"concatenate{parts}": frozenset({"cat"}) for parts in range(2, 6)},
}


# A concatenation logs copies, as views and slices do.
_COUNTED = frozenset().union(
    *(names for node_type, names in _OPERATORS.items() if not node_type.startswith("concatenate"))
)


def is_counted(operator: str) -> bool:
    """Return whether XNNPACK logs one event for each operator of a base name, of its own type."""
    return operator in _COUNTED


def short_type(node_type: str) -> str:
    """Return the type of a node as in this module: "conv2d" for "XNNConv2d"."""
    return node_type.removeprefix("XNN").lower()


def operators_of(node_types: Collection[str]) -> frozenset[str]:
    """Return the base names of the operators that can become a node of one of these types.

    node_types: as `short_type` has them. Empty if such nodes prove nothing.
    """
    known = [_OPERATORS.get(node_type, frozenset[str]()) for node_type in node_types]
    return frozenset[str]().union(*known) if all(known) else frozenset()
