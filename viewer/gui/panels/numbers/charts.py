"""The charts of Numbers: a measure over the operators, and a tensor as a histogram and a picture.

Where several cells of the picture share a pixel the largest is drawn, so that single outliers stay
visible.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from functools import lru_cache

import numpy as np
import pyqtgraph as pg
from PySide6.QtCore import QPointF, QRectF, Qt
from PySide6.QtGui import QBrush, QColor
from PySide6.QtWidgets import QGraphicsSimpleTextItem

from viewer.analysis.numbers.tensor_summary import Plane, Shown
from viewer.arrays import Floats, Ints
from viewer.gui.panels.base.chart import BESIDE, Axis, BarChart, Chart
from viewer.gui.panels.base.range_view import NO_BOX as NONE
from viewer.gui.panels.numbers.contents import (
    BarKind,
    Bars,
    Histograms,
    figure_text,
    index_text,
    jump_text,
    tip_lines,
)
from viewer.gui.qt.theme.theme import Theme
from viewer.gui.session.feeds.logged_numbers import MeasuredNumbers
from viewer.model.times import counted, group_digits
from viewer.render.palette import HEAT_FILLS, RAMP_FILLS, Palette, Pixels, canvas_rgb, rgb_table

_CAPTION = 21  # px above the bars
_LEAST_HEIGHT, _LEAST_WIDTH = 84, 140  # px
_LEAST_SHARE = 1e-9  # of a value that a bin is wide: the axis would have equal texts
_TRIANGLE = 9  # px, of a triangle


class ErrorChart(BarChart):
    """A bar per operator, the largest jump labeled."""

    def __init__(self, theme: Theme) -> None:
        self.bars: Bars | None = None
        self.marked: tuple[int, ...] = ()  # bars
        super().__init__(theme, "Error by operator")
        self._numbers: MeasuredNumbers | None = None
        self._colors: Palette = np.empty(0, np.uint8)
        self.setMinimumSize(theme.px(_LEAST_WIDTH), theme.px(_LEAST_HEIGHT))
        self.name_bottom("Operator, in the order of execution")

    def show_bars(
        self, numbers: MeasuredNumbers | None, bars: Bars | None, colors: Palette
    ) -> None:
        """Show bars; the range stays if there are as many. colors: palette index per bar."""
        stays = self.bars is not None and bars is not None and len(bars) == len(self.bars)
        self._numbers, self.bars, self._colors = numbers, bars, colors
        self.weights = np.empty(0) if bars is None else bars.badness
        if not stays:
            self.marked = ()
        self._show_anew(stays=stays)

    def mark(self, rows: Sequence[int]) -> None:
        """Mark the bars of some rows, and bring the first into view."""
        if self.bars is None:
            return
        self.marked = tuple(bar for row in rows if (bar := self.bars.bar_of(row)) >= 0)
        if self.marked and not self._range[0] <= self.marked[0] < self._range[1]:
            self.show_all()
        self.viewport().update()

    def row_of(self, bar: int) -> int:
        assert self.bars is not None
        return int(self.bars.rows[bar])

    @property
    def _current(self) -> int:
        return self.marked[0] if self.marked else -1

    def lines(self, box: int) -> Sequence[str]:
        return () if self._numbers is None else tip_lines(self._numbers, self.row_of(box))

    def _mark_chosen(self, box: int) -> None:
        self.marked = (box,)
        self.viewport().update()

    def _rings(self) -> Iterable[tuple[Sequence[int], int]]:
        return ([self._hovered], 1), (self.marked, 2)

    def _fill(self) -> None:
        bars, theme = self.bars, self._theme
        assert bars is not None
        height = max(self.plot_rect().height() - theme.px(_CAPTION), 1)
        low, high, px = bars.low, bars.high, (bars.high - bars.low) / height
        self.set_axes(low, high + px * theme.px(_CAPTION), bars.ticks)
        number, x0, x1 = self.in_view()
        top, kind, colors = bars.top[number], bars.kind[number], self._colors[number]
        measured = kind == BarKind.MEASURED
        table = [QBrush(QColor.fromRgb(rgb)) for rgb in rgb_table(theme.dark).tolist()]
        fill = [table[color] for color in colors[measured].tolist()]
        least = np.maximum(top[measured], low + 2 * px)
        self.add_bars(x0[measured], x1[measured], low, least, fill)
        odd, equal = kind == BarKind.ODD, kind == BarKind.EQUAL
        is_wide = len(number) and (x1 - x0)[0] * self._per_bar > 2
        self.add_bars(x0[odd], x1[odd], low, high, theme.color("warning", 0.35 if is_wide else 1.0))
        middle = (x0 + x1) / 2
        warning = pg.mkBrush(theme.color("warning"))
        self.add(pg.ScatterPlotItem(middle[odd], np.full(odd.sum(), high), symbol="t",
                                    size=theme.px(_TRIANGLE), pen=None, brush=warning))  # fmt: skip
        half = np.minimum((x1 - x0) / 2, theme.px(4) / self._per_bar)
        for line in (1.5, 4.5):  # an equals sign
            y = low + line * px if bars.rises else high - line * px
            ends = (middle - half)[equal], (middle + half)[equal]
            self.add_bars(*ends, y - 0.75 * px, y + 0.75 * px, theme.color("ok"))
        jump = "" if self._numbers is None else jump_text(self._numbers)
        if jump and self._range[0] <= bars.most < self._range[1]:
            is_measured = bars.kind[bars.most] == BarKind.MEASURED
            end = float(bars.top[bars.most]) if is_measured else high
            x = self.origin + bars.most + 0.5
            above = high + px * theme.px(_CAPTION)
            self.add_line([x, x], [above, max(end, low)], "text1", style=Qt.PenStyle.DotLine)
            self.add_text(x, jump, "text1")


class Histogram(BarChart):
    """A as filled bars, B as a line over them; counts are on a logarithmic scale."""

    HEIGHT = 116  # px

    def __init__(self, theme: Theme) -> None:
        self.shown: Histograms | None = None
        super().__init__(theme, "Histogram of the values")
        self.bottom.least_step = 0.0

    def show_counts(self, histograms: Histograms | None) -> None:
        """Show histograms, or nothing."""
        self.shown = histograms
        self.weights = np.empty(0)
        if histograms is not None:
            low, high, bins = histograms.low, histograms.high, len(histograms.a)
            of_b = histograms.b if len(histograms.b) else 0
            self.weights = np.maximum(histograms.a, of_b).astype(np.float64)
            step = high / bins - low / bins
            has_axis = np.isfinite(4 * bins * step) and step > _LEAST_SHARE * max(-low, high)
            self.origin, self.step = (low, step) if has_axis else (0.0, 1.0)
            ends = (0.0, figure_text(low)), (float(bins), figure_text(high))
            self._ticks = None if has_axis else ends
            self.bottom.text_of = figure_text
            self.name_bottom(
                "A filled, B as a line, log scale" if len(histograms.b) else "Values, log scale"
            )
        self._show_anew(stays=False)

    def accessible_value(self) -> str:
        histograms = self.shown
        if histograms is None or self._chosen >= 0:
            return super().accessible_value()
        return f"{figure_text(histograms.low)} to {figure_text(histograms.high)}"

    def lines(self, box: int) -> Sequence[str]:
        assert self.shown is not None
        low, high, a, b = self.shown.low, self.shown.high, self.shown.a, self.shown.b
        edges = (low + (high - low) * part / len(a) for part in (box, box + 1))
        counts = [group_digits(int(arm[box])) for arm in (a, b) if len(arm)]
        named = [f"A {counts[0]}", f"B {counts[1]}"] if len(b) else counts
        return " to ".join(map(figure_text, edges)), *named

    def _fill(self) -> None:
        assert self.shown is not None
        most = float(self.weights.max(initial=1))
        decades = range(int(np.log10(most)) + 1)
        left = [(np.log1p(10.0**i), group_digits(10**i)) for i in decades]
        self.set_axes(0.0, float(np.log1p(most)), [(0.0, "0"), *left], self._ticks)
        number, x0, x1 = self.in_view()
        color = self._theme.color("counter_line", 0.5)
        self.add_bars(x0, x1, 0.0, np.log1p(self.shown.a[number]), color)
        if len(self.shown.b):
            edges = np.append(x0, x0[-1:] + self.step)
            pen = pg.mkPen(self._theme.color("accent"), width=1)
            heights = np.log1p(self.shown.b[number])
            self.add(pg.PlotCurveItem(edges, heights, stepMode="center", pen=pen))


_COLORS = 256
_SCALE = 96, 8  # px, of the scale of colors
_SCALE_TEXT = 30  # px, half of a text below it
_ROOMY = 150  # px of height, from which on columns have numbers
_MOST_SIDE = 22  # px of a value: small tensors do not fill the panel with a few squares
_LEAST_SIDE = 14  # px of the picture
_RING = 18  # px, of the ring around the largest error
_FEWEST = 4  # cells across that are zoomed to
_AROUND = 8  # cells on each side of the one that is zoomed to
_ARROWS = {
    Qt.Key.Key_Left: (0, -1), Qt.Key.Key_Right: (0, 1), Qt.Key.Key_Up: (-1, 0),
    Qt.Key.Key_Down: (1, 0),
}  # fmt: skip

Part = tuple[slice, slice]
_WHOLE: Part = (slice(None), slice(None))


class HeatMap(Chart):
    """Shows one plane. Its boxes are cells, numbered row by row; the middle of one is at integers.

    The part in view is `_view`, in cells from the upper left corner.
    """

    has_grid = False
    LEFT = 40  # px

    def __init__(self, theme: Theme) -> None:
        self.plane: Plane | None = None
        self._mark = NONE  # a cell
        self._view = QRectF()
        super().__init__(theme, "Picture of the tensor")
        self.plot.invertY(True)
        self.scale = pg.ViewBox(enableMenu=False, enableMouse=False, defaultPadding=0)
        self.legend, self.odd = Axis("bottom"), QGraphicsSimpleTextItem("■ NaN or Inf")
        self.legend.linkToView(self.scale)
        self.plots.append(self.scale)
        for item in (self.scale, self.legend, self.odd):
            self.scene().addItem(item)
        for axis in (self.left, self.bottom):
            axis.least_step = 1.0
        self.left.text_of = lambda row: self._index_text(row, 0)
        self.bottom.text_of = lambda column: self._index_text(column, 1)
        self.setMinimumSize(theme.px(120), theme.px(60))

    def show_plane(self, plane: Plane | None, largest: int | None) -> None:
        """Show a plane. largest: the number of the value to mark, None for none."""
        before = None if self.plane is None else self.plane.size.shape
        self.plane, self._chosen = plane, NONE
        cell = None if plane is None or largest is None else plane.cell_of(largest)
        self._mark = NONE if cell is None else self.box_of(*cell)
        if plane is not None and plane.size.shape != before:
            self._view = self._whole
        self._point(None)
        self.redraw()

    @property
    def mark(self) -> tuple[int, int] | None:
        """The cell with the largest error, None if it is elsewhere."""
        return None if self._mark < 0 else self.cell_of(self._mark)

    def _index_text(self, place: float, axis: int) -> str:
        """The index of the first value in a row or column of cells."""
        if self.plane is None:
            return ""
        values = (self.plane.shape.height, self.plane.shape.width)[axis]
        cells = self.plane.size.shape[axis]
        return group_digits(-(-round(place) * values // cells)) if 0 <= place < cells else ""

    # -- what a box is -----------------------------------------------------------------------------

    @property
    def _is_filled(self) -> bool:
        return self.plane is not None

    def box_of(self, row: int, column: int) -> int:
        assert self.plane is not None
        return int(row * self.plane.size.shape[1] + column)

    def cell_of(self, box: int) -> tuple[int, int]:
        assert self.plane is not None
        return divmod(box, int(self.plane.size.shape[1]))

    def box_at(self, point: QPointF) -> int:
        """Return the cell at a point: of several in a pixel, the largest."""
        room = self.plot_rect()
        if self.plane is None or not room.contains(point):
            return NONE
        view, size = self._view, self.plane.size
        wide, high = view.width() / room.width(), view.height() / room.height()
        x = view.left() + (point.x() - room.left()) * wide
        y = view.top() + (point.y() - room.top()) * high
        rows = slice(int(y), max(int(y + high), int(y) + 1))
        columns = slice(int(x), max(int(x + wide), int(x) + 1))
        part = size[rows, columns]
        if not part.size:
            return NONE
        row, column = divmod(int(np.argmax(part)), part.shape[1])
        return self.box_of(rows.start + row, columns.start + column)

    def room(self, box: int) -> QRectF | None:
        if self.plane is None or box < 0:
            return None
        (row, column), room, view = self.cell_of(box), self.plot_rect(), self._view
        if not view.intersects(QRectF(column, row, 1, 1)):
            return None
        wide, high = room.width() / view.width(), room.height() / view.height()
        left = room.left() + (column - view.left()) * wide
        return QRectF(left, room.top() + (row - view.top()) * high, wide, high)

    def lines(self, box: int) -> Sequence[str]:
        """Return the lines about a cell: its index, the values, and how many it stands for."""
        plane = self.plane
        assert plane is not None
        row, column = self.cell_of(box)
        number = int(plane.number[row, column])
        lines = [f"[{index_text(np.array(np.unravel_index(number, plane.shape.sizes)).tolist())}]"]
        a = float(plane.a[row, column])
        if plane.b.size:
            b = float(plane.b[row, column])
            with np.errstate(invalid="ignore", over="ignore"):
                difference = float(np.subtract(a, b))
            lines += [f"A {_exact(a)}", f"B {_exact(b)}", f"A − B {figure_text(difference)}"]
        else:
            lines.append(_exact(a))
        (r0, r1), (c0, c1) = plane.rows_of(row), plane.columns_of(column)
        count = (r1 - r0) * (c1 - c0)
        if count > 1:
            lines.append(f"the largest of {counted(count, 'value')}")
        return tuple(lines)

    def _mark_chosen(self, box: int) -> None:
        super()._mark_chosen(box)
        self.tip.show_lines(self.lines(box), self.center_of(box))

    def _next(self, key: Qt.Key) -> int:
        assert self.plane is not None
        if self._chosen < 0:
            return max(self._mark, 0)
        (row, column), (down, right) = self.cell_of(self._chosen), _ARROWS[key]
        rows, columns = self.plane.size.shape
        row, column = np.clip((row + down, column + right), 0, (rows - 1, columns - 1)).tolist()
        return self.box_of(row, column)

    # -- what is in view ---------------------------------------------------------------------------

    @property
    def _whole(self) -> QRectF:
        rows, columns = (1, 1) if self.plane is None else self.plane.size.shape
        return QRectF(0, 0, columns, rows)

    @property
    def shows_all(self) -> bool:
        return self._view == self._whole

    def show_all(self) -> None:
        self._show(self._whole)

    def zoom(self, factor: float, x: float | None = None, y: float | None = None) -> None:
        view, room = self._view, self.plot_rect()
        across = 0.5 if x is None else (x - room.left()) / max(room.width(), 1)
        along = 0.5 if y is None else (y - room.top()) / max(room.height(), 1)
        factor = min(factor, max(view.width(), view.height()) / _FEWEST)
        wide, high = view.width() / factor, view.height() / factor
        left, top = (view.width() - wide) * across, (view.height() - high) * along
        self._show(QRectF(view.left() + left, view.top() + top, wide, high))

    def zoom_to(self, box: int) -> None:
        (row, column), view = self.cell_of(box), self._whole
        factor = max(max(view.width(), view.height()) / (2 * _AROUND + 1), 1.0)
        wide, high = view.width() / factor, view.height() / factor
        self._show(QRectF(column + 0.5 - wide / 2, row + 0.5 - high / 2, wide, high))

    def _pan(self, pixels: float, down: float = 0.0) -> None:
        view, room = self._view, self.plot_rect()
        right = pixels * view.width() / max(room.width(), 1)
        self._show(view.translated(-right, -down * view.height() / max(room.height(), 1)))

    def _show(self, view: QRectF) -> None:
        """Show a part, moved into the plane."""
        whole = self._whole
        view.setSize(view.size().boundedTo(whole.size()))
        view.moveLeft(min(max(view.left(), 0.0), whole.right() - view.width()))
        view.moveTop(min(max(view.top(), 0.0), whole.bottom() - view.height()))
        if view != self._view:
            self._view = view
            self._changed()

    # -- items -------------------------------------------------------------------------------------

    @property
    def _state(self) -> tuple[object, ...]:
        return self.size().toTuple(), self._view.getRect()

    def _show_range(self) -> None:
        self.plot.setRange(self._view.translated(-0.5, -0.5), padding=0)

    def _fit_axes(self) -> None:
        """Keep the shape of the tensor, unless a side would be too thin."""
        super()._fit_axes()
        px, is_roomy = self._theme.px, self.height() >= self._theme.px(_ROOMY)
        self.bottom.setStyle(showValues=is_roomy)
        self.bottom.setHeight(self.text_height if is_roomy else 1)
        legend = px(_SCALE[1]) + self.text_height + BESIDE if is_roomy else 0
        across = self.width() - self.left_width - BESIDE
        along = self.height() - BESIDE - self.bottom.height() - legend
        shape = (1, 1) if self.plane is None else (self.plane.shape.width, self.plane.shape.height)
        scale = min(across / shape[0], along / shape[1], px(_MOST_SIDE))
        width = max(min(max(shape[0] * scale, px(_LEAST_SIDE)), across), 1)
        height = max(min(max(shape[1] * scale, px(_LEAST_SIDE)), along), 1)
        foot = self.height() - BESIDE - height - self.bottom.height()
        self.centralLayout.setContentsMargins(0, BESIDE, across - width + BESIDE, foot)
        x, y = self.left_width, self.height() - foot + BESIDE
        if not is_roomy:
            x, y = round(x + width + 2 * BESIDE), BESIDE
        wide = min(max(self.width() - x - px(_SCALE_TEXT), px(_LEAST_SIDE)), px(_SCALE[0]))
        self.scale.setGeometry(QRectF(x, y, wide, px(_SCALE[1])))
        self.legend.setGeometry(QRectF(x, y + px(_SCALE[1]), wide, self.text_height))
        self.odd.setPos(x, y + px(_SCALE[1]) + self.text_height)
        if is_roomy:
            self.odd.setPos(x + px(_SCALE[0]) + 3 * BESIDE, y - px(4))

    def _fill(self) -> None:
        plane, theme = self.plane, self._theme
        assert plane is not None
        self.style_axis(self.legend)
        view, room, ratio = self._view, self.plot_rect(), self.devicePixelRatioF()
        x0, y0 = math.floor(view.left()), math.floor(view.top())
        x1, y1 = math.ceil(view.right()), math.ceil(view.bottom())
        lines = max(min(int(room.height() * ratio), y1 - y0), 1)
        columns = max(min(int(room.width() * ratio), x1 - x0), 1)
        part = slice(y0, y1), slice(x0, x1)
        pixels = picture_of(plane, lines, columns, theme.dark, theme.pixel("hit"), part)
        self.add(_image(pixels, QRectF(x0 - 0.5, y0 - 0.5, x1 - x0, y1 - y0)))
        if self._mark >= 0:
            row, column = self.cell_of(self._mark)
            for token, width in (("canvas", 4), ("ring", 2)):
                pen = pg.mkPen(theme.color(token), width=width)
                self.add(pg.ScatterPlotItem([column], [row], size=theme.px(_RING), pen=pen,
                                            brush=None))  # fmt: skip
        low, high, has_odd = range_of(plane)
        self.scale.clear()
        self.scale.addItem(_image(colors_of(plane.shown, theme.dark)[None], QRectF(0, 0, 1, 1)))
        self.scale.setRange(QRectF(0, 0, 1, 1), padding=0)
        ends = (0.0, figure_text(low)), (1.0, figure_text(high))
        has_room = self.scale.width() >= 2 * theme.px(_SCALE_TEXT)
        self.legend.setTicks([list(ends[not has_room :])])
        self.odd.setVisible(has_odd)
        self.odd.setFont(theme.font("caption"))
        self.odd.setBrush(theme.color("hit"))


def _image(pixels: Pixels, place: QRectF) -> pg.ImageItem:
    """Return pixels 0xffRRGGBB as an item, with the first line on top."""
    channels = pixels.astype("<u4").view(np.uint8).reshape(*pixels.shape, 4)[..., [2, 1, 0, 3]]
    item = pg.ImageItem(np.ascontiguousarray(channels), axisOrder="row-major", levels=None)
    item.setRect(place)
    return item


# -- pixels ----------------------------------------------------------------------------------------


@lru_cache
def colors_of(side: Shown, dark: bool) -> Pixels:
    """Return 256 pixels from low to high: of heat for differences, of the ramp for values."""
    steps: tuple[int, ...] = RAMP_FILLS if dark else RAMP_FILLS[::-1]
    if side is Shown.DIFFERENCE:
        steps = (canvas_rgb(dark), *HEAT_FILLS[dark])
    places = np.linspace(0, 1, len(steps))
    positions = np.linspace(0, 1, _COLORS)
    pixels = np.full(_COLORS, 0xFF000000, np.uint32)
    for shift in (16, 8, 0):
        channel = np.interp(positions, places, [step >> shift & 255 for step in steps])
        pixels |= np.round(channel).astype(np.uint32) << np.uint32(shift)
    pixels.flags.writeable = False
    return pixels


def range_of(plane: Plane) -> tuple[float, float, bool]:
    """Return the values of the first and the last color, and whether any value is odd."""
    values = plane.values
    is_finite = np.isfinite(values)
    finite = values[is_finite]
    low = 0.0 if plane.shown is Shown.DIFFERENCE or not len(finite) else float(finite.min())
    high = float(finite.max()) if len(finite) else 0.0
    return low, max(high, low), not bool(is_finite.all())


def picture_of(
    plane: Plane, lines: int, columns: int, dark: bool, odd: int, cells: Part = _WHOLE
) -> Pixels:
    """Return the pixels of a part of a plane (lines, columns). odd: of NaN and infinite values.

    A pixel of several cells shows the one with the largest size.
    """
    low, high, _ = range_of(plane)
    values = plane.values[cells]
    values = np.where(np.isnan(values), np.inf, values)
    most, least = (
        _reduced(_reduced(values, lines, 0, by), columns, 1, by) for by in (np.maximum, np.minimum)
    )
    picked = np.where(-least > most, least, most)
    colors = colors_of(plane.shown, dark)
    # Halves: the width of the range may exceed the largest float.
    with np.errstate(invalid="ignore"):
        part = (picked / 2 - low / 2) / ((high / 2 - low / 2) or 1.0)
    is_finite = np.isfinite(picked)
    part[~is_finite] = 0.0
    steps = np.clip(np.round(part * (_COLORS - 1)), 0, _COLORS - 1)
    pixels: Pixels = colors[steps.astype(np.int64)]
    pixels[~is_finite] = np.uint32(odd | 0xFF000000)
    return np.ascontiguousarray(pixels)


def _reduced(values: Floats, pixels: int, axis: int, by: np.ufunc) -> Floats:
    """Map cells to pixels along an axis; of several cells in one pixel, take one by a function."""
    cells = values.shape[axis]
    first: Ints = np.arange(pixels) * cells // pixels
    if pixels >= cells:
        return np.take(values, first, axis)
    reduced: Floats = by.reduceat(values, first, axis)
    return reduced


def _exact(value: float) -> str:
    return f"{value:.7g}"
