"""What the timeline says: names in headers, plans, what is at a point, and the tip of a slice.

The first line of a tip is its title. The text is computed for this one slice only, so it appears in
the frame that follows the mouse event.
"""

from __future__ import annotations

import numpy as np
from PySide6.QtCore import QPoint

from viewer.analysis.links.labels import describe_near, is_number, unlinked_text
from viewer.analysis.links.link_table import Link, LinkState
from viewer.analysis.memory.logged_allocations import allocation_text
from viewer.analysis.torq.measured_actions import TrackPlans
from viewer.dataclasses import dataclass
from viewer.gui.timeline.scene.drawings import job_of, measured_ns, ratio_of, rooms_of, zero_of
from viewer.gui.timeline.scene.scene import Scene
from viewer.model.inference_views import Inferences
from viewer.model.text import display_name, name_text
from viewer.model.times import RateOrigin, counted, format_briefly, format_position, format_ratio
from viewer.model.timing import holds_value, timing_of, timing_sentence
from viewer.model.trace import Unit
from viewer.program.program import Operator
from viewer.program.source_files import file_name
from viewer.render.layout import BandKind, Canvas, HeaderPart
from viewer.render.stacking import plan_room
from viewer.view.open_trace import OpenTrace
from viewer.view.state import SliceRef

# A file that takes less than 1/20 of the view is called a sliver.
SLIVER_RATIO = 20
SLIVER = "Too short to see here · right-click the name to zoom to this file"
_VIEW_NOTES = {
    Inferences.ALIGNED: "inferences aligned at their starts, without loads",
    Inferences.TYPICAL: "typical inference: the nearest to the median, without warm-up",
    Inferences.MEAN: "mean start and end of every slice (derived), without warm-up",
}


def process_title(scene: Scene, process: int) -> tuple[str, str]:
    """The name of a process and the files that it is linked to."""
    if process < 0:
        unstuck = scene.layout.pinned and not scene.layout.stuck
        return "Pinned", "too tall to stay in view" if unstuck else ""
    spec = scene.processes[process]
    table = scene.rasters[spec.trace].open_trace.table
    if table.program is None:
        return spec.name, unlinked_text(table.trace)
    if table.program.is_recorded:
        return spec.name, table.program.format
    linked = f"{table.program.title} {display_name(table.program.path)}"
    if table.executable is not None:
        linked += f", program {display_name(table.executable.path)}"
    return spec.name, linked


def process_note(scene: Scene, process: int) -> str:
    """The note about a process's time scale, on the right of its header."""
    if process < 0:
        return ""
    trace = scene.processes[process].trace
    open_trace = scene.rasters[trace].open_trace
    unit = open_trace.file.unit
    note = unit.worded(_VIEW_NOTES.get(scene.session.state.inferences, ""))
    if note and open_trace.trace is not open_trace.file:
        return (
            f"{counted(open_trace.cut, f'more {unit.noun}')} not shown · {note}"
            if open_trace.cut
            else note
        )
    rate = open_trace.rate
    guess = rate.origin is RateOrigin.ASSUMED and rate.unit == "cycle"
    # The header of a strip that names its only process has the rate already.
    is_in_header = scene.is_titled or not (guess or rate.origin is RateOrigin.CHOSEN)
    parts = [] if is_in_header else [rate.text]
    if scene.drawings.shared_clocks[trace]:
        parts.append(scene.drawings.shared_clocks[trace])
    if _is_sliver(scene, process):
        parts.append(SLIVER)
    session = scene.session
    if trace == session.noted_file and process == 0 and session.first_view_note:
        parts.append(session.first_view_note)
    return " · ".join(parts)


def track_title(scene: Scene, trace: int, track: int) -> tuple[str, str]:
    """The name of a track, and its number of inferences or search hits."""
    open_trace = scene.rasters[trace].open_trace
    name = open_trace.tracks.names[track]
    if scene.search.is_on:
        hits = scene.search.hits_on(trace, track)
        return name, counted(hits, "hit") if hits else ""
    if open_trace.trace is not open_trace.file:
        return name, ""
    runs = sum(1 for run in open_trace.trace.inferences() if run.track == track)
    return name, open_trace.trace.unit.counted(runs) if runs else ""


