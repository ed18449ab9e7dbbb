"""The stack of strips: it shares the height, lines up the columns, and keeps no closed clock."""

import pytest
import shiboken6
from PySide6.QtCore import QCoreApplication, QEvent, QPoint
from PySide6.QtGui import QCursor

from tests.builders.clocked_traces import profile
from tests.gui.events import wheel
from viewer.gui.session.navigation import step_clock
from viewer.gui.timeline.scene.scene import Scene
from viewer.gui.timeline.strip import ClockStrip
from viewer.gui.timeline.timeline import LEAST_ROWS
from viewer.view.state import SliceRef

AT = QPoint(40, 10)


def opened(harness, *tracks):
    """Open a file on a clock of its own for each number of tracks."""
    files = [profile(f"/f{n}.csv", count, 1000) for n, count in enumerate(tracks)]
    harness.session.add(files)
    harness.settle()
    return harness.timeline.strips


def alive(harness):
    """The number of strips and scenes, after what was discarded is deleted."""
    QCoreApplication.sendPostedEvents(None, QEvent.Type.DeferredDelete)
    return (
        len(harness.timeline.findChildren(ClockStrip)),
        len(harness.session.findChildren(Scene)),
    )


def test_strips_fill_the_stack_without_gaps(two):
    y = 0
    for strip in two.timeline.strips:
        assert strip.y() == y
        y += strip.height()
    assert y == two.timeline.stack.viewport().height()


def test_every_strip_is_as_tall_as_its_rows_where_there_is_room(two):
    first = two.timeline.strips[0]
    assert first.view.height() == first.rows_height
    assert not first.scrolls


def test_the_tallest_give_way_and_scroll(harness):
    small, tall = opened(harness, 1, 60)
    assert small.view.height() == small.rows_height
    assert LEAST_ROWS < tall.view.height() < tall.rows_height
    assert tall.scrolls
    assert not small.scrolls
    assert not harness.timeline.stack.verticalScrollBar().isVisible()


def test_where_the_least_heights_do_not_fit_the_stack_scrolls(harness):
    strips = opened(harness, *[60] * 6)
    assert [strip.view.height() for strip in strips] == [LEAST_ROWS] * 6
    stack = harness.timeline.stack
    assert stack.verticalScrollBar().maximum() > 0
    assert stack.widget().height() == sum(strip.height() for strip in strips)


def test_a_revealed_slice_scrolls_its_strip_into_the_stack(harness):
    strips = opened(harness, *[60] * 6)
    harness.session.select_slice(SliceRef(5, 299), reveal=True)
    harness.settle()
    stack, last = harness.timeline.stack, strips[5]
    top = last.mapTo(stack, last.rect().topLeft()).y()
    assert top >= 0
    assert top + last.height() <= stack.viewport().height()
    assert not last.view.place_of(SliceRef(5, 299)).isEmpty()


@pytest.mark.parametrize("tracks", [(1, 2), (1, 60), (60, 1), (60, 60), (60,) * 6])
def test_the_columns_of_all_strips_line_up(harness, tracks):
    strips = opened(harness, *tracks)
    for part in ("view", "ruler", "overview", "headers", "corner"):
        boxes = [getattr(strip, part).geometry() for strip in strips]
        assert len({(box.x(), box.width()) for box in boxes}) == 1, part
    harness.timeline.set_header_width(300)
    harness.settle()
    assert {strip.headers.width() for strip in strips} == {300}
    assert len({strip.view.viewport().width() for strip in strips}) == 1


def test_strips_of_closed_clocks_are_deleted_with_their_scenes(harness):
    before = alive(harness)
    assert before == (1, 1)
    for _ in range(3):
        strips = opened(harness, 1, 2, 3)
        assert alive(harness) == (3, 3)
        harness.session.close_all()
        harness.settle()
        assert alive(harness) == before
        assert sum(shiboken6.isValid(strip) for strip in strips) == 1


def test_other_files_use_the_strips_that_are_there(harness):
    strips = opened(harness, 1, 2)
    harness.session.close_all()
    harness.session.add([profile("/x.csv", 1, 10), profile("/y.csv", 1, 10)])
    harness.settle()
    assert any(strip in strips for strip in harness.timeline.strips)
    assert [strip.header.title for strip in harness.timeline.strips] == ["x.csv", "y.csv"]
    assert alive(harness) == (2, 2)


def test_a_strip_stays_where_another_file_is_opened(two):
    before = list(two.timeline.strips)
    two.session.add([profile("/c.csv", 1, 70)])
    two.settle()
    assert two.timeline.strips[:2] == before
    assert alive(two) == (3, 3)


def test_a_strip_that_shows_another_clock_does_not_go_on_with_its_animation(two):
    second = two.timeline.strips[1]
    two.timeline.set_animated(True)
    two.session.activate("/b.csv")
    two.session.set_range(1000, 2000)
    assert second.scene.animation.is_moving
    two.session.close_all()
    two.session.add([profile("/c.csv", 1, 70), profile("/d.csv", 1, 30)])
    assert not two.timeline.is_moving
    assert [strip.scene.visible for strip in two.timeline.strips] == [(-1, 71), (-1, 31)]


def test_the_wheel_scrolls_rows_to_their_end_and_then_is_left_to_the_stack(harness):
    strips = opened(harness, *[60] * 6)
    second = strips[3]
    for part in (second.view.viewport(), second.headers):
        for end, turn in ((second.scene.scroll_limit, -1), (0, 1)):
            second.scene.scroll_to(second.scene.scroll_limit // 2)
            assert wheel(part, QPoint(30, 20), turn)
            second.scene.scroll_to(end)
            assert not wheel(part, QPoint(30, 20), turn)


def test_a_strip_that_becomes_active_is_brought_into_view(harness):
    strips = opened(harness, *[60] * 6)
    stack = harness.timeline.stack
    QCursor.setPos(stack.mapToGlobal(QPoint(-50, -50)))
    for step, number in ((-1, 5), (1, 0), (1, 1), (1, 2), (1, 3)):
        step_clock(harness.session, step)
        top = strips[number].mapTo(stack, QPoint(0, 0)).y()
        assert 0 <= top <= stack.height() - strips[number].height()


def test_a_strip_under_the_mouse_stays_where_it_is_when_it_becomes_active(harness):
    strips = opened(harness, *[60] * 6)
    stack = harness.timeline.stack
    assert strips[2].y() < stack.height() < strips[2].y() + strips[2].height()
    QCursor.setPos(strips[2].mapToGlobal(QPoint(300, 10)))
    harness.session.activate(strips[2].scene.clock)
    assert stack.verticalScrollBar().value() == 0
