"""Paints cells of tables: times with aligned units, changes, and the marks of verdicts.

Every time has the unit that suits it, as in "2.595 s" above "385 ns". With tabular digits and a
slot of fixed width, the units of a column start at one x coordinate, and so do the decimal points
of its cells of one unit. A verdict, given by its value such as "slower", has a shape and a color,
so that neither is needed alone.
"""

from __future__ import annotations

from collections.abc import Sequence

from PySide6.QtCore import QPointF, QRect, QRectF, QSize, Qt
from PySide6.QtGui import QColor, QFont, QFontMetricsF, QPainter, QPaintEvent, QPen, QPolygonF
from PySide6.QtWidgets import QSizePolicy, QWidget

from viewer.dataclasses import dataclass
from viewer.gui.qt.crash_report import guard
from viewer.gui.qt.theme.theme import Theme
from viewer.gui.qt.widgets.labels import elided_text
from viewer.gui.qt.widgets.tables import LEFT, RIGHT
from viewer.model.times import NARROW_SPACE, is_fraction_of_ns, split_time

_WIDEST_UNITS = ("ms", "µs")
_THREE_DECIMALS = ".000"


@dataclass(frozen=True, slots=True)
class _Widths:
    """Widths in a font, in px: the space before a unit, its slot with the space, ".000"."""

    space: float
    slot: float
    three_decimals: float


_KNOWN: dict[str, _Widths] = {}  # by key of a font: measuring takes longer than painting


def _widths(font: QFont) -> _Widths:
    key = font.key()
    if key not in _KNOWN:
        advance = QFontMetricsF(font).horizontalAdvance
        space = advance(NARROW_SPACE)
        slot = space + max(map(advance, _WIDEST_UNITS))
        _KNOWN[key] = _Widths(space, slot, advance(_THREE_DECIMALS))
    return _KNOWN[key]


def unit_slot(font: QFont) -> float:
    """Return the width of the slot for a unit and the space before it, in px."""
    return _widths(font).slot


def paint_time(painter: QPainter, room: QRect, text: str, *, fractions: bool = False) -> None:
    """Paint a time in the painter's font and pen, with its unit's slot at the right end of `room`.

    "0" and a missing time stand where the digits are. Other texts, such as native durations of a
    separate clock, take the slot too. fractions: whether the column has fractions of a ns, so that
    whole ns leave room for three decimals.
    """
    widths = _widths(painter.font())
    number, unit = split_time(text)
    right = widths.slot
    if fractions and unit in ("", "ns") and not is_fraction_of_ns(text):
        right += widths.three_decimals
    is_time = bool(unit) or len(text) == 1
    if not is_time or painter.fontMetrics().horizontalAdvance(number) > room.width() - right:
        elided = elided_text(painter.fontMetrics(), text, Qt.TextElideMode.ElideRight, room.width())
        painter.drawText(QRectF(room), int(RIGHT), elided)
        return
    painter.drawText(QRectF(room).adjusted(0, 0, -right, 0), int(RIGHT), number)
    unit_left = room.width() - widths.slot + widths.space
    painter.drawText(QRectF(room).adjusted(unit_left, 0, 0, 0), int(LEFT), unit)


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


_RADIUS, _A_ABOVE, _B_BELOW = 2.4, 3.6, 3.6  # px
_INSET = 8
_LINE = 1.2
_NUMBER, _MARK, _GAP = 84, 22, 6  # px


@dataclass(frozen=True, slots=True)
class Dots:
    """The sessions of both arms as ratio - 1 to the median of A, and the interval, if any."""

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
