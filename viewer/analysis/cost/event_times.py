"""The time of events, each instant counted once: by event on each thread, or by kind of work.

Plain profiles (PyTorch, Perfetto, CSV) have no timed inferences and no linked operators: their
whole is the time in which a thread is busy. Two things would count a thread twice. Where lanes
overlap, an instant belongs to the slice that started last. And a span on a track of its own may
cover all of the trace, such as a profiler's own: it shows that something was recorded, not what it
took. If other events cover at least half of it, its remaining time is not busy time; otherwise
nothing else accounts for that time. So it is with the steps of a PyTorch profile and the copies of
scopes that it draws on a GPU, which are judged together, so that all steps count alike. A span that
covers its own thread, such as a script's main function, is busy time, but never the most expensive
event.

Work is every event that is not a scope of a runtime. Events belong to one *thing* if they have the
same operators or, without a link, the same label on screen. A delegate call is a separate thing
from the events in it, which take their time from it; so is the call around a kernel without a link,
whose label is the same.
"""

from __future__ import annotations

from collections.abc import Collection
from enum import Enum
from fractions import Fraction
from functools import cached_property
from threading import Lock
from weakref import WeakKeyDictionary, ref

import numpy as np

from viewer.analysis.links.labels import brief_label, key_labels
from viewer.analysis.links.link_table import LinkTable, Reason
from viewer.arrays import Bools, Floats, Ints, flags_at, joined, numbers_at, parts_of
from viewer.dataclasses import dataclass, replace
from viewer.model import intervals
from viewer.model.charging import (
    Charged,
    Segments,
    charge,
    charge_slices,
    charges_itself,
    ticks_per_group,
    total_per_group,
    total_self,
    wall_of_slices,
)
from viewer.model.figures import WHOLE, TimeScope
from viewer.model.inference_views import thread_of_rows
from viewer.model.queries import counted_slices, execute_keys, in_blocks, self_times
from viewer.model.recorded_names import CATEGORY, GPU_COPY
from viewer.model.text import name_text
from viewer.model.trace import KeyKind, Slices, Trace, Unit

_stated_keys: WeakKeyDictionary[Trace, Bools] = WeakKeyDictionary()


def stated_alone(trace: Trace, group_of_key: Ints) -> Ints:
    """Return the groups per key, with -1 for keys that only derived slices have.

    An NSS job covers the host's start and wait slices on another track. Charging both would double
    the cost of the operator.
    """
    if trace not in _stated_keys:
        is_stated = np.zeros(len(trace.keys), np.bool_)
        derived = made_of_others(trace)
        is_stated[trace.slices.key[~derived] if derived.any() else trace.slices.key] = True
        _stated_keys[trace] = is_stated
    return np.where(_stated_keys[trace], group_of_key, -1)


def made_of_others(trace: Trace) -> Bools:
    """Return per slice whether it is derived from slices that are already charged.

    All False if every slice is derived, as in a file of mean times.
    """
    derived = trace.slices.derived
    if derived is None or derived.all():
        return np.zeros(len(trace.slices), np.bool_)
    return derived


# A span that covers this share of its thread is the thread, apart from how it starts and ends.
COVERS = Fraction(19, 20)
# If other events cover half of such a span, they are what it consists of.
EXPLAINED = Fraction(1, 2)


@dataclass(frozen=True, slots=True, eq=False)
class GroupTime:
    """The busy time of groups of keys of a plain profile.

    group_of_key: `groups` for keys in none. spans: the slices whose time is in no group.
    """

    threads: ThreadTime
    group_of_key: Ints
    groups: int
    spans: Ints

    def ticks(self, scope: TimeScope) -> tuple[Ints, int]:
        """Return the ticks of every group (int64), and the busy time of all threads, in a scope."""
        key, of_key, groups = self.threads.trace.slices.key, self.group_of_key, self.groups
        if scope.is_whole:
            wall, total = self.threads.wall(warm_up=scope.warm_up), np.zeros(groups + 1, np.int64)
            for part in parts_of(len(wall)):
                np.add.at(total, of_key[key[part]], wall[part])
            np.subtract.at(total, of_key[key[self.spans]], wall[self.spans])
            total[groups] += wall[self.spans].sum()
        else:
            within = self.threads.within(scope)
            group = of_key[key[within.group]]
            group[np.isin(within.group, self.spans)] = groups
            total = total_per_group(replace(within, group=group), groups + 1, *scope.span)
        return total[:-1], int(total.sum())


