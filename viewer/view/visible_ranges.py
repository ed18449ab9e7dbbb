"""The visible ranges of clock groups: at first, zoomed, after files changed, and tied. No Qt.

Ranges are [t0, t1) in ns of the axis. All functions are pure: some map ranges of one group, others
one `ViewState` to another. The session applies their results.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from fractions import Fraction

from viewer.analysis.links.labels import run_number
from viewer.dataclasses import dataclass, replace
from viewer.model.inference_views import Inferences, has_run_views
from viewer.model.text import display_name
from viewer.model.trace import Run, RunKind
from viewer.render.time_axis import Axis
from viewer.view.clock_groups import (
    ClockGroup,
    ClockGroups,
    Range,
    all_bounds,
    are_in_reach,
    axis_spans,
    axis_zeros,
    group_key,
    moved_together,
    without,
)
from viewer.view.open_trace import OpenTrace
from viewer.view.state import Bookmark, SliceRef, ViewState
from viewer.workspace.workspace import Workspace

MIN_SPAN_NS = 1
# The first view shows one inference if all of them are less than this share of the span: loading
# and warm-up would fill the view.
MOSTLY_RUNS = 0.4
# It shows one file if all files of one clock are less than this share: each would be a sliver.
MOSTLY_FILES = 0.05


@dataclass(frozen=True, slots=True)
class FirstView:
    """The initial view of opened files.

    t0, t1: the range. run: a run of the first trace (its position in `Trace.runs`), or None. note:
    why it does not show everything, "" if it does.
    """

    t0: int
    t1: int
    run: int | None = None
    note: str = ""


def first_state(space: Workspace, preferred: ViewState) -> ViewState:
    """Return the state in which the first files are shown: inferences and warm-up as preferred.

    Without a trace of several inferences, they are shown as they ran.
    """
    has_views = any(map(has_run_views, space.traces))
    inferences = preferred.inferences if has_views else Inferences.AS_RUN
    return ViewState(inferences=inferences, warm_up=preferred.warm_up)


def first_view(traces: Sequence[OpenTrace], whole: int) -> FirstView:
    """Return the initial view for an axis of `whole` ns.

    It shows the whole axis; or one inference, not the first, if loading would fill the view; or the
    typical one, if slow ones would fill it; or the first file, if the others are far
    away from it.
    """
    everything = FirstView(*with_margin(0, whole))
    if not traces:
        return everything
    first = traces[0]
    spans = [open_trace.whole_span_ns for open_trace in traces]
    if sum(end - start for start, end in spans) < MOSTLY_FILES * whole:
        name = display_name(first.file.path)
        note = f"Showing {name} · the other files are far away in time"
        return FirstView(*with_margin(*spans[0]), note=note)
    runs = list(first.trace.inferences())
    if not runs:
        return everything
    outliers = first.findings.outliers if first.trace is first.file else None
    if outliers and not outliers.name:  # of a single scope
        run = first.trace.runs[outliers.typical]
        slow = f"{outliers.slow} are slow" if outliers.slow > 1 else "one is slow"
        note = f"Showing {run_number(run)}, the typical one ({slow})"
    elif sum(r.end - r.start for r in runs) >= MOSTLY_RUNS * (first.trace.end - first.trace.start):
        return everything
    else:
        of_track = [run for run in runs if run.track == runs[0].track]
        run = next((run for run in of_track if run.number > 1 and not run.warms_up), runs[0])
        skipped = ["load"] * any(r.kind is RunKind.LOAD for r in first.trace.runs)
        if run.number > 1:
            skipped.append("warm-up" if of_track[0].warms_up else f"{run.unit.label} 1")
        note = f"Showing {run_number(run)}"
        note += f" (skipping {' and '.join(skipped)})" if skipped else ""
    position = first.trace.runs.index(run)
    return FirstView(*with_margin(*run_span_ns(first, run)), position, note)


def view_of_file(open_trace: OpenTrace) -> FirstView:
    """Return the initial view of one file, as if it alone were open, on the axis of its group."""
    start, end = open_trace.whole_span_ns
    first = first_view((open_trace,), end - start)
    if first.run is not None:
        return first
    t0, t1 = with_margin(start, end)
    return replace(first, t0=t0, t1=t1)


def run_span_ns(open_trace: OpenTrace, run: Run) -> tuple[int, int]:
    """Return start and end of a trace's run on the axis."""
    return open_trace.axis.to_ns(run.start), open_trace.axis.to_ns(run.end)


