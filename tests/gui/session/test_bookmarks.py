"""Measuring and marks: of the selection, and with the mouse; undo; clocks."""

from dataclasses import replace

import pytest
from PySide6.QtCore import QEvent, QPoint, Qt
from PySide6.QtGui import QKeyEvent, QKeySequence
from PySide6.QtWidgets import QApplication

from tests.gui.events import canvas, column, move, place_of
from viewer.gui.session import bookmarks
from viewer.gui.session.bookmarks import set_bookmarks
from viewer.gui.session.clocks import clock_trace, set_clock
from viewer.gui.session.navigation import pick_run, run_span_ns
from viewer.gui.session.selection import clear
from viewer.model.inference_views import Inferences
from viewer.model.times import parse_rate
from viewer.view.state import Area, Bookmark, SliceRef

HOSTILE = "<b>bold</b>&amp;<img src=x>\u202e\x00\n" * 20


@pytest.fixture
def rows(harness, tmp_path):
    path = tmp_path / "rows.csv"
    lines = [f"p,t0,a,{20_000 * i},10000" for i in range(8)]
    path.write_text("\n".join(["process,thread,name,start_ns,dur_ns", *lines]) + "\n")
    harness.open(path)
    return harness


def measure(harness):
    bookmarks.measure(harness.session, harness.timeline.view.pointed_time)


def keep(harness):
    bookmarks.keep(harness.session, harness.timeline.view.pointed_time)


def point(harness, x):
    """Rest the mouse on the canvas, below all rows; the time there."""
    move(canvas(harness), QPoint(x, canvas(harness).height() - 2))
    return harness.timeline.view.time_at(x)


def click(qtbot, harness, index):
    qtbot.mouseClick(canvas(harness), Qt.MouseButton.LeftButton, pos=place_of(harness, index))


def test_the_selection_is_measured_and_no_more(rows, qtbot):
    click(qtbot, rows, 2)
    measure(rows)
    assert rows.session.state.measured == (40_000, 50_000)
    measure(rows)
    assert rows.session.state.measured is None


def test_what_is_measured_stays_when_the_selection_goes(rows, qtbot):
    click(qtbot, rows, 2)
    measure(rows)
    clear(rows.session)
    assert rows.session.state.slice is None
    assert rows.session.state.measured == (40_000, 50_000)
    clear(rows.session)
    assert rows.session.state.measured is None


def test_without_a_selection_it_is_measured_from_one_time_to_another(rows):
    session = rows.session
    first = point(rows, 900)
    measure(rows)
    assert session.state.measured == (first, first)
    last = point(rows, 300)
    measure(rows)
    assert session.state.measured == (last, first)
    again = point(rows, 500)
    measure(rows)
    assert session.state.measured == (again, again)


def test_keep_makes_a_mark_of_the_measured_span_with_a_name(rows):
    session = rows.session
    assert rows.timeline.bookmarks_bar.isHidden()
    point(rows, 200)
    measure(rows)
    point(rows, 400)
    measure(rows)
    span = session.state.measured
    keep(rows)
    assert session.state.bookmarks == (Bookmark(*span, "Bookmark 1", clock=session.state.clock),)
    assert session.state.mark == 0
    assert session.state.measured is None
    assert rows.timeline.bookmarks_bar.isVisible()


def test_keep_marks_the_selection_or_the_moment_under_the_mouse(rows, qtbot):
    session = rows.session
    click(qtbot, rows, 1)
    keep(rows)
    clear(rows.session)
    at = point(rows, 640)
    keep(rows)
    assert session.state.bookmarks == (
        Bookmark(20_000, 30_000, "Bookmark 1", clock=session.state.clock),
        Bookmark(at, at, "Bookmark 2", clock=session.state.clock),
    )
    click(qtbot, rows, 1)
    keep(rows)  # it is there already
    assert len(session.state.bookmarks) == 2
    assert session.state.mark == 0


def test_remove_takes_the_current_mark_away_and_undo_brings_it_back(rows, qtbot):
    session = rows.session
    for index in (1, 4):
        click(qtbot, rows, index)
        keep(rows)
    both = session.state.bookmarks
    bookmarks.remove(session)
    assert session.state.bookmarks == both[:1]
    assert session.state.mark is None
    session.undo()
    assert session.state.bookmarks == both
    assert session.state.mark == 1


