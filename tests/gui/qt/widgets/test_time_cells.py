"""Times in tables: digits and units of a column are aligned, to the pixel."""

from math import ceil

import pytest
from PySide6.QtCore import QRect
from PySide6.QtGui import QFontMetricsF, QImage, QPainter

from viewer.gui.qt.widgets.cells import paint_time, unit_slot
from viewer.model.times import NARROW_SPACE

WIDTH, HEIGHT = 120, 24


@pytest.fixture
def metrics(theme):
    return QFontMetricsF(theme.font("cell"))


@pytest.fixture
def slot(theme):
    """Where the slot of the unit begins."""
    return WIDTH - unit_slot(theme.font("cell"))


@pytest.fixture
def painted(theme):
    """What a cell looks like, as the gray values of each of its columns of pixels."""

    def paint(text, *, fractions=False):
        image = QImage(WIDTH, HEIGHT, QImage.Format.Format_Grayscale8)
        image.fill(0xFF)
        painter = QPainter(image)
        painter.setFont(theme.font("cell"))
        text = text.replace(" ", NARROW_SPACE)
        paint_time(painter, QRect(0, 0, WIDTH, HEIGHT), text, fractions=fractions)
        painter.end()
        return [tuple(image.pixelColor(x, y).value() for y in range(HEIGHT)) for x in range(WIDTH)]

    return paint


def has_ink(columns):
    return any(value < 0xFF for column in columns for value in column)


def test_digits_end_where_the_slot_of_the_unit_begins(painted, slot):
    slot = ceil(slot)
    cells = [painted(f"1.111 {unit}")[:slot] for unit in ("s", "ms", "µs", "ns")]
    assert cells[1:] == cells[:-1]
    assert has_ink(cells[0])


def test_units_begin_at_one_place(painted, metrics, slot):
    slot = ceil(slot)
    assert painted("1.000 ms")[slot:] == painted("999.999 ms")[slot:]
    space = int(metrics.horizontalAdvance(NARROW_SPACE))
    assert all(not has_ink(painted(f"1 {u}")[slot + 1 : slot + space]) for u in ("s", "µs"))


def test_points_of_one_unit_are_aligned(painted, metrics, slot):
    decimals = ceil(slot - metrics.horizontalAdvance(".111"))
    assert painted("1.111 µs")[decimals:] == painted("444.111 µs")[decimals:]


def test_whole_ns_leave_room_where_others_have_decimals(painted, metrics, slot):
    point = int(slot - metrics.horizontalAdvance(".500"))
    whole = painted("385 ns", fractions=True)
    assert whole[:point] == painted("385.500 ns", fractions=True)[:point]
    assert whole[:point] != painted("385 ns")[:point]


def test_0_and_a_missing_time_stand_where_digits_are(painted, slot):
    slot = ceil(slot)
    for text in ("0", "–"):
        assert has_ink(painted(text)[:slot])
        assert not has_ink(painted(text)[slot:])


def test_what_is_no_time_takes_the_slot_too(painted, slot):
    assert has_ink(painted("5 000 cycles")[int((WIDTH + slot) / 2) :])
