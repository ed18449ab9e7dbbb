"""The tree of the model panel: filter, order, copies and columns."""

from PySide6.QtCore import Qt
from PySide6.QtGui import QFontMetrics, QGuiApplication
from PySide6.QtTest import QAbstractItemModelTester

from tests.gui.panels.model.tree import ATTENTION_0, index, marked, opened_rows, row_at, texts
from viewer.gui.panels.model import rows as model_rows
from viewer.gui.panels.model.panel import ModelPanel
from viewer.gui.panels.model.table import ModelColumn
from viewer.gui.qt.widgets.tables import NoRows
from viewer.gui.session.navigation import pick_run


def test_the_filter_leaves_what_has_every_word_and_the_way_to_it(panel):
    before = opened_rows(panel)
    panel.filter.setText("mlp linear")
    rows = panel.model.rows
    listed = [rows.full_name(rows.items[n]) for n in panel.view.listed_nodes()]
    assert listed[:6] == [
        "forward", "blocks.0", "blocks.0.mlp", "blocks.0.mlp.fc1", "blocks.0.mlp.fc1 · linear",
        "blocks.0.mlp.fc2",
    ]  # fmt: skip
    assert not any("ln1" in name for name in listed)
    # A figure is the module's, not what the filter leaves of it.
    assert texts(panel, row_at(panel, "forward", "blocks.0"))[ModelColumn.TOTAL] == "27.261\u202fµs"
    panel.filter.clear()
    assert opened_rows(panel) == before


def test_a_filter_that_leaves_nothing_says_so(panel):
    panel.filter.setText("no such")
    assert panel.findChild(NoRows).text() == "No row matches “no such”. Escape clears the filter."
    assert panel.model.rowCount() == 0
    panel.filter.clear()
    assert panel.model.rowCount() == 1


def test_enter_in_the_filter_goes_to_the_tree(panel, qtbot):
    panel.activateWindow()
    panel.filter.setFocus()
    qtbot.keyClicks(panel.filter, "gelu")
    qtbot.keyClick(panel.filter, Qt.Key.Key_Return)
    assert panel.view.hasFocus()
    assert marked(panel) == ["forward"]


def test_rows_are_sorted_among_their_neighbors(panel):
    rows = panel.model.rows
    order = [rows.name(rows.items[n]) for n in rows.below(0)]
    assert order[:2] == ["blocks.0", "blocks.1"]
    column = rows.columns.index(ModelColumn.TOTAL)
    panel.view.sortByColumn(column, Qt.SortOrder.AscendingOrder)
    rows = panel.model.rows
    totals = [rows.figures(rows.items[n]).total
              for n in rows.below(row_at(panel, "forward", "blocks.0").id)]  # fmt: skip
    known = [t for t in totals if t is not None]
    assert known == sorted(known)
    assert totals[len(known) :] == [None] * (len(totals) - len(known))  # what has none is last
    panel.view.sortByColumn(-1, Qt.SortOrder.DescendingOrder)
    rows = panel.model.rows
    assert [rows.name(rows.items[n]) for n in rows.below(0)] == order


def test_what_is_open_stays_when_sorted_rows_get_other_figures(panel):
    rows = panel.model.rows
    norm, block = row_at(panel, "forward", "blocks.0", "ln1"), row_at(panel, "forward", "blocks.0")
    panel.view.open_rows([0, block.id, norm.id])
    panel.view.selectAll()
    chosen = marked(panel)
    panel.view.sortByColumn(rows.columns.index(ModelColumn.TOTAL), Qt.SortOrder.AscendingOrder)
    assert sorted(marked(panel)) == sorted(chosen)
    before = sorted(opened_rows(panel))
    assert before == ["blocks.0", "blocks.0.ln1", "forward"]
    pick_run(panel.session, None)
    assert panel.model.rows.tree is rows.tree
    assert sorted(opened_rows(panel)) == before


def test_open_rows_are_copied_as_plain_tab_separated_text(panel):
    panel.view.copy_all()
    lines = QGuiApplication.clipboard().text().splitlines()
    assert lines[0].startswith("Module\tKind\tTotal, ns\t")
    assert [line.split("\t")[:3] for line in lines[1:]] == [
        ["forward", "method", "50998"],
        ["blocks.0", "module", "27261"],
        ["blocks.1", "module", "23737"],
    ]
    panel.view.mark(row_at(panel, "forward", "blocks.1").id)
    panel.view.copy()
    assert len(QGuiApplication.clipboard().text().splitlines()) == 2


def test_a_screen_reader_hears_what_a_row_is(panel):
    block = row_at(panel, "forward", "blocks.0")
    role = Qt.ItemDataRole.AccessibleTextRole
    assert index(panel, block).data(role) == "module, blocks.0, AttentionBlock"
    total = index(panel, block).siblingAtColumn(1)
    assert total.data(role) == "Total: 27.261\u202fµs"
    assert panel.view.accessibleName() == "Model"
    assert panel.filter.accessibleName() == "Filter modules"


def test_columns_go_where_there_is_no_room_and_the_bar_stays(panel):
    # Of one inference there is no sum, and of a model that is no training no backward pass.
    unused = (ModelColumn.SUM, ModelColumn.FORWARD, ModelColumn.BACKWARD)
    every = [column for column in model_rows.WITH_COSTS if column not in unused]
    assert panel.view.shown_columns == every
    panel.resize(420, 400)
    assert panel.view.shown_columns[:2] == [ModelColumn.NAME, ModelColumn.TOTAL]
    assert ModelColumn.MEAN not in panel.view.shown_columns


def test_every_time_has_its_own_unit(show_files):
    names = "cnn_portable_x10.etdp", "cnn_toedge_portable.etrecord"
    panel = show_files(ModelPanel, f"etdump/{names[0]}", f"etrecord/{names[1]}")
    pick_run(panel.session, None)
    rows = panel.model.rows
    forward = row_at(panel, "forward")
    assert rows.title(ModelColumn.TOTAL) == "Total, mean of 8"
    assert rows.text(forward, ModelColumn.TOTAL) == "301.713\u202fµs"
    assert rows.text(forward, ModelColumn.SUM) == "2.414\u202fms"
    ticks, slices = rows.figures(forward).total, rows.figures(forward).slices
    assert rows.text(forward, ModelColumn.MEAN) == f"{ticks / slices / 1000:.3f}\u202fµs"


def test_no_digit_of_a_count_is_cut(panel, theme):
    pick_run(panel.session, None)
    rows = panel.model.rows
    forward = rows.items[0]
    rows.costed.costs.slices[0] = 123_456_789
    panel.view.fit_columns()
    column = rows.columns.index(ModelColumn.SLICES)
    text = rows.text(forward, ModelColumn.SLICES)
    metrics = QFontMetrics(theme.font("cell"))
    assert panel.view.columnWidth(column) >= metrics.horizontalAdvance(text) + 12


def test_the_model_keeps_the_rules_of_qt(panel):
    fatal = QAbstractItemModelTester.FailureReportingMode.Fatal
    tester = QAbstractItemModelTester(panel.model, fatal)
    panel.filter.setText("blocks.0")
    panel.filter.clear()
    panel.view.sortByColumn(1, Qt.SortOrder.DescendingOrder)
    pick_run(panel.session, None)
    panel.session.select_operators(0, (ATTENTION_0,))
    panel.session.close_all()
    assert tester.model() is panel.model
