"""What a query answers: a chart above its rows, or a sentence in their place.

The chart shows one number over one dimension; a box is a row. Bars stand in the order of the rows;
lines and points are at their values if the dimension is a number. What falls on one pixel is drawn
once.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Any

import numpy as np
import pyqtgraph as pg
from numpy.typing import NDArray
from PySide6.QtCore import QModelIndex, QPointF, QRectF, Qt, Signal, Slot
from PySide6.QtGui import QFontMetricsF
from PySide6.QtWidgets import QHeaderView, QWidget

from viewer.arrays import Floats, Ints
from viewer.gui.panels.base.chart import Chart
from viewer.gui.panels.base.panel import plain_column
from viewer.gui.panels.base.range_view import NO_BOX as NONE
from viewer.gui.panels.base.table import (
    ColumnKind,
    CopyScope,
    PanelColumn,
    PanelTable,
    TableModel,
    TableView,
)
from viewer.gui.qt.theme.theme import Theme
from viewer.gui.qt.widgets.labels import elided_text, label
from viewer.query.engine import SLICE_IDS, Plotted, Result, cell_text, is_number, is_time, plotted
from viewer.view.derived_tracks import ChartKind

_WIDEST, _LOOKED_AT = 360, 200  # px of a column; rows that decide about widths


def kind_of(name: str, type_name: str) -> ColumnKind:
    """Return what a column holds: times in ns, numbers or texts."""
    if is_time(name, type_name):
        return ColumnKind.TIME
    return ColumnKind.NUMBER if is_number(type_name) else ColumnKind.TEXT


def _text(i: int, result: Result, row: int) -> str:
    return cell_text(result, row, i)


def _plain(i: int, result: Result, row: int) -> str:
    value = result.rows[row][i]
    return "" if value is None else str(value)


def _keys(i: int, kind: ColumnKind, result: Result) -> NDArray[Any]:
    values = [row[i] for row in result.rows]
    if kind is ColumnKind.TEXT:
        return np.array(["" if value is None else str(value) for value in values])
    return np.array([np.nan if value is None else float(value) for value in values])


def table_of(result: Result) -> PanelTable[Result]:
    columns = []
    for i, (name, type_name) in enumerate(zip(result.columns, result.types, strict=True)):
        kind = kind_of(name, type_name)
        plain, tone = partial(_plain, i), "accent" if name in SLICE_IDS else "text1"
        columns.append(
            PanelColumn[Result](
                name, kind, 96, type_name, str(i), text=partial(_text, i), plain=plain,
                tooltip=plain, keys=partial(_keys, i, kind), tone=tone,
            )
        )  # fmt: skip
    return PanelTable(
        "Rows of the query", tuple(columns), least=96,
        rows=lambda result: np.arange(len(result.rows)), copies=CopyScope.TABLE,
    )  # fmt: skip


class RowsView(TableView):
    """The rows: as wide as its columns, with a scroll bar where they do not fit."""

    def __init__(self, result: Result, theme: Theme) -> None:
        super().__init__(TableModel(table_of(result), theme), theme)
        self.result = result
        self._table_model.setParent(self)
        self._table_model.show(result)
        self.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAsNeeded)
        header = self.horizontalHeader()
        header.setSectionResizeMode(QHeaderView.ResizeMode.Interactive)
        header.setStretchLastSection(False)
        metrics = self.fontMetrics()
        for i, column in enumerate(self.arranged.columns):
            texts = [column.text(result, row) for row in range(min(len(result.rows), _LOOKED_AT))]
            widest = max(map(metrics.horizontalAdvance, [f"{column.title}   ", *texts]))
            self.setColumnWidth(i, min(widest + theme.px(28), theme.px(_WIDEST)))

    def fit_columns(self) -> None:
        """Keep the widths."""

    def slice_id(self, row: int, column: int) -> int | None:
        """Return the slice that a cell names, or else the first one that its row names."""
        result = self.result
        values = result.rows[int(self.arranged.items[row])]
        named = [i for i, name in enumerate(result.columns) if name in SLICE_IDS]
        for i in (column, *named):
            if i in named and isinstance(values[i], int):
                return int(values[i])
        return None

    def row_of_item(self, item: int) -> int:
        """Return where a row of the result is in the table."""
        return int(np.flatnonzero(np.asarray(self.arranged.items) == item)[0])

    def row_of(self, number: int) -> int:
        """Return the row of a slice in the first column that names slices, -1 for none."""
        result = self.result
        column = next((i for i, name in enumerate(result.columns) if name in SLICE_IDS), -1)
        if column < 0:
            return -1
        items = self.arranged.items.tolist()
        return next((i for i, item in enumerate(items) if result.rows[item][column] == number), -1)

    def source_line(self, row: int) -> tuple[str, int] | None:
        """Return the source line that a row names, as `source` and `line`."""
        result = self.result
        values = dict(zip(result.columns, result.rows[int(self.arranged.items[row])], strict=True))
        path, line = values.get("source"), values.get("line")
        return (path, line) if isinstance(path, str) and isinstance(line, int) else None


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
        return int(self._contents.rows[self._order[box]])

    def box_of(self, row: int) -> int:
        """Return the box of a row of the result, -1 if it has none."""
        boxes = np.flatnonzero(self._contents.rows[self._order] == row)
        return int(boxes[0]) if len(boxes) else NONE

    def mark_row(self, row: int) -> None:
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


HINT = (
    "Run, or Ctrl+Enter, lists the rows of the query here. A double click on a table or column "
    "inserts its name. A row with an id selects its slice."
)


class ResultArea(QWidget):
    """The rows and the chart of a result; `chosen(row)`, `opened(index)`: a row was, in any way.

    note: why there is no chart, or a hint. caption: what a chart shows. message: why there are no
    rows.
    """

    chosen = Signal(int)
    opened = Signal(QModelIndex)

    def __init__(self, theme: Theme) -> None:
        super().__init__()
        self._theme = theme
        self.rows: RowsView | None = None
        self.chart: ResultChart | None = None
        self.note = label(HINT, theme, "caption", "text2", wrap=True)
        self.caption = label("", theme, "caption", "text2")
        self.message = label("", theme, "code", "error", wrap=True)
        self._column = plain_column(self)
        for text in (self.note, self.message, self.caption):
            text.setContentsMargins(*(4 * [theme.px(8)]))
            self._column.addWidget(text)
        self.caption.hide()
        self.message.hide()
        self._column.addStretch()

    def show_message(self, text: str) -> None:
        """Say why there are no rows; "" for none."""
        self.message.setText(text)
        self.message.setVisible(bool(text))

    def show_note(self, text: str) -> None:
        self.note.setText(text)
        self.note.show()

    def show_result(self, result: Result | None, kind: ChartKind) -> None:
        """List the rows of a result, or none, and draw them."""
        self._drop(self.rows)
        self.rows = None
        if result is not None:
            self.rows = RowsView(result, self._theme)
            self.rows.chosen.connect(self.chosen)
            self.rows.doubleClicked.connect(self.opened)
            self._column.insertWidget(3, self.rows, 1)
        self.show_kind(kind)

    def show_kind(self, kind: ChartKind) -> None:
        """Draw the rows above their table, or say why they cannot be drawn."""
        self._drop(self.chart)
        self.chart = None
        self.note.hide()
        self.caption.hide()
        if self.rows is None or kind is ChartKind.TABLE:
            self.note.setText(HINT)
            self.note.setVisible(self.rows is None and not self.message.text())
            return
        contents = plotted(self.rows.result)
        if isinstance(contents, str):
            self.show_note(contents)
            return
        self.chart = ResultChart(self.rows.result, contents, kind, self._theme)
        self.chart.chosen.connect(self._choose_box)
        columns = self.rows.result.columns
        self.caption.setText(f"{columns[contents.measure]} by {columns[contents.dimension]}")
        self.caption.show()
        self._column.insertWidget(3, self.chart, 1)

    def _drop(self, widget: QWidget | None) -> None:
        if widget is not None:
            self._column.removeWidget(widget)
            widget.hide()
            widget.deleteLater()

    @Slot(int)
    def _choose_box(self, box: int) -> None:
        """Select the row that a bar or a point stands for."""
        if self.rows is None or self.chart is None:
            return
        row = self.rows.row_of_item(self.chart.row_of(box))
        self.rows.selectRow(row)
        self.rows.scrollTo(self.rows.arranged.index(row, 0))
        self.chosen.emit(row)
