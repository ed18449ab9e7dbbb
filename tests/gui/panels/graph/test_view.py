"""The drawing of the graph: fills, zoom and drag, what the mouse finds, pictures that are kept."""

import numpy as np
import pytest
from PySide6.QtCore import QPoint, QPointF, Qt
from PySide6.QtGui import QColor, QGuiApplication
from PySide6.QtTest import QTest

from tests.gui.panels.graph.picture import (
    ATTENTION,
    CHUNK,
    QKV,
    leaf,
    middle,
    node,
    operators,
    seeds,
    selected,
    settle,
)
from viewer.codecs.reading import never_cancelled, no_progress
from viewer.gui.panels.graph.question import node_tip
from viewer.render.graph.model_tree import GroupKind
from viewer.render.palette import HEAT, HEAT_STEPS, SLAB, contrast, fills, label_colors
from viewer.workspace.exports import NothingToExport

LEFT = Qt.MouseButton.LeftButton


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


# -- the whole model ----------------------------------------------------------------------------


def group(panel, name):
    """The first visible group of a name."""
    picture = panel.view.picture
    return next(
        node for node, look in picture.looks.items()
        if look.name == name and picture.tree.is_group[node]
    )  # fmt: skip


def is_open(panel, node):
    return bool(panel.view.picture.answer.layout.shown.is_frame[node])


def center_of(panel, node):
    return panel.view.place_of(node).center().toPoint()


def press_badge(panel, qtbot, node):
    at = panel.view.badge_of(node).center().toPoint()
    QTest.mouseClick(panel.view, LEFT, pos=at)
    settle(qtbot, panel)


def test_all_of_a_small_model_is_shown_and_fits(whole):
    view = whole.view
    assert len(view.picture.boxes) == 38
    for box in view.picture.boxes.tolist():
        assert view.rect().contains(view.place_of(box).toRect())
    assert not view.minimap.isVisible()


def test_a_click_selects_an_operator_and_nothing_moves(whole):
    view, place = whole.view, center_of(whole, leaf(whole, QKV))
    QTest.mouseClick(view, LEFT, pos=place)
    assert selected(whole) == (QKV,)
    assert view.marked == {leaf(whole, QKV)}
    assert center_of(whole, leaf(whole, QKV)) == place


def test_the_sign_closes_and_opens_a_group_which_stays_where_it_is(whole, qtbot):
    node = group(whole, "blocks.0")
    place = whole.view.place_of(node).topLeft()
    whole.view.move_drawing(QPointF(0, 0))  # the user has moved it: it is not fitted again
    press_badge(whole, qtbot, node)
    assert not is_open(whole, node)
    moved = whole.view.place_of(node).topLeft() - place
    assert max(abs(moved.x()), abs(moved.y())) < 1
    assert whole.view.picture.looks[node].figure.startswith("27.261")
    press_badge(whole, qtbot, node)
    assert is_open(whole, node)


def test_a_double_click_closes_at_the_head_and_opens_a_box(whole, qtbot):
    node, view = group(whole, "mlp"), whole.view
    place = view.place_of(node)
    at = QPointF(place.right() - 4, place.top() + 4).toPoint()
    QTest.mouseDClick(view, LEFT, pos=at)
    settle(qtbot, whole)
    assert not is_open(whole, node)
    QTest.mouseDClick(view, LEFT, pos=center_of(whole, node) + QPoint(20, 0))
    settle(qtbot, whole)
    assert is_open(whole, node)


def test_a_double_click_on_an_operator_shows_its_neighborhood(whole, qtbot):
    QTest.mouseDClick(whole.view, LEFT, pos=center_of(whole, leaf(whole, CHUNK)))
    settle(qtbot, whole)
    assert not whole.controls.is_whole
    assert seeds(whole) == {CHUNK}


def test_a_double_click_on_the_ground_fits(whole):
    view = whole.view
    fitted = view.scale
    view.zoom(3.0)
    view.move_drawing(QPointF(-view.width(), -view.height()) * 4)
    ground = next(
        QPoint(x, y)
        for x in range(4, view.width(), 9)
        for y in range(4, view.height(), 9)
        if view.node_at(QPointF(x, y)) < 0
    )
    QTest.mouseDClick(view, LEFT, pos=ground)
    assert view.scale == pytest.approx(fitted)


def test_keys_move_along_edges_and_open_and_close(whole, qtbot):
    view = whole.view
    QTest.mouseClick(view, LEFT, pos=center_of(whole, leaf(whole, QKV)))
    QTest.keyClick(view, Qt.Key.Key_Down)
    assert selected(whole) == (CHUNK,)
    QTest.keyClick(view, Qt.Key.Key_Up)
    assert selected(whole) == (QKV,)
    QTest.keyClick(view, Qt.Key.Key_Backspace)
    settle(qtbot, whole)
    around = view.current
    assert view.picture.tree.is_group[around]
    assert not is_open(whole, around)
    QTest.keyClick(view, Qt.Key.Key_Return)
    settle(qtbot, whole)
    assert is_open(whole, around)
    QTest.keyClick(view, Qt.Key.Key_Space)
    settle(qtbot, whole)
    assert not is_open(whole, around)
    assert "closed" in view.accessible_value()