class ThreadTime:
    """The busy time of a plain profile. Charging happens once, on first use.

    Several threads may ask: for the legend, for findings, for the names of a table.
    """

    def __init__(self, trace: Trace) -> None:
        self.trace = self._trace = trace
        self._charging = Lock()
        self._charged: Segments | None = None
        self._wall: dict[bool, Ints] = {}

    def of(self, group_of_key: Ints, groups: int, *, spans: bool = True) -> GroupTime:
        """Return the time of groups; group_of_key: per key of the trace its group, -1 for none.

        spans: False if the time of `whole_spans` is in no group.
        """
        of_key = np.where(group_of_key < 0, groups, group_of_key)
        left_out = self.whole_spans[:0] if spans else self.whole_spans
        return GroupTime(self, of_key, groups, left_out)

    def charged_to(self, group: Ints, groups: int) -> Segments:
        """Return the time of groups, disjoint on each thread, and in `groups` that of none.

        group: per slice its group, -1 for none.
        """
        charged = self.of_slices
        group_of_slice = np.where(group < 0, groups, group)
        return charged.taken(slice(None), group_of_slice[charged.group])

    def per_group(
        self, group_of_key: Ints, groups: int, *, warm_up: bool
    ) -> tuple[Ints, Ints] | None:
        """Return self and wall ticks of groups in the whole trace; None if a slice is in none."""
        if not charges_itself(self._trace, group_of_key):
            return None
        self_ticks, wall = (
            ticks_per_group(self._trace, ticks, group_of_key, groups, warm_up=warm_up)
            for ticks in (self_times(self._trace), self.wall(warm_up=warm_up))
        )
        return self_ticks, wall

    def wall(self, *, warm_up: bool = True) -> Ints:
        """Return the ticks of the whole trace that each slice has, as `of_slices` adds up."""
        if counted_slices(self._trace, warm_up=warm_up) is counted_slices(self._trace):
            warm_up = True
        with self._charging:
            if warm_up not in self._wall:
                counts = ~made_of_others(self._trace)
                self._wall[warm_up] = wall_of_slices(
                    self._trace, counts, self.not_counted, warm_up=warm_up
                )
            return self._wall[warm_up]

    def threads(self, scope: TimeScope) -> int:
        """Return the number of threads with any busy time in a scope."""
        slices, (thread, threads) = self._trace.slices, thread_of_rows(self._trace)
        if scope.is_whole:
            if not len(slices):
                return 0
            is_busy = self.wall(warm_up=scope.warm_up) != 0
            rows = np.logical_or.reduceat(is_busy, slices.row_ptr[:-1])
        else:
            rows = np.zeros(len(slices.row_track), np.bool_)
            rows[slices.rows()[self.within(scope).group]] = True
        return len(np.unique((slices.row_track if threads == 1 else thread)[rows]))

    def within(self, scope: TimeScope) -> Segments:
        """Return the busy time in a scope, as `of_slices` has it for the whole trace."""
        charged, (first, last, track) = self.of_slices, scope.span
        if first is None or last is None:
            return charged.of_whole_trace(warm_up=scope.warm_up)
        start, end = np.maximum(charged.start, first), np.minimum(charged.end, last)
        inside = (end > start) & ((charged.track == track) | (track is None))
        return replace(charged, start=start, end=end).taken(inside)

    @cached_property
    def whole_spans(self) -> Ints:
        """The slices that cover (almost) all of their thread or of the trace, steps, GPU copies.

        A view of inferences has parts of threads, so nothing in it covers a thread by itself.
        """
        return np.union1d(np.concatenate(self._spans), self._scopes)

    @cached_property
    def _spans(self) -> tuple[Ints, Ints]:
        """The slices that cover their thread, and those that cover the trace on their own track."""
        if self._trace.lane_starts:
            none = np.empty(0, np.int64)
            return none, none
        return wide_spans(self._trace)

    @cached_property
    def _scopes(self) -> Ints:
        """The scopes of the runtime, ascending: in a plain profile, the steps of PyTorch.

        And the copies of scopes on a GPU, which are only around kernels and the time between them.
        """
        is_step = self._trace.keys.kind == KeyKind.FRAMEWORK
        return np.flatnonzero(is_step[self._trace.slices.key] | self._is_gpu_copy)

    @cached_property
    def _is_gpu_copy(self) -> Bools:
        category = self._trace.slices.columns.get(CATEGORY)
        if category is None:
            return np.zeros(len(self._trace.slices), np.bool_)
        return category.is_any((GPU_COPY,))

    @cached_property
    def not_counted(self) -> Ints:
        """The scopes and the spans of the trace that other events explain, ascending."""
        slices, spans = self._trace.slices, np.union1d(self._spans[1], self._scopes)
        if not len(spans):
            return spans
        others = np.ones(len(slices), np.bool_)
        others[self.whole_spans] = False
        others &= ~made_of_others(self._trace)
        united = intervals.union(slices.start[others], slices.end[others])
        start, end = slices.start[spans], slices.end[spans]
        covered = intervals.covered_until(united, end) - intervals.covered_until(united, start)
        long = intervals.durations(start, end)
        if len(self._scopes):
            index = np.searchsorted(spans, self._scopes)
            covered[index], long[index] = covered[index].sum(), long[index].sum()
        return np.asarray(spans[covered * EXPLAINED.denominator >= long * EXPLAINED.numerator])

    @property
    def originals_not_counted(self) -> Ints:
        """Those of `not_counted` that are no copies on a GPU, whose scopes may count themselves."""
        return self.not_counted[~self._is_gpu_copy[self.not_counted]]

    @property
    def of_slices(self) -> Segments:
        """The busy time, disjoint on each thread; its groups are the numbers of the slices."""
        with self._charging:
            if self._charged is None:
                counts = ~made_of_others(self._trace)
                self._charged = charge_slices(self._trace, counts, self.not_counted).of_threads
            return self._charged


