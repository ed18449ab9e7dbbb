"""What the costs of a trace are of, as the view has it: a range, a run, or all of it. No Qt."""

from __future__ import annotations

from collections.abc import Sequence

from viewer.model.inference_views import Inferences
from viewer.model.scope import WHOLE, TimeScope
from viewer.view.open_trace import OpenTrace
from viewer.view.state import ViewState


def scope_of(
    state: ViewState, traces: Sequence[OpenTrace], number: int, *, ranges: bool = True
) -> TimeScope:
    """The range of the selected area if it is on any track of the trace, else the picked run if it
    is one of the trace, else the whole. ranges: False where only runs can be meant.

    An area is on slices as they are shown: of inferences that are aligned or meant it is no range.
    """
    area = state.area
    if state.inferences is not Inferences.AS_RUN or not ranges:
        area = None
    if area is not None and any(owner == number for owner, _ in area.tracks):
        axis = traces[number].axis
        return TimeScope(ticks=(axis.to_ticks_floor(area.t0), axis.to_ticks_floor(area.t1)))
    if state.run is not None and state.run[0] == number:
        return TimeScope(run=traces[number].trace.runs[state.run[1]])
    return WHOLE
