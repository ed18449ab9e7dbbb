"""The texts of the status bar, as pure functions of the session."""

from __future__ import annotations

from collections.abc import Sequence

from viewer.analysis.links.labels import track_name
from viewer.gui.session.clocks import delegate_clocks
from viewer.gui.session.feeds.selection_statistics import SelectionFeed
from viewer.gui.session.selection import calls_of
from viewer.gui.session.session import Session
from viewer.gui.timeline.hover_text import slice_lines
from viewer.model.text import display_name
from viewer.model.times import (
    RateOrigin,
    counted,
    format_rate,
    format_span,
    format_time,
    with_computed,
)
from viewer.model.trace import Trace
from viewer.view.clock_groups import group_title


def clock_text(session: Session) -> str:
    """The clock rates, and how many slices the files state and Opscope derives; "" without traces.

    A single clock is shown in full, several by their number; clocks of delegates if the user stated
    their rate.
    """
    if not session.traces:
        return ""
    clocks = {t.rate for t in session.traces}
    text = clocks.pop().text if len(clocks) == 1 else f"{len(clocks)} clock rates"
    for origin in (RateOrigin.ASSUMED, RateOrigin.CHOSEN):
        count = sum(clock.origin is origin for clock in clocks)
        text += f", {count} {origin}" if count else ""
    estimates = session.workspace.clocks.cycle_rate
    text += f" · estimates at {estimates.text}" if estimates else ""
    stated = [clock for clock in delegate_clocks(session) if clock.ns_per_tick is not None]
    if len(stated) > 1:
        text += f" · {len(stated)} delegate clocks chosen"
    elif stated and stated[0].ns_per_tick is not None:
        text += f" · {stated[0].name} at {format_rate(stated[0].ns_per_tick)} chosen"
    return f"{text} · {_slices_text([t.file for t in session.traces])}"


def _slices_text(files: Sequence[Trace]) -> str:
    computed = sum(file.slices.derived_count for file in files)
    stated = sum(len(file.slices) for file in files) - computed
    text = with_computed(counted(stated, "slice"), computed)
    parts = [display_name(file.path) for file in files if file.is_part]
    if not parts:
        return text
    return f"{text}, only a part of {parts[0] if len(parts) == 1 else counted(len(parts), 'file')}"


def added_text(session: Session, paths: Sequence[str], fit_file: str) -> str:
    """A message on added files, such as "Added mine.csv · 6 slices, below the others"; "" for none.

    `fit_file` is how to run the command that zooms to the next file.
    """
    if not paths:
        return ""
    names = ", ".join(map(display_name, paths[:3]))
    more = f" and {len(paths) - 3} more" if len(paths) > 3 else ""
    added = [t.file for t in session.traces if t.trace.path in paths]
    parts = [f"Added {names}{more}"]
    if added:
        several = len(session.traces) > len(added)
        parts.append(_slices_text(added) + (", below the others" if several else ""))
        if several:
            parts.append(f"{fit_file} zooms to the next file")
    return " · ".join(parts)


def replaced_text(paths: Sequence[str], step: str, undo: str) -> str:
    """A message on files with other contents, after a "reload", an "undo" or a "redo" of it.

    `undo` is how to run that command.
    """
    what = display_name(paths[0]) if len(paths) == 1 else f"{len(paths)} files"
    if step == "reload":
        return f"Reloaded {what} · {undo} brings the earlier version back"
    if step == "undo":
        return f"{what}: the version before the reload is open again"
    return f"{what}: the reloaded version is open again"


def selection_text(session: Session) -> str:
    """The status bar's text for the selection."""
    state = session.state
    if state.slice is not None and state.others:
        total = SelectionFeed.of(session).total_ns(state.slices)
        text = f"{counted(len(state.others) + 1, 'slice')} selected"
        return text if total is None else f"{text} · {format_time(total)} in total"
    if state.slice is not None:
        open_trace = session.traces[state.slice.trace]
        text = f"1 slice selected · {open_trace.length_text(state.slice.index)}"
        more = _operator_text(session, less=1)
        return f"{text} · {more}" if more else text
    if state.area is not None:
        length = format_time(state.area.t1 - state.area.t0)
        text = f"{length} selected on {counted(len(state.area.tracks), 'track')}"
        more = _operator_text(session)
        answer = SelectionFeed.of(session).answer
        if not more and answer is not None and answer.subject == state.area:
            more = counted(answer.slices, "slice")
        return f"{text} · {more}" if more else text
    return _operator_text(session)


def spoken_text(session: Session) -> str:
    """The text of the selection for screen readers.

    For a single slice, it is the text of the hover tip plus the track name.
    """
    state = session.state
    if len(state.slices) != 1 or state.slice is None:
        return selection_text(session)
    open_trace = session.traces[state.slice.trace]
    track = track_name(open_trace.table, open_trace.trace.slices.track(state.slice.index))
    lines = (*slice_lines(open_trace, state.slice.index), track, _operator_text(session, less=1))
    return ". ".join(line for line in lines if line)


def _operator_text(session: Session, less: int = 0) -> str:
    """ "11 more of its operator in this inference, 3 shared calls"; omits `less` slices."""
    chosen = session.state.operators
    if chosen is None:
        return ""
    alone, shared = calls_of(session, *chosen)
    scope = session.scope(chosen[0])
    where = (
        f" in this {scope.run.unit.noun}" if scope.run else " in the area" if scope.ticks else ""
    )
    parts = []
    if less and alone > less:
        parts.append(f"{counted(alone - less, 'more slice')} of the operator{where}")
    elif not less:
        parts.append(f"{counted(alone, 'slice')} of the operator{where}")
    if shared:
        parts.append(counted(shared, "shared call"))
    return ", ".join(parts)


def range_text(session: Session) -> str:
    """The status bar's text for the visible range; of several clocks that of the active one."""
    if not session.traces:
        return "" if not session.is_empty else "No trace open"
    state = session.state
    t0, t1 = state.times
    text = f"{format_span(t0, t1)} · {format_time(t1 - t0)} visible"
    if len(session.groups) < 2:
        return text
    return f"{group_title(session.group, session.traces)} · {text}"
