"""Statistics by key: the cost of the groups of a linked trace, and the durations of their slices.

Each key divides a trace into groups in its own way:

    unit       the rows of `viewer.analysis.statistics.npu_units`: busy, alone, together, idle
    operator   an operator of the program, or the set of several that share a slice: "a + b"
    node       a graph node of the program, or the set of several that share a slice
    type       the operator type: "tosa.conv2d", "convolution"; a set of one type has that type
    module     the module path of the operators, "features.4"
    line       the source line of the operators, "models.py:49"
    location   the MLIR location of the slice, as text
    delegate   a delegate call: its backend and instruction
    thread     a track: process > thread
    run        an inference
    name       the slice's name in the file

Type, module and line are those of the graph nodes where it is known which of an operator's nodes
ran.

Except for `unit`, whose rows overlap, totals add up: an instant of a track is charged once, to the
innermost slice around it that has a group, so the group totals and the ungrouped rest add up to the
whole. For operators, nodes, types, modules and lines these are the costs of
`viewer.analysis.cost.costs`, summed over sets and never divided; their whole, and that of
delegates, is `Method::execute` where the file has it. Otherwise the whole is the busy time of all
tracks. Where lanes of one track overlap, an instant counts once for each group (set) that is active
in it.

`self_ticks` is the part of `total` in which the innermost slice belongs to the group: a call
without the unlinked events in it. `spread` covers whole slices that start in the range. It skips a
slice directly inside another of its group (a kernel in its call), and a derived NSS job next to its
start and wait. All times are ticks of the trace, but for those of delegates.

Slices on a delegate's own clock are in no number, but are counted, until the user states a rate
(`viewer.analysis.links.delegate_clocks`). Then `spread` covers them too, where they are drawn in
the range, and is in ns for a group that has any. They never enter `total` and `self_ticks`: the
time of their call is charged already, and where in it they ran is unknown. Their own sum is
`delegate_ns`, apart. A thread covers its outermost slices alone, and so none of them.

The whole trace leaves out inferences that did not finish (`viewer.model.queries.counted_slices`).
By `run` they are listed, with a share of 0, because they are no part of the whole.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property

import numpy as np

from viewer.analysis.cost.costs import (
    Costs,
    FreeTime,
    free_time,
    length_within,
    made_of_others,
    stated_alone,
    whole_slices,
)
from viewer.analysis.links.delegate_clocks import native_ns
from viewer.analysis.links.labels import run_label, track_name
from viewer.analysis.links.link_table import LinkTable
from viewer.analysis.statistics.group_keys import (
    KEYS,
    NO_OPERATOR,
    OF_OPERATORS,
    GroupKeys,
    KeyGroups,
)
from viewer.analysis.statistics.npu_units import UnitOverview
from viewer.arrays import Bools, Codes, Ints
from viewer.model.distributions import grouped
from viewer.model.queries import (
    Segments,
    Tree,
    charge,
    counted_inferences,
    counted_slices,
    counted_within,
    foreign,
    is_whole,
    starts_between,
    total_per_group,
    tree,
)
from viewer.model.times import ticks_to_ns
from viewer.model.trace import Column, KeyKind


@dataclass(frozen=True, slots=True)
class Spread:
    """The durations of a group's slices; all 0 if none starts in the range.

    In ticks; in_ns: in ns instead, because a delegate's own clock timed some of them.
    """

    count: int
    mean: float
    min: int
    max: int
    p50: float
    p90: float
    in_ns: bool = False


# The spread of every group, and by group number the ns that a delegate's own clock timed.
Spreads = tuple[list[Spread], dict[int, int]]


@dataclass(frozen=True, slots=True)
class Group:
    """One group: its label, the ticks charged to it, and their share of the whole.

    key: a name for scripts, only for rows of `unit`. self_ticks, spread: None for rows of `unit`.
    number: the argument of `Grouping.slices`; for `operator` also an index into the sets of the
    link table, for `run` the position among the inferences; -1 for rows of `unit`. delegate_ns: the
    sum of the durations in `spread` that a delegate's own clock timed; None if there are none.
    """

    label: str
    total: int
    share: float
    self_ticks: int | None = None
    spread: Spread | None = None
    key: str = ""
    number: int = -1
    delegate_ns: int | None = None

    @property
    def is_apart(self) -> bool:
        """Whether nothing is charged to it, because only a delegate's own clock timed it."""
        return self.delegate_ns is not None and not self.total


