"""The marks of verdicts: a shape and a color each, so that neither is needed alone.

A triangle up is slower, a triangle down faster, two bars are no change, and a dashed ring is
inconclusive. A verdict is given by its value, such as "slower".
"""

from __future__ import annotations

from PySide6.QtCore import QPointF, QRectF, QSize, Qt
from PySide6.QtGui import QColor, QPainter, QPaintEvent, QPen, QPolygonF
from PySide6.QtWidgets import QSizePolicy, QWidget

from viewer.gui.qt.crash_report import guard
from viewer.gui.qt.theme.theme import Theme

SIDE = 11  # px
SLOWER, FASTER, NO_CHANGE = "slower", "faster", "no_change"


def change_color(verdict: str, theme: Theme) -> QColor:
    """Return the color of a verdict: gray for what is not proven."""
    return theme.color(verdict if verdict in (SLOWER, FASTER) else "text3")


def paint_mark(
    painter: QPainter,
    center: QPointF,
    verdict: str,
    theme: Theme,
    own_color: QColor | None = None,
) -> None:
    """Paint the mark of a verdict around a point. own_color: on a fill with that of the verdict."""
    side = theme.px(SIDE)
    box = QRectF(center.x() - side / 2, center.y() - side / 2, side, side)
    color = own_color or change_color(verdict, theme)
    painter.save()
    painter.setRenderHint(QPainter.RenderHint.Antialiasing)
    painter.setPen(Qt.PenStyle.NoPen)
    painter.setBrush(color)
    inset = side / 11
    if verdict in (SLOWER, FASTER):
        tip, base = box.top() + inset, box.bottom() - inset
        if verdict == FASTER:
            tip, base = base, tip
        points = [QPointF(box.left(), base), QPointF(box.center().x(), tip)]
        painter.drawPolygon(QPolygonF([*points, QPointF(box.right(), base)]))
    elif verdict == NO_CHANGE:
        bar = QRectF(box.left() + inset, box.top() + 3 * inset, side - 2 * inset, 1.5 * inset)
        painter.drawRect(bar)
        painter.drawRect(bar.translated(0, 3.5 * inset))
    else:
        painter.setBrush(Qt.BrushStyle.NoBrush)
        pen = QPen(color, 1.4 * inset)
        pen.setDashPattern([1.6, 1.4])
        painter.setPen(pen)
        ring = box.adjusted(1.5 * inset, 1.5 * inset, -1.5 * inset, -1.5 * inset)
        painter.drawEllipse(ring)
    painter.restore()


class VerdictMark(QWidget):
    """The mark of a verdict as a widget."""

    def __init__(self, verdict: str, theme: Theme, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.verdict, self._theme = verdict, theme
        self.setSizePolicy(QSizePolicy.Policy.Fixed, QSizePolicy.Policy.Fixed)

    @guard(QSize())
    def sizeHint(self) -> QSize:
        side = self._theme.px(SIDE) + 2
        return QSize(side, side)

    @guard
    def paintEvent(self, event: QPaintEvent) -> None:
        painter = QPainter(self)
        paint_mark(painter, QRectF(self.rect()).center(), self.verdict, self._theme)
        painter.end()
