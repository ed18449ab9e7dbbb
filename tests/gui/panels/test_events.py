"""The events panel: its numbers against numpy on the slices, its filter, sorting and clicks."""

import json
from functools import partial

import numpy as np
import pytest
from PySide6.QtCore import QSizeF, Qt
from PySide6.QtGui import QGuiApplication

from viewer.gui.panels.events import EVENTS, NO_EVENTS, NOTHING, EventsPanel
from viewer.gui.qt.widgets.tables import NoRows, marked_rows
from viewer.gui.session.navigation import pick_run
from viewer.model.inference_views import Inferences
from viewer.resources import SAMPLES
from viewer.view.state import SliceRef


@pytest.fixture
def show(show_files):
    """Show the panel over some files of tests/data."""
    return partial(show_files, EventsPanel)


@pytest.fixture
def cnn(show):
    made = show("etdump/cnn_portable_x10.etdp", "etrecord/cnn_toedge_portable.etrecord")
    pick_run(made.session, None)
    return made


def texts(panel: EventsPanel, of: str) -> list[str]:
    column = EVENTS.place(of)
    return [panel.model.index(r, column).data() for r in range(panel.model.rowCount())]


def plain(panel: EventsPanel) -> list[dict[str, str]]:
    head, *lines = panel.model.tsv(range(panel.model.rowCount())).splitlines()
    names = [name.partition(",")[0] for name in head.split("\t")]
    return [dict(zip(names, line.split("\t"), strict=True)) for line in lines]


def titles(panel: EventsPanel) -> list[str]:
    return [c.title for i, c in enumerate(EVENTS.columns) if not panel.table.isColumnHidden(i)]


def test_events_with_the_same_label_are_told_apart(opened, make_panel):
    (npu,) = (sample for sample in SAMPLES if sample.key == "torq_npu")
    panel = make_panel(EventsPanel, opened(*npu.paths()))
    of_actions = texts(panel, "Event")
    assert {"ALLOC (action 0)", "ALLOC (action 1)"} <= set(of_actions)
    assert len(set(of_actions)) == len(of_actions)


def test_events_at_different_places_have_their_location_as_hint(show):
    panel = show("torq/compile_c0_mixed_locs.csv")
    names = texts(panel, "Event")
    assert {'DMA In ("tiny_cnn.mlir":2:3)', "DMA In (unknown)", "conv2d"} <= set(names)
    assert len(set(names)) == len(names)


def test_numbers_are_those_of_every_slice_of_the_event(cnn):
    trace, link = cnn.session.traces[0].trace, cnn.session.traces[0].table
    long = trace.slices.end - trace.slices.start
    kernel = [k for k in range(len(trace.keys)) if "addmm" in trace.strings[trace.keys.name[k]]]
    own = long[trace.slices.key == kernel[0]]
    (row,) = [r for r in plain(cnn) if r["Event"] == "addmm.out"]
    for name, value in (
        ("p10", np.percentile(own, 10)), ("Median", np.percentile(own, 50)),
        ("p90", np.percentile(own, 90)), ("Mean", own.mean()), ("Min", own.min()),
        ("Max", own.max()), ("Sum", own.sum()),
    ):  # fmt: skip
        assert float(row[name]) == pytest.approx(value, abs=0.001)
    assert row["Count"] == "10"
    assert link.operators(kernel[0])
    assert cnn.subtitle.text().endswith("events · all 10 inferences")


def test_a_picked_run_stands_beside_all_of_them(cnn):
    assert "Run" not in titles(cnn)
    trace = cnn.session.traces[0].trace
    third = next(i for i, run in enumerate(trace.runs) if run.number == 3)
    before = texts(cnn, "Median")
    pick_run(cnn.session, (0, third))
    assert texts(cnn, "Median") == before
    assert cnn.model.headerData(EVENTS.place("Run"), Qt.Orientation.Horizontal) == "Run 3"
    run = trace.runs[third]
    (row,) = [r for r in plain(cnn) if r["Event"] == "Method::execute"]
    assert float(row["Run 3"]) == run.end - run.start
    (load,) = [r for r in plain(cnn) if r["Event"] == "Method::init"]
    assert load["Run 3"] == ""


def test_the_filter_looks_at_names_operators_and_metadata(show):
    panel = show("etdump/demo_str_x4.etdp", "etrecord/demo_str.etrecord")
    assert panel.model.rowCount() == 11
    panel.filter.setText("fancy")
    assert texts(panel, "Event") == ["Fancy Fusion", "Fancy Fusion 2"]
    trace = panel.session.traces[0].trace
    metadata = trace.slices.columns["metadata"]
    i = next(i for i in range(len(trace.slices)) if metadata.value(i))
    panel.filter.setText(str(metadata.value(i))[:12])
    names = {trace.name(int(s)) for s in range(len(trace.slices)) if metadata.value(int(s))}
    assert set(texts(panel, "Event")) <= names
    assert texts(panel, "Event")
    panel.filter.setText("no such event")
    assert panel.model.rowCount() == 0


def test_rows_are_sorted_by_a_click_on_a_heading_and_back_in_file_order(cnn):
    in_file = texts(cnn, "Event")
    cnn.table.sortByColumn(EVENTS.place("Sum"), Qt.SortOrder.DescendingOrder)
    totals = [float(row["Sum"]) for row in plain(cnn)]
    assert totals == sorted(totals, reverse=True)
    cnn.table.sortByColumn(EVENTS.place("Event"), Qt.SortOrder.AscendingOrder)
    assert texts(cnn, "Event") == sorted(in_file, key=str.lower)
    cnn.table.sortByColumn(-1, Qt.SortOrder.AscendingOrder)
    assert texts(cnn, "Event") == in_file


