"""The operators panel: known costs, that they add up, and that it follows the selection."""

import json
import random
from fractions import Fraction
from types import SimpleNamespace

import numpy as np
import pytest
from PySide6.QtCore import Qt
from PySide6.QtGui import QColor, QGuiApplication
from PySide6.QtTest import QAbstractItemModelTester

from tests.builders.chrome_cases import slice_event
from tests.builders.compared_windows import arms_of, write_arms
from viewer.codecs.reading import never_cancelled, no_progress
from viewer.gui.panels.base import group_rows
from viewer.gui.panels.base.cost_painting import share_color
from viewer.gui.panels.base.operator_model import OperatorContents, OperatorModel, TableRow
from viewer.gui.panels.base.slice_facts import MISSING
from viewer.gui.panels.base.table import ColumnKind
from viewer.gui.panels.calls.texts import in_one_line
from viewer.gui.panels.operators import OperatorsPanel
from viewer.gui.panels.statistics.panel import KEYS, StatisticsPanel
from viewer.gui.qt.theme.style_sheet import DARK, LIGHT
from viewer.gui.qt.widgets.tables import NoRows, marked_rows
from viewer.gui.session.choices import choose_method
from viewer.gui.session.comparison import ComparisonFeed, compare
from viewer.gui.session.feeds.feed import CostFeed
from viewer.gui.session.navigation import pick_run
from viewer.gui.timeline.legend import one_line
from viewer.gui.timeline.scene.texts import slice_lines
from viewer.model.figures import TimeScope
from viewer.model.text import name_text
from viewer.model.times import plain_spaces
from viewer.render.color_shares import Counted, shares
from viewer.render.palette import OPERATOR_FILLS, contrast
from viewer.view.open_trace import color_classes

ATTENTION_0 = 9  # blocks.0 · scaled_dot_product_attention


@pytest.fixture
def panel(sample, show_panel):
    return show_panel(OperatorsPanel, sample("attention_xnnpack"), 815, 560)


def test_the_dearest_operator_comes_first_with_its_time_share_and_line(panel):
    row = panel.model.rows[0]
    assert row.name == "blocks.0 · scaled_dot_product_attention"
    assert row.texts[1:4] == ("8.544\u202fµs", "15.5", "6.539\u202fµs")
    assert row.texts[-1] == "52"
    assert panel.model.titles[1:] == ("Self", "% of inference time", "Kernel", "Count", "Line")


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
    assert heading.startswith("Operator\tSelf, ns\t% of inference time\tKernel, ns\tCount")
    assert row.split("\t")[:3] == ["blocks.0 · scaled_dot_product_attention", "8544", "15.5"]


def test_operators_without_any_time_are_counted_not_listed(show_files):
    panel = show_files(OperatorsPanel, "torq/compile_c0_callsite.csv", "torq/tiny_cnn.mlir")
    program = panel.session.traces[0].table.program
    listed = {i for row in panel.model.rows for i in row.operators}
    idle = len(program.operators) - len(listed)
    assert idle > 0
    assert panel.note.text() == f"{idle} operators with no measured time"


def test_a_record_alone_lists_its_operators_without_costs(opened, attention_record, make_panel):
    panel = make_panel(OperatorsPanel, opened(attention_record))
    titles = [h.title for h in panel.model.contents.headings]
    assert titles == ["Operator", "Handle", "Nodes", "Line", "Output"]
    assert len(panel.model.rows) == 38
    row = panel.model.rows[9]
    assert row.texts[1:] == ("10", "25", "52", "f32  1 × 4 × 8 × 8")
    assert panel.note.text().startswith("38 operators. This file has no timing data")
    panel.table.chosen.emit(9)
    *_, asked = panel.host.asked
    assert asked[2] == 52


def test_a_wrong_record_is_said_where_the_table_would_be(
    opened, data, attention_record, make_panel
):
    panel = make_panel(
        OperatorsPanel, opened(data / "etdump/cnn_portable_x10.etdp", attention_record)
    )
    assert "does not match" in panel.sentence
    panel.empty.pressed.emit()
    assert panel.host.asked == [("show_panel", "links")]


def test_without_a_record_it_lists_names_and_says_what_to_open(opened, data, make_panel):
    panel = make_panel(OperatorsPanel, opened(data / "etdump/cnn_portable_x10.etdp"))
    assert not panel.is_empty
    assert panel.subtitle.text().startswith("by name · ")
    assert "to see the cost per operator" in panel.note.text()


def test_undecided_methods_are_said_and_lead_to_the_choice(opened, data, make_panel):
    names = ("etdump/multi_forward_decode_converts_x3.etdp",
             "etrecord/multi_forward_decode_teal_xnnpack.etrecord")  # fmt: skip
    session = opened(*(data / name for name in names))
    panel = make_panel(OperatorsPanel, session)
    assert "may have run decode or forward" in panel.sentence
    panel.empty.pressed.emit()
    assert panel.host.asked == [("show_panel", "links")]
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


@pytest.fixture
def written_arms(tmp_path):
    return write_arms(tmp_path)


