"""The timelines of a report: a static picture of each clock, and the slices as data for the script.

The script replaces the picture; Opscope reads the data when it opens a report again. Times are
ticks of each profile, as differences: how long after the box before it on its row a box starts, and
how long it is. So numbers are short, exact, and smaller than 2**53 in any usual trace. `VERSION`
changes with the form, which `viewer.formats.opscope_report` reads.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import Any

import numpy as np

from viewer.analysis.cost.source_costs import place_of
from viewer.arrays import Ints
from viewer.html_report.contents import Axes, Contents, Profile
from viewer.html_report.html import details, paragraph, section, text
from viewer.model.intervals import durations
from viewer.model.queries import foreign
from viewer.model.text import name_text, one_line
from viewer.model.times import counted, group_digits
from viewer.model.timing import timings
from viewer.model.trace import Trace
from viewer.render.frame import CounterRaster
from viewer.render.layout import BandKind
from viewer.render.palette import edge_rgb, fills, label_colors
from viewer.render.time_axis import XMap
from viewer.view.clock_groups import group_caption, group_title
from viewer.view.timeline_drawing import (
    GROUP,
    Boxes,
    SvgTimeline,
    TimelineBands,
    timeline_bands,
    timeline_svg,
)
from viewer.view.visible_ranges import FirstView, first_view

Place = tuple[str, int]


class Places:
    """Numbers files and sets of lines, so that slices, rows and lines can name them.

    files: recorded paths, by number. sets: (file, line) pairs, by number.
    """

    def __init__(self) -> None:
        self._files: dict[str, int] = {}
        self._sets: dict[tuple[tuple[int, int], ...], int] = {}

    @property
    def files(self) -> list[str]:
        """The recorded paths, by number."""
        return list(self._files)

    @property
    def sets(self) -> list[list[tuple[int, int]]]:
        """The sets of (file, line), by number."""
        return [list(places) for places in self._sets]

    def file(self, path: str) -> int:
        """Return the number of a file."""
        return self._files.setdefault(path, len(self._files))

    def number(self, places: Iterable[Place | None]) -> int:
        """Return the number of a set of lines, -1 for none."""
        numbered = sorted({(self.file(place[0]), place[1]) for place in places if place})
        return self._sets.setdefault(tuple(numbered), len(self._sets)) if numbered else -1


VERSION = 1
NAME = "opscope-timeline"  # of the element with the data
_COUNTER_COLUMNS = 1200
_MOST_COUNTERS = 40
_TRACK_LETTERS = 200
_NONE = -1


def timeline_data(contents: Contents, places: Places) -> dict[str, Any]:
    """Return the timelines of a report as JSON values."""
    slices = sum(len(profile.shown.trace.slices) for profile in contents.profiles)
    axes = [_axis_data(contents, axis, places, max(slices, 1)) for axis in contents.axes]
    return {
        "version": VERSION,
        "colors": [_colors(is_dark) for is_dark in (False, True)],
        "axes": axes,
    }


def first_view_of(axis: Axes) -> FirstView:
    """Return the part of a clock's axis that a report shows first, as the window does."""
    return first_view([axis.traces[i] for i in axis.group.traces], axis.group.span_ns)


def _colors(is_dark: bool) -> dict[str, list[str]]:
    of_theme = fills(is_dark)
    return {
        "fill": [f"#{color:06x}" for color in of_theme],
        "label": [f"#{color:06x}" for color in label_colors(is_dark)],
        "edge": [f"#{color if is_dark else edge_rgb(color):06x}" for color in of_theme],
    }