def thread_time_of(table: LinkTable) -> ThreadTime | None:
    """Return the busy time of the threads of a plain profile, None for a profile of another kind.

    A plain profile has neither timed inferences nor units of an NPU. Also None with links, unless
    linked operators call one another: else the time is that of operators.
    """
    trace = table.trace
    is_unlinked = not table.sets or (table.program is not None and table.program.is_nested)
    has_units = any(track.unit is not Unit.NONE for track in trace.tracks)
    is_plain = not has_units and not execute_keys(trace).any()
    if not is_plain or not is_unlinked:
        return None
    with _sharing:
        shared = _shared[trace]() if trace in _shared else None
        threads = shared or ThreadTime(trace)
        _shared[trace] = ref(threads)
        return threads


# Weak on both sides: a time has its trace.
_shared: WeakKeyDictionary[Trace, ref[ThreadTime]] = WeakKeyDictionary()
_sharing = Lock()


def wide_spans(trace: Trace) -> tuple[Ints, Ints]:
    """Return the slices that cover at least `COVERS` of their thread, and of the trace, ascending.

    Of a thread: of the time from its first slice to its last, if another slice is inside. Of the
    trace: if all slices of its track cover the trace, such as the profiler's own spans in a file
    merged of two processes, and there are slices on other tracks.
    """
    slices, none = trace.slices, np.empty(0, np.int64)
    if not len(slices):
        return none, none
    limits, row_track = np.iinfo(np.int64), slices.row_track
    rows = _Rows.of(slices)
    first = np.full(len(trace.tracks), limits.max)
    last = np.full(len(trace.tracks), limits.min)
    np.minimum.at(first, row_track, rows.first)
    np.maximum.at(last, row_track, rows.last)
    timed = np.bincount(row_track, rows.timed, len(trace.tracks)).astype(np.int64)
    # Few rows have a slice that is long enough: only those are read again.
    extent = intervals.durations(np.minimum(first, last), np.maximum(first, last))
    is_long = rows.longest >= float(COVERS) * extent[row_track]
    wide = _slices_of(slices, is_long & (rows.timed > 0))
    track = slices.tracks_of(wide)
    start, end = slices.start, slices.end
    covers = _covers(start[wide], end[wide], first[track], last[track])
    wide = wide[covers & (end[wide] > start[wide])]
    if not len(wide):
        return none, none
    # Those of a row before those of the rows below it.
    wide = wide[np.lexsort((start[wide], slices.tracks_of(wide)))]
    track = slices.tracks_of(wide)
    # Of each thread, the last to start (the innermost) of its wide slices.
    is_last = np.append(track[1:] != track[:-1], True)
    rest_of = timed - np.bincount(track, minlength=len(trace.tracks))
    of_track = numbers_at(len(trace.tracks), track[is_last], wide[is_last], -1)
    rest = _slices_of(slices, ((of_track >= 0) & (rest_of > 0))[row_track])
    rest = np.setdiff1d(rest[end[rest] > start[rest]], wide, assume_unique=True)
    around = of_track[slices.tracks_of(rest)]
    inside = (start[rest] >= start[around]) & (end[rest] <= end[around])
    has_content = flags_at(len(trace.tracks), slices.tracks_of(rest[inside]))
    is_bare = is_last & ~has_content[track]
    lone = wide[rest_of[track] == 0]
    of_trace = none
    if rest_of.any() and len(lone):
        of_trace = lone[_covers(start[lone], end[lone], first.min(), last.max())]
    return np.setdiff1d(wide[~is_bare], of_trace), np.sort(of_trace)


