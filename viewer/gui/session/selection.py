"""The selection, and extending it with Ctrl+click, Shift+click, Ctrl+A and R.

Details keeps showing the primary slice: the one last clicked, or from which the selection was
extended. The session's signals notify whoever shows the selection; this module does not use Qt.
"""

from __future__ import annotations

import numpy as np

from viewer.analysis.cost.event_times import made_of_others
from viewer.analysis.statistics.grouping import Grouping
from viewer.arrays import Ints
from viewer.dataclasses import replace
from viewer.gui.session.choices import highlight_class
from viewer.gui.session.feeds.search import Search
from viewer.gui.session.session import Session
from viewer.model.figures import TimeScope, counted_in, starts_in
from viewer.model.trace import KeyKind
from viewer.program.program import Operator
from viewer.view import selection
from viewer.view.open_trace import OpenTrace
from viewer.view.selection import area_of, between, everything, same_label
from viewer.view.state import SliceRef, SliceSet


def selected_span_on(session: Session, clock: str) -> tuple[int, int] | None:
    """The start and end of the selection if it is on a clock group, in ns of its axis."""
    state, current = session.state, session.current_trace
    if not any(state.selection) or current not in session.groups.by_key(clock).traces:
        return None
    return selected_span_ns(session)


def selected_span_ns(session: Session) -> tuple[int, int] | None:
    """The start and end of the selection on the clock of the primary slice, None without one."""
    state = session.state
    if state.slice is not None and state.others:
        members = session.groups.of(state.slice.trace).traces
        return session.selected_span.of(session.traces, state.slice, state.others, members)
    if state.slice is not None:
        return session.traces[state.slice.trace].span_ns(state.slice.index)
    if state.area is not None:
        return state.area.t0, state.area.t1
    return highlighted_span_ns(session)


def highlighted_span_ns(session: Session) -> tuple[int, int] | None:
    """The start and end of the highlighted operators' slices, if possible of those in the scope."""
    if session.state.operators is None:
        return None
    trace, operators = session.state.operators
    all_slices = slices_of(session, trace, operators)
    inside = starts_in(session.traces[trace].trace, session.scope(trace), all_slices)
    indices = inside if len(inside) else all_slices
    if not len(indices):
        return None
    open_trace, slices = session.traces[trace], session.traces[trace].trace.slices
    first, last = int(slices.start[indices].min()), int(slices.end[indices].max())
    return open_trace.axis.to_ns(first), open_trace.axis.to_ns(last)


def slices_of(session: Session, trace: int, operators: tuple[int, ...]) -> Ints:
    """All slices of one operator, alone or shared, or those of exactly this set of operators."""
    return session.traces[trace].slices_of(operators)


def calls_of(session: Session, trace: int, operators: tuple[int, ...]) -> tuple[int, int]:
    """Count calls in the scope: (of exactly these operators, of these together with others).

    A kernel is counted as part of the call around it, and slices derived from other slices are not
    counted again.
    """
    open_trace = session.traces[trace]
    indices = counted_in(
        open_trace.trace, session.scope(trace), slices_of(session, trace, operators)
    )
    stated = indices[~made_of_others(open_trace.trace)[indices]]
    indices = stated if len(stated) else indices
    keys = open_trace.trace.slices.key[indices]
    calls = keys[open_trace.trace.keys.kind[keys] != KeyKind.KERNEL]
    counted = calls if len(calls) else keys
    alone = int(open_trace.table.keys_of(operators, exact=True)[counted].sum())
    return alone, len(counted) - alone


