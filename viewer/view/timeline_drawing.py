"""The timeline of open traces as boxes and as one SVG of limited size, without script. No Qt.

The longest slices are drawn exactly. Neighbors on a row that are too short are groups, which never
reach over an exact slice, and whose figures are exact. Nothing is done per slice but array
operations. Rows of a clock group are stacked as in the window; those left out are counted.

The SVG has the colors of the window, light or dark as the reader prefers. They are rules of a style
sheet, so that the SVG can be part of a page that allows no inline styles. Names come from files of
strangers: they are on one line, escaped, and limited in length.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from viewer.arrays import Bools, Floats, Ints, joined
from viewer.dataclasses import dataclass, replace
from viewer.model.intervals import durations
from viewer.model.text import name_text, one_line
from viewer.model.times import counted, format_share, format_time, plain_spaces
from viewer.render.arrangement import NO_TRACKS, TrackList, TrackView, track_list
from viewer.render.color_schemes import DEFAULT
from viewer.render.flame_graph.svg import cut_to, escaped, px_text, rgb_text
from viewer.render.layout import SLICE_TOP, BandKind, TimelineLayout
from viewer.render.lod import Lengths, weights_of
from viewer.render.palette import (
    UNATTRIBUTED,
    UNLINKED,
    Palette,
    canvas_rgb,
    edge_rgb,
    fills,
    label_colors,
)
from viewer.render.stacking import Density, stack
from viewer.render.time_axis import Axis, XMap, ruler
from viewer.view.clock_groups import ClockGroup, axis_zeros, group_title
from viewer.view.open_trace import OpenTrace, palette_of


@dataclass(frozen=True, eq=False)
class TimelineBands:
    """The bands of the traces of one clock, and what they are called.

    traces: all open ones. layout: the bands; `stack` made them. left_out: how many rows are not
    among them. span_ns: start and end of the axis.
    """

    traces: Sequence[OpenTrace]
    group: ClockGroup
    track_list: TrackList
    layout: TimelineLayout
    left_out: int
    span_ns: tuple[int, int]

    @cached_property
    def titles(self) -> list[str]:
        """The title of each band, on one line: of a process, a track's first row, or a counter."""
        layout, titles = self.layout, list[str]()
        before: tuple[int, int] | None = None
        for band, kind in enumerate(layout.kind.tolist()):
            trace, track = int(layout.trace[band]), int(layout.track[band])
            title, part = "", (trace, track) if track >= 0 else None
            if kind == BandKind.PROCESS:
                title = self.track_list.processes[int(layout.process[band])].name
            elif kind == BandKind.COUNTER:
                title = self.traces[trace].counters[int(layout.counter[band])].counter.name
            elif part is not None and part != before:
                title = self.traces[trace].tracks.names[track]
            titles.append(one_line(title))
            before = part
        return titles

    def axis(self, trace: int) -> Axis:
        """Return the axis of one trace."""
        return self.traces[trace].axis

    def boxes(
        self,
        trace: int,
        *,
        most: int,
        most_groups: int,
        cell_ns: float = 0,
        span: tuple[int, int] | None = None,
        focus: tuple[int, int] | None = None,
    ) -> Boxes:
        """Return the boxes of a trace; their rows are the bands of the layout. See `boxes_of`.

        cell_ns: the shortest time that is divided into several groups. span: only slices that are
        at least partly in this range of the axis, in ns. focus: a range of which more slices are
        exact.
        """
        open_trace, layout = self.traces[trace], self.layout
        slices = open_trace.trace.slices
        color = palette_of(open_trace, DEFAULT)
        cell = max(int(cell_ns / float(open_trace.axis.ns_per_tick)), 1)
        is_zero = slices.start == slices.end
        is_seen, is_in_focus = self._is_within(trace, span), self._is_within(trace, focus)
        parts = []
        for kind in (BandKind.ROW, BandKind.STRIP):
            bands = np.flatnonzero((layout.kind == kind) & (layout.trace == trace))
            rows = slices.rows_drawn
            band_of_row = np.full(len(rows.row_track), -1, np.int64)
            band_of_row[layout.row[bands]] = bands
            band = band_of_row.repeat(np.diff(rows.row_ptr))
            if slices.drawn_rows is not None:
                band = band[slices.drawn_rows.position]
            is_own = is_seen & (band >= 0) & (is_zero == (kind == BandKind.STRIP))
            number = np.flatnonzero(is_own)
            if slices.drawn_rows is not None:
                number = slices.drawn_rows.index[is_own[slices.drawn_rows.index]].astype(np.int64)
            boxes = boxes_of(
                (slices.start[number], slices.end[number]),
                band[number],
                number,
                color[number],
                most=most if kind == BandKind.ROW else most // 4,
                most_groups=most_groups if kind == BandKind.ROW else most_groups // 4,
                least_cell=cell,
                focus=None if focus is None else is_in_focus[number],
            )
            parts.append(boxes)
        return Boxes.joined(parts)

    def _is_within(self, trace: int, span: tuple[int, int] | None) -> Bools:
        """Return which slices of a trace are at least partly in a range of the axis."""
        open_trace, slices = self.traces[trace], self.traces[trace].trace.slices
        if span is None:
            return np.ones(len(slices), np.bool_)
        first, last = (open_trace.axis.to_ticks_floor(ns) for ns in span)
        mask: Bools = (slices.start <= last) & (slices.end >= first)
        return mask