def full_title(scene: Scene, part: HeaderPart) -> str:
    """The name of a part; for a track, with its process."""
    track = scene.track_list.track_of(part)
    process = scene.track_list.processes[scene.track_list.process_of(part)]
    return process.name if track < 0 else f"{scene.track_list.names[track]} · {process.name}"


def counter_title(scene: Scene, band: int) -> tuple[str, str]:
    """The name of a band's counter, its windows, maximum and limit; below 0 also its minimum."""
    open_trace, number = _counter(scene, band)
    plot = open_trace.counters[number]
    name, _, windows = plot.counter.name.partition(" · ")
    rate = open_trace.axis.ns_per_tick
    extremes = f"max {plot.counter.text(plot.most, rate)}"
    if plot.counter.limit:
        extremes = f"{extremes} of {plot.counter.text(plot.counter.limit, rate)}"
    if plot.bottom < 0:
        extremes = f"min {plot.counter.text(plot.bottom, rate)}, {extremes}"
    return name, f"{windows} · {extremes}" if windows else extremes


def counter_value(scene: Scene, band: int, x: int, canvas: Canvas) -> tuple[float, str]:
    """The value of a band's counter at x: as a fraction of the height of its plot, and as text."""
    open_trace, number = _counter(scene, band)
    plot = open_trace.counters[number]
    rate = open_trace.axis.ns_per_tick
    greatest, mean = plot.at(int(canvas.column(x)), scene.xmap(canvas.columns).on(open_trace.axis))
    text = plot.counter.text(greatest, rate)
    if mean < greatest:
        text = f"up to {text}, mean {plot.counter.text(mean, rate)}"
    height = plot.top - plot.bottom
    return (greatest - plot.bottom) / height if height else 0.0, text


def counter_reading(scene: Scene, band: int, place: int, canvas: Canvas) -> str:
    """The value of a band's counter at a place on screen in ns: "12", "up to 12" if it varies."""
    xmap = scene.xmap(canvas.columns)
    column = xmap.column_at(place)
    column += xmap.place_at(column + 1) <= place  # places are whole ns, so one may begin earlier
    return counter_value(scene, band, int(canvas.x(column)), canvas)[1].partition(", mean ")[0]


def counter_tip(scene: Scene, band: int, x: int, canvas: Canvas) -> list[str]:
    """The lines of the hover tip for the counter in a band at x."""
    open_trace, number = _counter(scene, band)
    counter = open_trace.counters[number].counter
    place = scene.xmap(canvas.width).t_of(x)
    at_text = format_position(place, scene.ns_per_pixel(canvas.width))
    lines = [counter.name, f"{counter_value(scene, band, x, canvas)[1]} at {at_text}"]
    if counter.per_tick and open_trace.trace.clock.assumed:
        lines.append("at the assumed clock rate")
    return [*lines, counter.note] if counter.note else lines


def _counter(scene: Scene, band: int) -> tuple[OpenTrace, int]:
    """The trace of a counter's band, and the counter's index in it."""
    layout = scene.layout
    return scene.rasters[int(layout.trace[band])].open_trace, int(layout.counter[band])


def _is_sliver(scene: Scene, process: int) -> bool:
    """Whether a process is the first of a file that takes very little of the view."""
    trace = scene.processes[process].trace
    if process and scene.processes[process - 1].trace == trace:
        return False
    first, last = scene.session.traces[trace].whole_span_ns
    t0, t1 = scene.gaps.times(*scene.visible)
    return first < t1 and last > t0 and SLIVER_RATIO * (last - first) < t1 - t0


TITLE = "Plan of each job"
_UNITS = {
    Unit.DMA_IN: "DMA",
    Unit.DMA_OUT: "DMA",
    Unit.CDMA: "DMA",
    Unit.SLICE: "slice units",
    Unit.CSS: "CSS",
}
_LENGTHS_ONLY = "lengths only"


def plan_title(scene: Scene, band: int) -> tuple[str, str]:
    """The title of a row of plans, and the units in it."""
    plans = plans_of(scene, band)
    names = dict.fromkeys(_UNITS[unit] for unit in plans.lanes if unit in _UNITS)
    return TITLE, ", ".join(names) or _LENGTHS_ONLY


