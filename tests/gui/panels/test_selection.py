"""The selection panel: its rows against plain sums, links in both directions, copies and files."""

import csv

import numpy as np
import pytest
from PySide6.QtCore import Qt
from PySide6.QtGui import QGuiApplication
from PySide6.QtTest import QAbstractItemModelTester

from tests.builders.clocked_traces import HOST, NS, clocked_trace
from tests.gui.events import answer_file_dialog, canvas, open_files, place_of, settle
from viewer.gui.panels.selection import SELECTION, SelectionPanel, contents_of
from viewer.gui.qt.widgets.tables import marked_rows
from viewer.gui.session.feeds.selection import SelectionFeed
from viewer.gui.session.selection import selected_span_ns
from viewer.gui.session.session import Session
from viewer.view.state import Area, SliceRef, SliceSet


@pytest.fixture
def path(tmp_path):
    """A thread with slices of growing length, and one with slices inside another of its name."""
    path = tmp_path / "rows.csv"
    lines = [f"p,t0,{'ab'[i % 2]},{100 * i},{10 * (i + 1)}" for i in range(8)]
    lines += ["p,t1,outer,0,1000", "p,t1,outer,100,500", "p,t1,inner,200,100"]
    path.write_text("\n".join(["process,thread,name,start_ns,dur_ns", *lines]) + "\n")
    return path


@pytest.fixture
def panel(opened, path, show_panel):
    return show_panel(SelectionPanel, opened(path))


@pytest.fixture
def rows(controller, qtbot, path):
    """The panel in the whole window."""
    open_files(qtbot, controller, path)
    controller.docks.show_panel("selection")
    settle(qtbot, controller)
    return controller


def texts(panel, cell):
    at = SELECTION.place(cell)
    return [panel.model.index(r, at).data() for r in range(panel.model.rowCount())]


def ns(*numbers):
    return [f"{number}\u202fns" for number in numbers]


def select(panel, t0, t1, *tracks):
    panel.session.select_area(Area(t0, t1, frozenset((0, t) for t in tracks)))


def row_at(panel, row, cell="name"):
    rect = panel.table.visualRect(panel.model.index(row, SELECTION.place(cell)))
    return rect.center()


def click(qtbot, panel, row):
    qtbot.mouseClick(panel.table.viewport(), Qt.MouseButton.LeftButton, pos=row_at(panel, row))


def test_nothing_selected_says_what_to_do(rows):
    assert rows.panels["selection"].is_empty
    assert not rows.commands.actions["selection.export"].isEnabled()


def test_an_area_counts_the_parts_inside(panel):
    QAbstractItemModelTester(panel.model, QAbstractItemModelTester.FailureReportingMode.Warning)
    select(panel, 105, 420, 0)
    # In it: b 100-120 from 105 on, a 200-230, b 300-340, a 400-450 up to 420.
    assert texts(panel, "name") == ["b", "a"]
    assert texts(panel, "Count") == ["2", "2"]
    assert texts(panel, "Total") == ns("55", "50")
    assert texts(panel, "Min") == ns("15", "20")
    assert texts(panel, "Max") == ns("40", "30")
    assert texts(panel, "Mean") == ns("27.500", "25")
    assert texts(panel, "Busy, %") == [f"{100 * 55 / 315:.1f}", f"{100 * 50 / 315:.1f}"]
    assert "2 slices clipped to the range" in panel.summary.text()
    assert "4 slices" in panel.summary.text()


def test_what_is_inside_another_of_its_group_is_a_part_of_it(panel):
    select(panel, 0, 1000, 1)
    assert texts(panel, "name") == ["outer", "inner"]
    assert texts(panel, "Count") == ["1", "1"]
    assert texts(panel, "Total") == ["1.000\u202fµs", "100\u202fns"]
    assert texts(panel, "Self") == ns("900", "100")
    assert panel.model.titles[SELECTION.place("Total")] == "Total"
    assert texts(panel, "Busy, %") == ["100.0", "10.0"]


def test_by_thread_it_is_the_outermost_slices(panel):
    select(panel, 0, 1000, 0, 1)
    panel.by.setCurrentIndex(panel.by.findData("thread"))
    panel.by.activated.emit(panel.by.currentIndex())
    assert texts(panel, "name") == ["p > t1", "p > t0"]
    assert texts(panel, "Count") == ["1", "8"]
    assert panel.by.itemData(panel.by.findData("operator"), Qt.ItemDataRole.ToolTipRole)


