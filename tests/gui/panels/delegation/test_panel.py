"""The delegation panel: its rows are the report's, it says why, and a click selects."""

import numpy as np
import pytest
from PySide6.QtCore import Qt
from PySide6.QtGui import QGuiApplication

from viewer.analysis.delegates.delegation import Delegation
from viewer.gui.panels.delegation import page as delegation_page
from viewer.gui.panels.delegation.page import (
    NO_CALLS,
    NONE_CALLED,
    NONE_OUTSIDE,
    PARTLY,
    UPPER_BOUND,
    DelegationLine,
)
from viewer.gui.panels.delegation.panel import NO_METHODS, NOTHING, DelegationPanel
from viewer.gui.qt.background import BEING_COUNTED
from viewer.gui.session.navigation import include_warm_up, pick_run
from viewer.gui.session.session import Session
from viewer.model.figures import STEADY
from viewer.model.trace import KeyKind
from viewer.resources import SAMPLES

NARROW = "\u202f"


@pytest.fixture
def panel(sample, show_panel):
    """The delegation of all five inferences."""
    made = show_panel(DelegationPanel, sample("attention_xnnpack"), 900, 700)
    pick_run(made.session, None)
    include_warm_up(made.session, included=True)
    return made


def test_the_warm_up_is_left_out_unless_it_is_included(panel):
    include_warm_up(panel.session, included=False)
    assert panel.subtitle.text().startswith("4 inferences after warm-up · ")
    assert panel.footer.text().endswith("mean of 4, Not counted: 1 warm-up inference")
    steady = Delegation(panel.session.traces[0].table).report(STEADY)
    assert panel.model.page.whole * 4 == steady.whole == 209_553


def lines(panel, line):
    """The rows of one sort, as (what they stand for, what they show)."""
    rows = [(panel.model.entry(i), row) for i, row in enumerate(panel.model.rows)]
    return [(item.of, row) for item, row in rows if item.line is line]


def titles(panel):
    return {
        row.op: f"{row.hint} {row.detail}".strip()
        for _, row in lines(panel, DelegationLine.SECTION)
    }


def row_of(panel, text):
    return next(i for i, row in enumerate(panel.model.rows) if text in row.name)


def test_every_call_has_its_label_instruction_time_and_unattributed_part(panel):
    report = Delegation(panel.session.traces[0].table).report()
    shown = lines(panel, DelegationLine.INSTANCE)
    assert [of.instruction for of, _ in shown] == [
        row.instruction for row in report.instances[: len(shown)]
    ]
    of, row = shown[1]
    assert (row.name, of.ticks) == ("XnnpackBackend · 5 ops (instr. 17)", 27480)
    assert row.texts[1:] == (f"5.496{NARROW}µs", "8.5", f"5.296{NARROW}µs", "5", "5", "52–53")
    titles = [heading.title for heading in panel.model.contents.headings]
    assert (titles[1], titles[3], titles[5]) == (
        "Time, mean of 5", "Unattributed, mean of 5", "Count, sum"
    )  # fmt: skip
    assert row.full == pytest.approx(1000 / 27480)  # of the bar; the rest is hatched


def test_the_sections_say_how_much_and_that_saving_is_an_upper_bound(panel):
    told = titles(panel)
    assert told["Delegates"].startswith(f"41.543{NARROW}µs · 64.0{NARROW}% of Method::execute")
    assert "32 operators in 10 delegate calls" in told["Delegates"]
    assert UPPER_BOUND in told["Not delegated"]
    assert "350 of 620 linkable slices (56.5" in told["Links"]


def test_the_line_below_adds_up_to_the_inferences(panel):
    parts = panel.answer.page.parts
    assert sum(ns for *_, ns in parts) == pytest.approx(panel.answer.page.whole)
    assert panel.answer.page.whole * 5 == 324_625
    assert panel.footer.text().startswith("Delegated 41.543")


def test_of_a_picked_run_all_figures_are_of_that_run(panel):
    pick_run(panel.session, (0, 2))
    run = panel.session.traces[0].trace.runs[2]
    assert panel.answer.page.whole == run.end - run.start
    assert all(of.calls == 1 for of, _ in lines(panel, DelegationLine.INSTANCE))
    assert "run 2" in panel.subtitle.text()


def test_an_operator_that_is_partly_delegated_names_its_nodes_outside(panel):
    (row,) = (
        row
        for _, row in lines(panel, DelegationLine.NOT_DELEGATED)
        if row.name.startswith("blocks.0 · scaled_dot_product_attention")
    )
    assert row.op == "scaled_dot_product_attention › mul, expand_copy, eq +4"
    assert row.texts[-1] == "52"
    (whole,) = (
        row for _, row in lines(panel, DelegationLine.NOT_DELEGATED) if row.module == "blocks.0.ln1"
    )
    assert whole.op == "layer_norm"