@dataclass(frozen=True, slots=True, eq=False)
class _Rows:
    """What is known of the slices with a duration in each row; all int64 but `longest`.

    first, last: the earliest start and the latest end. longest: the longest duration, as a float.
    timed: how many there are.
    """

    first: Ints
    last: Ints
    longest: Floats
    timed: Ints

    @classmethod
    def of(cls, slices: Slices) -> _Rows:
        """Work them out in one pass over the slices."""
        return joined(in_blocks(lambda block: cls._of(block.slices), slices))

    @classmethod
    def _of(cls, slices: Slices) -> _Rows:
        limits, row_start = np.iinfo(np.int64), slices.row_ptr[:-1].astype(np.int64)
        start, end = slices.start, slices.end
        has_time = end > start
        if not has_time.all():
            start = np.where(has_time, start, limits.max)
            end = np.where(has_time, end, limits.min)
        long = intervals.durations(slices.start, slices.end)
        return cls(
            np.minimum.reduceat(start, row_start),
            np.maximum.reduceat(end, row_start),
            np.maximum.reduceat(long, row_start).astype(np.float64),
            np.add.reduceat(has_time.astype(np.int64), row_start),
        )


def _slices_of(slices: Slices, of_rows: Bools) -> Ints:
    """Return the slices of some rows, ascending."""
    if not of_rows.any():
        return np.empty(0, np.int64)
    return np.flatnonzero(of_rows.repeat(np.diff(slices.row_ptr)))


def _covers(start: Ints, end: Ints, first: Ints, last: Ints) -> Bools:
    """Return whether each span covers at least `COVERS` of the time from `first` to `last`."""
    long = intervals.durations(start, end).astype(np.float64)
    all_of_it = intervals.durations(np.minimum(first, last), np.maximum(first, last))
    covers: Bools = long >= float(COVERS) * all_of_it
    return covers


class WorkPart(Enum):
    """The part of a runtime's work that a group belongs to."""

    OUTSIDE = "ran outside delegates"
    DELEGATED = "a delegate's"
    CONTROL = "instructions without an operator"
    OTHER = "of a file without delegate calls"


_PARTS = {
    int(KeyKind.OPERATOR_CALL): WorkPart.OUTSIDE,
    int(KeyKind.KERNEL): WorkPart.OUTSIDE,
    int(KeyKind.DELEGATE_CALL): WorkPart.DELEGATED,
    int(KeyKind.DELEGATE_EVENT): WorkPart.DELEGATED,
    int(KeyKind.CONTROL): WorkPart.CONTROL,
    int(KeyKind.PLAIN): WorkPart.OTHER,
    int(KeyKind.LOCATION): WorkPart.OTHER,
    int(KeyKind.ACTION): WorkPart.OTHER,
    int(KeyKind.JOB): WorkPart.OTHER,
}


@dataclass(frozen=True, slots=True)
class WorkGroup:
    """Keys with the same thing, part and kind of copy.

    thing: an index into `WorkTime.things`. copy: the kind of copy, "" if it is not a copy.
    """

    thing: int
    part: WorkPart
    copy: str
    keys: tuple[int, ...]


