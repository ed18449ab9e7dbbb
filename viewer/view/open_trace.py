"""The window's data on each open trace: labels, costs, colors, and views of its inferences.

Everything is computed from a workspace and frozen columns. So the session computes it outside the
GUI thread for large traces, and shows the result when it is ready.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from viewer.analysis.cost.costs import Costs
from viewer.analysis.cost.event_times import ThreadTime
from viewer.analysis.delegates.delegation import Delegation
from viewer.analysis.findings.findings import FindingsAnalysis
from viewer.analysis.links.labels import series_names, slice_labels, track_name
from viewer.analysis.links.link_table import Link, LinkTable
from viewer.analysis.memory.logged_allocations import LoggedAllocations, logged_allocations
from viewer.analysis.statistics.group_keys import ARGUMENT
from viewer.analysis.statistics.grouping import Grouping
from viewer.arrays import Codes, Ints
from viewer.dataclasses import dataclass, field, replace
from viewer.model.figures import EVERY_PHASE, FigureBase, LeftOut, TimeScope, figure_base, left_out
from viewer.model.inference_views import (
    Inferences,
    Series,
    has_run_views,
    of_series,
    only_inferences,
    series_of,
    view_of,
)
from viewer.model.queries import NATIVE_DURATION, NATIVE_UNIT
from viewer.model.times import (
    NARROW_SPACE,
    ClockRate,
    counted,
    format_bounded,
    format_time,
    group_digits,
)
from viewer.model.timing import ROUNDING_TICKS, Timing, is_rounded_zero, timing_of
from viewer.model.trace import Trace
from viewer.model.trace_attributes import Counter
from viewer.model.warm_up import counted_inferences
from viewer.render.arrangement import Busy, TrackTable, busy_of_tracks, table_of
from viewer.render.color_schemes import (
    DEFAULT,
    ERROR,
    NAMES,
    SCHEMES,
    ArgumentRange,
    Classes,
    LengthRange,
    Turns,
    classes_of,
    classes_of_keys,
    lengths_of,
    lengths_together,
    operator_colors,
    range_of,
    ranges_together,
    why_not,
)
from viewer.render.color_shares import Ranked, chosen_colors, expensive_names, turns_of
from viewer.render.frame import CounterRaster
from viewer.render.palette import PLAIN, RAMP, Palette, by_name
from viewer.render.raster import RowRaster
from viewer.render.time_axis import Axis
from viewer.workspace.clocks import ClockPlace
from viewer.workspace.workspace import Workspace

if TYPE_CHECKING:
    from viewer.analysis.numbers.compared import OperatorErrors


# Up to this many slices, links, labels, views and rasters take less than 50 ms: no thread.
AT_ONCE = 20_000


@dataclass(frozen=True, slots=True, eq=False)
class Figures:
    """What computes the figures per inference of a trace, or of the view that they cover."""

    trace: Trace
    table: LinkTable
    costs: Costs
    grouping: Grouping
    delegation: Delegation


@dataclass(eq=False)  # compared by identity
class OpenTrace:
    """The window's data on one open trace, all computed once.

    trace: the displayed trace. file: the trace as read. They differ if inferences are aligned or
    averaged. palettes: the palette index of every slice, for each scheme used so far. classes: what
    these colors mean. drawing: the raster of the timeline, and the palette that it was made for.
    place: of its times among those of its clock group. costs, grouping, findings, delegation:
    queries that compute on first use and keep what does not depend on the scope. facts: what
    depends only on the slices. inferences: how they are displayed. errors: of its operators, if
    their values are compared; set later. turns: the colors of the most expensive names of all open
    traces.
    """

    file: Trace
    trace: Trace
    table: LinkTable
    axis: Axis
    place: ClockPlace
    rate: ClockRate
    labels: Codes
    label_strings: tuple[str, ...]
    costs: Costs
    grouping: Grouping
    findings: FindingsAnalysis
    delegation: Delegation
    facts: TickFacts
    palettes: dict[str, Palette] = field(default_factory=dict)
    classes: dict[str, Classes] = field(default_factory=dict)
    drawing: tuple[Palette, RowRaster] | None = None
    inferences: Inferences = Inferences.AS_RUN
    errors: OperatorErrors | None = None
    turns: Turns = field(default_factory=dict)
    _operators: dict[str, Palette] = field(default_factory=dict)
    _views: dict[tuple[bool, str], tuple[Trace, str]] = field(default_factory=dict, init=False)
    _figures: dict[Trace, Figures] = field(default_factory=dict, init=False)

    @cached_property
    def whole_span_ns(self) -> tuple[int, int]:
        """Start and end of the displayed trace on the axis of its clock group."""
        return self.axis.to_ns(self.trace.start), self.axis.to_ns(self.trace.end)

    @property
    def counters(self) -> tuple[CounterRaster, ...]:
        """The counters of its NPU units and of its planned memory."""
        return self.facts.counters

    @property
    def tracks(self) -> TrackTable:
        """Its tracks and rows, for stacking."""
        return self.facts.tracks

    @property
    def cut(self) -> int:
        """How many inferences this view of them has no room for."""
        if self.inferences is Inferences.ALIGNED:
            every = sum(1 for _ in self.file.inferences())
        elif self.inferences is Inferences.MEAN:
            every = len(counted_inferences(self.file, warm_up=False))
        else:
            return 0
        return max(every - sum(run.count for run in self.trace.inferences()), 0)

    @property
    def lengths(self) -> LengthRange | None:
        """The shortest and longest slice in ticks."""
        return self.facts.lengths

    @property
    def barred(self) -> Mapping[str, str]:
        """Scheme -> why it does not apply, for the schemes that do not."""
        if self.errors is None:
            return self.facts.barred
        return {scheme: why for scheme, why in self.facts.barred.items() if scheme != ERROR}

    def why_not_by(self, scheme: str) -> str:
        """Return why a scheme does not apply, "" if it does."""
        is_listed = not scheme.startswith(ARGUMENT)
        return self.barred.get(scheme, "") if is_listed else why_not(scheme, self.table)

    def operator_colors(self, scheme: str) -> Palette:
        """Return the palette index of every operator of its program in a scheme, for swatches."""
        if scheme == ERROR and self.errors is not None:
            return self._error_colors(self.errors)
        if scheme not in self._operators:
            real = DEFAULT if self.why_not_by(scheme) else scheme
            self._operators[scheme] = operator_colors(real, self.table, self.turns)
        return self._operators[scheme]

    def _error_colors(self, errors: OperatorErrors) -> Palette:
        from viewer.analysis.numbers.compared import NOT_COMPARED

        key = f"{ERROR} {errors.version}"
        if key not in self._operators:
            program = self.table.program
            steps = errors.steps(0 if program is None else len(program.operators))
            colors = np.where(steps == NOT_COMPARED, PLAIN, RAMP + steps).astype(np.uint8)
            self._operators[key] = colors
        return self._operators[key]

    def placed(self, axis: Axis, place: ClockPlace, rate: ClockRate, table: LinkTable) -> OpenTrace:
        """Return a copy at another place or rate, of its clock or of those of delegates.

        Itself if nothing differs. table: the same links with these rates. Labels, costs, colors and
        facts are in ticks.
        """
        rates = table.clock_rates
        now = self.axis, self.place, self.rate, self.table.clock_rates
        if now == (axis, place, rate, rates):
            return self
        link_table, findings, delegation = self.table, self.findings, self.delegation
        if link_table.clock_rates != rates:
            link_table = replace(link_table, clock_rates=rates)
            findings, delegation = FindingsAnalysis(link_table, self.costs), Delegation(link_table)
        grouping = self.grouping
        if link_table is not self.table or axis.ns_per_tick != self.axis.ns_per_tick:
            grouping = Grouping(link_table, axis.ns_per_tick)
        return replace(
            self,
            axis=axis,
            place=place,
            rate=rate,
            table=link_table,
            grouping=grouping,
            findings=findings,
            delegation=delegation,
        )

    def base_of(self, scope: TimeScope) -> FigureBase:
        """Return what figures per inference in a scope are: their mean, a sum, or neither."""
        trace, phase = self._view_of(scope)
        return replace(figure_base(trace, scope, self.axis.ns_per_tick), phase=phase)

    def phases_of(self, scope: TimeScope) -> tuple[str, ...]:
        """Return the methods and phases that figures per inference can be of, the longest first.

        () of one, or if it is open which inferences ran which.
        """
        totals: dict[Series, int] = {}
        for run in counted_inferences(self.trace, warm_up=scope.warm_up):
            if run.part < 0:
                return ()
            series = series_of(self.trace, run)
            totals[series] = totals.get(series, 0) + run.end - run.start
        names = series_names(self.table, totals)
        order = sorted(totals, key=lambda series: -totals[series])
        return tuple(names[series] for series in order) if len(order) > 1 else ()

    def _view_of(self, scope: TimeScope) -> tuple[Trace, str]:
        """Return the view that figures per inference in a scope cover, and its phase."""
        key = scope.warm_up, scope.phase
        if not scope.is_whole:
            return self.trace, ""
        if key not in self._views:
            self._views[key] = self._made_view(scope)
        return self._views[key]

    def _made_view(self, scope: TimeScope) -> tuple[Trace, str]:
        if not figure_base(self.trace, scope, self.axis.ns_per_tick).is_of_several:
            return self.trace, ""
        phases = self.phases_of(scope)
        if not phases or scope.phase == EVERY_PHASE:
            return only_inferences(self.trace), ""
        phase = scope.phase if scope.phase in phases else phases[0]
        runs = counted_inferences(self.trace, warm_up=scope.warm_up)
        every = dict.fromkeys(series_of(self.trace, run) for run in runs)
        names = series_names(self.table, every)
        series = next(series for series in every if names[series] == phase)
        return only_inferences(of_series(self.trace, series)), phase

    def figures_for(self, scope: TimeScope) -> Figures:
        """Return what computes figures per inference: of several, of nothing but them."""
        trace, _ = self._view_of(scope)
        if trace is self.trace:
            return Figures(self.trace, self.table, self.costs, self.grouping, self.delegation)
        if trace not in self._figures:
            table = replace(self.table, trace=trace)
            grouping = Grouping(table, self.axis.ns_per_tick)
            self._figures[trace] = Figures(trace, table, Costs(table), grouping, Delegation(table))
        return self._figures[trace]

    def left_out_of(self, scope: TimeScope) -> LeftOut:
        """Return what figures per inference leave out."""
        return left_out(self.figures_for(scope).trace, scope)

    def grouping_for(self, scope: TimeScope) -> Grouping:
        """Return the groups of figures per inference, without the warm-up if the scope says so."""
        grouping = self.figures_for(scope).grouping
        return grouping.without_warm_up if self.left_out_of(scope).warm_up else grouping

    def label(self, i: int) -> str:
        """Return the label of slice i on screen."""
        return self.label_strings[int(self.labels[i])]

    def link(self, i: int) -> Link:
        """Return the link of slice i."""
        return self.table.links[int(self.trace.slices.key[i])]

    def slices_of(self, operators: tuple[int, ...]) -> Ints:
        """Return all slices of one operator (alone or shared), or of exactly a set of several."""
        hit = self.table.keys_of(operators, exact=len(operators) != 1)
        return np.flatnonzero(hit[self.trace.slices.key])

    def span_ns(self, i: int) -> tuple[int, int]:
        """Return start and end of slice i on the axis of its clock group."""
        slices = self.trace.slices
        return self.axis.to_ns(int(slices.start[i])), self.axis.to_ns(int(slices.end[i]))

    def native(self, i: int, column: str = NATIVE_DURATION) -> tuple[str, str] | None:
        """Return the value that a foreign clock measured for slice i, as number and unit.

        None if the clock of the file timed it. Otherwise its extent is only for drawing.
        """
        columns = self.trace.slices.columns
        value = columns[column].value(i) if column in columns else None
        if value is None or isinstance(value, str):
            return None
        unit = columns[NATIVE_UNIT].value(i) if NATIVE_UNIT in columns else None
        number = group_digits(value) if isinstance(value, int) else f"{value:g}"
        return number, str(unit or "ticks")

    def length_text(self, i: int) -> str:
        """Return the duration of slice i: "1.252 µs", or "5 000 cycles" on a foreign clock.

        "at least 1.252 µs" if it has no end, and "12 samples" in a profile without times.
        """
        native = self.native(i)
        if native is not None:
            return NARROW_SPACE.join(native)
        start, end = self.span_ns(i)
        if self.rate.weight:
            slices = self.trace.slices
            return counted(int(slices.end[i]) - int(slices.start[i]), self.rate.weight)
        if timing_of(self.trace.slices, i) & Timing.UNFINISHED:
            return f"at least {format_time(end - start)}"
        is_cut = is_rounded_zero(self.trace.slices, i)
        cut = float(ROUNDING_TICKS * self.axis.ns_per_tick)
        return format_bounded(end - start, int(is_cut), cut)


# By the file's trace and the display mode of its inferences.
Views = Mapping[tuple[Trace, Inferences], OpenTrace]
Work = Callable[[OpenTrace], object]


def views_of(
    space: Workspace,
    wanted: Collection[Inferences],
    known_views: Views,
    prepare: Sequence[Work] = (),
) -> dict[tuple[Trace, Inferences], OpenTrace]:
    """Return the wanted views of every trace of a workspace, and all known ones still valid.

    prepare: functions to run on each newly created view, while nobody is waiting for it.
    """
    views: dict[tuple[Trace, Inferences], OpenTrace] = {}
    new_views: list[tuple[Trace, Inferences]] = []
    for trace in space.traces:
        table, rate = space.links(trace), space.clocks.rate(trace)
        place = space.clocks.place(trace)
        for view in Inferences:
            old = known_views.get((trace, view))
            if old is None and view not in wanted:
                continue
            as_run = view is Inferences.AS_RUN or not has_run_views(trace)
            axis = Axis(rate.ns_per_tick, space.clocks.offset_ns(trace) if as_run else 0)
            if old is not None and old.table.links is table.links:
                views[trace, view] = old.placed(axis, place, rate, table)
            elif view in wanted:
                opened = views[trace, view] = _opened(trace, table, (axis, place, rate), view)
                if old is not None and old.trace is opened.trace:
                    opened.drawing = old.drawing
                new_views.append((trace, view))
    _take_turns(views, new_views)
    for key in new_views:
        for work in prepare:
            work(views[key])
    return views


def _take_turns(
    views: dict[tuple[Trace, Inferences], OpenTrace], new_views: list[tuple[Trace, Inferences]]
) -> None:
    """Give the most expensive names of all traces colors that differ.

    Views that have other colors so far are made again, and added to those.
    """
    ranked = {}
    for (trace, _), opened in views.items():  # as run first
        if trace not in ranked:
            ranked[trace] = opened.facts.expensive(opened.costs.threads)
    turns = turns_of(list(ranked.values()))
    for key, opened in views.items():
        if opened.turns != turns:
            if key not in new_views:
                new_views.append(key)
            views[key] = replace(
                opened, turns=turns, palettes={}, classes={}, drawing=None, _operators={}
            )


def _opened(
    trace: Trace,
    table: LinkTable,
    clock: tuple[Axis, ClockPlace, ClockRate],
    inferences: Inferences,
) -> OpenTrace:
    """Return one trace as displayed; the links of its keys are the same for every view of it."""
    axis, place, rate = clock
    view = view_of(trace, inferences)
    if view is not trace:
        table = replace(table, trace=view)
    labels, strings = slice_labels(table)
    costs = Costs(table)
    return OpenTrace(
        trace,
        view,
        table,
        axis,
        place,
        rate,
        labels,
        strings,
        costs,
        Grouping(table, axis.ns_per_tick),
        FindingsAnalysis(table, costs),
        Delegation(table),
        TickFacts(table),
        inferences=inferences,
    )


class TickFacts:
    """Facts in ticks, computed on first use.

    All views of one trace at other rates and offsets share them. table: the links of the displayed
    trace.
    """

    def __init__(self, table: LinkTable) -> None:
        self._trace, self._table = table.trace, table
        self._busy: Busy | None = None
        self._expensive: Mapping[str, Ranked] | None = None
        self._ranges: dict[str, ArgumentRange] = {}

    @cached_property
    def counters(self) -> tuple[CounterRaster, ...]:
        """The counters of its NPU units and planned memory: 0.2 s for a million slices."""
        counters = self._trace.counters
        planned: tuple[Counter, ...] = ()
        if any(track.unit for track in self._trace.tracks):
            from viewer.analysis.torq.unit_counters import unit_counters

            counters = unit_counters(self._trace)
        if any(self._table.ran):
            from viewer.analysis.memory.plan import planned_counters

            planned = planned_counters(self._trace, self._table.ran)
        counters = (*counters, *planned)
        return tuple(CounterRaster.of(counter) for counter in counters)

    @cached_property
    def tracks(self) -> TrackTable:
        """Its tracks and rows, for stacking."""
        tracks = range(len(self._trace.tracks))
        return table_of(self._trace, [track_name(self._table, t) for t in tracks])

    @cached_property
    def allocations(self) -> LoggedAllocations:
        """The logged allocations, by the slice that they follow."""
        return logged_allocations(self._trace)

    def expensive(self, threads: ThreadTime | None) -> Mapping[str, Ranked]:
        """The most expensive names, as `expensive_names` returns them."""
        if self._expensive is None:
            self._expensive = expensive_names(self._table, threads)
        return self._expensive

    @property
    def busy(self) -> Busy:
        """The ticks for which each track has a slice: a second for ten million slices."""
        if self._busy is None:
            self._busy = busy_of_tracks(self._trace)
        return self._busy

    @property
    def busy_is_known(self) -> bool:
        """Whether `busy` is already computed."""
        return self._busy is not None

    @cached_property
    def delegate_clocks(self) -> tuple[str, ...]:
        """The names of its delegates' clocks whose rate can be stated."""
        from viewer.analysis.links.delegate_clocks import clock_names

        return clock_names(self._table)

    @cached_property
    def lengths(self) -> LengthRange | None:
        """The shortest and longest slice in ticks, from `lengths_of`; one pass over all slices."""
        return lengths_of(self._trace)

    def argument_range(self, scheme: str) -> ArgumentRange:
        """What the argument of a scheme has; one pass over all slices, then cached."""
        if scheme not in self._ranges:
            self._ranges[scheme] = range_of(self._trace, scheme.removeprefix(ARGUMENT))
        return self._ranges[scheme]

    @cached_property
    def barred(self) -> dict[str, str]:
        """Scheme -> why it does not apply, for the schemes that do not."""
        reasons = {scheme.id: why_not(scheme.id, self._table) for scheme in SCHEMES}
        return {scheme: why for scheme, why in reasons.items() if why}


