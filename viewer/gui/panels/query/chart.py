"""The chart of a result: one number over one dimension, as bars, a line or points.

A box is a row. Bars stand in the order of the rows; lines and points are at their values if the
dimension is a number. What falls on one pixel is drawn once.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pyqtgraph as pg
from PySide6.QtCore import QPointF, QRectF, Qt
from PySide6.QtGui import QFontMetricsF

from viewer.arrays import Floats, Ints
from viewer.gui.panels.base.chart import Chart
from viewer.gui.panels.base.range_view import NONE
from viewer.gui.qt.theme.theme import Theme
from viewer.gui.qt.widgets.elided_text import elided_text
from viewer.query.engine import Result
from viewer.query.result_values import Plotted, cell_text, is_time
from viewer.view.derived_tracks import ChartKind

_STEPS = 1_000_000  # of an axis of numbers
_NEAR, _DOT, _LEAST_NAME = 12.0, 5, 40  # px
_MARGIN = 0.05  # above and below lines and points


class ResultChart(Chart):
    """One number over one dimension. `chosen(box)`: its row is `row_of(box)`."""

    has_grid = True

    def __init__(self, result: Result, contents: Plotted, kind: ChartKind, theme: Theme) -> None:
        self._result, self._contents, self._kind = result, contents, kind
        dimension, measure = result.columns[contents.dimension], result.columns[contents.measure]
        super().__init__(theme, f"{kind.value} of {measure} by {dimension}")
        count = len(contents.rows)
        self._is_by_value = kind is not ChartKind.BARS and contents.places is not None
        self._order: Ints = np.arange(count)
        self._place: Floats = self._order.astype(np.float64) + 0.5
        self._span = count
        column = contents.dimension
        if self._is_by_value and contents.places is not None:
            self._order = np.argsort(contents.places, kind="stable")
            sorted_places: Floats = contents.places[self._order]
            low, high = float(sorted_places[0]), float(sorted_places[-1])
            margin = _MARGIN / 2 * ((high - low) or 1.0)
            self._span = _STEPS
            self.origin = low - margin
            self.step = (high - low + 2 * margin) / _STEPS
            self._place = (sorted_places - self.origin) / self.step
            self.bottom.is_time = is_time(dimension, result.types[column])
        self._values: Floats = contents.values[self._order]
        self.left.is_time = is_time(measure, result.types[contents.measure])
        self._show_anew(stays=False)

    def row_of(self, box: int) -> int:
        """Return the row of a box in the result."""
        return int(self._contents.rows[self._order[box]])

    def box_of(self, row: int) -> int:
        """Return the box of a row of the result, -1 if it has none."""
        boxes = np.flatnonzero(self._contents.rows[self._order] == row)
        return int(boxes[0]) if len(boxes) else NONE

    def mark_row(self, row: int) -> None:
        """Mark the box of a row."""
        self._mark_chosen(self.box_of(row))

    # -- what a box is ---------------------------------------------------------------------------

    @property
    def _length(self) -> int:
        return max(self._span, 1)

    @property
    def _count(self) -> int:
        return len(self._values)

    @property
    def _is_filled(self) -> bool:
        return len(self._values) > 0

    @property
    def _per_step(self) -> float:
        """The px that a step of the axis is wide."""
        (left, right), (t0, t1) = self._sides, self._range
        return (right - left) / max(t1 - t0, 1)

    def lines(self, box: int) -> Sequence[str]:
        row, columns = self.row_of(box), self._result.columns
        contents = self._contents
        name = cell_text(self._result, row, contents.dimension)
        number = cell_text(self._result, row, contents.measure)
        return f"{columns[contents.dimension]}: {name}", f"{columns[contents.measure]}: {number}"

    def zoom_to(self, box: int) -> None:
        """Show a box with some around it."""
        span = min(17, self._span) if not self._is_by_value else self._span // 10
        self._show_from(round(self._place[box] - span / 2), max(span, 1))

    def _in_view(self) -> slice:
        """The boxes in view, with one on each side."""
        t0, t1 = self._range
        first = int(np.searchsorted(self._place, t0, side="left"))
        last = int(np.searchsorted(self._place, t1, side="right"))
        return slice(max(first - 1, 0), min(last + 1, len(self._place)))

    def _y_of(self, values: Floats) -> Floats:
        plot, (low, high) = self.plot_rect(), self.plot.viewRange()[1]
        pixels: Floats = plot.bottom() - (values - low) / ((high - low) or 1) * plot.height()
        return pixels

    def box_at(self, point: QPointF) -> int:
        t = self.t_of(point.x()) if self._is_filled else None
        if t is None:
            return NONE
        if self._kind is ChartKind.BARS:
            # Of bars narrower than a pixel the longest that begins within one.
            reach = 1 / self._per_step if self._per_step < 1 else 0.0
            boxes = np.arange(max(int(t - reach), 0), min(int(t + reach) + 1, len(self._values)))
            return int(boxes[np.argmax(np.abs(self._values[boxes]))]) if len(boxes) else NONE
        seen = self._in_view()
        across = (self._place[seen] - t) * self._per_step
        up = self._y_of(self._values[seen]) - point.y()
        distance = np.hypot(across, up if self._kind is ChartKind.POINTS else up / 4)
        nearest = int(np.argmin(distance))
        return seen.start + nearest if distance[nearest] <= _NEAR else NONE

    def room(self, box: int) -> QRectF | None:
        if box < 0 or not self._range[0] <= self._place[box] <= self._range[1]:
            return None
        plot, x = self.plot_rect(), self.x_of(float(self._place[box]))
        if self._kind is ChartKind.BARS:
            width = max(self._per_step, 2.0)
            return QRectF(x - width / 2, plot.top(), width, plot.height())
        y = float(self._y_of(self._values[box : box + 1])[0])
        return QRectF(x - _DOT, y - _DOT, 2 * _DOT, 2 * _DOT)

    # -- items -----------------------------------------------------------------------------------

    def _fill(self) -> None:
        seen = self._in_view()
        values, places = self._values[seen], self._place[seen]
        low, high = float(self._values.min()), float(self._values.max())
        if self._kind is ChartKind.BARS:
            low, high = min(low, 0.0), max(high, 0.0)
        margin = _MARGIN * ((high - low) or abs(high) or 1.0)
        low -= margin if self._kind is not ChartKind.BARS or low < 0 else 0.0
        self.set_axes(low, high + margin, None, self._names(seen))
        pixel = np.floor((places - self._range[0]) * self._per_step)
        x = self.origin + places * self.step
        color = self._theme.color("accent")
        if self._kind is ChartKind.BARS:
            self._add_bars(pixel, places, values)
        elif self._kind is ChartKind.LINE:
            drawn = _ends(pixel, values)
            self.add_line(x[drawn], values[drawn], "accent")
        else:
            across = max(round(self.plot_rect().height()), 1)
            row = np.floor((values - low) / (high + margin - low) * across)
            drawn = np.unique(pixel * (across + 1) + row, return_index=True)[1]
            self.add(pg.ScatterPlotItem(x[drawn], values[drawn], size=self._theme.px(_DOT),
                                        pen=None, brush=pg.mkBrush(color)))  # fmt: skip

    def _add_bars(self, pixel: Floats, places: Floats, values: Floats) -> None:
        """Bars from 0; of those on one pixel the longest."""
        wide = self._per_step
        half = 0.5 - (0.5 / wide if wide >= 4 else 0.0)
        if wide < 1:
            order = np.lexsort((-np.abs(values), pixel))
            first = order[np.append(True, pixel[order][1:] != pixel[order][:-1])]
            places, values, half = places[first], values[first], 0.5 / wide
        x0, x1 = places - half, places + half
        color = self._theme.color("accent")
        self.add_bars(x0, x1, np.minimum(values, 0), np.maximum(values, 0), color)

    def _names(self, seen: slice) -> list[tuple[float, str]] | None:
        """The texts below bars that are wide enough; None: by the axis."""
        if self._is_by_value:
            return None
        if self._per_step < self._theme.px(_LEAST_NAME):
            return []
        metrics = QFontMetricsF(self._theme.font("caption"))
        room, middle = self._per_step - 6, Qt.TextElideMode.ElideMiddle
        (t0, t1), column = self._range, self._contents.dimension
        boxes = [box for box in range(seen.start, seen.stop) if t0 <= self._place[box] <= t1]
        names = [cell_text(self._result, self.row_of(box), column) for box in boxes]
        short = {name: elided_text(metrics, name, middle, room) for name in names}
        if len(set(short.values())) < len(short):
            return []  # the same text below several bars would say nothing
        return [
            (float(self._place[box]), short[name]) for box, name in zip(boxes, names, strict=True)
        ]


def _ends(pixel: Floats, values: Floats) -> Ints:
    """Return the first, lowest, highest and last point of each pixel, in order."""
    if len(pixel) < 2:
        return np.arange(len(pixel))
    starts = np.flatnonzero(np.append(True, pixel[1:] != pixel[:-1]))
    if len(starts) * 4 >= len(pixel):
        return np.arange(len(pixel))
    order = np.lexsort((values, pixel))  # the same groups, each sorted
    last = np.append(starts[1:], len(pixel)) - 1
    return np.unique(np.concatenate([starts, last, order[starts], order[last]]))
