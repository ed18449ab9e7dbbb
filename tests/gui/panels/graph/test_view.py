"""The drawing of the graph: fills, zoom and drag, what the mouse finds, pictures that are kept."""

import numpy as np
import pytest
from PySide6.QtCore import QPointF, Qt
from PySide6.QtGui import QColor, QGuiApplication
from PySide6.QtTest import QTest

from tests.gui.panels.graph.picture import (
    CHUNK,
    QKV,
    leaf,
    middle,
    node,
    operators,
    selected,
    settle,
)
from viewer.codecs.reading import never_cancelled, no_progress
from viewer.gui.panels.graph.tips import node_tip
from viewer.render.palette import HEAT, HEAT_STEPS, SLAB, contrast, fills, label_colors
from viewer.workspace.exports import NothingToExport


@pytest.mark.parametrize("dark", [True, False])
def test_labels_are_legible_on_every_fill(dark):
    for fill in (SLAB, *range(HEAT, HEAT + HEAT_STEPS)):
        assert contrast(fills(dark)[fill], label_colors(dark)[fill]) >= 4.5


@pytest.mark.parametrize("choice", ["dark", "light"])
def test_both_themes_paint_the_nodes_in_their_fills(about_qkv, theme, choice):
    theme.set_choice(choice)
    view = about_qkv.view
    picture = view.grab().toImage()
    place = view.place_of(leaf(about_qkv, QKV))
    # Right of the text, inside of the outline.
    spot = QPointF(place.right() - 6, place.bottom() - 6).toPoint()
    ratio = picture.devicePixelRatio()
    shown = picture.pixelColor(spot * ratio)
    assert shown == QColor.fromRgb(fills(theme.dark)[node(about_qkv, QKV).fill])


def test_what_fits_is_shown_whole_when_it_comes(about_qkv):
    for box in about_qkv.view.picture.boxes.tolist():
        place = about_qkv.view.place_of(box).toRect()
        assert about_qkv.view.rect().contains(place)


def test_what_would_be_too_small_to_read_is_shown_in_part_and_f_shows_all(around, qtbot):
    panel = around
    panel.session.select_operators(0, tuple(range(38)))
    settle(qtbot, panel)
    view = panel.view
    assert view.scale > 0.8
    QTest.keyClick(view, Qt.Key.Key_F)
    assert view.scale < 0.8
    assert all(
        view.rect().contains(view.place_of(node).toRect()) for node in view.picture.boxes.tolist()
    )
    QTest.keyClick(view, Qt.Key.Key_0)
    assert view.scale == pytest.approx(1.0)
    QTest.keyClick(view, Qt.Key.Key_Plus)
    QTest.keyClick(view, Qt.Key.Key_Minus)
    assert view.scale == pytest.approx(1.0)


def test_zoom_keeps_what_is_under_the_mouse(about_qkv):
    view = about_qkv.view
    at = QPointF(middle(about_qkv, CHUNK))
    view.zoom(1.5, at)
    assert view.node_at(at) == leaf(about_qkv, CHUNK)
    moved = QPointF(middle(about_qkv, CHUNK)) - at
    assert max(abs(moved.x()), abs(moved.y())) <= 1


def test_a_drag_moves_the_picture_and_selects_nothing(about_qkv):
    view = about_qkv.view
    start = middle(about_qkv, CHUNK)
    before = QPointF(start)
    QTest.mousePress(view, Qt.MouseButton.LeftButton, pos=start)
    QTest.mouseMove(view, start + QPointF(30, 20).toPoint())
    QTest.mouseMove(view, start + QPointF(60, 40).toPoint())
    QTest.mouseRelease(view, Qt.MouseButton.LeftButton, pos=start + QPointF(60, 40).toPoint())
    moved = QPointF(middle(about_qkv, CHUNK)) - before
    assert moved.x() > 20
    assert selected(about_qkv) == (QKV,)


def test_a_wide_and_low_room_has_producers_on_the_left(about_qkv, qtbot):
    about_qkv.resize(1200, 330)
    settle(qtbot, about_qkv)
    qtbot.waitUntil(lambda: about_qkv.view.picture.across)
    assert middle(about_qkv, QKV).x() < middle(about_qkv, CHUNK).x()
    assert middle(about_qkv, QKV).y() == middle(about_qkv, CHUNK).y()
    about_qkv.resize(420, 900)
    qtbot.waitUntil(lambda: not about_qkv.view.picture.across)
    assert middle(about_qkv, QKV).y() < middle(about_qkv, CHUNK).y()


def test_the_mouse_finds_nodes_and_lines(about_qkv):
    view = about_qkv.view
    layout = about_qkv.answer.layout
    for edge in range(len(layout.edges)):
        line = layout.points[layout.ptr[edge] : layout.ptr[edge + 1]]
        middle_of_line = view.to_widget(*np.mean(line[:2], axis=0))
        assert " → " in view.tip_at(middle_of_line)
    assert view.tip_at(QPointF(3, 3)) == ""
    assert view.node_at(QPointF(3, 3)) == -1


def test_a_copy_is_all_of_the_picture(about_qkv):
    about_qkv.copy()
    image = QGuiApplication.clipboard().image()
    layout = about_qkv.answer.layout
    assert image.width() >= 2 * layout.width
    assert image.height() >= 2 * layout.height


@pytest.mark.parametrize(("name", "begins"), [("a.png", b"\x89PNG\r\n"), ("a.svg", b"<?xml")])
def test_the_picture_is_written_whole(about_qkv, tmp_path, name, begins):
    path = tmp_path / name
    count = about_qkv.job_of(str(path))(no_progress, never_cancelled)
    assert count == len(operators(about_qkv))
    assert path.read_bytes().startswith(begins)


def test_without_a_graph_there_is_nothing_to_save(around):
    with pytest.raises(NothingToExport, match="No graph"):
        around.job_of("a.png")


def test_every_control_has_a_name(panel):
    of = panel.controls
    controls = [of.modes, of.hops, of.direction, of.delegate, of.copy, of.save, of.fit, panel.view]
    controls += [of.kinds, of.search.field, of.open_all, of.open_first, panel.view.minimap]
    assert all(control.accessibleName() for control in controls)


def test_names_from_files_are_drawn_as_one_line_of_bounded_length(show_graph, qtbot, opened):
    """A record may hold any text: markup, lines, a million letters."""
    from viewer.program.dataflow import MethodFlow
    from viewer.program.program import GraphNode, Method, Operator, Program

    names = ("<b>bold</b>\nnext", "x" * 1_000_000)
    found = tuple(
        Operator(i, "forward", i, (GraphNode(name, name, i, modules=((name, name),)),))
        for i, name in enumerate(names)
    )
    method = Method("forward", found, flow=MethodFlow((1,), (0,)))
    session = opened()
    session.add([Program("/m/hostile.etrecord", "ETRecord", "1", (method,))])
    panel = show_graph(session)
    settle(qtbot, panel)
    for look in panel.view.picture.looks.values():
        assert len(look.name) <= 130
        assert "\n" not in look.name + look.detail
    assert all(len(node_tip(panel.answer, node)) < 1000 for node in panel.view.picture.looks)
    panel.view.grab()
    panel.view.walked.emit(0)
    settle(qtbot, panel)
    assert not panel.controls.is_whole
    assert len(panel.view.picture.looks) == 2
    for number, look in panel.view.picture.looks.items():
        assert len(look.name) <= 130
        assert "\n" not in look.name + look.detail
        assert len(node_tip(panel.answer, number)) < 1000
    panel.view.grab()
