"""Rows of tools in any width: in order, side by side, inside, and never narrower than they need."""

import random
from itertools import pairwise

import pytest
from PySide6.QtCore import QCoreApplication, QRect
from PySide6.QtWidgets import QPushButton, QVBoxLayout, QWidget

from viewer.gui.qt.widgets.controls import WrappingRow


def page_of(qtbot, rng):
    """A page with a row of buttons and what fills the rest of it, and the buttons."""
    page, row = QWidget(), WrappingRow()
    qtbot.addWidget(page)
    buttons = [QPushButton("w" * rng.randint(1, 16)) for _ in range(rng.randint(1, 9))]
    for button in buttons:
        row.addWidget(button, rng.randint(0, 2))
    for button in rng.sample(buttons, len(buttons) // 4):
        button.hide()
    column = QVBoxLayout(page)
    column.addLayout(row)
    column.addWidget(QWidget(), 1)
    return page, [button for button in buttons if not button.isHidden()]


@pytest.mark.parametrize("seed", range(12))
def test_a_row_cuts_nothing_in_any_width(qtbot, seed):
    rng = random.Random(seed)
    page, buttons = page_of(qtbot, rng)
    page.show()
    least = page.minimumSizeHint().width()
    for width in (least, *rng.choices(range(least, 4 * least), k=6), 4000):
        page.resize(width, 900)
        QCoreApplication.processEvents()
        rooms = [button.geometry() for button in buttons]
        for button, room in zip(buttons, rooms, strict=True):
            assert room.width() >= button.minimumSizeHint().width()
            assert room.height() >= button.minimumSizeHint().height()
            assert QRect(0, 0, width, 900).contains(room)
        for before, after in pairwise(rooms):
            assert before.right() < after.left() or before.bottom() < after.top()
    assert len({room.center().y() for room in rooms}) == 1
