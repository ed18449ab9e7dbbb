"""Zooming and stepping: to everything, the selection, the next clock, file, inference or slice.

Each of these is one undo step of the session, and a place in its back/forward history, except that
the next clock is only activated. This module does not use Qt.
"""

from __future__ import annotations

from fractions import Fraction
from typing import TYPE_CHECKING

import numpy as np

from viewer.arrays import Ints
from viewer.dataclasses import replace
from viewer.gui.session.selection import highlighted_span_ns, longest_slice, selected_span_ns
from viewer.gui.session.session import Session
from viewer.model.figures import WHOLE, TimeScope
from viewer.model.inference_views import Inferences, has_run_views, times_of_methods
from viewer.model.trace import Run, RunKind
from viewer.model.trace_attributes import INFERENCE, WorkUnit
from viewer.render.time_axis import Axis
from viewer.view import visible_ranges as visible_range
from viewer.view.alignment import following_run
from viewer.view.open_trace import OpenTrace
from viewer.view.selection import per_inference
from viewer.view.state import Area, SliceRef, SliceSet
from viewer.view.visible_ranges import (
    limited,
    limited_range,
    run_in_view,
    view_of_file,
    with_margin,
    zoomed,
)

if TYPE_CHECKING:
    from viewer.analysis.findings.finding import FindingPlace, TimeView


TraceScope = tuple[OpenTrace | None, TimeScope]


def pick_run(session: Session, run: tuple[int, int] | None) -> None:
    """Compute costs for one inference and show it as it ran; None: for all, and show everything."""
    with session.one_step():
        session.show_inferences(Inferences.AS_RUN)
        if run is not None:
            session.activate(session.groups.of(run[0]).key)
        span = 0, session.group.span_ns
        if run is not None:
            span = run_span_ns(session, run[0], session.traces[run[0]].trace.runs[run[1]])
        seen = visible_range.with_margin(*session.state.on_screen(*span))
        t0, t1 = limited(session.state, session.groups, seen)
        file = session.state.file if run is None else run[0]
        state = replace(session.state, run=run, file=file, t0=t0, t1=t1)
        if run is not None:
            state = following_run(session.state, state, session.groups, session.traces, run)
        session.change(state)


def include_warm_up(session: Session, *, included: bool) -> None:
    """Let figures over all inferences include those that warm up, or leave them out."""
    session.change(replace(session.state, warm_up=included))


def choose_phase(session: Session, phase: str) -> None:
    """Let figures over all inferences be of a method or phase; `EVERY_PHASE`: of all of them."""
    with session.one_step():
        pick_run(session, None)
        session.change(replace(session.state, phase=phase))


def run_span_ns(session: Session, trace: int, run: Run) -> tuple[int, int]:
    """The start and end of an inference, in ns of the axis."""
    return visible_range.run_span_ns(session.traces[trace], run)


def run_trace(session: Session) -> int | None:
    """The trace whose inferences are listed and stepped through; None without traces.

    It is the current trace, or else the first one with inferences, of its clock group if possible,
    so that a profile without inferences does not hide those of other profiles.
    """
    current = session.current_trace
    near = () if current is None else (current, *session.groups.of(current).traces)
    order = (*near, *range(len(session.traces)))
    return next((i for i in order if any(session.traces[i].file.inferences())), current)


def listed_unit(session: Session) -> WorkUnit:
    """What the profile whose inferences are listed calls them."""
    number = run_trace(session)
    return INFERENCE if number is None else session.traces[number].file.unit


def run_trace_of(session: Session, clock: str) -> int | None:
    """The trace whose inferences the overview of a clock group shows; None without traces."""
    chosen, group = run_trace(session), session.groups.by_key(clock)
    if chosen in group.traces:
        return chosen
    with_runs = (i for i in group.traces if any(session.traces[i].file.inferences()))
    return next(with_runs, group.traces[0] if group.traces else None)


def current_scope(session: Session, *, ranges: bool, by_inference: bool = False) -> TraceScope:
    """Return the current trace, with inferences as they ran, and the scope of its figures.

    ranges: whether the scope may be a selected range, not only an inference. by_inference: whether
    the figures are per inference, so that the warm-up is left out unless it is included, and the
    typical inference is the scope if the view shows it.
    """
    trace = session.current_trace
    if trace is None:
        return None, WHOLE
    open_trace, scope = session.as_run(trace), session.scope(trace, ranges=ranges)
    if not by_inference:
        return open_trace, scope
    if scope.is_whole and session.state.inferences is Inferences.TYPICAL:
        of_methods = times_of_methods(open_trace.file) if has_run_views(open_trace.file) else {}
        if len(of_methods) == 1:  # no one inference stands for several methods
            (method_time,) = of_methods.values()
            return open_trace, TimeScope(run=method_time.typical, typical_of=method_time.runs)
    return open_trace, per_inference(scope, session.state)


