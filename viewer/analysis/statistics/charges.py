"""What each figure of statistics adds up, piece by piece: the table `charges` of SQL.

A piece is a part of the time of a slice, and of one figure:

    total      an outermost slice of a group
    self       time of a group, of a lane
    wall       time of a group, of a thread; also the time in no group
    duration   a slice that counts, with its whole duration

So the sum of the pieces of a figure and a group is that of its row in `Grouping.by` or `by_phase`.
Of a range, it is the sum of their parts in it, and of durations that start in it.
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction

import numpy as np

from viewer.analysis.links.labels import run_label, scope_name, series_names, track_name
from viewer.analysis.links.link_table import LinkTable
from viewer.analysis.statistics.grouping import Grouping
from viewer.analysis.statistics.pivot import inference_of_slices
from viewer.arrays import Codes, Ints
from viewer.dataclasses import dataclass, replace
from viewer.model import intervals
from viewer.model.figures import TimeScope
from viewer.model.inference_views import of_series, only_inferences, series_of, thread_of_rows
from viewer.model.queries import counted_slices
from viewer.model.warm_up import counted_inferences

FIGURES = ("total", "self", "wall", "duration")
_TOTAL, _SELF, _WALL, _DURATION = range(4)
# What pieces are counted: of the whole trace, of any range, of inferences after the warm-up.
TRACE, RANGE, INFERENCES = "trace", "range", "inferences"
PHASE = "phase"
# Added to a key whose rows are no slices: as if its groups were those of any other key.
OF_SLICES = " of slices"


@dataclass(frozen=True, slots=True, eq=False)
class Charges:
    """Pieces as parallel int64 arrays; labels: of the groups.

    figure: an index into `FIGURES`. group: -1 for time in none. slice_index: the slice that it is
    charged to, -1 if it is none. inference: which counted inference the slice starts in, -1 for
    none. start, end: in ticks. native_dur: the duration on a clock of its own, in `units[unit]`;
    without one, unit is -1. clocks: the clock of each group, if any is not that of the file.
    """

    labels: Sequence[str]
    figure: Ints
    group: Ints
    slice_index: Ints
    inference: Ints
    start: Ints
    end: Ints
    native_dur: Ints
    unit: Ints
    units: tuple[str, ...] = ()
    clocks: Sequence[str] = ()


@dataclass(frozen=True, slots=True)
class ChargeScope:
    """What pieces of a trace are counted: those of a view of it, with or without the warm-up."""

    table: LinkTable
    warm_up: bool = True
    is_range: bool = False


def name_of_inferences(phase: str = "", *, warm_up: bool = False) -> str:
    """Return the name of a scope of inferences, of all phases or of one."""
    every = f"all {INFERENCES}" if warm_up else INFERENCES
    return f"{every} of {phase}" if phase else every


def charge_scopes(table: LinkTable) -> dict[str, ChargeScope]:
    """Return what the pieces of a trace can be counted of, by name."""
    trace = table.trace
    scopes = {TRACE: ChargeScope(table), RANGE: ChargeScope(table, is_range=True)}
    views = {"": trace}
    runs = [run for run in counted_inferences(trace) if run.part >= 0]
    names = series_names(table, dict.fromkeys(series_of(trace, run) for run in runs))
    views |= {name: of_series(trace, series) for series, name in names.items() if name}
    for phase, view in views.items():
        of_view = replace(table, trace=only_inferences(view))
        for warm_up in (False, True):
            scopes[name_of_inferences(phase, warm_up=warm_up)] = ChargeScope(of_view, warm_up)
    return scopes


def charges(scope: ChargeScope, key: str, ns_per_tick: Fraction) -> Charges | None:
    """Return the pieces of a key, `PHASE` among them; None if the trace has no such groups."""
    grouping = Grouping(scope.table, ns_per_tick, warm_up=scope.warm_up)
    bare = key.removesuffix(OF_SLICES)
    if grouping.missing("inference" if bare == PHASE else bare):
        return None
    if bare == key and not (key != PHASE and grouping.is_stated(key)):
        if key in ("inference", PHASE):
            return _of_inferences(grouping, scope, by_phase=key == PHASE)
        if key == "thread":
            return _of_threads(grouping, scope)
        if key == "unit":
            return _of_units(grouping, scope)
    return _of_slices(grouping, scope, bare)


class _Pieces:
    def __init__(self, grouping: Grouping, scope: ChargeScope) -> None:
        self.trace = grouping.trace
        inference, count = inference_of_slices(self.trace, warm_up=scope.warm_up)
        self._inference = np.append(np.where(inference < count, inference, -1), -1)
        self._parts: list[tuple[Ints, ...]] = []

    def add(
        self,
        figure: int,
        group: Ints | Codes,
        slice_index: Ints | Codes | None,
        start: Ints,
        end: Ints,
    ) -> None:
        """Add pieces of one figure; slice_index: None without slices."""
        where = np.full(len(start), -1) if slice_index is None else slice_index.astype(np.int64)
        self._parts.append((
            np.full(len(start), figure), group.astype(np.int64), where, self._inference[where],
            start, end,
        ))  # fmt: skip

    def add_slices(self, figure: int, group: Ints | Codes, index: Ints | Codes) -> None:
        """Add whole slices."""
        slices = self.trace.slices
        self.add(figure, group, index, slices.start[index], slices.end[index])

    def joined(self, labels: Sequence[str]) -> Charges:
        """Return them; none has a clock of its own."""
        figure, group, slice_index, inference, start, end = map(
            np.concatenate, zip(*self._parts, strict=True)
        )
        none = np.zeros(len(figure), np.int64)
        return Charges(labels, figure, group, slice_index, inference, start, end, none, none - 1)


def _time_scope(scope: ChargeScope) -> TimeScope:
    trace = scope.table.trace
    every = trace.start, trace.end
    return TimeScope(ticks=every) if scope.is_range else TimeScope(warm_up=scope.warm_up)


def _of_slices(grouping: Grouping, scope: ChargeScope, key: str) -> Charges:
    pieces = _Pieces(grouping, scope)
    first, last, _ = _time_scope(scope).span
    labels, group = grouping.groups_of_slices(key)
    occurrences = grouping.occurrences
    outer, of_outer = occurrences.outer(key, is_whole=not scope.is_range)
    pieces.add_slices(_TOTAL, of_outer, outer)
    charged, free = grouping.charged_slices(key, _time_scope(scope))
    for figure, segments in ((_SELF, charged.of_lanes), (_WALL, charged.of_threads)):
        counts = segments if scope.is_range else segments.of_whole_trace(warm_up=scope.warm_up)
        owner = counts.group
        pieces.add(figure, group[owner], owner, counts.start, counts.end)
    pieces.add(_WALL, np.full(len(free[0]), -1), None, *free)
    index, of_index = occurrences.counted(key)
    inside = occurrences.within(index, first, last)
    index, of_index = index[inside].astype(np.int64), of_index[inside]
    pieces.add_slices(_DURATION, of_index, index)
    columns, clocks = pieces.joined(labels), occurrences.clocks(key)
    if clocks.is_none:
        return columns
    before = len(columns.figure) - len(index)  # the durations are the last ones
    in_ns = np.flatnonzero(clocks.is_ns(index))
    columns.unit[before + in_ns] = 0
    if clocks.ns is not None:
        columns.native_dur[before + in_ns] = clocks.ns.values[index[in_ns]]
    if clocks.unit is not None and clocks.native is not None:
        native = np.flatnonzero(clocks.unit[index] >= 0)
        columns.unit[before + native] = clocks.unit[index[native]] + 1
        columns.native_dur[before + native] = clocks.native[index[native]]
    names = grouping.clocks_of_groups(key)
    return replace(columns, units=("ns", *clocks.units), clocks=names)


def _of_threads(grouping: Grouping, scope: ChargeScope) -> Charges:
    pieces, trace, slices = _Pieces(grouping, scope), grouping.trace, grouping.trace.slices
    counted = counted_slices(trace, warm_up=scope.warm_up)
    counts = np.ones(len(slices), np.bool_) if counted is None or scope.is_range else counted
    outer = np.flatnonzero(grouping.is_outer() & counts)
    for figure in (_TOTAL, _SELF):
        pieces.add_slices(figure, slices.tracks_of(outer), outer)
    index, track = grouping.outermost()
    inside = grouping.occurrences.within(index, *_time_scope(scope).span[:2])
    timed, of_timed = index[counts[index]], track[counts[index]]
    thread = thread_of_rows(trace)[0][slices.rows()[timed]]
    order = np.lexsort((slices.start[timed], thread))
    timed, of_timed, thread = timed[order], of_timed[order], thread[order]
    start, end = slices.start[timed], slices.end[timed]
    if len(timed):  # what an earlier slice of the thread covers is its time
        is_first = np.append(True, thread[1:] != thread[:-1])
        reach = np.append(start[:1], intervals.running_maximum(end, is_first)[:-1])
        start = np.where(is_first, start, np.maximum(start, reach))
    rest = end > start
    pieces.add(_WALL, of_timed[rest], timed[rest], start[rest], end[rest])
    pieces.add_slices(_DURATION, track[inside], index[inside])
    table = scope.table
    names = [f"{place.process} > {track_name(table, i)}" for i, place in enumerate(trace.tracks)]
    return pieces.joined(names)


def _of_inferences(grouping: Grouping, scope: ChargeScope, *, by_phase: bool) -> Charges:
    pieces, trace, table = _Pieces(grouping, scope), grouping.trace, scope.table
    runs = list(trace.inferences())
    start = np.array([run.start for run in runs], np.int64)
    end = np.array([run.end for run in runs], np.int64)
    group, labels = np.arange(len(runs)), [run_label(table, run) for run in runs]
    if by_phase:
        series = [series_of(trace, run) for run in runs]
        distinct = list(dict.fromkeys(series))
        names = series_names(table, distinct)
        group = np.array([distinct.index(each) for each in series], np.int64)
        labels = [names[each] or scope_name(table, each[1]) for each in distinct]
    counted = set(map(id, counted_inferences(trace, warm_up=scope.warm_up)))
    counts = np.array([scope.is_range or id(run) in counted for run in runs], np.bool_)
    for figure in (_TOTAL, _SELF, _DURATION):
        pieces.add(figure, group, None, start, end)
    pieces.add(_WALL, group[counts], None, start[counts], end[counts])
    return pieces.joined(labels)


def _of_units(grouping: Grouping, scope: ChargeScope) -> Charges:
    pieces, trace = _Pieces(grouping, scope), grouping.trace
    rows = grouping.overview.times()
    for number, (key, _, (start, end)) in enumerate(rows):
        # With a piece of no length, so that each unit has a row.
        start, end = np.append(start, trace.start), np.append(end, trace.start)
        for figure in (_TOTAL, *([_WALL] if key in ("busy", "idle") else [])):
            pieces.add(figure, np.full(len(start), number), None, start, end)
    return pieces.joined([label for _, label, _ in rows])
