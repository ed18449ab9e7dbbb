"""Inferences and identities in Chrome traces that Arm's script makes of an ETDump.

`backends/arm/scripts/etdump_to_chrome_trace.py` of ExecuTorch writes the events of the Inspector: a
thread for each event block, and a slice for each run of an event, with `event_block`, `iteration`,
`is_delegated_op`, `delegate_backend_name` and `op_types` as arguments. The events come name by
name, not run by run. An iteration of a block is an inference, or a load if it only loads. Starts
and durations are ns that were divided in binary floating point: they are rounded to whole ns again,
so that slices that touch still do. Events have no instruction, so those of one name in one block
are one identity. Of an event inside another one with the same times, the names tell which is which.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from viewer.arrays import Bools, Codes, Ints
from viewer.formats.chrome.inferences import MOST_RUNS, TOO_MANY, EventSlices
from viewer.model.building.builder import TraceBuilder
from viewer.model.names.executorch import (
    CONTROL,
    DELEGATE_CALL,
    EXECUTE,
    KERNEL_PREFIX,
    OPERATOR_CALL,
    SCOPES,
    is_library_kernel,
)
from viewer.model.trace import Column, KeyKind, RunKind

BLOCK, TYPES = "event_block", "op_types"
_ITERATION, _DELEGATED = "iteration", "is_delegated_op"
# What encloses what, where times are equal.
_RANK = {KeyKind.FRAMEWORK: 0, KeyKind.OPERATOR_CALL: 1, KeyKind.DELEGATE_CALL: 1}


def is_inspector(columns: Mapping[str, Column], count: int) -> bool:
    """Return whether all slices have the arguments of the script. count: of slices."""
    block, iteration = columns.get(BLOCK), columns.get(_ITERATION)
    if not count or block is None or iteration is None or _DELEGATED not in columns:
        return False
    if block.valid is not None or iteration.valid is not None or block.strings is None:
        return False
    return iteration.strings is None and iteration.values.dtype.kind == "i"


def add_inspector_events(
    builder: TraceBuilder, slices: EventSlices, columns: Mapping[str, Column]
) -> tuple[Codes, Ints]:
    """Add the inferences and loads, and return the key of each slice, and an order of the slices.

    In this order, slices come after those around them.
    """
    block = columns[BLOCK]
    number = columns[_ITERATION].values.astype(np.int64)
    delegated = _is_true(columns[_DELEGATED])
    blocks = [builder.scope(text) for text in block.strings or ()]
    of_block = np.array(blocks, np.int64)[block.values]
    combined, which = np.unique(
        np.stack([of_block, slices.name.astype(np.int64), delegated]), axis=1, return_inverse=True
    )
    key = np.empty(combined.shape[1], np.uint32)
    rank = np.empty(combined.shape[1], np.int64)
    for i, (scope, name, is_delegated) in enumerate(combined.T.tolist()):
        text = slices.names[name]
        kind = _kind(text, is_delegated=bool(is_delegated))
        identifier = text if kind == KeyKind.DELEGATE_EVENT else None
        key[i] = builder.key(kind, text, scope=scope, identifier=identifier)
        rank[i] = _RANK.get(kind, 2)
    which = which.reshape(-1)
    _add_runs(builder, slices, of_block, number)
    return key[which], np.argsort(rank[which], kind="stable")


def _add_runs(builder: TraceBuilder, slices: EventSlices, scope: Ints, number: Ints) -> None:
    runs, which = np.unique(np.stack([scope, number]), axis=1, return_inverse=True)
    which, count = which.reshape(-1), runs.shape[1]
    if count > MOST_RUNS:
        builder.problem(TOO_MANY, count)
        return
    start, end = np.full(count, np.iinfo(np.int64).max), np.full(count, np.iinfo(np.int64).min)
    np.minimum.at(start, which, slices.start)
    np.maximum.at(end, which, np.maximum(slices.start, slices.end))
    track = np.zeros(count, np.int64)
    track[which] = slices.track
    names = np.array(
        [2 if name == EXECUTE else name not in SCOPES for name in slices.names], np.int64
    )
    most = np.zeros(count, np.int64)
    np.maximum.at(most, which, names[slices.name])
    has_whole = {
        scope for scope, best in zip(runs[0].tolist(), most.tolist(), strict=True) if best == 2
    }
    for i in np.argsort(start, kind="stable").tolist():
        kind = RunKind.INFERENCE if most[i] else RunKind.LOAD
        # In a block whose inferences have Method::execute, one without it did not finish.
        builder.run(
            kind, EXECUTE if most[i] else "load", int(track[i]), int(runs[0, i]), int(start[i]),
            int(end[i]), finished=not most[i] or most[i] == 2 or int(runs[0, i]) not in has_whole,
        )  # fmt: skip


def _kind(name: str, *, is_delegated: bool) -> KeyKind:
    if is_delegated:
        return KeyKind.DELEGATE_EVENT
    if name in SCOPES:
        return KeyKind.FRAMEWORK
    if name in CONTROL:
        return KeyKind.CONTROL
    if name.startswith(KERNEL_PREFIX) or is_library_kernel(name):
        return KeyKind.KERNEL
    calls = {OPERATOR_CALL: KeyKind.OPERATOR_CALL, DELEGATE_CALL: KeyKind.DELEGATE_CALL}
    return calls.get(name, KeyKind.PLAIN)


def _is_true(column: Column) -> Bools:
    found: Bools = column.values != 0
    if column.strings is not None:
        found = np.array([text.lower() == "true" for text in column.strings])[column.values]
    return found if column.valid is None else found & column.valid