_SLIVER = 8  # an inference narrower than the view by this factor is zoomed to


def zoom(
    session: Session,
    factor: float,
    at_ns: int | Fraction,
    share: Fraction | None = None,
    *,
    now: float | None = None,
) -> None:
    """Scale the visible span by `factor` (below 1 zooms in) around the fixed time `at_ns`.

    `share` is the position of that time in the view, 0 to 1; by default its current position.
    Passing it with an exact time prevents a burst of steps from drifting by 1 ns of rounding each.
    """
    state = session.state
    session.set_range(*zoomed(state.t0, state.t1, factor, at_ns, share), now=now)


def pan(session: Session, by_ns: int, *, now: float | None = None) -> None:
    """Move the visible range by `by_ns`."""
    session.set_range(session.state.t0 + by_ns, session.state.t1 + by_ns, now=now)


def show_times(session: Session, first: int, last: int) -> None:
    """Show a span of times of the active clock group, with the gaps in it."""
    session.set_range(*session.state.on_screen(first, last))


def fit_all(session: Session) -> None:
    """Show the entire axis of the active clock group."""
    session.set_range(*with_margin(*session.state.on_screen(0, session.group.span_ns)))


def fit_file(session: Session, trace: int | None = None) -> None:
    """Show all of `trace`; None cycles through the traces, starting with the first."""
    ranges = []
    for number, open_trace in enumerate(session.traces):
        key = session.groups.of(number).key
        seen = with_margin(*session.state.gaps_of(key).span(*open_trace.whole_span_ns))
        ranges.append((key, *limited_range(session.state, session.groups, key, seen)))
    distinct = list(dict.fromkeys(ranges))
    now = (session.state.clock, session.state.t0, session.state.t1)
    position = distinct.index(now) + 1 if now in distinct else 0
    clock, t0, t1 = distinct[position % len(distinct)] if trace is None else ranges[trace]
    with session.one_step():
        session.activate(clock)
        session.set_range(t0, t1)
    session.file_fitted.emit(ranges.index((clock, t0, t1)) if trace is None else trace)


def show_file(session: Session, number: int) -> None:
    """Switch to a file: show what it alone would open with, and nothing selected."""
    with session.one_step():
        has_views = has_run_views(session.traces[number].file)
        preferred = session.preferred().inferences
        session.show_inferences(preferred if has_views else Inferences.AS_RUN)
        session.activate(session.groups.of(number).key)
        before, view = session.state, view_of_file(session.traces[number])
        seen = before.on_screen(view.t0, view.t1)
        t0, t1 = limited(before, session.groups, seen)
        run = None if view.run is None else (number, view.run)
        state = replace(
            before,
            t0=t0,
            t1=t1,
            file=number,
            run=run,
            slice=None,
            others=(),
            operators=None,
            area=None,
            lit=None,
        )
        if run is not None:
            state = following_run(before, state, session.groups, session.traces, run)
        session.change(state)
    session.first_view_note, session.noted_file = view.note, number
    session.file_fitted.emit(number)
    session.file_shown.emit(number)


def far_place(session: Session) -> TimeView | None:
    """Return where the rest of the current trace is, if some of its slices are far from it."""
    chosen = session.current_trace
    far_times = None if chosen is None else session.traces[chosen].findings.far_times
    return far_times.rest if far_times is not None else None


def fit_rest(session: Session) -> None:
    """Show the current trace without the slices that are far from all others."""
    chosen, place = session.current_trace, far_place(session)
    if chosen is not None and place is not None:
        show_place(session, session.traces[chosen], place, np.empty(0, np.int64))


def fit_selection(session: Session) -> None:
    """Show the selection; if it is already shown, show the entire axis.

    For operators highlighted within an area, show their slices in it.
    """
    state = session.state
    span = None if state.slice is not None else highlighted_span_ns(session)
    span = span or selected_span_ns(session)
    chosen = session.current_trace
    if span is not None and chosen is not None:
        session.activate(session.groups.of(chosen).key)
    state = session.state
    seen = None if span is None else with_margin(*state.on_screen(*span))
    target = limited(state, session.groups, seen) if seen else None
    if target is None or target == (state.t0, state.t1):
        fit_all(session)
    else:
        session.set_range(*target)


def step_clock(session: Session, by: int) -> None:
    """Activate the next (1) or previous (-1) clock group, from top to bottom and around."""
    keys = session.state.strips.ordered(session.groups.keys)
    session.activate(keys[(keys.index(session.group.key) + by) % len(keys)])


