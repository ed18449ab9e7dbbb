"""The Numbers panel: chart, table, detail, and one selection with the session."""

import pytest
from PySide6.QtCore import QPoint, Qt

from viewer.gui.panels.numbers.contents import Measure
from viewer.gui.panels.numbers.panel import CHOOSE_BUFFER, NOTHING, NumbersPanel
from viewer.gui.session.comparison import compare_files
from viewer.gui.session.feeds.numbers import NumbersFeed
from viewer.gui.session.feeds.references import Reference
from viewer.view.state import SliceRef

XNNPACK = "numbers/xnnpack.etdp", "numbers/xnnpack.etrecord"
PAIR = (*XNNPACK, "numbers/portable.etdp", "numbers/portable.etrecord")


@pytest.fixture
def show(show_panel, opened, data, qtbot):
    """Show the panel over files of tests/data, at a size in px."""

    def make(*names, size=(1100, 560)):
        panel = show_panel(NumbersPanel, opened(*(data / name for name in names)), *size)
        settle(panel, qtbot)
        return panel

    return make


@pytest.fixture
def compared(show, data, qtbot):
    """XNNPACK, with portable kernels as the reference."""
    panel = show(*PAIR)
    NumbersFeed.of(panel.session).choose(Reference(str(data / "numbers/portable.etdp")))
    settle(panel, qtbot)
    return panel


def settle(panel, qtbot):
    qtbot.waitUntil(lambda: not panel.is_pending)


def names(panel):
    return [row.name for row in panel.model.rows]


def marked(panel):
    rows = panel.table.selectionModel().selectedRows()
    return sorted(names(panel)[index.row()] for index in rows)


def click_bar(panel, bar, qtbot):
    view = panel.chart
    qtbot.mouseClick(view.viewport(), Qt.MouseButton.LeftButton, pos=view.center_of(bar))


def titles(panel):
    """The titles of the columns in sight, from left to right."""
    header, headings = panel.table.horizontalHeader(), panel.model.contents.headings
    return [headings[i].title for i in range(header.count()) if not panel.table.isColumnHidden(i)]


@pytest.mark.parametrize("width", [640, 660, 800])
def test_a_narrow_panel_shows_the_gap_the_mean_and_the_largest_value(show, data, qtbot, width):
    """Not only what was first: the others leave, and the columns have their widths at once."""
    panel = show(*PAIR, size=(width, 500))
    header = panel.table.horizontalHeader()
    assert titles(panel)[:3] == ["Operator", "Mean", "Max"]
    assert header.sectionSize(1) == panel._theme.px(84)
    NumbersFeed.of(panel.session).choose(Reference(str(data / "numbers/portable.etdp")))
    settle(panel, qtbot)
    qtbot.waitUntil(lambda: titles(panel)[:4] == ["Operator", "SNR, dB", "Mean", "Max"])
    assert header.sectionSize(2) == panel._theme.px(84)


def test_without_values_it_says_how_to_log_them(show):
    panel = show("pte/cond.etdp")
    assert panel.sentence == NOTHING
    assert "debug_buffer_size" in NOTHING


def test_without_the_buffer_it_asks_for_it(show_panel, opened, data, tmp_path, qtbot):
    path = tmp_path / "alone.etdp"
    path.write_bytes((data / "numbers/portable.etdp").read_bytes())
    panel = show_panel(NumbersPanel, opened(path), 900, 400)
    settle(panel, qtbot)
    assert "debug buffer of at least" in panel.sentence
    panel.empty.pressed.emit()
    assert panel.host.asked == [("choose_buffer",)]
    assert CHOOSE_BUFFER.startswith("Choose debug buffer")
    NumbersFeed.of(panel.session).add_buffer(str(data / "numbers/portable.bin"))
    settle(panel, qtbot)
    assert not panel.is_empty
    assert len(panel.model.rows) == 18


def test_a_profile_alone_has_ranges_and_the_largest_values(show):
    panel = show(*XNNPACK)
    assert panel.subtitle.text() == "15 logged values"
    assert panel.axis_title.text().startswith("Largest absolute value")
    assert panel.measures.isHidden()
    assert panel.inferences.count() == 2
    assert len(panel.chart.bars) == 11, "arguments have no bar"
    assert panel.detail.map.plane is not None, "the first operator is shown"


def test_a_reference_adds_measures_and_the_jump(compared):
    assert compared.subtitle.text() == "11 of 15 logged values compared"
    assert compared.conclusion.text().startswith("The error starts at XnnpackBackend")
    assert compared.references.box.currentText() == "portable.etdp"
    assert compared.chart.bars.most == 0
    assert compared.detail.title.text() == "XnnpackBackend · 4 ops", "the jump is shown"
    assert compared.detail.map.mark is not None


