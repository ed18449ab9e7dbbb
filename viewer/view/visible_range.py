"""The visible part of the axis of a clock group: its first view, and changes of the range. No Qt.

Ranges are [t0, t1) in ns of the axis. All functions are pure; the session applies their results.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from fractions import Fraction

from viewer.analysis.links.labels import run_number
from viewer.model.inferences.inference_views import Inferences, has_run_views
from viewer.model.text import display_name
from viewer.model.trace import Run, RunKind
from viewer.render.axis.xmap import Axis
from viewer.view.clock_groups import ClockGroup
from viewer.view.open_trace import OpenTrace
from viewer.view.state import Bookmark, ViewState
from viewer.view.ties import without
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


def limited(t0: int, t1: int, whole: int) -> tuple[int, int]:
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
    span = limited(*at_same_ticks(*state.range_of(group.key), before, axis), group.span_ns)
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