def timeline_bands(
    traces: Sequence[OpenTrace], group: ClockGroup, most_rows: int, *, counters: bool = True
) -> TimelineBands:
    """Return the bands of a clock group, at most about `most_rows` of them.

    counters: whether those of the traces are included.
    """
    open_traces = [
        open_trace if number in group.traces else None for number, open_trace in enumerate(traces)
    ]
    tracks = track_list(
        [NO_TRACKS if open_trace is None else open_trace.tracks for open_trace in open_traces],
        [open_trace.axis for open_trace in traces],
        [
            []
            if open_trace is None or not counters
            else [(c.counter.process, c.counter.name) for c in open_trace.counters]
            for open_trace in open_traces
        ],
    )
    layout = stack(tracks, TrackView(), density=Density.AUTOMATIC)
    layout, left_out = _cut(layout, most_rows)
    return TimelineBands(traces, group, tracks, layout, left_out, _span(traces, group))


def _span(traces: Sequence[OpenTrace], group: ClockGroup) -> tuple[int, int]:
    spans = [
        traces[number].whole_span_ns for number in group.traces if len(traces[number].trace.slices)
    ]
    first = min((start for start, _ in spans), default=0)
    return first, max(max((end for _, end in spans), default=0), first + 1)


def _cut(layout: TimelineLayout, most: int) -> tuple[TimelineLayout, int]:
    """Return the first bands, and how many rows of slices and counters are left out."""
    if len(layout.kind) <= most:
        return layout, 0
    names = (
        "kind", "y", "height", "slice_height", "process", "trace", "track", "row", "counter",
    )  # fmt: skip
    rest = np.isin(layout.kind[most:], (BandKind.ROW, BandKind.STRIP, BandKind.COUNTER))
    cut = replace(layout, **{name: getattr(layout, name)[:most] for name in names})
    return cut, int(rest.sum())


GROUP = -1  # in `Boxes.slice`
_LONGEST_CELL = 63  # as a power of two, of uint64 ticks


@dataclass(frozen=True, slots=True, eq=False)
class Boxes:
    """Slices and groups of slices, sorted by (row, start), as columns of equal length.

    row: as given. start, end: ticks. slice: the number of the slice, `GROUP` for several. count:
    the slices in it. busy: how many ticks they last together (uint64). color: palette index, for a
    group that of its longest slice.
    """

    row: Ints
    start: Ints
    end: Ints
    slice: Ints
    count: Ints
    busy: Lengths
    color: Palette

    def __len__(self) -> int:
        return len(self.row)

    @property
    def is_group(self) -> Bools:
        """Which boxes are groups of several slices."""
        mask: Bools = self.slice == GROUP
        return mask

    @property
    def exact_count(self) -> int:
        """How many slices are drawn exactly."""
        return int((self.slice != GROUP).sum())

    @property
    def slice_count(self) -> int:
        """How many slices there are, in groups too."""
        return int(self.count.sum())

    @staticmethod
    def joined(parts: list[Boxes]) -> Boxes:
        """Return the boxes of several parts, one part after the other."""
        if not parts:
            none = np.empty(0, np.int64)
            return Boxes(
                none, none, none, none, none, none.astype(np.uint64), none.astype(np.uint8)
            )
        return joined(parts)


