"""The model panel: its figures against the operators', both ways of selecting, what it opens."""

import numpy as np
import pytest
from PySide6.QtCore import Qt
from PySide6.QtGui import QFontMetrics, QGuiApplication
from PySide6.QtTest import QAbstractItemModelTester

from tests.gui.events import canvas, open_files, open_sample, place_of, settle
from viewer.gui.panels.model import panel as model_panel
from viewer.gui.panels.model import rows as model_rows
from viewer.gui.panels.model.panel import ModelPanel
from viewer.gui.panels.model.rows import ModelColumn, RowKind
from viewer.gui.qt.when_visible import BEING_COUNTED
from viewer.gui.qt.widgets.tables import NoRows
from viewer.gui.session.costs import CostFeed
from viewer.gui.session.inferences import pick_run
from viewer.model.inference_views import Inferences
from viewer.model.scope import TimeScope
from viewer.view.state import SliceRef

LINEAR = 1  # blocks.0.qkv · linear
ATTENTION_0 = 9  # blocks.0 · scaled_dot_product_attention
THIN = "\u202f"


@pytest.fixture
def panel(sample, theme, qtbot):
    made = ModelPanel(sample("attention_xnnpack"), theme)
    qtbot.addWidget(made)
    made.resize(1100, 560)
    made.show()
    return made


def row_at(panel, *names):
    """The row that one gets to by opening rows of these names, one in the other."""
    rows = panel.model.rows
    inside, found = rows.top, None
    for name in names:
        found = next(rows.made[n] for n in inside if rows.name(rows.made[n]) == name)
        inside = rows.inside(found)
    return found


def texts(panel, row):
    return {cell: panel.model.rows.text(row, cell) for cell in panel.model.rows.cells}


def index(panel, row):
    return panel.model.index_of(row.id)


def open_to(panel, row):
    """Open all that a row lies in, as one who looks for it would."""
    at = index(panel, row).parent()
    while at.isValid():
        panel.view.expand(at)
        at = at.parent()


def click(qtbot, panel, row, *, twice=False):
    open_to(panel, row)
    panel.view.scrollTo(index(panel, row))
    at = panel.view.visualRect(index(panel, row)).center()
    qtbot.mouseClick(panel.view.viewport(), Qt.MouseButton.LeftButton, pos=at)
    if twice:
        qtbot.mouseDClick(panel.view.viewport(), Qt.MouseButton.LeftButton, pos=at)


def marked(panel):
    """The names of the marked rows."""
    chosen = panel.view.selectionModel().selectedRows()
    return [panel.model.rows.full_name(panel.model.row(i)) for i in chosen]


def opened_rows(panel):
    rows = panel.model.rows
    return [rows.full_name(r) for r in rows.made if panel.view.isExpanded(index(panel, r))]


# -- figures ----------------------------------------------------------------------------------


def test_a_module_tells_what_all_in_it_cost(panel):
    block = row_at(panel, "forward", "blocks.0")
    assert texts(panel, block) == {
        ModelColumn.NAME: "blocks.0",
        ModelColumn.TOTAL: "27.261",
        ModelColumn.SHARE: "49.4",
        ModelColumn.OWN: "16.255",
        ModelColumn.SHARED: "–",
        ModelColumn.SLICES: "20",
        ModelColumn.MEAN: "1.363",
        ModelColumn.P50: "24.786",
    }
    assert panel.model.rows.hint(block) == "AttentionBlock"
    assert panel.model.rows.title(ModelColumn.TOTAL) == "Total, µs"


def test_what_a_module_explains_of_its_total_adds_up(panel):
    block = row_at(panel, "forward", "blocks.0")
    lines = panel.model.rows.explained(block).replace(THIN, " ").splitlines()
    assert lines[0] == "blocks.0"
    assert lines[1].startswith("Total 27.261 µs: 16.255 µs of its own operators + ")
    total, *parts = (float(w) for w in lines[1].split() if w.replace(".", "").isdigit())
    assert total == pytest.approx(sum(parts), abs=1e-9)


