"""What the status bar says, as pure functions of the session."""

from __future__ import annotations

from viewer.model.times import format_time
from viewer.model.trace import Run
from viewer.program.labels import track_name
from viewer.session import Session


def clock_text(session: Session) -> str:
    """Clocks (one of them in full, several by number) and how many slices there are."""
    if not session.traces:
        return ""
    slices = sum(len(t.trace.slices) for t in session.traces)
    clocks = {
        (t.trace.clock.unit, t.axis.ns_per_tick, t.trace.clock.assumed) for t in session.traces
    }
    if len(clocks) > 1:
        return f"{len(clocks)} clocks · {slices} slices"
    unit, ratio, assumed = clocks.pop()
    text = f"1 {unit} = {float(ratio):g} ns" if unit != "ns" else "1 tick = 1 ns"
    return f"{text}{' assumed' if assumed else ''} · {slices} slices"


def selection_text(session: Session) -> str:
    """What the status bar says of the selection."""
    state = session.state
    if state.slice is not None:
        shown = session.traces[state.slice.trace]
        start, end = shown.span_ns(state.slice.index)
        text = f"1 slice selected · {format_time(end - start)}"
        if state.operators is not None:
            others = session.calls_of(*state.operators) - 1
            where = " in this run" if session.run_ticks(state.operators[0]) else ""
            text += f" · {others} more of its operator{where}" if others > 0 else ""
        return text
    if state.area is not None:
        length = format_time(state.area.t1 - state.area.t0)
        tracks = len(state.area.tracks)
        return f"{length} selected on {tracks} track{'' if tracks == 1 else 's'}"
    if state.operators is not None:
        return f"{session.calls_of(*state.operators)} slices of the operator"
    return ""


def run_text(session: Session, trace: int, run: Run) -> str:
    """What the picker calls an inference: "Run 2 of 5", with its method if there are several."""
    shown = session.traces[trace]
    runs = session.inferences(trace)
    count = sum(other.track == run.track for other in runs)
    if len({other.track for other in runs}) == 1:
        return f"Run {run.number} of {count}"
    return f"{track_name(shown.table, run.track)} · run {run.number} of {count}"


def range_text(session: Session) -> str:
    """What the status bar says of the visible range."""
    if not session.traces:
        return "" if not session.is_empty else "No trace open"
    state = session.state
    return (
        f"{format_time(state.t0)} – {format_time(state.t1)} · "
        f"{format_time(state.t1 - state.t0)} visible"
    )
