"""What of the view can be exported to Perfetto: all of it, what is in view, or what is selected.

No Qt. A part that is not there now has a reason instead, which the dialog shows.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from viewer.arrays import Ints
from viewer.export.perfetto.source import PerfettoBookmark
from viewer.gui.session.selection import selected_span_ns, slices_of
from viewer.gui.session.session import Session
from viewer.model.inference_views import Inferences
from viewer.model.scope import begin_in
from viewer.render.arrangement import Arrangement
from viewer.render.track_table import TrackList
from viewer.view.selected_slices import chosen_in
from viewer.workspace.perfetto_export import RANGE, SELECTION, PerfettoOptions

ALL_AS_RUN = "only while runs are shown as they ran"
NOTHING_SELECTED = "nothing is selected"


def marks_of(session: Session) -> tuple[PerfettoBookmark, ...]:
    """The marks of the user."""
    return tuple(PerfettoBookmark(m.t0, m.t1, m.name, m.note) for m in session.state.marks)


def visible_range(session: Session) -> PerfettoOptions | str:
    """The slices of all tracks that share time with what is in view, or why there are none."""
    state = session.state
    if state.inferences is not Inferences.AS_RUN:
        return ALL_AS_RUN
    return PerfettoOptions(RANGE, (state.t0, state.t1))


def selection(session: Session) -> PerfettoOptions | str:
    """What is selected: an area, else slices, else those of the highlighted operators in the range
    or inference that costs are of; or why there is nothing."""
    state = session.state
    if state.inferences is not Inferences.AS_RUN:
        return ALL_AS_RUN
    only: dict[int, Ints]
    if state.area is not None:
        span: tuple[int, int] | None = (state.area.t0, state.area.t1)
        only = {n: chosen.index for n, chosen in chosen_in(state.area, session.traces).items()}
    elif state.slice is not None:
        span = selected_span_ns(session)
        only = {n: own.astype(np.int64) for n, own in state.slices.of.items()}
    elif state.operators is not None:
        span = selected_span_ns(session)
        trace, operators = state.operators
        every = slices_of(session, trace, operators)
        inside = begin_in(session.traces[trace].trace, session.scope(trace), every)
        only = {trace: inside if len(inside) else every}
    else:
        return NOTHING_SELECTED
    if not any(len(own) for own in only.values()):
        return "no slice is in it"
    return PerfettoOptions(SELECTION, span, {n: own for n, own in only.items() if len(own)})


def display_order(track_list: TrackList, arrangement: Arrangement) -> tuple[tuple[int, int], ...]:
    """(trace, track) of all tracks from top to bottom: pinned ones, then process by process, those
    of folded processes with them; what is hidden comes last."""
    order: list[int] = arrangement.pinned.tolist()
    for process in arrangement.processes.tolist():
        shown = arrangement.tracks[track_list.process[arrangement.tracks] == process]
        order += [*shown.tolist(), *np.flatnonzero(track_list.process == process).tolist()]
    every: Sequence[int] = list(dict.fromkeys((*order, *range(len(track_list.names)))))
    return tuple((int(track_list.trace[track]), int(track_list.number[track])) for track in every)
