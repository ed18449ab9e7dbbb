"""The times of sessions by graph node, line, module, type, operator or name, instead of by call.

Costs are those of the cost panels: every instant is charged once, to the graph nodes that ran. Time
that several groups share is a group of its own, such as "blocks.0 + blocks.1", and never divided.
Traces without an ETRecord are grouped by the names of their slices, with their self time.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from viewer.analysis.comparison.sessions import MethodTimes, Part, PartId, Session
from viewer.analysis.cost.costs import Costs
from viewer.analysis.cost.lines import place_of
from viewer.analysis.links.link_table import LinkTable
from viewer.arrays import Floats, Ints
from viewer.model.queries import foreign, run_of_slices, self_time
from viewer.model.text import display_name
from viewer.model.timing import Timing, timings
from viewer.program.program import GraphNode, Operator, type_of

NODE, LINE, MODULE, TYPE, SET, NAME = "node", "line", "module", "type", "operator_set", "name"
LEVELS = (NODE, LINE, MODULE, TYPE)
OUTERMOST = "(outermost module)"
_NO_LINE = "(no line)"
# Between the groups that share their time.
AND = " + "


def rolled_times(session: Session, level: str) -> tuple[MethodTimes, ...]:
    """Return the times of all groups of a level in all inferences, as one method."""
    if not session.runs:
        return ()
    if session.program is None or level == NAME:
        return (_by_name(session),)
    return (_by_nodes(session, level),)


def group_of_slices(session: Session, level: str) -> tuple[list[tuple[str, ...]], Ints]:
    """Return the groups of a level, and the index of that of every slice; -1 for none (int64)."""
    if session.program is None or level == NAME:
        slices = session.table.trace.slices
        names, group = np.unique(slices.name, return_inverse=True)
        group = group.reshape(-1)
        group[foreign(slices)] = -1
        return [(session.table.trace.strings[name],) for name in names.tolist()], group
    groups, of_set = _groups_of_sets(session.table, level)
    return list(groups), _groups_by_set(session.table, of_set)


def _groups_of_sets(table: LinkTable, level: str) -> tuple[dict[tuple[str, ...], set[int]], Ints]:
    """The groups of a level with their operators, and the index of that of every node set."""
    of = _KEY[level]
    groups: dict[tuple[str, ...], set[int]] = {}
    numbers: dict[tuple[str, ...], int] = {}
    of_set = np.zeros(len(table.parts), np.int64)
    operators = [table.sets[i] for i in table.set_of_node_set.tolist()]
    for i, parts in enumerate(table.parts):
        key = tuple(sorted({of(part) for part in parts}))
        of_set[i] = numbers.setdefault(key, len(numbers))
        groups.setdefault(key, set()).update(operators[i])
    return groups, of_set


def _groups_by_set(table: LinkTable, of_set: Ints) -> Ints:
    own_set = table.node_set_of_key[table.trace.slices.key]
    return np.where(own_set >= 0, of_set[own_set], -1) if len(of_set) else own_set


def _by_nodes(session: Session, level: str) -> MethodTimes:
    """Add up the medians of what is in a group, the same in every inference.

    The median of sums would be too long: where processes are interrupted, most inferences have one
    call that takes much longer, and it is another one each time.
    """
    table = session.table
    ticks = Costs(table).ticks_of_node_sets(session.runs).astype(np.float64)
    groups, of_set = _groups_of_sets(table, level)
    medians = np.zeros(ticks.shape[1])
    ran = (ticks > 0).any(axis=0)
    medians[ran] = np.nanmedian(np.where(ticks > 0, ticks, np.nan)[:, ran], axis=0)
    summed = np.zeros(len(groups))
    np.add.at(summed, of_set, medians)
    every = np.broadcast_to(summed, (len(session.runs), len(groups)))
    return _times(session, level, list(groups.items()), every, _groups_by_set(table, of_set))


def _by_name(session: Session) -> MethodTimes:
    trace = session.table.trace
    slices = trace.slices
    if session.is_whole:
        row = np.zeros(len(slices), np.int64)
    else:
        number = {id(run): i for i, run in enumerate(trace.runs)}
        row_of_run = np.full(len(trace.runs) + 1, -1)
        row_of_run[[number[id(run)] for run in session.runs]] = np.arange(len(session.runs))
        row = row_of_run[run_of_slices(trace)]
    row[foreign(slices)] = -1
    at = np.flatnonzero(row >= 0)
    names, group = np.unique(slices.name[at], return_inverse=True)
    shape = len(session.runs), len(names)
    place = row[at] * len(names) + group.reshape(-1)
    ticks = np.bincount(place, self_time(slices)[at], shape[0] * shape[1]).reshape(shape)
    groups = [((trace.strings[name],), set[int]()) for name in names.tolist()]
    of_slice = np.full(len(slices), -1)
    of_slice[at] = group.reshape(-1)
    return _times(session, NAME, groups, ticks.astype(np.float64), of_slice)


def _times(
    session: Session,
    level: str,
    groups: Sequence[tuple[tuple[str, ...], set[int]]],
    ticks: Floats,
    group_of_slice: Ints,
) -> MethodTimes:
    """The times of the groups that take any; group_of_slice: -1 for none."""
    is_estimated = timings(session.table.trace.slices) & Timing.ESTIMATED > 0
    measured = np.ones(len(groups), np.bool_)
    estimated = group_of_slice[is_estimated]
    measured[estimated[estimated >= 0]] = False
    taken = np.flatnonzero((ticks > 0).any(axis=0))
    parts = tuple(
        Part(PartId(level, -1, None, key), AND.join(key), "", tuple(sorted(operators)), False)
        for key, operators in (groups[i] for i in taken.tolist())
    )
    times = ticks[:, taken]
    return MethodTimes(
        level,
        session.runs,
        parts,
        np.where(times > 0, times, np.nan),
        measured[taken],
        np.ones(len(taken)),
        np.ones(len(taken), np.int64),
    )


def module_key(part: Operator | GraphNode) -> str:
    """Return the module of an operator or a node as a group: its path."""
    return part.module_path or OUTERMOST


def _line(part: Operator | GraphNode) -> str:
    place = place_of(part)
    return f"{display_name(place[0])}:{place[1]}" if place else _NO_LINE


def _node(part: Operator | GraphNode) -> str:
    return part.label if isinstance(part, Operator) else f"{module_key(part)} · {part.name}"


def _set(part: Operator | GraphNode) -> str:
    return part.label if isinstance(part, Operator) else f"{module_key(part)} · {part.type}"


_KEY: dict[str, Callable[[Operator | GraphNode], str]] = {
    NODE: _node, LINE: _line, MODULE: module_key, TYPE: type_of, SET: _set,
}  # fmt: skip