def plan_header_tip(scene: Scene, band: int) -> str:
    """Where the plans of a row come from, and at which clock rate they are drawn."""
    lines = [TITLE]
    for job in plans_of(scene, band).jobs:
        path = job.source
        if job.profile is not None:
            path = scene.rasters[job.profile.trace].open_trace.file.path
        lines.append(f"{display_name(path)}, {job.rate.text}")
    if any(job.profile is None for job in plans_of(scene, band).jobs):
        lines.append("Plain bars: no open compile profile has slices for exactly this estimate")
    return "\n".join(dict.fromkeys(lines))


def plan_lines(plans: TrackPlans, index: int, open_trace: OpenTrace) -> list[str]:
    """The lines of the hover tip for one plan; shown: the trace of its job."""
    job = job_of(plans, index)
    lines = [
        f"{job.name}: planned {format_briefly(job.ns)} ({counted(job.cycles, 'cycle')} at "
        f"{job.rate.text}), measured {format_briefly(measured_ns(plans, index, open_trace))}, "
        f"{format_ratio(ratio_of(plans, index, open_trace))}"
    ]
    several = len({planned_job.dispatch for planned_job in plans.jobs}) > 1
    return [*lines, *filter(None, (job.label, job.dispatch if several else ""))]


def plans_of(scene: Scene, band: int) -> TrackPlans:
    """The plans in a band of plans."""
    layout = scene.layout
    return scene.plans.tracks[int(layout.trace[band]), int(layout.track[band])]


_MARK_REACH = 6  # px around a zero-length mark within which a click hits it


@dataclass(frozen=True, slots=True, eq=False)
class PointedPlan:
    """An execution whose plan is at a point, and the slice of the compile profile there."""

    plans: TrackPlans
    index: int
    slice: SliceRef | None


def slice_at(scene: Scene, canvas: Canvas, point: QPoint) -> SliceRef | None:
    """The slice drawn at a point of the canvas, None if there is none."""
    layout = scene.layout
    band = layout.band_at(point.y() + scene.scroll)
    if band >= 0 and layout.kind[band] == BandKind.PLAN:
        plan = plan_at(scene, canvas, point)
        return None if plan is None else plan.slice
    if band < 0 or layout.trace[band] < 0 or layout.row[band] < 0:
        return None
    trace = int(layout.trace[band])
    drawn = scene.rasters[trace]
    here = scene.xmap(canvas.columns).on(drawn.open_trace.axis)
    row, column = int(layout.row[band]), canvas.column(point.x())
    if layout.kind[band] == BandKind.STRIP:
        marks = drawn.raster.zero_marks(row, here)
        if len(marks.x) == 0:
            return None
        distance = abs(marks.x - column)
        nearest = int(distance.argmin())
        is_near = distance[nearest] <= canvas.device(_MARK_REACH)
        return SliceRef(trace, int(marks.first[nearest])) if is_near else None
    index = drawn.raster.hit(row, column, here)
    return SliceRef(trace, index) if index >= 0 else None


def plan_at(scene: Scene, canvas: Canvas, point: QPoint) -> PointedPlan | None:
    """The plan at a point of the canvas with its slice there, None if there is none."""
    layout = scene.layout
    band = layout.band_at(point.y() + scene.scroll)
    if band < 0 or layout.kind[band] != BandKind.PLAN:
        return None
    plans, xmap = plans_of(scene, band), scene.xmap(canvas.columns)
    open_trace, column = scene.rasters[plans.trace].open_trace, int(canvas.column(point.x()))
    here = xmap.on(open_trace.axis)
    if not 0 <= column < here.width:
        return None
    # The last job that starts before the next column: of several in one column, the drawn one.
    index = int(np.searchsorted(plans.start, here.edges[column + 1])) - 1
    if index < 0:
        return None
    rooms = rooms_of(plans, np.array([index]), here)
    first, last, planned = (int(part[0]) for part in (rooms.first, rooms.last, rooms.planned))
    if not first <= column < max(last, first + 1):
        return None
    profile = job_of(plans, index).profile
    if profile is None or column >= planned:
        return PointedPlan(plans, index, None)
    room = plan_room(int(layout.height[band]), len(plans.lanes), scene.font_scale)
    line = point.y() + scene.scroll - int(layout.y[band]) - room.first
    lane = line // room.lane
    lanes = plans.lanes_of[int(plans.job[index])]
    if line >= room.lane * len(plans.lanes) or lane not in lanes:
        return PointedPlan(plans, index, None)
    rate = job_of(plans, index).rate.ns_per_tick
    moved = here.gap_before(int(plans.start[index]))
    x_map = xmap.part(first, planned, rate, zero_of(plans, index, open_trace) + moved)
    raster = scene.rasters[profile.trace].raster
    hit = raster.hit(profile.rows[lanes.index(lane)], column - first, x_map)
    ref = SliceRef(profile.trace, hit) if hit >= 0 else None
    return PointedPlan(plans, index, ref)


