"""Charts of pyqtgraph in our theme: axes with units, tips, zoom, keys, and a picture to export.

A subclass says what its boxes are, such as bars or points, and adds the items of pyqtgraph that are
in view. The axis of `RangeView` is that below; its place t is at `origin + t * step` of the data.
Without pyqtgraph's menus a chart takes half the time of a `PlotWidget`.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence

import numpy as np
import pyqtgraph as pg
from numpy.typing import ArrayLike
from PySide6.QtCore import QPointF, QRectF, QSize, Qt
from PySide6.QtGui import QAccessible, QBrush, QColor, QFontMetricsF, QPainter, QPaintEvent
from PySide6.QtWidgets import QSizePolicy

from viewer.arrays import Floats, Ints
from viewer.gui.panels.base.range_view import NO_BOX as NONE
from viewer.gui.panels.base.range_view import RangeView
from viewer.gui.qt.accessibility import has_role
from viewer.gui.qt.crash_report import guard
from viewer.gui.qt.theme.theme import Theme
from viewer.gui.qt.widgets.labels import elided_text
from viewer.model.times import NARROW_SPACE, format_briefly, format_in, group_digits, unit_for

Ticks = Sequence[tuple[float, str]]
_TICK, _TEXT_GAP = 4, 3  # px, of an axis
BESIDE = 12  # px, above and right of the plot: half of the last text of an axis
_LINE = 14  # px between the texts of the left axis
_OVER = 30  # px that the first and last text of the axis below are beside it
_NAMED, _NUMBERED = 110, 60  # px of height, from which on the axis below has a name, and texts
_WITH_GAPS = 4  # px: bars so wide have a gap between them
_NO_PEN = pg.mkPen(None)


class Axis(pg.AxisItem):  # type: ignore[misc]
    """An axis with our texts: at given places, or at those that pyqtgraph picks."""

    def __init__(self, side: str) -> None:
        super().__init__(side, maxTickLength=_TICK)
        self.text_of: Callable[[float], str] = "{:.6g}".format
        self.least_step, self.is_time = 0.0, False  # is_time: its values are ns, times `scale`
        self.setZValue(-200)  # the lines of its grid are behind the items
        self.enableAutoSIPrefix(False)
        self.setStyle(
            maxTickLevel=0, maxTextLevel=0, autoExpandTextSpace=False, hideOverlappingLabels=False,
            tickTextOffset=_TEXT_GAP, tickAlpha=255,
        )  # fmt: skip

    def _updateLabel(self) -> None:
        if self.labelText or self.label.isVisible():  # else a tenth of the time of a chart
            super()._updateLabel()

    @guard(QRectF())
    def boundingRect(self) -> QRectF:
        return QRectF(super().boundingRect().adjusted(-_OVER, -BESIDE, _OVER, BESIDE))

    @guard([])
    def tickSpacing(self, low: float, high: float, size: float) -> list[tuple[float, float]]:
        least = self.least_step
        if self.orientation == "left":
            least = max(least, _LINE * (high - low) / max(size, 1))
        spacing = super().tickSpacing(low, high, size)
        # Doubled until there is room: texts may not overlap.
        doublings = (math.ceil(math.log2(max(least / step, 1.0))) for step, _ in spacing)
        return [
            (s * 2**twice, offset) for (s, offset), twice in zip(spacing, doublings, strict=True)
        ]

    @guard([])
    def tickStrings(self, values: Sequence[float], scale: float, spacing: float) -> list[str]:
        if not self.is_time:
            return [self.text_of(value) for value in values]
        unit, factor = unit_for(max((abs(value * scale) for value in values), default=0))
        rounded = (round(spacing * scale * 10**d / factor, 6) for d in range(9))
        decimals = next((d for d, step in enumerate(rounded) if step == round(step)), 9)
        texts = (format_in(value * scale, factor, decimals) for value in values)
        return [f"{text}{NARROW_SPACE}{unit}" for text in texts]


@has_role(QAccessible.Role.Chart)
class Chart(RangeView, pg.GraphicsView):  # type: ignore[misc]
    """A plot with two axes. `_fill()` of a subclass adds what is in view, and sets the axes."""

    origin, step = 0.0, 1.0
    has_grid = True
    LEFT, HEIGHT = 56, 0  # px: the width of the left axis; the fixed height, 0 for any

    def __init__(self, theme: Theme, name: str) -> None:
        super().__init__(useOpenGL=False, background=None)  # type: ignore[call-arg]
        self._set_up(theme, name)
        self.setViewportUpdateMode(self.ViewportUpdateMode.NoViewportUpdate)
        self.setCacheMode(self.CacheModeFlag.CacheNone)
        self.plot = pg.ViewBox(enableMenu=False, enableMouse=False, defaultPadding=0)
        self.plots = [self.plot]
        self.left, self.bottom = Axis("left"), Axis("bottom")
        for axis, *place in ((self.plot, 0, 1), (self.left, 0, 0), (self.bottom, 1, 1)):
            self.centralLayout.addItem(axis, *place)
            if axis is not self.plot:
                axis.linkToView(self.plot)
        self.centralLayout.setSpacing(0)
        self._name = ""
        self._items: list[pg.GraphicsObject] = []
        self._filled: tuple[object, ...] | None = None
        self.scene().sigPrepareForPaint.connect(self._prepare)
        if self.fixed_height:
            self.setSizePolicy(QSizePolicy.Policy.Ignored, QSizePolicy.Policy.Fixed)
        theme.changed.connect(self.retheme)
        self.retheme()

    # -- what a chart shows ----------------------------------------------------------------------

    def _fill(self) -> None:
        """Add the items in view, and set the axes."""
        raise NotImplementedError

    def add(self, item: pg.GraphicsObject) -> None:
        """Add an item in the coordinates of the data."""
        self._items.append(item)
        self.plot.addItem(item, ignoreBounds=True)

    def add_bars(
        self,
        x0: ArrayLike,
        x1: ArrayLike,
        y0: ArrayLike,
        y1: ArrayLike,
        color: QColor | Sequence[QBrush],
    ) -> None:
        """Add bars of one color, or of one brush each."""
        x0, x1, y0, y1 = np.broadcast_arrays(x0, x1, y0, y1)
        fill = {"brush": color} if isinstance(color, QColor) else {"brushes": color}
        if x0.size:
            self.add(pg.BarGraphItem(x0=x0, x1=x1, y0=y0, y1=y1, pen=_NO_PEN, **fill))

    def add_line(
        self,
        x: ArrayLike,
        y: ArrayLike,
        token: str,
        *,
        style: Qt.PenStyle = Qt.PenStyle.SolidLine,
        width: float = 1,
    ) -> None:
        """Add a line through points, in a color of the theme."""
        pen = pg.mkPen(self._theme.color(token), width=width, style=style)
        self.add(pg.PlotCurveItem(np.asarray(x, float), np.asarray(y, float), pen=pen))

    def add_rule(self, x: float, token: str) -> None:
        """Add a dashed line up through the plot."""
        pen = pg.mkPen(self._theme.color(token), width=1, style=Qt.PenStyle.DashLine)
        self.add(pg.InfiniteLine(x, angle=90, pen=pen))

    def add_text(self, x: float, text: str, token: str) -> None:
        """Add a text at the top of the plot, beside a place of the data, elided to its width."""
        sides, font = self.plot_rect(), self._theme.font("caption")
        text = elided_text(
            QFontMetricsF(font), text, Qt.TextElideMode.ElideMiddle, sides.width() - 8
        )
        x0, x1 = self.plot.viewRange()[0]
        share = (x - x0) / (x1 - x0)
        item = pg.TextItem(
            text, self._theme.color(token), anchor=(min(max(share, 0.0), 1.0), 0),
            fill=self._theme.color("raised"), ensureInBounds=True,
        )  # fmt: skip
        item.setFont(font)
        item.setPos(x, self.plot.viewRange()[1][1])
        self.add(item)

    def set_axes(
        self, low: float, high: float, left: Ticks | None = None, bottom: Ticks | None = None
    ) -> None:
        """Set the ends of the left axis, and the texts of both axes; None: those by `text_of`."""
        self.plot.setYRange(low, high, padding=0)
        self.bottom.setTicks(None if bottom is None else [list(bottom)])
        near = (self.text_height - _TICK) * (high - low) / max(self.plot_rect().height(), 1)
        roomy: list[tuple[float, str]] = []
        for place, text in left or ():
            if not roomy or abs(place - roomy[-1][0]) >= near:
                roomy.append((place, text))
        self.left.setTicks(None if left is None else [roomy])

    # -- layout ----------------------------------------------------------------------------------

    def retheme(self) -> None:
        """Use the colors of the theme, which has changed."""
        theme = self._theme
        for axis in (self.left, self.bottom):
            self.style_axis(axis)
        if self.has_grid:
            self.left.setGrid(255)
        self.setBackground(theme.color("panel"))
        self.redraw()

    def style_axis(self, axis: Axis) -> None:
        """Give an axis the fonts and colors of the theme."""
        theme = self._theme
        axis.setTickFont(theme.font("caption"))
        axis.label.setFont(theme.font("caption"))
        axis.setTextPen(theme.color("text2"))
        axis.setPen(theme.color("line"))
        axis.setTickPen(theme.color("hairline"))

    def _fit_axes(self) -> None:
        theme, high = self._theme, self.text_height
        has_name = bool(self._name) and self.height() >= theme.px(_NAMED)
        has_texts = self.height() >= theme.px(_NUMBERED)
        self.bottom.setLabel(self._name if has_name else "", color=theme.tokens.text2)
        self.bottom.setStyle(showValues=has_texts)
        self.bottom.setHeight(high if has_texts else _TICK)
        if has_name:
            self.bottom.setHeight(2 * high - _TICK)
        self.left.setWidth(self.left_width)
        self.centralLayout.setContentsMargins(0, BESIDE, BESIDE, 0)

    @property
    def left_width(self) -> int:
        """The width of the left axis in px."""
        return self._theme.px(self.LEFT)

    @property
    def fixed_height(self) -> int:
        """The height in px, 0 if the chart takes what there is."""
        return self._theme.px(self.HEIGHT)

    @guard(QSize())
    def sizeHint(self) -> QSize:
        high = self.fixed_height
        return QSize(self._theme.px(200), high) if high else super().sizeHint()

    @property
    def text_height(self) -> int:
        """The height of an axis with texts in px."""
        return _TICK + _TEXT_GAP + round(QFontMetricsF(self._theme.font("caption")).height())

    def name_bottom(self, text: str) -> None:
        """Name what is across, with its unit; a low chart does not show it."""
        self._name = text
        self.redraw()

    def redraw(self) -> None:
        self._filled = None
        self.viewport().update()

    def plot_rect(self) -> QRectF:
        """Return where the plot is, in px."""
        self.centralLayout.activate()
        return QRectF(self.plot.sceneBoundingRect())

    @property
    def _state(self) -> tuple[object, ...]:
        """What the items depend on, besides what is shown; the size first."""
        return self.size().toTuple(), self._range

    def _show_range(self) -> None:
        t0, t1 = self._range
        self.plot.setXRange(self.x_in_data(t0), self.x_in_data(t1), padding=0)

    def _prepare(self) -> None:
        before, self._filled = self._filled, self._state
        if before == self._filled:
            return
        for item in self._items:
            self.plot.removeItem(item)
        self._items = []
        if before is None or before[0] != self._filled[0]:
            self._fit_axes()
        self._show_range()
        if self._is_filled:
            self._fill()
        for part in self.plots:
            part.prepareForPaint()  # they may have heard the signal before

    # -- places ----------------------------------------------------------------------------------

    @property
    def _sides(self) -> tuple[float, float]:
        rect = self.plot_rect()
        return rect.left(), max(rect.right(), rect.left() + 1)

    def x_in_data(self, t: float) -> float:
        """Return a place of the range in the coordinates of the data."""
        return self.origin + t * self.step

    def x_of(self, t: float) -> float:
        """Return where a place of the range is, in px."""
        (left, right), (t0, t1) = self._sides, self._range
        return left + (t - t0) / max(t1 - t0, 1) * (right - left)

    def t_of(self, x: float) -> float | None:
        """Return the place of the range at an x, None beside the plot."""
        (left, right), (t0, t1) = self._sides, self._range
        return t0 + (x - left) / (right - left) * (t1 - t0) if left <= x < right else None

    # -- painting --------------------------------------------------------------------------------

    @property
    def opacity(self) -> float:
        """How opaque it is, 0 to 1."""
        return float(self.centralWidget.opacity())

    @opacity.setter
    def opacity(self, value: float) -> None:
        self.centralWidget.setOpacity(value)
        self.viewport().update()

    @guard
    def paintEvent(self, event: QPaintEvent) -> None:
        super().paintEvent(event)
        painter = QPainter(self.viewport())
        if self._is_filled:
            self._paint_rings(painter)
        painter.end()

    def _paint_picture(self, painter: QPainter) -> None:
        self.render(painter)  # type: ignore[call-overload]


class BarChart(Chart):
    """Bars of one width in their order, such as one for every inference.

    Of bars narrower than a pixel, the one with the largest weight is drawn and chosen.
    """

    origin = 0.5  # the middle of a bar is at its number, from 1 on
    LEAST_SPAN = 4
    _AROUND = 8  # bars on each side of the one that is zoomed to
    weights: Floats = np.empty(0)

    def __init__(self, theme: Theme, name: str) -> None:
        super().__init__(theme, name)
        self.bottom.text_of = lambda number: group_digits(round(number))
        self.bottom.least_step = 1.0

    @property
    def _length(self) -> int:
        return max(len(self.weights), 1)

    @property
    def _is_filled(self) -> bool:
        return len(self.weights) > 0

    @property
    def _first(self) -> int:
        return self._range[0]

    @property
    def _per_bar(self) -> float:
        """The px that a bar is wide."""
        (left, right), (t0, t1) = self._sides, self._range
        return (right - left) / max(t1 - t0, 1)

    def in_view(self) -> tuple[Ints, Floats, Floats]:
        """Return the bars to draw, with their left and right ends in the data."""
        (t0, t1), wide, step = self._range, self._per_bar, self.step
        number: Ints = np.arange(t0, min(t1, len(self.weights)), dtype=np.int64)
        if wide >= 1:
            gap = 1 / wide if wide >= _WITH_GAPS else 0.0
            left: Floats = number.astype(np.float64) * step + self.origin
            return number, left, left + (1 - gap) * step
        column = ((number - t0) * wide).astype(np.int64)
        order = np.lexsort((-self.weights[number], column))
        first = np.append(True, column[order][1:] != column[order][:-1])
        left = self.origin + (t0 + column[order][first] / wide) * step
        return number[order][first], left, left + step / wide

    def box_at(self, point: QPointF) -> int:
        t = self.t_of(point.x()) if self._is_filled else None
        if t is None:
            return NONE
        number, x0, _ = self.in_view()
        place = int(np.searchsorted(x0, self.x_in_data(t), side="right")) - 1
        return int(number[place]) if place >= 0 else NONE

    def room(self, box: int) -> QRectF | None:
        if not self._range[0] <= box < self._range[1]:
            return None
        plot, left = self.plot_rect(), self.x_of(box)
        return QRectF(left, plot.top(), max(self.x_of(box + 1) - left, 2.0), plot.height())

    def zoom_to(self, box: int) -> None:
        """Show a bar with some on both sides."""
        self._show_from(box - self._AROUND, 2 * self._AROUND + 1)


# Times that differ more are drawn on a logarithmic scale, or the short ones are flat.
_LOGARITHMIC = 6
_FEW = 12  # bars that all have their number below them
_SHORTEST = 0.1  # of the height, on that scale
# The phases take turns with these colors.
TOKENS = ("accent", "slab")


class InferenceChart(BarChart):
    """One bar per inference, in the color of its phase; the current one has its own.

    Numbers are above the bars if `has_numbers` and there is room. The scale starts at 0, or is
    logarithmic if times differ much and `may_be_log`.
    """

    HEIGHT = 84  # px

    def __init__(
        self,
        ns: Sequence[int],
        texts: Sequence[str],
        phases: Sequence[int],
        current: int,
        theme: Theme,
        *,
        color: QColor | None = None,
        has_numbers: bool = False,
        may_be_log: bool = False,
    ) -> None:
        """texts: of the tips. current: -1 for none. color: of the current one."""
        self._texts, self._phases = tuple(texts), np.array(phases, np.int64) % len(TOKENS)
        self._color, self._has_numbers = color, has_numbers
        super().__init__(theme, "Inferences")
        self.weights = np.array(ns, np.float64)
        self.most, least = max(ns, default=0), max(min(ns, default=0), 1)
        self.unit, self._factor = unit_for(self.most)
        self._is_log = may_be_log and self.most > _LOGARITHMIC * least
        self.left.is_time = True
        self.left.setScale(max(self.most, 1))
        self._show_anew(stays=False)
        self._chosen = current

    @property
    def numbers(self) -> list[str]:
        """The times in `unit`; one decimal, unless that would round a short one to 0."""
        factor = self._factor
        return [
            format_in(ns, factor, 1 if 20 * ns >= factor else None)
            for ns in self.weights.astype(np.int64).tolist()
        ]

    def heights(self) -> Floats:
        """Return the height of each bar, 0 to 1."""
        if not self._is_log:
            return np.asarray(self.weights / max(self.most, 1))
        least = max(self.weights.min(), 1)
        part = np.log(np.maximum(self.weights, 1) / least) / np.log(self.most / least)
        return np.asarray(_SHORTEST + (1 - _SHORTEST) * part)

    def lines(self, box: int) -> Sequence[str]:
        return (self._texts[box],)

    def _mark_chosen(self, box: int) -> None:
        self._chosen = box
        self.redraw()

    def _box_of_menu(self, at: QPointF | None) -> int:
        # To choose one makes a new chart, without the menu.
        if at is not None:
            return self.box_at(at)
        return self._current if self._current >= 0 else self._first

    def _rings(self) -> Iterable[tuple[Sequence[int], int]]:
        # The current one has a color of its own.
        return ([self._hovered], 1), ([self._chosen] if self.hasFocus() else [], 2)

    def _fill(self) -> None:
        theme, heights, (number, x0, x1) = self._theme, self.heights(), self.in_view()
        least = int(self.weights.min())
        ends = ((_SHORTEST, format_briefly(least)), (1.0, format_briefly(self.most)))
        line = QFontMetricsF(theme.font("caption")).height() if self._has_numbers else 0
        plot = self.plot_rect().height()
        places = None
        if len(number) <= _FEW:
            places = [(bar + 1.0, group_digits(bar + 1)) for bar in number.tolist()]
        self.set_axes(0.0, plot / max(plot - line, 1), ends if self._is_log else None, places)
        is_current = number == self._chosen
        for phase, token in enumerate(TOKENS):
            which = (self._phases[number] == phase) & ~is_current
            self.add_bars(x0[which], x1[which], 0.0, heights[number[which]], theme.color(token))
        color = self._color or theme.color("text1")
        self.add_bars(x0[is_current], x1[is_current], 0.0, heights[number[is_current]], color)
        if self._has_numbers:
            self._add_numbers(heights)

    def _add_numbers(self, heights: Floats) -> None:
        theme, texts = self._theme, self.numbers
        metrics = QFontMetricsF(theme.font("ruler"))
        has_room = max(map(metrics.horizontalAdvance, texts)) + 4 <= self._per_bar
        for bar in range(*self._range) if has_room else filter(lambda i: i >= 0, [self._chosen]):
            token = "text1" if bar == self._chosen else "text2"
            item = pg.TextItem(texts[bar], theme.color(token), anchor=(0.5, 0.85))
            item.setFont(theme.font("ruler"))
            item.setPos(bar + 1, float(heights[bar]))
            self.add(item)