def test_long_sections_show_the_rest_when_asked(panel):
    assert len(lines(panel, DelegationLine.INSTANCE)) == 8
    panel.table.chosen.emit(row_of(panel, "Show 2 more"))
    assert len(lines(panel, DelegationLine.INSTANCE)) == 10
    assert not lines(panel, DelegationLine.MORE)


def test_a_call_selects_its_slices_on_the_timeline(panel):
    session = panel.session
    panel.table.chosen.emit(row_of(panel, "instr. 17"))
    trace = session.traces[0].trace
    keys = trace.slices.key[session.state.slices.of[0]]
    assert len(keys) == 5
    assert set(trace.keys.kind[keys].tolist()) == {int(KeyKind.DELEGATE_CALL)}
    assert set(trace.keys.instruction[keys].tolist()) == {17}


def test_in_a_picked_run_a_call_is_one_slice_with_its_operators(panel):
    session = panel.session
    pick_run(session, (0, 2))
    panel.table.chosen.emit(row_of(panel, "instr. 17"))
    assert len(session.state.slices) == 1
    assert len(session.state.operators[1]) == 5
    related = [i for i in range(len(panel.model.rows)) if panel.model.index(i, 0).data(259)]
    assert row_of(panel, "instr. 17") in related


def test_what_stayed_outside_highlights_its_operator(panel):
    row = row_of(panel, "scaled_dot_product_attention")
    panel.table.chosen.emit(row)
    assert panel.session.state.operators == (0, panel.model.rows[row].operators)


def test_a_reason_selects_the_slices_that_it_is_about(panel):
    panel.table.chosen.emit(row_of(panel, "Backend wrote no debug handle map"))
    chosen = panel.session.state.slices
    table = panel.session.traces[0].table
    keys = table.trace.slices.key[chosen.of[0]]
    assert len(chosen) == 270
    assert {table.links[k].reason.name for k in np.unique(keys).tolist()} == {"NO_DELEGATE_MAP"}


def test_a_reason_says_what_to_do_over_the_whole_width(panel):
    row = row_of(panel, "Backend wrote no debug handle map")
    assert "Also open the program file (.pte) that ran" in panel.model.index(row, 0).data()
    assert panel.table.columnSpan(row, 0) == panel.model.columnCount()
    assert panel.table.rowHeight(row) > panel.table.rowHeight(1)


def test_the_filter_keeps_the_sections_of_what_it_leaves(panel):
    panel.filter.setText("layer_norm")
    assert [row.op for _, row in lines(panel, DelegationLine.SECTION)] == ["Not delegated"]
    assert len(lines(panel, DelegationLine.NOT_DELEGATED)) == 4
    panel.filter.setText("softplus")
    assert not panel.model.rows


def test_sorting_stays_inside_the_sections(panel):
    panel.model.sort(0, Qt.SortOrder.AscendingOrder)
    kinds = [panel.model.entry(i).section for i in range(len(panel.model.rows))]
    assert kinds == sorted(kinds, key=["Delegates", "Not delegated", "Links"].index)
    names = [row.keys[0] for _, row in lines(panel, DelegationLine.NOT_DELEGATED)]
    assert names == sorted(names)


def test_of_very_many_operators_the_cheap_ones_are_one_row(sample, make_panel, monkeypatch):
    monkeypatch.setattr(delegation_page, "MOST_NOT_DELEGATED", 3)
    panel = make_panel(DelegationPanel, sample("attention_xnnpack"))
    pick_run(panel.session, None)
    rows = lines(panel, DelegationLine.NOT_DELEGATED)
    report = panel.answer.report
    of, row = rows[-1]
    assert (len(rows), row.name) == (4, "5 others with less time")
    assert of.ticks == sum(out.ticks for out in report.not_delegated_rows[3:])
    panel.table.chosen.emit(row_of(panel, "others with less time"))
    assert len(panel.session.state.slices) == sum(
        len(panel.answer.shown.delegation.slices_of(out.keys, STEADY))
        for out in report.not_delegated_rows[3:]
    )


def test_figures_of_a_large_trace_are_worked_out_when_they_are_seen(
    sample, make_panel, qtbot, monkeypatch
):
    monkeypatch.setattr(DelegationPanel, "SYNC_LIMIT", 0)
    panel = make_panel(DelegationPanel, sample("attention_xnnpack"))
    assert panel.sentence == BEING_COUNTED
    panel.show()
    qtbot.waitUntil(lambda: panel.answer is not None)
    assert not panel.is_empty


def test_arrow_keys_pass_the_section_titles_by(panel, qtbot):
    panel.table.setFocus()
    panel.table.selectRow(1)
    panel.table.setCurrentIndex(panel.model.index(1, 0))
    qtbot.keyClick(panel.table, Qt.Key.Key_Up)
    assert panel.table.currentIndex().row() == 1
    qtbot.keyClick(panel.table, Qt.Key.Key_Down)
    assert panel.table.currentIndex().row() == 2


