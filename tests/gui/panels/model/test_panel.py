"""The model panel: both ways of selecting, and what it shows where there is nothing."""

import numpy as np
from PySide6.QtCore import Qt

from tests.gui.panels.model.tree import (
    ATTENTION_0,
    LINEAR,
    click,
    index,
    marked,
    open_to,
    opened_rows,
    row_at,
    texts,
)
from viewer.formats import open_file
from viewer.gui.panels.model import rows as model_rows
from viewer.gui.panels.model.panel import ModelPanel
from viewer.gui.panels.model.table import ModelColumn, RowKind
from viewer.gui.qt.background import BEING_COUNTED
from viewer.gui.session.navigation import pick_run
from viewer.view.state import SliceRef


def test_a_module_selects_the_slices_that_its_total_counts(panel, qtbot):
    session = panel.session
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
    session = panel.session
    click(qtbot, panel, row_at(panel, "forward", "blocks.0", "mlp", "fc1"))
    (ref,) = session.state.slices
    assert len(session.traces[0].link(ref.index).operators) == 4


def test_an_operator_is_selected_as_in_the_operators_panel(panel, qtbot):
    click(qtbot, panel, row_at(panel, "forward", "blocks.0", "qkv", "linear"))
    assert panel.session.state.operators == (0, (LINEAR,))
    assert panel.session.state.slice is None


def test_a_slice_is_selected_by_a_click_and_shown_by_a_double_click(panel, qtbot):
    session, rows = panel.session, panel.model.rows
    attention = rows.items[rows.find((ATTENTION_0,))]
    one = rows.items[rows.below(attention.id)[2]]
    click(qtbot, panel, one)
    assert session.state.slice == SliceRef(0, one.number)
    assert (
        rows.items[panel.model.node(panel.view.currentIndex())].number == one.number
    )  # it stays marked
    before = session.state.t1 - session.state.t0
    click(qtbot, panel, one, twice=True)
    t0, t1 = session.traces[0].span_ns(one.number)
    assert session.state.t0 <= t0 < t1 <= session.state.t1
    assert session.state.t1 - session.state.t0 < 1.2 * (t1 - t0) < before


def test_enter_on_a_slice_shows_it(panel, qtbot):
    session, rows = panel.session, panel.model.rows
    one = rows.items[rows.below(rows.find((ATTENTION_0,)))[4]]
    open_to(panel, one)
    panel.view.mark(one.id)
    qtbot.keyClick(panel.view, Qt.Key.Key_Return)
    t0, t1 = session.traces[0].span_ns(one.number)
    assert session.state.t1 - session.state.t0 < 1.2 * (t1 - t0)


def test_arrows_go_through_the_rows_and_select_them(panel, qtbot):
    panel.view.mark(0)
    qtbot.keyClick(panel.view, Qt.Key.Key_Down)
    assert marked(panel) == ["blocks.0"]
    assert len(panel.session.state.slices) == 20
    qtbot.keyClick(panel.view, Qt.Key.Key_Right)  # opens it
    qtbot.keyClick(panel.view, Qt.Key.Key_Down)
    assert marked(panel) == ["blocks.0.ln1"]


def test_an_asterisk_opens_modules_and_leaves_slices_closed(panel, qtbot):
    rows = panel.model.rows
    panel.view.mark(0)
    qtbot.keyClick(panel.view, Qt.Key.Key_Asterisk, Qt.KeyboardModifier.ShiftModifier)
    opened = [r for r in rows.items if panel.view.isExpanded(index(panel, r))]
    assert {r.kind for r in opened} == {RowKind.MODULE}
    assert len(opened) == len(rows.tree.modules)
    assert not any(r.kind is RowKind.SLICE for r in rows.items)  # nobody has asked for them


def test_a_selection_marks_its_row_and_opens_no_more_than_the_way_to_it(panel):
    session = panel.session
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
    session = panel.session
    session.select_operators(0, (LINEAR,))
    other = session.traces[0].table.program.operators[20]
    assert other.module_path == "blocks.1.qkv"
    session.select_operators(0, (20,))
    assert opened_rows(panel) == ["forward", "blocks.1", "blocks.1.qkv"]


def test_a_shared_call_on_the_timeline_marks_its_row(panel):
    session = panel.session
    table = session.traces[0].table
    trace = session.traces[0].trace
    shared = next(i for i in range(len(trace.slices))
                  if len(table.links[int(trace.slices.key[i])].operators) == 4)  # fmt: skip
    session.select_slice(SliceRef(0, shared))
    assert marked(panel) == ["blocks.0 · 2 linear + gelu + add"]