def test_the_rows_in_a_module_add_up_to_it_with_what_they_share(panel):
    rows = panel.model.rows
    for module in (row_at(panel, "forward"), row_at(panel, "forward", "blocks.1")):
        inside = [rows.made[n] for n in rows.inside(module)]
        assert sum(rows.figures(r).total or 0 for r in inside) == rows.figures(module).total


def test_a_shared_call_is_a_row_of_the_module_around_it_and_no_part_of_the_others(panel):
    rows = panel.model.rows
    shared = [r for n in rows.inside(row_at(panel, "forward", "blocks.0"))
              if (r := rows.made[n]).kind is RowKind.SET]  # fmt: skip
    mlp = next(r for r in shared if rows.name(r) == "2 linear + gelu + add")
    assert rows.hint(mlp) == "shared by 4"
    assert texts(panel, mlp)[ModelColumn.TOTAL] == "2.674"
    assert texts(panel, mlp)[ModelColumn.OWN] == "–"
    fc1 = row_at(panel, "forward", "blocks.0", "mlp", "fc1")
    assert [texts(panel, fc1)[c] for c in (ModelColumn.TOTAL, ModelColumn.SHARED)] == ["–", "2.674"]
    linear = row_at(panel, "forward", "blocks.0", "mlp", "fc1", "linear")
    assert rows.hint(linear) == "shared · line 33"
    assert not rows.has_inside(linear)


def test_operators_cost_what_the_operators_panel_says(panel):
    rows = panel.model.rows
    table = CostFeed.of(panel._session).answer.table
    assert [r.operators for r in table.rows if len(r.operators) == 1]
    for cost in table.rows:
        row = rows.made[rows.find(cost.operators)]
        assert (rows.figures(row).total, rows.figures(row).slices) == (cost.ticks, cost.slices)


def test_the_footer_adds_up_to_method_execute(panel):
    assert panel.footer.text().replace(THIN, " ") == (
        "Modules 36.316 µs 65.8 %, Shared 14.682 µs 26.6 %, "
        "No operator 4.214 µs 7.6 %, Method::execute 55.212 µs"
    )
    assert panel.note.text() == "18 modules, 38 operators"


def test_another_run_has_other_figures_and_the_same_rows_open(panel):
    block = row_at(panel, "forward", "blocks.0")
    panel.view.expand(index(panel, block))
    before = opened_rows(panel)
    pick_run(panel._session, None)
    assert panel.subtitle.text() == "all 5 runs · attn_xnnpack_x5.etdp"
    assert texts(panel, row_at(panel, "forward"))[ModelColumn.SLICES] == "200"
    assert opened_rows(panel) == before == ["forward", "blocks.0"]


def test_the_median_is_of_the_runs_however_they_are_shown(panel):
    session = panel._session
    before = texts(panel, row_at(panel, "forward"))[ModelColumn.P50]
    for view in (Inferences.ALIGNED, Inferences.MEAN, Inferences.AS_RUN):
        session.show_inferences(view)
        assert texts(panel, row_at(panel, "forward"))[ModelColumn.P50] == before


def test_slices_are_listed_in_order_of_time_with_their_lengths(panel):
    rows, slices = panel.model.rows, panel._session.traces[0].trace.slices
    attention = rows.made[rows.find((ATTENTION_0,))]
    listed = [rows.made[n] for n in rows.inside(attention)]
    assert len(listed) == 12
    starts = [int(slices.start[r.number]) for r in listed]
    assert starts == sorted(starts)
    assert rows.text(listed[0], ModelColumn.TOTAL) == "0.641"
    assert rows.name(listed[0]).replace(THIN, " ") == "at 685.874 µs"
    # They do not lie in one another, so what the operator cost is all of them.
    lengths = sum(rows.figures(r).total for r in listed)
    assert lengths == rows.figures(attention).total


def test_of_many_slices_the_first_are_listed_and_the_rest_is_counted(panel, monkeypatch):
    monkeypatch.setattr(model_rows, "MOST_SLICES", 5)
    rows = panel.model.rows
    inside = rows.inside(rows.made[rows.find((ATTENTION_0,))])
    assert [rows.made[n].kind for n in inside] == [RowKind.SLICE] * 5 + [RowKind.REST]
    assert rows.name(rows.made[inside[-1]]) == "7 later slices not listed"


