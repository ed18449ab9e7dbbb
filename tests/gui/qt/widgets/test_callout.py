"""The note of the tour: it lies beside what it points at, inside of the window."""

import pytest
from PySide6.QtCore import QPoint, QRect, QSize
from PySide6.QtWidgets import QWidget

from viewer.gui.qt.widgets.callout import Callout, place_next_to, tip_corners

ROOM = QRect(0, 0, 1000, 600)
NOTE = QSize(300, 150)


@pytest.mark.parametrize(
    ("target", "side"),
    [
        (QRect(400, 100, 50, 20), "below"),
        (QRect(0, 0, 40, 20), "below"),
        (QRect(400, 550, 50, 20), "above"),
        (QRect(10, 10, 200, 580), "right"),
        (QRect(800, 10, 190, 580), "left"),
    ],
)
def test_a_note_lies_where_there_is_room_and_covers_nothing(target, side):
    note = QRect(place_next_to(target, NOTE, ROOM), NOTE)
    assert ROOM.contains(note)
    assert not note.intersects(target)
    sides = {
        "below": note.top() > target.bottom(),
        "above": note.bottom() < target.top(),
        "right": note.left() > target.right(),
        "left": note.right() < target.left(),
    }
    assert sides[side]
    assert len(tip_corners(note.adjusted(9, 9, -9, -9), target, 9)) == 3


def test_what_fills_the_room_has_the_note_in_its_middle():
    note = QRect(place_next_to(ROOM, NOTE, ROOM), NOTE)
    assert ROOM.contains(note)
    assert tip_corners(note, ROOM, 9) == []
    assert place_next_to(QRect(), NOTE, ROOM) == note.topLeft()


def test_the_note_is_read_aloud_and_shows_all_of_its_text(theme, qtbot):
    window = QWidget()
    qtbot.addWidget(window)
    window.resize(1000, 600)
    callout = Callout(theme, window)
    callout.animates = False
    window.show()
    callout.show_step(
        "Tour, step 1 of 4", "Click a slice", "Every bar is something. " * 12, "&Next"
    )
    callout.point_at(QRect(100, 100, 60, 30))
    assert callout.accessibleName() == "Tour, step 1 of 4: Click a slice"
    assert callout.accessibleDescription().startswith("Every bar")
    text = callout.text
    assert text.height() >= text.heightForWidth(text.width())
    assert window.rect().contains(callout.geometry())
    callout.dismiss()
    assert not callout.isVisible()
    assert window.childAt(QPoint(100, 100)) is None


def test_a_note_covers_nothing_that_is_to_stay_in_sight():
    tabs, target = QRect(0, 300, 1000, 30), QRect(400, 200, 50, 80)
    below = QRect(place_next_to(target, NOTE, ROOM), NOTE)
    assert below.intersects(tabs)
    note = QRect(place_next_to(target, NOTE, ROOM, [tabs]), NOTE)
    assert not note.intersects(tabs)
    assert not note.intersects(target)
    # It takes the nearest such place: above the target there is room, 4 px away.
    assert target.top() - note.bottom() - 1 == 4
    everywhere = QRect(place_next_to(target, NOTE, ROOM, [ROOM]), NOTE)
    assert not everywhere.intersects(target)
