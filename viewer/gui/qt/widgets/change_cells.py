"""Paints changes: differences with a bar, ratios with a verdict, a dot for each session."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from PySide6.QtCore import QPointF, QRect, QRectF, Qt
from PySide6.QtGui import QColor, QPainter, QPen

from viewer.gui.qt.theme.theme import Theme
from viewer.gui.qt.widgets.table_model import RIGHT
from viewer.gui.qt.widgets.time_cells import paint_time
from viewer.gui.qt.widgets.verdict_marks import FASTER, SLOWER, change_color, paint_mark

_RADIUS, _A_ABOVE, _B_BELOW = 2.4, 3.6, 3.6  # px
_INSET = 8
_LINE = 1.2
_NUMBER, _MARK, _GAP = 84, 22, 6  # px


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


def paint_difference(
    painter: QPainter, cell: QRect, text: str, share: float | None, verdict: str, theme: Theme
) -> None:
    """Paint a difference in time, right-aligned, and its bar left of it; None for no bar."""
    _prepare(painter, verdict, theme)
    width = theme.px(_NUMBER)
    number = QRect(cell.right() - width, cell.top(), width - theme.px(_GAP), cell.height())
    paint_time(painter, number, text)
    if share is not None:
        paint_change_bar(painter, QRectF(cell).adjusted(2, 0, -width - 2, 0), share, verdict, theme)


def paint_ratio(painter: QPainter, cell: QRect, text: str, verdict: str, theme: Theme) -> None:
    """Paint a ratio, right-aligned, and the mark of its verdict right of it, "" for none."""
    _prepare(painter, verdict, theme)
    mark, gap = theme.px(_MARK), theme.px(_GAP)
    painter.drawText(cell.adjusted(gap, 0, -mark - gap, 0), int(RIGHT), text)
    if verdict:
        center = QPointF(cell.right() - gap - mark / 2, cell.center().y() + 1)
        paint_mark(painter, center, verdict, theme)


def _prepare(painter: QPainter, verdict: str, theme: Theme) -> None:
    """Set the font, and the color: that of the verdict only if a change is proven."""
    is_proven = verdict in (SLOWER, FASTER)
    painter.setFont(theme.font("cell"))
    painter.setPen(change_color(verdict, theme) if is_proven else theme.color("text2"))


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
    upper = y - theme.px(_A_ABOVE)
    for values, height, is_filled in ((dots.a, upper, False), (dots.b, lower, True)):
        for change in values:
            x = x_of(change)
            if abs(change) > reach:
                painter.drawLine(QPointF(x, height - radius), QPointF(x, height + radius))
                continue
            painter.setBrush(color if is_filled else Qt.BrushStyle.NoBrush)
            painter.drawEllipse(QPointF(x, height), radius, radius)
    painter.restore()
