"""Which inference figures are computed for, and where inferences are on the axis."""

from __future__ import annotations

from dataclasses import replace

from viewer.gui.session.session import Session
from viewer.model.inferences.inference_views import Inferences, has_run_views
from viewer.model.inferences.logged_methods import times_of_methods
from viewer.model.scope import WHOLE, TimeScope
from viewer.model.trace import Run
from viewer.model.work_unit import INFERENCE, WorkUnit
from viewer.view import visible_range
from viewer.view.alignment import following_run
from viewer.view.cost_scope import per_inference
from viewer.view.group_ranges import limited
from viewer.view.open_trace import OpenTrace

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