@pytest.fixture
def compared_panel(opened, written_arms, show_panel):
    session = opened(*written_arms[0], *written_arms[1])
    ComparisonFeed.of(session)  # as in the window, where it follows changes before the costs do
    made = show_panel(OperatorsPanel, session, 900, 400)
    compare(session, arms_of(*written_arms))
    return made


def names_of_rows(compared_panel):
    return [row.op for row in compared_panel.model.rows]


def test_it_lists_the_changes_the_largest_first(compared_panel):
    assert names_of_rows(compared_panel)[0] == "add.out"
    assert compared_panel.subtitle.text() == "medians of 4 + 4 sessions"
    assert [heading.title for heading in compared_panel.model.contents.headings][:4] == [
        "Call", "A", "B", "Change",
    ]  # fmt: skip


def test_a_row_selects_its_slices_in_both_arms_and_is_marked(compared_panel):
    compared_panel.table.chosen.emit(0)
    session, found = compared_panel.session, ComparisonFeed.of(compared_panel.session).answer
    paths = {session.traces[ref.trace].file.path for ref in session.state.slices}
    assert paths == {found.typical(side)[0] for side in (0, 1)}
    assert [index.row() for index in compared_panel.table.selectionModel().selectedRows()] == [0]


def test_a_row_in_one_arm_is_counted_below(opened, tmp_path, show_panel):
    from tests.builders.compare_sessions import write_sessions
    from tests.builders.compared_windows import BASE

    a, b = (
        [str(path) for path in write_sessions(tmp_path, name, *([kernels] * 1))]
        for name, kernels in (("a", BASE), ("b", {**BASE, "new.out": 4_000}))
    )
    made = show_panel(OperatorsPanel, opened(*a, *b), 900, 400)
    compare(made.session, arms_of(a, b))
    assert "new.out" in names_of_rows(made)
    assert made.note.text() == "1 row in one arm only"


def test_ending_the_comparison_brings_the_costs_back(compared_panel):
    compare(compared_panel.session, None)
    assert "Change" not in [heading.title for heading in compared_panel.model.contents.headings]


def test_closing_all_files_ends_it_without_a_row(compared_panel):
    compared_panel.session.close_all()
    assert compared_panel.is_empty


CNN = "etdump/cnn_portable_x10.etdp"


@pytest.fixture
def cnn_session(opened, data):
    return opened(data / CNN)


@pytest.fixture
def cnn_panel(cnn_session, show_panel):
    return show_panel(OperatorsPanel, cnn_session, 815, 560)


def test_the_figures_are_those_of_statistics_by_name(cnn_panel, cnn_session, show_panel):
    statistics = show_panel(StatisticsPanel, cnn_session)
    statistics._pick(KEYS.index("name"))
    assert cnn_panel.model.contents.headings == statistics.model.contents.headings
    assert {row.name: row.texts for row in cnn_panel.model.rows} == {
        row.name: row.texts for row in statistics.model.rows
    }
    titles = [heading.title for heading in cnn_panel.model.contents.headings]
    assert [titles[0], titles[1], *titles[3:6], titles[-1]] == [
        "Name", "Self, mean of 8", "Median of 8", "Total, mean of 8", "Count, sum", "Total, sum"
    ]  # fmt: skip


def test_a_click_selects_the_slices_of_the_name_and_marks_its_row(cnn_panel, cnn_session):
    row = next(i for i, row in enumerate(cnn_panel.model.rows) if int(row.keys[5]) > 1)
    cnn_panel.table.chosen.emit(row)
    selected = cnn_session.state.slices.of[0]
    shown = cnn_session.traces[0]
    names = {shown.trace.name(int(i)) for i in selected}
    assert names == {cnn_panel.model.rows[row].name}
    assert len(selected) == cnn_panel.model.rows[row].keys[5]
    assert np.all(np.diff(selected.astype(np.int64)) > 0)
    assert marked_rows(cnn_panel.table) == [row]


def test_names_are_filtered_by_name_and_operators_also_by_module_and_line(
    cnn_panel, sample, show_panel
):
    assert cnn_panel.filter.placeholderText() == "Filter by name"
    operators = show_panel(OperatorsPanel, sample("attention_xnnpack"))
    assert operators.filter.placeholderText() == "Filter by module, operator or line"


def test_it_has_no_costs_of_operators(cnn_panel):
    assert cnn_panel.costs is None
    assert cnn_panel.select_most_expensive() == ""


def test_the_names_of_a_plain_profile_add_up_to_its_busy_time(opened, show_panel, data):
    cnn_panel = show_panel(
        OperatorsPanel, opened(data / "chrome_json" / "kineto_cpu.json"), 815, 560
    )
    rows = {row.name: row for row in cnn_panel.model.rows}
    profiler = rows["PyTorch Profiler (0)"]
    titles = [heading.title for heading in cnn_panel.model.contents.headings]
    assert titles[:4] == ["Name", "Wall", "% of busy time", "Self"]
    assert profiler.texts[1:3] == (MISSING, MISSING)
    assert profiler.keys[1] == 0
    assert sum(row.keys[2] for row in rows.values()) == pytest.approx(1)
    assert cnn_panel.footer.text().split(", ")[-1].startswith("Busy time")
    assert "PyTorch Profiler (0)" in cnn_panel.note.text()


