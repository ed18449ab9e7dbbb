"""Tracks and charts of queries in a report: their SQL, a picture, and their rows."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from viewer.arrays import Ints
from viewer.html_report.contents import Contents
from viewer.html_report.html import Cell, Row, paragraph, rest_note, section, table, text
from viewer.html_report.options import QueryRows
from viewer.html_report.sections.query_chart import chart_svg
from viewer.model.counter import Counter
from viewer.model.times import format_time
from viewer.model.trace import Trace
from viewer.query.engine import Result
from viewer.query.result_values import cell_text, plotted

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
