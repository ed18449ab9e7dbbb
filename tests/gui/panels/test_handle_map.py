"""The handle map panel: what is registered beside what is logged, chosen, selected and exported."""

import csv

import pytest
from PySide6.QtCore import Qt
from PySide6.QtGui import QGuiApplication

from viewer.codecs.reading import never_cancelled, no_progress
from viewer.gui.panels import handle_map
from viewer.gui.panels.handle_map import NO_MAPS, NONE_OF, NOTHING, HandleMapPanel, RowFilter
from viewer.gui.session.navigation import pick_run
from viewer.gui.session.session import Session
from viewer.model.times import format_time

DEMO = ("etdump/demo_str_x4.etdp", "etrecord/demo_str.etrecord")
XNNPACK = ("etdump/cnn_xnnpack3_x5.etdp", "etrecord/cnn_standalone_after_tobackend.etrecord")


@pytest.fixture
def panel(show_files):
    made = show_files(HandleMapPanel, *DEMO)
    pick_run(made.session, None)
    return made


def choose(panel, show):
    panel.by.setCurrentIndex(list(RowFilter).index(show))
    panel.by.activated.emit(list(RowFilter).index(show))


def names(panel):
    return [row.op for row in panel.model.rows]


def row_of(panel, name):
    return names(panel).index(name)


def test_each_identifier_has_its_handles_its_operators_and_its_time(panel):
    row = panel.model.rows[row_of(panel, "Fancy Fusion")]
    assert row.texts[1:] == (
        "40.290\u202fµs", "logged", "1, 2", "conv1 · convolution + relu1 · relu", "4",
        "BackendStrDemo",
    )  # fmt: skip
    assert [h.title for h in panel.model.contents.headings][:4] == [
        "Identifier", "Self", "Status", "Handles"
    ]  # fmt: skip


def test_what_is_logged_and_not_registered_can_be_shown_alone(panel):
    choose(panel, RowFilter.NOT_REGISTERED)
    assert names(panel) == ["not in map"]
    assert panel.by.currentText() == "Not in map (1)"
    assert panel.summary.text().startswith("5 identifiers registered · 5 logged · 1 logged but not")


def test_handles_that_no_identifier_covers_can_be_shown_alone(show_files):
    panel = show_files(HandleMapPanel, *XNNPACK)
    choose(panel, RowFilter.UNCOVERED)
    assert names(panel)[0] == "handle 1"
    assert len(names(panel)) == 7
    assert panel.summary.text().startswith("XnnpackBackend wrote no debug handle map")


def test_where_a_sort_has_no_rows_it_says_why(panel):
    choose(panel, RowFilter.NEVER_LOGGED)
    assert not panel.model.rows
    assert panel.summary.text() == NONE_OF[RowFilter.NEVER_LOGGED]
    assert not panel.button.isEnabled()


def test_the_filter_finds_identifiers_operators_handles_and_backends(panel):
    found = {}
    for text in ("fusion", "tan", "conv2", "not in map", "BackendStrDemo sin"):
        panel.filter.setText(text)
        found[text] = names(panel)
    assert found == {
        "fusion": ["Fancy Fusion", "Fancy Fusion 2"], "tan": ["sin:0;a=b", "cos/1", "div"],
        "conv2": ["Fancy Fusion 2"], "not in map": ["not in map"],
        "BackendStrDemo sin": ["sin:0;a=b"],
    }  # fmt: skip


def test_rows_are_sorted_by_time(panel):
    panel.model.sort(1, Qt.SortOrder.DescendingOrder)
    assert names(panel)[:3] == ["div", "cos/1", "sin:0;a=b"]


def test_a_click_selects_the_slices_of_an_identifier(panel):
    panel.table.chosen.emit(row_of(panel, "div"))
    chosen = panel.session.state.slices
    shown = panel.session.traces[0]
    assert {shown.label(ref.index) for ref in chosen} == {"div"}
    assert len(chosen) == 4


