"""The visible ranges of all clock groups: at first, after files changed, and tied together. No Qt.

Pure functions from one `ViewState` to another; the session applies their results.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace

from viewer.model.inferences.inference_views import Inferences
from viewer.view import visible_range
from viewer.view.clock_groups import (
    ClockGroup,
    ClockGroups,
    axis_spans,
    axis_zeros,
    group_key,
)
from viewer.view.open_trace import OpenTrace
from viewer.view.state import SliceRef, ViewState
from viewer.view.ties import Range, all_bounds, are_in_reach, moved_together, without
from viewer.view.visible_range import FirstView, first_view, with_margin


def first_views(groups: Sequence[ClockGroup], traces: Sequence[OpenTrace]) -> dict[str, FirstView]:
    """Return the initial view of each clock group, by its key."""
    return {
        group.key: first_view([traces[number] for number in group.traces], group.span_ns)
        for group in groups
    }


def opened(
    state: ViewState, groups: Sequence[ClockGroup], traces: Sequence[OpenTrace]
) -> ViewState:
    """Return a view for the groups that are open now: new ones get their initial view.

    What belonged to groups that were closed is dropped, except for their bookmarks, which are back
    once the file is.
    """
    keys = [group.key for group in groups]
    all_ranges = state.all_ranges
    fresh = [group for group in groups if group.key not in all_ranges]
    ranges = {key: span for key, span in all_ranges.items() if key in keys}
    ranges |= {key: (first.t0, first.t1) for key, first in first_views(fresh, traces).items()}
    active = state.clock if state.clock in keys else keys[0]
    t0, t1 = ranges.pop(active)
    ties = without(state.ties, set(state.ties) - set(keys))
    if not are_in_reach(ties, axis_spans(groups)):
        ties = {}  # a file that was opened on one of their clocks is too long
    return replace(state, clock=active, t0=t0, t1=t1, ranges=ranges, ties=ties)


def axis_moves(before: Sequence[OpenTrace], now: Sequence[OpenTrace]) -> dict[str, int]:
    """Return what to add to times of the clock groups whose axes start at another moment now.

    An axis starts with the earliest of its files, so an earlier one that is opened moves it. Only
    groups that keep a trace count: their clock is the same. before, now: all open traces.
    """
    rates = {id(open_trace.file.slices.start): open_trace.axis.ns_per_tick for open_trace in before}
    zeros, moves = axis_zeros(before), axis_zeros(now)
    keys = [
        group_key(open_trace)
        for open_trace in now
        if rates.get(id(open_trace.file.slices.start)) == open_trace.axis.ns_per_tick
    ]
    return {
        key: zeros[key] - moves[key] for key in keys if key in zeros and zeros[key] != moves[key]
    }


def regrouped(
    state: ViewState, groups: ClockGroups, before: Sequence[OpenTrace], now: Sequence[OpenTrace]
) -> ViewState:
    """Return a view after files were put on one axis, or on axes of their own again.

    It shows and marks the same moments. Of groups with other files than before, everything is
    visible, and none is tied. groups: of all open traces, `now`, which start with those of before.
    """
    state = state.unstretched
    zeros = axis_zeros(before), axis_zeros(now)
    moved: dict[str, tuple[str, int]] = {}
    files: dict[str, set[int]] = {}
    for number, (old, new) in enumerate(zip(before, now, strict=False)):
        first, last = (
            open_trace.place.shift_ns - zero.get(group_key(open_trace), 0)
            for open_trace, zero in zip((old, new), zeros, strict=True)
        )
        moved.setdefault(group_key(old), (group_key(new), last - first))
        files.setdefault(group_key(old), set()).add(number)
    keys = {group.key for group in groups if files.get(group.key) == set(group.traces)}

    def placed(key: str, span: Range) -> tuple[str, Range]:
        new, by = moved.get(key, (key, 0))
        return new, _moved(span, by)

    state = _with_marks_placed(state, placed)
    area = state.area
    if area is not None and area.tracks and state.inferences is Inferences.AS_RUN:
        _, (t0, t1) = placed(group_key(before[min(area.tracks)[0]]), (area.t0, area.t1))
        area = replace(area, t0=t0, t1=t1)
    ranges = {group.key: with_margin(0, group.span_ns) for group in groups}
    ranges |= {key: span for key, span in state.all_ranges.items() if key in keys}
    active = moved.get(state.clock, (state.clock, 0))[0]
    active = active if active in ranges else groups[0].key
    t0, t1 = ranges.pop(active)
    names = {key: new for key, (new, _) in moved.items()}
    return replace(
        state,
        clock=active,
        t0=t0,
        t1=t1,
        ranges=ranges,
        ties=without(state.ties, set(state.ties) - keys),
        strips=state.strips.renamed(names, keys),
        area=area,
    )


def with_axes_moved(state: ViewState, groups: ClockGroups, moves: Mapping[str, int]) -> ViewState:
    """Return a view that shows and marks the same moments after `axis_moves`.

    Only inferences as they ran move with the axis: others start at 0.
    """
    if not moves:
        return state
    state = _with_marks_placed(
        state, lambda clock, span: (clock, _moved(span, moves.get(clock, 0)))
    )
    area = state.area
    if state.inferences is not Inferences.AS_RUN:
        return state
    if area is not None and area.tracks:
        owner = groups.of(min(area.tracks)[0]).key
        t0, t1 = _moved((area.t0, area.t1), moves.get(owner, 0))
        area = replace(area, t0=t0, t1=t1)
    ties = {
        key: tie if tie.anchor is None else replace(tie, anchor=tie.anchor + moves.get(key, 0))
        for key, tie in state.ties.items()
    }
    ranges = {key: _moved(span, moves.get(key, 0)) for key, span in state.all_ranges.items()}
    return with_ranges(replace(state, area=area, ties=ties), ranges)


def _with_marks_placed(
    state: ViewState, placed: Callable[[str, Range], tuple[str, Range]]
) -> ViewState:
    """Return a view with bookmarks, measured range and derived tracks on other clocks."""
    bookmarks = []
    for mark in state.bookmarks:
        clock, (t0, t1) = placed(mark.clock, (mark.t0, mark.t1))
        bookmarks.append(replace(mark, clock=clock, t0=t0, t1=t1))
    measured_on, measured = state.measured_on, state.measured
    if measured is not None:
        measured_on, measured = placed(measured_on, measured)
    derived = tuple(replace(d, clock=placed(d.clock, (0, 0))[0]) for d in state.derived)
    marks = tuple(bookmarks)
    return replace(
        state, bookmarks=marks, measured=measured, measured_on=measured_on, derived=derived
    )


def _moved(span: Range, by: int) -> Range:
    return span[0] + by, span[1] + by


def adapted(
    past: ViewState, now: ViewState, groups: ClockGroups, moves: Mapping[str, int]
) -> ViewState:
    """Return an earlier view for files that were opened after it.

    now: the current view, whose ranges new groups get. moves: see `axis_moves`.
    """
    moved = with_axes_moved(past, groups, moves)
    return with_ranges(moved, {**now.all_ranges, **moved.all_ranges})


def reset(
    state: ViewState, groups: Sequence[ClockGroup], traces: Sequence[OpenTrace]
) -> tuple[ViewState, str]:
    """Return the view with every group at its initial view, and the note on that of the first."""
    views = first_views(groups, traces)
    first = views[groups[0].key]
    run = None if first.run is None else (groups[0].traces[0], first.run)
    ranges = {group.key: (views[group.key].t0, views[group.key].t1) for group in groups[1:]}
    view_state = replace(
        state,
        clock=groups[0].key,
        t0=first.t0,
        t1=first.t1,
        ranges=ranges,
        ties={},
        gaps={},
        run=run,
    )
    return view_state, first.note


def everything(state: ViewState, groups: Sequence[ClockGroup]) -> ViewState:
    """Return the view with every group shown from start to end, and none aligned.

    For another display of inferences, which has other times.
    """
    ranges = {group.key: with_margin(0, group.span_ns) for group in groups}
    t0, t1 = ranges.pop(state.clock)
    return replace(state, t0=t0, t1=t1, ranges=ranges, ties={}, gaps={})


def limited(state: ViewState, groups: Sequence[ClockGroup], span: Range) -> Range:
    """Return the nearest range that the active clock group can show; see `limited_range`."""
    return limited_range(state, groups, state.clock, span)


def limited_range(state: ViewState, groups: Sequence[ClockGroup], clock: str, span: Range) -> Range:
    """Return the nearest range that a clock group can show: inside its axis plus a margin.

    For an aligned group, the extents of the groups aligned to it count, too.
    """
    return _limited(state, groups, {clock: span})[clock]


def _limited(
    state: ViewState, groups: Sequence[ClockGroup], ranges: Mapping[str, Range]
) -> dict[str, Range]:
    """Return the nearest ranges that clock groups can show, by key."""
    spans = axis_spans(groups, state.gaps)
    result = {}
    for key, (low, high) in all_bounds(state.ties, spans, ranges).items():
        t0, t1 = ranges[key]
        t0, t1 = visible_range.limited(t0 - low, t1 - low, high - low)
        result[key] = t0 + low, t1 + low
    return result


def restored(
    state: ViewState, groups: Sequence[ClockGroup], traces: Sequence[OpenTrace]
) -> ViewState:
    """Return a saved view for the open groups, each inside its limits."""
    return within_limits(opened(state, groups, traces), groups)


def revealed(
    state: ViewState, groups: Sequence[ClockGroup], traces: Sequence[OpenTrace], ref: SliceRef
) -> ViewState:
    """Return a view of the slice's clock group in which the slice is visible.

    Expands its track if anything hides it, and moves the range only if it is entirely outside.
    """
    open_trace = traces[ref.trace]
    start, end = state.on_screen(*open_trace.span_ns(ref.index))
    t0, t1 = state.t0, state.t1
    if end <= t0 or start >= t1:
        span = t1 - t0
        # Show the start of a slice that is longer than the view.
        t0 = (start + end) // 2 - span // 2 if end - start <= span else start - span // 4
        t0, t1 = limited_range(state, groups, state.clock, (t0, t0 + span))
    table, track = open_trace.tracks, open_trace.trace.slices.track(ref.index)
    process = ref.trace, table.processes[int(table.process[track])]
    tracks = state.tracks.showing((ref.trace, track), table.names[track], process)
    collapsed = state.strips.collapsed - {state.clock}
    strips = replace(state.strips, collapsed=collapsed)
    return replace(state, t0=t0, t1=t1, tracks=tracks, strips=strips)


def tied(before: ViewState, after: ViewState) -> ViewState:
    """Return a view in which groups that are tied to the active one have followed its range."""
    range_before = before.range_of(after.clock)
    if (
        after.clock not in after.ties
        or range_before == (after.t0, after.t1)
        or after.ties != before.ties
    ):
        return after
    ranges = moved_together(after.ties, after.all_ranges, after.clock, range_before)
    return with_ranges(after, ranges)


def within_limits(state: ViewState, groups: Sequence[ClockGroup]) -> ViewState:
    """Return a view with the range of each group inside its limits: ties move it out of them."""
    ranges = {group.key: state.range_of(group.key) for group in groups}
    return with_ranges(state, _limited(state, groups, ranges))


def with_ranges(state: ViewState, ranges: Mapping[str, Range]) -> ViewState:
    """Return a view with other ranges of its groups, by key."""
    others = {**state.all_ranges, **ranges}
    t0, t1 = others.pop(state.clock)
    return replace(state, t0=t0, t1=t1, ranges=others)


def marks_on(state: ViewState, clock: str) -> list[int]:
    """Return the numbers of the bookmarks on a clock group."""
    return [number for number, mark in enumerate(state.bookmarks) if mark.clock == clock]
