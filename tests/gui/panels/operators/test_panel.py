"""The operators panel: known costs, that they add up, and that it follows the selection."""

from types import SimpleNamespace

import pytest
from PySide6.QtCore import Qt
from PySide6.QtGui import QColor, QGuiApplication
from PySide6.QtTest import QAbstractItemModelTester

from viewer.gui.panels.base.operator_tables.contents import ColumnKind, OperatorContents, TableRow
from viewer.gui.panels.base.operator_tables.model import OperatorModel
from viewer.gui.panels.base.swatches import share_color
from viewer.gui.panels.operators.panel import OperatorsPanel
from viewer.gui.qt.theme.tokens import DARK, LIGHT
from viewer.gui.qt.widgets.tables import NoRows, marked_rows
from viewer.gui.session.feeds.costs import CostFeed
from viewer.gui.session.inferences import pick_run
from viewer.gui.session.linking import choose_method
from viewer.render.palette import OPERATOR_FILLS, contrast

ATTENTION_0 = 9  # blocks.0 · scaled_dot_product_attention


@pytest.fixture
def panel(sample, show_panel):
    return show_panel(OperatorsPanel, sample("attention_xnnpack"), 815, 560)


def test_the_dearest_operator_comes_first_with_its_time_share_and_line(panel):
    row = panel.model.rows[0]
    assert row.name == "blocks.0 · scaled_dot_product_attention"
    assert row.texts[1:4] == ("8.544\u202fµs", "15.5", "6.539\u202fµs")
    assert row.texts[-1] == "52"
    assert panel.model.titles()[1:] == ("Self", "% of inferences", "Kernel", "Count", "Line")


def test_a_shared_call_is_one_row_that_names_how_many_share_it(panel):
    shared = [row for row in panel.model.rows if row.hint]
    assert shared[0].hint == "shared by 5"
    assert shared[0].texts[1] == "4.857\u202fµs"
    assert shared[0].texts[-1] == "52–53"


def test_operators_with_the_same_label_have_their_debug_handle_as_hint(show_files):
    names = ("etdump/buffer_portable_x3.etdp", "etrecord/buffer_toedge_portable.etrecord")
    panel = show_files(OperatorsPanel, *names)
    shown = sorted(row.name for row in panel.model.rows)
    assert shown[:3] == ["add", "add_ (debug handle 2)", "add_ (debug handle 3)"]
    panel.table.copy_all()
    assert "add_ (debug handle 3)\t" in QGuiApplication.clipboard().text()


def test_the_footer_adds_up_to_method_execute(panel):
    assert panel.footer.text().replace("\u202f", " ") == (
        "Operators 22.656 µs 41.0 %, Shared 28.342 µs 51.3 %, No operator 4.214 µs 7.6 %, "
        "Method::execute 55.212 µs"
    )
    # 22.656 + 28.342 + 4.214 = 55.212


def test_the_head_says_which_run_of_which_file(panel):
    assert panel.subtitle.text() == "run 2 of 5 · attn_xnnpack_x5.etdp"
    pick_run(panel.session, None)
    assert panel.subtitle.text() == "4 inferences after warm-up · attn_xnnpack_x5.etdp"


def test_a_click_selects_the_operator_and_the_row_follows_the_selection(panel, qtbot):
    session = panel.session
    rect = panel.table.visualRect(panel.model.index(1, 0))
    qtbot.mouseClick(panel.table.viewport(), Qt.MouseButton.LeftButton, pos=rect.center())
    assert session.state.operators == (0, panel.model.rows[1].operators)
    session.select_operators(0, (ATTENTION_0,))
    assert marked_rows(panel.table) == [0]
    session.clear_selection()
    assert marked_rows(panel.table) == []


def test_enter_selects_the_marked_row(panel, qtbot):
    panel.table.mark(3)
    qtbot.keyClick(panel.table, Qt.Key.Key_Return)
    assert panel.session.state.operators == (0, panel.model.rows[3].operators)


