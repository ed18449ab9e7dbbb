"""The mouse and the keys in a whole model."""

import numpy as np
import pytest
from PySide6.QtCore import QPoint, QPointF, Qt
from PySide6.QtTest import QTest

from tests.gui.panels.graph.picture import ATTENTION, CHUNK, QKV, leaf, seeds, selected, settle
from viewer.gui.panels.graph.tips import node_tip
from viewer.render.graph.model_tree import GroupKind

LEFT = Qt.MouseButton.LeftButton


def group(panel, name):
    """The first visible group of a name."""
    picture = panel.view.picture
    return next(
        node for node, look in picture.looks.items()
        if look.name == name and picture.tree.is_group[node]
    )  # fmt: skip


def is_open(panel, node):
    return bool(panel.view.picture.answer.layout.shown.is_frame[node])


def middle(panel, node):
    return panel.view.place_of(node).center().toPoint()


def press_badge(panel, qtbot, node):
    at = panel.view.badge_of(node).center().toPoint()
    QTest.mouseClick(panel.view, LEFT, pos=at)
    settle(qtbot, panel)


def test_all_of_a_small_model_is_shown_and_fits(whole):
    view = whole.view
    assert len(view.picture.boxes) == 38
    for node in view.picture.boxes.tolist():
        assert view.rect().contains(view.place_of(node).toRect())
    assert not view.minimap.isVisible()


def test_a_click_selects_an_operator_and_nothing_moves(whole):
    view, place = whole.view, middle(whole, leaf(whole, QKV))
    QTest.mouseClick(view, LEFT, pos=place)
    assert selected(whole) == (QKV,)
    assert view.marked == {leaf(whole, QKV)}
    assert middle(whole, leaf(whole, QKV)) == place


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
    QTest.mouseDClick(view, LEFT, pos=middle(whole, node) + QPoint(20, 0))
    settle(qtbot, whole)
    assert is_open(whole, node)


def test_a_double_click_on_an_operator_shows_its_neighborhood(whole, qtbot):
    QTest.mouseDClick(whole.view, LEFT, pos=middle(whole, leaf(whole, CHUNK)))
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
    QTest.mouseClick(view, LEFT, pos=middle(whole, leaf(whole, QKV)))
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
    QTest.mouseClick(view, LEFT, pos=middle(whole, left))
    QTest.keyClick(view, Qt.Key.Key_Right)
    one = view.current
    assert rects[left, 2] < rects[one, 0]
    QTest.mouseClick(view, LEFT, pos=middle(whole, right))
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
    assert view.rect().contains(middle(whole, leaf(whole, outside)))


def test_the_wheel_zooms_at_the_mouse(whole):
    view = whole.view
    at = QPointF(middle(whole, leaf(whole, CHUNK)))
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
    tip = view.tip_at(QPointF(middle(whole, leaf(whole, ATTENTION))))
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