@dataclass(frozen=True, slots=True)
class GroupTable:
    """The groups that have a slice or time in a range.

    Most expensive first; units, threads and runs are in their own order. foreign: the number of
    slices in the range that are left out because a foreign clock of unknown rate timed them. For
    `unit`, the whole is the length of the range, and nothing is ungrouped.
    """

    key: str
    groups: tuple[Group, ...]
    whole: int
    ungrouped: int
    foreign: int

    @property
    def ungrouped_label(self) -> str:
        """The label of the ungrouped time.

        For operators, types, modules and lines, it is the time in no operator's slice, whether or
        not operators have a module or line.
        """
        return NO_OPERATOR if self.key in OF_OPERATORS else f"(no {self.key})"


class Grouping:
    """Statistics of one linked trace by any key; everything range-independent is cached."""

    def __init__(self, table: LinkTable, ns_per_tick: Fraction | None = None) -> None:
        """ns_per_tick: the rate of the trace, if it is not that of the file."""
        self._ns_per_tick = table.trace.clock.ns_per_tick if ns_per_tick is None else ns_per_tick
        self._table = table
        self._trace = table.trace
        self._keys = GroupKeys(table)
        self._charged: dict[str, tuple[Segments, FreeTime]] = {}
        none = np.empty(0, np.uint32)
        self._counted_by: tuple[str, tuple[Codes, Codes]] = "", (none, none)
        self._innermost_by: tuple[str, Segments] | None = None

    @property
    def keys(self) -> tuple[str, ...]:
        """The keys that the trace has."""
        return tuple(key for key in KEYS if not self.missing(key))

    def missing(self, key: str) -> str:
        """Return why the trace has no such groups, as a sentence, or "". ValueError if unknown."""
        return self._keys.missing(key)

    def by(self, key: str, first: int | None = None, last: int | None = None) -> GroupTable:
        """Return the statistics by a key in the ticks [first, last], or in the whole trace.

        Raises ValueError with the text of `missing` if the trace does not have the key.
        """
        why = self.missing(key)
        if why:
            raise ValueError(why)
        if key == "unit":
            return self._by_unit(first, last)
        if key == "run":
            return self._by_run(first, last)
        if key == "thread":
            return self._by_thread(first, last)
        return self._by_slices(key, first, last)

    def slices(
        self, key: str, number: int, first: int | None = None, last: int | None = None
    ) -> Ints:
        """Return the slices that a group's spread counts, ascending, by group number.

        Not for units and runs, which are not slices.
        """
        index, group = self._outermost() if key == "thread" else self._counted(key)
        own = index[group == number]
        return np.sort(own[counted_within(self._trace, own, first, last)]).astype(np.int64)

    def parts(self, key: str) -> tuple[tuple[str, ...], Ints]:
        """Return the labels of a key's groups, and per key of the trace its group, -1 for none.

        Not for units, threads and runs. Raises ValueError with the text of `missing`.
        """
        why = self.missing(key)
        if why:
            raise ValueError(why)
        found = self._keys.of(key)
        return found.labels, found.of_key

    def group_of_slice(self, key: str, index: int) -> int:
        """Return the group of a slice by a key that the trace has, or -1; not for units or runs."""
        slices = self._trace.slices
        if key == "thread":
            return int(slices.track(index))
        return int(self._keys.of(key).of_key[slices.key[index]])

    def group_of(self, key: str, operators: tuple[int, ...]) -> int:
        """Return the group of a set of operators by one of `OF_OPERATORS`, or -1.

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
        return UnitOverview(self._trace)

    def _by_unit(self, first: int | None, last: int | None) -> GroupTable:
        rows = self.overview.rows(first, last)
        groups = tuple(Group(r.label, r.ticks, r.share, key=r.key) for r in rows)
        return GroupTable("unit", groups, rows[-1].ticks, 0, 0)

    def _by_thread(self, first: int | None, last: int | None) -> GroupTable:
        """Group by track; every outermost slice counts, so a track's total is its busy time."""
        trace, slices = self._trace, self._trace.slices
        at, track = self._outermost()
        counted = counted_slices(trace)
        counts = None if counted is None else counted[at]
        spans = Segments(track, slices.start[at], slices.end[at], track, True, counts)
        total = total_per_group(spans, len(trace.tracks), first, last)
        labels = [
            f"{place.process} > {track_name(self._table, i)}"
            for i, place in enumerate(trace.tracks)
        ]
        spread = self._spreads_of(at, track, len(labels), first, last)
        left_out = self._foreign(np.ones(len(slices), np.bool_), foreign(slices), first, last)
        return _table("thread", labels, total, total, spread, 0, left_out)

    def _outermost(self) -> tuple[Ints, Ints]:
        """Return the outermost slices of all tracks, without foreign ones, and their tracks."""
        slices = self._trace.slices
        rows = slices.rows()
        outer = slices.row_depth[rows] == 0
        outer[foreign(slices)] = False
        at = np.flatnonzero(outer)
        return at, slices.row_track[rows[at]].astype(np.int64)

    def _by_run(self, first: int | None, last: int | None) -> GroupTable:
        runs = list(self._trace.inferences())
        start = np.array([run.start for run in runs], np.int64)
        end = np.array([run.end for run in runs], np.int64)
        durations = end - start
        lo = start if first is None else np.maximum(start, first)
        total = np.maximum((end if last is None else np.minimum(end, last)) - lo, 0)
        started = np.flatnonzero(starts_between(self._trace, start, first, last))
        spread = _spreads(durations[started], started, len(runs)), dict[int, int]()
        labels = [run_label(self._table, run) for run in runs]
        table = _table("run", labels, total, total, spread, 0, 0)
        counted = counted_inferences(self._trace)
        if not is_whole(first, last) or len(counted) == len(runs):
            return table
        # An inference that is left out is listed, but is no part of the whole.
        whole = sum(run.end - run.start for run in counted)
        groups = tuple(
            replace(one, share=one.total / whole if whole and runs[one.number].finished else 0.0)
            for one in table.groups
        )
        return replace(table, groups=groups, whole=whole)

    # -- groups by the keys of slices --------------------------------------------------------------

    def _by_slices(self, key: str, first: int | None, last: int | None) -> GroupTable:
        parts = self._keys.of(key)
        count = len(parts.labels)
        if key in OF_OPERATORS:
            total, own, ungrouped = self._costs(parts, first, last)
        else:
            segments, free = self._charged_to(key)
            total = total_per_group(segments, count, first, last)
            own = total_per_group(self._innermost(key, parts.of_key), count, first, last)
            ungrouped = length_within(free, self._trace, first, last)
        spread = self._spreads_of(*self._counted(key), count, first, last)
        occurs = self._occurring(parts) >= 0
        left_out = self._foreign(occurs[self._trace.slices.key], self._unrated, first, last)
        table = _table(key, parts.labels, total, own, spread, ungrouped, left_out)
        by_cost = sorted(table.groups, key=lambda one: (-one.total, -(one.delegate_ns or 0)))
        return replace(table, groups=tuple(by_cost))

    # -- charged time ------------------------------------------------------------------------------

    @cached_property
    def _cost(self) -> Costs:
        return Costs(self._table)

    def _costs(
        self, parts: KeyGroups, first: int | None, last: int | None
    ) -> tuple[Ints, Ints, int]:
        """Return total and own ticks per group, summed over its sets, and the unlinked time."""
        sets = self._table.node_sets
        table = self._cost.table(first, last)
        operators = [self._table.sets[i] for i in self._table.set_of_node_set.tolist()]
        number = {both: i for i, both in enumerate(zip(operators, sets, strict=True))}
        set_of_key = self._table.node_set_of_key
        innermost = self._innermost("node", set_of_key)
        own = total_per_group(innermost, len(sets), first, last)
        group_of_set = np.empty(len(sets), np.int64)
        linked = set_of_key >= 0
        group_of_set[set_of_key[linked]] = parts.of_key[linked]
        folded = np.zeros((2, len(parts.labels)), np.int64)
        for row in table.by_nodes:
            folded[0, group_of_set[number[row.operators, row.nodes]]] += row.ticks
        np.add.at(folded[1], group_of_set, own)
        return folded[0], folded[1], table.without_operator

    def _charged_to(self, key: str) -> tuple[Segments, FreeTime]:
        """Return the time charged to the groups of a key, and the uncharged rest by track."""
        if key not in self._charged:
            slices = self._trace.slices
            of_key = stated_alone(self._trace, self._keys.of(key).of_key)
            segments = charge(self._trace, of_key)
            outer = slices.row_depth[slices.rows()] == 0
            outer &= ~made_of_others(self._trace)
            whole = whole_slices(self._trace) if key == "delegate" else outer
            self._charged[key] = segments, free_time(self._trace, segments, whole)
        return self._charged[key]

    @cached_property
    def _by_key(self) -> Segments:
        """All time charged to the key of the innermost slice; unattributed gaps to their call."""
        keys = stated_alone(self._trace, np.arange(len(self._trace.keys)))
        keys[self._trace.keys.kind == KeyKind.UNATTRIBUTED] = -1
        return charge(self._trace, keys)

    def _innermost(self, key: str, group_of_key: Ints) -> Segments:
        """Return the time in which the innermost slice is in a group; cached for the last key."""
        if self._innermost_by is not None and self._innermost_by[0] == key:
            return self._innermost_by[1]
        segments = self._by_key
        group = group_of_key[segments.group]
        own = np.flatnonzero(group >= 0)
        found = segments.taken(own, group[own])
        self._innermost_by = key, found
        return found

    # -- durations of slices -----------------------------------------------------------------------

    @cached_property
    def _tree(self) -> Tree:
        return tree(self._trace.slices)

    def _occurring(self, parts: KeyGroups) -> Ints:
        """Return per key the group that its slices are occurrences of, -1 for none.

        A derived job next to its start and wait would be a third occurrence of their group. It
        counts only in a group without stated slices, as by name.
        """
        mixed = stated_alone(self._trace, parts.of_key)
        has_stated = np.bincount(mixed[mixed >= 0], minlength=len(parts.labels)) > 0
        return np.where((parts.of_key >= 0) & has_stated[parts.of_key], mixed, parts.of_key)

    def _counted(self, key: str) -> tuple[Codes, Codes]:
        """Return the slices that count as occurrences of groups, and the group of each.

        A slice inside another of its group is left out. Cached for the last key.
        """
        if self._counted_by[0] == key:
            return self._counted_by[1]
        slices, shape, parts = self._trace.slices, self._tree, self._keys.of(key)
        group = self._occurring(parts)[slices.key]
        group[self._unrated] = -1
        group = group[shape.index]
        # The group of the slice itself, or of the nearest enclosing slice that has one.
        nearest, inside = group.copy(), np.full(len(group), -1)
        for level in range(1, int(shape.depth.max(initial=0)) + 1):
            here = np.flatnonzero(shape.depth == level)
            inside[here] = nearest[shape.parent[here]]
            nearest[here] = np.where(group[here] < 0, inside[here], group[here])
        counted = (group >= 0) & (group != inside)
        found = shape.index[counted].astype(np.uint32), group[counted].astype(np.uint32)
        self._counted_by = key, found
        return found

    def _spreads_of(
        self,
        index: Ints | Codes,
        group: Ints | Codes,
        count: int,
        first: int | None,
        last: int | None,
    ) -> Spreads:
        """Return the durations of the slices that start in a range, for each group."""
        slices, started = self._trace.slices, counted_within(self._trace, index, first, last)
        found, of = index[started], group[started].astype(np.int64)
        durations = slices.end[found] - slices.start[found]
        rated = self._rated
        if rated is None or rated.valid is None or not rated.valid[found].any():
            return _spreads(durations, of, count), {}
        own = np.flatnonzero(rated.valid[found])
        has_own = np.bincount(of[own], minlength=count) > 0
        in_ns = has_own[of]
        durations[in_ns] = ticks_to_ns(durations[in_ns], self._ns_per_tick)
        durations[own] = rated.values[found[own]]
        sums = grouped(durations[own], of[own], count).total
        spreads = _spreads(durations, of, count)
        apart = {number: int(sums[number]) for number in np.flatnonzero(has_own).tolist()}
        for number in apart:
            spreads[number] = replace(spreads[number], in_ns=True)
        return spreads, apart

    @cached_property
    def _rated(self) -> Column | None:
        """The ns of the slices whose delegate's clock has a stated rate."""
        return native_ns(self._table)

    @cached_property
    def _unrated(self) -> Ints:
        """The slices on foreign clocks of unknown rate, or whose clock counts units of time."""
        native, rated = foreign(self._trace.slices), self._rated
        return native if rated is None or rated.valid is None else native[~rated.valid[native]]

    def _foreign(self, of: Bools, native: Ints, first: int | None, last: int | None) -> int:
        """Return how many slices of a mask are among the foreign ones and start in the range."""
        return int((of[native] & counted_within(self._trace, native, first, last)).sum())


def _table(
    key: str,
    labels: Sequence[str],
    total: Ints,
    own: Ints,
    spreads: Spreads,
    ungrouped: int,
    left_out: int,
) -> GroupTable:
    whole = int(total.sum()) + ungrouped
    groups = tuple(
        Group(
            label,
            ticks,
            ticks / whole if whole else 0.0,
            inner,
            lengths,
            number=number,
            delegate_ns=spreads[1].get(number),
        )
        for number, (label, ticks, inner, lengths) in enumerate(
            zip(labels, total.tolist(), own.tolist(), spreads[0], strict=True)
        )
        if ticks or lengths.count
    )
    return GroupTable(key, groups, whole, ungrouped, left_out)


def _spreads(durations: Ints, groups: Ints, count: int) -> list[Spread]:
    found = grouped(durations, groups, count)
    return [
        Spread(n, mean, int(least), int(most), middle, high)
        for n, mean, least, most, middle, high in zip(
            found.count.tolist(),
            found.avg.tolist(),
            found.min.tolist(),
            found.max.tolist(),
            found.p50.tolist(),
            found.p90.tolist(),
            strict=True,
        )
    ]