class WorkTime:
    """The work of one linked trace; charging happens once, so range queries are cheap."""

    def __init__(self, table: LinkTable) -> None:
        self.table = table

    @property
    def groups(self) -> tuple[WorkGroup, ...]:
        """All groups, in the order of their first keys."""
        return self._named[0]

    @property
    def things(self) -> tuple[str, ...]:
        """The labels of all things; two sets of operators may have the same label."""
        return self._named[1]

    @cached_property
    def thing_of_group(self) -> Ints:
        """The thing of every group (int64)."""
        return np.array([group.thing for group in self.groups], np.int64)

    @cached_property
    def _named(self) -> tuple[tuple[WorkGroup, ...], tuple[str, ...]]:
        from viewer.analysis.workload.node_traffic import copies_of

        table = self.table
        labels, copies = key_labels(table), copies_of(table)
        kinds = table.trace.keys.kind
        events = bool((kinds == KeyKind.DELEGATE_EVENT).any())
        kernels = bool((kinds == KeyKind.KERNEL).any())
        keys_of_work: dict[tuple[WorkPart, str, int], list[int]] = {}
        things: dict[tuple[tuple[int, ...] | str, bool], int] = {}
        program = table.program
        text = program is not None and program.is_mlir
        by_label = program is not None and program.is_nested
        for key, kind in enumerate(table.trace.keys.kind.tolist()):
            part = _PARTS.get(kind)
            # Events that a delegate logs outside any call, as during load, do not belong to a run.
            if part is not None and table.links[key].reason is not Reason.OUTSIDE_CALLS:
                operators = tuple(sorted(table.links[key].operators))
                if text and all(operator.is_function for operator in table.operators(key)):
                    operators = ()  # the location is a call site; label it as in the file
                if by_label:
                    operators = ()  # an operator has many call sites
                is_rest = events and kind == KeyKind.DELEGATE_CALL
                if not operators:  # the label of a kernel is that of the call around it, too
                    is_rest |= kernels and kind == KeyKind.OPERATOR_CALL
                thing = things.setdefault((operators or labels[key], is_rest), len(things))
                keys_of_work.setdefault((part, copies[key], thing), []).append(key)
        groups = (
            WorkGroup(thing, part, copy, tuple(k))
            for (part, copy, thing), k in keys_of_work.items()
        )
        names = (
            ("rest of the call " if is_rest else "")
            + (name_text(what) if isinstance(what, str) else brief_label(table, what))
            for what, is_rest in things
        )
        return tuple(groups), tuple(names)

    @cached_property
    def group_of_key(self) -> Ints:
        """Per key the index into `groups`, -1 for keys that are not work and for derived slices."""
        of_key = np.full(len(self.table.trace.keys), -1)
        for number, group in enumerate(self.groups):
            of_key[list(group.keys)] = number
        return stated_alone(self.table.trace, of_key)

    @cached_property
    def _charged(self) -> Charged:
        return charge(self.table.trace, self.group_of_key)

    @property
    def segments(self) -> Segments:
        """The time of the groups, disjoint on each thread."""
        return self._charged.of_threads

    def ticks(self, scope: TimeScope = WHOLE) -> Ints:
        """Return the wall ticks of every group in a scope (int64)."""
        return total_per_group(self.segments, len(self.groups), *scope.span, warm_up=scope.warm_up)

    def self_ticks(self, scope: TimeScope = WHOLE) -> Ints:
        """Return the self ticks of every group in a scope (int64)."""
        count, warm_up = len(self.groups), scope.warm_up
        if scope.is_whole:  # without segments: of ten million slices, they take 500 MB
            return total_self(self.table.trace, self.group_of_key, count, warm_up=warm_up)
        return total_per_group(self._charged.of_lanes, count, *scope.span, warm_up=warm_up)

    def by_thing(self, ticks: Ints) -> list[tuple[str, int]]:
        """Sum ticks (one per group) by thing; only things with time, largest first."""
        total = np.zeros(len(self.things), np.int64)
        np.add.at(total, self.thing_of_group, ticks)
        order = np.argsort(-total, kind="stable")
        return [(self.things[i], int(total[i])) for i in order[total[order] > 0].tolist()]

    def keys_named(self, names: Collection[str]) -> tuple[int, ...]:
        """Return the keys of all things with some labels."""
        groups = (group for group in self.groups if self.things[group.thing] in names)
        return tuple(key for group in groups for key in group.keys)
