"""Paints changes: a bar to one side of a zero line, and a dot for each session of two arms."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from PySide6.QtCore import QPointF, QRectF, Qt
from PySide6.QtGui import QColor, QPainter, QPen

from viewer.gui.qt.theme.theme import Theme
from viewer.gui.qt.widgets.verdict_marks import change_color

_RADIUS, _A_ABOVE, _B_BELOW = 2.4, 3.6, 3.6  # px
_INSET = 8
_LINE = 1.2


@dataclass(frozen=True, slots=True)
class Dots:
    """The sessions of a row as changes against the median of A, as ratio - 1.

    a, b: the sessions of each arm. low, high: the interval of the change, None if there is none.
    """

    a: tuple[float, ...]
    b: tuple[float, ...]
    low: float | None = None
    high: float | None = None


def dots_of(
    a: Sequence[float], b: Sequence[float], middle: float | None, interval: Sequence[float] | None
) -> Dots:
    """Return the dots of session medians in ns. middle: the median of A, None if A has none."""
    if not middle:
        return Dots((), ())
    low, high = interval or (None, None)
    return Dots(tuple(x / middle - 1 for x in a), tuple(x / middle - 1 for x in b), low, high)


def paint_change_bar(
    painter: QPainter, cell: QRectF, share: float, verdict: str, theme: Theme
) -> None:
    """Paint a bar from the zero line in the middle of a cell. share: -1 to 1 of half the cell."""
    middle = round(cell.center().x())
    painter.fillRect(QRectF(middle, cell.top(), 1, cell.height()), theme.color("line"))
    width = cell.width() / 2 * min(abs(share), 1.0)
    if width <= 0:
        return
    width = max(width, 1.5)
    left = middle if share > 0 else middle - width + 1
    color = QColor(change_color(verdict, theme))
    color.setAlphaF(0.75)
    painter.fillRect(QRectF(left, cell.top() + 3, width, cell.height() - 6), color)


def paint_dots(
    painter: QPainter,
    cell: QRectF,
    dots: Dots,
    verdict: str,
    theme: Theme,
    *,
    reach: float,
    band: float,
) -> None:
    """Paint the sessions of A as rings, those of B filled, and the interval as a line below.

    reach: the change at the edges of the cell; what is farther away is a tick at the edge. band:
    the threshold, which is shaded.
    """
    room = cell.adjusted(theme.px(_INSET), 0, -theme.px(_INSET), 0)
    middle, scale = room.center().x(), room.width() / 2 / reach
    shade = theme.color("hover")
    painter.save()
    painter.fillRect(
        QRectF(middle - band * scale, cell.top(), 2 * band * scale, cell.height()), shade
    )
    painter.setRenderHint(QPainter.RenderHint.Antialiasing)
    color, y = change_color(verdict, theme), room.center().y()
    painter.setPen(QPen(color, _LINE))
    radius = theme.px(_RADIUS * 10) / 10
    lower = y + theme.px(_B_BELOW)

    def x_of(change: float) -> float:
        return middle + max(min(change, reach), -reach) * scale

    if dots.low is not None and dots.high is not None:
        painter.drawLine(QPointF(x_of(dots.low), lower), QPointF(x_of(dots.high), lower))
    for values, at, is_filled in ((dots.a, y - theme.px(_A_ABOVE), False), (dots.b, lower, True)):
        for change in values:
            x = x_of(change)
            if abs(change) > reach:
                painter.drawLine(QPointF(x, at - radius), QPointF(x, at + radius))
                continue
            painter.setBrush(color if is_filled else Qt.BrushStyle.NoBrush)
            painter.drawEllipse(QPointF(x, at), radius, radius)
    painter.restore()
