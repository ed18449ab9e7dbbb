"""What an export to Perfetto can cover: everything, the visible range, or the selection.

Each function returns a reason instead if its part is not available; the dialog shows it. This
module does not use Qt.
"""

from __future__ import annotations

import numpy as np

from viewer.arrays import Ints
from viewer.export.perfetto.source import PerfettoBookmark
from viewer.gui.session.feeds.derived import DerivedTracks
from viewer.gui.session.selection import selected_span_ns, slices_of
from viewer.gui.session.session import Session
from viewer.model.figures import starts_in
from viewer.model.inference_views import Inferences
from viewer.view.clock_groups import shifts_of
from viewer.view.selection import chosen_in, span_ns
from viewer.view.state import SliceSet
from viewer.workspace.perfetto_export import RANGE, SELECTION, DerivedSource, PerfettoOptions

ALL_AS_RUN = "only if inferences are shown as they ran"
NOTHING_SELECTED = "nothing is selected"


def bookmarks_of_view(session: Session) -> tuple[PerfettoBookmark, ...]:
    """The user's bookmarks on the open clocks, as Perfetto export takes them."""
    traces = {group.key: group.traces[0] for group in session.groups if group.traces}
    return tuple(
        PerfettoBookmark(m.t0, m.t1, m.name, m.note, traces[m.clock])
        for m in session.state.bookmarks
        if m.clock in traces
    )


def derived_of_view(session: Session) -> tuple[DerivedSource, ...]:
    """The tracks that queries derive, as Perfetto export takes them."""
    tracks = DerivedTracks.of(session)
    return tuple(
        DerivedSource(group.traces[0], drawn.trace, drawn.derived.sql)
        for group in session.groups
        for drawn in tracks.on(group.key)
        if group.traces and drawn.trace is not None
    )


def shifts(session: Session) -> dict[int, tuple[int, str]]:
    """What puts the aligned clocks on one axis; see `PerfettoOptions`.

    Empty if none are, also for aligned or averaged inferences, which have other times.
    """
    state = session.state
    if state.inferences is not Inferences.AS_RUN:
        return {}
    keys = [session.groups.of(number).key for number in range(len(session.traces))]
    return shifts_of(state.ties, keys)


def clocks_text(session: Session, options: PerfettoOptions) -> str:
    """How a file places the clocks in it: "2 clocks, aligned at start of run 2"; "" for one."""
    traces = [n for n in range(len(session.traces)) if options.only is None or n in options.only]
    clocks = {session.groups.of(number).key for number in traces}
    if len(clocks) < 2:
        return ""
    reasons = {
        session.groups.of(number).key: options.shifts[number][1]
        for number in traces
        if number in options.shifts
    }
    count, aligned = f"{len(clocks)} clocks", len(reasons)
    if aligned < 2:
        return f"{count}; each starts at 0 (not aligned)"
    places = ", ".join(dict.fromkeys(filter(None, reasons.values())))
    which = f"{count}, aligned" if aligned == len(clocks) else f"{count}, {aligned} of them aligned"
    return f"{which} at {places}" if places else which


def visible_range(session: Session) -> PerfettoOptions | str:
    """The slices of all tracks that overlap the visible range of their clock group; or a reason."""
    state = session.state
    if state.inferences is not Inferences.AS_RUN:
        return ALL_AS_RUN
    ranges = {n: state.times_of(group.key) for group in session.groups for n in group.traces}
    return PerfettoOptions(RANGE, ranges=ranges)


def selection(session: Session) -> PerfettoOptions | str:
    """The selected area or slices, else highlighted operators' in the cost scope; or a reason."""
    state = session.state
    if state.inferences is not Inferences.AS_RUN:
        return ALL_AS_RUN
    only: dict[int, Ints]
    span: tuple[int, int] | None = None
    if state.area is not None:
        span = state.area.t0, state.area.t1
        only = {n: selected.index for n, selected in chosen_in(state.area, session.traces).items()}
    elif state.slice is not None:
        only = {n: indices.astype(np.int64) for n, indices in state.slices.of.items()}
    elif state.operators is not None:
        span = selected_span_ns(session)
        trace, operators = state.operators
        all_slices = slices_of(session, trace, operators)
        inside = starts_in(session.traces[trace].trace, session.scope(trace), all_slices)
        only = {trace: inside if len(inside) else all_slices}
    else:
        return NOTHING_SELECTED
    only = {n: indices for n, indices in only.items() if len(indices)}
    if not only:
        return "it contains no slices"
    ranges = _ranges_of(session, only) if span is None else dict.fromkeys(only, span)
    return PerfettoOptions(SELECTION, ranges=ranges, only=only)


def _ranges_of(session: Session, only: dict[int, Ints]) -> dict[int, tuple[int, int]]:
    """The range of each trace: from the first to the last chosen slice of its clock group."""
    ranges: dict[int, tuple[int, int]] = {}
    for group in session.groups:
        slice_set = SliceSet({n: indices for n, indices in only.items() if n in group.traces})
        if (span := span_ns(session.traces, slice_set)) is not None:
            ranges |= dict.fromkeys(slice_set.of, span)
    return ranges