def slice_colors(
    open_trace: OpenTrace,
    i: int,
    operators: Sequence[int],
    scheme: str,
    lengths: LengthRange | None = None,
) -> tuple[int, ...]:
    """The palette indices of the swatch of slice i: its own color on the timeline.

    A slice shared by several operators is gray in the schemes of operators; its swatch has the
    colors of these operators.
    """
    classes = color_classes(open_trace, scheme, lengths)
    if classes.by_operator and len(operators) > 1:
        colors = open_trace.operator_colors(scheme)
        return tuple(int(colors[k]) for k in operators)
    return (int(classes.palette(open_trace.trace, np.array([i]))[0]),)


def scheme_key(open_trace: OpenTrace, scheme: str, lengths: LengthRange | None = None) -> str:
    """What a trace is actually colored by: the scheme or names.

    For durations with the ramp, for errors with their version, for arguments with their values.
    """
    actual = NAMES if open_trace.why_not_by(scheme) else scheme
    if actual.startswith(ARGUMENT):
        values = (lengths or ramp_of([open_trace], scheme)).values
        return f"{actual} {hash(values)}"
    if actual == ERROR and open_trace.errors is not None:
        return f"{actual} {open_trace.errors.version}"
    if actual != "duration":
        return actual
    ramp = lengths or ramp_of([open_trace])
    return f"{actual} {ramp.least} {ramp.most} {open_trace.axis.ns_per_tick}"