def _axis_data(contents: Contents, axis: Axes, places: Places, slices: int) -> dict[str, Any]:
    bands = timeline_bands(axis.traces, axis.group, contents.limits.bands)
    layout, view = bands.layout, first_view_of(axis)
    limits = contents.limits
    profiles = []
    for profile, number in zip(axis.profiles, axis.group.traces, strict=True):
        share = len(profile.shown.trace.slices) / slices
        boxes = bands.boxes(
            number,
            most=max(int(limits.slices * share), limits.slices // 20),
            most_groups=max(int(limits.groups * share), limits.groups // 20),
            focus=(view.t0, view.t1),
        )
        profiles.append(_profile_data(bands, profile, boxes, places, limits.letters))
    return {
        "title": group_title(axis.group, axis.traces),
        "caption": group_caption(axis.group, axis.traces),
        "span": list(bands.span_ns),
        "view": [view.t0, view.t1],
        "note": view.note,
        "left_out": bands.left_out,
        "height": layout.total_height,
        "bands": {
            "kind": layout.kind.tolist(),
            "y": layout.y.tolist(),
            "height": layout.height.tolist(),
            "slice_height": layout.slice_height.tolist(),
            "title": [title[: limits.letters] for title in bands.titles],
        },
        "profiles": profiles,
        "counters": _counters(bands),
    }


def _profile_data(
    bands: TimelineBands, profile: Profile, boxes: Boxes, places: Places, letters: int
) -> dict[str, Any]:
    """Return the boxes of one profile; `letters` limits its names."""
    open_trace, trace = profile.shown, profile.shown.trace
    is_group = boxes.slice == GROUP
    slice_index, group = boxes.slice[~is_group], np.flatnonzero(is_group)
    keys, key_of = np.unique(trace.slices.key[slice_index], return_inverse=True)
    texts, text_of = _texts(profile, slice_index, letters)
    in_groups = _keys(profile, keys, places)
    is_first = np.append(True, boxes.row[1:] != boxes.row[:-1])[: len(boxes)]
    before = np.append(trace.start, boxes.end[:-1])[: len(boxes)]
    before[is_first] = trace.start
    clock, axis = open_trace.rate, open_trace.axis
    timing = timings(trace.slices)[slice_index]
    return {
        "number": profile.number,
        "title": one_line(profile.title)[:letters],
        "format": one_line(trace.format)[:letters],
        "clock": {
            "unit": clock.unit,
            "numerator": str(axis.ns_per_tick.numerator),
            "denominator": str(axis.ns_per_tick.denominator),
            "origin": str(clock.origin),
            "domain": one_line(trace.clock.domain)[:letters],
        },
        "start": str(trace.start),
        "start_ns": axis.to_ns(trace.start),
        "slices": len(trace.slices),
        "drawn": boxes.slice_count,
        "exact": len(slice_index),
        "rows": _rows(bands, trace, boxes.row, np.flatnonzero(is_first)),
        "gap": durations(before, boxes.start).tolist(),
        "dur": durations(boxes.start, boxes.end).tolist(),
        "color": boxes.color.tolist(),
        "text": text_of.tolist(),
        "key": key_of.tolist(),
        "group": np.diff(group, prepend=0).tolist(),
        "count": boxes.count[group].tolist(),
        "busy": boxes.busy[group].tolist(),
        "texts": texts,
        "keys": in_groups,
        "groups": [
            _group_labels(profile, key, [row[column] for row in in_groups], letters)
            for column, key in enumerate((profile.key, "module"))
        ],
        # A `viewer.model.timing.Timing` of each exact slice; empty if all are measured.
        "timing": timing.tolist() if timing.any() else [],
        "native": {
            str(i): open_trace.length_text(int(slice_index[i]))
            for i in np.flatnonzero(np.isin(slice_index, foreign(trace.slices))).tolist()
        },
    }


def _rows(bands: TimelineBands, trace: Trace, band: Ints, first: Ints) -> list[list[Any]]:
    """Return [band, number of boxes, track, depth] of every row with boxes; first: its first box.

    Tracks are named by their process and thread.
    """
    layout, slices = bands.layout, trace.slices
    sizes = np.diff(np.append(first, len(band)))
    rows: list[list[Any]] = []
    for slice_number, size in zip(band[first].tolist(), sizes.tolist(), strict=True):
        row, track = int(layout.row[slice_number]), trace.tracks[int(layout.track[slice_number])]
        names = [one_line(name)[:_TRACK_LETTERS] for name in (track.process, track.thread)]
        rows.append([slice_number, size, *names, int(slices.rows_drawn.row_depth[row])])
    return rows


def _texts(profile: Profile, index: Ints, letters: int) -> tuple[list[list[str]], Ints]:
    """Return [label, name in the file] of some slices, and the number of that of each.

    The name is left out if it is the label.
    """
    open_trace, trace = profile.shown, profile.shown.trace
    names = len(trace.strings) + 1
    both = open_trace.labels[index].astype(np.int64) * names + trace.slices.name[index]
    pairs, number = np.unique(both, return_inverse=True)
    texts = []
    for pair in pairs.tolist():
        label = _cut(open_trace.label_strings[pair // names], letters)
        name = _cut(trace.strings[pair % names], letters)
        texts.append([label] if name == label else [label, name])
    return texts, number


def _cut(name: str, letters: int) -> str:
    return name_text(name[:letters] + ("…" if len(name) > letters else ""))


def _keys(profile: Profile, keys: Ints, places: Places) -> list[list[int]]:
    """Return the group by operator (or name), the group by module, and the lines of some keys."""
    table, grouping = profile.shown.table, profile.shown.grouping
    columns: list[list[int]] = []
    for key in (profile.key, "module"):
        of_key = None if grouping.missing(key) else grouping.parts(key)[1]
        columns.append([_NONE] * len(keys) if of_key is None else of_key[keys].tolist())
    numbers = table.node_set_of_key[keys].tolist()
    lines = {
        number: places.number(place_of(part) for part in table.parts[number])
        for number in dict.fromkeys(numbers)
        if number >= 0
    }
    columns.append([lines.get(number, _NONE) for number in numbers])
    return [list(row) for row in zip(*columns, strict=True)]


def _group_labels(profile: Profile, key: str, numbers: list[int], letters: int) -> dict[str, str]:
    used = sorted({number for number in numbers if number >= 0})
    labels = profile.shown.grouping.parts(key)[0] if used else ()
    return {str(number): _cut(labels[number], letters) for number in used}


def _counters(bands: TimelineBands) -> list[dict[str, Any]]:
    """Return the counters in view: where each changes, or its columns if that is too often."""
    layout, counters = bands.layout, list[dict[str, Any]]()
    for band in np.flatnonzero(layout.kind == BandKind.COUNTER).tolist()[:_MOST_COUNTERS]:
        trace = int(layout.trace[band])
        raster = bands.traces[trace].counters[int(layout.counter[band])]
        counters.append({"band": band, **_counter_data(bands, trace, raster)})
    return counters


def _counter_data(bands: TimelineBands, trace: int, raster: CounterRaster) -> dict[str, Any]:
    axis, counter = bands.axis(trace), raster.counter
    scale = counter.scale(axis.ns_per_tick)
    if len(counter.tick) <= _COUNTER_COLUMNS:
        times = [axis.to_ns(tick) for tick in counter.tick.tolist()]
        most = mean = counter.value * scale
    else:
        t0, t1 = bands.span_ns
        columns, mean = raster.columns(XMap(t0, t1, _COUNTER_COLUMNS, axis))
        most, mean = columns * scale, mean * scale
        step = (t1 - t0) / _COUNTER_COLUMNS
        times = [t0 + round(i * step) for i in range(_COUNTER_COLUMNS)]
    return {
        "unit": counter.unit,
        "top": _number(raster.top * scale),
        "bottom": _number(raster.bottom * scale),
        "at": times,
        "most": [_number(value) for value in most.tolist()],
        "mean": [] if most is mean else [_number(value) for value in mean.tolist()],
    }


def _number(value: float) -> float | int | None:
    """Return a number as JSON has it, with six digits; None if it is not finite."""
    if not math.isfinite(value):
        return None
    return int(value) if float(value).is_integer() else float(f"{value:.6g}")


_ROWS = 40  # of a static picture


def timelines(contents: Contents, data: dict[str, Any]) -> str:
    """Return the timelines; data: what `timeline_data` embeds for the script."""
    slices = sum(len(profile.shown.trace.slices) for profile in contents.profiles)
    exact = exact_slices(data)
    if not slices:
        return ""
    if exact < slices:
        how = (
            f"This report has {group_digits(exact)} of {group_digits(slices)} slices: the longest. "
            "Shorter ones are drawn as groups, which are paler the less time they cover; a group "
            "has no duration of its own."
        )
    else:
        how = f"This report has all {counted(slices, 'slice')}."
    parts = [paragraph(how, "note"), _TOOLS]
    left_out = sum(axis["left_out"] for axis in data["axes"])
    if left_out:
        parts.append(paragraph(f"{counted(left_out, 'more row')} not in this report.", "note"))
    parts += [_axis(contents, axis, number) for number, axis in enumerate(contents.axes)]
    parts.append('<output id="selected" class="selected" aria-live="polite" hidden></output>')
    return section("timeline", "Timeline", *parts)


def exact_slices(data: dict[str, Any]) -> int:
    """Return how many slices are exact in the data of a report."""
    return sum(profile["exact"] for axis in data["axes"] for profile in axis["profiles"])


# What the script needs; hidden without it.
_TOOLS = """<div class="tools" hidden>
<label>Search <input id="search" type="search" autocomplete="off" spellcheck="false"></label>
<output id="matches" aria-live="polite"></output>
<button type="button" id="next-match">Next</button>
</div>"""


def _axis(contents: Contents, axis: Axes, number: int) -> str:
    title, view = group_title(axis.group, axis.traces), first_view_of(axis)
    several = len(contents.axes) > 1
    caption = group_caption(axis.group, axis.traces)
    heading = f"<h3>{text(title)} <small>{text(caption)}</small></h3>" if several else ""
    if contents.profiles and axis.profiles[0].arm:
        heading = f"<h3>{text(axis.profiles[0].title)} <small>{text(caption)}</small></h3>"
    svg_timeline = _svg(contents, axis, (view.t0, view.t1))
    whole = ""
    if view.note:
        whole = details("The whole trace", _figure(_svg(contents, axis, None), ""))
    return (
        f'{heading}\n<div class="axis" data-axis="{number}">\n'
        f'<div class="static">{_figure(svg_timeline, view.note)}{whole}</div>\n'
        '<div class="live" hidden></div>\n</div>'
    )


def _svg(contents: Contents, axis: Axes, span: tuple[int, int] | None) -> SvgTimeline:
    return timeline_svg(
        axis.traces,
        axis.group,
        span_ns=span,
        most_rows=min(_ROWS, contents.limits.bands),
        most_boxes=contents.limits.svg_boxes,
        style=False,
    )


def _figure(picture: SvgTimeline, note: str) -> str:
    notes = [note] if note else []
    if picture.exact < picture.slices:
        notes.append(
            f"{group_digits(picture.exact)} of {group_digits(picture.slices)} slices; the others "
            "are drawn as groups"
        )
    if picture.left_out:
        notes.append(f"{counted(picture.left_out, 'more row')} not drawn")
    caption = f"<figcaption>{text('. '.join(notes))}</figcaption>" if notes else ""
    return (
        '<figure><div class="scroll" tabindex="0" role="region" aria-label="Timeline">'
        f"{picture.svg}</div>{caption}</figure>"
    )