def test_rows_are_copied_with_their_section_and_what_to_do(panel):
    panel.table.selectAll()
    panel.table.copy()
    head, *rows = QGuiApplication.clipboard().text().splitlines()
    assert head.split("\t")[:3] == ["Section", "Delegate or operator", "Time, mean of 5, ns"]
    assert head.endswith("\tWhat to do")
    first = "Delegates\tblocks.0.qkv · linear (instr. 1)\t6419.600\t9.9\t2419.600"
    assert rows[0].startswith(first)
    assert {len(row.split("\t")) for row in (head, *rows) if not row.startswith("Links")} == {8, 9}
    assert rows[-1].startswith("Links\t")


def test_an_unknown_rest_is_a_dash_with_its_reason(show_files):
    panel = show_files(DelegationPanel, "etdump/SYN_qnn_like.etdp")
    ((_, row),) = lines(panel, DelegationLine.INSTANCE)
    assert row.texts[3] == "–"
    assert "separate clock" in row.detail
    assert "separate clock" in panel.model.index(1, 3).data(Qt.ItemDataRole.ToolTipRole)


def test_without_delegates_it_says_so_and_ranks_the_operators(show_files):
    panel = show_files(
        DelegationPanel, "etdump/cnn_portable_x10.etdp", "etrecord/cnn_toedge_portable.etrecord"
    )
    assert NONE_CALLED in titles(panel)["Delegates"]
    assert (
        len(lines(panel, DelegationLine.NOT_DELEGATED)) == 9
    )  # one more than 8 is not put behind a click


def test_a_profile_of_an_npu_has_links_and_no_delegates(show_files):
    panel = show_files(DelegationPanel, "torq/compile_c3_taskid.csv", "torq/tiny_cnn.mlir")
    assert NO_CALLS in titles(panel)["Delegates"]
    assert "Not delegated" not in titles(panel)
    assert panel.footer.isHidden()


def test_a_record_alone_lists_calls_and_leads_to_the_source(show_files):
    panel = show_files(DelegationPanel, "etrecord/cnn_standalone_after_tobackend.etrecord")
    assert [row.name for _, row in lines(panel, DelegationLine.INSTANCE)] == [
        "XnnpackBackend · 3 ops (instr. 0)", "XnnpackBackend · 2 ops (instr. 2)",
        "XnnpackBackend · 2 ops (instr. 4)",
    ]  # fmt: skip
    panel.table.chosen.emit(row_of(panel, "max_pool2d"))
    *_, asked = panel.host.asked
    assert asked[2] == 20


def test_a_record_alone_counts_partly_delegated_operators_once(opened, show_panel):
    panel = show_panel(DelegationPanel, opened(SAMPLES[0].paths()[1]))
    found = titles(panel)
    assert found["Delegates"].startswith(
        "30 operators delegated, 2 partly, 6 not delegated · 1 backend, 10 delegate calls"
    )
    assert "2 operators partly delegated, 6 not delegated" in found["Not delegated"]
    assert PARTLY in found["Not delegated"]


def test_a_record_of_a_wholly_delegated_model_says_so(show_files):
    panel = show_files(DelegationPanel, "etrecord/demo_str.etrecord")
    assert titles(panel)["Not delegated"] == NONE_OUTSIDE


def test_where_there_is_nothing_it_says_what_to_open(make_panel, show_files):
    empty = make_panel(DelegationPanel, Session())
    assert (empty.is_empty, empty.sentence) == (True, NOTHING)
    text = show_files(DelegationPanel, "torq/tiny_cnn.mlir")
    assert (text.is_empty, text.sentence) == (True, NO_METHODS)


def test_a_log_of_the_partitioner_is_next_to_each_operator(opened, data, show_panel):
    names = ("net.etdp", "net.etrecord", "xnnpack.log")
    panel = show_panel(DelegationPanel, opened(*(data / "partition_log" / n for n in names)))
    rows = {row.op: row for _, row in lines(panel, DelegationLine.NOT_DELEGATED)}
    assert rows["mean"].hint == "mean.dim only supports keepdim=True"
    assert rows["mean"].detail == "Not delegated: mean.dim only supports keepdim=True"
    assert rows["cumsum"].hint == ""
    assert rows["cumsum"].detail.startswith("Not delegated: the partitioner's log has no reason; ")


def test_a_record_alone_has_the_reasons_of_a_log(opened, data, show_panel):
    session = opened(*(data / "partition_log" / name for name in ("net.etrecord", "xnnpack.log")))
    panel = show_panel(DelegationPanel, session)
    rows = {row.op: row for _, row in lines(panel, DelegationLine.NOT_DELEGATED)}
    assert rows["add"].hint == "invalid dtype"
