"""The flame graph: what is at a point, zoom, keys, and what is painted."""

import numpy as np
import pytest
from PySide6.QtCore import QPoint, QPointF, Qt
from PySide6.QtGui import QColor

from tests.builders.call_traces import trace_of
from tests.gui.events import CTRL, wheel
from tests.gui.panels.calls.conftest import SLICES
from tests.gui.panels.calls.test_answer import answered
from viewer.gui.panels.calls.flame_view import FlameView
from viewer.gui.panels.calls.texts import CallTexts
from viewer.render.palette import Emphasis, fills

WIDTH = 400


@pytest.fixture
def view(theme, qtbot):
    made = FlameView(theme)
    qtbot.addWidget(made)
    made.resize(WIDTH, 120)
    made.show_texts(CallTexts(answered(trace_of(*SLICES))))
    made.show()
    return made


def node(view, *path):
    return view._texts.answer.table.find(path)


def name_at(view, x, row):
    found = view.box_at(QPointF(x, row * 18 + 9))
    return view._texts.name(found) if found >= 0 else ""


def color_in(view, x, row):
    """The color of the upper edge of a box, where no label is."""
    image = view.viewport().grab().toImage()
    return QColor(image.pixel(int(x), row * 18 + 3)).rgb() & 0xFFFFFF


def fill(view, number, emphasis=Emphasis.FULL):
    return fills(True, emphasis)[int(view._texts.answer.color[number])]


def test_boxes_are_below_those_they_are_called_by(view):
    assert name_at(view, 200, 0) == "main"
    assert name_at(view, 100, 1) == "run"
    assert name_at(view, 300, 1) == "load"
    assert name_at(view, 380, 1) == ""  # self time of main
    assert name_at(view, 100, 2) == "conv"
    assert name_at(view, 10, 3) == "copy"
    assert name_at(view, 10, 5) == ""


def test_boxes_have_the_colors_of_their_slices(view):
    for path, x, row in ((("main",), 200, 0), (("main", "load"), 300, 1)):
        assert color_in(view, x, row) == fill(view, node(view, *path))


def test_a_click_chooses_and_a_double_click_zooms(view, qtbot):
    chosen = []
    view.chosen.connect(chosen.append)
    at = view.center_of(node(view, "main", "run"))
    qtbot.mouseClick(view.viewport(), Qt.MouseButton.LeftButton, pos=at)
    assert chosen == [node(view, "main", "run")] == [view.marked]
    qtbot.mouseDClick(view.viewport(), Qt.MouseButton.LeftButton, pos=at)
    assert view.zoomed == node(view, "main", "run")
    assert name_at(view, 390, 1) == "run"
    assert name_at(view, 390, 0) == "main"
    # What is around it is faint.
    assert color_in(view, 200, 0) == fill(view, node(view, "main"), Emphasis.DIMMED)
    qtbot.keyClick(view, Qt.Key.Key_Escape)
    assert view.shows_all


def test_keys_move_along_the_boxes(view, qtbot):
    def press(key):
        qtbot.keyClick(view, key)
        return "/".join(view._texts.answer.table.path(view.marked))

    key = Qt.Key
    assert press(key.Key_Down) == "main"
    assert press(key.Key_Down) == "main/run"
    assert press(key.Key_Right) == "main/load"
    assert press(key.Key_Right) == "main/load"
    assert press(key.Key_Left) == "main/run"
    assert press(key.Key_Up) == "main"
    qtbot.keyClick(view, key.Key_Down)
    qtbot.keyClick(view, key.Key_Return)
    assert view.zoomed == node(view, "main", "run")
    qtbot.keyClick(view, key.Key_0)
    assert view.shows_all


def test_ctrl_and_the_wheel_zoom_toward_the_mouse(view):
    before = name_at(view, 300, 1)
    wheel(view.viewport(), QPoint(300, 27), 3, held=CTRL)
    assert not view.shows_all
    assert name_at(view, 300, 1) == before == "load"
    for _ in range(40):
        wheel(view.viewport(), QPoint(300, 27), 3, held=CTRL)
    assert name_at(view, 300, 1) == "load"
    view.show_all()
    assert name_at(view, 10, 1) == "run"


def test_the_tip_has_the_figures_of_the_box_below_the_mouse(view, qtbot):
    qtbot.mouseMove(view.viewport(), view.center_of(node(view, "main", "run")))
    lines = [line.replace("\u202f", " ") for line in view.tip.lines]
    assert lines == ["run", "Total 70 ns, 70.0 %", "Self 20 ns, 20.0 %", "1 call, mean 70 ns"]
    assert view.accessible_value() == ""
    view.mark(node(view, "main", "run"))
    assert view.accessible_value().startswith("run, Total 70")


def test_a_search_paints_the_others_faint(view):
    answer = view._texts.answer
    found = answer.table.matching("load")
    view.show_hits(answer.layout.raster_of(found, answer.color))
    assert color_in(view, 300, 1) == fill(view, node(view, "main", "load"))
    assert color_in(view, 200, 0) == fill(view, node(view, "main"), Emphasis.UNMATCHED)
    view.show_hits(None)
    assert color_in(view, 200, 0) == fill(view, node(view, "main"))


def test_a_selected_box_has_a_ring_however_narrow(view):
    view.mark(node(view, "main", "run", "conv", "copy"))
    image = view.viewport().grab().toImage()
    ring = view._theme.color("ring").rgb()
    box = view.center_of(view.marked)
    assert image.pixel(1, box.y()) == ring
    plain = np.unique([image.pixel(x, 30) for x in range(0, WIDTH, 7)])
    assert ring not in plain.tolist()


def test_deep_trees_scroll_to_what_is_marked(view):
    deep = trace_of(*(("t", f"n{i}", i, 200 - i) for i in range(40)))
    view.show_texts(CallTexts(answered(deep)))
    bar = view.verticalScrollBar()
    assert bar.maximum() > 0
    view.mark(39)
    assert bar.value() > 0
    assert view.viewport().rect().contains(view.center_of(39))
    view.mark(0)
    assert bar.value() == 0
    view.zoom_to(20)
    assert view.box_at(QPointF(200, 9)) == 18
    assert view.box_at(QPointF(200, 45)) == 20


def test_without_time_there_is_nothing_to_paint(view):
    view.show_texts(None)
    assert view.box_at(QPointF(5, 5)) == -1
    view.viewport().grab()
    view.show_texts(CallTexts(answered(trace_of(("t", "instant", 5, 5)))))
    assert view.box_at(QPointF(5, 5)) == -1
    view.viewport().grab()
