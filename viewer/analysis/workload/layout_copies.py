"""Finds events that only copy or rearrange data, without arithmetic.

Only what a file or an ETRecord proves counts, in this order:

* a kernel, by its own name ("permute_copy.out"), even inside the call of another operator;
* an operator call with logged kernels, if all of them are copies; without kernels, or for a
  delegate call, an event or an MLIR location, by the linked operators, if all their graph nodes
  only move data;
* an unlinked delegate event, by XNNPACK's names of its own copies;
* host copies of Torq, by name.

Lookups (embedding, gather) and fills are not copies here.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

import numpy as np

from viewer.analysis.links.link_table import LinkTable
from viewer.analysis.links.match import WRITE_BACK
from viewer.analysis.workload.node_traffic import Traffic, is_structure, traffic_named, traffic_of
from viewer.model.names.executorch import KERNEL_PREFIX
from viewer.model.trace import KeyKind
from viewer.program.program import Operator, base_name

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
    found = [""] * len(keys)

    def linked(key: int) -> str:
        own = table.links[key].operators
        if own and own not in of_operators:
            of_operators[own] = copy_of_operators(table.operators(key))
        return of_operators.get(own, "")

    for key, kind in enumerate(keys.kind.tolist()):
        name = trace.strings[names[key]]
        if kind == KeyKind.KERNEL:
            found[key] = _kernel(name.removeprefix(KERNEL_PREFIX))
        elif kind == KeyKind.OPERATOR_CALL:
            ran = sorted(kernels.get((scope[key], instruction[key]), ()))
            copies = [_kernel(kernel) for kernel in ran]
            found[key] = (" + ".join(copies) if all(copies) else "") if ran else linked(key)
        elif kind in _BY_LINK:
            found[key] = linked(key) or _by_name(name)
    return found


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
    known = _XNNPACK.match(name)
    return known[1] if known else "host copy" if name in _HOST_COPIES else ""
