"""Paints times in tables: right-aligned digits before a slot for the unit.

Every cell has the unit that suits it, as in "2.595 s" above "385 ns". With tabular digits and a
slot of fixed width, the units of a column start at one x coordinate, and so do the decimal points
of its cells of one unit.
"""

from __future__ import annotations

from dataclasses import dataclass

from PySide6.QtCore import QRect, QRectF, Qt
from PySide6.QtGui import QFont, QFontMetricsF, QPainter

from viewer.gui.qt.widgets.elided_text import elided_text
from viewer.gui.qt.widgets.table_model import LEFT, RIGHT
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
