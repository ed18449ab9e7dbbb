"""The marks panel: rows by start, a click goes there, names and notes are edited in place."""

import pytest
from PySide6.QtCore import Qt
from PySide6.QtGui import QGuiApplication
from PySide6.QtTest import QAbstractItemModelTester

from viewer.gui.panels.bookmarks.panel import BookmarksPanel
from viewer.gui.panels.bookmarks.table import COLUMNS, BookmarkColumn
from viewer.gui.qt.widgets.tables import marked_rows
from viewer.gui.session.bookmarks import set_bookmarks
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
    at = COLUMNS.index(cell)
    return [panel.model.index(r, at).data() for r in range(panel.model.rowCount())]


def at(panel, row, cell):
    return panel.table.visualRect(panel.model.index(row, COLUMNS.index(cell))).center()


def test_rows_stand_by_start_each_with_its_units(panel):
    QAbstractItemModelTester(panel.model, QAbstractItemModelTester.FailureReportingMode.Warning)
    assert texts(panel, BookmarkColumn.NAME) == ["<i>moment</i>", "span", "late"]
    assert texts(panel, BookmarkColumn.START) == [f"{n}.000\u202fµs" for n in (10, 20, 60)]
    assert texts(panel, BookmarkColumn.LENGTH) == ["moment", "30.000\u202fµs", "10.000\u202fµs"]
    assert texts(panel, BookmarkColumn.NOTE) == ["", "", "a note"]
    assert panel.model.titles()[1] == "Start"


def test_no_marks_say_how_to_make_one(panel):
    set_bookmarks(panel.session, (), None, None)
    assert panel.is_empty


def test_a_click_goes_there_and_both_follow_each_other(panel, qtbot):
    session = panel.session
    session.set_range(100_000, 140_000)
    qtbot.mouseClick(
        panel.table.viewport(), Qt.MouseButton.LeftButton, pos=at(panel, 1, BookmarkColumn.START)
    )
    assert session.state.mark == 2
    assert session.state.t0 <= 20_000
    assert session.state.t1 >= 50_000
    assert session.state.t1 - session.state.t0 == 40_000
    set_bookmarks(session, MARKS, 0, None)
    assert marked_rows(panel.table) == [2]


def test_a_span_longer_than_the_view_is_fitted(panel, qtbot):
    session = panel.session
    session.set_range(100_000, 100_100)
    qtbot.mouseClick(
        panel.table.viewport(), Qt.MouseButton.LeftButton, pos=at(panel, 1, BookmarkColumn.START)
    )
    assert (session.state.t0, session.state.t1) == (14_000, 56_000)


def test_names_and_notes_are_edited_in_place(panel):
    session = panel.session
    name, note = (
        panel.model.index(1, COLUMNS.index(c)) for c in (BookmarkColumn.NAME, BookmarkColumn.NOTE)
    )
    assert panel.model.setData(name, "a\nnew name")
    assert panel.model.setData(note, "why")
    assert session.state.marks[2] == Bookmark(20_000, 50_000, "a new name", "why")
    session.undo()
    session.undo()
    assert session.state.marks == MARKS
    start = panel.model.index(1, COLUMNS.index(BookmarkColumn.START))
    assert not panel.model.flags(start) & Qt.ItemFlag.ItemIsEditable


def test_copied_marks_are_whole_ns(panel):
    panel.table.selectRow(2)
    panel.copy()
    head, line = QGuiApplication.clipboard().text().splitlines()
    assert head == "name\tstart_ns\tlength_ns\tnote"
    assert line == "late\t60000\t10000\ta note"


def test_a_name_is_shown_as_text(panel):
    index = panel.model.index(0, COLUMNS.index(BookmarkColumn.NAME))
    assert "&lt;i&gt;" in index.data(Qt.ItemDataRole.ToolTipRole)