def test_slices_of_several_runs_say_of_which_they_are(panel):
    pick_run(panel._session, None)
    rows = panel.model.rows
    inside = [rows.made[n] for n in rows.inside(rows.made[rows.find((ATTENTION_0,))])]
    assert len(inside) == 60
    assert {rows.hint(r) for r in inside} == {f"run {n} of 5" for n in range(1, 6)}


# -- selecting --------------------------------------------------------------------------------


def test_a_module_selects_the_slices_that_its_total_counts(panel, qtbot):
    session = panel._session
    block = row_at(panel, "forward", "blocks.0")
    click(qtbot, panel, block)
    slices = session.state.slices
    assert len(slices) == 20
    assert sum(np.subtract(*session.traces[0].span_ns(ref.index)[::-1]) for ref in slices) == 27261
    assert marked(panel) == ["blocks.0"]
    session.clear_selection()
    assert marked(panel) == []
    session.undo()
    assert marked(panel) == ["blocks.0"]


def test_a_module_that_shares_all_its_time_selects_the_shared_calls(panel, qtbot):
    session = panel._session
    click(qtbot, panel, row_at(panel, "forward", "blocks.0", "mlp", "fc1"))
    (ref,) = session.state.slices
    assert len(session.traces[0].link(ref.index).operators) == 4


def test_an_operator_is_selected_as_in_the_operators_panel(panel, qtbot):
    click(qtbot, panel, row_at(panel, "forward", "blocks.0", "qkv", "linear"))
    assert panel._session.state.operators == (0, (LINEAR,))
    assert panel._session.state.slice is None


def test_a_slice_is_selected_by_a_click_and_shown_by_a_double_click(panel, qtbot):
    session, rows = panel._session, panel.model.rows
    attention = rows.made[rows.find((ATTENTION_0,))]
    one = rows.made[rows.inside(attention)[2]]
    click(qtbot, panel, one)
    assert session.state.slice == SliceRef(0, one.number)
    assert panel.model.row(panel.view.currentIndex()).number == one.number  # it stays marked
    before = session.state.t1 - session.state.t0
    click(qtbot, panel, one, twice=True)
    t0, t1 = session.traces[0].span_ns(one.number)
    assert session.state.t0 <= t0 < t1 <= session.state.t1
    assert session.state.t1 - session.state.t0 < 1.2 * (t1 - t0) < before


def test_enter_on_a_slice_shows_it(panel, qtbot):
    session, rows = panel._session, panel.model.rows
    one = rows.made[rows.inside(rows.made[rows.find((ATTENTION_0,))])[4]]
    open_to(panel, one)
    panel.view.mark(one.id)
    qtbot.keyClick(panel.view, Qt.Key.Key_Return)
    t0, t1 = session.traces[0].span_ns(one.number)
    assert session.state.t1 - session.state.t0 < 1.2 * (t1 - t0)


def test_arrows_go_through_the_rows_and_select_them(panel, qtbot):
    panel.view.mark(panel.model.rows.top[0])
    qtbot.keyClick(panel.view, Qt.Key.Key_Down)
    assert marked(panel) == ["blocks.0"]
    assert len(panel._session.state.slices) == 20
    qtbot.keyClick(panel.view, Qt.Key.Key_Right)  # opens it
    qtbot.keyClick(panel.view, Qt.Key.Key_Down)
    assert marked(panel) == ["blocks.0.ln1"]


def test_an_asterisk_opens_modules_and_leaves_slices_closed(panel, qtbot):
    rows = panel.model.rows
    panel.view.mark(rows.top[0])
    qtbot.keyClick(panel.view, Qt.Key.Key_Asterisk, Qt.KeyboardModifier.ShiftModifier)
    opened = [r for r in rows.made if panel.view.isExpanded(index(panel, r))]
    assert {r.kind for r in opened} == {RowKind.MODULE}
    assert len(opened) == len(rows.tree.modules)
    assert not any(r.kind is RowKind.SLICE for r in rows.made)  # nobody has asked for them


