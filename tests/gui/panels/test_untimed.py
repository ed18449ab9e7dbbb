"""The panel of events without a time: what it lists, follows, selects and copies."""

from dataclasses import replace
from functools import partial

import pytest
from PySide6.QtCore import Qt
from PySide6.QtGui import QGuiApplication, QPixmap

from viewer.gui.panels.base.slice_facts import slice_rows, track_text
from viewer.gui.panels.untimed import EVENTS, NOTHING, UntimedPanel
from viewer.gui.session.navigation import pick_run
from viewer.model.inference_views import Inferences
from viewer.view.state import SliceRef

DISPLAY = Qt.ItemDataRole.DisplayRole
TIP = Qt.ItemDataRole.ToolTipRole


@pytest.fixture
def show(show_files):
    """Show the panel over some files of tests/data."""
    return partial(show_files, UntimedPanel)


@pytest.fixture
def cnn(show):
    made = show("etdump/cnn_portable_x2_debug.etdp", "etrecord/cnn_toedge_portable.etrecord")
    pick_run(made.session, None)
    return made


def cell(panel: UntimedPanel, row: int, of: str, role: int = DISPLAY) -> object:
    return panel.model.index(row, EVENTS.place(of)).data(role)


def columns(panel: UntimedPanel) -> list[str]:
    return [c.title for i, c in enumerate(EVENTS.columns) if not panel.table.isColumnHidden(i)]


def plain(panel: UntimedPanel) -> list[list[str]]:
    lines = panel.model.tsv(range(panel.model.rowCount())).splitlines()
    return [line.split("\t") for line in lines]


def test_rows_stand_in_file_order_with_operator_value_and_bytes(cnn):
    table = plain(cnn)
    assert table[0] == [
        "Run", "#", "After", "Kind", "Name", "Operator", "Value", "Bytes", "Offset"
    ]  # fmt: skip
    assert table[1:4] == [
        ["forward · run 1 of 2", "2", "", "debug", "", "features.0 · convolution",
         "f32 1 × 8 × 16 × 16", "8192", "32"],
        ["forward · run 1 of 2", "5", "features.0 · convolution", "debug", "",
         "features.1 · batch_norm", "f32 1 × 8 × 16 × 16", "8192", "8224"],
        ["forward · run 1 of 2", "6", "features.0 · convolution", "debug", "",
         "features.1 · batch_norm", "f32 0", "0", "empty"],
    ]  # fmt: skip
    assert table[14][5:] == ["", "f32 1 × 10 · output", "40", "39776"]
    assert len(table) == 29


def test_it_says_that_the_order_is_known_and_the_time_is_not(cnn):
    assert cnn.subtitle.text() == "28 events · all inferences · in order, without times"


def test_it_follows_the_picked_run(cnn):
    runs = [i for i, run in enumerate(cnn.session.traces[0].trace.runs) if run.number == 2]
    pick_run(cnn.session, (0, runs[0]))
    assert {row[0] for row in plain(cnn)[1:]} == {"forward · run 2 of 2"}
    assert cnn.subtitle.text() == "14 of 28 events · forward · run 2 of 2 · in order, without times"
    assert "Run" not in columns(cnn)


def test_a_run_without_any_says_where_there_are_some(show):
    panel = show("etdump/SYN_untimed_kinds.etdp")
    pick_run(panel.session, (0, 1))
    assert not panel.is_empty
    panel = show("etdump/SYN_allocations.etdp", "etdump/cnn_portable_x2_debug.etdp")
    assert not panel.is_empty
    pick_run(panel.session, (1, 0))
    assert panel.is_empty
    assert panel.sentence == "None in load; 28 debug events in other inferences."


def test_nothing_says_how_such_events_are_logged(show, opened, make_panel):
    panel = show("etdump/cnn_portable_x1.etdp")
    assert panel.is_empty
    assert panel.sentence == NOTHING
    assert "debug_buffer_size" in NOTHING
    bare = make_panel(UntimedPanel, opened())
    assert bare.is_empty


def test_a_click_selects_the_slice_that_the_event_follows(cnn, qtbot):
    session, trace = cnn.session, cnn.session.traces[0].trace
    rect = cnn.table.visualRect(cnn.model.index(1, EVENTS.place("Value")))
    qtbot.mouseClick(cnn.table.viewport(), Qt.MouseButton.LeftButton, pos=rect.center())
    chosen = session.state.slice
    assert chosen is not None
    assert int(trace.slices.source_row[chosen.index]) == 4
    qtbot.keyClick(cnn.table, Qt.Key.Key_Down)
    assert session.state.slice == chosen  # the next value is of the same place
    qtbot.keyClick(cnn.table, Qt.Key.Key_Up)
    qtbot.keyClick(cnn.table, Qt.Key.Key_Up)
    # Nothing with a time lies before the first value of a run: then it is the call that it is of.
    assert int(trace.slices.source_row[session.state.slice.index]) == 4


