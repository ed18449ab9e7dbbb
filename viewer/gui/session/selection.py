"""What is selected, and selecting more than one slice: Ctrl+click, Shift+click, Ctrl+A and R.

The slice that was clicked last, or that others were reached from, stays the one that Details
shows. No Qt of its own: the signals of the session reach whoever shows the selection.
"""

from __future__ import annotations

from dataclasses import replace

from viewer.analysis.cost.costs import made_of_others
from viewer.arrays import Ints
from viewer.gui.session.coloring import highlight_class
from viewer.gui.session.search import Search
from viewer.gui.session.session import Session
from viewer.model.scope import begin_in
from viewer.model.trace import KeyKind
from viewer.program.program import Operator
from viewer.view import selected_slices
from viewer.view.selected_slices import area_of, between, everything, same_label
from viewer.view.state import SliceRef, SliceSet


def selected_span_ns(session: Session) -> tuple[int, int] | None:
    """The start and end of the selection in ns of the axis, None if nothing is selected."""
    state = session.state
    if state.slice is not None and state.others:
        return session.selected_span.of(session.traces, state.slice, state.others)
    if state.slice is not None:
        return session.traces[state.slice.trace].span_ns(state.slice.index)
    if state.area is not None:
        return state.area.t0, state.area.t1
    return highlighted_span_ns(session)


def highlighted_span_ns(session: Session) -> tuple[int, int] | None:
    """The start and end of the highlighted operators' slices, of those in the scope if any are."""
    if session.state.operators is None:
        return None
    trace, operators = session.state.operators
    every = slices_of(session, trace, operators)
    inside = _in_scope(session, trace, every)
    found = inside if len(inside) else every
    if not len(found):
        return None
    shown, slices = session.traces[trace], session.traces[trace].trace.slices
    first, last = int(slices.start[found].min()), int(slices.end[found].max())
    return shown.axis.to_ns(first), shown.axis.to_ns(last)


def slices_of(session: Session, trace: int, operators: tuple[int, ...]) -> Ints:
    """Every slice of one operator, alone or shared; or those of exactly a set of several."""
    return session.traces[trace].slices_of(operators)


def calls_of(session: Session, trace: int, operators: tuple[int, ...]) -> tuple[int, int]:
    """How many slices are of just these operators, and of these and others, in the scope.

    A kernel is counted with the call around it, and what is made of other slices with those.
    """
    shown = session.traces[trace]
    found = _in_scope(session, trace, slices_of(session, trace, operators))
    stated = found[~made_of_others(shown.trace)[found]]
    found = stated if len(stated) else found
    keys = shown.trace.slices.key[found]
    calls = keys[shown.trace.keys.kind[keys] != KeyKind.KERNEL]
    counted = calls if len(calls) else keys
    own = int(shown.table.keys_of(operators, exact=True)[counted].sum())
    return own, len(counted) - own


def nearest_slice(session: Session, trace: int, slices: Ints) -> int:
    """Of some slices of a trace the one that starts nearest to the middle of the view."""
    middle = (session.state.t0 + session.state.t1) // 2
    return selected_slices.nearest_slice(session.traces[trace], slices, middle)


def operator_of(session: Session, trace: int, index: int) -> Operator | None:
    """An operator of the program that a trace is linked to."""
    program = session.traces[trace].table.program
    return program.operators[index] if program else None


def _in_scope(session: Session, trace: int, slices: Ints) -> Ints:
    return begin_in(session.traces[trace].trace, session.scope(trace), slices)


def toggle_slice(session: Session, ref: SliceRef) -> None:
    """Add a slice to the selection, or take it out of it."""
    selected = session.state.slices
    if ref not in selected:
        session.select_slices(selected.with_one(ref), ref)
        return
    rest = selected.without(ref)
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
    selected, operators = session.state.slices, session.state.operators
    if not len(selected) and operators is not None:
        selected = SliceSet({operators[0]: slices_of(session, *operators)})
    area = area_of(session.traces, selected)
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
        Search.of(session).set_query("")
    elif state.area is not None and (state.slice is not None or state.operators is not None):
        session.select_area(state.area)
    elif any(state.selection):
        session.clear_selection()
    elif state.measured is not None or state.mark is not None:
        session.change(replace(state, mark=None, measured=None))
    else:
        highlight_class(session, None)
