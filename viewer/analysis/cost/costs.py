"""The cost of operators: time is charged to the innermost linked slice around it.

An OPERATOR_CALL and the kernel inside it count once. A slice with several operators is charged to
the set of them: its time is shared, never divided. Self and wall time (`viewer.model.charging`)
differ only where lanes of a thread overlap. Wall times and the time without an operator add up to
the total: `Method::execute` where the file has it (loading is excluded), otherwise the busy time of
all tracks. A run that failed logs no `Method::execute`; then its total is the instructions that it
reached.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from functools import cached_property

import numpy as np

from viewer.analysis.cost.event_times import (
    ThreadTime,
    made_of_others,
    stated_alone,
    thread_time_of,
)
from viewer.analysis.links.link_table import LinkTable
from viewer.arrays import Bools, Ints
from viewer.dataclasses import dataclass
from viewer.model import intervals
from viewer.model.charging import (
    Charged,
    Segments,
    charge,
    charge_groups,
    sum_per_key,
    total_per_group,
)
from viewer.model.figures import WHOLE, TimeScope, counted_in
from viewer.model.queries import counted_slices, execute_keys, foreign, innermost_around
from viewer.model.timing import rounded_zeros
from viewer.model.trace import KeyKind, Run, Trace, Unit

_INSTRUCTIONS = (KeyKind.OPERATOR_CALL, KeyKind.DELEGATE_CALL, KeyKind.CONTROL)


@dataclass(frozen=True, slots=True)
class CostRow:
    """The cost of one set of operators, or of one set of their graph nodes, in a range, in ticks.

    operators: indexes into `Program.operators`; one, or several that share the time. ticks: self
    time of the set. wall: its part of the total, which adds up. kernel: total time of its kernels.
    slices: how many of its slices start in the range; a kernel inside its call is not counted
    separately. nodes: indexes into `Program.nodes` for a set of nodes; empty for a set of
    operators. zeros: how many of its slices the file cuts to 0
    (`viewer.model.timing.rounded_zeros`).
    """

    operators: tuple[int, ...]
    ticks: int
    wall: int
    kernel: int
    slices: int
    nodes: tuple[int, ...] = ()
    zeros: int = 0

    @property
    def is_shared(self) -> bool:
        """Whether several operators share this time."""
        return len(self.operators) > 1


@dataclass(frozen=True, slots=True)
class CostTable:
    """All sets with a cost in a range, most expensive first, and the ticks without an operator.

    `single`, `shared` and `without_operator` are wall time, of which `whole` is the sum.

    by_nodes: the same time by sets of graph nodes, most expensive first.
    """

    rows: tuple[CostRow, ...]
    without_operator: int
    by_nodes: tuple[CostRow, ...] = ()

    @property
    def single(self) -> int:
        """Time of sets of one operator."""
        return sum(row.wall for row in self.rows if not row.is_shared)

    @property
    def shared(self) -> int:
        """Time of sets of several operators."""
        return sum(row.wall for row in self.rows if row.is_shared)

    @property
    def whole(self) -> int:
        """The total behind all shares: `Method::execute`, else the busy time of all tracks."""
        return self.single + self.shared + self.without_operator


@dataclass(frozen=True, slots=True)
class _Figures:
    """The figures of cost rows as parallel int64 arrays; slices: without kernels in their calls."""

    ticks: Ints
    wall: Ints
    kernel: Ints
    slices: Ints
    zeros: Ints

    def add_keys(self, trace: Trace, set_of_key: Ints, scope: TimeScope) -> None:
        """Count the slices of every key in a scope, and add up the time of kernels."""
        count, total = sum_per_key(trace, *scope.span, warm_up=scope.warm_up)
        linked = np.flatnonzero(set_of_key >= 0)
        np.add.at(self.slices, set_of_key[linked], count[linked])
        kernels = linked[trace.keys.kind[linked] == KeyKind.KERNEL]
        within = np.zeros(len(self.slices), np.int64)
        np.add.at(within, set_of_key[kernels], count[kernels])
        np.subtract(self.slices, within, out=self.slices, where=self.slices > within)
        np.add.at(self.kernel, set_of_key[kernels], total[kernels])
        zeros = counted_in(trace, scope, rounded_zeros(trace.slices))
        of_zeros = set_of_key[trace.slices.key[zeros]]
        np.add.at(self.zeros, of_zeros[of_zeros >= 0], 1)

    def folded(self, into: Ints, count: int) -> _Figures:
        """Return the sums of these figures by the number in `into`."""
        sums = _Figures(*np.zeros((5, count), np.int64))
        for own, total in zip(
            (self.ticks, self.wall, self.kernel, self.slices, self.zeros),
            (sums.ticks, sums.wall, sums.kernel, sums.slices, sums.zeros),
            strict=True,
        ):
            np.add.at(total, into, own)
        return sums

    def rows(
        self, operators: Sequence[tuple[int, ...]], nodes: Sequence[tuple[int, ...]]
    ) -> tuple[CostRow, ...]:
        """Return the rows with any time or slices, most expensive first."""
        ticks, wall, zeros = self.ticks.tolist(), self.wall.tolist(), self.zeros.tolist()
        kernel, slices = self.kernel.tolist(), self.slices.tolist()
        return tuple(
            CostRow(operators[i], ticks[i], wall[i], kernel[i], slices[i], nodes[i], zeros[i])
            for i in np.argsort(-self.ticks, kind="stable").tolist()
            if slices[i] or ticks[i]
        )


class Costs:
    """Cost queries on one linked trace; charging happens once, so range queries are cheap."""

    def __init__(self, table: LinkTable) -> None:
        self._table = table
        self._trace = table.trace

    @cached_property
    def threads(self) -> ThreadTime | None:
        """The busy time of the threads of a plain profile, None for a profile of another kind."""
        return thread_time_of(self._table)

    @property
    def _threads(self) -> ThreadTime | None:
        """The same if operators call one another; then the whole is what fills their threads."""
        program = self._table.program
        return self.threads if program is not None and program.is_nested else None

    @cached_property
    def _charged(self) -> Charged:
        charged = charge(self._trace, self._node_set_of_key)
        if self._threads is None:
            return charged
        busy = self._by_thread
        linked = busy.taken(np.flatnonzero(busy.group < len(self._table.node_sets)))
        return Charged(charged.of_lanes, linked)

    @cached_property
    def _by_thread(self) -> Segments:
        """The busy time of all threads, by node set; without one, by their number.

        The time of a slice without a link, such as a built-in function, is that of the innermost
        linked one around it.
        """
        assert self._threads is not None
        slices, of_key = self._trace.slices, self._node_set_of_key
        around = innermost_around(slices, (of_key >= 0)[slices.key])
        group = np.where(around >= 0, of_key[slices.key[around]], -1)
        return self._threads.charged_to(group, len(self._table.node_sets))

    def charged_to(self, group: Ints) -> Charged:
        """Return the time of operators charged to groups of their slices, as in `table`.

        group: per slice, from 0; -1 for slices without an operator.
        """
        charged = charge_groups(self._trace, group)
        if self._threads is None:
            return charged
        around = innermost_around(self._trace.slices, group >= 0)
        of_around = np.where(around >= 0, group[around], -1)
        groups = int(group.max(initial=-1)) + 1
        busy = self._threads.charged_to(of_around, groups)
        return Charged(charged.of_lanes, busy.taken(np.flatnonzero(busy.group < groups)))

    @cached_property
    def _node_set_of_key(self) -> Ints:
        return stated_alone(self._trace, self._table.node_set_of_key)

    @cached_property
    def _set_of_key(self) -> Ints:
        return stated_alone(self._trace, self._table.set_of_key)

    def table(self, scope: TimeScope = WHOLE) -> CostTable:
        """Return the cost of every operator set within a scope."""
        by_set, by_node = self._figures(scope)
        sets, set_of = self._table.sets, self._table.set_of_node_set
        operators_of = [sets[i] for i in set_of.tolist()]
        return CostTable(
            by_set.rows(sets, [()] * len(sets)),
            self._without_operator(scope),
            by_node.rows(operators_of, self._table.node_sets),
        )

    def rows(self, scope: TimeScope = WHOLE) -> tuple[CostRow, ...]:
        """Return the rows of the same table alone: the time without an operator takes as long."""
        sets = self._table.sets
        return self._figures(scope)[0].rows(sets, [()] * len(sets))

    def _figures(self, scope: TimeScope) -> tuple[_Figures, _Figures]:
        """Return the figures of every operator set, and of every node set."""
        sets, node_sets, set_of = (
            self._table.sets,
            self._table.node_sets,
            self._table.set_of_node_set,
        )
        times = self._charged.per_group(len(node_sets), *scope.span, warm_up=scope.warm_up)
        by_node = _Figures(*times, *np.zeros((3, len(node_sets)), np.int64))
        by_node.add_keys(self._trace, self._node_set_of_key, scope)
        return by_node.folded(set_of, len(sets)), by_node

    def of_run(self, run: Run) -> CostTable:
        """Return the cost of every operator set in one run."""
        return self.table(TimeScope(run))

    def ticks_of_node_sets(self, runs: Sequence[Run]) -> Ints:
        """Return the self ticks of every node set of the links in every run, as `of_run` has them.

        The result is int64 of shape (runs, node sets). Only a run's own range of segments is read:
        450 runs of a million slices take less than half a second; one `CostTable` per run takes
        more than ten.
        """
        segments, count = self._charged.of_lanes, len(self._table.node_sets)
        ticks = np.zeros((len(runs), count), np.int64)
        reach: dict[int, tuple[slice, Ints]] = {}
        charged = np.unique(segments.track).tolist()
        for number, run in enumerate(runs):
            for track in charged if run.all_tracks else (run.track,):
                if track not in reach:
                    of_track = np.searchsorted(segments.track, np.array([track, track + 1]))
                    own = slice(*of_track.tolist())
                    # Lanes overlap, so ends are not sorted; their running maximum is.
                    reach[track] = own, np.maximum.accumulate(segments.end[own])
                own, ends = reach[track]
                lo = own.start + int(np.searchsorted(ends, run.start, "right"))
                hi = own.start + int(np.searchsorted(segments.start[own], run.end))
                part = segments.taken(slice(lo, hi))
                ticks[number] += total_per_group(part, count, run.start, run.end)
        return ticks

    def slices_of_sets(self, row_of_slices: Ints, rows: int) -> Ints:
        """Return how many slices every set of operators has in every row, as `rows` counts them.

        row_of_slices: per slice the row that it belongs to, such as that of its inference, from 0;
        -1 for none. The result is int64 of shape (rows, sets).
        """
        key, count = self._trace.slices.key, len(self._table.sets)
        at = np.flatnonzero((row_of_slices >= 0) & (self._set_of_key[key] >= 0))
        place = row_of_slices[at] * count + self._set_of_key[key[at]]
        is_kernel = self._trace.keys.kind[key[at]] == KeyKind.KERNEL
        total, kernels = (
            np.bincount(of, minlength=rows * count).reshape(rows, count)
            for of in (place, place[is_kernel])
        )
        found: Ints = np.where(total > kernels, total - kernels, total)
        return found

    def slices_of(
        self,
        sets: Collection[tuple[int, ...]],
        scope: TimeScope,
        nodes: Collection[int] | None = None,
    ) -> Ints:
        """Return the slices that the rows of some sets count, ascending.

        These are the slices of exactly these operators that the scope counts, with `nodes` only
        those that ran none but these nodes. For a set that has calls, only the calls are returned,
        not their kernels.
        """
        slices, kind = self._trace.slices, self._trace.keys.kind
        selected = frozenset(sets)
        hit = np.array([*(own in selected for own in self._table.sets), False], np.bool_)
        linked = hit[self._set_of_key]
        if nodes is not None:
            given = frozenset(nodes)
            within = [*(given.issuperset(own) for own in self._table.node_sets), False]
            linked &= np.array(within, np.bool_)[self._node_set_of_key]
        found = np.flatnonzero(linked[slices.key])
        found = counted_in(self._trace, scope, found)
        called = np.zeros(len(hit), np.bool_)
        is_kernel = kind[slices.key[found]] == KeyKind.KERNEL
        own = self._set_of_key[slices.key[found]]
        called[own[~is_kernel]] = True
        return np.asarray(found[~is_kernel | ~called[own]])

    def _without_operator(self, scope: TimeScope) -> int:
        """Return the ticks of `Method::execute` (or of the busy time) without a charged set."""
        if self._threads is not None:
            count = len(self._table.node_sets)
            of_all = total_per_group(self._by_thread, count + 1, *scope.span, warm_up=scope.warm_up)
            return int(of_all[count])
        return length_within(self._free, self._trace, scope)

    def time_without_operator(self, scope: TimeScope = WHOLE) -> intervals.Intervals:
        """Return the times of which `CostTable.without_operator` is the sum, or a range of it."""
        if self._threads is None:
            return joined(self._free.within(scope))
        busy, none = self._by_thread, len(self._table.node_sets)
        if scope.is_whole:
            busy = busy.of_whole_trace(warm_up=scope.warm_up)
        free = busy.taken(busy.group == none)
        return free.start, free.end

    def longest_without_operator(self, scope: TimeScope = WHOLE) -> tuple[int, int, int] | None:
        """Return (track, first, last) of the longest interval of `CostTable.without_operator`.

        None if there is no such time. Only for a trace with `Method::execute`.
        """
        first, last, track = scope.span
        lo = self._trace.start if first is None else first
        hi = self._trace.end if last is None else last
        found = []
        for number, times in enumerate(self._free.within(scope)):
            start, end = intervals.clip(*times, lo, hi)
            if len(start) and track in (None, number):
                at = int(np.argmax(end - start))
                found.append((int(end[at] - start[at]), -number, int(start[at]), int(end[at])))
        return None if not found else (-max(found)[1], *max(found)[2:])

    @cached_property
    def _free(self) -> FreeTime:
        return FreeTime(self._trace, self._charged.of_threads, whole_slices(self._trace))


def whole_slices(trace: Trace) -> Bools:
    """Return per slice whether its time is (part of) the total that shares are relative to."""
    slices = trace.slices
    busy: Bools = np.repeat(slices.row_depth == 0, np.diff(slices.row_ptr))
    executes = execute_keys(trace)[slices.key]
    if executes.any():
        busy = executes | (busy & np.isin(trace.keys.kind[slices.key], _INSTRUCTIONS))
    return busy & ~made_of_others(trace)


class FreeTime:
    """Time per track in which nothing is charged; each part is computed on first use."""

    def __init__(self, trace: Trace, charged: Segments, of: Bools) -> None:
        """of: the slices whose time it is a part of."""
        self._trace, self._charged, self._of = trace, charged, of
        self._known: dict[bool, list[intervals.Intervals]] = {}

    def within(self, scope: TimeScope) -> list[intervals.Intervals]:
        """Return the time that figures of a scope take their part of.

        In the whole trace this is only what `counted_slices` includes.
        """
        counted = counted_slices(self._trace, warm_up=scope.warm_up) if scope.is_whole else None
        if counted is None:
            return self._everything
        if scope.warm_up not in self._known:
            of = self._of & counted
            self._known[scope.warm_up] = _free_time(self._trace, self._charged, of)
        return self._known[scope.warm_up]

    @cached_property
    def _everything(self) -> list[intervals.Intervals]:
        return _free_time(self._trace, self._charged, self._of)


def _free_time(trace: Trace, charged: Segments, of: Bools) -> list[intervals.Intervals]:
    """Return per track the time of the slices in mask `of` during which nothing is charged.

    One pass over slices and segments. Foreign slices have no extent on this clock, so they are left
    out. A HAL track calls into the host, drawn below it, on the same thread: time in which the host
    is busy is not counted for the HAL as well.
    """
    slices = trace.slices
    rows = slices.rows()
    of = of.copy()
    of[foreign(slices)] = False
    chosen = np.flatnonzero(of)
    chosen = chosen[np.argsort(slices.row_track[rows[chosen]], kind="stable")]
    numbers = np.arange(len(trace.tracks) + 1)
    chosen_ptr = np.searchsorted(slices.row_track[rows[chosen]], numbers)
    charged_ptr = np.searchsorted(charged.track, numbers)
    free = intervals.subtract_each(
        (slices.start[chosen], slices.end[chosen]),
        chosen_ptr,
        (charged.start, charged.end),
        charged_ptr,
    )
    host = _busy_of(trace, Unit.HOST)
    return [
        intervals.subtract(times, host) if track.unit is Unit.HAL else times
        for track, times in zip(trace.tracks, free, strict=True)
    ]


def _busy_of(trace: Trace, unit: Unit) -> intervals.Intervals:
    """Return the time in which any track of a unit has an outermost slice."""
    slices, tracks = trace.slices, np.array([track.unit == unit for track in trace.tracks])
    rows = np.flatnonzero(tracks[slices.row_track] & (slices.row_depth == 0)) if len(tracks) else ()
    spans = [slice(*slices.row_ptr[row : row + 2].tolist()) for row in rows]
    start = np.concatenate([slices.start[span] for span in spans] or [np.empty(0, np.int64)])
    end = np.concatenate([slices.end[span] for span in spans] or [np.empty(0, np.int64)])
    return intervals.union(start, end)


def length_within(free: FreeTime, trace: Trace, scope: TimeScope) -> int:
    first, last, track = scope.span
    lo = trace.start if first is None else first
    hi = trace.end if last is None else last
    times = free.within(scope)
    chosen = joined(times if track is None else [times[track]])
    return intervals.total(*intervals.clip(*chosen, lo, hi))


def joined(times: Sequence[intervals.Intervals]) -> intervals.Intervals:
    """Return the times of several tracks, one after another."""
    none = np.empty(0, np.int64)
    start, end = (np.concatenate([none, *(part[i] for part in times)]) for i in (0, 1))
    return start, end
