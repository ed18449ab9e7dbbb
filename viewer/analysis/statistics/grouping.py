"""Statistics by key: the cost of the groups of a linked trace, and the durations of their slices.

Each key divides a trace into groups in its own way:

    unit       the rows of `viewer.analysis.statistics.npu_units`: busy, alone, together, idle
    operator   an operator of the program, or the set of several that share a slice: "a + b"
    node       a graph node of the program, or the set of several that share a slice
    type       the operator type: "tosa.conv2d", "convolution"; a set of one type has that type
    module     the module path of the operators, "features.4"
    line       the source line of the operators, "models.py:49"
    caller     the line of the user's own files: where a package with the source line was called
    location   the MLIR location of the slice, as text
    kernel     the kernel of the runtime or of a delegate, on each clock: see `group_keys`
    delegate   a delegate call: its backend and instruction
    thread     a track: process > thread
    process    a process
    rank       the place of the file in a distributed job
    inference  an inference
    category   the category of the slice, as its file states it
    backend    what runs a layer, as the file of a runtime states it
    count      how often a layer ran, as such a file states it
    name       the slice's name in the file
    arg:NAME   the value of an argument of the slice

Files of runtimes may also state the type, unit (the hardware) and kernel of a layer. These are the
groups by such a key if operators, NPU units and kernels are not known otherwise. Type, module, line
and caller are those of the graph nodes where it is known which ran.

`total` is inclusive: the durations of a group's slices that are inside no other slice of the group,
cut at the edges of the range; threads add. `self_ticks` is exclusive: less those of slices of other
groups inside them. Slices without a group stay inside. Slices that overlap without nesting take
nothing from one another.

`wall` adds up, except for `unit`, whose rows overlap: an instant of a thread is charged once, to
the innermost slice around it that has a group; of lanes that overlap, to the slice that started
last. So the groups and the ungrouped rest are the whole, and shares are of wall time. For
operators, nodes, types, modules and lines these are the costs of `viewer.analysis.cost.costs`;
their whole, and that of delegates, is `Method::execute` where the file has it, otherwise the busy
time of all threads. Scopes that `viewer.analysis.cost.event_times` does not count have no wall time
of their own.

`spread` covers whole slices that start in the range: all of a name or location. Of the other keys,
it skips a slice directly inside another of its group (a kernel in its call), and a derived NSS job
next to its start and wait.

Slices on a delegate's own clock are in no number, but are counted, until the user states a rate.
Then `spread` covers them too, where they are drawn in the range, and is in ns for a group that has
any. They never enter the other three: the time of their call is charged already, and where in it
they ran is unknown. Their own sum is `delegate_ns`.

The whole trace leaves out inferences that did not finish. By `inference` they are listed, with a
share of 0, because they are no part of the whole.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from fractions import Fraction
from functools import cached_property
from threading import Lock
from typing import Any

import numpy as np

from viewer.analysis.cost.costs import Costs, FreeTime, joined, length_within, whole_slices
from viewer.analysis.cost.event_times import (
    ThreadTime,
    made_of_others,
    stated_alone,
    thread_time_of,
)
from viewer.analysis.links.labels import run_label, scope_name, series_names, track_name
from viewer.analysis.links.link_table import LinkTable
from viewer.analysis.statistics.group_keys import KEYS, GroupKeys, KeyGroups
from viewer.analysis.statistics.group_table import (
    Group,
    Groups,
    GroupTable,
    PartedGroups,
    Spreads,
    clock_sums,
    table_of,
)
from viewer.analysis.statistics.npu_units import UnitOverview
from viewer.analysis.statistics.occurrences import Occurrences, clipped, inclusive, those_in
from viewer.arrays import Bools, Codes, Ints, flags_at
from viewer.dataclasses import replace
from viewer.model import intervals
from viewer.model.charging import (
    Charged,
    charge,
    charge_groups,
    charge_slices,
    covered_per_group,
    total_charged,
)
from viewer.model.figures import BUSY_TIME, TimeScope, timed_by
from viewer.model.inference_views import series_of, thread_of_rows
from viewer.model.quantiles import grouped
from viewer.model.queries import (
    Tree,
    counted_slices,
    foreign,
    is_whole,
    on_two_threads,
    starts_between,
)
from viewer.model.trace import Trace
from viewer.model.warm_up import counted_inferences

# The units that are all of the range; the others are parts of these, and overlap.
_PARTS = ("busy", "idle")


class Grouping:
    """Statistics of one linked trace by any key; everything range-independent is cached.

    Several threads may ask, for several panels: what takes long is computed once.
    """

    def __init__(
        self, table: LinkTable, ns_per_tick: Fraction | None = None, *, warm_up: bool = True
    ) -> None:
        """ns_per_tick: the rate of the trace, if it is not that of the file.

        warm_up: whether figures of the whole trace cover the inferences that warm up.
        """
        self.warm_up = warm_up
        self._ns_per_tick = table.trace.clock.ns_per_tick if ns_per_tick is None else ns_per_tick
        self._table = table
        self.trace = table.trace
        self._keys = GroupKeys(table)
        self._charged: dict[str, ChargedTime] = {}
        self._computing = Lock()
        self.occurrences = Occurrences(table, self._keys, self._ns_per_tick, warm_up=warm_up)

    @property
    def keys(self) -> tuple[str, ...]:
        """The keys that the trace has."""
        return tuple(key for key in KEYS if not self.missing(key))

    def missing(self, key: str) -> str:
        """Return why the trace has no such groups, as a sentence, or "". ValueError if unknown."""
        return self._keys.missing(key)

    def is_stated(self, key: str) -> bool:
        """Return whether the groups are those of a column that says what layers are."""
        return self._keys.is_stated(key)

    def by(
        self,
        key: str,
        first: int | None = None,
        last: int | None = None,
        track: int | None = None,
    ) -> GroupTable:
        """Return the statistics by a key in the ticks [first, last], or in the whole trace.

        track: count only this track; only for names, whose times are those of slices.

        Raises ValueError with the text of `missing` if the trace does not have the key.
        """
        why = self.missing(key)
        if why:
            raise ValueError(why)
        make = {"unit": self._by_unit, "inference": self._by_inference, "thread": self._by_thread}
        with self._computing:
            if key in make and not self._keys.is_stated(key):
                found = make[key](first, last)
            else:
                found = self._by_slices(key, first, last, track)
        is_of_operators = self._keys.is_of_operators(key)
        return replace(found, share_of=self._share_of(key), is_of_operators=is_of_operators)

    def why_no_mean(self, key: str) -> str:
        """Return why rows by a key have no mean per inference, as a sentence, or ""."""
        if key == "inference":
            return "Rows are inferences, so nothing is the mean of several"
        if key == "unit" and not self._keys.is_stated(key):
            return "Units are those of the whole range: choose one inference"
        return ""

    def self_ticks_by(self, key: str, part: Ints) -> tuple[Ints, Ints, Ints]:
        """Return the self ticks of groups by what their slices are: group, part and ticks of each.

        part: as for `parted`. The parts of a group add up to its self time in the whole trace.
        """
        trace = self.trace
        with self._computing:
            if key != "thread":
                group, of_part, cell = self._cells(key, part)
                return group, of_part, self._charged_cells(key, cell, len(group), None, None)[0]
            outer = np.flatnonzero(self.is_outer())
        counted = counted_slices(trace, warm_up=self.warm_up)
        outer = outer if counted is None else outer[counted[outer]]
        many = int(part.max(initial=0)) + 1
        pairs, place = np.unique(
            trace.slices.tracks_of(outer).astype(np.int64) * many + part[outer],
            return_inverse=True,
        )
        ticks = np.zeros(len(pairs), np.int64)
        np.add.at(ticks, place, trace.slices.end[outer] - trace.slices.start[outer])
        return *np.divmod(pairs, many), ticks

    def _share_of(self, key: str) -> str:
        if key in ("unit", "inference") and not self._keys.is_stated(key):
            return "range" if key == "unit" else "inferences"
        is_timed = self._keys.is_of_operators(key) or key == "delegate"
        timed = timed_by(self.trace) if is_timed else ""
        return timed or BUSY_TIME

    def slices(
        self, key: str, number: int, first: int | None = None, last: int | None = None
    ) -> Ints:
        """Return the slices that a group's spread counts, ascending, by group number.

        Not for units and runs, which are not slices.
        """
        index, group = self.outermost() if key == "thread" else self.occurrences.counted(key)
        own = index[group == number]
        return np.sort(own[self.occurrences.within(own, first, last)]).astype(np.int64)

    def counted(
        self, key: str, first: int | None, last: int | None
    ) -> tuple[Ints | Codes, Ints | Codes]:
        """Return the slices that spreads count, and the group of each; not to be changed."""
        index, group = self.outermost() if key == "thread" else self.occurrences.counted(key)
        inside = self.occurrences.within(index, first, last)
        return (index, group) if inside.all() else (index[inside], group[inside])

    def parts(self, key: str) -> tuple[tuple[str, ...], Ints]:
        """Return the labels of a key's groups, and per key of the trace its group, -1 for none.

        Not for units, threads and runs. Raises ValueError with the text of `missing`.
        """
        why = self.missing(key)
        if why:
            raise ValueError(why)
        found = self._keys.of(key)
        return found.labels, found.of_key

    def groups_of_slices(self, key: str) -> tuple[Sequence[str], Ints]:
        """Return the labels of a key that the trace has, and per slice its group, -1 for none."""
        parts = self._keys.of(key)
        return parts.labels, parts.of(self.trace.slices, np.arange(len(self.trace.slices)))

    def clocks_of_groups(self, key: str) -> tuple[str, ...]:
        """Return the clock of each group, "" for that of the file; () if all have this."""
        return self._keys.of(key).clocks if key == "kernel" else ()

    def group_of_slice(self, key: str, index: int) -> int:
        """Return the group of a slice by a key that the trace has, or -1; not for units or runs."""
        slices = self.trace.slices
        if key == "thread":
            return int(slices.track(index))
        return int(self._keys.of(key).of(slices, slice(index, index + 1))[0])

    def group_of(self, key: str, operators: tuple[int, ...]) -> int:
        """Return the group of a set of operators by a key of operators, or -1.

        A set without a linked key is in no group, and one whose nodes are in several is in none.
        """
        table = self._table
        if operators not in table.sets:
            return -1
        keys = np.flatnonzero(table.set_of_key == table.sets.index(operators))
        found = np.unique(self._keys.of(key).of_key[keys])
        return int(found[0]) if len(found) == 1 else -1

    # -- units, threads, runs ----------------------------------------------------------------------

    @cached_property
    def overview(self) -> UnitOverview:
        """The units of the trace, as shown for the key `unit`."""
        return UnitOverview(self.trace)

    def _by_unit(self, first: int | None, last: int | None) -> GroupTable:
        rows = self.overview.rows(first, last)
        groups = tuple(
            Group(r.label, r.ticks, r.share, wall=r.ticks if r.key in _PARTS else None, key=r.key)
            for r in rows
        )
        return GroupTable("unit", groups, rows[-1].ticks, 0, 0)

    def _by_thread(self, first: int | None, last: int | None) -> GroupTable:
        """Group by track: all outermost slices; the wall time of a track is its busy time.

        In a plain profile, this is the busy time of `viewer.analysis.cost.event_times`, and spread
        covers the slices that it counts.
        """
        trace, slices = self.trace, self.trace.slices
        at, track = self.outermost()
        counted = counted_slices(trace, warm_up=self.warm_up)
        counts = None if counted is None else counted[at]
        of_row, threads = thread_of_rows(trace)
        thread = of_row[slices.rows()[at]]
        start, end = clipped(slices, at, first, last)
        if counts is not None and is_whole(first, last):
            end = np.where(counts, end, start)
        of_threads = covered_per_group(start, end, thread, len(trace.tracks) * threads)
        wall = of_threads.reshape(-1, threads).sum(axis=1)
        total = self._total_of_tracks(first, last)
        labels = [
            f"{place.process} > {track_name(self._table, i)}"
            for i, place in enumerate(trace.tracks)
        ]
        spread = self.occurrences.spreads(at, track, len(labels), first, last)
        native = np.setdiff1d(
            foreign(slices), self.occurrences.clocks("thread").values, assume_unique=True
        )
        left_out = self.occurrences.started(native, first, last)
        return table_of("thread", labels, total, total, wall, spread, 0, left_out)

    def _total_of_tracks(self, first: int | None, last: int | None) -> Ints:
        """Return per track the durations of its outermost slices in a range."""
        slices, is_outer = self.trace.slices, self.is_outer()
        counted = counted_slices(self.trace, warm_up=self.warm_up)
        if counted is not None and is_whole(first, last):
            is_outer &= counted
        outer = np.flatnonzero(is_outer)
        track = slices.tracks_of(outer)
        return inclusive(slices, outer, track, len(self.trace.tracks), first, last)

    def is_outer(self) -> Bools:
        """Return which slices are inside no other one, without foreign ones."""
        slices = self.trace.slices
        is_outer: Bools = (slices.row_depth == 0)[slices.rows()]
        is_outer[foreign(slices)] = False
        return is_outer

    def outermost(self) -> tuple[Ints, Ints]:
        """Return the outermost slices of all tracks, and their tracks.

        Without foreign ones. In a plain profile, without those that are only scopes: of their
        slices, the outermost count.
        """
        outer = self.is_outer()
        if len(self._scopes):
            outer = _without_scopes(self.occurrences.tree, outer, self._scopes)
        at = np.flatnonzero(outer)
        return at, self.trace.slices.tracks_of(at).astype(np.int64)

    def _by_inference(self, first: int | None, last: int | None) -> GroupTable:
        runs = list(self.trace.inferences())
        start = np.array([run.start for run in runs], np.int64)
        end = np.array([run.end for run in runs], np.int64)
        durations = end - start
        lo = start if first is None else np.maximum(start, first)
        total = np.maximum((end if last is None else np.minimum(end, last)) - lo, 0)
        started = np.flatnonzero(starts_between(self.trace, start, first, last))
        spread = Spreads(grouped(durations[started], started, len(runs)))
        labels = [run_label(self._table, run) for run in runs]
        wall = total
        counted = counted_inferences(self.trace, warm_up=self.warm_up)
        if is_whole(first, last) and len(counted) < len(runs):
            # An inference that is left out is listed, but is no part of the whole.
            kept = set(map(id, counted))  # by identity: a damaged file may have equal runs
            wall = np.where([id(run) in kept for run in runs], total, 0)
        return table_of("inference", labels, total, total, wall, spread, 0, 0)

    def by_phase(self, first: int | None = None, last: int | None = None) -> GroupTable:
        """Return the statistics of inferences by method and phase."""
        runs = list(self.trace.inferences())
        series = [series_of(self.trace, run) for run in runs]
        distinct = list(dict.fromkeys(series))
        names = series_names(self._table, distinct)
        group = np.array([distinct.index(one) for one in series], np.int64)
        of_each = self._by_inference(first, last).groups
        total, wall = np.zeros((2, len(distinct)), np.int64)
        for one in of_each:
            total[group[one.number]] += one.total
            wall[group[one.number]] += one.wall
        start = np.array([run.start for run in runs], np.int64)
        end = np.array([run.end for run in runs], np.int64)
        started = np.flatnonzero(starts_between(self.trace, start, first, last))
        order = started[np.argsort(group[started], kind="stable")]
        spread = Spreads(grouped((end - start)[order], group[order], len(distinct)))
        labels = [names[one] or scope_name(self._table, one[1]) for one in distinct]
        found = table_of("phase", labels, total, total, wall, spread, 0, 0)
        return replace(found, share_of=self._share_of("inference"))

    # -- groups by the keys of slices --------------------------------------------------------------

    def _by_slices(
        self, key: str, first: int | None, last: int | None, track: int | None
    ) -> GroupTable:
        parts, slices = self._keys.of(key), self.trace.slices
        count, of_operators = len(parts.labels), self._keys.is_of_operators(key)
        own = None if track is None else (slices.row_track == track)[slices.rows()]

        def spreads() -> Spreads:
            index, group = those_in(own, *self.occurrences.counted(key))
            return self.occurrences.spreads(index, group, count, first, last, key)

        def times() -> tuple[Ints, Ints, int, Ints]:
            if of_operators:
                self_ticks, wall, ungrouped = self._costs(parts, first, last)
            else:
                charged = self._charged_to(key)
                self_ticks, wall = charged.per_group(first, last, track, warm_up=self.warm_up)
                ungrouped = charged.rest(self._scope(first, last))
            outer, group = those_in(
                own, *self.occurrences.outer(key, is_whole=is_whole(first, last))
            )
            return self_ticks, wall, ungrouped, inclusive(slices, outer, group, count, first, last)

        works: tuple[Callable[[], Any], ...] = spreads, times  # about half of the time each
        sizes = [len(slices) if len(slices) <= 1 << 22 else 0] * 2  # at once: 50 bytes a slice
        answers = on_two_threads(lambda work: work(), works, sizes)
        spread, (self_ticks, wall, ungrouped, total) = answers
        clocks, occurring = self.occurrences.clocks(key), self.occurrences.occurring(parts)

        def started(some: Ints) -> int:
            those, _ = those_in(own, some, some)
            return self.occurrences.started(those[occurring.of(slices, those) >= 0], first, last)

        left_out, held = started(clocks.left_out), started(clocks.values)
        is_counted = None
        if not of_operators and len(self._scopes):
            is_scope = np.zeros(count, np.bool_)
            group = parts.of(slices, self._scopes)
            is_scope[group[group >= 0]] = True
            is_counted = (wall != 0) | ~is_scope
        table = table_of(
            key, parts.labels, total, self_ticks, wall, spread, ungrouped, left_out, is_counted
        )
        assert isinstance(table.groups, Groups)
        scopes = 0 if of_operators else self.occurrences.started(self._scopes, first, last)
        sums = clock_sums(spread.clocks.values())
        groups = table.groups.most_expensive_first()
        return replace(table, groups=groups, scopes=scopes, values=held, clocks=sums)

    # -- charged time ------------------------------------------------------------------------------

    @cached_property
    def _cost(self) -> Costs:
        return Costs(self._table)

    def _costs(
        self, parts: KeyGroups, first: int | None, last: int | None
    ) -> tuple[Ints, Ints, int]:
        """Return the self and wall ticks per group, summed over its sets, and the unlinked time."""
        sets = self._table.node_sets
        table = self._cost.table(self._scope(first, last))
        operators = [self._table.sets[i] for i in self._table.set_of_node_set.tolist()]
        number = {both: i for i, both in enumerate(zip(operators, sets, strict=True))}
        set_of_key = self._table.node_set_of_key
        group_of_set = np.empty(len(sets), np.int64)
        linked = set_of_key >= 0
        group_of_set[set_of_key[linked]] = parts.of_key[linked]
        self_ticks, wall = np.zeros((2, len(parts.labels)), np.int64)
        for row in table.by_nodes:
            group = group_of_set[number[row.operators, row.nodes]]
            self_ticks[group] += row.ticks
            wall[group] += row.wall
        return self_ticks, wall, table.without_operator

    def charged_slices(self, key: str, scope: TimeScope) -> tuple[Charged, intervals.Intervals]:
        """Return the time that a key charges to slices, by their numbers, and that of none.

        Not for units, threads and inferences, unless the groups are those of their slices.
        """
        trace, groups = self.trace, self._keys.of(key)
        count = len(trace.slices)
        if self._keys.is_of_operators(key):
            has = stated_alone(trace, self._table.node_set_of_key)[trace.slices.key] >= 0
            charged = self._cost.charged_to(np.where(has, np.arange(count), -1))
            return charged, self._cost.time_without_operator(scope)
        if groups.of_slice is None:
            has = stated_alone(trace, groups.of_key)[trace.slices.key] >= 0
        else:
            has = (groups.of_slice >= 0) & ~made_of_others(trace)
        charged = charge_slices(trace, has, self._scopes)
        return charged, joined(self._charged_to(key).free.within(scope))

    def _charged_to(self, key: str) -> ChargedTime:
        """Return the time charged to the groups of a key, and the rest."""
        if key not in self._charged:
            parts, trace = self._keys.of(key), self.trace
            if parts.of_slice is None:
                groups = stated_alone(trace, parts.of_key)
            else:  # each slice is a key
                groups = np.where(made_of_others(trace), -1, parts.of_slice)
                numbers = np.arange(len(groups), dtype=np.uint32)
                trace = replace(trace, slices=replace(trace.slices, key=numbers))
            self._charged[key] = ChargedTime(
                trace,
                groups,
                len(parts.labels),
                self._scopes,
                within_calls=key == "delegate",
                threads=self.threads if parts.of_slice is None else None,
            )
        return self._charged[key]

    # -- parts of groups ---------------------------------------------------------------------------

    def parted(
        self, key: str, part: Ints, first: int | None = None, last: int | None = None
    ) -> PartedGroups:
        """Return the figures of the groups of a key, each divided by what its slices are.

        part: a number per slice, from 0. A slice that time is charged to, an outermost one, or one
        that counts takes its figures to its part, so those of all parts are those of the group.
        """
        slices, parts = self.trace.slices, self._keys.of(key)
        group, of_part, cell = self._cells(key, part)
        count = len(group)
        self_ticks, wall = self._charged_cells(key, cell, count, first, last)
        outer, _ = self.occurrences.outer(key, is_whole=is_whole(first, last))
        total = inclusive(slices, outer, cell[outer], count, first, last)
        index, _ = self.occurrences.counted(key)
        names = [parts.clocks[number] for number in group.tolist()] if parts.clocks else None
        spreads = self.occurrences.spreads(index, cell[index], count, first, last, key, names)
        return PartedGroups(group, of_part, self_ticks, wall, total, spreads)

    def _cells(self, key: str, part: Ints) -> tuple[Ints, Ints, Ints]:
        """Return the group and the part of each cell, and the cell of each slice, -1 for none."""
        parts, slices = self._keys.of(key), self.trace.slices
        of_slice = parts.of(slices, np.arange(len(slices)))
        many = int(part.max(initial=0)) + 1
        pairs, cell = np.unique(
            np.where(of_slice < 0, -1, of_slice * many + part), return_inverse=True
        )
        bare = int(len(pairs) > 0 and pairs[0] < 0)
        group, of_part = np.divmod(pairs[bare:], many)
        return group, of_part, cell.reshape(-1) - bare

    def _charged_cells(
        self, key: str, cell: Ints, count: int, first: int | None, last: int | None
    ) -> tuple[Ints, Ints]:
        """Return the self and wall ticks of the cells of a key."""
        alone = cell.copy()
        alone[made_of_others(self.trace)] = -1
        if self._keys.is_of_operators(key):
            charged = self._cost.charged_to(alone)
        else:
            charged = charge_groups(self.trace, alone, self._scopes)
        return charged.per_group(count, first, last, warm_up=self.warm_up)

    def _scope(self, first: int | None, last: int | None) -> TimeScope:
        """Return the scope of a range; of the whole trace, with or without the warm-up."""
        if first is None or last is None:
            return TimeScope(warm_up=self.warm_up)
        return TimeScope(ticks=(first, last))

    @cached_property
    def without_warm_up(self) -> Grouping:
        """The same, but figures of the whole trace leave out the inferences that warm up."""
        return Grouping(self._table, self._ns_per_tick, warm_up=False)

    @cached_property
    def threads(self) -> ThreadTime | None:
        """The busy time of the threads of a plain profile, None for another."""
        return thread_time_of(self._table)

    @cached_property
    def _scopes(self) -> Ints:
        """The slices of a plain profile that have no wall time of their own, ascending."""
        return np.empty(0, np.int64) if self.threads is None else self.threads.not_counted


def _without_scopes(shape: Tree, outer: Bools, scopes: Ints) -> Bools:
    """Return which slices are outermost if some scopes are not counted."""
    is_scope = flags_at(len(outer), scopes)
    found, is_scope = outer[shape.index], is_scope[shape.index]
    for level in range(1, int(shape.depth.max(initial=0)) + 1):
        above = np.flatnonzero(found & is_scope & (shape.depth == level - 1))
        if not len(above):
            break
        found |= np.isin(shape.parent, above)
    result = np.empty(len(outer), np.bool_)
    result[shape.index] = found & ~is_scope
    return result


class ChargedTime:
    """Self and wall time of one grouping of the slices of a trace; all times are ticks.

    The segments are made when a range is requested, or if some time is in no group.
    """

    def __init__(
        self,
        trace: Trace,
        group_of_key: Ints,
        groups: int,
        scopes: Ints,
        *,
        within_calls: bool = False,
        threads: ThreadTime | None = None,
    ) -> None:
        """group_of_key: -1 for none. within_calls: the rest is that of `whole_slices`, else of all.

        groups: how many there are. scopes: as in `charge`. threads: of the trace, if it has keys.
        """
        self._threads = threads
        self.trace, self._group_of_key, self._groups = trace, group_of_key, groups
        self._scopes, self._within_calls = scopes, within_calls
        self._whole: dict[bool, tuple[Ints, Ints]] = {}

    def per_group(
        self, first: int | None, last: int | None, track: int | None, *, warm_up: bool
    ) -> tuple[Ints, Ints]:
        """Return the self and wall ticks of each group; arguments as in `total_per_group`."""
        is_all = is_whole(first, last) and track is None
        if is_all and not self._has_rest:
            if warm_up not in self._whole:
                groups = self._group_of_key, self._groups
                times = self._threads and self._threads.per_group(*groups, warm_up=warm_up)
                self._whole[warm_up] = times or total_charged(
                    self.trace, *groups, self._scopes, warm_up=warm_up
                )
            return self._whole[warm_up]
        return self._charged.per_group(self._groups, first, last, track, warm_up=warm_up)

    def rest(self, scope: TimeScope) -> int:
        """Return the ticks in a scope that no group has."""
        return length_within(self.free, self.trace, scope) if self._has_rest else 0

    @cached_property
    def _has_rest(self) -> bool:
        """Whether any slice is in no group."""
        bare = self._group_of_key < 0
        return bool(bare.any() and bare[self.trace.slices.key].any())

    @cached_property
    def _charged(self) -> Charged:
        return charge(self.trace, self._group_of_key, self._scopes)

    @cached_property
    def free(self) -> FreeTime:
        """The time in no group."""
        trace, slices = self.trace, self.trace.slices
        if self._within_calls:
            whole = whole_slices(trace)
        else:
            whole = (slices.row_depth == 0)[slices.rows()] & ~made_of_others(trace)
        # All of the time of a slice with a group is charged.
        whole &= (self._group_of_key < 0)[slices.key]
        return FreeTime(trace, self._charged.of_threads, whole)