def run_in_view(open_trace: OpenTrace, t0: int, t1: int) -> int | None:
    """Return the position in `Trace.runs` of the inference at the center of a range.

    None if there is none, or if the range is more than twice its length.
    """
    middle = (t0 + t1) // 2
    for number, run in enumerate(open_trace.trace.runs):
        first, last = run_span_ns(open_trace, run)
        if run.kind is RunKind.INFERENCE and first <= middle < last:
            return number if t1 - t0 <= 2 * (last - first) else None
    return None


def with_margin(t0: int, t1: int) -> tuple[int, int]:
    """Return a range with a 2 % margin on both sides."""
    margin = max((t1 - t0) // 50, 1)
    return t0 - margin, t1 + margin


def limited_to_axis(t0: int, t1: int, whole: int) -> tuple[int, int]:
    """Return a range moved, and shortened if necessary, into the axis plus margins.

    whole: the length of the axis in ns; the margin is a tenth of it on both sides.
    """
    margin = max(whole // 10, 1)
    low, high = -margin, whole + margin
    span = min(max(t1 - t0, MIN_SPAN_NS), high - low)
    t0 = min(max(t0, low), high - span)
    return t0, t0 + span


def zoomed(
    t0: int, t1: int, factor: float, at_ns: int | Fraction, share: Fraction | None
) -> tuple[int, int]:
    """Return a range scaled by `factor` (below 1 zooms in) around a fixed time.

    share: the position of that time in the new view, 0 to 1; None to keep its position.
    """
    span = max(MIN_SPAN_NS, round((t1 - t0) * factor))
    if span == t1 - t0 and factor != 1:
        # With few ns, the change may round to zero, but every step must have a visible effect.
        span = max(span + (1 if factor > 1 else -1), MIN_SPAN_NS)
    if share is None:
        share = Fraction(at_ns - t0) / (t1 - t0)
    t0 = round(at_ns - share * span)
    return t0, t0 + span


def at_same_ticks(t0: int, t1: int, before: Axis, axis: Axis) -> tuple[int, int]:
    """Return the range on one axis with the same ticks as on another, at least 1 ns."""
    scale = axis.ns_per_tick / before.ns_per_tick
    first, last = (round((t - before.offset_ns) * scale) + axis.offset_ns for t in (t0, t1))
    return first, max(last, first + MIN_SPAN_NS)


def moved_span(t0: int, t1: int, before: Axis, axis: Axis) -> tuple[int, int]:
    """Return the same as `at_same_ticks` for a span that may be a moment, which stays one."""
    if t0 == t1:
        first = at_same_ticks(t0, t1, before, axis)[0]
        return first, first
    return at_same_ticks(t0, t1, before, axis)


def with_ticks_kept(
    state: ViewState, group: ClockGroup, trace: int, before: Axis, axis: Axis
) -> ViewState:
    """Return a view of which everything on a clock group stays at one trace's ticks.

    That is: range, area, bookmarks and measurement; an alignment of the group ends. group: as it is
    after the change. before, axis: the axis of that trace before and after the change.
    """
    state = state.with_gaps({})
    span = limited_to_axis(*at_same_ticks(*state.range_of(group.key), before, axis), group.span_ns)
    area, measured = state.area, state.measured
    if area is not None and any(owner in group.traces for owner, _ in area.tracks):
        # An area on tracks of several traces cannot keep the ticks of all of them.
        is_of_trace = all(owner == trace for owner, _ in area.tracks)
        first, last = at_same_ticks(area.t0, area.t1, before, axis)
        area = replace(area, t0=first, t1=last) if is_of_trace else None
    if measured is not None and state.measured_on == group.key:
        measured = moved_span(*measured, before, axis)
    bookmarks = [
        _moved_mark(mark, before, axis) if mark.clock == group.key else mark
        for mark in state.bookmarks
    ]
    ranges, active = dict(state.ranges), (state.t0, state.t1)
    if group.key == state.clock:
        active = span
    else:
        ranges[group.key] = span
    return replace(
        state,
        t0=active[0],
        t1=active[1],
        ranges=ranges,
        area=area,
        bookmarks=tuple(bookmarks),
        measured=measured,
        # At another rate, the spans of tied groups are no longer in proportion.
        ties=without(state.ties, {group.key}),
    )


def _moved_mark(mark: Bookmark, before: Axis, axis: Axis) -> Bookmark:
    t0, t1 = moved_span(mark.t0, mark.t1, before, axis)
    return replace(mark, t0=t0, t1=t1)


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
        t0, t1 = limited_to_axis(t0 - low, t1 - low, high - low)
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
