"""Which slices are occurrences of groups, and the durations of these in a range.

By name and location, each slice is one. Otherwise a slice inside another one of its group is a part
of it, as a kernel in its call. `viewer.analysis.statistics.grouping` documents the keys.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from fractions import Fraction
from functools import cached_property

import numpy as np

from viewer.analysis.cost.stated_time import made_of_others, stated_alone
from viewer.analysis.links.link_table import LinkTable
from viewer.analysis.statistics.clipped import outermost
from viewer.analysis.statistics.group_keys import GroupKeys, KeyGroups
from viewer.analysis.statistics.group_table import Spreads, clock_times
from viewer.analysis.statistics.kernels import OwnClocks, kernel_clocks, rated_clocks
from viewer.arrays import Bools, Codes, Ints, levels
from viewer.model.quantiles import grouped
from viewer.model.queries import (
    Tree,
    counted_slices,
    foreign,
    is_whole,
    starts_between,
    tree,
    unfinished,
)
from viewer.model.times import ticks_to_ns
from viewer.model.timing import rounded_zeros
from viewer.model.track_blocks import TrackBlock, in_blocks

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
        is_zero = np.zeros(len(self.trace.slices), np.bool_)
        is_zero[self._zeros] = True
        groups, counts = np.unique(group[is_zero[index]], return_counts=True)
        return dict(zip(groups.tolist(), counts.tolist(), strict=True))

    @cached_property
    def _zeros(self) -> Ints:
        return rounded_zeros(self.trace.slices)

    @cached_property
    def tree(self) -> Tree:
        return tree(self.trace.slices)
