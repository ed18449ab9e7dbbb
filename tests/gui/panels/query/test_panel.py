"""The Query panel by keys and mouse: running, stopping, completing, and what rows select."""

import pytest
from PySide6.QtCore import Qt
from PySide6.QtTest import QTest

from viewer.gui.panels.base.panel_spec import Presence
from viewer.gui.panels.query import panel as query_panel
from viewer.gui.panels.query.panel import FIRST, QueryPanel
from viewer.gui.session.session import Session
from viewer.gui.window.frame.panel_table import TABLE
from viewer.query.engine import SLICE_IDS
from viewer.view.state import SliceRef

DUMP = "etdump/demo_portable_x3.etdp"
CONTROL, NONE = Qt.KeyboardModifier.ControlModifier, Qt.KeyboardModifier.NoModifier


@pytest.fixture
def panel(show_files):
    return show_files(QueryPanel, DUMP)


def run(qtbot, panel, sql: str) -> list[tuple[str, ...]]:
    """Type a query, run it with the keyboard, and return the cells."""
    panel.editor.setPlainText(sql)
    panel.editor.setFocus()
    QTest.keyClick(panel.editor, Qt.Key.Key_Return, CONTROL)
    qtbot.waitUntil(lambda: panel._running is None, timeout=60_000)
    if panel.rows is None:
        return []
    model = panel.rows.arranged
    columns = range(model.columnCount())
    return [tuple(model.index(row, c).data() for c in columns) for row in range(model.rowCount())]


def click(panel, row: int, column: int) -> None:
    place = panel.rows.visualRect(panel.rows.arranged.index(row, column)).center()
    QTest.mouseClick(panel.rows.viewport(), Qt.MouseButton.LeftButton, NONE, place)


def test_the_first_query_runs_and_times_have_units(qtbot, panel):
    rows = run(qtbot, panel, FIRST)
    (shown,) = panel.session.traces
    assert {row[0] for row in rows} == {
        shown.trace.strings[i] for i in set(shown.trace.slices.name.tolist())
    }
    assert all(
        row[2].split("\u202f")[-1] in ("ns", "µs", "ms", "s") or row[2] == "0" for row in rows
    )
    assert panel.subtitle.text().startswith(f"{len(rows)} rows · ")


def test_a_click_selects_the_slice_and_a_double_click_zooms(qtbot, panel):
    run(qtbot, panel, "SELECT name, id FROM slices WHERE depth > 0 ORDER BY dur_ns DESC LIMIT 4")
    number = int(panel.rows.arranged.index(2, 1).data())
    click(panel, 2, 0)
    assert panel.session.state.slice == SliceRef(0, number)
    before = panel.session.state.times
    place = panel.rows.visualRect(panel.rows.arranged.index(1, 1)).center()
    QTest.mouseClick(panel.rows.viewport(), Qt.MouseButton.LeftButton, NONE, place)
    QTest.mouseDClick(panel.rows.viewport(), Qt.MouseButton.LeftButton, NONE, place)
    assert panel.session.state.times != before


def test_the_row_of_the_selected_slice_is_marked(qtbot, panel):
    run(qtbot, panel, "SELECT id, name FROM slices ORDER BY id")
    panel.session.select_slice(SliceRef(0, 5))
    (index,) = panel.rows.selectionModel().selectedRows()
    assert panel.rows.arranged.index(index.row(), 0).data() == "5"
    assert "id" in SLICE_IDS


def test_slices_are_numbered_over_files(qtbot, show_files):
    panel = show_files(QueryPanel, DUMP, "table_csv/two_threads.csv")
    run(qtbot, panel, "SELECT id, name FROM slices WHERE file LIKE '%two_threads.csv' ORDER BY id")
    click(panel, 1, 1)
    assert panel.session.state.slice == SliceRef(1, 1)


def test_a_wrong_query_shows_its_place(qtbot, panel):
    assert run(qtbot, panel, "SELECT nothing FROM slices") == []
    assert panel.message.isVisible()
    assert 'Referenced column "nothing" not found' in panel.message.text()
    assert "LINE 1: SELECT nothing FROM slices" in panel.message.text()
    assert run(qtbot, panel, "SELECT 1 AS one")
    assert not panel.message.isVisible()


