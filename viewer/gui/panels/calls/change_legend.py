"""The legend of a differential flame graph, and the hatching of its boxes of one arm."""

from __future__ import annotations

from PySide6.QtCore import QRectF, QSize, Qt
from PySide6.QtGui import QBrush, QColor, QFontMetrics, QPainter, QPaintEvent
from PySide6.QtWidgets import QSizePolicy, QWidget

from viewer.gui.panels.base.cost_painting import slice_color
from viewer.gui.qt.crash_report import guard
from viewer.gui.qt.theme.theme import Theme
from viewer.render.palette import (
    COLORS_OF_CHANGES,
    FASTER,
    FASTER_MARK,
    SLAB,
    SLOWER,
    SLOWER_MARK,
    UNLINKED,
    label_colors,
)

# The color of a box, the mark in it, and what both mean.
_LEGEND = (
    (SLOWER, SLOWER_MARK, "slower"),
    (FASTER, FASTER_MARK, "faster"),
    (SLAB, "", "no change or inconclusive"),
    (UNLINKED, "", "only in one arm"),
)
_LEGEND_BOX, _LEGEND_HEIGHT, _LEGEND_GAP, _LEGEND_BETWEEN = 22, 13, 6, 16  # px


def paint_hatching(painter: QPainter, rect: QRectF, theme: Theme) -> None:
    """Paint the hatching of boxes of one arm over their fill."""
    painter.save()
    painter.setOpacity(0.7)
    painter.fillRect(rect, QBrush(theme.color("text3"), Qt.BrushStyle.BDiagPattern))
    painter.restore()


class ChangeLegend(QWidget):
    """A line of boxes with their meanings."""

    def __init__(self, theme: Theme) -> None:
        super().__init__()
        self._theme = theme
        self.setSizePolicy(QSizePolicy.Policy.Fixed, QSizePolicy.Policy.Fixed)
        self.setAccessibleName("Colors")
        self.setAccessibleDescription(COLORS_OF_CHANGES)
        self.setToolTip(COLORS_OF_CHANGES)

    @property
    def _metrics(self) -> QFontMetrics:
        return QFontMetrics(self._theme.font("caption"))

    @guard(QSize())
    def sizeHint(self) -> QSize:
        px, metrics = self._theme.px, self._metrics
        each = (
            px(_LEGEND_BOX + _LEGEND_GAP) + metrics.horizontalAdvance(text)
            for _, _, text in _LEGEND
        )
        width = sum(each) + px(_LEGEND_BETWEEN) * (len(_LEGEND) - 1)
        return QSize(width, max(metrics.height(), px(_LEGEND_HEIGHT)) + 2)

    @guard
    def paintEvent(self, event: QPaintEvent) -> None:
        theme, px, metrics, x = self._theme, self._theme.px, self._metrics, 0
        painter = QPainter(self)
        painter.setFont(theme.font("caption"))
        for color, mark, text in _LEGEND:
            box = QRectF(
                x, (self.height() - px(_LEGEND_HEIGHT)) / 2, px(_LEGEND_BOX), px(_LEGEND_HEIGHT)
            )
            painter.fillRect(box, slice_color(color, theme))
            if color == UNLINKED:
                paint_hatching(painter, box, theme)
            if mark:
                painter.setPen(QColor.fromRgb(label_colors(theme.dark)[color]))
                painter.drawText(box, int(Qt.AlignmentFlag.AlignCenter), mark)
            x += px(_LEGEND_BOX + _LEGEND_GAP)
            width = metrics.horizontalAdvance(text)
            painter.setPen(theme.color("text2"))
            place = QRectF(x, 0, width + 2, self.height())
            painter.drawText(place, int(Qt.AlignmentFlag.AlignVCenter), text)
            x += width + px(_LEGEND_BETWEEN)
        painter.end()
