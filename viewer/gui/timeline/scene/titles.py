"""Names, notes and values in the headers of processes, tracks and counters."""

from __future__ import annotations

from viewer.analysis.links.labels import unlinked_text
from viewer.gui.timeline.scene.scene import Scene
from viewer.model.inferences.inference_views import Inferences
from viewer.model.text import display_name
from viewer.model.times import RateOrigin, counted, format_position
from viewer.render.canvas import Canvas
from viewer.render.layout import HeaderPart
from viewer.view.open_trace import OpenTrace

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