def fit_span(session: Session, first: int, last: int) -> None:
    """Show a time range in ns with a margin; a moment comes to the center at the current zoom."""
    first, last = session.state.on_screen(first, last)
    if first == last:
        span = session.state.t1 - session.state.t0
        session.set_range(first - span // 2, first - span // 2 + span)
    else:
        session.set_range(*with_margin(first, last))


def step_slice(session: Session, by: int) -> None:
    """Select the next (1) or previous (-1) slice on the selected slice's row."""
    ref = session.state.slice
    if ref is None:
        return
    slices = session.traces[ref.trace].trace.slices
    row, row_ptr = slices.drawn_row_of(ref.index), slices.rows_drawn.row_ptr
    position = slices.position_drawn(ref.index) + by
    if int(row_ptr[row]) <= position < int(row_ptr[row + 1]):
        index = int(slices.drawn_between(position, position + 1)[0])
        session.select_slice(SliceRef(ref.trace, index), reveal=True)


def step_run(session: Session, by: int) -> None:
    """Move to the next (1) or previous (-1) inference of the current trace.

    Keeps the zoom and, if the view shows a part of an inference, the place in it. Zooms to an
    inference that would be cut, or a sliver in the view.
    """
    with session.one_step():
        session.show_inferences(Inferences.AS_RUN)
        if (trace := run_trace(session)) is not None:
            _step_run(session, trace, by)


def _step_run(session: Session, trace: int, by: int) -> None:
    session.activate(session.groups.of(trace).key)
    state, open_trace = session.state, session.traces[trace]
    runs = open_trace.trace.runs
    numbers = [i for i, run in enumerate(runs) if run.kind is RunKind.INFERENCE]
    if not numbers:
        return
    picked = state.run[1] if state.run and state.run[0] == trace else None
    seen = run_in_view(open_trace, *state.times)
    now = seen if picked is None else picked
    position = numbers.index(now) + by if now in numbers else (0 if by > 0 else len(numbers) - 1)
    chosen = numbers[min(max(position, 0), len(numbers) - 1)]
    if now is None:
        pick_run(session, (trace, chosen))
        return
    start, end = state.on_screen(*run_span_ns(session, trace, runs[now]))
    first, last = state.on_screen(*run_span_ns(session, trace, runs[chosen]))
    t0, t1 = limited(
        session.state, session.groups, (state.t0 + first - start, state.t1 + first - start)
    )
    span, length = t1 - t0, last - first
    if span < end - start and state.t0 < end and state.t1 > start:
        fits = span <= length and first <= (t0 + t1) // 2 < last  # the same part, to compare it
    else:
        fits = t0 <= first and last <= t1 and length * _SLIVER >= span
    if not fits:
        t0, t1 = limited(session.state, session.groups, with_margin(first, last))
    # The selected slice belongs to the previous inference, so only the new inference stays
    # selected.
    run = trace, chosen
    moved = replace(state, slice=None, others=(), run=run, t0=t0, t1=t1)
    session.change(following_run(state, moved, session.groups, session.traces, run))


def show_place(session: Session, open_trace: OpenTrace, place: FindingPlace, slices: Ints) -> None:
    """Select operators, slices or a range, show times, or pick an inference, as one undo step.

    slices: those that the finding is about, ascending. Does nothing for a panel, or if the trace
    was closed.
    """
    from viewer.analysis.findings.finding import PanelRef

    if isinstance(place, PanelRef):
        return
    with session.one_step():
        session.show_inferences(Inferences.AS_RUN)
        if (number := session.number_of(open_trace)) is not None:
            _show_in_trace(session, open_trace, number, place, slices)


def _show_in_trace(
    session: Session, open_trace: OpenTrace, number: int, place: FindingPlace, slices: Ints
) -> None:
    from viewer.analysis.findings.finding import OperatorSets, RunRef, TimeSpan, TimeView

    if isinstance(place, RunRef):
        pick_run(session, (number, place.run))
    elif isinstance(place, TimeView):
        session.activate(session.groups.of(number).key)
        fit_span(
            session, _first_ns(open_trace.axis, place.start), _first_ns(open_trace.axis, place.end)
        )
    elif isinstance(place, TimeSpan):
        t0, t1 = _first_ns(open_trace.axis, place.start), _first_ns(open_trace.axis, place.end)
        session.activate(session.groups.of(number).key)
        show_times(session, t0 - (t1 - t0), t1 + (t1 - t0))  # with some context on both sides
        session.select_area(Area(t0, t1, frozenset((number, t) for t in place.tracks)))
    elif isinstance(place, OperatorSets) and len(place.sets) == 1:
        session.select_operators(number, place.sets[0])
    elif len(slices):
        first = SliceRef(number, longest_slice(open_trace, slices))
        session.select_slices(SliceSet({number: slices}), first, reveal=True)


def _first_ns(axis: Axis, tick: int) -> int:
    """Return the first whole ns at or after a tick, so that no time past the tick is included."""
    ns = axis.to_ns(tick)
    return ns if axis.to_ticks_floor(ns) >= tick else ns + 1
