"""What an export to Perfetto can cover: everything, the visible range, or the selection.

Each function returns a reason instead if its part is not available; the dialog shows it. This
module does not use Qt.
"""

from __future__ import annotations

import numpy as np

from viewer.arrays import Ints
from viewer.export.perfetto.source import PerfettoBookmark
from viewer.gui.session.selection import selected_span_ns, slices_of
from viewer.gui.session.session import Session
from viewer.model.inference_views import Inferences
from viewer.model.scope import starts_in
from viewer.view.selected_slices import chosen_in
from viewer.workspace.perfetto_export import RANGE, SELECTION, PerfettoOptions

ALL_AS_RUN = "only if inferences are shown as they ran"
NOTHING_SELECTED = "nothing is selected"


def marks_of(session: Session) -> tuple[PerfettoBookmark, ...]:
    """The user's bookmarks as Perfetto export takes them."""
    return tuple(PerfettoBookmark(m.t0, m.t1, m.name, m.note) for m in session.state.marks)


def visible_range(session: Session) -> PerfettoOptions | str:
    """The slices of all tracks that overlap the visible range, or why they are not available."""
    state = session.state
    if state.inferences is not Inferences.AS_RUN:
        return ALL_AS_RUN
    return PerfettoOptions(RANGE, (state.t0, state.t1))


def selection(session: Session) -> PerfettoOptions | str:
    """The selected area or slices, else the highlighted operators' slices in the cost scope.

    Returns a reason if there are none.
    """
    state = session.state
    if state.inferences is not Inferences.AS_RUN:
        return ALL_AS_RUN
    only: dict[int, Ints]
    if state.area is not None:
        span: tuple[int, int] | None = (state.area.t0, state.area.t1)
        only = {n: selected.index for n, selected in chosen_in(state.area, session.traces).items()}
    elif state.slice is not None:
        span = selected_span_ns(session)
        only = {n: indices.astype(np.int64) for n, indices in state.slices.of.items()}
    elif state.operators is not None:
        span = selected_span_ns(session)
        trace, operators = state.operators
        all_slices = slices_of(session, trace, operators)
        inside = starts_in(session.traces[trace].trace, session.scope(trace), all_slices)
        only = {trace: inside if len(inside) else all_slices}
    else:
        return NOTHING_SELECTED
    if not any(len(indices) for indices in only.values()):
        return "it contains no slices"
    return PerfettoOptions(
        SELECTION, span, {n: indices for n, indices in only.items() if len(indices)}
    )