def test_a_click_selects_the_longest_slice_of_an_event(cnn, qtbot):
    session, trace = cnn.session, cnn.session.traces[0].trace
    row = texts(cnn, "Event").index("Method::execute")
    session.show_inferences(Inferences.ALIGNED)
    cnn.table.scrollTo(cnn.model.index(row, 0))
    rect = cnn.table.visualRect(cnn.model.index(row, 0))
    qtbot.mouseClick(cnn.table.viewport(), Qt.MouseButton.LeftButton, pos=rect.center())
    chosen = session.state.slice
    assert session.state.inferences is Inferences.AS_RUN
    assert trace.name(chosen.index) == "Method::execute"
    longest = max(run.end - run.start for run in trace.inferences())
    assert trace.slices.end[chosen.index] - trace.slices.start[chosen.index] == longest


def test_the_marked_row_survives_a_click_another_run_and_another_order(cnn, qtbot):
    session = cnn.session
    row = texts(cnn, "Event").index("addmm.out")
    at = cnn.table.visualRect(cnn.model.index(row, 0)).center()
    pick_run(session, (0, 2))
    qtbot.mouseClick(cnn.table.viewport(), Qt.MouseButton.LeftButton, pos=at)
    assert session.state.run != (0, 2)  # of the longest one
    assert marked_rows(cnn.table) == [row]
    cnn.table.sortByColumn(EVENTS.place("Sum"), Qt.SortOrder.DescendingOrder)
    (now,) = marked_rows(cnn.table)
    assert now != row
    assert texts(cnn, "Event")[now] == "addmm.out"
    assert cnn.table.currentIndex().row() == now


def test_the_marked_row_follows_the_selected_slice(cnn):
    session = cnn.session
    trace = session.traces[0].trace
    for i in range(0, len(trace.slices), 7):
        session.select_slice(SliceRef(0, i))
        marked = marked_rows(cnn.table)
        assert [texts(cnn, "Event")[row] for row in marked] == [
            cnn.answer.rows.labels[int(trace.slices.key[i])]
        ]
    cnn.filter.setText("addmm")
    session.select_slice(SliceRef(0, 0))
    assert marked_rows(cnn.table) == []


def test_a_filter_that_leaves_nothing_says_so(cnn, qtbot):
    qtbot.keyClicks(cnn.filter, "no such event")
    assert "no such event" in cnn.findChild(NoRows).text()
    qtbot.keyClick(cnn.filter, Qt.Key.Key_Escape)
    assert cnn.model.rowCount()


def test_a_foreign_clock_keeps_its_own_numbers_and_unit(show):
    panel = show("etdump/SYN_qnn_like.etdp")
    by_name = dict(zip(texts(panel, "Event"), texts(panel, "Median"), strict=True))
    assert by_name["QNN accelerator (execute) time (cycles)"] == "5\u2009000\u202fcycles"
    panel.table.grab()
    wanted = panel.table.sizeHintForColumn(EVENTS.place("Median"))
    assert panel.table.columnWidth(EVENTS.place("Median")) >= wanted  # the unit is not cut off
    rows = {row["Event"]: row for row in plain(panel)}
    assert rows["aten_relu_default:OpId_14 (cycles)"]["Median"] == "300"
    assert rows["aten_relu_default:OpId_14 (cycles)"]["native unit"] == "cycles"


def test_names_stand_in_one_line_beside_swatches_and_beside_none(cnn, show):
    icons = [cnn.model.index(r, 0).data(Qt.ItemDataRole.DecorationRole).deviceIndependentSize()
             for r in range(cnn.model.rowCount())]  # fmt: skip
    assert len(set(map(QSizeF.toTuple, icons))) == 1
    alone = show("etdump/cnn_portable_x10.etdp")
    assert alone.model.index(0, 0).data(Qt.ItemDataRole.DecorationRole) is None


def test_what_happened_once_has_no_distribution(show):
    assert titles(show("etdump/cnn_portable_x1.etdp")) == ["Event", "Block", "Count", "Median"]


def test_a_narrow_panel_keeps_the_median(show):
    panel = show("etdump/cnn_portable_x10.etdp", width=520)
    assert titles(panel)[:3] == ["Event", "Count", "Median"]


def test_empty_places_say_what_to_do(show, opened, make_panel, tmp_path):
    bare = make_panel(EventsPanel, opened())
    assert bare.sentence == NOTHING
    counter = {"ph": "C", "pid": 1, "name": "memory", "ts": 1, "args": {"bytes": 2}}
    path = tmp_path / "counters.json"
    path.write_text(json.dumps({"traceEvents": [counter]}))
    assert show(str(path)).sentence == NO_EVENTS


def test_a_large_trace_is_worked_out_in_the_background(show, monkeypatch, qtbot):
    monkeypatch.setattr(EventsPanel, "SYNC_LIMIT", 0)
    panel = show("etdump/cnn_portable_x10.etdp")
    qtbot.waitUntil(lambda: panel.model.rowCount() > 0)


def test_marked_rows_are_copied_as_tsv(cnn, qtbot):
    cnn.table.selectRow(0)
    cnn.table.setFocus()
    qtbot.keyClick(cnn.table, Qt.Key.Key_C, Qt.KeyboardModifier.ControlModifier)
    lines = QGuiApplication.clipboard().text().splitlines()
    assert [line.split("\t")[0] for line in lines] == ["Event", texts(cnn, "Event")[0]]
