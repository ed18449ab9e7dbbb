"""The timeline of a clock group as one SVG of limited size, without script.

It has the ruler, the titles of processes and tracks, and the boxes of `TimelineBands` in the colors
of the window, light or dark as the reader prefers. Colors are rules of a style sheet, so that the
SVG can be part of a page that allows no inline styles; `style=True` puts the sheet inside. Names
come from files of strangers: they are on one line, escaped, and limited in length.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from viewer.arrays import Floats, Ints
from viewer.model.text import name_text, one_line
from viewer.model.times import counted, format_share, format_time, plain_spaces
from viewer.render.axis.ticks import ruler
from viewer.render.axis.xmap import XMap
from viewer.render.flame_graph.svg import cut_to, escaped, px_text, rgb_text
from viewer.render.layout import SLICE_TOP, BandKind
from viewer.render.palette import UNATTRIBUTED, UNLINKED, canvas_rgb, edge_rgb, fills, label_colors
from viewer.view.clock_groups import ClockGroup, axis_zeros, group_title
from viewer.view.open_trace import OpenTrace
from viewer.view.static_timeline.boxes import GROUP, Boxes, TimelineBands, timeline_bands

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
    """Colors of the window (`viewer.gui.qt.theme.tokens`) that pictures use."""

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
    """Return a name on one line, and not too long."""
    return name_text(name[:_MOST_LETTERS] + ("…" if len(name) > _MOST_LETTERS else ""))