def test_a_click_selects_the_group_and_keeps_the_table(panel, qtbot):
    session = panel.session
    select(panel, 105, 420, 0)
    click(qtbot, panel, 1)
    assert [ref.index for ref in session.state.slices] == [2, 4]
    assert session.state.slice == SliceRef(0, 4)  # the longest of them
    assert texts(panel, "name") == ["b", "a"]
    assert marked_rows(panel.table) == [1]
    session.undo()
    assert session.state.area is not None
    assert texts(panel, "name") == ["b", "a"]


def test_a_double_click_fits_the_group(panel, qtbot):
    session = panel.session
    select(panel, 0, 800, 0)
    at = row_at(panel, 0)
    qtbot.mouseClick(panel.table.viewport(), Qt.MouseButton.LeftButton, pos=at)
    qtbot.mouseDClick(panel.table.viewport(), Qt.MouseButton.LeftButton, pos=at)
    t0, t1 = selected_span_ns(session)
    assert (t0, t1) == (100, 780)
    assert session.state.t0 <= t0
    assert t1 <= session.state.t1
    assert session.state.t1 - session.state.t0 < 1.1 * (t1 - t0)


def test_a_slice_selected_on_the_canvas_marks_its_row(rows, qtbot):
    panel = rows.panels["selection"]
    select(rows, 0, 800, 0)
    for index, row in ((3, 0), (2, 1)):
        qtbot.mouseClick(canvas(rows), Qt.MouseButton.LeftButton, pos=place_of(rows, index))
        assert rows.session.state.slice == SliceRef(0, index)
        assert marked_rows(panel.table) == [row]
        assert panel.subtitle.text().startswith("area")
    outside = next(i for i in range(8, 11))
    qtbot.mouseClick(canvas(rows), Qt.MouseButton.LeftButton, pos=place_of(rows, outside))
    assert panel.subtitle.text().startswith("1 selected slice")


def test_sorting_and_filtering(panel):
    select(panel, 0, 1000, 0, 1)
    assert texts(panel, "name") == ["outer", "b", "a", "inner"]
    panel.table.sortByColumn(SELECTION.place("Count"), Qt.SortOrder.DescendingOrder)
    assert texts(panel, "Count") == ["4", "4", "1", "1"]
    panel.table.sortByColumn(SELECTION.place("name"), Qt.SortOrder.AscendingOrder)
    assert texts(panel, "name") == ["a", "b", "inner", "outer"]
    panel.filter.setText("NE")
    assert texts(panel, "name") == ["inner"]


def test_copied_rows_are_plain_numbers(panel):
    select(panel, 0, 1000, 0, 1)
    panel.table.setFocus()
    panel.table.selectAll()
    panel.table.copy()
    head, *lines = [line.split("\t") for line in QGuiApplication.clipboard().text().splitlines()]
    table = {line[0]: dict(zip(head, line, strict=True)) for line in lines}
    assert table["outer"]["total_ns"] == "1000"
    assert table["outer"]["self_ticks"] == "900"
    assert float(table["b"]["mean_ns"]) == np.mean([20, 40, 60, 80])


@pytest.mark.parametrize(("suffix", "dialect"), [(".csv", "excel"), (".tsv", "excel-tab")])
def test_all_rows_are_written_to_a_file(rows, qtbot, tmp_path, monkeypatch, suffix, dialect):
    path = tmp_path / f"out{suffix}"
    answer_file_dialog(monkeypatch, path)
    select(rows, 0, 1000, 0, 1)
    with qtbot.waitSignal(rows.saver.saved, timeout=10_000):
        rows.commands.actions["selection.export"].trigger()
    with path.open(newline="") as file:
        lines = list(csv.DictReader(file, dialect=dialect))
    assert [line["name"] for line in lines] == ["outer", "b", "a", "inner"]
    assert [line["total_ns"] for line in lines] == ["1000", "200", "160", "100"]
    assert rows.window.status.said.text().endswith("4 rows")