def test_in_a_picked_run_it_is_one_slice_and_the_time_is_of_that_run(panel):
    session = panel.session
    pick_run(session, (0, 2))
    row = panel.model.rows[row_of(panel, "div")]
    panel.table.chosen.emit(row_of(panel, "div"))
    shown = session.traces[0]
    index = session.state.slice.index
    length = int(shown.trace.slices.end[index] - shown.trace.slices.start[index])
    assert row.texts[1] == format_time(length)
    assert len(session.state.slices) == 1


def test_a_handle_leads_to_its_operator(show_files):
    panel = show_files(HandleMapPanel, *XNNPACK)
    choose(panel, RowFilter.UNCOVERED)
    panel.table.chosen.emit(0)
    assert panel.session.state.operators == (0, panel.model.rows[0].operators)


@pytest.mark.parametrize("suffix", [".csv", ".tsv"])
def test_the_shown_rows_are_exported(panel, tmp_path, suffix):
    panel.filter.setText("fusion")
    panel.button.click()
    *_, asked = panel.host.asked
    path = tmp_path / f"out{suffix}"
    assert asked[2](str(path))(no_progress, never_cancelled) == 2
    with path.open(newline="", encoding="utf-8") as file:
        rows = list(csv.DictReader(file, delimiter="\t" if suffix == ".tsv" else ","))
    assert [row["identifier"] for row in rows] == ["Fancy Fusion", "Fancy Fusion 2"]
    assert (rows[0]["debug_handles"], rows[0]["dur_ns"]) == ("[1, 2]", "40290")


def test_of_very_many_rows_the_first_are_shown_and_all_exported(show_files, tmp_path, monkeypatch):
    monkeypatch.setattr(handle_map, "MOST_SHOWN", 3)
    panel = show_files(HandleMapPanel, *DEMO)
    assert len(panel.model.rows) == 3
    assert panel.summary.text().startswith("the first 3 of 7 rows (Export writes all)")
    panel.button.click()
    *_, asked = panel.host.asked
    assert asked[2](str(tmp_path / "all.csv"))(no_progress, never_cancelled) == 7


def test_rows_are_copied_with_how_they_stand(panel):
    panel.table.selectRow(row_of(panel, "not in map"))
    panel.table.copy()
    head, row = QGuiApplication.clipboard().text().splitlines()
    assert head.split("\t")[-2:] == ["Status", "Note"]
    assert row.split("\t")[-2] == "not in map"
    assert "is not in its debug handle map" in row


def test_events_on_a_clock_of_their_own_have_no_time(show_files):
    panel = show_files(HandleMapPanel, "etdump/SYN_qnn_like.etdp")
    assert {row.texts[1] for row in panel.model.rows} == {"–"}
    assert "separate clock" in panel.model.rows[0].detail


def test_a_record_alone_has_its_map_and_no_times(show_files):
    panel = show_files(HandleMapPanel, "etrecord/demo_manual_int.etrecord")
    assert names(panel) == ["10", "1", "100", "0", "7"]
    assert "Time" not in " ".join(h.title for h in panel.model.contents.headings)
    panel.table.chosen.emit(0)
    *_, asked = panel.host.asked
    assert asked[2] == 108


def test_where_there_is_nothing_it_says_what_is_missing(make_panel, show_files):
    panel = show_files(HandleMapPanel, "etdump/cnn_portable_x10.etdp")
    assert (panel.is_empty, panel.sentence) == (True, NO_MAPS)
    empty = make_panel(HandleMapPanel, Session())
    assert (empty.is_empty, empty.sentence) == (True, NOTHING)


def test_a_debug_handle_map_beside_a_torq_profile(show_files):
    panel = show_files(HandleMapPanel, "torq/demo_str_c1.csv", "debug_handle_map/demo_str.json")
    row = panel.model.rows[row_of(panel, "Fancy Fusion")]
    assert row.texts[1:] == (
        "200\u202fns", "logged", "1, 2", "conv1 · convolution + relu1 · relu", "2", "BackendStrDemo"
    )  # fmt: skip
    assert row.hint == "any call"
    assert panel.summary.text() == "5 identifiers registered · 5 logged"