def test_b_of_a_comparison_is_the_reference(show, data, qtbot):
    panel = show(*PAIR)
    assert panel.measures.isHidden()
    compare_files(panel.session, [str(data / "numbers/portable.etdp")])
    settle(panel, qtbot)
    assert panel.references.box.currentText() == "B: portable.etdp"
    assert not panel.measures.isHidden()
    panel.references.box.activated.emit(1)
    settle(panel, qtbot)
    assert panel.numbers.reference == ""


def test_another_measure_changes_chart_and_first_column(compared, qtbot):
    qtbot.mouseClick(compared.measures.buttons[Measure.MSE], Qt.MouseButton.LeftButton)
    settle(compared, qtbot)
    assert compared.model.contents.headings[1].title == "MSE"
    assert compared.chart.bars.title == "MSE"


def test_a_reference_that_cannot_be_used_is_said(show, data, qtbot):
    panel = show(*XNNPACK)
    NumbersFeed.of(panel.session).choose(Reference(str(data / "numbers/mixed.bpte")))
    settle(panel, qtbot)
    assert "does not state which of 2 test cases" in panel.problem.text()
    box = panel.references.box
    items = [box.itemText(i) for i in range(box.count())]
    assert items == ["None", "mixed.bpte", "mixed.bpte · test case 0", "mixed.bpte · test case 1"]
    box.activated.emit(2)
    settle(panel, qtbot)
    assert panel.problem.isHidden()
    assert panel.numbers.reference == "mixed.bpte · test case 0"


def test_a_click_on_a_bar_selects_its_operator(compared, qtbot):
    click_bar(compared, 1, qtbot)
    settle(compared, qtbot)
    trace, operators = compared.session.state.operators
    assert (trace, len(operators)) == (0, 1)
    assert marked(compared) == ["norm · layer_norm ([0])"]
    assert compared.detail.title.text() == "norm · layer_norm [0]"


def test_a_click_on_a_row_does_too(compared, qtbot):
    at = compared.table.visualRect(compared.model.index(1, 0)).center()
    qtbot.mouseClick(compared.table.viewport(), Qt.MouseButton.LeftButton, pos=at)
    assert len(compared.session.state.operators[1]) == 4
    assert compared.chart.marked == (0,)


def test_what_is_selected_elsewhere_is_marked(compared, qtbot):
    operators = compared.numbers.rows[3].operators
    compared.session.select_operators(0, operators)
    settle(compared, qtbot)
    assert len(marked(compared)) == 3, "layer_norm has three results"
    assert compared.detail.title.text() == "norm · layer_norm [2]"
    compared.session.clear_selection()
    settle(compared, qtbot)
    assert marked(compared) == []


def test_without_a_record_a_row_selects_the_slice_that_logged_it(show, qtbot):
    panel = show("numbers/portable.etdp")
    click_bar(panel, 0, qtbot)
    ref = panel.session.state.slice
    trace = panel.session.traces[0].trace
    assert ref == SliceRef(0, int(trace.untimed.call[panel.numbers.rows[0].call.events[-1]]))
    panel.session.clear_selection()
    panel.session.select_slice(ref)
    assert marked(panel) == ["convolution.out"]


def test_the_filter_keeps_rows_and_the_mark(compared, qtbot):
    compared.filter.setText("layer_norm")
    assert len(names(compared)) == 3
    compared.filter.setText("nothing like it")
    assert names(compared) == []
    compared.filter.clear()
    assert len(names(compared)) == 15


def test_keys_step_and_zoom_in_the_chart(compared, qtbot):
    view = compared.chart
    view.setFocus()
    click_bar(compared, 0, qtbot)
    qtbot.keyClick(view, Qt.Key.Key_Right)
    assert view.marked == (1,)
    qtbot.keyClick(view, Qt.Key.Key_Plus)
    assert not view.shows_all
    qtbot.keyClick(view, Qt.Key.Key_Escape)
    assert view.shows_all
    qtbot.mouseMove(view.viewport(), view.center_of(2))
    assert view.tip.lines[0] == "norm · layer_norm [1]"
    qtbot.mouseMove(view.viewport(), QPoint(2, 2))


def test_the_index_fields_choose_another_plane(show, qtbot):
    panel = show("numbers/portable.etdp", "numbers/portable.etrecord")
    detail = panel.detail
    assert detail.map.plane.shape.sizes == (1, 8, 4, 4)
    assert [field.isHidden() for field in detail.fields] == [False, True, True]
    detail.fields[0].setValue(5)
    settle(panel, qtbot)
    assert detail.map.plane.plane == 5


def test_closing_the_files_empties_the_panel(compared, qtbot):
    compared.session.close_all()
    settle(compared, qtbot)
    assert compared.sentence == NOTHING
    assert compared.model.rows == []
    assert compared.detail.map.plane is None