def test_a_span_that_nothing_explains_is_listed_as_in_the_legend(opened, show_panel, tmp_path):
    path = tmp_path / "main.csv"
    path.write_text("process,thread,name,start_ns,dur_ns\np,t,main,0,1000\np,t,conv,5,10\n")
    cnn_session = opened(path)
    cnn_panel = show_panel(OperatorsPanel, cnn_session, 815, 560)
    shown = cnn_session.traces[0]
    classes = color_classes(shown, "name")
    counted = Counted(shown.trace, classes, Fraction(1), threads=shown.findings.threads)
    legend = {share.title: share.ns for share in shares([counted]).listed}
    assert {row.name: row.keys[1] for row in cnn_panel.model.rows} == legend
    assert legend == {"main": 990, "conv": 10}
    assert cnn_panel.note.text() == ""


def test_names_leave_out_the_warm_up_as_the_summary_does(opened, show_panel, tmp_path):
    """Eight steps from step 0: the first two warm up."""
    events = [
        {"ph": "X", "pid": 1, "tid": 1, "name": name, "cat": category, "ts": ts, "dur": dur}
        for n in range(8)
        for name, category, ts, dur in (
            (f"ProfilerStep#{n}", "user_annotation", 100 * n, 90),
            ("conv", "cpu_op", 100 * n + 10, 60),
        )
    ]
    path = tmp_path / "steps.json"
    path.write_text(json.dumps(events))
    cnn_session = opened(path)
    cnn_panel = show_panel(OperatorsPanel, cnn_session, 815, 560)
    context = cnn_session.traces[0].findings.context(TimeScope(warm_up=False), Fraction(1))
    rows = {row.name: row.texts for row in cnn_panel.model.rows}
    assert rows["conv"][6] == "6"
    assert [plain_spaces(rows["conv"][i]) for i in (1, 3, 4, 5)] == ["60.000 µs"] * 4
    assert plain_spaces(rows["conv"][-1]) == "360.000 µs"
    assert rows["ProfilerStep"][1] == MISSING
    assert context.whole_ticks == 360_000
    assert "6 steps after warm-up" in cnn_panel.subtitle.text()


def test_a_filter_shows_its_first_rows(opened, data, show_panel):
    cnn_panel = show_panel(
        OperatorsPanel, opened(data / "chrome_json" / "torch_training.json.gz"), 815, 300
    )
    cnn_panel.table.scrollToBottom()
    cnn_panel.filter.setText("aten::")
    assert cnn_panel.table.verticalScrollBar().value() == 0


def test_of_many_names_those_with_the_most_wall_time_are_listed(
    opened, show_panel, tmp_path, monkeypatch
):
    monkeypatch.setattr(group_rows, "MOST_ROWS", 3)
    rows = "".join(f"app,main,op {i},{i * 100},{i + 1}\n" for i in range(10))
    path = tmp_path / "names.csv"
    path.write_text(f"process,thread,name,start_ns,dur_ns\n{rows}")
    cnn_session = opened(path)
    cnn_panel = show_panel(OperatorsPanel, cnn_session)
    assert [row.name for row in cnn_panel.model.rows] == ["op 9", "op 8", "op 7"]
    assert cnn_panel.note.text().startswith("… 7 more names with less wall time")
    statistics = show_panel(StatisticsPanel, cnn_session)
    assert len(statistics.model.rows) == 3
    assert "first 3 of 10 rows: export lists all" in statistics.subtitle.text()
    statistics.export()
    *_, job_of = statistics.host.asked[0]
    job_of(str(tmp_path / "all.csv"))(no_progress, never_cancelled)
    assert sum(",op " in line for line in (tmp_path / "all.csv").read_text().splitlines()) == 10


@pytest.fixture(scope="module")
def odd_names(tmp_path_factory):
    """A Chrome trace of names with any characters, and these names."""
    rng = random.Random(3)
    letters = "ab \n\t\r\u2028\u202e\x00\xa0·畳<&"
    names = ["", " ", "line 1\nline 2", "n" * 540]
    names += ["".join(rng.choices(letters, k=rng.randrange(1, 9))) for _ in range(12)]
    names = list(dict.fromkeys(names))
    path = tmp_path_factory.mktemp("names") / "names.json"
    path.write_text(json.dumps([slice_event(name, 10 * i, 5) for i, name in enumerate(names)]))
    return path, names


def test_odd_names_look_the_same_in_the_table_the_legend_and_calls(show_files, odd_names):
    path, names = odd_names
    panel = show_files(OperatorsPanel, path)
    model = panel.model
    texts = {model.index(row, 0).data() for row in range(model.rowCount())}
    assert texts == {name_text(name) for name in names}
    assert {in_one_line(name) for name in names} == texts
    assert {one_line(name) for name in names if len(name) < 300} <= texts
    open_trace = panel.session.traces[0]
    tips = {slice_lines(open_trace, i)[0] for i in range(len(names))}
    assert tips == texts