_MOST_OPERATORS = 5


def slice_lines(open_trace: OpenTrace, index: int, resolution_ns: float = 1) -> list[str]:
    """The lines of the hover tip for one slice; the first is the title.

    resolution_ns: the ns per pixel of the view, by default whole ns.
    """
    name = open_trace.trace.name(index)
    label = open_trace.label(index)
    link = open_trace.link(index)
    position = "separate clock, position inside its call is for drawing only"
    if holds_value(open_trace.trace.slices, index):
        position = "is a value, not a time"
    elif open_trace.native(index) is None:
        position = f"at {format_position(open_trace.span_ns(index)[0], resolution_ns)}"
    lines = [name_text(label), f"{open_trace.length_text(index)} {position}"]
    if timing_of(open_trace.trace.slices, index) and open_trace.native(index) is None:
        lines.append(timing_sentence(open_trace.trace.slices, index))
    if name != label:
        lines.append(f"identifier {name}" if is_number(name) else name_text(name))
    if allocated := allocation_text(open_trace.trace, index):
        lines.append(f"then allocates {allocated}, time not logged")
    program = open_trace.table.program
    members = list(open_trace.table.executed(int(open_trace.trace.slices.key[index])))
    lines += _operator_lines(members, label, program.path if program else "")
    if not members:
        lines += _reason_lines(link)
    return lines


def plan_tip(scene: Scene, plan: PointedPlan, resolution_ns: float) -> list[str]:
    """The lines of the hover tip for a plan: of the slice in it, else of the plan itself."""
    if plan.slice is None:
        return plan_lines(plan.plans, plan.index, scene.rasters[plan.plans.trace].open_trace)
    open_trace = scene.rasters[plan.slice.trace].open_trace
    title, *rest = slice_lines(open_trace, plan.slice.index, resolution_ns)
    return [f"Planned: {title}", *rest]


def _operator_lines(members: list[Operator], label: str, path: str) -> list[str]:
    if len(members) == 1:
        name, place = members[0].label, _place(members[0], path)
        return [line for line in ("" if name in label else name, place) if line]
    if not members:
        return []
    # One line per operator: the time belongs to all of them and is never divided.
    lines = [f"shared by {counted(len(members), 'operator')}"]
    for member in members[:_MOST_OPERATORS]:
        place = _place(member, path)
        lines.append(f"{member.label}, {place}" if place else member.label)
    more = len(members) - _MOST_OPERATORS
    return [*lines, f"and {more} more"] if more > 0 else lines


def _place(operator: Operator, path: str) -> str:
    """Where an operator comes from, such as "attention.py:12 in forward" or "tiny.mlir:11"."""
    if (source := operator.source) is not None:
        inside = f" in {source.function}" if source.function else ""
        return f"{file_name(source.path)}:{source.line}{inside}"
    return f"{display_name(path)}:{operator.place.removeprefix('L')}" if operator.place else ""


def _reason_lines(link: Link) -> list[str]:
    """Why there is no operator, if one would be expected."""
    if link.reason.state is not LinkState.UNLINKED and not link.near:
        return []
    return [link.detail, *([nearby] if (nearby := describe_near(link)) else [])]