def test_rows_that_share_the_selected_operator_are_related(panel):
    panel.session.select_operators(0, (ATTENTION_0,))
    related = [r for r in range(len(panel.model.rows)) if panel.model.data(
        panel.model.index(r, 0), Qt.ItemDataRole.UserRole + 3)]  # fmt: skip
    assert related == [i for i, row in enumerate(panel.model.rows) if ATTENTION_0 in row.operators]
    assert len(related) == 4  # itself and three shared calls


def test_a_profile_that_logs_no_method_has_no_share_of_one(show_files):
    names = ("host_h4_latest_2inv.csv", "tiny_cnn.lowered_generic.mlir")
    panel = show_files(OperatorsPanel, *(f"torq/{name}" for name in names))
    assert "Busy time" in panel.footer.text()
    assert "Method::execute" not in panel.footer.text()


def test_the_filter_keeps_rows_that_have_every_word(panel):
    panel.filter.setText("ln1 layer")
    assert [row.name for row in panel.model.rows] == [
        "blocks.0.ln1 · layer_norm",
        "blocks.1.ln1 · layer_norm",
    ]


def test_sorting_by_a_column_uses_numbers_not_texts(panel):
    panel.model.sort(1, Qt.SortOrder.AscendingOrder)
    times = [row.keys[1] for row in panel.model.rows]
    assert times == sorted(times)
    assert panel.model.rows[-1].texts[1] == "8.544\u202fµs"


def test_copying_gives_plain_tab_separated_text(panel):
    panel.table.mark(0)
    panel.table.copy()
    heading, row = QGuiApplication.clipboard().text().splitlines()
    assert heading.startswith("Operator\tSelf, ns\t% of inferences\tKernel, ns\tCount")
    assert row.split("\t")[:3] == ["blocks.0 · scaled_dot_product_attention", "8544", "15.5"]


def test_operators_without_any_time_are_counted_not_listed(show_files):
    panel = show_files(OperatorsPanel, "torq/compile_c0_callsite.csv", "torq/tiny_cnn.mlir")
    program = panel.session.traces[0].table.program
    listed = {i for row in panel.model.rows for i in row.operators}
    idle = len(program.operators) - len(listed)
    assert idle > 0
    assert panel.note.text() == f"{idle} operators with no measured time"


def test_a_record_alone_lists_its_operators_without_costs(
    opened, attention_record, make_panel, qtbot
):
    panel = make_panel(OperatorsPanel, opened(attention_record))
    titles = [h.title for h in panel.model.contents.headings]
    assert titles == ["Operator", "Handle", "Nodes", "Line", "Output"]
    assert len(panel.model.rows) == 38
    row = panel.model.rows[9]
    assert row.texts[1:] == ("10", "25", "52", "f32  1 × 4 × 8 × 8")
    assert panel.note.text().startswith("38 operators. This file has no timing data")
    with qtbot.waitSignal(panel.source_requested) as asked:
        panel.table.chosen.emit(9)
    assert asked.args[1] == 52


def test_a_wrong_record_is_said_where_the_table_would_be(
    opened, data, attention_record, make_panel, qtbot
):
    panel = make_panel(
        OperatorsPanel, opened(data / "etdump/cnn_portable_x10.etdp", attention_record)
    )
    assert "does not match" in panel.sentence
    with qtbot.waitSignal(panel.links_requested):
        panel.empty.pressed.emit()


def test_without_a_record_it_lists_names_and_says_what_to_open(opened, data, make_panel):
    panel = make_panel(OperatorsPanel, opened(data / "etdump/cnn_portable_x10.etdp"))
    assert not panel.is_empty
    assert panel.subtitle.text().startswith("by name · ")
    assert "to see the cost per operator" in panel.note.text()


def test_undecided_methods_are_said_and_lead_to_the_choice(opened, data, make_panel, qtbot):
    names = ("etdump/multi_forward_decode_converts_x3.etdp",
             "etrecord/multi_forward_decode_teal_xnnpack.etrecord")  # fmt: skip
    session = opened(*(data / name for name in names))
    panel = make_panel(OperatorsPanel, session)
    assert "may have run decode or forward" in panel.sentence
    with qtbot.waitSignal(panel.links_requested):
        panel.empty.pressed.emit()
    choose_method(session, session.traces[0].trace.path, "Execute 1", "forward")
    assert not panel.is_empty
    assert panel.model.rows


