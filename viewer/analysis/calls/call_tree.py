"""The aggregated call tree: slices with the same path, from process and thread down, as one node.

By name, the path of a slice is the names from the outermost slice of its thread to itself, so a
recursion is nodes inside one another. By operator, module or type, a slice without a group, or with
the same one, is part of the nearest enclosing slice that has it: a call and its kernel are one
occurrence. A slice inside none has its name.

Lanes of a thread nest by themselves, and add up. Slices on a delegate's own clock, derived ones
(`event_times.made_of_others`), unattributed time, and in a PyTorch profile the profiler's span and
annotations on a lane of their own are in no node: their time is self time of what encloses them. A
slice that crosses an edge of the scope counts with its part inside. A slice without an end counts
nowhere, as its duration is only a bound; what it has inside counts.

The whole trace has what `viewer.model.queries.counted_slices` counts. What counts inside a slice
that does not, as on a worker thread, is also total of the latter's node.
"""

from __future__ import annotations

from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from viewer.analysis.calls.call_table import CallNodes, CallTable, numbered
from viewer.analysis.calls.paths import FRAMES, CallPaths, call_paths
from viewer.analysis.cost.event_times import made_of_others
from viewer.analysis.links.labels import track_name
from viewer.analysis.links.link_table import LinkTable
from viewer.analysis.statistics.group_keys import GroupKeys
from viewer.analysis.statistics.occurrences import clipped
from viewer.arrays import Bools, Ints, counts_of, narrow, narrowest, parts_of
from viewer.model.figures import WHOLE, TimeScope, counted_in
from viewer.model.queries import (
    counted_slices,
    foreign,
    parent_of,
    starts_between,
    tree,
    unfinished,
)
from viewer.model.recorded_names import ANNOTATION, CATEGORY, PROFILER_SPAN, SAMPLES
from viewer.model.timing import Timing, rounded_zeros
from viewer.model.trace import KeyKind

KEYS = ("name", "operator", "module", "type")


def check_key(key: str) -> None:
    """Raise ValueError for a key that is not in `KEYS`."""
    if key not in KEYS:
        raise ValueError(f"{key!r} is not a key: use one of {', '.join(KEYS)}")


