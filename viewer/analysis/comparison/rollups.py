"""The times of sessions by graph node, line, module, type, operator or name, instead of by call.

Costs are the self times of the graph nodes that ran. Time that several groups share is a group of
its own, such as "blocks.0 + blocks.1". Traces without an ETRecord are grouped by the names of their
slices. The time of a location, action, job, task or unit of an NPU is the length of the union of
its slices, so units that work for it at once count once.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import pairwise

import numpy as np

from viewer.analysis.comparison.evidence import without_address
from viewer.analysis.comparison.levels import (
    IDENTITIES,
    LINE,
    MODULE,
    NAME,
    NODE,
    SET,
    TYPE,
    UNIT,
)
from viewer.analysis.comparison.sessions import MethodTimes, Part, PartId, Session
from viewer.analysis.cost.costs import Costs
from viewer.analysis.cost.source_costs import place_of
from viewer.analysis.links.link_table import LinkTable
from viewer.analysis.statistics.group_keys import GroupKeys
from viewer.analysis.statistics.npu_units import UnitOverview
from viewer.analysis.torq.measured_actions import Groups, identified_slices
from viewer.arrays import Bools, Codes, Floats, Ints, numbers_at
from viewer.model import intervals
from viewer.model.queries import foreign, self_times, units_of
from viewer.model.text import display_name
from viewer.model.timing import Timing, timings
from viewer.model.trace import Slices, Trace, Unit
from viewer.program.program import GraphNode, Operator, type_of

# Not a row of a unit, as the whole inference has its time.
_WHOLE = ("overall",)
OUTERMOST = "(outermost module)"
NO_LINE = "(no line)"
# Between the groups that share their time.
AND = " + "


def rolled_times(session: Session, level: str) -> tuple[MethodTimes, ...]:
    """Return the times of all groups of a level in all inferences, as one method."""
    if not session.runs:
        return ()
    if level in IDENTITIES:
        groups, ticks, group = _identified_times(session, level)
        keys = [(key, set[int]()) for key in groups]
        return (_times(session, level, keys, ticks, ticks > 0, group),)
    if session.program is None or level == NAME:
        return (_by_name(session),)
    return (_by_nodes(session, level),)


def group_of_slices(session: Session, level: str) -> tuple[list[tuple[str, ...]], Ints]:
    """Return the groups of a level, and the index of that of every slice; -1 for none (int64)."""
    if level in IDENTITIES:
        return _identified(session, level)
    if session.program is None or level == NAME:
        slices = session.table.trace.slices
        texts, group = plain_names(session.table.trace, slices.name)
        group[_uncounted(slices)] = -1
        return [(text,) for text in texts], group
    groups, of_key = groups_of_keys(session.table, level)
    return groups, of_key[session.table.trace.slices.key]


def groups_of_keys(table: LinkTable, level: str) -> tuple[list[tuple[str, ...]], Ints]:
    """Return the groups of a level of a linked trace, and that of every key; -1 for none."""
    groups, of_set = _groups_of_sets(table, level)
    own_set = table.node_set_of_key
    return list(groups), np.where(own_set >= 0, of_set[own_set], -1) if len(of_set) else own_set


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


def _by_nodes(session: Session, level: str) -> MethodTimes:
    """Add up the medians of what is in a group, the same in every inference.

    The median of sums would be too long: where processes are interrupted, most inferences have one
    call that takes much longer, and it is another one each time.
    """
    table = session.table
    ticks = Costs(table).ticks_of_node_sets(session.runs).astype(np.float64)
    groups, of_set = _groups_of_sets(table, level)
    own_set = table.node_set_of_key[table.trace.slices.key]
    ran = (ticks > 0) | _ran(session.row_of_slices, own_set, ticks.shape)
    medians = np.zeros(ticks.shape[1])
    ever = ran.any(axis=0)
    medians[ever] = np.nanmedian(np.where(ran, ticks, np.nan)[:, ever], axis=0)
    summed = np.zeros(len(groups))
    np.add.at(summed, of_set, medians)
    every = np.broadcast_to(summed, (len(session.runs), len(groups)))
    of_slice = groups_of_keys(table, level)[1][table.trace.slices.key]
    return _times(session, level, list(groups.items()), every, every > 0, of_slice)


def _by_name(session: Session) -> MethodTimes:
    trace = session.table.trace
    slices = trace.slices
    row = session.row_of_slices.copy()
    row[_uncounted(slices)] = -1
    index = np.flatnonzero(row >= 0)
    texts, group = plain_names(trace, slices.name[index])
    shape = len(session.runs), len(texts)
    place = row[index] * len(texts) + group
    ticks = np.bincount(place, self_times(trace)[index], shape[0] * shape[1]).reshape(shape)
    groups = [((text,), set[int]()) for text in texts]
    of_slice = numbers_at(len(slices), index, group, -1)
    ran = _ran(row, of_slice, shape)
    return _times(session, NAME, groups, ticks.astype(np.float64), ran, of_slice)


def _uncounted(slices: Slices) -> Ints:
    """Slices without a time of their own: of a separate clock, or computed by the reader."""
    if slices.derived is None:
        return foreign(slices)
    return np.union1d(foreign(slices), np.flatnonzero(slices.derived))


def _ran(row: Ints, group: Ints, shape: tuple[int, ...]) -> Bools:
    """Whether each group has a slice in each run, even one that took 0 ticks.

    row, group: of every slice, -1 for none. shape: (runs, groups).
    """
    mask = (row >= 0) & (group >= 0)
    has_run = np.zeros(shape, np.bool_)
    has_run[row[mask], group[mask]] = True
    return has_run


def plain_names(trace: Trace, name: Codes) -> tuple[tuple[str, ...], Ints]:
    """Return distinct names without what differs between processes, and the number of each.

    That are the addresses of objects, and the numbers of steps. name: indexes into the strings.
    """
    step = {run.name: run.series for run in trace.runs if run.series != run.name}
    names, of_name = np.unique(name, return_inverse=True)
    numbers: dict[str, int] = {}
    place = []
    for code in names.tolist():
        text = trace.strings[code]
        text = step.get(text) or without_address(text)
        place.append(numbers.setdefault(text, len(numbers)))
    return tuple(numbers), np.array(place, np.int64)[of_name.reshape(-1)]


def _times(
    session: Session,
    level: str,
    groups: Sequence[tuple[tuple[str, ...], set[int]]],
    ticks: Floats,
    ran: Bools,
    group_of_slice: Ints,
) -> MethodTimes:
    """The times of the groups that take any, in the runs that have them.

    ticks, ran: of the shape (runs, groups). group_of_slice: -1 for none.
    """
    is_estimated = timings(session.table.trace.slices) & Timing.ESTIMATED > 0
    measured = np.ones(len(groups), np.bool_)
    if level == UNIT and is_estimated.any():  # which has no slices of its own
        measured[:] = False
    estimated = group_of_slice[is_estimated]
    measured[estimated[estimated >= 0]] = False
    taken = np.flatnonzero((ticks > 0).any(axis=0))
    parts = tuple(
        Part(PartId(level, -1, None, key), AND.join(key), "", tuple(sorted(operators)), False)
        for key, operators in (groups[i] for i in taken.tolist())
    )
    return MethodTimes(
        level,
        session.runs,
        parts,
        np.where(ran, ticks, np.nan)[:, taken],
        measured[taken],
        np.ones(len(taken)),
        np.ones(len(taken), np.int64),
    )


def module_key(part: Operator | GraphNode) -> str:
    """Return the module of an operator or a node as a group: its path."""
    return part.module_path or OUTERMOST


def _line(part: Operator | GraphNode) -> str:
    place = place_of(part)
    return f"{display_name(place[0])}:{place[1]}" if place else NO_LINE


def _node(part: Operator | GraphNode) -> str:
    if isinstance(part, Operator):
        return without_address(part.label)
    return f"{module_key(part)} · {without_address(part.name)}"


def _set(part: Operator | GraphNode) -> str:
    if isinstance(part, Operator):
        return without_address(part.label)
    return f"{module_key(part)} · {without_address(part.type)}"


_KEY: dict[str, Callable[[Operator | GraphNode], str]] = {
    NODE: _node, LINE: _line, MODULE: module_key, SET: _set,
    TYPE: lambda part: without_address(type_of(part)),
}  # fmt: skip


# -- what Torq profiles state ----------------------------------------------------------------------


def _identified_times(session: Session, level: str) -> tuple[Groups, Floats, Ints]:
    """Return the groups of a level, their ticks in every run, and the group of every slice.

    The ticks have the shape (runs, groups). Units have no slices of their own.
    """
    trace = session.table.trace
    groups, group = _identified(session, level)
    if level == UNIT and not groups:
        return *_units(session), group
    row = _rows_of_jobs(session)
    index = np.flatnonzero((row >= 0) & (group >= 0))
    place = row[index] * len(groups) + group[index]
    shape = len(session.runs), len(groups)
    lengths = _united(
        place, trace.slices.start[index], trace.slices.end[index], shape[0] * shape[1]
    )
    return groups, lengths.reshape(shape), np.where(row >= 0, group, -1)


def _identified(session: Session, level: str) -> tuple[Groups, Ints]:
    """Return the groups of a level, and that of every slice; units of an NPU have no slices.

    A layer of a runtime has the unit that its file states.
    """
    table, slices = session.table, session.table.trace.slices
    if level != UNIT:
        return identified_slices(table.trace, level)
    keys = GroupKeys(table)
    if not keys.is_stated(UNIT):
        return [], np.full(len(slices), -1, np.int64)
    units = keys.of(UNIT)
    return [(label,) for label in units.labels], units.of_key[slices.key]


def _rows_of_jobs(session: Session) -> Ints:
    """The run of every slice, also of NSS jobs, by their time: their track has no runs."""
    row = session.row_of_slices.copy()
    trace = session.table.trace
    jobs = np.flatnonzero((row < 0) & (units_of(trace) == Unit.NSS))
    if len(jobs):
        order = sorted(range(len(session.runs)), key=lambda i: session.runs[i].start)
        starts, ends = (
            np.array([getattr(session.runs[i], side) for i in order]) for side in ("start", "end")
        )
        index = np.searchsorted(starts, trace.slices.start[jobs], "right") - 1
        inside = (index >= 0) & (trace.slices.end[jobs] <= ends[index])
        row[jobs[inside]] = np.array(order)[index[inside]]
    return row


def _units(session: Session) -> tuple[Groups, Floats]:
    overview = UnitOverview(session.table.trace)
    of_runs = [
        {
            overview_row.label: overview_row.ticks
            for overview_row in overview.rows(run.start, run.end)
            if overview_row.key not in _WHOLE
        }
        for run in session.runs
    ]
    labels = list(dict.fromkeys(label for run_ticks in of_runs for label in run_ticks))
    ticks = [[float(run_ticks.get(label, 0)) for label in labels] for run_ticks in of_runs]
    return [(label,) for label in labels], np.array(ticks).reshape(len(of_runs), len(labels))


def _united(place: Ints, start: Ints, end: Ints, count: int) -> Floats:
    """The length of the union of the slices of each place."""
    lengths = np.zeros(count)
    if not len(place):
        return lengths
    order = np.lexsort((start, place))
    place, start, end = place[order], start[order], end[order]
    used, segment = np.unique(place, return_inverse=True)
    span = int(end.max()) - int(start.min()) + 1
    if span * len(used) < 2**62:  # segments one after another, then all are one
        by = segment.reshape(-1) * span - int(start.min())
        first, last = start + by, end + by
        before = np.concatenate([first[:1], np.maximum.accumulate(last)[:-1]])
        added = np.maximum(last - np.maximum(first, before), 0)
        lengths += np.bincount(place, added, count)
        return lengths
    bounds = [*np.flatnonzero(np.diff(place, prepend=place[0] - 1)).tolist(), len(place)]
    for number, (i, stop) in zip(used.tolist(), pairwise(bounds), strict=True):
        lengths[number] = intervals.length(start[i:stop], end[i:stop])
    return lengths