def test_a_selection_marks_its_row_and_opens_no_more_than_the_way_to_it(panel):
    session = panel._session
    session.select_operators(0, (ATTENTION_0,))
    assert marked(panel) == ["blocks.0 · scaled_dot_product_attention"]
    assert opened_rows(panel) == ["forward", "blocks.0"]
    visible = panel.view.viewport().rect()
    assert visible.contains(panel.view.visualRect(panel.view.currentIndex()).center())
    session.select_operators(0, (LINEAR,))
    assert opened_rows(panel) == ["forward", "blocks.0", "blocks.0.qkv"]
    # What was opened for a selection alone closes with the next one.
    session.select_operators(0, (ATTENTION_0,))
    assert opened_rows(panel) == ["forward", "blocks.0"]
    session.clear_selection()
    assert marked(panel) == []


def test_what_was_opened_for_a_selection_closes_when_the_next_needs_another_place(panel):
    session = panel._session
    session.select_operators(0, (LINEAR,))
    other = session.traces[0].table.program.operators[20]
    assert other.module_path == "blocks.1.qkv"
    session.select_operators(0, (20,))
    assert opened_rows(panel) == ["forward", "blocks.1", "blocks.1.qkv"]


def test_a_shared_call_on_the_timeline_marks_its_row(panel):
    session = panel._session
    table = session.traces[0].table
    trace = session.traces[0].trace
    shared = next(i for i in range(len(trace.slices))
                  if len(table.links[int(trace.slices.key[i])].operators) == 4)  # fmt: skip
    session.select_slice(SliceRef(0, shared))
    assert marked(panel) == ["blocks.0 · 2 linear + gelu + add"]


def test_choosing_is_one_step_of_undo_and_sets_off_no_other(panel, qtbot):
    session, told = panel._session, []
    session.selection_changed.connect(lambda: told.append(session.state.selection))
    click(qtbot, panel, row_at(panel, "forward", "blocks.0", "qkv", "linear"))
    assert len(told) == 1
    session.undo()
    assert not any(session.state.selection)


# -- filter, order, copies --------------------------------------------------------------------


def test_the_filter_leaves_what_has_every_word_and_the_way_to_it(panel):
    before = opened_rows(panel)
    panel.filter.setText("mlp linear")
    rows = panel.model.rows
    listed = [rows.full_name(r) for r in panel.view._listed()]
    assert listed[:6] == [
        "forward", "blocks.0", "blocks.0.mlp", "blocks.0.mlp.fc1", "blocks.0.mlp.fc1 · linear",
        "blocks.0.mlp.fc2",
    ]  # fmt: skip
    assert not any("ln1" in name for name in listed)
    # A figure is the module's, not what the filter leaves of it.
    assert texts(panel, row_at(panel, "forward", "blocks.0"))[ModelColumn.TOTAL] == "27.261"
    panel.filter.clear()
    assert opened_rows(panel) == before


def test_a_filter_that_leaves_nothing_says_so(panel):
    panel.filter.setText("no such")
    assert panel.findChild(NoRows).text() == "No row has “no such” in it. Escape clears the filter."
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
    order = [rows.name(rows.made[n]) for n in rows.inside(rows.made[rows.top[0]])]
    assert order[:2] == ["blocks.0", "blocks.1"]
    column = rows.cells.index(ModelColumn.TOTAL)
    panel.view.sortByColumn(column, Qt.SortOrder.AscendingOrder)
    rows = panel.model.rows
    totals = [rows.figures(rows.made[n]).total
              for n in rows.inside(row_at(panel, "forward", "blocks.0"))]  # fmt: skip
    known = [t for t in totals if t is not None]
    assert known == sorted(known)
    assert totals[len(known) :] == [None] * (len(totals) - len(known))  # what has none is last
    panel.view.sortByColumn(-1, Qt.SortOrder.DescendingOrder)
    rows = panel.model.rows
    assert [rows.name(rows.made[n]) for n in rows.inside(rows.made[rows.top[0]])] == order