def test_selecting_elsewhere_keeps_rows_and_marks(cnn):
    cnn.table.selectRow(3)
    cnn.session.select_slice(SliceRef(0, 5))
    assert [i.row() for i in cnn.table.selectionModel().selectedRows()] == [3]


def test_marked_rows_are_copied_as_tsv(cnn, qtbot):
    cnn.table.selectRow(0)
    cnn.table.setFocus()
    qtbot.keyClick(cnn.table, Qt.Key.Key_C, Qt.KeyboardModifier.ControlModifier)
    lines = QGuiApplication.clipboard().text().splitlines()
    assert [line.split("\t")[1] for line in lines] == ["#", "2"]


def test_of_very_many_marked_rows_the_first_are_copied_and_the_rest_told(cnn, monkeypatch):
    QGuiApplication.clipboard().setText("before")
    cnn.table.clearSelection()
    cnn.table.copy()
    assert QGuiApplication.clipboard().text() == "before"
    monkeypatch.setattr(cnn.model, "table", replace(EVENTS, most_copied=5))
    cnn.table.selectAll()
    cnn.table.copy()
    lines = QGuiApplication.clipboard().text().splitlines()
    assert len(lines) == 1 + 5 + 1
    assert lines[-1] == "23 more rows: opscope export --table untimed writes all rows"


@pytest.mark.parametrize(
    ("text", "rows"),
    [("softmax F32", [32, 67]), ("i64 RUN", [14, 49]), ("nowhere", []), ("", 28)],
)
def test_the_filter_looks_for_every_word_in_any_text(cnn, text, rows):
    cnn.filter.setText(text)
    found = [int(row[1]) for row in plain(cnn)[1:]]
    assert (len(found) if isinstance(rows, int) else found) == rows


def test_scalars_names_and_identifiers_are_found_too(show):
    panel = show("etdump/SYN_untimed_kinds.etdp")
    pick_run(panel.session, None)
    for text, rows in (("fancy", [18]), ("bool", [12, 13]), ("planned", [1]), ("block", [25, 26])):
        panel.filter.setText(text)
        assert [int(row[1]) for row in plain(panel)[1:]] == rows


def test_columns_that_tell_nothing_are_left_out(show, cnn):
    assert columns(cnn) == ["Run", "#", "After", "Operator", "Value", "Bytes", "Offset"]
    assert columns(show("etdump/SYN_allocations.etdp")) == ["#", "After", "Name", "Bytes"]


def test_a_narrow_table_keeps_the_value_and_whose_it_is(show):
    panel = show(
        "etdump/cnn_portable_x2_debug.etdp", "etrecord/cnn_toedge_portable.etrecord", width=400
    )
    assert columns(panel) == ["#", "Operator", "Value"]


def test_hints_tell_what_has_no_room(cnn):
    assert "at byte 8\u2009224 of the debug buffer" in str(cell(cnn, 1, "Value", TIP))
    assert "no data" in str(cell(cnn, 2, "Offset", TIP))
    assert "logged outside any instruction" in str(cell(cnn, 13, "Operator", TIP))
    assert isinstance(cell(cnn, 0, "Operator", Qt.ItemDataRole.DecorationRole), QPixmap)
    assert cell(cnn, 13, "Operator", Qt.ItemDataRole.DecorationRole) is None


# -- what other panels say of them -----------------------------------------------------------------


def test_the_details_of_a_call_count_the_values_logged_with_it(cnn):
    shown = cnn.session.traces[0]
    call = int(shown.trace.untimed.call[1])
    assert slice_rows(shown, call)["Logged"] == "3 values: f32 1 × 8 × 16 × 16, 2 f32 0"
    execute = next(i for i in range(len(shown.trace.slices)) if "execute" in shown.trace.name(i))
    assert "Logged" not in slice_rows(shown, execute)


def test_a_bundled_input_is_told_with_the_run(opened, data):
    shown = opened(data / "etdump/SYN_untimed_kinds.etdp").traces[0]
    texts = {track_text(shown, i) for i in range(len(shown.trace.slices))}
    assert texts == {"Execute · load", "Execute · inference 1 · bundled input 2"}


def test_a_click_shows_the_inferences_as_they_ran(cnn):
    session = cnn.session
    before = plain(cnn)
    session.show_inferences(Inferences.MEAN)
    assert plain(cnn) == before
    cnn.table.chosen.emit(1)
    assert session.state.inferences is Inferences.AS_RUN
    assert session.state.slice is not None
