"""Tracks and charts of queries in a report: their SQL, a picture, and their rows.

Of what falls on one pixel of a chart, the extremes are drawn, as in the window.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from viewer.arrays import Floats, Ints
from viewer.html_report.contents import Contents, QueryRows
from viewer.html_report.html import Cell, Row, paragraph, rest_note, section, table, text
from viewer.model.times import format_time
from viewer.model.trace import Trace
from viewer.model.trace_attributes import Counter
from viewer.query.engine import Plotted, Result, cell_text, is_time, plotted
from viewer.view.derived_tracks import ChartKind

_CHART_WIDTH, _PLOT, _LEFT, _TOP, _RIGHT = 960, 180, 96, 24, 8
_BELOW, _BELOW_SLANTED = 24, 92
_LEAST_NAME, _LETTER, _LETTERS = 16, 6.5, 20  # px, and letters of a slanted name
_LINES, _LEAST_STEP = 4, 1e-300  # of the grid, about


def chart_svg(result: Result, contents: Plotted, kind: ChartKind, most: int) -> str:
    """Return a chart as SVG. most: bars or points; of more the longest bars are drawn."""
    dimension, measure = (result.columns[i] for i in (contents.dimension, contents.measure))
    values, count = contents.values, len(contents.values)
    is_by_value = kind is not ChartKind.BARS and contents.places is not None
    places: Floats = np.arange(count, dtype=np.float64) + 0.5
    if is_by_value and contents.places is not None:
        places = contents.places
    order = np.argsort(places, kind="stable")
    places, values, rows = places[order], values[order], contents.rows[order]
    first, last = (float(places[0]), float(places[-1])) if is_by_value else (0.0, float(count))
    wide = _CHART_WIDTH - _LEFT - _RIGHT
    x: Floats = _LEFT + _shares(places, first, last) * wide
    low, high = float(values.min()), float(values.max())
    if kind is ChartKind.BARS:
        low, high = min(low, 0.0), max(high, 0.0)
    y: Floats = _TOP + (1.0 - _shares(values, low, high)) * _PLOT
    if kind is ChartKind.LINE:
        drawn = _extremes(np.floor(x).astype(np.int64), values)
        points = " ".join(f"{x[i]:.1f},{y[i]:.1f}" for i in drawn.tolist())
        shapes = f'<polyline points="{points}" fill="none" stroke="currentColor"/>'
    else:
        cell = np.floor(x) if kind is ChartKind.BARS else np.floor(x) * 2 * _PLOT + np.floor(y)
        drawn = _largest(cell.astype(np.int64), values, most)
        half = max(wide / count / 2 * 0.9, 0.5)
        zero = _TOP + (1.0 - float(_shares(np.zeros(1), low, high)[0])) * _PLOT
        titles = (text(_title(result, contents, row)) for row in rows[drawn].tolist())
        if kind is ChartKind.BARS:
            shapes = "".join(
                f'<rect x="{x[i] - half:.1f}" y="{min(y[i], zero):.1f}" width="{2 * half:.1f}" '
                f'height="{abs(y[i] - zero):.1f}"><title>{title}</title></rect>'
                for i, title in zip(drawn.tolist(), titles, strict=True)
            )
        else:
            shapes = "".join(
                f'<circle cx="{x[i]:.1f}" cy="{y[i]:.1f}" r="2.5"><title>{title}</title></circle>'
                for i, title in zip(drawn.tolist(), titles, strict=True)
            )
    grid = np.array(_grid(low, high))
    heights = _TOP + (1.0 - _shares(grid, low, high)) * _PLOT
    lines = [_line(line, _number(result, contents.measure, value))
             for line, value in zip(heights.tolist(), grid.tolist(), strict=True)]  # fmt: skip
    names, room = _names(result, contents, is_by_value=is_by_value)
    return (
        f'<svg viewBox="0 0 {_CHART_WIDTH} {_TOP + _PLOT + room}" width="100%" role="img" '
        f'font-size="11" fill="currentColor">'
        f"<title>{text(f'{kind.value} of {measure} by {dimension}')}</title>"
        f'<text x="{_LEFT}" y="12">{text(f"{measure} by {dimension}")}</text>{"".join(lines)}'
        f'<g fill-opacity="0.7">{shapes}</g>{names}</svg>'
    )


def _shares(values: Floats, low: float, high: float) -> Floats:
    """Return where values are between two, as 0 to 1; their difference may be no finite number."""
    unit = max(abs(low), abs(high)) or 1.0
    shares: Floats = (values / unit - low / unit) / ((high / unit - low / unit) or 1.0)
    return shares


def _line(y: float, label: str) -> str:
    return (
        f'<path d="M{_LEFT} {y:.1f}H{_CHART_WIDTH}" stroke="currentColor" stroke-opacity="0.2"/>'
        f'<text x="{_LEFT - 6}" y="{y + 4:.1f}" text-anchor="end">{text(label)}</text>'
    )


def _grid(low: float, high: float) -> list[float]:
    """Return round numbers between two, the greater one if there are none."""
    step = (high - low) / _LINES
    if not _LEAST_STEP < step < math.inf:
        return [high]
    power = 10.0 ** math.floor(math.log10(step))
    step = next(power * factor for factor in (1, 2, 5, 10) if power * factor >= step)
    return [n * step for n in range(math.ceil(low / step), math.floor(high / step) + 1)]


def _number(result: Result, column: int, value: float) -> str:
    is_ns = is_time(result.columns[column], result.types[column])
    return format_time(round(value)) if is_ns else f"{value:.6g}"


def _title(result: Result, contents: Plotted, row: int) -> str:
    name, measure = (cell_text(result, row, i) for i in (contents.dimension, contents.measure))
    return f"{name}: {measure}"


def _names(result: Result, contents: Plotted, *, is_by_value: bool) -> tuple[str, int]:
    """Return the ends of an axis of numbers, or the names below bars that are wide enough.

    Names that are longer than a bar is wide are slanted. Also returns the px that they need.
    """
    y, column = _TOP + _PLOT + 14, contents.dimension
    if is_by_value and contents.places is not None:
        ends = (float(contents.places.min()), _LEFT, "start"), (
            float(contents.places.max()), _CHART_WIDTH, "end")  # fmt: skip
        texts = [
            f'<text x="{x}" y="{y}" text-anchor="{anchor}">'
            f"{text(_number(result, column, value))}</text>"
            for value, x, anchor in ends
        ]
        return "".join(texts), _BELOW
    room = (_CHART_WIDTH - _LEFT - _RIGHT) / len(contents.rows)
    if room < _LEAST_NAME:
        return "", _BELOW
    names = [cell_text(result, row, column) for row in contents.rows.tolist()]
    is_slanted = any(len(name) * _LETTER > room for name in names)
    turn = 'text-anchor="middle"'
    if is_slanted:
        turn = 'text-anchor="end" transform="rotate(-35 {:.1f} {})"'
    places = [_LEFT + (i + 0.5) * room for i in range(len(names))]
    texts = [
        f'<text x="{x:.1f}" y="{y}" {turn.format(x, y)}>{text(name, _LETTERS)}</text>'
        for x, name in zip(places, names, strict=True)
    ]
    return "".join(texts), _BELOW_SLANTED if is_slanted else _BELOW


def _extremes(pixel: Ints, values: Floats) -> Ints:
    """Return the first, lowest, highest and last point of each pixel, in order."""
    starts = np.flatnonzero(np.append(True, pixel[1:] != pixel[:-1]))
    order = np.lexsort((values, pixel))
    last = np.append(starts[1:], len(pixel)) - 1
    return np.unique(np.concatenate([starts, last, order[starts], order[last]]))


def _largest(cell: Ints, values: Floats, most: int) -> Ints:
    """Return the largest of each cell, and of more than allowed the largest of all, in order."""
    order = np.lexsort((-np.abs(values), cell))
    first = order[np.append(True, cell[order][1:] != cell[order][:-1])]
    if len(first) > most:
        first = first[np.argsort(-np.abs(values[first]), kind="stable")[:most]]
    return np.sort(first)


_WIDTH, _LANE, _COUNTER, _MOST_LANES = 960, 14, 40, 16
_NOT_COUNTED = "Derived by a query. No figure of this report counts these rows."


def queries(contents: Contents) -> str:
    """Return the tracks and charts of all queries."""
    parts = [_query(contents, *numbered) for numbered in enumerate(contents.options.queries)]
    return section("queries", "Queries", *parts)


def _query(contents: Contents, number: int, query: QueryRows) -> str:
    lines = "\n".join(text(line, 1_000) for line in query.sql[:10_000].splitlines())
    parts = [f"<h3>{text(query.title)}</h3>"]
    result, boxes = query.result, contents.limits.svg_boxes
    if query.trace is not None:
        parts.append(paragraph(_NOT_COUNTED, "note"))
    parts.append(f"<pre><code>{lines}</code></pre>")
    if query.trace is not None:
        parts.append(_picture(query, query.trace, f"hatch-{number}", boxes))
    if result is not None and query.chart is not None:
        drawn = plotted(result)
        parts.append(
            paragraph(drawn)
            if isinstance(drawn, str)
            else chart_svg(result, drawn, query.chart, boxes)
        )
    parts.append(paragraph(query.complaint))
    if result is not None:
        parts += _rows(f"Rows of {query.name}", result, contents.limits.rows)
    return "\n".join(filter(None, parts))


def _rows(caption: str, result: Result, most: int) -> list[str]:
    columns = list(zip(*result.rows[:most], strict=True)) or [()] * len(result.columns)
    numbers = [all(map(_is_number, present)) for present in map(_present, columns)]
    order = sorted(range(len(columns)), key=lambda i: not numbers[i])  # numbers are on the left
    rows = [Row([_cell(result, row, i, is_number=numbers[i]) for i in order])
            for row in range(min(most, len(result.rows)))]  # fmt: skip
    titles = [result.columns[i] for i in order]
    left = numbers.count(False)
    return [
        table(caption, titles, rows, left=left),
        rest_note(result.count - len(rows), "more row"),
    ]


def _present(values: Sequence[object]) -> list[object]:
    """Return the values that are not missing; a column without any is one of texts."""
    return [value for value in values if value is not None] or [""]


def _is_number(value: object) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool)


def _cell(result: Result, row: int, i: int, *, is_number: bool) -> Cell:
    value = result.rows[row][i]
    if not is_number or value is None:
        return Cell("" if value is None else str(value))
    return Cell(cell_text(result, row, i), value)


# -- pictures --------------------------------------------------------------------------------------


def _picture(query: QueryRows, trace: Trace, identity: str, most: int) -> str:
    """Return the slices and counters over the axis of their clock. identity: of their hatch."""
    span = max(query.span_ns, 1)
    lanes = min(len(trace.slices.row_track), _MOST_LANES)
    counters = trace.counters[:_MOST_LANES]
    height = lanes * _LANE + len(counters) * _COUNTER
    if not height:
        return ""
    shapes = [_lane(trace, row, span, max(most // max(lanes, 1), 1)) for row in range(lanes)]
    for number, counter in enumerate(counters):
        shapes.append(_steps(counter, span, lanes * _LANE + number * _COUNTER))
    pattern = (
        f'<defs><pattern id="{identity}" width="6" height="6" patternUnits="userSpaceOnUse">'
        '<path d="M0 6L6 0" stroke="currentColor" stroke-width="2"/></pattern></defs>'
    )
    title = f"Tracks derived by query {query.name}, over {format_time(span)}"
    return (
        f'<svg viewBox="0 0 {_WIDTH} {height}" width="100%" role="img"><title>{text(title)}</title>'
        f'{pattern}<g fill="url(#{identity})" stroke="currentColor" stroke-width="0.5">'
        f"{''.join(shapes)}</g></svg>"
    )


def _lane(trace: Trace, row: int, span: int, most: int) -> str:
    """Return the boxes of a row; those within one pixel are one, and without room the longest."""
    first, last = int(trace.slices.row_ptr[row]), int(trace.slices.row_ptr[row + 1])
    indices: Ints = np.arange(first, last)
    starts, ends = trace.slices.start[first:last], trace.slices.end[first:last]
    column = (starts.astype(np.float64) * _WIDTH / span).astype(np.int64)
    order = np.lexsort((starts - ends, column))
    is_first = np.append(True, column[order][1:] != column[order][:-1])[: len(order)]
    longest = order[is_first]
    if len(longest) > most:
        longest = longest[np.argsort(starts[longest] - ends[longest], kind="stable")[:most]]
    boxes, thread = [], trace.tracks[int(trace.slices.row_track[row])].thread
    for i in np.sort(longest).tolist():
        x0, x1 = (float(t) * _WIDTH / span for t in (starts[i], ends[i]))
        name = trace.name(int(indices[i]))
        label = text(f"{thread}: {name} · {format_time(int(ends[i] - starts[i]))}")
        boxes.append(
            f'<rect x="{x0:.2f}" y="{row * _LANE + 1}" width="{max(x1 - x0, 0.5):.2f}" '
            f'height="{_LANE - 2}"><title>{label}</title></rect>'
        )
    return "".join(boxes)


def _steps(counter: Counter, span: int, top: int) -> str:
    """Return a counter as an area of steps, with the largest value of each pixel."""
    column = np.clip(counter.tick.astype(np.float64) * _WIDTH / span, 0, _WIDTH).astype(np.int64)
    values = counter.value.astype(np.float64)
    high, low = max(float(values.max(initial=0)), 0.0), min(float(values.min(initial=0)), 0.0)
    scale = (_COUNTER - 2) / ((high - low) or 1.0)
    starts = np.flatnonzero(np.append(True, column[1:] != column[:-1]))
    most = np.maximum.reduceat(values, starts) if len(values) else values
    base = top + _COUNTER - 1 + low * scale
    path = [f"M{int(column[0]) if len(column) else 0} {base:.1f}"]
    for x, value in zip(column[starts].tolist(), most.tolist(), strict=True):
        path.append(f"H{x}V{base - value * scale:.1f}")
    name = text(f"{counter.name}, at most {high:g}")
    return f'<path d="{"".join(path)}H{_WIDTH}V{base:.1f}z"><title>{name}</title></path>'