def ramp_of(traces: Sequence[OpenTrace], scheme: str = "") -> LengthRange:
    """The range of durations in ns that the ramp covers, and what the argument of a scheme has."""
    together = lengths_together(
        None
        if open_trace.lengths is None
        else open_trace.lengths.times(open_trace.axis.ns_per_tick)
        for open_trace in traces
    )
    if not scheme.startswith(ARGUMENT):
        return together
    return replace(together, values=ranges_together(t.facts.argument_range(scheme) for t in traces))


def palette_of(open_trace: OpenTrace, scheme: str, lengths: LengthRange | None = None) -> Palette:
    """The palette index of every slice under a scheme; cached.

    `lengths` is the range of the duration ramp over everything open, by default over this trace.
    """
    key = scheme_key(open_trace, scheme, lengths)
    if key not in open_trace.palettes:
        open_trace.palettes[key] = color_classes(open_trace, scheme, lengths).palette(
            open_trace.trace
        )
        _forget_others(open_trace, key)
    return open_trace.palettes[key]


def color_classes(
    open_trace: OpenTrace, scheme: str, lengths: LengthRange | None = None
) -> Classes:
    """The classes of a trace's color scheme; cached."""
    key = scheme_key(open_trace, scheme, lengths)
    if key not in open_trace.classes and key.startswith(ERROR) and open_trace.errors is not None:
        from viewer.analysis.numbers.compared import STEP_TITLES

        # The steps of a scale of errors, and what was not compared.
        steps = [(title, RAMP + i) for i, title in enumerate(STEP_TITLES)]
        of_key = [open_trace.errors.step(link.operators) for link in open_trace.table.links]
        classes = [("Not compared", PLAIN) if step < 0 else steps[step] for step in of_key]
        open_trace.classes[key] = classes_of_keys(open_trace.table, classes, first=steps)
    elif key not in open_trace.classes:
        ranges = lengths or ramp_of([open_trace], scheme)
        by_argument = key.startswith(ARGUMENT)
        actual = scheme if by_argument else key.partition(" ")[0]
        turns = _turns_of(ranges.values) if by_argument else open_trace.turns.get(key, {})
        open_trace.classes[key] = classes_of(
            actual, open_trace.table, ranges, open_trace.axis.ns_per_tick
        ).taking(turns)
    return open_trace.classes[key]


def _turns_of(values: ArgumentRange) -> dict[str, int]:
    """The colors of frequent values that do not keep theirs."""
    texts = [text for text, _ in values.texts]
    return chosen_colors([tuple(zip(texts, by_name(texts).tolist(), strict=True))])


def _forget_others(open_trace: OpenTrace, key: str) -> None:
    """Drop cached ramps over other ranges or clock rates, arguments, and other errors."""
    is_argument = key.startswith(ARGUMENT)
    scheme = ARGUMENT if is_argument else key.partition(" ")[0]
    if is_argument or scheme in ("duration", ERROR):
        for cache in (open_trace.palettes, open_trace.classes):
            for other in [k for k in cache if k.startswith(scheme) and k != key]:
                del cache[other]
