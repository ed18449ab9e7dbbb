"""Zooming and stepping: all, the selection, the next file, inference, slice. No Qt of its own.

Every one of these is a step of undo of the session, and a place to come back to.
"""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction

from viewer.gui.session.inferences import pick_run, run_span_ns, run_trace
from viewer.gui.session.selection import highlighted_span_ns, selected_span_ns
from viewer.gui.session.session import Session
from viewer.model.inference_views import Inferences
from viewer.model.trace import RunKind
from viewer.view.state import SliceRef
from viewer.view.visible_range import file_span_ns, run_in_view, with_margin, zoomed


def zoom(
    session: Session,
    factor: float,
    at_ns: int | Fraction,
    share: Fraction | None = None,
    *,
    now: float | None = None,
) -> None:
    """Scale the visible span by `factor` (below 1 shows less) around a time that stays put.

    share: where in the view that time stays, 0 to 1; by default where it is now. Given with an
    exact time it keeps a burst of steps from drifting by the ns that each of them rounds.
    """
    state = session.state
    session.set_range(*zoomed(state.t0, state.t1, factor, at_ns, share), now=now)


def pan(session: Session, by_ns: int, *, now: float | None = None) -> None:
    """Move the visible range."""
    session.set_range(session.state.t0 + by_ns, session.state.t1 + by_ns, now=now)


def fit_all(session: Session) -> None:
    """Show the whole axis."""
    session.set_range(*with_margin(0, session.span_ns()))


def fit_file(session: Session, trace: int | None = None) -> None:
    """Show the whole of a trace; of none, the first, or the next to one that is shown so."""
    every = [session.limited(*with_margin(*file_span_ns(shown))) for shown in session.traces]
    wanted = list(dict.fromkeys(every))
    now = (session.state.t0, session.state.t1)
    at = wanted.index(now) + 1 if now in wanted else 0
    chosen = wanted[at % len(wanted)] if trace is None else every[trace]
    session.set_range(*chosen)
    session.file_fitted.emit(every.index(chosen) if trace is None else trace)


def fit_selection(session: Session) -> None:
    """Show what is selected, of operators chosen in an area their slices in it; what is shown so
    already is followed by the whole axis."""
    state = session.state
    span = None if state.slice is not None else highlighted_span_ns(session)
    span = span or selected_span_ns(session)
    wanted = session.limited(*with_margin(*span)) if span else None
    if wanted is None or wanted == (state.t0, state.t1):
        fit_all(session)
    else:
        session.set_range(*wanted)


def step_slice(session: Session, by: int) -> None:
    """Select the next or previous slice on the row of the selected one."""
    ref = session.state.slice
    if ref is None:
        return
    slices = session.traces[ref.trace].trace.slices
    row = slices.row_of(ref.index)
    index = ref.index + by
    if int(slices.row_ptr[row]) <= index < int(slices.row_ptr[row + 1]):
        session.select_slice(SliceRef(ref.trace, index), reveal=True)


def step_run(session: Session, by: int) -> None:
    """The next or previous inference of the trace of the picked one, at the same zoom."""
    with session.one_step():
        session.show_inferences(Inferences.AS_RUN)
        trace = run_trace(session)
        if trace is not None:
            _step_run(session, trace, by)


def _step_run(session: Session, trace: int, by: int) -> None:
    state, shown = session.state, session.traces[trace]
    runs = shown.trace.runs
    numbers = [i for i, run in enumerate(runs) if run.kind is RunKind.INFERENCE]
    if not numbers:
        return
    picked = state.run[1] if state.run and state.run[0] == trace else None
    seen = run_in_view(shown, state.t0, state.t1)
    now = seen if picked is None else picked
    at = numbers.index(now) + by if now in numbers else (0 if by > 0 else len(numbers) - 1)
    chosen = numbers[min(max(at, 0), len(numbers) - 1)]
    if now is None:
        pick_run(session, (trace, chosen))
        return
    first = run_span_ns(session, trace, runs[now])[0]
    shift = run_span_ns(session, trace, runs[chosen])[0] - first
    t0, t1 = session.limited(state.t0 + shift, state.t1 + shift)
    # A slice stays with its run; what is selected now is the run.
    session.change(replace(state, slice=None, others=(), run=(trace, chosen), t0=t0, t1=t1))
