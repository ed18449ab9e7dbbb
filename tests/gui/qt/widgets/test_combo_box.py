"""Rows of a combo box's list."""

import pytest
from PySide6.QtGui import QColor

from tests.gui.dark_theme import dark_theme
from viewer.gui.qt.widgets.controls import ComboBox


def colors_of(image, rect):
    return {
        image.pixelColor(x, y).name()
        for x in range(image.width())
        for y in range(rect.top(), min(rect.bottom(), image.height()))
    }


@pytest.mark.qt_log_ignore("grabbing the keyboard", extend=True)
def test_the_chosen_row_has_a_check_and_the_row_below_the_pointer_a_fill(qtbot):
    theme = dark_theme()
    box = ComboBox(theme)
    qtbot.addWidget(box)
    theme.apply_to(box)
    box.addItems(["Operator", "Module"])
    box.show()
    box.showPopup()
    rows = box.view()
    rows.setCurrentIndex(box.model().index(1, 0))
    image = rows.viewport().grab().toImage()
    first, second = (
        colors_of(image, rows.visualRect(box.model().index(row, 0))) for row in range(2)
    )
    selection, accent = theme.color("selection").name(), theme.color("accent").name()
    assert selection in second
    assert selection not in first
    assert any(is_near(color, accent) for color in first)
    assert not any(is_near(color, accent) for color in second)
    room = rows.visualRect(box.model().index(0, 0))
    assert room.height() >= theme.px(26)
    assert room.width() >= rows.sizeHintForColumn(0), "a text would be cut"
    box.hidePopup()


def is_near(color, other):
    one, two = QColor(color), QColor(other)
    pairs = ((one.red(), two.red()), (one.green(), two.green()), (one.blue(), two.blue()))
    return all(abs(a - b) <= 30 for a, b in pairs)
