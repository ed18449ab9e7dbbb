"""The chart of a query in a report: bars, a line or points as a static picture, as in the window.

Of what falls on one pixel, the extremes are drawn.
"""

from __future__ import annotations

import math

import numpy as np

from viewer.arrays import Floats, Ints
from viewer.html_report.html import text
from viewer.model.times import format_time
from viewer.query.engine import Result
from viewer.query.result_values import Plotted, cell_text, is_time
from viewer.view.derived_tracks import ChartKind

_WIDTH, _HEIGHT, _LEFT, _TOP, _BELOW = 960, 240, 96, 8, 36
_LEAST_NAME, _LETTER = 40, 6.5  # px
_LINES = 4  # of the grid, about


def chart_svg(result: Result, contents: Plotted, kind: ChartKind, most: int) -> str:
    """Return a chart as SVG. most: bars or points; of more the longest bars are drawn."""
    dimension, measure = (result.columns[i] for i in (contents.dimension, contents.measure))
    values, count = contents.values, len(contents.values)
    is_by_value = kind is not ChartKind.BARS and contents.places is not None
    places: Floats = np.arange(count) + 0.5
    if is_by_value and contents.places is not None:
        places = contents.places
    order = np.argsort(places, kind="stable")
    places, values, rows = places[order], values[order], contents.rows[order]
    first, last = (float(places[0]), float(places[-1])) if is_by_value else (0.0, float(count))
    wide = _WIDTH - _LEFT
    x: Floats = _LEFT + (places - first) / ((last - first) or 1.0) * wide
    low, high = float(values.min()), float(values.max())
    if kind is ChartKind.BARS:
        low, high = min(low, 0.0), max(high, 0.0)
    scale = (_HEIGHT - _TOP - _BELOW) / ((high - low) or 1.0)
    y: Floats = _TOP + (high - values) * scale
    if kind is ChartKind.LINE:
        drawn = _extremes(np.floor(x).astype(np.int64), values)
        points = " ".join(f"{x[i]:.1f},{y[i]:.1f}" for i in drawn.tolist())
        shapes = f'<polyline points="{points}" fill="none" stroke="currentColor"/>'
    else:
        cell = np.floor(x) if kind is ChartKind.BARS else np.floor(x) * _HEIGHT + np.floor(y)
        drawn = _largest(cell.astype(np.int64), values, most)
        half, zero = max(wide / count / 2 * 0.9, 0.5), _TOP + high * scale
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
    lines = [_line(_TOP + (high - value) * scale, _number(result, contents.measure, value))
             for value in _grid(low, high)]  # fmt: skip
    below = [*_names(result, contents, is_by_value=is_by_value), text(dimension)]
    title = text(f"{kind.value} of {measure} by {dimension}")
    return (
        f'<svg viewBox="0 0 {_WIDTH} {_HEIGHT}" width="100%" role="img" font-size="11" '
        f'fill="currentColor"><title>{title}</title>{"".join(lines)}'
        f'<g fill-opacity="0.7">{shapes}</g>{"".join(below[:-1])}'
        f'<text x="{_LEFT}" y="{_HEIGHT - 4}" fill-opacity="0.7">{below[-1]}</text></svg>'
    )


def _line(y: float, label: str) -> str:
    return (
        f'<path d="M{_LEFT} {y:.1f}H{_WIDTH}" stroke="currentColor" stroke-opacity="0.2"/>'
        f'<text x="{_LEFT - 6}" y="{y + 4:.1f}" text-anchor="end">{text(label)}</text>'
    )


def _grid(low: float, high: float) -> list[float]:
    """Return round numbers between two, the least and the greatest included if there are none."""
    step = (high - low) / _LINES
    if not step or not math.isfinite(step):
        return [high]
    power = 10.0 ** math.floor(math.log10(step))
    step = next(power * factor for factor in (1, 2, 5, 10) if power * factor >= step)
    return [n * step for n in range(math.ceil(low / step), math.floor(high / step) + 1)]


def _number(result: Result, column: int, value: float) -> str:
    is_ns = is_time(result.columns[column], result.types[column])
    return format_time(round(value)) if is_ns else f"{value:.6g}"


def _title(result: Result, contents: Plotted, row: int) -> str:
    """Return what a bar or point is."""
    name, measure = (cell_text(result, row, i) for i in (contents.dimension, contents.measure))
    return f"{name}: {measure}"


def _names(result: Result, contents: Plotted, *, is_by_value: bool) -> list[str]:
    """Return the ends of an axis of numbers, or the names below bars that are wide enough."""
    y, column = _HEIGHT - _BELOW + 14, contents.dimension
    if is_by_value and contents.places is not None:
        ends = (float(contents.places.min()), _LEFT, "start"), (
            float(contents.places.max()), _WIDTH, "end")  # fmt: skip
        return [
            f'<text x="{x}" y="{y}" text-anchor="{anchor}">'
            f"{text(_number(result, column, value))}</text>"
            for value, x, anchor in ends
        ]
    room = (_WIDTH - _LEFT) / len(contents.rows)
    if room < _LEAST_NAME:
        return []
    letters = int(room / _LETTER)
    names = [cell_text(result, row, column) for row in contents.rows.tolist()]
    return [
        f'<text x="{_LEFT + (i + 0.5) * room:.1f}" y="{y}" text-anchor="middle">'
        f"{text(name, letters - 1 if len(name) > letters else letters)}</text>"
        for i, name in enumerate(names)
    ]


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
