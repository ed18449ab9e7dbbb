"""Which row of a comparison each slice of a trace belongs to, for what shows slices."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from viewer.analysis.comparison.arms import Arm
from viewer.analysis.comparison.joined import Row
from viewer.analysis.comparison.levels import LEVELS_OF_CALLS
from viewer.analysis.comparison.rollups import group_of_slices
from viewer.analysis.comparison.sessions import PartId, Session
from viewer.arrays import Ints
from viewer.model.queries import run_of_slices, starts_in_run, tree
from viewer.model.trace import KeyKind, Run, Trace


def rows_of_slices(arm: Arm, side: int, rows: Sequence[Row], session: Session) -> Ints:
    """Return the number of the row of every slice of a session's trace, -1 for none (int64).

    Slices of inferences that warm up have the rows of their calls, too. A kernel is in the row of
    its call. side: 0 if the arm is A, 1 if it is B.
    """
    row_of_part = np.full(len(arm.parts) + 1, -1)
    for i, row in enumerate(rows):
        row_of_part[list(row.b if side else row.a)] = i
    is_of_calls = arm.level in LEVELS_OF_CALLS
    part = _part_of_calls(arm, session) if is_of_calls else _part_of_groups(arm, session)
    return row_of_part[part]


def _part_of_groups(arm: Arm, session: Session) -> Ints:
    groups, group_of_slice = group_of_slices(session, arm.level)
    part = [arm.number.get(PartId(arm.level, -1, None, group), -1) for group in groups]
    return np.array([*part, -1], np.int64)[group_of_slice]


def _part_of_calls(arm: Arm, session: Session) -> Ints:
    trace = session.table.trace
    slices, keys = trace.slices, trace.keys
    method = _methods(session)
    scopes, instructions = keys.scope.tolist(), keys.instruction.tolist()
    is_event = keys.kind == KeyKind.DELEGATE_EVENT
    part = calls_of_keys(arm, session)[slices.key]
    index = np.flatnonzero(is_event[slices.key] & (keys.instruction[slices.key] >= 0))
    key_of_slice = slices.key[index].astype(np.int64)
    nth = session.numbers_of_events(index, run_of_slices(trace)[index])
    most = int(nth.max(initial=0)) + 1
    events, event_of = np.unique(key_of_slice * most + nth, return_inverse=True)
    names = keys.name[events // most].tolist()
    part_of_event = np.empty(len(events), np.int64)
    for i, (event, name) in enumerate(zip(events.tolist(), names, strict=True)):
        key, count = divmod(event, most)
        part_id = PartId(method[scopes[key]], instructions[key], (trace.strings[name], count))
        part_of_event[i] = arm.number.get(part_id, -1)
    part[index] = part_of_event[event_of.reshape(-1)]
    return part


def calls_of_keys(arm: Arm, session: Session) -> Ints:
    """Return the part of the call that every key of a session's trace is of, -1 for none (int64).

    Events inside delegate calls have none.
    """
    keys, method = session.table.trace.keys, _methods(session)
    scopes, instructions = keys.scope.tolist(), keys.instruction.tolist()
    is_event = keys.kind == KeyKind.DELEGATE_EVENT
    part_of_key = np.full(len(is_event), -1)
    for key in np.flatnonzero((keys.instruction >= 0) & ~is_event).tolist():
        part_of_key[key] = arm.number.get(PartId(method[scopes[key]], instructions[key]), -1)
    return part_of_key


def _methods(session: Session) -> list[str]:
    return [session.method_of(scope)[0] for scope in range(len(session.table.trace.scopes))]


def outermost(
    trace: Trace, row_of_slice: Ints, rows: Sequence[int], run: Run | None = None
) -> Ints:
    """Return the slices of some rows that are not inside others of their own row, ascending.

    run: only those that start in it; None for all.
    """
    index: Ints = np.flatnonzero(np.isin(row_of_slice, np.array(rows, np.int64)))
    index = index[trace.keys.kind[trace.slices.key[index]] != KeyKind.KERNEL]
    if run is not None:
        index = starts_in_run(trace, run, index)
    if not len(index):
        return index
    shape = tree(trace.slices)
    parent = np.full(len(shape.index), -1)
    parent[shape.index] = np.where(shape.parent >= 0, shape.index[shape.parent], -1)
    inside = np.zeros(len(index), np.bool_)
    above = parent[index]
    while (above >= 0).any():
        inside |= (above >= 0) & (row_of_slice[above] == row_of_slice[index])
        above = np.where(above >= 0, parent[above], -1)
    outer: Ints = index[~inside]
    return outer
