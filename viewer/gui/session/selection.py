"""Choosing more than one slice: what Ctrl+click, Shift+click, Ctrl+A and R do to the selection.

The slice that was clicked last, or that others were reached from, stays the one that details are
of. No Qt of its own: the session tells who shows it.
"""

from __future__ import annotations

from viewer.gui.session.session import Session
from viewer.view.selected_slices import area_of, between, everything, same_label
from viewer.view.state import SliceRef, SliceSet


def toggle_slice(session: Session, ref: SliceRef) -> None:
    """Add a slice to the selection, or take it out of it."""
    chosen = session.state.slices
    if ref not in chosen:
        session.select_slices(chosen.with_one(ref), ref)
        return
    rest = chosen.without(ref)
    if not len(rest):
        session.clear_selection()
        return
    first = session.state.slice
    session.select_slices(rest, rest[0] if first is None or first == ref else first)


def extend_to(session: Session, ref: SliceRef) -> None:
    """Select all slices of a row from the selected one to another; on another row that one alone.

    The selected one stays the first, so that the next end is counted from it again.
    """
    first = session.state.slice
    reached = None
    if first is not None and first.trace == ref.trace:
        slices = session.traces[ref.trace].trace.slices
        reached = between(slices, first.index, ref.index)
    if first is None or reached is None:
        session.select_slice(ref)
        return
    session.select_slices(SliceSet({ref.trace: reached}), first)


def select_same(session: Session) -> None:
    """Select all slices of the trace that are called as the selected one is.

    Without a selected slice, or where all of them are selected already: all tracks and all time, as
    in Perfetto. The name is the one on screen: for a linked call that of its operator.
    """
    first, state = session.state.slice, session.state
    if first is not None:
        shown = session.traces[first.trace]
        wanted = SliceSet({first.trace: same_label(shown, first.index)})
        if wanted != state.slices:
            session.select_slices(wanted, first)
            return
    if session.traces:
        session.select_area(everything(session.traces, session.span_ns()))


def make_area(session: Session) -> None:
    """Turn the selected slices, or those of the highlighted operators, into the area they fill."""
    chosen, operators = session.state.slices, session.state.operators
    if not len(chosen) and operators is not None:
        chosen = SliceSet({operators[0]: session.slices_of(*operators)})
    area = area_of(session.traces, chosen)
    if area is not None:
        session.select_area(area)


def can_make_area(session: Session) -> bool:
    """Whether there are slices to make an area of."""
    return session.state.slice is not None or session.state.operators is not None


def clear(session: Session) -> None:
    """Take back one thing: the search, else what was chosen in an area, else the selection, else
    what is measured and the current mark, else the class of colors that stands out."""
    state = session.state
    if state.query:
        session.search("")
    elif state.area is not None and (state.slice is not None or state.operators is not None):
        session.select_area(state.area)
    elif any(state.selection):
        session.clear_selection()
    elif state.measured is not None or state.mark is not None:
        session.set_marks(state.marks, None, None)
    else:
        session.light(None)
