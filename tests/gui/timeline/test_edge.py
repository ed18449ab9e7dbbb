"""The lower edge of a strip: a drag resizes its rows, a double click shows all of them."""

from PySide6.QtCore import QPoint, Qt

from tests.gui.events import LEFT, drag, move, press, release
from viewer.view.state import LOWEST_STRIP

AT = QPoint(300, 2)


def resize(strip, by):
    """Drag the edge of a strip down by some pixels."""
    drag(strip.edge, AT, AT + QPoint(0, by))


def test_a_drag_changes_the_height_of_the_rows_as_one_step(two):
    strip = two.timeline.strips[0]
    before = strip.view.height()
    edge = strip.edge
    on_screen = edge.mapToGlobal(AT)
    press(edge, AT)
    for by in (10, 25, 40):
        # The edge is under the mouse while it moves.
        move(edge, edge.mapFromGlobal(on_screen + QPoint(0, by)), LEFT)
        assert strip.view.height() == before + by
    release(edge, AT)
    assert two.session.state.strips.heights == {"/a.csv": before + 40}
    two.session.undo()
    assert strip.view.height() == before
    assert not two.session.history.can_undo


def test_two_drags_are_two_steps(two):
    strip = two.timeline.strips[0]
    before = strip.view.height()
    resize(strip, 30)
    between = strip.view.height()
    resize(strip, 30)
    assert before < between < strip.view.height()
    two.session.undo()
    assert strip.view.height() == between


def test_some_rows_remain(two):
    strip = two.timeline.strips[0]
    resize(strip, -2000)
    assert two.session.state.strips.heights == {"/a.csv": LOWEST_STRIP}
    assert strip.view.height() == LOWEST_STRIP


def test_a_double_click_shows_all_rows_again(two, qtbot):
    strip = two.timeline.strips[0]
    before = strip.view.height()
    resize(strip, 30)
    qtbot.mouseDClick(strip.edge, Qt.MouseButton.LeftButton, pos=AT)
    assert two.session.state.strips.heights == {}
    assert strip.view.height() == before


def test_only_the_left_button_resizes(two):
    strip = two.timeline.strips[0]
    drag(strip.edge, AT, AT + QPoint(0, 50), button=Qt.MouseButton.RightButton)
    assert two.session.state.strips.heights == {}


def test_a_cancelled_drag_leaves_the_height_as_it_was(two):
    edge, before = two.timeline.strips[0].edge, two.session.state
    press(edge, QPoint(200, 2))
    move(edge, QPoint(200, 42), LEFT)
    assert two.session.state != before
    assert edge.cancel_drag()
    assert two.session.state == before
    move(edge, QPoint(200, 82), LEFT)
    assert two.session.state == before
    assert not edge.cancel_drag()
