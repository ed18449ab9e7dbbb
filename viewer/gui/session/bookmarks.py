"""Bookmarks and measurements: what the keys M, Shift+M, Delete and F2 do.

There is at most one measured span. Bookmark times are on the axis with inferences as they ran.
Aligned or averaged inferences have other times, so bookmarks are then hidden and cannot be added.
The current bookmark is the one last added or clicked. This module does not use Qt.
"""

from __future__ import annotations

from viewer.dataclasses import replace
from viewer.gui.session.selection import selected_span_ns
from viewer.gui.session.session import Session
from viewer.model.inference_views import Inferences
from viewer.view.state import LONGEST_NAME, LONGEST_NOTE, Bookmark
from viewer.view.visible_ranges import run_in_view


def can_mark(session: Session) -> bool:
    """Whether bookmarks are visible and can be added."""
    return bool(session.traces) and session.state.inferences is Inferences.AS_RUN


def set_bookmarks(
    session: Session,
    bookmarks: tuple[Bookmark, ...],
    current: int | None,
    measured: tuple[int, int] | None,
) -> None:
    """Replace the bookmarks, the index of the current one, and the measured span."""
    session.change(replace(session.state, bookmarks=bookmarks, mark=current, measured=measured))


def measured_on(session: Session, clock: str) -> tuple[int, int] | None:
    """The measured span if it is on a clock group."""
    state = session.state
    return state.measured if state.measured_on == clock else None


def measure(session: Session, pointed: int | None) -> None:
    """Measure the selection; without one, measure between two calls at different times.

    `pointed` is the time under the mouse in ns, None if the mouse is elsewhere. If the selection is
    already measured, this clears the measurement. Without a selection, the first call sets the
    start of a span and the second call its end.
    """
    state, span = session.state, _selected(session)
    before = measured_on(session, state.clock)
    if span is not None:
        measured = None if before == span else span
    elif pointed is None:
        return
    elif before is not None and before[0] == before[1]:
        first, last = sorted((before[0], pointed))
        measured = (first, last) if last > first else None
    else:
        measured = (pointed, pointed)
    session.change(replace(state, mark=None, measured=measured, measured_on=state.clock))


def keep(session: Session, pointed: int | None) -> int | None:
    """Bookmark the selection, else the measured span, the time under the mouse, or the middle.

    Returns the index of the bookmark, which becomes the current one: of a new one, or of one that
    the span has already. None if no profile is open. Inferences are then shown as they ran, which
    bookmarks are about.
    """
    if not session.traces:
        return None
    if not can_mark(session):
        session.show_inferences(Inferences.AS_RUN)
        pointed = None  # it was a time of another axis
    state = session.state
    span = _selected(session) or measured_on(session, state.clock)
    if span is None:
        first, last = state.times
        moment = (first + last) // 2 if pointed is None else pointed
        span = moment, moment
    bookmarks = state.bookmarks
    here = (*span, state.clock)
    index = next((i for i, b in enumerate(bookmarks) if (b.t0, b.t1, b.clock) == here), None)
    if index is not None:
        set_bookmarks(session, bookmarks, index, state.measured)
        return index
    used_names = {bookmark.name for bookmark in bookmarks}
    number = next(n for n in range(1, len(bookmarks) + 2) if f"Bookmark {n}" not in used_names)
    added = Bookmark(*span, f"Bookmark {number}", clock=state.clock)
    set_bookmarks(session, (*bookmarks, added), len(bookmarks), None)
    return len(bookmarks)


def remove(session: Session, number: int | None = None) -> None:
    """Remove a bookmark, by default the current one; without one, clear the measurement."""
    state = session.state
    number = state.mark if number is None else number
    if number is None or number >= len(state.bookmarks):
        set_bookmarks(session, state.bookmarks, None, None)
        return
    bookmarks = state.bookmarks[:number] + state.bookmarks[number + 1 :]
    set_bookmarks(session, bookmarks, None, state.measured)


def edit(
    session: Session, number: int, *, name: str | None = None, note: str | None = None
) -> None:
    """Rename a bookmark or change its note; both become one line, cut to their maximum length."""
    state = session.state
    if not 0 <= number < len(state.bookmarks):
        return
    bookmark = state.bookmarks[number]
    if name is not None:
        bookmark = replace(bookmark, name=" ".join(name.split())[:LONGEST_NAME])
    if note is not None:
        bookmark = replace(bookmark, note=" ".join(note.split())[:LONGEST_NOTE])
    bookmarks = (*state.bookmarks[:number], bookmark, *state.bookmarks[number + 1 :])
    set_bookmarks(session, bookmarks, number, state.measured)


def is_on_open_clock(session: Session, bookmark: Bookmark) -> bool:
    """Whether a file on the bookmark's clock is open; one that names no clock is on the first."""
    return not bookmark.clock or any(group.key == bookmark.clock for group in session.groups)


def go_to(session: Session, number: int) -> None:
    """Make a bookmark current and bring it into view, moving the range as little as possible.

    One whose file was closed only becomes current.
    """
    if not 0 <= number < len(session.state.bookmarks):
        return
    with session.one_step():
        session.show_inferences(Inferences.AS_RUN)
        bookmark = session.state.bookmarks[number]
        session.activate(bookmark.clock)
        set_bookmarks(session, session.state.bookmarks, number, session.state.measured)
        if not is_on_open_clock(session, bookmark):
            return
        t0, t1 = session.state.t0, session.state.t1
        first, last = session.state.on_screen(bookmark.t0, bookmark.t1)
        if last - first > t1 - t0:
            fit(session, number)
        elif first < t0 or last > t1:
            middle, half = (first + last) // 2, (t1 - t0) // 2
            session.set_range(middle - half, middle - half + t1 - t0)
        _pick_run_of(session, bookmark)


def _pick_run_of(session: Session, bookmark: Bookmark) -> None:
    """If an inference is picked, pick the bookmark's inference, so that costs match the view."""
    state = session.state
    if state.run is None:
        return
    trace = state.run[0]
    if session.groups.of(trace).key != bookmark.clock:
        return
    run = run_in_view(session.traces[trace], bookmark.t0, bookmark.t1)
    if run is not None and run != state.run[1]:
        # The selected slice belongs to the previous inference.
        session.change(replace(state, slice=None, others=(), run=(trace, run)))


def fit(session: Session, number: int) -> None:
    """Show a bookmark with 1/5 of its span at each side, unless its file was closed."""
    bookmark = session.state.bookmarks[number]
    if not is_on_open_clock(session, bookmark):
        return
    session.activate(bookmark.clock)
    first, last = session.state.on_screen(bookmark.t0, bookmark.t1)
    margin = (last - first) // 5 or (session.state.t1 - session.state.t0) // 2
    session.set_range(first - max(margin, 1), last + max(margin, 1))


def _selected(session: Session) -> tuple[int, int] | None:
    """The span of the selected slices or area; highlighted operators do not count.

    None if they are on a clock group that is not active.
    """
    state = session.state
    if state.slice is None and state.area is None:
        return None
    if session.current_trace not in session.group.traces:
        return None
    return selected_span_ns(session)
