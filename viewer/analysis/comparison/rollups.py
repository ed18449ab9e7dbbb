"""The times of sessions by graph node, line, module, type, operator or name, instead of by call.

Costs are those of the cost panels: every instant is charged once, to the graph nodes that ran. Time
that several groups share is a group of its own, such as "blocks.0 + blocks.1", and never divided.
Traces without an ETRecord are grouped by the names of their slices, with their self time.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence

import numpy as np

from viewer.analysis.comparison.sessions import MethodTimes, Part, PartId, Session
from viewer.analysis.cost.costs import Costs
from viewer.analysis.cost.lines import place_of
from viewer.analysis.links.link_table import LinkTable
from viewer.arrays import Codes, Floats, Ints
from viewer.model.queries import foreign, self_time
from viewer.model.text import display_name
from viewer.model.timing import Timing, timings
from viewer.model.trace import Trace
from viewer.program.program import GraphNode, Operator, type_of

NODE, LINE, MODULE, TYPE, SET, NAME = "node", "line", "module", "type", "operator_set", "name"
LEVELS = (NODE, LINE, MODULE, TYPE)
OUTERMOST = "(outermost module)"
_NO_LINE = "(no line)"
_ADDRESS = re.compile(r" at 0x[0-9a-fA-F]+")
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
        texts, group = plain_names(session.table.trace, slices.name)
        group[foreign(slices)] = -1
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
    medians = np.zeros(ticks.shape[1])
    ran = (ticks > 0).any(axis=0)
    medians[ran] = np.nanmedian(np.where(ticks > 0, ticks, np.nan)[:, ran], axis=0)
    summed = np.zeros(len(groups))
    np.add.at(summed, of_set, medians)
    every = np.broadcast_to(summed, (len(session.runs), len(groups)))
    of_slice = groups_of_keys(table, level)[1][table.trace.slices.key]
    return _times(session, level, list(groups.items()), every, of_slice)


def _by_name(session: Session) -> MethodTimes:
    trace = session.table.trace
    slices = trace.slices
    row = session.row_of_slices.copy()
    row[foreign(slices)] = -1
    at = np.flatnonzero(row >= 0)
    texts, group = plain_names(trace, slices.name[at])
    shape = len(session.runs), len(texts)
    place = row[at] * len(texts) + group
    ticks = np.bincount(place, self_time(slices)[at], shape[0] * shape[1]).reshape(shape)
    groups = [((text,), set[int]()) for text in texts]
    of_slice = np.full(len(slices), -1)
    of_slice[at] = group
    return _times(session, NAME, groups, ticks.astype(np.float64), of_slice)


def plain_names(trace: Trace, name: Codes) -> tuple[tuple[str, ...], Ints]:
    """Return distinct names without what differs between processes, and the number of each.

    That are the addresses of objects, and the numbers of steps. name: indexes into the strings.
    """
    step = {run.name: run.series for run in trace.runs if run.series != run.name}
    names, of_name = np.unique(name, return_inverse=True)
    numbers: dict[str, int] = {}
    place = []
    for own in names.tolist():
        text = trace.strings[own]
        text = step.get(text) or _ADDRESS.sub("", text)
        place.append(numbers.setdefault(text, len(numbers)))
    return tuple(numbers), np.array(place, np.int64)[of_name.reshape(-1)]


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
