"""Marks and measuring: what the keys M, Shift+M, Delete and F2 do to the view. No Qt of its own.

A *measured* span is one at a time and gone with the next; a *mark* stays, with a name and a note,
and is a span or a moment. Marks stand on the axis as the inferences ran: where these are aligned or
meant, times are others, so there are none to see and none to make. One mark may be the current one:
the one made or clicked last.
"""

from __future__ import annotations

from dataclasses import replace

from viewer.gui.session.selection import selected_span_ns
from viewer.gui.session.session import Session
from viewer.model.inference_views import Inferences
from viewer.view.state import LONGEST_NAME, LONGEST_NOTE, Bookmark
from viewer.view.visible_range import run_in_view


def can_mark(session: Session) -> bool:
    """Whether marks can be seen and made now."""
    return bool(session.traces) and session.state.inferences is Inferences.AS_RUN


def set_bookmarks(
    session: Session,
    marks: tuple[Bookmark, ...],
    current: int | None,
    measured: tuple[int, int] | None,
) -> None:
    """Have other bookmarks, one of which may be the current one, and measure a span, or none."""
    session.change(replace(session.state, marks=marks, mark=current, measured=measured))


def measure(session: Session, at: int | None) -> None:
    """Measure the selection, or, where nothing is selected, from one time to another.

    at: the time under the mouse in ns, None where it is elsewhere. The selection measured already
    is measured no more. Without one the first call begins a span there, the next ends it.
    """
    state, span = session.state, _selected(session)
    if span is not None:
        wanted = None if state.measured == span else span
    elif at is None:
        return
    elif state.measured is not None and state.measured[0] == state.measured[1]:
        first, last = sorted((state.measured[0], at))
        wanted = (first, last) if last > first else None
    else:
        wanted = (at, at)
    set_bookmarks(session, state.marks, None, wanted)


def keep(session: Session, at: int | None) -> int | None:
    """Make a mark of the selection, else of what is measured, else of the time under the mouse.

    Returns the number of the new mark, which is the current one then; None if there is nothing to
    mark, or if the very span is marked already: then that mark is the current one.
    """
    if not can_mark(session):
        return None
    state = session.state
    span = _selected(session) or state.measured or (None if at is None else (at, at))
    if span is None:
        return None
    marks = state.marks
    known = next((i for i, mark in enumerate(marks) if (mark.t0, mark.t1) == span), None)
    if known is not None:
        set_bookmarks(session, marks, known, state.measured)
        return None
    taken = {mark.name for mark in marks}
    number = next(n for n in range(1, len(marks) + 2) if f"Mark {n}" not in taken)
    set_bookmarks(session, (*marks, Bookmark(*span, f"Mark {number}")), len(marks), None)
    return len(marks)


def remove(session: Session, number: int | None = None) -> None:
    """Take a mark away, by default the current one; what is measured if there is none."""
    state = session.state
    number = state.mark if number is None else number
    if number is None or number >= len(state.marks):
        set_bookmarks(session, state.marks, None, None)
        return
    marks = state.marks[:number] + state.marks[number + 1 :]
    set_bookmarks(session, marks, None, state.measured)


def edit(
    session: Session, number: int, *, name: str | None = None, note: str | None = None
) -> None:
    """Give a mark another name or note; line ends and what is beyond the longest are not kept."""
    state = session.state
    if not 0 <= number < len(state.marks):
        return
    mark = state.marks[number]
    if name is not None:
        mark = replace(mark, name=" ".join(name.split())[:LONGEST_NAME])
    if note is not None:
        mark = replace(mark, note=" ".join(note.split())[:LONGEST_NOTE])
    marks = (*state.marks[:number], mark, *state.marks[number + 1 :])
    set_bookmarks(session, marks, number, state.measured)


def go_to(session: Session, number: int) -> None:
    """Make a mark the current one and bring it into view, changing as little as possible."""
    if not 0 <= number < len(session.state.marks):
        return
    with session.one_step():
        session.show_inferences(Inferences.AS_RUN)
        mark = session.state.marks[number]
        set_bookmarks(session, session.state.marks, number, session.state.measured)
        t0, t1 = session.state.t0, session.state.t1
        if mark.t1 - mark.t0 > t1 - t0:
            fit(session, number)
        elif mark.t0 < t0 or mark.t1 > t1:
            middle, half = (mark.t0 + mark.t1) // 2, (t1 - t0) // 2
            session.set_range(middle - half, middle - half + t1 - t0)
        _pick_run_of(session, mark.t0, mark.t1)


def _pick_run_of(session: Session, t0: int, t1: int) -> None:
    """Where an inference is picked, pick the one that a mark is in: costs are of what is seen."""
    state = session.state
    if state.run is None:
        return
    trace = state.run[0]
    run = run_in_view(session.traces[trace], t0, t1)
    if run is not None and run != state.run[1]:
        # A slice stays with its run.
        session.change(replace(state, slice=None, others=(), run=(trace, run)))


def fit(session: Session, number: int) -> None:
    """Show a span with a fifth of air on both sides; a moment in the middle of what is seen."""
    mark = session.state.marks[number]
    air = (mark.t1 - mark.t0) // 5 or (session.state.t1 - session.state.t0) // 2
    session.set_range(mark.t0 - max(air, 1), mark.t1 + max(air, 1))


def _selected(session: Session) -> tuple[int, int] | None:
    """The span of selected slices, or of an area; operators are a highlight, no selection."""
    state = session.state
    if state.slice is None and state.area is None:
        return None
    return selected_span_ns(session)
