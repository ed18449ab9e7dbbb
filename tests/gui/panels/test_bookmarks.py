"""The marks panel: rows by clock and start, a click goes there, texts are edited in place."""

import pytest
from PySide6.QtCore import Qt
from PySide6.QtGui import QGuiApplication
from PySide6.QtTest import QAbstractItemModelTester

from tests.builders.clocked_traces import HOST, NS, clocked_trace
from viewer.gui.panels.bookmarks import BOOKMARKS, BookmarksPanel
from viewer.gui.qt.widgets.tables import marked_rows
from viewer.gui.session.bookmarks import set_bookmarks
from viewer.gui.session.session import Session
from viewer.view.state import Bookmark

MARKS = (
    Bookmark(60_000, 70_000, "late", "a note"),
    Bookmark(10_000, 10_000, "<i>moment</i>"),
    Bookmark(20_000, 50_000, "span"),
)


@pytest.fixture
def panel(opened, show_panel, tmp_path):
    path = tmp_path / "rows.csv"
    lines = [f"p,t0,a,{20_000 * i},10000" for i in range(8)]
    path.write_text("\n".join(["process,thread,name,start_ns,dur_ns", *lines]) + "\n")
    session = opened(path)
    panel = show_panel(BookmarksPanel, session)
    set_bookmarks(session, MARKS, None, None)
    return panel


def texts(panel, cell):
    at = BOOKMARKS.place(cell)
    return [panel.model.index(r, at).data() for r in range(panel.model.rowCount())]


def at(panel, row, cell):
    return panel.table.visualRect(panel.model.index(row, BOOKMARKS.place(cell))).center()


def test_rows_stand_by_start_each_with_its_units(panel):
    QAbstractItemModelTester(panel.model, QAbstractItemModelTester.FailureReportingMode.Warning)
    assert texts(panel, "Name") == ["<i>moment</i>", "span", "late"]
    assert texts(panel, "Start") == [f"{n}.000\u202fµs" for n in (10, 20, 60)]
    assert texts(panel, "Length") == ["moment", "30.000\u202fµs", "10.000\u202fµs"]
    assert texts(panel, "Note") == ["", "", "a note"]
    assert list(panel.model.titles) == ["Name", "Clock", "Start", "Length", "Note"]
    assert panel.table.isColumnHidden(1), "there is one clock"


def test_no_marks_say_how_to_make_one(panel):
    set_bookmarks(panel.session, (), None, None)
    assert panel.is_empty


def test_a_click_goes_there_and_both_follow_each_other(panel, qtbot):
    session = panel.session
    session.set_range(100_000, 140_000)
    qtbot.mouseClick(panel.table.viewport(), Qt.MouseButton.LeftButton, pos=at(panel, 1, "Start"))
    assert session.state.mark == 2
    assert session.state.t0 <= 20_000
    assert session.state.t1 >= 50_000
    assert session.state.t1 - session.state.t0 == 40_000
    set_bookmarks(session, MARKS, 0, None)
    assert marked_rows(panel.table) == [2]


def test_a_span_longer_than_the_view_is_fitted(panel, qtbot):
    session = panel.session
    session.set_range(100_000, 100_100)
    qtbot.mouseClick(panel.table.viewport(), Qt.MouseButton.LeftButton, pos=at(panel, 1, "Start"))
    assert (session.state.t0, session.state.t1) == (14_000, 56_000)


def test_names_and_notes_are_edited_in_place(panel):
    session = panel.session
    name, note = (panel.model.index(1, BOOKMARKS.place(c)) for c in ("Name", "Note"))
    assert panel.model.setData(name, "a\nnew name")
    assert panel.model.setData(note, "why")
    assert session.state.bookmarks[2] == Bookmark(20_000, 50_000, "a new name", "why")
    session.undo()
    session.undo()
    assert session.state.bookmarks == MARKS
    start = panel.model.index(1, BOOKMARKS.place("Start"))
    assert not panel.model.flags(start) & Qt.ItemFlag.ItemIsEditable


def test_copied_marks_are_whole_ns(panel):
    panel.table.selectRow(2)
    panel.table.copy()
    head, line = QGuiApplication.clipboard().text().splitlines()
    assert head == "name\tstart_ns\tlength_ns\tnote"
    assert line == "late\t60000\t10000\ta note"


def test_a_name_is_shown_as_text(panel):
    index = panel.model.index(0, BOOKMARKS.place("Name"))
    assert "&lt;i&gt;" in index.data(Qt.ItemDataRole.ToolTipRole)


@pytest.fixture
def clocks(qapp, show_panel):
    """The panel with bookmarks on two open clocks, and on that of a file that was closed."""
    session = Session()
    session.add([clocked_trace("/a/net.etdp", NS, (0, 9_000)), clocked_trace("h", HOST, (0, 90))])
    panel = show_panel(BookmarksPanel, session)
    marks = (
        Bookmark(5_000, 6_000, "host", clock="torq host"),
        Bookmark(0, 10, "closed", clock="/a/gone.csv"),
        Bookmark(7_000, 7_000, "late", clock="/a/net.etdp"),
        Bookmark(6_000, 6_500, "early", clock="/a/net.etdp"),
    )
    set_bookmarks(session, marks, None, None)
    return panel


def test_several_clocks_are_named_and_sort_before_the_time(clocks):
    assert texts(clocks, "Name") == ["early", "late", "host", "closed"]
    assert texts(clocks, "Clock") == [
        "net.etdp", "net.etdp", "Host clock", "gone.csv (closed)"
    ]  # fmt: skip
    assert not clocks.table.isColumnHidden(1)
    clocks.table.selectRow(2)
    clocks.table.copy()
    head, line = QGuiApplication.clipboard().text().splitlines()
    assert head == "name\tstart_ns\tlength_ns\tnote\tclock"
    assert line == "host\t5000\t1000\t\tHost clock"


def test_the_clock_column_follows_what_is_open(clocks):
    session = clocks.session
    set_bookmarks(session, session.state.bookmarks[2:], None, None)
    assert not clocks.table.isColumnHidden(1)
    session.close_all()
    session.add([clocked_trace("/a/net.etdp", NS, (0, 9_000))])
    set_bookmarks(session, (Bookmark(0, 1, clock="/a/net.etdp"),), None, None)
    assert clocks.table.isColumnHidden(1)


def test_a_click_activates_the_clock_and_a_closed_one_moves_nothing(clocks, qtbot):
    session = clocks.session
    session.set_range(0, 1_000)
    session.activate("torq host")
    session.set_range(0, 2_000)

    def click(row):
        pos = at(clocks, row, "Start")
        qtbot.mouseClick(clocks.table.viewport(), Qt.MouseButton.LeftButton, pos=pos)

    click(1)
    assert (session.state.clock, session.state.mark) == ("/a/net.etdp", 2)
    assert (session.state.t0, session.state.t1) == (6_500, 7_500)
    assert session.state.range_of("torq host") == (0, 2_000)
    before = session.state.all_ranges
    click(3)
    qtbot.mouseDClick(
        clocks.table.viewport(), Qt.MouseButton.LeftButton, pos=at(clocks, 3, "Start")
    )
    assert session.state.mark == 1
    assert session.state.all_ranges == before
