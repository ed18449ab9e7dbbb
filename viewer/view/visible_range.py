"""Which part of the common axis is seen: at first, and what a range may be. No Qt.

Ranges are [t0, t1) in ns of the axis. Nothing here changes anything: the session asks and decides.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from fractions import Fraction

from viewer.analysis.links.labels import run_number
from viewer.model.inference_views import Inferences
from viewer.model.text import display_name
from viewer.model.trace import Run, RunKind
from viewer.render.layout import Axis
from viewer.view.open_trace import OpenTrace
from viewer.view.state import Bookmark, ViewState
from viewer.workspace.workspace import Workspace

MIN_SPAN_NS = 1
# A first view shows one run where all runs together are less than this share of the span: loading
# and the cold first run would fill the picture.
MOSTLY_RUNS = 0.4
# And one file where all of them, of one clock, are less than this share: each would be a hair.
MOSTLY_FILES = 0.05


@dataclass(frozen=True, slots=True)
class FirstView:
    """What is seen of files that were opened: a range, and of the first trace a run (its position
    in `Trace.runs`, None for no run). note: why it is not all of them, "" if it is."""

    t0: int
    t1: int
    run: int | None = None
    note: str = ""


def first_view(traces: Sequence[OpenTrace], whole: int) -> FirstView:
    """All of an axis of `whole` ns, or the second inference where loading would fill the picture,
    or the first file where others lie far from it."""
    everything = FirstView(*with_margin(0, whole))
    if not traces:
        return everything
    first = traces[0]
    spans = [file_span_ns(shown) for shown in traces]
    if sum(end - start for start, end in spans) < MOSTLY_FILES * whole:
        name = display_name(first.file.path)
        note = f"first view: {name} · the other files lie far from it"
        return FirstView(*with_margin(*spans[0]), note=note)
    runs = list(first.trace.inferences())
    length = first.trace.end - first.trace.start
    if not runs or sum(r.end - r.start for r in runs) >= MOSTLY_RUNS * length:
        return everything
    run = next((r for r in runs if r.number == 2 and r.track == runs[0].track), runs[0])
    loads = any(r.kind is RunKind.LOAD for r in first.trace.runs)
    before = "load lies before it" if run.number == 1 else "the cold run 1 lies before it"
    if loads and run.number > 1:
        before = "load and the cold run 1 lie before it"
    return FirstView(
        *with_margin(*run_span_ns(first, run)),
        first.trace.runs.index(run),
        f"first view: {run_number(run)} · {before}",
    )


def file_span_ns(shown: OpenTrace) -> tuple[int, int]:
    """Where a trace lies on the axis."""
    return shown.axis.to_ns(shown.trace.start), shown.axis.to_ns(shown.trace.end)


def run_span_ns(shown: OpenTrace, run: Run) -> tuple[int, int]:
    """Where a run of a trace lies on the axis."""
    return shown.axis.to_ns(run.start), shown.axis.to_ns(run.end)


def run_in_view(shown: OpenTrace, t0: int, t1: int) -> int | None:
    """The position in `Trace.runs` of the inference around the middle of a range, None if there is
    none, or if the range is so long that its place in it means nothing."""
    middle = (t0 + t1) // 2
    for number, run in enumerate(shown.trace.runs):
        first, last = run_span_ns(shown, run)
        if run.kind is RunKind.INFERENCE and first <= middle < last:
            return number if t1 - t0 <= 2 * (last - first) else None
    return None


def axis_length(space: Workspace, traces: Sequence[OpenTrace], inferences: Inferences) -> int:
    """How long the common axis is where traces are shown so, at least 1 ns."""
    if inferences is Inferences.AS_RUN:
        return max(space.clocks.span_ns(), 1)
    return max((t.axis.to_ns(t.trace.end) for t in traces), default=1)


def with_margin(t0: int, t1: int) -> tuple[int, int]:
    """A range with 2 % of air on both sides."""
    air = max((t1 - t0) // 50, 1)
    return t0 - air, t1 + air


def limited(t0: int, t1: int, whole: int) -> tuple[int, int]:
    """A range moved, and shortened where it must be, into an axis of `whole` ns and a tenth of it
    on both sides."""
    margin = max(whole // 10, 1)
    low, high = -margin, whole + margin
    span = min(max(t1 - t0, MIN_SPAN_NS), high - low)
    t0 = min(max(t0, low), high - span)
    return t0, t0 + span


def zoomed(
    t0: int, t1: int, factor: float, at_ns: int | Fraction, share: Fraction | None
) -> tuple[int, int]:
    """A range scaled by `factor` (below 1 shows less) around a time that stays put.

    share: where in the view that time stays, 0 to 1; None for where it is now.
    """
    span = max(MIN_SPAN_NS, round((t1 - t0) * factor))
    if span == t1 - t0 and factor != 1:
        # Of few ns a share is less than one: every step must show all the same.
        span = max(span + (1 if factor > 1 else -1), MIN_SPAN_NS)
    if share is None:
        share = Fraction(at_ns - t0) / (t1 - t0)
    t0 = round(at_ns - share * span)
    return t0, t0 + span


def at_same_ticks(t0: int, t1: int, before: Axis, axis: Axis) -> tuple[int, int]:
    """The range of one axis that shows the ticks that a range of another did, at least 1 ns."""
    scale = axis.ns_per_tick / before.ns_per_tick
    first, last = (round((t - before.offset_ns) * scale) + axis.offset_ns for t in (t0, t1))
    return first, max(last, first + MIN_SPAN_NS)


def moved_span(t0: int, t1: int, before: Axis, axis: Axis) -> tuple[int, int]:
    """The same as `at_same_ticks` for a span that may be a moment, which stays one."""
    if t0 == t1:
        first = at_same_ticks(t0, t1, before, axis)[0]
        return first, first
    return at_same_ticks(t0, t1, before, axis)


def marks_at_same_ticks(
    marks: Sequence[Bookmark], before: Axis, axis: Axis
) -> tuple[Bookmark, ...]:
    """Marks moved so that they stay at the ticks of one trace; names and notes go with them."""
    moved = []
    for mark in marks:
        t0, t1 = moved_span(mark.t0, mark.t1, before, axis)
        moved.append(replace(mark, t0=t0, t1=t1))
    return tuple(moved)


def with_ticks_kept(
    state: ViewState, trace: int, before: Axis, axis: Axis, whole: int
) -> ViewState:
    """A view in which range, area, marks and measure stay at the ticks of one trace, whose axis is
    another now; `whole` ns are the length of the common axis then."""
    t0, t1 = limited(*at_same_ticks(state.t0, state.t1, before, axis), whole)
    area, measured = state.area, state.measured
    if area is not None:
        # An area on tracks of several traces has no ticks that it could keep.
        own = all(owner == trace for owner, _ in area.tracks)
        first, last = at_same_ticks(area.t0, area.t1, before, axis)
        area = replace(area, t0=first, t1=last) if own else None
    return replace(
        state,
        t0=t0,
        t1=t1,
        area=area,
        marks=marks_at_same_ticks(state.marks, before, axis),
        measured=measured and moved_span(*measured, before, axis),
    )