def test_only_selected_text_runs_and_past_queries_come_back(qtbot, panel):
    run(qtbot, panel, "SELECT 7 AS seven")
    panel.editor.setPlainText("SELECT 1; SELECT 2 AS two")
    cursor = panel.editor.textCursor()
    cursor.setPosition(10)
    cursor.setPosition(25, cursor.MoveMode.KeepAnchor)
    panel.editor.setTextCursor(cursor)
    QTest.mouseClick(panel.run_button, Qt.MouseButton.LeftButton)
    qtbot.waitUntil(lambda: panel._running is None, timeout=60_000)
    assert panel.rows.arranged.index(0, 0).data() == "2"
    panel.history.aboutToShow.emit()
    texts = [action.text() for action in panel.history.actions()]
    assert texts == ["SELECT 2 AS two", "SELECT 7 AS seven"]
    panel.history.actions()[1].trigger()
    assert panel.editor.toPlainText() == "SELECT 7 AS seven"


def test_stop_ends_an_endless_query(qtbot, panel):
    run(qtbot, panel, "SELECT 1")
    panel.editor.setPlainText("SELECT count(*) FROM range(1000000000000)")
    QTest.keyClick(panel.editor, Qt.Key.Key_Enter, CONTROL)
    assert panel.stop_button.isEnabled()
    qtbot.wait(300)
    QTest.mouseClick(panel.stop_button, Qt.MouseButton.LeftButton)
    qtbot.waitUntil(lambda: panel._running is None, timeout=20_000)
    assert panel.message.text() == "The query was stopped"
    assert not panel.stop_button.isEnabled()
    assert panel.stop() == ""


def test_words_complete_tables_then_their_columns(qtbot, panel):
    panel.editor.clear()
    panel.editor.setFocus()
    QTest.keyClicks(panel.editor, "SELECT * FROM infe")
    completer = panel.editor.completer
    assert completer.currentCompletion() in ("inference", "inferences")
    panel.editor.setPlainText("SELECT  FROM inferences")
    cursor = panel.editor.textCursor()
    cursor.setPosition(7)
    panel.editor.setTextCursor(cursor)
    QTest.keyClicks(panel.editor, "fini")
    assert completer.currentCompletion() == "finished"
    QTest.keyClick(panel.editor.proposed, Qt.Key.Key_Return)
    assert panel.editor.toPlainText() == "SELECT finished FROM inferences"


def test_a_double_click_inserts_a_column(panel):
    panel.editor.setPlainText("SELECT")
    panel.editor.moveCursor(panel.editor.textCursor().MoveOperation.End)
    slices = panel.tables.topLevelItem(0)
    slices.setExpanded(True)
    child = next(
        c for i in range(slices.childCount()) if (c := slices.child(i)).text(0) == "dur_ns"
    )
    panel.tables.scrollToItem(child)
    place = panel.tables.visualItemRect(child).center()
    QTest.mouseClick(panel.tables.viewport(), Qt.MouseButton.LeftButton, NONE, place)
    QTest.mouseDClick(panel.tables.viewport(), Qt.MouseButton.LeftButton, NONE, place)
    assert panel.editor.toPlainText() == "SELECT dur_ns"
    assert "Duration" in child.toolTip(0)


def test_more_rows_than_are_listed_are_counted(qtbot, panel, monkeypatch):
    monkeypatch.setattr(query_panel, "_LIMITS", query_panel.Limits(60, 1_000_000_000, rows=10))
    assert len(run(qtbot, panel, "SELECT * FROM range(1234)")) == 10
    assert panel.subtitle.text().startswith("the first 10 of 1\u2009234 rows")


def test_rows_sort_by_their_values(qtbot, panel):
    run(qtbot, panel, "SELECT * FROM (VALUES (9), (10), (NULL), (1)) v(n)")
    panel.rows.sortByColumn(0, Qt.SortOrder.AscendingOrder)
    cells = [panel.rows.arranged.index(row, 0).data() for row in range(4)]
    assert cells[:3] == ["1", "9", "10"]


def test_closing_files_drops_their_rows(qtbot, panel):
    run(qtbot, panel, "SELECT 1")
    panel.session.close_all()
    assert panel.rows is None


def test_without_duckdb_the_panel_says_how_to_get_it(show_files, monkeypatch):
    monkeypatch.setattr(query_panel, "why_missing", lambda: "queries need duckdb: pip install x")
    panel = show_files(QueryPanel, DUMP)
    assert panel.sentence == "Queries need duckdb: pip install x."


def test_it_is_offered_with_slices(opened, data):
    assert TABLE.pages["query"].presence(opened(data / DUMP)) is Presence.AVAILABLE
    assert TABLE.pages["query"].presence(Session()) is Presence.NOTHING