class CallTree:
    """The call tree of one linked trace by one key; what does not depend on the scope is cached."""

    def __init__(
        self, table: LinkTable, key: str = "name", groups: GroupKeys | None = None
    ) -> None:
        """groups: those of the table, to reuse.

        Raises ValueError for a key that is not in `KEYS`, and with the text of
        `GroupKeys.missing` if the trace does not have the key.
        """
        check_key(key)
        self._groups = groups or GroupKeys(table)
        why = self._groups.missing(key)
        if why:
            raise ValueError(why)
        self._table, self._trace, self._key = table, table.trace, key

    @cached_property
    def left_out(self) -> Bools | None:
        """Which slices are in no node, because others or another clock account for their time."""
        return left_out(self._table)

    @cached_property
    def annotations(self) -> Ints:
        """The annotations among `left_out`, ascending."""
        return _annotations(self._table)

    def table(self, scope: TimeScope = WHOLE) -> CallTable:
        """Return the nodes with any time or slice in a scope, and those around them."""
        paths, slices = self._paths, self._trace.slices
        nodes = len(paths.parent)
        first, last, track = scope.span
        start, end = clipped(slices, slice(None), first, last)
        durations = end - start
        if track is not None:
            durations[~self._is_on(track)] = 0
        counted = self._counted(scope)
        total = np.zeros(nodes + 1, np.int64)
        if counted is not None:
            self._add_inside(total, durations, counted)
            durations[~counted] = 0
        np.add.at(total, paths.node, durations)
        begins = self._begun(scope)
        of_begun = paths.node if begins.all() else paths.node[begins]
        samples = self._samples
        count = counts_of(of_begun, nodes + 1)[:-1]
        if samples is not None:
            count = np.zeros(nodes + 1, np.int64)
            np.add.at(count, of_begun, samples[begins])
            count = count[:-1]
        zero_slices = rounded_zeros(slices)
        node = paths.node[zero_slices[begins[zero_slices]]]
        zeros = np.bincount(node, minlength=nodes + 1)[:-1].astype(np.int64) if len(node) else None
        return self._with_figures(total[:-1], count, zeros)

    @cached_property
    def _samples(self) -> Ints | None:
        """Per slice how many samples it is made of, 1 for others; None if no slice is sampled."""
        slices = self._trace.slices
        column = slices.columns.get(SAMPLES)
        if slices.timing is None or column is None or column.values.dtype.kind != "i":
            return None
        is_sampled = slices.timing & np.uint8(Timing.SAMPLED) > 0
        return np.where(is_sampled, column.values, 1) if is_sampled.any() else None

    @property
    def numbers(self) -> NDArray[np.int32]:
        """Per slice the number of its node, as in `CallTable.number`; `len(self)` for none."""
        return self._paths.node

    def __len__(self) -> int:
        """Return how many nodes the paths of the whole trace have."""
        return len(self._paths.parent)

    def number_of(self, index: int) -> int:
        """Return the number of the node that a slice is an occurrence or a part of, -1 for none."""
        while index >= 0:
            number = int(self._paths.node[index])
            if number < len(self):
                return number
            index = parent_of(self._trace.slices, index)
        return -1

    def slices_of(self, number: int | Ints, scope: TimeScope = WHOLE) -> Ints:
        """Return the slices that a node, or some, count in a scope, ascending.

        number: of `CallTable.number`. Of a process or thread there are none.
        """
        wanted = np.zeros(len(self) + 1, np.bool_)
        wanted[number] = True
        return counted_in(self._trace, scope, np.flatnonzero(wanted[self._paths.node]))

    def sampled(self, scope: TimeScope = WHOLE) -> Ints | None:
        """Return per number how many of its counted slices are made of samples; None without any.

        Where there are some, the count has samples, and no mean of calls is known.
        """
        timing = self._trace.slices.timing
        if timing is None or self._samples is None:
            return None
        of_samples = (timing & np.uint8(Timing.SAMPLED) > 0) & self._begun(scope)
        counted = np.zeros(len(self) + 1, np.int64)
        np.add.at(counted, self._paths.node[of_samples], 1)
        return counted[:-1]

    def uncut(self, scope: TimeScope = WHOLE) -> Ints:
        """Return per number the sum of the durations of its counted slices, also outside a range.

        Divided by their count, it is the mean of Statistics.
        """
        slices = self._trace.slices
        lengths = slices.end - slices.start
        lengths[~self._begun(scope)] = 0
        sums = np.zeros(len(self) + 1, np.int64)
        np.add.at(sums, self._paths.node, lengths)
        return sums[:-1]

    def _begun(self, scope: TimeScope) -> Bools:
        """Return which slices start in a scope and count in it."""
        first, last, track = scope.span
        begins = starts_between(self._trace, self._trace.slices.start, first, last)
        counted = self._counted(scope)
        is_open = unfinished(self._trace.slices)
        if is_open is not None:
            begins = begins & ~is_open
        if track is not None:
            begins = begins & self._is_on(track)
        return begins if counted is None else begins & counted

    def _counted(self, scope: TimeScope) -> Bools | None:
        if not scope.is_whole:
            return None
        return counted_slices(self._trace, warm_up=scope.warm_up)

    def _is_on(self, track: int) -> Bools:
        slices = self._trace.slices
        is_on_track: Bools = (slices.row_track == track)[slices.rows()]
        return is_on_track

    def _with_figures(self, total: Ints, count: Ints, zeros: Ints | None) -> CallTable:
        """Add the figures of all nodes to the paths; frames have totals, and are summed here."""
        paths = self._paths
        for depth in (1, 0):
            outer = np.flatnonzero(paths.depth == depth + 1)
            np.add.at(total, paths.parent[outer], total[outer])
        self_ticks = total.copy()
        for part in parts_of(len(total)):
            inner = paths.parent[part] >= 0
            np.subtract.at(self_ticks, paths.parent[part][inner], total[part][inner])
        table = CallTable(
            paths.labels,
            paths.parent,
            paths.name,
            paths.depth,
            narrow(np.arange(len(total))),
            total,
            self_ticks,
            narrowest(count),
            zeros,
            len(self._trace.tracks),
        )
        return table.kept(table.with_parents((total > 0) | (count > 0)))

    def _add_inside(self, total: Ints, durations: Ints, counted: Bools) -> None:
        """Add the time of slices that count to the nodes of slices around them that do not."""
        node = self._paths.node
        shape = tree(self._trace.slices)
        counts = counted if self.left_out is None else counted & ~self.left_out
        counts = counts[shape.index]
        inside = np.flatnonzero(counts & (shape.parent >= 0))
        around = shape.parent[inside]
        while len(inside):
            rises = ~counts[around]
            inside, around = inside[rises], around[rises]
            np.add.at(total, node[shape.index[around]], durations[shape.index[inside]])
            around = shape.parent[around]
            inside, around = inside[around >= 0], around[around >= 0]

    @cached_property
    def _paths(self) -> CallPaths:
        groups, tracks = self._groups.of(self._key), range(len(self._trace.tracks))
        threads = [track_name(self._table, i) for i in tracks]
        return call_paths(self._trace, threads, groups, self.left_out, merges=self._key != "name")


