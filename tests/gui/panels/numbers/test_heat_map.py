"""The picture of a difference: outliers, values below the mouse, keys."""

import numpy as np
import pytest
from PySide6.QtCore import QPoint, QPointF, Qt

from tests.analysis.numeric.test_plane import stored
from viewer.analysis.numeric.plane import Shown, plane_of
from viewer.gui.panels.numbers.heat_map import HeatMap, colors_of, picture_of
from viewer.model.times import plain_spaces

ODD = 0xFF00FF


@pytest.fixture
def show(theme, qtbot):
    """Show the difference of two arrays; the largest is marked."""

    def make(a, b, size=(300, 200), largest=None):
        made = HeatMap(theme)
        qtbot.addWidget(made)
        made.resize(*size)
        made.show_plane(plane_of(stored(a), stored(b), 0, Shown.DIFFERENCE), largest)
        made.show()
        return made

    return make


def test_one_outlier_in_a_million_has_a_pixel():
    a = np.zeros((1000, 1000))
    b = a.copy()
    b[123, 877] = 1e-3
    plane = plane_of(stored(a), stored(b), 0, Shown.DIFFERENCE)
    pixels = picture_of(plane, 100, 90, dark=True, odd=ODD)
    colors = colors_of(Shown.DIFFERENCE, True)
    ((line, column),) = np.argwhere(pixels == colors[-1]).tolist()
    assert abs(line - 12.3) <= 1
    assert abs(column - 78.9) <= 1
    assert (pixels != colors[0]).sum() == 1


def test_values_that_are_no_number_have_their_own_color():
    plane = plane_of(stored([[np.nan, 1.0]]), stored([[1.0, 0.5]]), 0, Shown.DIFFERENCE)
    pixels = picture_of(plane, 1, 4, dark=False, odd=ODD)
    assert pixels.tolist() == [
        [0xFF000000 | ODD] * 2 + [colors_of(Shown.DIFFERENCE, False)[-1]] * 2
    ]


def test_negative_outliers_of_values_stay_visible():
    plane = plane_of(stored([[0.0, -9.0, 1.0, 1.0]]), None, 0, Shown.A)
    pixels = picture_of(plane, 1, 2, dark=True, odd=ODD)
    assert pixels.tolist() == [[colors_of(Shown.A, True)[0], colors_of(Shown.A, True)[-1]]]


def test_the_mouse_shows_index_and_both_values(show, qtbot):
    a = np.zeros((2, 4))
    b = a.copy()
    b[1, 2] = 0.25
    made = show(a, b, largest=6)
    heard = []
    made.pointed.connect(heard.append)
    at = made.center_of((1, 2))
    qtbot.mouseMove(made, at.toPoint())
    assert [plain_spaces(line) for line in made.tip.lines] == [
        "[1, 2]", "A 0", "B 0.25", "A − B −0.25",
    ]  # fmt: skip
    assert heard[-1].startswith("[1, 2]")
    assert made.mark == (1, 2)
    qtbot.mouseMove(made, QPoint(299, 199))
    assert made.tip.lines == ()


def test_below_a_pixel_of_many_values_is_the_largest(show):
    a = np.zeros((600, 600))
    b = a.copy()
    b[300, 301] = 1.0
    made = show(a, b, size=(120, 100))
    room = made.picture
    x = room.left() + 301 / 600 * room.width()
    cell = made.cell_at(QPointF(x, room.top() + 300 / 600 * room.height()))
    assert cell is not None
    lines = made.lines_of(*cell)
    assert lines[0] == "[300, 301]"
    assert "the largest of" in lines[-1]


def test_arrows_move_from_the_largest_error(show, qtbot):
    b = np.zeros((3, 3))
    b[1, 1] = 1.0
    made = show(np.zeros((3, 3)), b, largest=4)
    made.setFocus()
    qtbot.keyClick(made, Qt.Key.Key_Right)
    assert made.accessible_value().startswith("[1, 1]")
    qtbot.keyClick(made, Qt.Key.Key_Right)
    qtbot.keyClick(made, Qt.Key.Key_Up)
    assert made.accessible_value().startswith("[0, 2]")


def test_an_empty_map_ignores_mouse_and_keys(theme, qtbot):
    made = HeatMap(theme)
    qtbot.addWidget(made)
    made.show_plane(None, None)
    qtbot.keyClick(made, Qt.Key.Key_Right)
    qtbot.mouseMove(made, QPoint(5, 5))
    assert made.tip.lines == ()
