"""The picture of a difference: outliers, values below the mouse, keys."""

import numpy as np
import pytest
from PySide6.QtCore import QPoint, QPointF, Qt
from PySide6.QtGui import QColor

from tests.analysis.numbers.test_plane import stored
from tests.gui.events import CTRL, wheel
from viewer.analysis.numbers.tensor_summary import Shown, plane_of
from viewer.gui.panels.numbers.charts import HeatMap, colors_of, picture_of
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
        made.grab()
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
    qtbot.mouseMove(made.viewport(), made.center_of(made.box_of(1, 2)))
    assert [plain_spaces(line) for line in made.tip.lines] == [
        "[1, 2]", "A 0", "B 0.25", "A − B −0.25",
    ]  # fmt: skip
    assert made.mark == (1, 2)
    qtbot.mouseMove(made.viewport(), QPoint(299, 199))
    assert made.tip.lines == ()


def test_cells_are_drawn_where_they_are_pointed_to(show):
    a = np.zeros((3, 4))
    b = a.copy()
    b[1, 2] = 1.0
    made = show(a, b)
    image = made.viewport().grab().toImage()
    strongest = QColor.fromRgb(int(colors_of(Shown.DIFFERENCE, made._theme.dark)[-1]))
    for cell in np.ndindex(3, 4):
        at = made.center_of(made.box_of(*cell))
        ratio = image.devicePixelRatio()
        color = image.pixelColor(int(at.x() * ratio), int(at.y() * ratio))
        assert (color == strongest) is (cell == (1, 2))
        assert made.box_at(QPointF(at)) == made.box_of(*cell)


def test_one_outlier_in_many_values_is_on_the_screen_however_the_picture_is_zoomed(show, qtbot):
    a = np.zeros((700, 900))
    b = a.copy()
    b[300, 501] = 1.0
    made = show(a, b, size=(260, 190))
    strongest = int(colors_of(Shown.DIFFERENCE, made._theme.dark)[-1])
    for _ in range(12):
        image = made.viewport().grab().toImage()
        plot = made.plot_rect().toAlignedRect()
        pixels = [
            image.pixel(x, y)
            for x in range(plot.left(), plot.right() + 1)
            for y in range(plot.top(), plot.bottom() + 1)
        ]
        assert strongest in pixels
        at = made.room(made.box_of(*made.plane.cell_of(300 * 900 + 501))).center()
        made.zoom(1.4, at.x(), at.y())


def test_below_a_pixel_of_many_values_is_the_largest(show):
    a = np.zeros((600, 600))
    b = a.copy()
    b[300, 301] = 1.0
    made = show(a, b, size=(160, 140))
    box = made.box_at(made.room(made.box_of(*made.plane.cell_of(300 * 600 + 301))).center())
    lines = made.lines(box)
    assert lines[0] == "[300, 301]"
    assert "the largest of" in lines[-1]


def test_arrows_move_from_the_largest_error(show, qtbot):
    b = np.zeros((3, 3))
    b[1, 1] = 1.0
    made = show(np.zeros((3, 3)), b, largest=4)
    made.setFocus()
    qtbot.keyClick(made, Qt.Key.Key_Right)
    assert made.accessible_value().startswith("[1, 1]")
    assert made.tip.lines[0] == "[1, 1]"
    qtbot.keyClick(made, Qt.Key.Key_Right)
    qtbot.keyClick(made, Qt.Key.Key_Up)
    assert made.accessible_value().startswith("[0, 2]")


def test_the_picture_is_zoomed_in_both_directions_panned_and_shown_whole(show, qtbot):
    made = show(np.zeros((60, 80)), np.ones((60, 80)))
    at = made.center_of(made.box_of(20, 30))
    for _ in range(5):
        wheel(made.viewport(), at, 1, held=CTRL)
    assert made.box_at(QPointF(at)) == made.box_of(20, 30)
    assert made.room(made.box_of(59, 79)) is None
    qtbot.mousePress(made.viewport(), Qt.MouseButton.LeftButton, pos=at)
    qtbot.mouseMove(made.viewport(), at + QPoint(20, 30))
    qtbot.mouseRelease(made.viewport(), Qt.MouseButton.LeftButton, pos=at + QPoint(20, 30))
    assert made.box_at(QPointF(at + QPoint(20, 30))) == made.box_of(20, 30)
    qtbot.keyClick(made, Qt.Key.Key_Escape)
    assert made.shows_all
    made.zoom_to(made.box_of(0, 0))
    assert made.box_at(made.plot_rect().topLeft()) == made.box_of(0, 0)
    assert not made.shows_all


def test_axes_number_the_values_of_dimensions(show):
    made = show(np.zeros((8, 3000)), np.ones((8, 3000)), size=(700, 260))
    columns = made.plane.size.shape[1]
    assert columns < 3000, "cells stand for several values"
    assert plain_spaces(made.bottom.text_of(columns // 2)) == "1 500"
    assert made.left.text_of(7.0) == "7"
    assert made.left.text_of(8.0) == ""


def test_an_empty_map_ignores_mouse_and_keys(theme, qtbot):
    made = HeatMap(theme)
    qtbot.addWidget(made)
    made.show_plane(None, None)
    qtbot.keyClick(made, Qt.Key.Key_Right)
    qtbot.mouseMove(made.viewport(), QPoint(5, 5))
    assert made.tip.lines == ()
