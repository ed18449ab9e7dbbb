"""The operators that XNNPACK's nodes and events come from, for comparison with an ETRecord.

From the node visitors of ExecuTorch's XNNPACK backend (backends/xnnpack/operators) and XNNPACK's
names of operator types (src/operator-utils.c).
"""

from __future__ import annotations

from collections.abc import Collection

_BATCH_NORMS = frozenset({"_native_batch_norm_legit_no_training", "native_batch_norm"})
# Type of a node, in lower case and without "XNN" -> base names of operators that become such a
# node. Types that export inserts, such as transposes and conversions, prove nothing: not listed.
_OPERATORS: dict[str, frozenset[str]] = {
    "conv2d": frozenset({"convolution", "conv1d", "conv2d"}),
    # A batch norm that follows no convolution becomes one of its own (DecomposeBatchNorm).
    "depthwiseconv2d": frozenset({"convolution", "conv1d", "conv2d", *_BATCH_NORMS}),
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


# Types that export inserts too, so that they prove nothing -> their operators, if they have any.
_INSERTED: dict[str, frozenset[str]] = {
    "convert": frozenset(
        {
            "quantize_per_tensor", "dequantize_per_tensor", "quantize_per_channel",
            "dequantize_per_channel", "quantize_per_token", "dequantize_per_token", "_to_copy",
            "_to_dim_order_copy",
        }
    ),
    "statictranspose": frozenset({"permute_copy", "permute", "transpose_copy", "t_copy"}),
    "staticreshape": frozenset({"view_copy", "reshape", "squeeze_copy", "unsqueeze_copy"}),
    "staticslice": frozenset({"slice_copy"}),
    "staticconstantpad": frozenset({"constant_pad_nd"}),
    "clamp": frozenset({"hardtanh", "clamp", "relu", "relu6"}),
}  # fmt: skip
# A concatenation logs copies, as views and slices do; a batch norm is fused in most cases.
_COUNTED = (
    frozenset[str]().union(
        *(
            names
            for node_type, names in _OPERATORS.items()
            if not node_type.startswith("concatenate")
        )
    )
    - _BATCH_NORMS
)


def is_counted(operator: str) -> bool:
    """Return whether XNNPACK logs one event for each operator of a base name, of its own type."""
    return operator in _COUNTED


def may_be_logged(operator: str) -> bool:
    """Return whether an operator of a base name may have an event of its own type."""
    return operator in _COUNTED or operator in _BATCH_NORMS


def short_type(node_type: str) -> str:
    """Return the type of a node as in this module: "conv2d" for "XNNConv2d"."""
    return node_type.removeprefix("XNN").lower()


def operators_of(node_types: Collection[str]) -> frozenset[str]:
    """Return the base names of the operators that can become a node of one of these types.

    node_types: as `short_type` has them. Empty if such nodes prove nothing.
    """
    operators = [_OPERATORS.get(node_type, frozenset[str]()) for node_type in node_types]
    return frozenset[str]().union(*operators) if all(operators) else frozenset()


def operators_behind(node_type: str) -> frozenset[str]:
    """Return the base names of the operators that a node of a type runs; empty if not known."""
    return _OPERATORS.get(node_type) or _INSERTED.get(node_type) or frozenset()
