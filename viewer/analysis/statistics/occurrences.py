"""Which slices are occurrences of groups in a range, and their durations, cut at its edges.

What is cut is exact array code in ticks on an ascending array of slice numbers ("index"), about
linear in its length, whatever the size of the trace. Only the part of a slice inside the range
counts.
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from functools import cached_property
from itertools import pairwise
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from viewer.analysis.cost.event_times import made_of_others, stated_alone
from viewer.analysis.links.link_table import LinkTable
from viewer.analysis.statistics.group_keys import (
    GroupKeys,
    KeyGroups,
    OwnClocks,
    kernel_clocks,
    rated_clocks,
)
from viewer.analysis.statistics.group_table import Spreads, clock_times
from viewer.arrays import Bools, Codes, Ints, flags_at, levels, numbers_at, parts_of, stable_order
from viewer.dataclasses import replace
from viewer.model.intervals import running_maximum
from viewer.model.quantiles import grouped
from viewer.model.queries import (
    BLOCK,
    TrackBlock,
    Tree,
    by_lane,
    counted_slices,
    foreign,
    in_blocks,
    is_whole,
    nesting,
    on_two_threads,
    starts_between,
    track_blocks,
    tree,
    unfinished,
)
from viewer.model.times import ticks_to_ns
from viewer.model.timing import rounded_zeros
from viewer.model.trace import Slices

_Some = TypeVar("_Some", bound=NDArray[np.integer[Any]])
_FEW = 8  # times as many slices as are requested


def clipped(
    slices: Slices, index: Ints | Codes | slice, first: int | None, last: int | None
) -> tuple[Ints, Ints]:
    """Return start and end of some slices, clipped to [first, last]; None is no limit.

    A slice outside gets zero length at the edge.
    """
    start, end = slices.start[index], slices.end[index]
    if first is None and last is None:
        return start, end
    limits = np.iinfo(np.int64)
    lo = np.int64(limits.min if first is None else min(max(first, limits.min), limits.max))
    hi = np.int64(limits.max if last is None else min(max(last, limits.min), limits.max))
    return np.clip(start, lo, hi), np.clip(end, lo, hi)


def inclusive(
    slices: Slices,
    index: Ints | Codes,
    group: Ints | Codes,
    count: int,
    first: int | None,
    last: int | None,
) -> Ints:
    """Return per group the durations of some slices within a range; group: parallel to the index.

    count: how many groups there are.
    """
    total = np.zeros(count, np.int64)
    for part in parts_of(len(index)):
        start, end = clipped(slices, index[part], first, last)
        np.add.at(total, group[part], end - start)
    return total


def those_in(mask: Bools | None, index: _Some, group: _Some) -> tuple[_Some, _Some]:
    """Return those of some slices that are in a mask of all, and their groups; None: all."""
    if mask is None:
        return index, group
    inside = mask[index]
    return index[inside], group[inside]


def cut_count(slices: Slices, index: Ints, first: int | None, last: int | None) -> int:
    """Return how many of some slices cross an edge of the range."""
    start, end = slices.start[index], slices.end[index]
    over = np.zeros(len(index), np.bool_)
    if first is not None:
        over |= start < first
    if last is not None:
        over |= end > last
    return int(over.sum())


def self_time_within(
    slices: Slices, index: Ints, first: int | None = None, last: int | None = None
) -> Ints:
    """Return per slice its time in the range minus that of its children there (int64).

    All children count, whether or not they are in the index, except foreign and derived ones, as in
    `viewer.model.queries.self_time`.
    """
    start, end = clipped(slices, index, first, last)
    self_ticks = end - start
    native = foreign(slices)
    bounds = np.searchsorted(index, slices.row_ptr)
    for row in np.flatnonzero(np.diff(bounds)).tolist():
        below = row + 1
        if below >= len(slices.row_track) or not _is_below(slices, row, below):
            continue
        here = slice(int(bounds[row]), int(bounds[row + 1]))
        self_ticks[here] -= _children(slices, index[here], row, below, native, first, last)
    return self_ticks


def _is_below(slices: Slices, row: int, below: int) -> bool:
    """Return whether row `below` contains the children of row `row`."""
    same_lane = (
        slices.row_track[row] == slices.row_track[below]
        and slices.row_lane[row] == slices.row_lane[below]
    )
    return bool(same_lane and int(slices.row_depth[row]) + 1 == int(slices.row_depth[below]))


def _children(
    slices: Slices,
    index: Ints,
    row: int,
    below: int,
    native: Ints,
    first: int | None,
    last: int | None,
) -> Ints:
    """Return per slice of a row how much its children in the row below cover in the range."""
    place = nesting(slices)
    lo, hi = int(slices.row_ptr[below]), int(slices.row_ptr[below + 1])
    inner = place[lo:hi]
    first_child = np.searchsorted(inner, place[index])
    after_last = np.full(len(index), hi - lo)
    follows = index + 1 < int(slices.row_ptr[row + 1])
    after_last[follows] = np.searchsorted(inner, place[index[follows] + 1])
    # A row may have millions of slices; only those from the first to the last child are read.
    from_, to = int(first_child.min()), int(after_last.max())
    numbers = np.arange(lo + from_, lo + to)
    starts, ends = clipped(slices, numbers, first, last)
    covering = ends - starts
    inside = native[slice(*np.searchsorted(native, np.array([lo + from_, lo + to])).tolist())]
    covering[inside - lo - from_] = 0
    if slices.derived is not None:
        covering[slices.derived[numbers]] = 0
    before = np.concatenate([np.zeros(1, np.int64), np.cumsum(covering)])
    covered: Ints = before[after_last - from_] - before[first_child - from_]
    return covered


def outermost(slices: Slices, index: Ints, group: Ints) -> Bools:
    """Return per slice whether it is inside no other slice of its group and lane.

    group: parallel to the index. A kernel inside its call, or a nested call of a recursion, is part
    of the outer slice.
    """
    if len(index) <= BLOCK:
        return _outermost(slices, index, group)
    blocks = track_blocks(slices)
    bounds = np.searchsorted(index, [block.span.stop for block in blocks]).tolist()
    parts = [slice(*ends) for ends in pairwise((0, *bounds))]

    def of_block(block_part: tuple[TrackBlock, slice]) -> Bools:
        block, part = block_part
        return _outermost(block.slices, index[part] - block.span.start, group[part])

    sizes = [part.stop - part.start for part in parts]
    return np.concatenate(on_two_threads(of_block, list(zip(blocks, parts, strict=True)), sizes))


def _outermost(slices: Slices, index: Ints, group: Ints) -> Bools:
    if not len(index):
        return np.empty(0, np.bool_)
    row = np.searchsorted(slices.row_ptr, index, side="right") - 1
    place = slices.row_track.astype(np.int64) << 32 | slices.row_lane
    if len(index) < len(place):  # a trace can have a million lanes, and a selection one slice
        lane = np.unique(place[row], return_inverse=True)[1].reshape(-1)
    else:
        lane = np.unique(place, return_inverse=True)[1].reshape(-1)[row]
    part = lane * (int(group.max()) + 1) + group
    order = _in_preorder(slices, index, lane)
    order = order[stable_order(part[order])]
    part, start, end = part[order], slices.start[index][order], slices.end[index][order]
    is_first = np.append(True, part[1:] != part[:-1])
    reach = running_maximum(end, is_first)
    outer = np.empty(len(index), np.bool_)
    outer[order] = is_first | (start >= np.append(start[:1], reach[:-1]))
    return outer


def _in_preorder(slices: Slices, index: Ints, lane: Ints) -> Ints:
    """Return the positions of some slices in preorder; lane: the lane of each, ascending."""
    if slices.order is None:
        return by_lane(slices.start[index], lane)
    if len(index) * _FEW < len(slices):
        return stable_order(slices.order[index])
    # A place for each rank takes a third of the time of sorting them.
    position = numbers_at(len(slices), slices.order[index], np.arange(len(index)), -1)
    return position[position >= 0] if len(index) < len(slices) else position


# Nested slices of one name are several occurrences; those of an operator are parts of one.
EACH_SLICE = ("name", "location")
# Statistics and Operators may show the same trace by different keys. More would take much memory.
_KEPT_KEYS = 2


class Occurrences:
    """The occurrences of the groups of one linked trace; what no range changes is cached."""

    def __init__(
        self, table: LinkTable, keys: GroupKeys, ns_per_tick: Fraction, *, warm_up: bool
    ) -> None:
        """ns_per_tick, warm_up: as for `viewer.analysis.statistics.grouping.Grouping`."""
        self.trace, self.warm_up = table.trace, warm_up
        self._table, self._keys, self._ns_per_tick = table, keys, ns_per_tick
        # By the last keys. Replaced as a whole, because slices of a group are read at any time.
        self._counted_by: tuple[tuple[str, tuple[Codes, Codes]], ...] = ()
        self._outer_by: tuple[tuple[tuple[str, bool], tuple[Codes, Codes]], ...] = ()

    def counted(self, key: str) -> tuple[Codes, Codes]:
        """Return the slices that count as occurrences of groups, and the group of each.

        By name and location, these are all slices. Otherwise a slice inside another one of its
        group is a part of it, as a kernel in its call. Cached for the last keys.
        """
        known = dict(self._counted_by)
        if key in known:
            return known[key]
        slices = self.trace.slices
        group = self.occurring(self._keys.of(key)).of(slices, np.arange(len(slices)))
        clocks = self.clocks(key)
        group[clocks.left_out] = group[clocks.values] = -1
        if key in EACH_SLICE:
            index = np.flatnonzero(group >= 0)
            group = group[index]
        else:
            shape = self.tree
            group = group[shape.index]
            # The group of the slice itself, or of the nearest enclosing slice that has one.
            nearest, inside = group.copy(), np.full(len(group), -1)
            for here in levels(shape.depth)[1:]:
                inside[here] = nearest[shape.parent[here]]
                nearest[here] = np.where(group[here] < 0, inside[here], group[here])
            counted = (group >= 0) & (group != inside)
            index, group = shape.index[counted], group[counted]
        found = index.astype(np.uint32), group.astype(np.uint32)
        self._counted_by = ((key, found), *self._counted_by[: _KEPT_KEYS - 1])
        return found

    def outer(self, key: str, *, is_whole: bool) -> tuple[Codes, Codes]:
        """Return the slices inside no other one of their group, and the group of each; cached.

        is_whole: only those that count in the whole trace. One of them can be inside another one of
        its group that does not: its time is in the total of the group, as it is in the self time.
        """
        known = dict(self._outer_by)
        counted = counted_slices(self.trace, warm_up=self.warm_up) if is_whole else None
        made_for = key, counted is not None
        if made_for in known:
            return known[made_for]
        slices, groups = self.trace.slices, self.occurring(self._keys.of(key))
        out = np.zeros(len(slices), np.bool_) if counted is None else ~counted
        out[foreign(slices)] = True

        def of_block(block: TrackBlock) -> tuple[Codes, Codes]:
            group = groups.of(slices, block.span)
            index = np.flatnonzero((group >= 0) & ~out[block.span])
            own = index[outermost(block.slices, index, group[index])]
            return (own + block.span.start).astype(np.uint32), group[own].astype(np.uint32)

        parts = in_blocks(of_block, slices)
        found = np.concatenate([own for own, _ in parts]), np.concatenate([of for _, of in parts])
        self._outer_by = ((made_for, found), *self._outer_by[: _KEPT_KEYS - 1])
        return found

    def occurring(self, parts: KeyGroups) -> KeyGroups:
        """Return the groups that slices are occurrences of.

        A derived job next to its start and wait would be a third occurrence of their group. It
        counts only in a group without stated slices, as by name.
        """
        if parts.of_slice is not None:
            if not made_of_others(self.trace).any():
                return parts
            every = parts.of_slice
            mixed = np.where(made_of_others(self.trace), -1, every)
        else:
            every, mixed = parts.of_key, stated_alone(self.trace, parts.of_key)
        has_stated = np.bincount(mixed[mixed >= 0], minlength=len(parts.labels) + 1) > 0
        occurring = np.where((every >= 0) & has_stated[every], mixed, every)
        if parts.of_slice is not None:
            return replace(parts, of_slice=occurring)
        return replace(parts, of_key=occurring)

    def within(self, some: Ints | Codes, first: int | None, last: int | None) -> Bools:
        """Return which of some slices the figures of [first, last), or of the trace, count."""
        trace = self.trace
        inside = starts_between(trace, trace.slices.start[some], first, last)
        is_open = unfinished(trace.slices)
        if is_open is not None:
            inside &= ~is_open[some]
        if not is_whole(first, last):
            return inside
        counted = counted_slices(trace, warm_up=self.warm_up)
        return inside if counted is None else inside & counted[some]

    def started(self, some: Ints, first: int | None, last: int | None) -> int:
        """Return how many of some slices the figures of a range, or of the trace, count."""
        return int(self.within(some, first, last).sum())

    def spreads(
        self,
        index: Ints | Codes,
        group: Ints | Codes,
        count: int,
        first: int | None,
        last: int | None,
        key: str = "",
        clock_names: Sequence[str] | None = None,
    ) -> Spreads:
        """Return the durations of the slices that start in a range, for each group.

        clock_names: the clock of each group, if the groups are not those of the key.
        """
        slices, started = self.trace.slices, self.within(index, first, last)
        found, of = (index, group) if started.all() else (index[started], group[started])
        durations = slices.end[found] - slices.start[found]
        clocks, zeros = self.clocks(key), self._zeros_of(found, of)
        if clocks.is_none:
            return Spreads(grouped(durations, of, count), zeros=zeros)
        own = np.flatnonzero(clocks.is_ns(found))
        has_own = np.bincount(of[own], minlength=count) > 0
        in_ns = has_own[of]
        durations[in_ns] = ticks_to_ns(durations[in_ns], self._ns_per_tick)
        if clocks.ns is not None:
            durations[own] = clocks.ns.values[found[own]]
        sums = grouped(durations[own], of[own], count)
        apart = {number: int(sums.total[number]) for number in np.flatnonzero(has_own).tolist()}
        parts = self._keys.of(key).clocks if key == "kernel" else ()
        parts = parts if clock_names is None else tuple(clock_names)
        if not parts:
            return Spreads(grouped(durations, of, count), apart, zeros=zeros)
        totals = {number: ("ns", total, int(sums.count[number])) for number, total in apart.items()}
        if clocks.unit is not None and clocks.native is not None:
            own = np.flatnonzero(clocks.unit[found] >= 0)
            durations[own] = clocks.native[found[own]]
            sums = grouped(durations[own], of[own], count)
            units = dict(zip(of[own].tolist(), clocks.unit[found[own]].tolist(), strict=True))
            for number, unit in units.items():
                amount = clocks.units[unit], int(sums.total[number]), int(sums.count[number])
                totals[number] = amount
        return Spreads(grouped(durations, of, count), apart, clock_times(parts, totals), zeros)

    def clocks(self, key: str) -> OwnClocks:
        """Return what a key shows of the slices on other clocks."""
        return self._kernel_clocks if key == "kernel" else self._rated_clocks

    @cached_property
    def _rated_clocks(self) -> OwnClocks:
        return rated_clocks(self._table)

    @cached_property
    def _kernel_clocks(self) -> OwnClocks:
        kernels = self._keys.of("kernel")
        return kernel_clocks(self._table, len(kernels.labels), kernels.of_key)

    def _zeros_of(self, index: Ints | Codes, group: Ints | Codes) -> dict[int, int]:
        """Return how many of some slices the file cuts to 0, for each group that has any."""
        if not len(self._zeros):
            return {}
        is_zero = flags_at(len(self.trace.slices), self._zeros)
        groups, counts = np.unique(group[is_zero[index]], return_counts=True)
        return dict(zip(groups.tolist(), counts.tolist(), strict=True))

    @cached_property
    def _zeros(self) -> Ints:
        return rounded_zeros(self.trace.slices)

    @cached_property
    def tree(self) -> Tree:
        return tree(self.trace.slices)