def test_remove_ends_a_measurement_where_no_mark_is_current(rows, qtbot):
    click(qtbot, rows, 1)
    measure(rows)
    bookmarks.remove(rows.session)
    assert rows.session.state.measured is None


def test_marks_stay_at_the_same_ticks_when_the_rate_changes(harness, data):
    harness.open(data / "torq" / "compile_c3_taskid_mtu.csv")
    session = harness.session
    number = clock_trace(session)
    assert number is not None
    axis = session.traces[number].axis
    start = axis.to_ns(1000)
    clock = session.state.clock
    marks = (
        Bookmark(start, axis.to_ns(1800), "span", clock=clock),
        Bookmark(start, start, "moment", clock=clock),
        Bookmark(start, start, "on another clock", clock="other"),
    )
    set_bookmarks(session, marks, 1, None)
    measured = start, axis.to_ns(2600)
    session.change(replace(session.state, measured=measured, measured_on=clock))
    set_clock(session, number, parse_rate("100 MHz"))
    axis = session.traces[number].axis
    span, moment, other = session.state.bookmarks
    assert (span.t0, span.t1) == (axis.to_ns(1000), axis.to_ns(1800))
    assert moment.t0 == moment.t1 == axis.to_ns(1000)
    assert other == marks[2]
    assert session.state.measured == (axis.to_ns(1000), axis.to_ns(2600))
    session.undo()
    assert session.state.bookmarks == marks
    assert session.state.measured == measured


def test_marks_are_of_the_runs_as_they_ran(attention, qtbot):
    session = attention.session
    click(qtbot, attention, session.traces[0].trace.slices.row_ptr[0].item())
    session.select_area(Area(session.state.t0, session.state.t1, frozenset({(0, 0)})))
    keep(attention)
    assert len(session.state.bookmarks) == 1
    session.show_inferences(Inferences.MEAN)
    attention.settle()
    assert attention.timeline.bookmarks_bar.isHidden()
    assert not bookmarks.can_mark(session)
    assert bookmarks.keep(session, session.state.t0) == 1
    assert session.state.inferences is Inferences.AS_RUN
    session.undo()
    session.show_inferences(Inferences.MEAN)
    bookmarks.go_to(session, 0)
    assert session.state.inferences is Inferences.AS_RUN
    assert attention.timeline.bookmarks_bar.isVisible()
    session.undo()
    assert session.state.inferences is Inferences.MEAN, "all of it was one step"


def test_hostile_and_many_marks_are_painted_and_told_as_text(rows):
    session, clock = rows.session, rows.session.state.clock
    marks = tuple(Bookmark(20 * i, 20 * i + 5000, HOSTILE, HOSTILE, clock) for i in range(3000))
    far = (
        Bookmark(-(1 << 70), 1 << 70, "far", "", clock),
        Bookmark(1 << 70, 1 << 70, "", "", clock),
    )
    set_bookmarks(session, marks + far, 7, None)
    whole = -(1 << 70), 1 << 70
    session.change(replace(session.state, measured=whole, measured_on=clock))
    for span in (160_000, 50):
        session.set_range(0, span)
        assert not rows.timeline.grab().isNull()
    bar = rows.timeline.bookmarks_bar
    session.set_range(0, 160_000)
    lines = [bar.tip_of(flag) for flag in bar.flags()]
    assert any("&lt;b&gt;bold" in line for line in lines)
    assert not any("<b>" in line or "<img" in line for line in lines)
    bookmarks.edit(session, 0, name=HOSTILE * 50)
    assert len(session.state.bookmarks[0].name) == bookmarks.LONGEST_NAME
    assert "\n" not in session.state.bookmarks[0].name


def test_a_click_on_a_flag_makes_its_mark_current_and_a_double_click_fits_it(rows, qtbot):
    session, bar = rows.session, rows.timeline.bookmarks_bar
    clock = session.state.clock
    marks = (
        Bookmark(20_000, 30_000, "one", clock=clock),
        Bookmark(90_000, 95_000, "two", clock=clock),
    )
    set_bookmarks(session, marks, None, None)
    rows.settle()
    at = QPoint(column(rows, 90_000) + 3, 8)
    qtbot.mouseClick(bar, Qt.MouseButton.LeftButton, pos=at)
    assert session.state.mark == 1
    qtbot.mouseDClick(bar, Qt.MouseButton.LeftButton, pos=at)
    assert (session.state.t0, session.state.t1) == (89_000, 96_000)


