"""What all charts have: axes in the colors of the theme, tips, zoom, keys, and pictures."""

import numpy as np
import pyqtgraph as pg
import pytest
from PySide6.QtCore import QPoint, QPointF, Qt
from PySide6.QtGui import QAccessible, QColor, QContextMenuEvent, QGuiApplication
from PySide6.QtWidgets import QMainWindow, QMenu

from tests.gui.events import CTRL, wheel
from viewer.gui.panels.base.chart import BarChart, InferenceChart
from viewer.model.times import plain_spaces

WIDTH, HEIGHT = 480, 140


class Counts(BarChart):
    """A bar per number."""

    def show_counts(self, counts):
        self.weights = np.array(counts, float)
        self.name_bottom("Place")
        self._show_anew(stays=False)

    def lines(self, box):
        return (f"Place {box + 1}", f"{self.weights[box]:g}")

    def _fill(self):
        self.set_axes(0.0, float(self.weights.max()))
        number, x0, x1 = self.in_view()
        self.add_bars(x0, x1, 0.0, self.weights[number], QColor(255, 0, 0))


class Window(QMainWindow):
    """A window that writes pictures."""

    def __init__(self):
        super().__init__()
        self.saved = []

    def save_picture(self, bytes_of):
        self.saved.append(bytes_of)


@pytest.fixture
def show(theme, qtbot):
    windows = []

    def make(counts):
        chart, window = Counts(theme, "Counts"), Window()
        windows.append(window)  # nothing else keeps it
        qtbot.addWidget(window)
        window.setCentralWidget(chart)
        window.resize(WIDTH, HEIGHT)
        window.show()
        chart.show_counts(counts)
        chart.grab()
        return chart

    return make


def menu_of(chart):
    at = chart.center_of(0)
    reason = QContextMenuEvent.Reason.Mouse
    chart.contextMenuEvent(QContextMenuEvent(reason, at, chart.mapToGlobal(at)))
    menu = chart.findChildren(QMenu)[-1]
    menu.close()
    return {action.text(): action for action in menu.actions()}