def test_a_filter_that_leaves_nothing_says_so_and_escape_clears_it(panel, qtbot):
    note = panel.findChild(NoRows)
    assert note.isHidden()
    panel.filter.setFocus()
    qtbot.keyClicks(panel.filter, "no  such")
    assert note.text() == "No row matches “no such”. Escape clears the filter."
    assert note.isVisible()
    qtbot.keyClick(panel.filter, Qt.Key.Key_Escape)
    assert panel.filter.text() == ""
    assert note.isHidden()
    assert panel.model.rows


def test_enter_in_the_filter_goes_to_the_first_row(panel, qtbot):
    panel.activateWindow()
    panel.filter.setFocus()
    qtbot.keyClicks(panel.filter, "gelu")
    qtbot.keyClick(panel.filter, Qt.Key.Key_Return)
    assert panel.table.hasFocus()
    assert marked_rows(panel.table) == [0]


def test_the_marked_row_stays_marked_when_the_table_is_sorted(panel):
    panel.table.mark(1)
    name = panel.model.rows[1].name
    panel.table.sortByColumn(0, Qt.SortOrder.AscendingOrder)
    (row,) = marked_rows(panel.table)
    assert row != 1
    assert panel.model.rows[row].name == name


def test_the_model_keeps_the_rules_of_qt(sample, make_panel):
    model = OperatorModel()
    tester = QAbstractItemModelTester(model, QAbstractItemModelTester.FailureReportingMode.Fatal)
    panel = make_panel(OperatorsPanel, sample("attention_xnnpack"))
    model.show(panel.model.contents)
    model.set_filter("linear")
    model.sort(2)
    model.set_selected((1,))
    model.show(OperatorContents())
    assert tester.model() is model


def test_five_thousand_rows_are_shown_sorted_and_filtered_at_once(panel, benchmark):
    headings = panel.model.contents.headings
    rows = tuple(
        TableRow((i,), f"layers.{i}", "linear", "", ("", *("1",) * (len(headings) - 1)),
                 (f"layers.{i}", *((i * 7919) % 5000 for _ in headings[1:])))
        for i in range(5000)
    )  # fmt: skip

    def work():
        panel.table.show_contents(OperatorContents(headings, rows), 1)
        panel.model.sort(2, Qt.SortOrder.AscendingOrder)
        panel.model.set_filter("layers.49")
        panel.table.viewport().repaint()

    benchmark(work)
    assert len(panel.model.rows) == 111
    assert headings[0].kind is ColumnKind.NAME


def test_there_is_one_feed_per_session(sample):
    session = sample("attention_xnnpack")
    assert CostFeed.of(session) is CostFeed.of(session)


def test_of_a_debug_handle_map_alone_what_it_tells(opened, data, make_panel):
    for name, expected in (
        ("demo_str", ("1", "1", "108", "–")), ("demo_manual_int", ("1", "–", "–", "–"))
    ):  # fmt: skip
        panel = make_panel(OperatorsPanel, opened(data / f"debug_handle_map/{name}.json"))
        assert panel.model.rows[0].texts[1:] == expected
        assert "This file has no timing data" in panel.note.text()


@pytest.mark.parametrize("tokens", [DARK, LIGHT], ids=["dark", "light"])
def test_a_number_can_be_read_on_every_bar_behind_it(tokens):
    theme = SimpleNamespace(dark=tokens is DARK, tokens=tokens)
    bars = [share_color(QColor.fromRgb(fill), theme) for fill in OPERATOR_FILLS]
    text = QColor(tokens.text1).rgb() & 0xFFFFFF
    for bar in (*bars, QColor(tokens.slab)):
        assert contrast(bar.rgb() & 0xFFFFFF, text) >= 4.5