def left_out(table: LinkTable) -> Bools | None:
    """Return which slices of a trace are in no node of its call trees; None if all are in one."""
    trace = table.trace
    is_left_out = made_of_others(trace).copy()
    is_left_out[foreign(trace.slices)] = True
    gaps = trace.keys.kind == KeyKind.UNATTRIBUTED
    if gaps.any():
        is_left_out |= gaps[trace.slices.key]
    is_left_out[_annotations(table)] = True
    return is_left_out if is_left_out.any() else None


def _annotations(table: LinkTable) -> Ints:
    """Return which slices of a PyTorch profile only repeat the time of others, ascending."""
    trace = table.trace
    if not table.is_recorded or trace.calls is None:
        return np.empty(0, np.int64)
    slices = trace.slices
    category = slices.columns[CATEGORY]
    alone = (slices.row_lane > 0)[slices.rows()]
    return np.flatnonzero(
        category.is_any((PROFILER_SPAN,)) | (category.is_any((ANNOTATION,)) & alone)
    )


def bottom_up(table: CallTable, levels: int | None = None, least: int = 0) -> CallTable:
    """Return the frames of a top-down table by name, and below each name its callers.

    levels: how many levels to return; by default all, to the thread and the process. There may be
    as many nodes as all paths have names together.

    Self time of a caller is self time of the root when called this way. So the self times of the
    roots add up to the time of the whole table, and those of the callers of a node to its own,
    unless it is an outermost one.
    """
    items = np.flatnonzero(table.depth >= FRAMES)
    ancestor, node = items, np.full(len(items), -1)
    parents, names, depths, figures = [], [], [], []
    count, depth = 0, 0
    while len(items) and (levels is None or depth < levels):
        number, distinct = numbered((node + 1) * len(table.labels) + table.name[ancestor])
        parents.append(distinct // len(table.labels) - 1)
        names.append(distinct % len(table.labels))
        depths.append(np.full(len(distinct), depth))
        figures.append(_figures(table, items, number, len(distinct)))
        node, ancestor = number + count, table.parent[ancestor]
        count, depth = count + len(distinct), depth + 1
        is_called = (ancestor >= 0) & (figures[-1][1] >= least)[number]
        items, ancestor, node = items[is_called], ancestor[is_called], node[is_called]
    if not count:
        return table.kept(np.zeros(len(table), np.bool_))
    total, self_ticks, slices, cut = np.concatenate(figures, axis=1)
    unknown = np.full(count, -1)
    parent, name, levels_of = map(np.concatenate, (parents, names, depths))
    zeros = None if table.zeros is None else cut
    call_table = CallTable(
        table.labels, parent, name, levels_of, unknown, total, self_ticks, slices, zeros
    )
    return call_table.sorted_by(-name)


def called(table: CallTable, inverted: CallNodes, node: int) -> Ints:
    """Return the nodes of a top-down table whose figures a node of its inversion adds up."""
    names = list[int]()
    while node >= 0:
        names.append(int(inverted.name[node]))
        node = inverted.parent_of(node)
    items = np.flatnonzero((table.depth >= FRAMES) & (table.name == names.pop()))
    ancestor = items
    for name in reversed(names):
        ancestor = table.parent[ancestor]
        # The parent of a root is -1, and no name of another node may be read there.
        fits = (ancestor >= 0) & (table.name[ancestor] == name)
        items, ancestor = items[fits], ancestor[fits]
    return items


def _figures(table: CallTable, items: Ints, node: Ints, count: int) -> Ints:
    """Return total, self time, count and zeros of some nodes; shape (4, count).

    items: ascending nodes of the table; node: the number of the node that each belongs to.
    """
    figures = np.zeros((4, count), np.int64)
    outer = _outermost(table, items, node)
    np.add.at(figures[0], node[outer], table.total[items[outer]])
    np.add.at(figures[1], node, table.self_ticks[items])
    np.add.at(figures[2], node, table.count[items])
    if table.zeros is not None:
        np.add.at(figures[3], node, table.zeros[items])
    return figures


def _outermost(table: CallTable, items: Ints, node: Ints) -> Bools:
    """Return per item whether it is below no other item of its node."""
    order = np.argsort(node, kind="stable")
    # Each node's items are lifted above those of the node before it.
    lift = node[order] * (len(table) + 1)
    first = items[order] + lift
    reach = np.maximum.accumulate(first + table.size[items[order]])
    outer = np.empty(len(items), np.bool_)
    outer[order] = first >= np.append(first[:1], reach[:-1])
    return outer
