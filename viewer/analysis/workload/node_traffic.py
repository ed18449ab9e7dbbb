"""Classifies graph nodes that only move data, and how much of their inputs they read.

Most nodes read their inputs and write their outputs. The others are known by name, from ATen, the
edge dialect and MLIR:

* a view is its input in another shape: nothing is read or written until another node does. A copy
  in another shape may become one (ExecuTorch's view_copy, if its memory planner can);
* a node that picks a part of its first input (slice, embedding) reads no more than it writes;
* a fill reads nothing: full_like uses only the shape of its input;
* an empty tensor only allocates; a constant exists before anything runs;
* arithmetic on sizes (sym_size) touches no data.

An event is a copy only if a file or an ETRecord proves it, in this order:

* a kernel, by its own name ("permute_copy.out"), even inside the call of another operator;
* an operator call with logged kernels, if all of them are copies; anything else with a link, if all
  graph nodes of its operators only move data;
* an unlinked delegate event, by XNNPACK's names of its own copies; host copies of Torq, by name.

Lookups (embedding, gather) and fills are not copies here.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from enum import Enum

import numpy as np

from viewer.analysis.links.link_table import LinkTable
from viewer.analysis.links.match import WRITE_BACK
from viewer.model.recorded_names import KERNEL_PREFIX
from viewer.model.trace import KeyKind
from viewer.program.program import GraphNode, Operator, base_name, library_of

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


_MOVES = frozenset({Traffic.VIEW, Traffic.SAME_ORDER, Traffic.COPY, Traffic.PICK})
# These read data at indexes given by other data, so they do not change the layout.
_LOOKUPS = frozenset({"embedding", "index_select", "gather", "index"})
# xnn_operator_type_to_string of XNNPACK, with the data type in parentheses: "Transpose (ND, X32)".
_XNNPACK = re.compile(
    r"(Channel Shuffle|Constant Pad|Convert|Copy|Depth To Space|Slice|Space To Depth"
    r"|Static Reshape|Static Slice|Transpose) \([A-Z0-9, ]+\)"
)
_HOST_COPIES = frozenset({"HOST_COPY", "torq_hl.host_copy"})
_BY_LINK = frozenset(
    map(int, (KeyKind.DELEGATE_CALL, KeyKind.DELEGATE_EVENT, KeyKind.LOCATION, KeyKind.ACTION,
              KeyKind.JOB))
)  # fmt: skip


def copies_of(table: LinkTable) -> list[str]:
    """Return per key the kind of copy, "permute_copy" or "Transpose"; "" for no copy."""
    trace, keys = table.trace, table.trace.keys
    scope, instruction = keys.scope.tolist(), keys.instruction.tolist()
    names = keys.name.tolist()
    # With their namespaces: an operator of a library may be called transpose and do anything.
    kernels: dict[tuple[int, int], set[str]] = {}
    for key in np.flatnonzero(keys.kind == KeyKind.KERNEL).tolist():
        name = trace.strings[names[key]].removeprefix(KERNEL_PREFIX)
        kernels.setdefault((scope[key], instruction[key]), set()).add(name)
    of_operators: dict[tuple[int, ...], str] = {}
    copy_of_key = [""] * len(keys)

    def linked(key: int) -> str:
        operators = table.links[key].operators
        if operators and operators not in of_operators:
            of_operators[operators] = copy_of_operators(table.operators(key))
        return of_operators.get(operators, "")

    for key, kind in enumerate(keys.kind.tolist()):
        name = trace.strings[names[key]]
        if kind == KeyKind.KERNEL:
            copy_of_key[key] = _kernel(name.removeprefix(KERNEL_PREFIX))
        elif kind == KeyKind.OPERATOR_CALL:
            ran = sorted(kernels.get((scope[key], instruction[key]), ()))
            copies = [_kernel(kernel) for kernel in ran]
            copy_of_key[key] = (" + ".join(copies) if all(copies) else "") if ran else linked(key)
        elif kind in _BY_LINK:
            copy_of_key[key] = linked(key) or _by_name(name)
    return copy_of_key


def copy_of_operators(operators: Sequence[Operator]) -> str:
    """Return the ops of operators whose graph nodes all only move data; "" if any does more."""
    nodes = [node for operator in operators for node in operator.nodes]
    working = [node for node in nodes if not is_structure(node)]
    kinds = {traffic_of(node) for node in working}
    moves = kinds <= _MOVES | {Traffic.SIZES} and bool(kinds & _MOVES)
    ops = dict.fromkeys(base_name(n.op) if n.op.count(".") > 1 else n.op for n in working)
    return " + ".join(ops) if moves and not _LOOKUPS & ops.keys() else ""


def _kernel(name: str) -> str:
    """Return a copy kernel's base name, "permute_copy" for "permute_copy.out", else ""."""
    base = base_name(name)
    moves = traffic_named(f"aten.{base}.default") in _MOVES and base not in _LOOKUPS
    return base if moves or base == WRITE_BACK else ""


def _by_name(name: str) -> str:
    """Return the kind of copy of an unlinked event, by its name; "" for none."""
    match = _XNNPACK.match(name)
    return match[1] if match else "host copy" if name in _HOST_COPIES else ""