def test_open_rows_are_copied_as_plain_tab_separated_text(panel):
    panel.view.copy_all()
    lines = QGuiApplication.clipboard().text().splitlines()
    assert lines[0].startswith("Module\tKind\tTotal, µs\t")
    assert [line.split("\t")[:3] for line in lines[1:]] == [
        ["forward", "method", "50.998"],
        ["blocks.0", "module", "27.261"],
        ["blocks.1", "module", "23.737"],
    ]
    panel.view.mark(row_at(panel, "forward", "blocks.1").id)
    panel.view.copy()
    assert len(QGuiApplication.clipboard().text().splitlines()) == 2


def test_a_screen_reader_hears_what_a_row_is(panel):
    block = row_at(panel, "forward", "blocks.0")
    role = Qt.ItemDataRole.AccessibleTextRole
    assert index(panel, block).data(role) == "module, blocks.0, AttentionBlock"
    total = index(panel, block).siblingAtColumn(1)
    assert total.data(role) == "Total, µs: 27.261"
    assert panel.view.accessibleName() == "Model"
    assert panel.filter.accessibleName() == "Filter modules"


def test_columns_go_where_there_is_no_room_and_the_bar_stays(panel, qtbot):
    assert panel.view.shown_cells == list(model_rows.WITH_COSTS)
    panel.resize(420, 400)
    assert panel.view.shown_cells[:2] == [ModelColumn.NAME, ModelColumn.TOTAL]
    assert ModelColumn.MEAN not in panel.view.shown_cells


def test_columns_are_as_wide_after_a_second_opening(desk, qtbot):
    open_sample(qtbot, desk, "attention_xnnpack")
    desk.docks.show_panel("model")
    settle(qtbot, desk)
    header = desk.model.view.header()

    def widths():
        return [header.sectionSize(i) for i in range(header.count())]

    first = widths()
    assert header.length() == desk.model.view.viewport().width()
    desk.commands.actions["file.close_all"].trigger()
    settle(qtbot, desk)
    with qtbot.waitSignal(desk.session.files_added, timeout=20_000):
        desk.commands.actions["go.undo"].trigger()
    settle(qtbot, desk)
    desk.docks.show_panel("model")
    settle(qtbot, desk)
    assert widths() == first
    assert header.length() == desk.model.view.viewport().width()


def test_every_column_has_the_unit_of_its_longest(shown):
    names = "cnn_portable_x10.etdp", "cnn_toedge_portable.etrecord"
    panel = shown(ModelPanel, f"etdump/{names[0]}", f"etrecord/{names[1]}")
    pick_run(panel._session, None)
    rows = panel.model.rows
    titles = {cell: rows.title(cell) for cell in rows.cells}
    assert titles[ModelColumn.TOTAL] == "Total, ms"
    assert (titles[ModelColumn.MEAN], titles[ModelColumn.P50]) == ("Per slice, µs", "p50/run, µs")
    forward = row_at(panel, "forward")
    assert rows.text(forward, ModelColumn.TOTAL) == "2.992"
    ticks, slices = rows.figures(forward).total, rows.figures(forward).slices
    assert rows.text(forward, ModelColumn.MEAN) == f"{ticks / slices / 1000:.3f}"


def test_no_digit_of_a_count_is_cut(panel):
    pick_run(panel._session, None)
    rows = panel.model.rows
    forward = rows.made[rows.top[0]]
    rows.costed.costs.slices[0] = 123_456_789
    panel.view.fit_columns()
    column = rows.cells.index(ModelColumn.SLICES)
    text = rows.text(forward, ModelColumn.SLICES)
    metrics = QFontMetrics(panel._theme.font("cell"))
    assert panel.view.columnWidth(column) >= metrics.horizontalAdvance(text) + 12


def test_the_model_keeps_the_rules_of_qt(panel):
    fatal = QAbstractItemModelTester.FailureReportingMode.Fatal
    tester = QAbstractItemModelTester(panel.model, fatal)
    panel.filter.setText("blocks.0")
    panel.filter.clear()
    panel.view.sortByColumn(1, Qt.SortOrder.DescendingOrder)
    pick_run(panel._session, None)
    panel._session.select_operators(0, (ATTENTION_0,))
    panel._session.close_all()
    assert tester.model() is panel.model


