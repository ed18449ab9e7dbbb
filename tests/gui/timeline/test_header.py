"""The header of a strip: what it says, and how it collapses and moves the strip."""

from dataclasses import replace

import pytest
from PySide6.QtCore import QPoint, Qt
from PySide6.QtGui import QContextMenuEvent
from PySide6.QtWidgets import QApplication, QToolTip

from tests.builders.clocked_traces import HOST, profile
from tests.gui.events import LEFT, move, press, release
from viewer.gui.timeline.strip_header import StripHeader
from viewer.model.inference_views import Inferences

AT = QPoint(400, 8)


def headers(harness):
    return [strip.header for strip in harness.timeline.strips]


def order(harness):
    return [strip.scene.clock for strip in harness.timeline.strips]


def drag_onto(harness, number, y):
    """Drag the header of a strip to a height on the stack, in steps."""
    header, stack = headers(harness)[number], harness.timeline.stack
    press(header, AT)
    start = header.mapTo(stack, AT).y()
    for share in range(1, 9):
        at = stack.mapToGlobal(QPoint(400, start + (y - start) * share // 8))
        move(header, header.mapFromGlobal(at), LEFT)  # it may have moved under the mouse
    release(header, AT)


def test_it_names_the_clock_its_files_and_its_ticks(two):
    two.session.add([profile("/x/h.csv", 1, 40, HOST), profile("/x/i.csv", 1, 40, HOST)])
    two.settle()
    assert [header.title for header in headers(two)] == ["a.csv", "b.csv", "Host clock"]
    assert headers(two)[2].caption == "h.csv + 1 file · 1\u202fµs ticks"
    assert headers(two)[2].accessibleName().startswith("Host clock, h.csv + 1 file")


@pytest.mark.parametrize("length", [1, 20, 60, 120, 200])
def test_a_note_never_cuts_the_caption(two, monkeypatch, length):
    """In any width that has room for title and caption, both are whole."""
    texts = []
    monkeypatch.setattr(
        StripHeader, "_text", staticmethod(lambda painter, room, text: texts.append((
            text, room.width() - painter.fontMetrics().horizontalAdvance(text))))
    )  # fmt: skip
    monkeypatch.setattr(StripHeader, "note", "Showing run 2 of 5 (skipping load and warm-up)")
    monkeypatch.setattr(StripHeader, "caption", "caption " * (length // 8 + 1))
    header, notes = headers(two)[0], []
    for width in range(400, 2600, 100):
        texts.clear()
        header.resize(width, header.height())
        header.grab()
        room = dict(texts)
        has_note = header.note in room
        notes.append(has_note)
        assert not has_note or min(room.values()) >= 0, width
    assert notes[-1]
    assert notes == sorted(notes)


def test_it_says_the_visible_range_of_its_clock(two):
    first, second = headers(two)
    before = second.range_text
    two.session.set_range(100, 300)
    assert first.range_text == "100 – 300\u202fns"
    assert second.range_text == before


def test_only_the_header_of_the_active_clock_is_marked(two):
    for clock, marked in (("/b.csv", [False, True]), ("/a.csv", [True, False])):
        two.session.activate(clock)
        assert [header.is_active for header in headers(two)] == marked
    images = [header.grab().toImage() for header in headers(two)]
    two.session.activate("/b.csv")
    assert [header.grab().toImage() for header in headers(two)] != images


def test_a_double_click_collapses_and_expands(two, qtbot):
    header = headers(two)[0]
    strip = two.timeline.strips[0]
    qtbot.mouseDClick(header, Qt.MouseButton.LeftButton, pos=AT)
    assert header.is_collapsed
    assert header.isVisible()
    for part in (strip.view, strip.headers, strip.overview, strip.ruler, strip.corner, strip.edge):
        assert not part.isVisible()
    assert strip.height() == header.height()
    qtbot.mouseDClick(header, Qt.MouseButton.LeftButton, pos=AT)
    assert strip.view.isVisible()


def test_the_chevron_collapses_as_one_step(two, qtbot):
    header = headers(two)[1]
    assert header.fold.toolTip() == "Collapse"
    qtbot.mouseClick(header.fold, Qt.MouseButton.LeftButton)
    assert header.is_collapsed
    assert header.fold.accessibleName() == "Expand b.csv"
    two.session.undo()
    assert not header.is_collapsed
    assert two.timeline.strips[1].view.isVisible()
    two.session.redo()
    assert header.is_collapsed


def test_the_height_of_a_collapsed_strip_goes_to_the_others(two):
    before = two.timeline.strips[1].height()
    headers(two)[0].toggle()
    assert two.timeline.strips[1].height() > before


def test_a_drag_moves_the_strip_as_one_step(two):
    two.session.add([profile("/c.csv", 1, 70)])
    two.settle()
    assert order(two) == ["/a.csv", "/b.csv", "/c.csv"]
    steps = two.session.history
    assert not steps.can_undo
    drag_onto(two, 0, two.timeline.stack.height() - 2)
    assert order(two) == ["/b.csv", "/c.csv", "/a.csv"]
    assert [s.y() for s in two.timeline.strips] == sorted(s.y() for s in two.timeline.strips)
    drag_onto(two, 2, 2)
    assert order(two) == ["/a.csv", "/b.csv", "/c.csv"]
    two.session.undo()
    assert order(two) == ["/b.csv", "/c.csv", "/a.csv"]
    two.session.undo()
    assert order(two) == ["/a.csv", "/b.csv", "/c.csv"]
    assert not steps.can_undo


def test_a_press_that_hardly_moves_is_no_drag(two):
    header = headers(two)[1]
    press(header, AT)
    move(header, AT + QPoint(0, -3), LEFT)
    release(header, AT + QPoint(0, -3))
    assert order(two) == ["/a.csv", "/b.csv"]
    assert not two.session.history.can_undo


def test_the_menu_of_a_clock_is_asked_for_by_its_button_and_a_right_click(two, qtbot):
    told = []
    two.timeline.clock_menu_requested.connect(told.append)
    header = headers(two)[1]
    qtbot.mouseClick(header.align, Qt.MouseButton.LeftButton)
    assert len(told) == 1
    assert two.session.state.clock == "/b.csv"
    event = QContextMenuEvent(QContextMenuEvent.Reason.Mouse, AT, header.mapToGlobal(AT))
    QApplication.sendEvent(header, event)
    assert told[1] == header.mapToGlobal(AT)


def drag_sideways(harness, number, by):
    header = headers(harness)[number]
    press(header, AT)
    for share in range(1, 5):
        move(header, AT + QPoint(by * share // 4, 0), LEFT)
    release(header, AT + QPoint(by, 0))


def test_a_drag_sideways_shifts_its_times_against_the_others_as_one_step(two):
    session = two.session
    before = session.state
    width = two.timeline.strips[1].view.viewport().width()
    drag_sideways(two, 1, 200)
    first, second = (session.state.range_of(key) for key in ("/a.csv", "/b.csv"))
    assert first == before.range_of("/a.csv")
    t0, t1 = before.range_of("/b.csv")
    shifted = (t1 - t0) * 200 / width
    assert abs(t0 - second[0] - shifted) < 5
    assert second[1] - second[0] == t1 - t0
    assert headers(two)[0].alignment == "aligned: by hand"
    drag_sideways(two, 1, -40)
    session.undo()
    assert session.state.range_of("/b.csv") == second
    session.undo()
    assert session.state.all_ranges == before.all_ranges
    assert [header.alignment for header in headers(two)] == ["", ""]


def test_with_one_inference_view_nothing_is_shifted(two):
    two.session.change(replace(two.session.state, inferences=Inferences.ALIGNED))
    before = two.session.state
    drag_sideways(two, 1, 200)
    assert two.session.state.all_ranges == before.all_ranges


def test_taller_buttons_of_a_large_font_stay_in_the_middle(two):
    header = headers(two)[0]
    for button in (header.fold, header.align):
        button.setMinimumHeight(22)
    header.refresh()
    for button in (header.fold, header.align):
        assert button.y() == header.height() - (button.y() + button.height()) == 2


def test_a_drag_sideways_that_cannot_align_says_why(two):
    two.session.show_inferences(Inferences.ALIGNED)
    two.settle()
    header, before = headers(two)[0], two.session.state
    press(header, AT)
    move(header, AT + QPoint(40, 0), LEFT)
    assert "Show inferences as they ran first" in QToolTip.text()
    assert header.cursor().shape() == Qt.CursorShape.ForbiddenCursor
    release(header, AT + QPoint(40, 0))
    assert two.session.state == before


def test_a_cancelled_drag_leaves_everything_as_it_was(two):
    before = two.session.state
    for way in (QPoint(120, 0), QPoint(0, 420)):
        header = headers(two)[0]
        press(header, AT)
        move(header, AT + way, LEFT)
        move(header, AT + way * 1.2, LEFT)
        assert two.session.state != before
        assert two.timeline.strip.cancel_drag()
        assert two.session.state == before
        move(header, AT + way * 2, LEFT)
        release(header, AT + way * 2)
        assert two.session.state == before
        assert not header.cancel_drag()