def test_totals_of_operators_are_never_divided(sample, show_panel):
    panel = show_panel(SelectionPanel, sample("attention_xnnpack"))
    session = panel.session
    session.select_area(Area(0, session.group.span_ns, frozenset({(0, 0)})))
    panel.by.setCurrentIndex(panel.by.findData("operator"))
    panel.by.activated.emit(panel.by.currentIndex())
    names = texts(panel, "name")
    assert any(" + " in name for name in names)
    shown = session.traces[0]
    for row, name in enumerate(names):
        _trace, members, _ = panel.model.contents.members(panel.model.item_of(row))
        sets = {shown.link(int(i)).operators for i in members}
        assert len(sets) == 1 or name == "(no operator)"


def test_two_files_have_a_row_each_with_their_file(opened, show_panel, tmp_path):
    for n in range(2):
        (tmp_path / f"f{n}.csv").write_text(
            f"process,thread,name,start_ns,dur_ns\np,t,a,0,{10 * (n + 1)}\n"
        )
    session = opened(tmp_path / "f0.csv", tmp_path / "f1.csv")
    panel = show_panel(SelectionPanel, session)
    session.select_area(Area(0, 100, frozenset({(0, 0), (1, 0)})))
    assert texts(panel, "File") == ["f1.csv", "f0.csv"]
    assert texts(panel, "Total") == ns("20", "10")


def test_selected_times_of_different_clocks_are_not_one_time(qapp):
    session = Session()
    session.add(
        [
            clocked_trace("a.csv", NS, (0, 1000)),
            clocked_trace("late.csv", HOST, (7, 8), (9, 11)),
            clocked_trace("early.csv", HOST, (1, 2)),
        ]
    )
    ends = SliceSet.of_refs([SliceRef(0, 0), SliceRef(1, 1), SliceRef(2, 0)])
    session.select_slices(ends, SliceRef(0, 0))
    answer = SelectionFeed.of(session).answer
    # Both host files are on one clock: from 1 to 11 µs, of which 2 and 1 µs are busy.
    assert [part.span for part in answer.parts] == [(0, 1000), (0, 10_000), (0, 10_000)]
    found = contents_of(answer)
    busy = found.columns["busy"]
    assert dict(zip(found.part.tolist(), busy.tolist(), strict=True)) == {0: 100, 1: 20, 2: 10}


def test_figures_that_take_their_time_are_not_those_of_before(panel):
    select(panel, 0, 1000, 0)
    SelectionFeed.of(panel.session).late.emit()
    assert panel.subtitle.text() == "Counting…"
    assert panel.model.rowCount() == 0
    assert panel.summary.text() == ""
    select(panel, 0, 900, 0)
    assert panel.model.rowCount() == 2


def test_a_closed_file_leaves_no_rows(panel):
    select(panel, 0, 1000, 0)
    panel.session.close_all()
    assert panel.is_empty
    assert panel.model.rowCount() == 0


def test_a_hostile_name_is_shown_as_text(opened, show_panel, tmp_path):
    path = tmp_path / "h.csv"
    path.write_text(
        'process,thread,name,start_ns,dur_ns\np,t,"<b>x</b>\n' + "y" * 5000 + '",0,10\n'
    )
    panel = show_panel(SelectionPanel, opened(path))
    select(panel, 0, 10, 0)
    index = panel.model.index(0, 0)
    assert index.data().startswith("<b>x</b>")
    assert "&lt;b&gt;" in index.data(Qt.ItemDataRole.ToolTipRole)
    assert panel.model.tsv([0]).count("\n") == 2


def test_several_slices_by_the_session_are_a_subject_too(panel):
    session = panel.session
    session.select_slices(SliceSet({0: np.array([0, 1, 2])}), SliceRef(0, 0))
    assert panel.subtitle.text() == "3 selected slices · 1 track"
    assert texts(panel, "Total") == ns("40", "20")


def test_the_dock_and_the_status_bar_count_what_is_selected(rows, qtbot):
    select(rows, 105, 420, 0)
    assert rows.docks.title("selection") == "List (4)"
    assert rows.docks.panels["list"].bar.buttons["selection"].text() == "Selection (4)"
    click(qtbot, rows.panels["selection"], 1)
    assert rows.window.status.said.text().startswith("2 slices selected · 50")