def nearest_slice(session: Session, trace: int, slices: Ints) -> int:
    """The one of `slices` that starts closest to the middle of the view of their clock."""
    t0, t1 = session.state.times_of(session.groups.of(trace).key)
    return selection.nearest_slice(session.traces[trace], slices, (t0 + t1) // 2)


def operator_of(session: Session, trace: int, index: int) -> Operator | None:
    """The operator at `index` in the program linked to a trace, None without a program."""
    program = session.traces[trace].table.program
    return program.operators[index] if program else None


def toggle_slice(session: Session, ref: SliceRef) -> None:
    """Add a slice to the selection, or remove it."""
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
    """Select from the primary slice, which stays that, to `ref`; only `ref` on another row."""
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
    """Select all slices of the trace with the same label as the selected one.

    If nothing is selected, or they all are already, select all tracks and all time, as Perfetto
    does. The label is the one on screen; for a linked call, that is its operator's name.
    """
    first, state = session.state.slice, session.state
    if first is not None:
        open_trace = session.traces[first.trace]
        matching = SliceSet({first.trace: same_label(open_trace, first.index)})
        if matching != state.slices:
            session.select_slices(matching, first)
            return
    if session.traces:
        session.select_area(everything(session.traces, session.group))


def make_area(session: Session) -> None:
    """Replace the selected slices, or those of highlighted operators, with the area they span."""
    selected, operators = session.state.slices, session.state.operators
    if not len(selected) and operators is not None:
        selected = SliceSet({operators[0]: slices_of(session, *operators)})
    current = session.current_trace
    members = () if current is None else session.groups.of(current).traces
    if (area := area_of(session.traces, selected.among(members))) is not None:
        session.select_area(area)


def can_make_area(session: Session) -> bool:
    """Whether `make_area` has slices to work on."""
    return session.state.slice is not None or session.state.operators is not None


def clear(session: Session) -> None:
    """Clear one thing per call.

    The order is: search, selection within an area, selection, measurement and current bookmark,
    highlighted color class.
    """
    state = session.state
    if state.query:
        Search.of(session).set_query("")
    elif state.area is not None and (state.slice is not None or state.operators is not None):
        session.select_area(state.area)
    elif any(state.selection):
        session.clear_selection()
    elif state.measured is not None or state.mark is not None:
        session.change(replace(state, mark=None, measured=None, measured_on=""))
    else:
        highlight_class(session, None)


def longest_slice(open_trace: OpenTrace, indices: Ints) -> int:
    """Return the index of the longest of these slices, given by their indices."""
    slices = open_trace.trace.slices
    return int(indices[np.argmax(slices.end[indices] - slices.start[indices])])


def span_of(open_trace: OpenTrace, scope: TimeScope) -> tuple[int, int]:
    """Return the first and last tick of a scope."""
    first, last, _ = scope.span
    trace = open_trace.trace
    return trace.start if first is None else first, trace.end if last is None else last


def select_group(
    session: Session,
    open_trace: OpenTrace,
    grouping: Grouping,
    key: str,
    group: int,
    scope: TimeScope,
) -> None:
    """Select the slices of a group in a scope, or those that reach into it if none starts there.

    Not for units and inferences, which are not slices.
    """
    slices = open_trace.trace.slices
    indices = grouping.slices(key, group, *scope.span[:2])
    if not len(indices):
        indices = grouping.slices(key, group)
        first, last = span_of(open_trace, scope)
        indices = indices[(slices.end[indices] >= first) & (slices.start[indices] <= last)]
    select_indices(session, open_trace, indices)


def select_indices(session: Session, open_trace: OpenTrace, indices: Ints) -> None:
    """Select some slices of a trace, and reveal the longest."""
    number = session.number_of(open_trace)
    if number is not None and len(indices):
        longest = SliceRef(number, longest_slice(open_trace, indices))
        session.select_slices(SliceSet({number: indices}), longest, reveal=True, keep_area=True)


def selected_operators(session: Session, open_trace: OpenTrace) -> tuple[int, ...]:
    """Return the selected operators, () if they belong to another trace."""
    selected = session.state.operators
    is_of_trace = selected is not None and session.as_run(selected[0]) is open_trace
    return selected[1] if selected is not None and is_of_trace else ()