def boxes_of(
    slices: tuple[Ints, Ints],
    row: Ints,
    number: Ints,
    color: Palette,
    *,
    most: int,
    most_groups: int,
    least_cell: int = 1,
    focus: Bools | None = None,
) -> Boxes:
    """Return at most about `most + most_groups` boxes for some slices.

    slices: the starts and ends of the slices, in ticks, sorted by (row, start); those of a row do
    not overlap. row, number, color: of each. The `most` longest are exact; if several are equally
    long, those that are spread evenly. Others are grouped by cells of time, which are at least
    `least_cell` ticks and as long as needed for `most_groups`. focus: of some slices, a quarter of
    `most` more are exact, the longest of them.
    """
    start, end = slices
    if not len(start):
        return Boxes.joined([])
    length = durations(start, end)
    is_exact = _longest(length, most)
    if focus is not None:
        rows = np.flatnonzero(focus & ~is_exact)
        is_exact[rows[_longest(length[rows], most // 4)]] = True
    first, is_group = _runs(start, row, is_exact, most_groups, int(end.max()), least_cell)
    last = np.append(first[1:], len(start)) - 1
    count = last - first + 1
    weight = np.maximum.reduceat(weights_of(start, end, color), first)
    group = is_group & (count > 1)
    return Boxes(
        row[first].astype(np.int64),
        start[first],
        end[last],
        np.where(group, GROUP, number[first]).astype(np.int64),
        count.astype(np.int64),
        np.add.reduceat(length, first),
        (weight & np.uint32(0xFF)).astype(np.uint8),
    )


def _longest(length: NDArray[np.uint64], most: int) -> Bools:
    """Return which slices are the `most` longest; of equally long ones, evenly spread ones."""
    if len(length) <= most:
        return np.ones(len(length), np.bool_)
    if most <= 0:
        return np.zeros(len(length), np.bool_)
    limit = np.partition(length, len(length) - most)[len(length) - most]
    mask: Bools = length > limit
    equal = np.flatnonzero(length == limit)
    wanted = most - int(mask.sum())
    mask[equal[np.arange(wanted) * len(equal) // wanted]] = True
    return mask


def _runs(
    start: Ints, row: Ints, is_exact: Bools, most: int, end: int, least_cell: int
) -> tuple[Ints, Bools]:
    """Return the first slice of each box, and whether it is one of the others.

    most: of the boxes of others, unless exact slices and rows divide them into more.
    """
    row_changes = np.flatnonzero(np.diff(row) != 0) + 1
    others = np.flatnonzero(~is_exact)
    is_first = is_exact.copy()
    is_first[0] = True
    is_first[row_changes] = True
    after = np.flatnonzero(is_exact) + 1
    is_first[after[after < len(start)]] = True
    origin = start.min()
    elapsed = durations(origin, start[others])
    span = max(end - int(origin), 1)
    follows = np.flatnonzero(~is_first[others])  # may join the one before
    begun = len(others) - len(follows)

    def splits(shift: int) -> Ints:
        cell = elapsed >> np.uint64(shift)
        return np.asarray(follows[cell[follows] != cell[follows - 1]])

    # Cells of 2**shift ticks: the shortest ones with few enough boxes, found by bisection.
    low, high = max(least_cell.bit_length() - 1, 0), max(span.bit_length(), 1)
    while low < high:
        middle = (low + high) // 2
        if begun + len(splits(middle)) <= most:
            high = middle
        else:
            low = middle + 1
    split = splits(min(low, _LONGEST_CELL))
    is_first[others[split]] = True
    first = np.flatnonzero(is_first)
    return first, ~is_exact[first]


CLASS = "opscope-timeline"
_TITLES = 168  # px: the column of titles on the left
_RULER = 24
_SIZE = 11  # of letters, in px
_PADDING = 4
_EDGE_FROM = 3  # px; narrower boxes have no edge, which would hide them
_LABEL_FROM = 22  # px
_DIAMOND = 4  # px: half the height of the mark of a slice without a duration
_FAINTEST = 0.35  # the opacity of a group that is nearly empty
_MOST_LETTERS = 200  # of a name in a tooltip
_COUNTER_STEP = 2  # px per column of a counter


@dataclass(frozen=True, slots=True)
class _Tokens:
    """Colors of the window (`viewer.gui.qt.theme.style_sheet`) that pictures use."""

    text1: str
    text2: str
    hairline: str
    chrome: str
    diamond: str
    counter_area: str
    counter_peak: str
    counter_line: str


TOKENS = {
    False: _Tokens(
        "#191C21", "#4E5764", "#DDE1E7", "#ECEFF3", "#6B7480", "#D7DDE5", "#EDF0F4", "#6B7480"
    ),
    True: _Tokens(
        "#E8EBEF", "#AAB2BD", "#30353D", "#23272D", "#9BA4B0", "#3B444F", "#282E36", "#AAB2BD"
    ),
}


@dataclass(frozen=True, slots=True)
class SvgTimeline:
    """A picture of a clock group: its SVG, and how many slices it shows exactly, of how many."""

    svg: str
    exact: int
    slices: int
    left_out: int


def timeline_svg(
    traces: Sequence[OpenTrace],
    group: ClockGroup,
    *,
    span_ns: tuple[int, int] | None = None,
    width: int = 960,
    most_rows: int = 60,
    most_boxes: int = 1500,
    title: str = "",
    style: bool = True,
) -> SvgTimeline:
    """Return the picture of the traces of one clock.

    traces: all open ones. span_ns: the visible range of the axis, by default everything. width: in
    px. most_rows, most_boxes: limits of its height and size; boxes beyond are drawn as groups of
    slices. title: by default the name of the clock. style: whether the style sheet is inside.
    """
    bands = timeline_bands(traces, group, most_rows)
    t0, t1 = span_ns or bands.span_ns
    t1 = max(t1, t0 + 1)
    picture = _Picture(bands, t0, t1, width)
    shares = _shares([len(traces[number].trace.slices) for number in group.traces], most_boxes)
    boxes = {
        number: bands.boxes(
            number, most=most, most_groups=most, cell_ns=(t1 - t0) / picture.room, span=(t0, t1)
        )
        for number, most in zip(group.traces, shares, strict=True)
    }
    exact = sum(boxes.exact_count for boxes in boxes.values())
    slices = sum(boxes.slice_count for boxes in boxes.values())
    heading = one_line(title or f"Timeline, {group_title(group, traces)}")
    lines = "\n".join(picture.lines(boxes, heading, style))
    return SvgTimeline(lines, exact, slices, bands.left_out)


def timeline_style() -> str:
    """Return the style sheet of all pictures of timelines: light, and dark if preferred."""
    light, dark = (_rules(is_dark) for is_dark in (False, True))
    media = "@media screen and (prefers-color-scheme: dark)"
    return f"{light}\n{media} {{\n{dark}\n}}"


def _rules(is_dark: bool) -> str:
    tokens = TOKENS[is_dark]
    rules = [
        f".{CLASS}{{background:{rgb_text(canvas_rgb(is_dark))};"
        "max-width:100%;height:auto;font-family:system-ui,sans-serif}",
        f".{CLASS} .t{{fill:{tokens.text1}}}.{CLASS} .f{{fill:{tokens.text2}}}"
        f".{CLASS} .b{{font-weight:600}}",
        f".{CLASS} .g{{stroke:{tokens.hairline};stroke-width:1}}"
        f".{CLASS} .h{{fill:{tokens.chrome}}}",
        f".{CLASS} .z{{fill:{tokens.diamond}}}.{CLASS} .p{{fill:{tokens.counter_peak}}}"
        f".{CLASS} .a{{fill:{tokens.counter_area};stroke:{tokens.counter_line};stroke-width:.5}}",
        f".{CLASS} text{{pointer-events:none}}",
    ]
    label = label_colors(is_dark)
    for index, fill in enumerate(fills(is_dark)):
        edge = rgb_text(edge_rgb(fill))
        rules.append(
            f".{CLASS} .c{index}{{fill:{rgb_text(fill)}}}"
            f".{CLASS} .l{index}{{fill:{rgb_text(label[index])}}}"
            f".{CLASS} .w.c{index}{{stroke:{edge};stroke-width:.5}}"
        )
    hatched = ",".join(f".{CLASS} .w.c{index}" for index in (UNLINKED, UNATTRIBUTED))
    rules.append(f"{hatched}{{stroke-dasharray:3 2}}")
    return "\n".join(rules)


def _shares(counts: Sequence[int], most: int) -> list[int]:
    """Divide a number of boxes among traces, in proportion to their slices, at least a tenth."""
    whole = max(sum(counts), 1)
    return [max(most * count // whole, most // 10, 1) for count in counts]


@dataclass(frozen=True, slots=True)
class _Picture:
    """A picture under construction: what it shows, and where its time range is in px."""

    bands: TimelineBands
    t0: int
    t1: int
    width: int

    @property
    def room(self) -> int:
        """The px for the time range."""
        return max(self.width - _TITLES - _PADDING, 1)

    def x_of(self, trace: int, ticks: Ints) -> Floats:
        """Return the x of ticks of a trace, in px, clipped to the picture."""
        xmap = XMap(self.t0, self.t1, self.room, self.bands.axis(trace))
        x: Floats = _TITLES + np.clip(xmap.x_of(ticks), 0, self.room)
        return x

    def lines(self, boxes: dict[int, Boxes], heading: str, style: bool) -> Iterator[str]:
        height = _RULER + max(self.bands.layout.total_height, 1) + _PADDING
        yield (
            f'<svg xmlns="http://www.w3.org/2000/svg" class="{CLASS}" role="img" '
            f'width="{self.width}" height="{height}" viewBox="0 0 {self.width} {height}" '
            f'font-size="{_SIZE}">'
        )
        yield f"<title>{escaped(heading)}</title>"
        if style:
            yield f"<style>{timeline_style()}</style>"
        yield from self._ruler(height)
        yield from self._titles()
        for trace, own_boxes in boxes.items():
            yield from self._boxes(trace, own_boxes)
        yield from self._counters()
        yield "</svg>"

    def _ruler(self, height: int) -> Iterator[str]:
        zero = axis_zeros(self.bands.traces).get(self.bands.group.key, 0)
        origin = self.bands.traces[self.bands.group.traces[0]].axis.offset_ns + zero
        ticks = ruler(self.t0, self.t1, self.room, origin)
        scale = self.room / (self.t1 - self.t0)
        yield f'<text class="f" x="{_PADDING}" y="15">{ticks.unit}</text>'
        for ns, label in zip(ticks.major.tolist(), ticks.labels, strict=True):
            x = px_text(_TITLES + (ns - self.t0) * scale)
            yield f'<path class="g" d="M{x} {_RULER - 5}V{height}"/>'
            yield f'<text class="f" x="{x}" y="15" text-anchor="middle">{escaped(label)}</text>'

    def _titles(self) -> Iterator[str]:
        layout, titles = self.bands.layout, self.bands.titles
        rows = zip(
            layout.kind.tolist(), layout.y.tolist(), layout.height.tolist(), titles, strict=True
        )
        for kind, y, height, title in rows:
            top = _RULER + y
            if kind == BandKind.PROCESS:
                yield f'<rect class="h" x="0" y="{top}" width="{self.width}" height="{height}"/>'
                text = cut_to(_short(title), self.width - 2 * _PADDING, _SIZE + 1)
                yield f'<text class="t b" x="{_PADDING}" y="{top + 17}">{escaped(text)}</text>'
            elif title:
                text = cut_to(_short(title), _TITLES - 2 * _PADDING, _SIZE)
                base = top + height / 2 + 4
                yield (
                    f'<text class="f" x="{_PADDING}" y="{px_text(base)}">{escaped(text)}'
                    f"<title>{escaped(_short(title))}</title></text>"
                )

    def _boxes(self, trace: int, boxes: Boxes) -> Iterator[str]:
        layout, open_trace = self.bands.layout, self.bands.traces[trace]
        x0, x1 = self.x_of(trace, boxes.start), self.x_of(trace, boxes.end)
        top = _RULER + layout.y[boxes.row] + SLICE_TOP
        tall = np.maximum(layout.slice_height[boxes.row], 1)
        zero_tall = layout.height[boxes.row]
        columns = zip(
            x0.tolist(), x1.tolist(), top.tolist(), tall.tolist(), zero_tall.tolist(),
            boxes.start.tolist(), boxes.end.tolist(), boxes.slice.tolist(), boxes.count.tolist(),
            boxes.busy.tolist(), boxes.color.tolist(), strict=True,
        )  # fmt: skip
        for left, right, y, high, band, start, end, number, count, busy, color in columns:
            if number == GROUP:
                tip = _group_tip(open_trace, start, end, count, busy)
            else:
                length = plain_spaces(open_trace.length_text(number))
                tip = f"{_short(open_trace.label(number))}\n{length}"
            title = f"<title>{escaped(tip)}</title>"
            if start == end:
                middle = y + band / 2 - SLICE_TOP
                d = _DIAMOND
                yield (
                    f'<path class="z" d="M{px_text(left)} {px_text(middle - d)}'
                    f'l{d} {d}-{d} {d}-{d}-{d}z">{title}</path>'
                )
                continue
            wide = max(right - left, 0.5)
            edge = " w" if wide >= _EDGE_FROM and number != GROUP else ""
            faint = ""
            if number == GROUP:
                share = busy / max(end - start, 1)
                faint = f' fill-opacity="{_FAINTEST + (1 - _FAINTEST) * share:.2f}"'
            yield (
                f'<rect class="c{color}{edge}"{faint} x="{px_text(left)}" y="{y}" '
                f'width="{px_text(wide)}" height="{high}">{title}</rect>'
            )
            if wide >= _LABEL_FROM and number != GROUP and high >= _SIZE:
                label = cut_to(_short(open_trace.label(number)), wide - 2 * _PADDING, _SIZE)
                if label:
                    base = px_text(y + high / 2 + 4)
                    x = px_text(left + _PADDING)
                    yield f'<text class="l{color}" x="{x}" y="{base}">{escaped(label)}</text>'

    def _counters(self) -> Iterator[str]:
        layout = self.bands.layout
        for band in np.flatnonzero(layout.kind == BandKind.COUNTER).tolist():
            trace, number = int(layout.trace[band]), int(layout.counter[band])
            raster = self.bands.traces[trace].counters[number]
            columns = max(self.room // _COUNTER_STEP, 1)
            xmap = XMap(self.t0, self.t1, columns, self.bands.axis(trace))
            most, mean = raster.columns(xmap)
            height = int(layout.height[band]) - 2
            bottom = _RULER + int(layout.y[band]) + height + 1
            for name, values in (("p", most), ("a", mean)):
                path = _steps(raster.lines(values, height).tolist(), bottom)
                tip = escaped(_short(raster.counter.name))
                yield f'<path class="{name}" d="{path}"><title>{tip}</title></path>'


def _steps(lines: Sequence[int], bottom: int) -> str:
    """Return the area below a step line; lines: its height in px, per column."""
    parts, before = [f"M{_TITLES} {bottom}"], 0
    for column, line in enumerate(lines):
        if line != before:
            parts.append(f"H{_TITLES + column * _COUNTER_STEP}V{bottom - line}")
            before = line
    parts.append(f"H{_TITLES + len(lines) * _COUNTER_STEP}V{bottom}z")
    return "".join(parts)


def _group_tip(open_trace: OpenTrace, start: int, end: int, count: int, busy: int) -> str:
    """Return what a group is: "37 slices, 12.1 % of 1.2 ms busy"."""
    span = open_trace.axis.to_ns(end) - open_trace.axis.to_ns(start)
    share = format_share(busy, max(end - start, 1))
    return plain_spaces(f"{counted(count, 'slice')}\n{share} of {format_time(span)} busy")


def _short(name: str) -> str:
    return name_text(name[:_MOST_LETTERS] + ("…" if len(name) > _MOST_LETTERS else ""))