def red(image):
    pixels = [image.pixelColor(x, image.height() // 2) for x in range(image.width())]
    return sum(color.red() > 200 and color.green() < 60 for color in pixels)


def test_bars_are_where_their_place_is(show):
    chart = show([4, 1, 4, 1])
    image = chart.viewport().grab().toImage()
    ratio = image.devicePixelRatio()
    for bar, is_high in enumerate((True, False, True, False)):
        at = chart.center_of(bar)
        color = image.pixelColor(round(at.x() * ratio), round(at.y() * ratio))
        assert (color.red() > 200) is is_high
        assert chart.box_at(at.toPointF()) == bar
    assert chart.box_at(QPoint(3, 20).toPointF()) == -1, "the axis is no bar"


def test_the_axis_below_counts_from_one_in_whole_steps(show):
    chart = show([1, 2, 3])
    values = [text for _, ticks in chart.bottom.tickValues(0.5, 3.5, 300)
              for text in chart.bottom.tickStrings(ticks, 1, 1)]  # fmt: skip
    assert values[:3] == ["1", "2", "3"]
    assert len(set(values)) == len(values)


def test_texts_on_the_left_have_room_whatever_the_height(show):
    axis = show([1]).left
    for height in (15, 40, 300):
        step, _ = axis.tickSpacing(0.0, 1800.0, height)[0]
        assert step * height / 1800 >= 14


def test_times_have_a_unit_and_no_more_digits_than_their_steps(show):
    axis = show([1]).left
    axis.is_time = True
    texts = axis.tickStrings([0, 5e5, 1e6, 1.5e6], 1.0, 5e5)
    assert [text.replace("\u202f", " ") for text in texts] == [
        "0 ms",
        "0.5 ms",
        "1.0 ms",
        "1.5 ms",
    ]


def test_of_several_bars_in_a_pixel_the_largest_is_drawn_and_pointed_to(show):
    counts = np.ones(100_000)
    counts[41_234] = 9
    chart = show(counts)
    assert chart.box_at(QPointF(chart.x_of(41_234), 60)) == 41_234
    number, x0, _ = chart.in_view()
    assert 41_234 in number.tolist()
    assert len(number) <= WIDTH
    assert (np.diff(x0) > 0).all()


def test_keys_step_zoom_and_show_all(show, qtbot):
    chart = show(range(1, 101))
    chosen = []
    chart.chosen.connect(chosen.append)
    chart.setFocus()
    for key in (Qt.Key.Key_Right, Qt.Key.Key_Right, Qt.Key.Key_Left, Qt.Key.Key_Up):
        qtbot.keyClick(chart, key)
    assert chosen == [0, 1, 0]
    assert chart.accessible_value() == "Place 1, 1"
    qtbot.keyClick(chart, Qt.Key.Key_Return)
    assert not chart.shows_all
    assert chart.room(0) is not None
    assert chart.room(90) is None
    qtbot.keyClick(chart, Qt.Key.Key_Escape)
    assert chart.shows_all


def test_a_screen_reader_meets_a_chart_with_the_value_of_the_current_bar(show, qtbot):
    chart = show([4, 1])
    chart.setFocus()
    qtbot.keyClick(chart, Qt.Key.Key_Right)
    face = QAccessible.queryAccessibleInterface(chart)
    assert face.role() == QAccessible.Role.Chart
    assert face.text(QAccessible.Text.Name) == "Counts"
    assert face.text(QAccessible.Text.Description) == "Place 1, 4"


def test_ctrl_and_the_wheel_zoom_toward_the_mouse_and_dragging_pans(show, qtbot):
    chart = show(range(1, 101))
    at = chart.center_of(70)
    for _ in range(6):
        wheel(chart.viewport(), at, 1, held=CTRL)
    assert not chart.shows_all
    assert chart.box_at(at.toPointF()) == 70
    first = chart.box_at(at.toPointF())
    qtbot.mousePress(chart.viewport(), Qt.MouseButton.LeftButton, pos=at)
    qtbot.mouseMove(chart.viewport(), at + QPoint(60, 0))
    qtbot.mouseRelease(chart.viewport(), Qt.MouseButton.LeftButton, pos=at + QPoint(60, 0))
    assert chart.box_at((at + QPoint(60, 0)).toPointF()) == pytest.approx(first, abs=1)
    assert chart._current == -1, "a drag is no click"


def test_keys_begin_with_the_first_bar_in_view(show, qtbot):
    chart = show(range(1, 101))
    chart.zoom_to(50)
    qtbot.keyClick(chart, Qt.Key.Key_Right)
    assert chart._current == 42
    assert not chart.shows_all


def test_a_bar_that_a_key_goes_to_is_brought_into_view(show, qtbot):
    chart = show(range(1, 101))
    chart.zoom_to(90)
    chart._mark_chosen(3)
    qtbot.keyClick(chart, Qt.Key.Key_Right)
    assert chart._current == 4
    assert chart.room(4) is not None


def test_texts_of_the_left_axis_without_room_are_left_out(show):
    chart = show([100.0])
    chart.set_axes(0.0, 100.0, [(float(i), str(i)) for i in range(101)])
    places = [place for place, _ in chart.left._tickLevels[0]]
    assert 3 <= len(places) <= 8
    assert places[0] == 0


def test_the_tip_has_the_lines_of_the_bar_below_the_mouse(show, qtbot):
    chart = show([4, 1])
    for bar in (0, 1):  # a mouse that an earlier test left there would not move
        qtbot.mouseMove(chart.viewport(), chart.center_of(bar))
    assert chart.tip.lines == ("Place 2", "1")
    chart.hide()
    assert chart.tip.lines == ()


def test_colors_follow_the_theme(show, theme):
    chart = show([1, 2])
    for choice in ("light", "dark"):
        theme.set_choice(choice)
        image = chart.viewport().grab().toImage()
        assert image.pixelColor(1, image.height() - 2) == theme.color("panel")
        assert chart.left.textPen().color() == theme.color("text2")


def test_the_picture_is_copied_and_saved_sharp(show):
    chart = show([4, 4, 4])
    actions = menu_of(chart)
    actions["Copy picture"].trigger()
    image = QGuiApplication.clipboard().image()
    assert image.width() == 2 * chart.viewport().width()
    assert red(image) > image.width() / 2
    actions["Save picture…"].trigger()
    (bytes_of,) = chart.window().saved
    assert bytes_of(".png").startswith(b"\x89PNG")
    svg = bytes_of(".svg")
    assert b"<title>Counts</title>" in svg
    assert b"Place" in svg, "texts stay texts"


def test_a_chart_without_bars_ignores_keys_and_mouse(show, qtbot):
    chart = show([])
    qtbot.keyClick(chart, Qt.Key.Key_Right)
    qtbot.mouseMove(chart.viewport(), QPoint(200, 50))
    assert chart.tip.lines == ()
    assert chart.accessible_value() == ""


def test_inferences_that_differ_much_are_on_a_logarithmic_scale_with_their_ends(theme, qtbot):
    chart = InferenceChart([1_000_000, 90_000_000], ("a", "b"), (0, 1), 0, theme, may_be_log=True)
    qtbot.addWidget(chart)
    chart.resize(300, 90)
    chart.show()
    chart.grab()
    assert chart.heights().tolist() == pytest.approx([0.1, 1.0])
    texts = [plain_spaces(text) for _, text in chart.left._tickLevels[0]]
    assert texts == ["1.00 ms", "90.0 ms"]
    assert [text for _, text in chart.bottom._tickLevels[0]] == ["1", "2"]


def test_numbers_above_bars_need_room_but_for_that_of_the_current_one(theme, qtbot):
    chart = InferenceChart([1000] * 30, ["x"] * 30, [0] * 30, 3, theme, has_numbers=True)
    qtbot.addWidget(chart)
    chart.show()
    for width, count in ((1600, 30), (200, 1)):
        chart.resize(width, 90)
        chart.grab()
        assert sum(isinstance(item, pg.TextItem) for item in chart._items) == count
    assert (chart.unit, chart.numbers[0]) == ("µs", "1.0")


def test_the_menu_of_inferences_chooses_none_of_them(theme, qtbot):
    """Panels make the chart anew for the chosen one, which would take the menu along."""
    chart = InferenceChart([1000] * 30, ["x"] * 30, [0] * 30, 3, theme)
    qtbot.addWidget(chart)
    chart.show()
    with qtbot.assertNotEmitted(chart.chosen):
        assert "Copy picture" in menu_of(chart)
