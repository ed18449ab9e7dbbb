"""Paints the chart of a measure: a bar per operator, the largest jump labeled.

Bars narrower than a pixel are drawn as the worst one of each pixel.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from PySide6.QtCore import QPointF, QRectF, Qt
from PySide6.QtGui import QColor, QFontMetricsF, QPainter, QPen, QPolygonF

from viewer.arrays import Floats, Ints
from viewer.gui.panels.numbers.measures import BarKind, Bars
from viewer.gui.qt.theme.theme import Theme
from viewer.gui.qt.widgets.elided_text import elided_text
from viewer.render.palette import Palette, rgb_table

CAPTION, FOOT = 18, 6  # px above and below the bars
_WITH_GAPS = 4  # px: bars so wide have a gap between them
_MARK = 7  # px, of a triangle
_CENTER = int(Qt.AlignmentFlag.AlignCenter)


@dataclass(frozen=True, slots=True, eq=False)
class ChartFrame:
    """What a frame shows. t0, t1: the range of bars. colors: palette index per bar. jump: the label
    of the largest jump. width, height: in px.
    """

    bars: Bars
    t0: int
    t1: int
    colors: Palette
    jump: str
    width: int
    height: int

    def left_of(self, bar: float) -> float:
        """Return where a bar starts, in px."""
        return (bar - self.t0) / max(self.t1 - self.t0, 1) * self.width

    def shown(self) -> tuple[Ints, Floats, Floats]:
        """Return the bars to draw with their left and right ends: the worst one per pixel."""
        number = np.arange(self.t0, min(self.t1, len(self.bars)))
        left = (number - self.t0) / max(self.t1 - self.t0, 1) * self.width
        wide = self.width / max(self.t1 - self.t0, 1)
        if wide >= 1:
            gap = 1.0 if wide >= _WITH_GAPS else 0.0
            return number, left, left + max(wide - gap, 1.0)
        column = left.astype(np.int64)
        order = np.lexsort((-self.bars.badness[number], column))
        first = np.ones(len(order), np.bool_)
        first[1:] = column[order][1:] != column[order][:-1]
        worst = order[first]
        at = column[worst].astype(np.float64)
        return number[worst], at, at + 1.0


class ChartPainter:
    """Paints the frames of one chart."""

    def __init__(self, theme: Theme) -> None:
        self._theme = theme

    def plot(self, frame: ChartFrame) -> tuple[float, float]:
        """Return the first line of the bars and the line below them, in px."""
        px = self._theme.px
        return float(px(CAPTION)), float(max(frame.height - px(FOOT), px(CAPTION) + 1))

    def y_of(self, frame: ChartFrame, value: float) -> float:
        """Return the line of a place on the axis."""
        top, bottom = self.plot(frame)
        bars = frame.bars
        return bottom - (value - bars.low) / (bars.high - bars.low) * (bottom - top)

    def bar_at(self, frame: ChartFrame, x: float) -> int:
        """Return the drawn bar at an x, -1 for none."""
        number, left, right = frame.shown()
        wide = frame.width / max(frame.t1 - frame.t0, 1)
        at = int(np.searchsorted(left, x, side="right")) - 1
        if at < 0 or x >= max(left[at] + wide, right[at]):
            return -1
        return int(number[at])

    def box(self, frame: ChartFrame, bar: int) -> QRectF:
        """Return the place of a bar over the full height."""
        top, bottom = self.plot(frame)
        left, right = frame.left_of(bar), frame.left_of(bar + 1)
        return QRectF(left, top, max(right - left, 2.0), bottom - top)

    def paint(self, painter: QPainter, frame: ChartFrame) -> None:
        """Paint grid, bars and the label."""
        theme = self._theme
        top, bottom = self.plot(frame)
        painter.setPen(QPen(theme.color("hairline"), 1))
        for value, _ in frame.bars.ticks:
            y = round(self.y_of(frame, value)) + 0.5
            painter.drawLine(QPointF(0, y), QPointF(frame.width, y))
        painter.drawLine(QPointF(0, bottom + 0.5), QPointF(frame.width, bottom + 0.5))
        self._paint_bars(painter, frame, top, bottom)
        self._paint_jump(painter, frame, top)

    def _paint_bars(self, painter: QPainter, frame: ChartFrame, top: float, bottom: float) -> None:
        theme, bars = self._theme, frame.bars
        rgb = rgb_table(theme.dark)
        number, left, right = frame.shown()
        for i, x0, x1 in zip(number.tolist(), left.tolist(), right.tolist(), strict=True):
            kind = bars.kind[i]
            if kind == BarKind.MEASURED:
                y = min(self.y_of(frame, float(bars.top[i])), bottom - 2)
                color = QColor.fromRgb(int(rgb[frame.colors[i]]))
                painter.fillRect(QRectF(x0, y, x1 - x0, bottom - y), color)
            elif kind == BarKind.ODD:
                ground = theme.color("warning", 0.35 if x1 - x0 > 2 else 1.0)
                painter.fillRect(QRectF(x0, top, x1 - x0, bottom - top), ground)
                self._paint_triangle(painter, (x0 + x1) / 2, top)
            elif kind == BarKind.EQUAL:
                y = bottom - 3 if bars.rises else top + 3
                painter.setPen(QPen(theme.color("ok"), 1.5))
                painter.setBrush(Qt.BrushStyle.NoBrush)
                half = min((x1 - x0) / 2, theme.px(4))
                middle = (x0 + x1) / 2
                for line in (y - 1.5, y + 1.5):
                    painter.drawLine(QPointF(middle - half, line), QPointF(middle + half, line))

    def _paint_triangle(self, painter: QPainter, x: float, top: float) -> None:
        side = self._theme.px(_MARK)
        painter.setPen(Qt.PenStyle.NoPen)
        painter.setBrush(self._theme.color("warning"))
        corners = (QPointF(x - side / 2, top), QPointF(x + side / 2, top), QPointF(x, top + side))
        painter.drawPolygon(QPolygonF(list(corners)))

    def _paint_jump(self, painter: QPainter, frame: ChartFrame, top: float) -> None:
        """Paint a line from the bar at which the error grows most to its label."""
        most, theme = frame.bars.most, self._theme
        if not frame.jump or not frame.t0 <= most < frame.t1:
            return
        x = (frame.left_of(most) + frame.left_of(most + 1)) / 2
        measured = frame.bars.kind[most] == BarKind.MEASURED
        end = self.y_of(frame, float(frame.bars.top[most])) if measured else top
        painter.setPen(QPen(theme.color("text1"), 1, Qt.PenStyle.DotLine))
        painter.drawLine(QPointF(x, top), QPointF(x, max(end, top)))
        painter.setFont(theme.font("caption"))
        room = max(frame.width - 2 * theme.px(6), 20)
        text = elided_text(painter.fontMetrics(), frame.jump, Qt.TextElideMode.ElideMiddle, room)
        wide = QFontMetricsF(painter.font()).horizontalAdvance(text) + 2 * theme.px(6)
        left = min(max(x - wide / 2, 0.0), max(frame.width - wide, 0.0))
        chip = QRectF(left, 1, wide, theme.px(CAPTION) - 3)
        painter.fillRect(chip, theme.color("raised"))
        painter.setPen(theme.color("text1"))
        painter.drawText(chip, _CENTER, text)

    def paint_ring(self, painter: QPainter, frame: ChartFrame, bar: int, *, width: int) -> None:
        """Paint a ring around the place of a bar."""
        if not frame.t0 <= bar < frame.t1:
            return
        box = self.box(frame, bar)
        box.setWidth(max(box.width(), 4.0))
        pen = QPen(self._theme.color("ring"), width)
        pen.setJoinStyle(Qt.PenJoinStyle.MiterJoin)
        painter.setPen(pen)
        painter.setBrush(Qt.BrushStyle.NoBrush)
        half = width / 2
        painter.drawRect(box.adjusted(half, half, -half, -half))
