"""The histogram of a tensor's values, and of those of its reference, on one scale."""

from __future__ import annotations

import numpy as np
from PySide6.QtCore import QPointF, QRectF, QSize, Qt
from PySide6.QtGui import QAccessible, QMouseEvent, QPainter, QPaintEvent, QPen, QPolygonF
from PySide6.QtWidgets import QSizePolicy, QWidget

from viewer.arrays import Ints
from viewer.gui.panels.numbers.contents import figure_text
from viewer.gui.panels.numbers.detail_answer import Histograms
from viewer.gui.qt.accessibility import has_role
from viewer.gui.qt.crash_report import guard
from viewer.gui.qt.theme.theme import Theme
from viewer.gui.qt.widgets.hover_tip import HoverTip
from viewer.model.times import group_digits

_HEIGHT, _FOOT = 64, 16  # px
_LEFT = int(Qt.AlignmentFlag.AlignLeft | Qt.AlignmentFlag.AlignVCenter)
_RIGHT = int(Qt.AlignmentFlag.AlignRight | Qt.AlignmentFlag.AlignVCenter)
_CENTER = int(Qt.AlignmentFlag.AlignCenter)


@has_role(QAccessible.Role.Graphic)
class Histogram(QWidget):
    """A as filled bars, B as a line over them."""

    def __init__(self, theme: Theme) -> None:
        super().__init__()
        self._theme = theme
        self.shown: Histograms | None = None
        self.tip = HoverTip(self, theme)
        self.setMouseTracking(True)
        self.setSizePolicy(QSizePolicy.Policy.Ignored, QSizePolicy.Policy.Fixed)
        self.setAccessibleName("Histogram of the values")

    def show_counts(self, shown: Histograms | None) -> None:
        """Show histograms, or nothing."""
        self.shown = shown
        self.tip.show_lines((), self.rect().topLeft())
        self.update()

    def accessible_value(self) -> str:
        """Return the text for screen readers: the range."""
        shown = self.shown
        return "" if shown is None else f"{figure_text(shown.low)} to {figure_text(shown.high)}"

    @guard(QSize())
    def sizeHint(self) -> QSize:
        return QSize(self._theme.px(120), self._theme.px(_HEIGHT + _FOOT))

    def lines_at(self, x: float) -> tuple[str, ...]:
        """Return the lines about the bin at an x."""
        shown = self.shown
        if shown is None or not 0 <= x < self.width():
            return ()
        bins = len(shown.a)
        i = min(int(x / self.width() * bins), bins - 1)
        edges = [shown.low + (shown.high - shown.low) * part / bins for part in (i, i + 1)]
        lines = [" to ".join(figure_text(edge) for edge in edges)]
        lines.append(f"A {group_digits(int(shown.a[i]))}" if len(shown.b) else
                     group_digits(int(shown.a[i])))  # fmt: skip
        if len(shown.b):
            lines.append(f"B {group_digits(int(shown.b[i]))}")
        return tuple(lines)

    @guard
    def mouseMoveEvent(self, event: QMouseEvent) -> None:
        self.tip.show_lines(self.lines_at(event.position().x()), event.position().toPoint())

    @guard
    def leaveEvent(self, event: object) -> None:
        self.tip.show_lines((), self.rect().topLeft())

    @guard
    def hideEvent(self, event: object) -> None:
        self.tip.show_lines((), self.rect().topLeft())

    @guard
    def paintEvent(self, event: QPaintEvent) -> None:
        painter, shown, theme = QPainter(self), self.shown, self._theme
        foot = theme.px(_FOOT)
        bottom = self.height() - foot
        if shown is not None:
            most = np.log1p(max(int(shown.a.max(initial=0)), int(shown.b.max(initial=0)), 1))
            bins = len(shown.a)
            wide = self.width() / bins
            for i, high in enumerate(_heights(shown.a, most, bottom - 2)):
                box = QRectF(i * wide, bottom - high, max(wide - 1, 1.0), high)
                painter.fillRect(box, theme.color("counter_area"))
            if len(shown.b):
                points = []
                for i, high in enumerate(_heights(shown.b, most, bottom - 2)):
                    y = bottom - high
                    points += [QPointF(i * wide, y), QPointF((i + 1) * wide, y)]
                painter.setPen(QPen(theme.color("accent"), 1.2))
                painter.drawPolyline(QPolygonF(points))
            self._paint_foot(painter, shown, bottom, foot)
        painter.end()

    def _paint_foot(self, painter: QPainter, shown: Histograms, bottom: float, foot: float) -> None:
        theme = self._theme
        painter.setFont(theme.font("caption"))
        painter.setPen(QPen(theme.color("hairline"), 1))
        painter.drawLine(QPointF(0, bottom + 0.5), QPointF(self.width(), bottom + 0.5))
        painter.setPen(theme.color("text2"))
        room = QRectF(0, bottom, self.width(), foot)
        ends = figure_text(shown.low), figure_text(shown.high)
        painter.drawText(room, _LEFT, ends[0])
        painter.drawText(room, _RIGHT, ends[1])
        left = self.width() - 2 * max(map(painter.fontMetrics().horizontalAdvance, ends))
        texts = (
            ("A filled, B as a line, log scale", "A, B as a line", "")
            if len(shown.b)
            else ("values, log scale", "log scale", "")
        )
        wide = (painter.fontMetrics().horizontalAdvance(text) for text in texts)
        fitting = (t for t, w in zip(texts, wide, strict=True) if w + theme.px(12) < left or not w)
        painter.drawText(room, _CENTER, next(fitting))


def _heights(counts: Ints, most: float, room: float) -> list[float]:
    """The heights of bins in px on a logarithmic scale; one with any value is visible."""
    high = np.where(counts > 0, np.maximum(np.log1p(counts) / most * room, 1.0), 0.0)
    found: list[float] = high.tolist()
    return found
