"""The trace that panels show, and the scope of its costs: a range, a run, or everything. No Qt."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from viewer.model.inferences.inference_views import Inferences
from viewer.model.scope import WHOLE, TimeScope
from viewer.view.clock_groups import ClockGroup
from viewer.view.open_trace import OpenTrace
from viewer.view.state import SliceRef, ViewState


def scope_of(
    state: ViewState, traces: Sequence[OpenTrace], number: int, *, ranges: bool = True
) -> TimeScope:
    """Return the selected area, else the selected run, else the whole trace as the scope.

    An area counts if it is on any track of the trace, a run if it belongs to the trace. ranges:
    False if only runs are valid. An area is in displayed times, so for aligned or averaged
    inferences it is not a range of the file.
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


def current_trace(state: ViewState, group: ClockGroup) -> int | None:
    """Return the trace that panels show: that of the selection, else one of the active group.

    Of the group it is that of the picked inference, else the file that was switched to, else the
    first. For an area across several
    traces, it is the picked inference's trace if that is one of them, else the first of them. None
    if nothing is open.
    """
    for part in (state.slice, state.operators):
        if part is not None:
            return part.trace if isinstance(part, SliceRef) else part[0]
    if state.area is not None and state.area.tracks:
        owners = {trace for trace, _ in state.area.tracks}
        return state.run[0] if state.run and state.run[0] in owners else min(owners)
    if state.run is not None and state.run[0] in group.traces:
        return state.run[0]
    if state.file in group.traces:
        return state.file
    return group.traces[0] if group.traces else None


def per_inference(scope: TimeScope, state: ViewState) -> TimeScope:
    """Return the scope for figures per inference.

    Over all inferences these leave out the ones that warm up, unless the view includes them, and
    are of the phase that the view shows.
    """
    if not scope.is_whole:
        return scope
    return replace(scope, warm_up=state.warm_up, phase=state.phase)