def test_keys_at_a_side_go_to_the_nearest_box(whole):
    view = whole.view
    views = [leaf(whole, o) for o in (3, 4, 5)]
    rects = view.picture.rects
    left, right = min(views, key=lambda n: rects[n, 0]), max(views, key=lambda n: rects[n, 0])
    QTest.mouseClick(view, LEFT, pos=center_of(whole, left))
    QTest.keyClick(view, Qt.Key.Key_Right)
    one = view.current
    assert rects[left, 2] < rects[one, 0]
    QTest.mouseClick(view, LEFT, pos=center_of(whole, right))
    QTest.keyClick(view, Qt.Key.Key_Left)
    assert rects[view.current, 2] < rects[right, 0]


def test_a_closed_group_is_selected_as_a_whole_and_marked(whole, qtbot):
    node = group(whole, "blocks.1")
    press_badge(whole, qtbot, node)
    place = whole.view.place_of(node)
    QTest.mouseClick(whole.view, LEFT, pos=(place.center() + QPointF(20, 0)).toPoint())
    tree = whole.view.picture.tree
    assert selected(whole) == tuple(tree.inside(node).tolist())
    assert whole.view.marked == {node}


def test_what_is_selected_elsewhere_is_marked_and_brought_into_view(whole, qtbot):
    view = whole.view
    view.zoom(4.0, QPointF(0, 0))
    outside = next(
        o for o in range(38) if not view.rect().intersects(view.place_of(leaf(whole, o)).toRect())
    )
    whole.session.select_operators(0, (outside,))
    settle(qtbot, whole)
    assert view.marked == {leaf(whole, outside)}
    assert view.rect().contains(center_of(whole, leaf(whole, outside)))


def test_the_wheel_zooms_at_the_mouse(whole):
    view = whole.view
    at = QPointF(center_of(whole, leaf(whole, CHUNK)))
    view.zoom(2.0, at)
    assert view.node_at(at) == leaf(whole, CHUNK)


def test_the_map_shows_the_visible_part_and_pans(whole):
    view = whole.view
    view.zoom(4.0, QPointF(0, 0))
    view.grab()
    assert view.minimap.isVisible()
    before, small = view.to_drawing(QPointF(0, 0)), view.minimap
    start = small.seen.center().toPoint()
    QTest.mousePress(small, LEFT, pos=start)
    QTest.mouseMove(small, start + QPoint(10, 6))
    QTest.mouseRelease(small, LEFT, pos=start + QPoint(10, 6))
    moved = view.to_drawing(QPointF(0, 0)) - before
    assert moved.x() > 0
    assert moved.y() > 0
    view.fit_all()
    view.grab()
    assert not small.isVisible()


def test_tooltips_tell_of_operators_groups_and_edges(whole, qtbot):
    view = whole.view
    tip = view.tip_at(QPointF(center_of(whole, leaf(whole, ATTENTION))))
    assert tip.startswith("blocks.0 · scaled_dot_product_attention")
    assert "8.544" in tip
    node = group(whole, "mlp")
    tip = node_tip(whole.answer, node)
    assert tip.startswith("blocks.0.mlp (MLP)\n3 operators")
    assert "Double-click to collapse" in tip
    edges = view.picture.answer.layout.edges
    inner = next(e for e in range(len(edges)) if edges.source[e] == leaf(whole, QKV))
    line = view.picture.answer.layout
    at = view.to_widget(*np.mean(line.points[line.ptr[inner] : line.ptr[inner] + 2], axis=0))
    assert view.tip_at(at).startswith("blocks.0.qkv · linear → ") or view.node_at(at) >= 0


def test_delegate_calls_are_groups_with_the_name_of_the_call(partly):
    picture = partly.view.picture
    calls = {look.name for node, look in picture.looks.items()
             if picture.tree.kind[node] == GroupKind.CALL}  # fmt: skip
    assert calls
    assert calls == {"Xnnpack"}
    assert "Xnnpack call" in partly.foot.legend.accessibleName()


@pytest.mark.parametrize("size", [(420, 900), (1400, 360)])
def test_the_picture_takes_the_shape_of_the_window(whole, qtbot, size):
    whole.resize(*size)
    qtbot.waitUntil(lambda: whole.answer.question.sizes.aspect == whole.view.shape)
    settle(qtbot, whole)
    view, layout = whole.view, whole.answer.layout
    assert (layout.width > layout.height) == (view.width() > view.height())
