"""Operations on the selected slices, and the scope of the costs that panels show. No Qt.

Functions are pure, except for a cache of the last span. The cost depends on the number of slices: a
million take some tens of ms, so nothing here runs in every frame.
"""

from __future__ import annotations

from collections.abc import Container, Sequence
from fractions import Fraction
from typing import TYPE_CHECKING

import numpy as np

from viewer.arrays import Codes, Ints
from viewer.dataclasses import replace
from viewer.model.figures import WHOLE, TimeScope
from viewer.model.inference_views import Inferences
from viewer.model.queries import NATIVE_DURATION
from viewer.model.times import group_digits
from viewer.model.trace import Slices
from viewer.view.clock_groups import ClockGroup
from viewer.view.open_trace import AT_ONCE, OpenTrace
from viewer.view.state import Area, SliceRef, SliceSet, ViewState

if TYPE_CHECKING:
    from viewer.analysis.statistics.selection import SelectedSlices


def same_label(open_trace: OpenTrace, index: int) -> Codes:
    """Return the slices of a trace with the same label on screen as slice `index`, ascending."""
    return np.flatnonzero(open_trace.labels == open_trace.labels[index]).astype(np.uint32)


def between(slices: Slices, slice_a: int, slice_b: int) -> Ints | None:
    """Return the slices of a row from one to another, inclusive; None if on different rows.

    Slices with a length and zero-length ones are drawn on separate lines: a range between two of
    one kind does not include the other kind.
    """
    first, last = sorted((slice_a, slice_b), key=slices.position_drawn)
    if slices.drawn_row_of(first) != slices.drawn_row_of(last):
        return None
    indexes = slices.drawn_between(slices.position_drawn(first), slices.position_drawn(last) + 1)
    zero = slices.start[indexes] == slices.end[indexes]
    if zero[0] != zero[-1]:
        return np.sort(indexes)
    alike: Ints = np.sort(indexes[zero == zero[0]])
    return alike


def span_ns(traces: Sequence[OpenTrace], slices: SliceSet) -> tuple[int, int] | None:
    """Return the first start and the last end of some slices, in ns of the axis; None if empty."""
    spans = []
    for trace, numbers in slices.of.items():
        open_trace, columns = traces[trace], traces[trace].trace.slices
        # Slices of a row do not overlap, so the first one starts first and the last one ends last.
        bounds = np.searchsorted(numbers, columns.row_ptr.astype(np.uint32))
        rows = np.flatnonzero(np.diff(bounds))
        first = int(columns.start[numbers[bounds[rows]]].min())
        last = int(columns.end[numbers[bounds[rows + 1] - 1]].max())
        spans.append((open_trace.axis.to_ns(first), open_trace.axis.to_ns(last)))
    return (min(a for a, _ in spans), max(b for _, b in spans)) if spans else None


def nearest_slice(open_trace: OpenTrace, slices: Ints, at_ns: int) -> int:
    """Return which of some slices (not empty) starts nearest to a time of the axis."""
    start = open_trace.trace.slices.start[slices]
    return int(slices[np.argmin(np.abs(start - open_trace.axis.to_ticks_floor(at_ns)))])


def place_among(traces: Sequence[OpenTrace], slice_ref: SliceRef, slices: SliceSet) -> str:
    """Return which of several selected slices one is: "longest of 20 selected"; "" if alone.

    It is just "one of" more than `AT_ONCE` slices, whose lengths are not compared.
    """
    if len(slices) < 2:
        return ""
    is_longest = len(slices) <= AT_ONCE and _is_longest(traces, slice_ref, slices)
    return f"{'longest' if is_longest else 'one'} of {group_digits(len(slices))} selected"


def _is_longest(traces: Sequence[OpenTrace], slice_ref: SliceRef, slices: SliceSet) -> bool:
    """Whether no selected slice is longer than one; slices on foreign clocks do not count."""
    if traces[slice_ref.trace].native(slice_ref.index) is not None:
        return False
    longest = _longest_ns(traces[slice_ref.trace], np.array([slice_ref.index]))
    return all(
        _longest_ns(traces[trace], numbers) <= longest for trace, numbers in slices.of.items()
    )


def _longest_ns(open_trace: OpenTrace, numbers: Codes | Ints) -> Fraction:
    """Return the longest length of some slices, without those on foreign clocks; 0 if none."""
    slices = open_trace.trace.slices
    column = slices.columns.get(NATIVE_DURATION)
    if column is not None:  # lengths of slices on foreign clocks are only for drawing
        numbers = numbers[:0] if column.valid is None else numbers[~column.valid[numbers]]
    ticks = (slices.end[numbers] - slices.start[numbers]).max(initial=0)
    return int(ticks) * open_trace.axis.ns_per_tick


def area_of(traces: Sequence[OpenTrace], slices: SliceSet) -> Area | None:
    """Return the area from the first start to the last end of some slices, on their tracks."""
    span = span_ns(traces, slices)
    if span is None:
        return None
    tracks = set()
    for trace, numbers in slices.of.items():
        columns = traces[trace].trace.slices
        has_slices = np.diff(np.searchsorted(numbers, columns.row_ptr.astype(np.uint32))) > 0
        tracks |= {(trace, track) for track in np.unique(columns.row_track[has_slices]).tolist()}
    # An area must have a length, so a moment is extended by 1 ns.
    return Area(span[0], max(span[1], span[0] + 1), frozenset(tracks))


def everything(traces: Sequence[OpenTrace], group: ClockGroup) -> Area:
    """Return all tracks of a clock group over its whole axis."""
    return Area(
        0,
        group.span_ns,
        frozenset(
            (number, track)
            for number in group.traces
            for track in range(len(traces[number].trace.tracks))
        ),
    )


def chosen_in(area: Area, traces: Sequence[OpenTrace]) -> dict[int, SelectedSlices]:
    """Return what an area selects, for statistics: by trace the slices that touch it, cut."""
    from viewer.analysis.statistics.selection import chosen_within

    of_trace = {}
    for number in sorted({trace for trace, _ in area.tracks}):
        open_trace = traces[number]
        first, last = (open_trace.axis.to_ticks_floor(ns) for ns in (area.t0, area.t1))
        tracks = [track for trace, track in area.tracks if trace == number]
        of_trace[number] = chosen_within(
            open_trace.table, open_trace.labels, open_trace.label_strings, tracks, first, last
        )
    return of_trace


class SelectedSpan:
    """The span of the selection, cached because ruler and canvas need it in every frame."""

    def __init__(self) -> None:
        self._asked: tuple[object, ...] = ()
        self._span: tuple[int, int] | None = None

    def of(
        self,
        traces: Sequence[OpenTrace],
        first: SliceRef,
        others: Sequence[SliceRef],
        members: Container[int],
    ) -> tuple[int, int] | None:
        """Return the span of a slice and others; cached while all but the first are the same.

        members: the traces whose times can be compared; slices of others do not count.
        """
        arguments: tuple[object, ...] = traces, others, members
        same = bool(self._asked) and all(
            a is b for a, b in zip(arguments, self._asked, strict=True)
        )
        if not same:
            self._asked = arguments
            self._span = span_ns(traces, SliceSet.of_refs(others).among(members))
        span = traces[first.trace].span_ns(first.index)
        if self._span is None:
            return span
        return min(self._span[0], span[0]), max(self._span[1], span[1])


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