def test_choosing_is_one_step_of_undo_and_sets_off_no_other(panel, qtbot):
    session, told = panel.session, []
    session.selection_changed.connect(lambda: told.append(session.state.selection))
    click(qtbot, panel, row_at(panel, "forward", "blocks.0", "qkv", "linear"))
    assert len(told) == 1
    session.undo()
    assert not any(session.state.selection)


def test_without_files_it_says_what_to_open(opened, make_panel):
    panel = make_panel(ModelPanel, opened())
    assert panel.is_empty
    assert "profile and its ETRecord" in panel.sentence
    panel.empty.pressed.emit()
    assert panel.host.asked == [("open_files",)]


def test_a_record_alone_shows_its_modules_without_costs(opened, attention_record, make_panel):
    panel = make_panel(ModelPanel, opened(attention_record))
    assert panel.model.rows.columns == model_rows.OF_RECORD
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
    assert "This file has no timing data" in panel.note.text()
    panel.view.chosen.emit(linear.id)
    *_, asked = panel.host.asked
    assert asked[2] == 48


def test_a_profile_without_its_record_asks_for_it(opened, data, make_panel):
    panel = make_panel(ModelPanel, opened(data / "etdump/cnn_portable_x10.etdp"))
    assert panel.is_empty
    assert "Open the ETRecord that matches" in panel.sentence


def test_a_wrong_record_leads_to_the_choice(opened, data, attention_record, make_panel):
    panel = make_panel(ModelPanel, opened(data / "etdump/cnn_portable_x10.etdp", attention_record))
    assert "does not match" in panel.sentence
    panel.empty.pressed.emit()
    assert panel.host.asked == [("show_panel", "links")]


def test_of_a_large_profile_nothing_is_worked_out_before_it_is_seen(
    sample, make_panel, qtbot, monkeypatch
):
    monkeypatch.setattr(ModelPanel, "SYNC_LIMIT", 0)
    panel = make_panel(ModelPanel, sample("attention_xnnpack"))
    assert panel.is_empty
    assert panel.sentence == BEING_COUNTED
    assert panel.model.rows is None
    panel.resize(900, 400)
    panel.show()
    qtbot.waitUntil(lambda: not panel.is_empty)
    assert texts(panel, row_at(panel, "forward"))[ModelColumn.TOTAL] == "50.998\u202fµs"
    # Another run: the old figures stay until the new ones are there, with the same rows open.
    panel.view.expand(index(panel, row_at(panel, "forward", "blocks.0")))
    pick_run(panel.session, None)
    assert texts(panel, row_at(panel, "forward"))[ModelColumn.TOTAL] == "50.998\u202fµs"
    qtbot.waitUntil(lambda: panel.subtitle.text().startswith("4 inferences after warm-up"))
    assert opened_rows(panel) == ["forward", "blocks.0"]


def test_operators_in_branches_are_listed_as_such(show_files):
    names = ("cond_nested_portable_x4.etdp", "cond_nested_toedge_portable.etrecord")
    panel = show_files(ModelPanel, f"etdump/{names[0]}", f"etrecord/{names[1]}")
    rows = panel.model.rows
    loose = row_at(panel, "forward", "Operators without a module")
    inside = [rows.items[n] for n in rows.below(loose.id)]
    assert len(inside) == 9
    assert all("branch of cond" in rows.hint(r) for r in inside)
    assert "without a slice here" in panel.note.text()


def test_methods_stand_below_the_model_with_the_medians_of_their_own_runs(show_files):
    names = "multi_encode_decode_portable_x3.etdp", "multi_encode_decode_toedge_portable.etrecord"
    panel = show_files(ModelPanel, f"etdump/{names[0]}", f"etrecord/{names[1]}")
    rows = panel.model.rows
    model = row_at(panel, "Model")
    assert [rows.name(rows.items[n]) for n in rows.below(model.id)] == ["decode", "encode"]
    assert texts(panel, model)[ModelColumn.P50] == "–"  # its runs are of two methods
    assert texts(panel, row_at(panel, "Model", "encode"))[ModelColumn.P50] != "–"


def test_another_model_begins_with_its_own_rows(panel, data):
    panel.session.select_operators(0, (ATTENTION_0,))
    panel.session.close_all()
    assert panel.is_empty
    paths = "etdump/cnn_portable_x10.etdp", "etrecord/cnn_toedge_portable.etrecord"
    panel.session.add([open_file(str(data / path)) for path in paths])
    assert opened_rows(panel) == ["forward"]
    assert marked(panel) == []