# -- where there is nothing, or no cost -------------------------------------------------------


def test_without_files_it_says_what_to_open(opened, theme, qtbot):
    panel = ModelPanel(opened(), theme)
    qtbot.addWidget(panel)
    assert panel.is_empty
    assert "profile and the record" in panel.empty.sentence.text()
    with qtbot.waitSignal(panel.open_dialog_requested):
        panel.empty.pressed.emit()


def test_a_record_alone_shows_its_modules_without_costs(opened, attention_record, theme, qtbot):
    panel = ModelPanel(opened(attention_record), theme)
    qtbot.addWidget(panel)
    assert panel.model.rows.cells == model_rows.OF_RECORD
    forward = row_at(panel, "forward")
    assert texts(panel, forward) == {
        ModelColumn.NAME: "forward",
        ModelColumn.COUNT: "38",
        ModelColumn.LINE: "",
        ModelColumn.OUTPUT: "",
    }
    linear = row_at(panel, "forward", "blocks.0", "qkv", "linear")
    assert texts(panel, linear)[ModelColumn.OUTPUT] == "f32  1 × 8 × 96"
    assert panel.footer.isHidden()
    assert "A record holds the model, not a run" in panel.note.text()
    with qtbot.waitSignal(panel.source_requested) as asked:
        panel._choose(linear)
    assert asked.args[1] == 48


def test_a_profile_without_its_record_asks_for_it(opened, data, theme, qtbot):
    panel = ModelPanel(opened(data / "etdump/cnn_portable_x10.etdp"), theme)
    qtbot.addWidget(panel)
    assert panel.is_empty
    assert "No record or source is open that belongs to" in panel.empty.sentence.text()


def test_a_wrong_record_leads_to_the_choice(opened, data, attention_record, theme, qtbot):
    panel = ModelPanel(opened(data / "etdump/cnn_portable_x10.etdp", attention_record), theme)
    qtbot.addWidget(panel)
    assert "do not belong together" in panel.empty.sentence.text()
    with qtbot.waitSignal(panel.links_requested):
        panel.empty.pressed.emit()


def test_a_text_of_operations_has_no_modules_and_leads_to_the_operators(desk, qtbot, data):
    open_files(qtbot, desk, data / "torq/compile_c0_callsite.csv", data / "torq/tiny_cnn.mlir")
    desk._docks.show_panel("model")
    settle(qtbot, desk)
    assert desk.model.is_empty
    sentence = desk.model.empty.sentence.text()
    assert sentence == "tiny_cnn.mlir is a text of operations: they lie in no modules."
    desk.model.empty.pressed.emit()
    settle(qtbot, desk)
    assert not desk.operators.visibleRegion().isEmpty()


def test_of_a_large_profile_nothing_is_worked_out_before_it_is_seen(
    sample, theme, qtbot, monkeypatch
):
    monkeypatch.setattr(model_panel, "AT_ONCE", 0)
    panel = ModelPanel(sample("attention_xnnpack"), theme)
    qtbot.addWidget(panel)
    assert panel.is_empty
    assert panel.empty.sentence.text() == BEING_COUNTED
    assert panel.model.rows is None
    panel.resize(900, 400)
    panel.show()
    qtbot.waitUntil(lambda: not panel.is_empty)
    assert texts(panel, row_at(panel, "forward"))[ModelColumn.TOTAL] == "50.998"
    # Another run: the old figures stay until the new ones are there, with the same rows open.
    panel.view.expand(index(panel, row_at(panel, "forward", "blocks.0")))
    pick_run(panel._session, None)
    assert texts(panel, row_at(panel, "forward"))[ModelColumn.TOTAL] == "50.998"
    qtbot.waitUntil(lambda: panel.subtitle.text().startswith("all 5 runs"))
    assert opened_rows(panel) == ["forward", "blocks.0"]