def test_clicks_walk_through_marks_that_share_a_flag(rows, qtbot):
    session, bar = rows.session, rows.timeline.bookmarks_bar
    clock = session.state.clock
    marks = tuple(Bookmark(40_000 + i, 40_000 + i, f"m{i}", "", clock) for i in range(3))
    set_bookmarks(session, marks, None, None)
    rows.settle()
    seen = []
    for _ in range(4):
        at = QPoint(column(rows, 40_000) + 3, 8)
        qtbot.mouseClick(bar, Qt.MouseButton.LeftButton, pos=at)
        seen.append(session.state.mark)
    assert seen == [0, 1, 2, 0]


def test_a_mark_in_another_inference_picks_that(attention):
    """Else costs would be of a run that is not seen."""
    session = attention.session
    runs = session.traces[0].trace.runs
    second, third = (next(i for i, run in enumerate(runs) if run.number == n) for n in (2, 3))
    pick_run(session, (0, second))
    first, last = run_span_ns(session, 0, runs[second])
    set_bookmarks(
        session, (Bookmark(first + 10, last - 10, "here", "", session.state.clock),), 0, None
    )
    pick_run(session, (0, third))
    bookmarks.go_to(session, 0)
    assert session.state.run == (0, second)
    session.undo()
    assert session.state.run == (0, third)
    # All inferences stay all of them.
    pick_run(session, None)
    bookmarks.go_to(session, 0)
    assert session.state.run is None


def test_a_new_bookmark_is_named_in_the_bar_and_no_key_is_a_shortcut(rows, qtbot):
    rows.session.select_slice(SliceRef(0, 0))
    added = bookmarks.keep(rows.session, None)
    bar = rows.timeline.bookmarks_bar
    bar.ask_name(added)
    assert bar.field.isVisible()
    for key in ("M", "?", "W"):
        override = QKeyEvent(
            QEvent.Type.ShortcutOverride, QKeySequence(key)[0].key(), Qt.KeyboardModifier.NoModifier
        )
        override.ignore()
        QApplication.sendEvent(bar.field, override)
        assert override.isAccepted()
    qtbot.keyClicks(bar.field, "Mwarm?")
    qtbot.keyClick(bar.field, Qt.Key.Key_Return)
    assert rows.session.state.bookmarks[added].name == "Mwarm?"
    assert not bar.field.isVisible()


@pytest.mark.parametrize("end", [Qt.Key.Key_Return, Qt.Key.Key_Escape])
def test_naming_a_bookmark_does_not_scroll_the_tracks(harness, tmp_path, qtbot, end):
    path = tmp_path / "tracks.csv"
    lines = [f"p,t{i},a,{20_000 * i},10000" for i in range(60)]
    path.write_text("\n".join(["process,thread,name,start_ns,dur_ns", *lines]) + "\n")
    harness.open(path)
    scene, bar = harness.timeline.scene, harness.timeline.bookmarks_bar
    harness.session.select_slice(SliceRef(0, 30))
    scene.scroll_to(300)
    assert scene.scroll == 300
    bar.ask_name(bookmarks.keep(harness.session, None))
    qtbot.keyClicks(bar.field, "here")
    qtbot.keyClick(bar.field, end)
    harness.settle()
    assert scene.scroll == 300
    assert harness.timeline.view.hasFocus()


def test_escape_while_naming_removes_the_new_bookmark(rows, qtbot):
    rows.session.select_slice(SliceRef(0, 0))
    bar = rows.timeline.bookmarks_bar
    bar.ask_name(bookmarks.keep(rows.session, None))
    qtbot.keyClick(bar.field, Qt.Key.Key_Escape)
    assert rows.session.state.bookmarks == ()
    assert not bar.field.isVisible()


def test_without_another_name_the_bookmark_keeps_its_number(rows, qtbot):
    rows.session.select_slice(SliceRef(0, 0))
    bar = rows.timeline.bookmarks_bar
    bar.ask_name(bookmarks.keep(rows.session, None))
    qtbot.keyClick(bar.field, Qt.Key.Key_Return)
    assert [mark.name for mark in rows.session.state.bookmarks] == ["Bookmark 1"]
