"""Classifies graph nodes that only move data, and how much of their inputs they read.

Most nodes read their inputs and write their outputs. The others are known by name, from ATen, the
edge dialect and MLIR:

* a view is its input in another shape: nothing is read or written until another node does;
* a copy in another shape is a copy by name, which a runtime may turn into a view (ExecuTorch does
  so with view_copy if its memory planner can);
* a node that picks a part of its first input (slice, embedding) reads no more than it writes;
* a fill reads nothing: full_like uses only the shape of its input;
* an empty tensor only allocates; a constant exists before anything runs;
* arithmetic on sizes (sym_size) touches no data.
"""

from __future__ import annotations

from enum import Enum

from viewer.program.program import GraphNode, base_name, library_of

_LIBRARIES = ("aten", "dim_order_ops", "executorch")


class Traffic(Enum):
    """How a node uses data. The value is a description for the user."""

    WORK = "reads its inputs, writes its outputs"
    VIEW = "a view; moves no data"
    SAME_ORDER = "a copy with another shape; moves no data if the runtime makes it a view"
    COPY = "copies"
    PICK = "copies a part of its first input"
    FILL = "writes without reading"
    ROOM = "allocates memory and writes nothing"
    CONSTANT = "exists before the inference"
    SIZES = "uses sizes, not data"


_VIEWS = (
    "view", "_unsafe_view", "permute", "transpose", "t", "squeeze", "unsqueeze", "expand", "slice",
    "select", "split", "split_with_sizes", "chunk", "unbind", "alias", "detach", "narrow",
    "unflatten", "view_as", "expand_as", "as_strided", "diagonal",
)  # fmt: skip
_SAME_ORDER = (
    "view_copy", "squeeze_copy", "unsqueeze_copy", "alias_copy", "detach_copy", "reshape",
    "flatten", "contiguous",
)  # fmt: skip
_COPIES = (
    "permute_copy", "transpose_copy", "t_copy", "expand_copy", "clone", "_clone_dim_order",
    "split_copy", "split_with_sizes_copy", "unbind_copy", "cat", "stack", "repeat", "flip", "roll",
    "constant_pad_nd", "pixel_shuffle", "pixel_unshuffle", "lift_fresh_copy", "to", "_to_copy",
    "_to_dim_order_copy",
)  # fmt: skip
_PICKS = (
    "slice_copy", "select_copy", "narrow_copy", "as_strided_copy", "diagonal_copy", "embedding",
    "index_select", "gather", "index",
)  # fmt: skip
_FILLS = (
    "full", "full_like", "zeros", "zeros_like", "ones", "ones_like", "new_full", "new_zeros",
    "new_ones", "arange", "scalar_tensor",
)  # fmt: skip
_BY_NAME = {
    **dict.fromkeys(_VIEWS, Traffic.VIEW),
    **dict.fromkeys(_SAME_ORDER, Traffic.SAME_ORDER),
    **dict.fromkeys(_COPIES, Traffic.COPY),
    **dict.fromkeys(_PICKS, Traffic.PICK),
    **dict.fromkeys(_FILLS, Traffic.FILL),
    **dict.fromkeys(("empty", "empty_like", "new_empty"), Traffic.ROOM),
    **dict.fromkeys(("sym_size", "sym_numel", "sym_stride"), Traffic.SIZES),
}
_MLIR = {
    **dict.fromkeys(("tosa.const", "arith.constant", "tosa.const_shape"), Traffic.CONSTANT),
    **dict.fromkeys(
        ("tosa.reshape", "tosa.identity"), Traffic.SAME_ORDER
    ),
    **dict.fromkeys(
        ("tensor.reshape", "tensor.expand_shape", "tensor.collapse_shape", "tensor.cast"),
        Traffic.VIEW,
    ),
    **dict.fromkeys(
        (
            "tosa.transpose", "tosa.concat", "tosa.tile", "tosa.reverse", "tosa.pad", "tosa.cast",
            "tensor.pad", "linalg.transpose", "linalg.broadcast", "linalg.copy",
        ),
        Traffic.COPY,
    ),
    **dict.fromkeys(("tosa.slice", "tosa.gather", "tensor.extract_slice"), Traffic.PICK),
    **dict.fromkeys(("tensor.splat", "linalg.fill"), Traffic.FILL),
    "tensor.empty": Traffic.ROOM,
}  # fmt: skip
# Operations that contain others, or pass their values on.
_STRUCTURE = ("func", "module", "return", "yield", "call")


def is_structure(node: GraphNode) -> bool:
    """Return whether an MLIR operation does no work itself: a function, a return, a call."""
    dialect, _, name = node.op.rpartition(".")
    return name in _STRUCTURE and dialect not in ("", *_LIBRARIES)


def traffic_of(node: GraphNode) -> Traffic:
    """Return how a node uses data, by its op."""
    return traffic_named(node.op)


def traffic_named(op: str) -> Traffic:
    """Return how nodes of an op use data: "aten.permute_copy.default", "tosa.transpose"."""
    if op.startswith(("_operator.", "math.")):
        return Traffic.SIZES  # Python operators on the sizes of a dynamic shape
    if op == "executorch.exir.memory.view":
        return Traffic.VIEW
    if library_of(op) in _LIBRARIES:
        return _BY_NAME.get(base_name(op), Traffic.WORK)
    return _MLIR.get(op, Traffic.WORK)


def is_moving(node: GraphNode) -> bool:
    """Return whether a node does no arithmetic on data."""
    return traffic_of(node) is not Traffic.WORK