def test_operators_in_branches_are_listed_as_such(shown):
    names = ("cond_nested_portable_x4.etdp", "cond_nested_toedge_portable.etrecord")
    panel = shown(ModelPanel, f"etdump/{names[0]}", f"etrecord/{names[1]}")
    rows = panel.model.rows
    loose = row_at(panel, "forward", "Operators without a module")
    inside = [rows.made[n] for n in rows.inside(loose)]
    assert len(inside) == 9
    assert all("branch of cond" in rows.hint(r) for r in inside)
    assert "without a slice here" in panel.note.text()


def test_methods_stand_below_the_model_with_the_medians_of_their_own_runs(shown):
    names = "multi_encode_decode_portable_x3.etdp", "multi_encode_decode_toedge_portable.etrecord"
    panel = shown(ModelPanel, f"etdump/{names[0]}", f"etrecord/{names[1]}")
    rows = panel.model.rows
    model = row_at(panel, "Model")
    assert [rows.name(rows.made[n]) for n in rows.inside(model)] == ["decode", "encode"]
    assert texts(panel, model)[ModelColumn.P50] == "–"  # its runs are of two methods
    assert texts(panel, row_at(panel, "Model", "encode"))[ModelColumn.P50] != "–"


# -- in the window ----------------------------------------------------------------------------


def test_the_dock_lies_beside_operators_and_follows_the_timeline(desk, qtbot):
    open_sample(qtbot, desk, "attention_xnnpack")
    docks = desk._docks
    assert docks.by_name["model"] in desk.window.tabifiedDockWidgets(docks.by_name["operators"])
    assert docks.by_name["model"].objectName() == "model"
    docks.show_panel("model")
    settle(qtbot, desk)
    shown = desk.session.traces[0]
    run = shown.trace.runs[desk.session.state.run[1]]
    one = int(shown.costs.slices_of({(ATTENTION_0,)}, TimeScope(run))[0])
    qtbot.mouseClick(canvas(desk), Qt.MouseButton.LeftButton, pos=place_of(desk, one))
    assert desk.session.state.slice == SliceRef(0, one)
    assert marked(desk.model) == ["blocks.0 · scaled_dot_product_attention"]


def test_keys_of_the_tree_work_in_the_window_and_letters_stay_commands(desk, qtbot):
    open_sample(qtbot, desk, "attention_xnnpack")
    desk._docks.show_panel("model")
    settle(qtbot, desk)
    panel, session = desk.model, desk.session
    panel.view.setFocus()
    panel.view.mark(panel.model.rows.top[0])
    for key in (Qt.Key.Key_Down, Qt.Key.Key_Right, Qt.Key.Key_Down):
        qtbot.keyClick(panel.view, key)
    assert marked(panel) == ["blocks.0.ln1"]
    qtbot.keyClick(panel.view, Qt.Key.Key_Left)
    assert marked(panel) == ["blocks.0"]
    qtbot.keyClick(panel.view, Qt.Key.Key_Asterisk, Qt.KeyboardModifier.ShiftModifier)
    assert "blocks.0.mlp.fc1" in opened_rows(panel)
    rows = panel.model.rows
    one = rows.made[rows.inside(rows.made[rows.find((ATTENTION_0,))])[3]]
    open_to(panel, one)
    panel.view.mark(one.id)
    qtbot.keyClick(panel.view, Qt.Key.Key_Return)
    settle(qtbot, desk)
    assert session.state.slice == SliceRef(0, one.number)
    span = session.state.t1 - session.state.t0
    qtbot.keyClick(panel.view, Qt.Key.Key_W)
    settle(qtbot, desk)
    assert session.state.t1 - session.state.t0 < span


def test_another_model_begins_with_its_own_rows(desk, qtbot, data):
    open_sample(qtbot, desk, "attention_xnnpack")
    desk.session.select_operators(0, (ATTENTION_0,))
    desk.session.close_all()
    assert desk.model.is_empty
    open_files(qtbot, desk, data / "etdump/cnn_portable_x10.etdp",
               data / "etrecord/cnn_toedge_portable.etrecord")  # fmt: skip
    assert opened_rows(desk.model) == ["forward"]
    assert marked(desk.model) == []
