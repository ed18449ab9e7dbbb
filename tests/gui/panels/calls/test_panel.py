"""The Calls panel: one selection with the timeline, kinds of trees, search and scope."""

from dataclasses import replace

import numpy as np
import pytest
from PySide6.QtCore import Qt
from PySide6.QtGui import QContextMenuEvent, QGuiApplication
from PySide6.QtWidgets import QApplication, QMenu, QPushButton

from tests.builders.call_traces import trace_of
from tests.gui.fake_host import FakeHost
from tests.gui.panels.calls.conftest import SLICES
from viewer.codecs.reading import never_cancelled, no_progress
from viewer.formats import open_file
from viewer.gui.panels.calls import panel as calls_panel
from viewer.gui.panels.calls.answer import CallMode
from viewer.gui.panels.calls.panel import NOTHING, NOTHING_RAN, SHOW_CALLS, CallsPanel
from viewer.gui.panels.calls.texts import CallColumn
from viewer.gui.qt.background import BEING_COUNTED
from viewer.gui.session.choices import set_scheme
from viewer.gui.session.navigation import pick_run
from viewer.gui.session.session import Session
from viewer.model.inference_views import Inferences
from viewer.view.state import Area, SliceRef


def node(panel, *path):
    found = panel.answer.table.find(path)
    assert found is not None
    return found


def path_of(panel, number):
    return "/".join(panel.answer.table.path(number)) if number >= 0 else ""


def listed(panel):
    return [path_of(panel, number) for number in panel.table.listed_nodes()]


def slice_named(panel, name, which=0):
    trace = panel.answer.shown.trace
    return [i for i in range(len(trace.slices)) if trace.name(i) == name][which]


def plain(text):
    return text.replace("\u202f", " ").replace("\u2009", " ")


def menu_of(panel, number):
    menu = QMenu(panel)
    panel._fill_menu(menu, number)
    return {action.text(): action for action in menu.actions() if action.text()}


def test_the_first_calls_are_listed_below_the_graph(panel):
    assert listed(panel) == ["main", "main/run", "main/load"]
    assert panel.flame.box_at(panel.flame.center_of(node(panel, "main", "run")).toPointF()) == 1
    assert plain(panel.subtitle.text()) == "The whole trace · 6 calls"
    assert plain(panel.footer.text()) == (
        "Self adds up to 100 ns · Total includes what a call contains"
    )


def test_a_click_selects_the_slices_of_a_call_and_marks_it_in_both_views(panel, qtbot):
    at = panel.flame.center_of(node(panel, "main", "run", "conv"))
    qtbot.mouseClick(panel.flame.viewport(), Qt.MouseButton.LeftButton, pos=at)
    state = panel.session.state
    assert state.slice == SliceRef(0, slice_named(panel, "conv"))
    assert path_of(panel, panel.flame.marked) == "main/run/conv"
    assert path_of(panel, panel.table.marked) == "main/run/conv"


def test_a_slice_that_is_selected_elsewhere_is_marked(panel):
    panel.session.select_slice(SliceRef(0, slice_named(panel, "copy", 1)))
    first = path_of(panel, panel.table.marked)
    panel.session.select_slice(SliceRef(0, slice_named(panel, "copy", 0)))
    assert {first, path_of(panel, panel.table.marked)} == {"main/run/copy", "main/run/conv/copy"}
    assert panel.flame.marked == panel.table.marked
    panel.session.clear_selection()
    assert panel.flame.marked == panel.table.marked == -1


def test_bottom_up_a_caller_stays_marked_that_was_chosen(panel, qtbot):
    panel.modes.buttons[CallMode.BOTTOM_UP].click()
    copy = node(panel, "copy")
    panel.table.chosen.emit(copy)
    assert len(panel.session.state.slices) == 2
    assert path_of(panel, panel.table.marked) == "copy"
    panel.table.chosen.emit(node(panel, "copy", "conv"))
    assert len(panel.session.state.slices) == 1
    set_scheme(panel.session, "duration")
    assert path_of(panel, panel.table.marked) == "copy/conv"
    panel.session.select_slice(SliceRef(0, slice_named(panel, "load")))
    assert path_of(panel, panel.table.marked) == "load"


def test_a_search_lists_matches_and_says_their_share(panel):
    panel.filter.setText("copy")
    assert listed(panel) == [
        "main", "main/run", "main/run/conv", "main/run/conv/copy", "main/run/copy",
    ]  # fmt: skip
    assert plain(panel.subtitle.text()) == "2 calls · 15.0 % total"
    panel.filter.setText("no such")
    assert listed(panel) == []
    assert plain(panel.subtitle.text()) == "0 calls · 0.0 % total"
    panel.filter.clear()
    assert listed(panel) == ["main", "main/run", "main/load"]
    assert plain(panel.subtitle.text()) == "The whole trace · 6 calls"


def test_a_call_can_be_shown_alone_and_all_again(panel, qtbot):
    menu_of(panel, node(panel, "main", "run"))["Focus on this call"].trigger()
    assert listed(panel) == ["run", "run/conv", "run/copy"]
    assert plain(panel.footer.text()).startswith("Self adds up to 70 ns")
    menu_of(panel, node(panel, "run", "conv"))["Focus on this call"].trigger()
    assert listed(panel) == ["conv", "conv/copy"]
    panel.table.chosen.emit(node(panel, "conv"))
    assert panel.session.state.slice == SliceRef(0, slice_named(panel, "conv"))
    assert not panel.focus_button.isHidden()
    qtbot.keyClick(panel.flame, Qt.Key.Key_Escape)
    assert listed(panel)[0] == "main"
    assert panel.focus_button.isHidden()


def test_callers_of_a_name_are_shown_bottom_up(panel):
    menu_of(panel, node(panel, "main", "run", "copy"))["Show callers"].trigger()
    assert panel.mode is CallMode.BOTTOM_UP
    assert listed(panel) == ["copy", "copy/run", "copy/conv"]
    assert panel.modes.buttons[CallMode.BOTTOM_UP].isChecked()
    panel.modes.buttons[CallMode.TOP_DOWN].click()
    assert listed(panel) == ["main", "main/run", "main/load"]


def test_a_range_has_a_tree_of_its_own_and_keeps_what_is_open(panel):
    panel.table.open_rows([node(panel, "main", "run")])
    panel.flame.zoom_to(node(panel, "main", "run"))
    panel.session.select_area(Area(30, 60, frozenset({(0, 0)})))
    assert listed(panel) == ["main", "main/run", "main/run/conv"]
    assert path_of(panel, panel.flame.zoomed) == "main/run"
    assert "the selected range of 30 ns" in plain(panel.subtitle.text()).lower()
    panel.session.select_area(Area(100, 160, frozenset({(0, 0)})))
    assert panel.sentence in ("", NOTHING_RAN)
    panel.session.clear_selection()
    assert listed(panel)[:2] == ["main", "main/run"]


def test_rows_are_copied_with_their_paths(panel):
    panel.table.open_rows([node(panel, "main", "run")])
    panel.table.mark(node(panel, "main", "run", "copy"))
    panel.table.copy()
    assert QGuiApplication.clipboard().text() == (
        "Call\tPath\tTotal, ns\tSelf, ns\tCount\tMean, ns\ncopy\tmain > run\t10\t10\t1\t10\n"
    )
    actions = menu_of(panel, node(panel, "main", "run"))
    actions["Copy name"].trigger()
    assert QGuiApplication.clipboard().text() == "run"
    actions["Copy path"].trigger()
    assert QGuiApplication.clipboard().text() == "main > run"


def test_the_menu_of_a_box_selects_it_and_copies_its_row(panel, qtbot, monkeypatch):
    shown = []
    monkeypatch.setattr(QMenu, "popup", lambda menu, at: shown.append(menu))
    load = node(panel, "main", "load")
    at = panel.flame.center_of(load)
    event = QContextMenuEvent(
        QContextMenuEvent.Reason.Mouse, at, panel.flame.viewport().mapToGlobal(at)
    )
    QApplication.sendEvent(panel.flame.viewport(), event)
    (menu,) = shown
    assert panel.table.marked == load
    actions = {action.text(): action for action in menu.actions()}
    actions["Copy row as Markdown"].trigger()
    assert "| load | main | 20 | 20 | 1 | 20 |" in QGuiApplication.clipboard().text()
    actions["Zoom to this call"].trigger()
    assert panel.flame.zoomed == load


def test_enter_in_the_table_zooms_the_graph(panel, qtbot):
    panel.table.mark(node(panel, "main", "run"))
    qtbot.keyClick(panel.table, Qt.Key.Key_Return)
    assert path_of(panel, panel.flame.zoomed) == "main/run"
    assert not panel.zoom_button.isHidden()
    panel.zoom_button.click()
    assert panel.flame.shows_all
    assert panel.zoom_button.isHidden()


def test_the_file_of_the_selection_is_shown(show_trace):
    second = replace(trace_of(("t", "b", 0, 70)), path="second")
    panel = show_trace(trace_of(("t", "a", 0, 50)), second)
    assert listed(panel) == ["a"]
    panel.session.select_slice(SliceRef(1, 0))
    assert listed(panel) == ["b"]
    assert path_of(panel, panel.table.marked) == "b"
    panel.session.close_all()
    assert panel.sentence == NOTHING
    assert panel.model.rowCount() == 0


def test_a_linked_profile_has_trees_by_module_and_operator(linked):
    panel = linked
    shown = [mode for mode, button in panel.modes.buttons.items() if not button.isHidden()]
    assert set(shown) >= {CallMode.TOP_DOWN, CallMode.BOTTOM_UP, CallMode.OPERATOR}
    whole = panel.answer.whole
    panel.modes.buttons[CallMode.OPERATOR].click()
    assert panel.answer.whole == whole
    assert any("conv" in panel.answer.table.text(i) for i in range(len(panel.answer.table)))


def test_trees_that_a_trace_has_not_are_not_offered(panel):
    assert [mode for mode, button in panel.modes.buttons.items() if not button.isHidden()] == [
        CallMode.TOP_DOWN, CallMode.BOTTOM_UP,
    ]  # fmt: skip


def test_an_inference_has_a_tree_of_its_own(linked):
    panel = linked
    session = panel.session
    pick_run(session, None)
    calls = panel.answer.count
    run = next(i for i, r in enumerate(session.traces[0].trace.runs) if r.kind.name == "INFERENCE")
    pick_run(session, (0, run))
    assert 0 < panel.answer.count < calls


def test_a_call_whose_slices_lead_to_another_scope_is_marked_there(linked):
    panel, session = linked, linked.session
    runs = [i for i, r in enumerate(session.traces[0].trace.runs) if r.kind.name == "INFERENCE"]
    pick_run(session, (0, runs[0]))
    before, deepest = panel.answer, int(np.argmax(panel.answer.table.depth))
    path = panel.answer.table.path(deepest)
    other = panel.answer.tree.slices_of(panel.answer.numbers(deepest))[-1:]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(type(panel.answer.tree), "slices_of", lambda *_: other)
        panel.table.chosen.emit(deepest)
    assert panel.answer is not before
    assert session.state.slice == SliceRef(0, int(other[0]))
    assert panel.answer.table.path(panel.table.marked) == path


@pytest.mark.parametrize("view", [Inferences.ALIGNED, Inferences.TYPICAL])
def test_a_click_leads_to_the_slices_as_they_ran(linked, view):
    panel = linked
    panel.session.show_inferences(view)
    deepest = int(np.argmax(panel.answer.table.depth))
    panel.table.chosen.emit(deepest)
    assert panel.session.state.inferences is Inferences.AS_RUN
    assert panel.session.state.slice is not None
    assert panel.table.marked == deepest


def test_a_large_tree_is_searched_off_the_gui_thread(panel, qtbot, monkeypatch):
    monkeypatch.setattr(calls_panel, "_SEARCHED_AT_ONCE", 0)
    panel.filter.setText("copy")
    assert listed(panel) == ["main", "main/run", "main/load"]  # until the matches are there
    qtbot.waitUntil(lambda: plain(panel.subtitle.text()) == "2 calls · 15.0 % total")
    assert len(listed(panel)) == 5
    panel.filter.setText("load")
    panel.filter.clear()
    assert listed(panel) == ["main", "main/run", "main/load"]


def test_the_old_picture_stays_until_the_new_one_is_there(panel, qtbot, monkeypatch):
    monkeypatch.setattr(CallsPanel, "SYNC_LIMIT", 0)
    panel.modes.buttons[CallMode.BOTTOM_UP].click()
    assert panel.is_pending
    assert listed(panel) == ["main", "main/run", "main/load"]
    qtbot.waitUntil(lambda: not panel.is_pending)
    assert listed(panel)[0] == "conv"


def test_nothing_is_computed_before_the_panel_is_visible(make_panel, opened, monkeypatch):
    asked = []
    monkeypatch.setattr(calls_panel, "work_out", asked.append)
    session = opened()
    session.add([trace_of(("t", "a", 0, 50))])
    panel = make_panel(CallsPanel, session)
    session.workspace_changed.emit()
    assert panel.sentence == BEING_COUNTED
    assert asked == []
    session.close_all()
    assert panel.is_empty


def test_operators_of_a_record_start_by_module_and_other_traces_by_name(
    sample, opened, data, show_session
):
    assert show_session(sample("attention_xnnpack")).mode is CallMode.MODULE
    profile = opened(data / "chrome_json" / "torch_training.json.gz")
    assert show_session(profile).mode is CallMode.TOP_DOWN


def test_the_flame_graph_is_saved_as_svg_with_the_scope_of_the_panel(panel, tmp_path):
    path = tmp_path / "calls.svg"
    menu_of(panel, 0)["Save flame graph…"].trigger()
    *_, asked = panel.host.asked
    *_, job_of = asked
    assert job_of(str(path))(no_progress, never_cancelled) == len(panel.answer.table)
    text = plain(path.read_text())
    assert "The whole trace · 6 calls" in text
    assert text.count("<title>") == len(panel.answer.table) + 1
    assert text.count("Count ") == len(panel.answer.table), "no process or thread is shown"


def test_a_process_of_instants_alone_takes_no_rows(opened, data, show_session):
    panel = show_session(opened(data / "chrome_json" / "torch_training.json.gz"))
    assert panel.answer.table.text(0) == "train.py(51): <module>"


def test_bottom_up_a_search_keeps_the_callers_of_its_matches(panel, qtbot):
    panel.modes.buttons[CallMode.BOTTOM_UP].click()
    panel.filter.setText("copy")
    qtbot.waitUntil(lambda: panel.model.rows.matches is not None)
    copy = node(panel, "copy")
    assert panel.model.rowCount(panel.model.index_of(copy)) == 2


def test_showing_callers_ends_the_search(panel, qtbot):
    panel.filter.setText("conv")
    qtbot.waitUntil(lambda: panel.model.rows.matches is not None)
    panel.show_callers(node(panel, "main", "run", "conv"))
    assert panel.filter.text() == ""


@pytest.mark.parametrize(
    ("names", "comes"),
    [
        (["samples/p01.speedscope.json"], True),
        (["samples/p02_collapsed.txt"], True),
        (["samples/p02_collapsed.txt", "etdump/demo_str_x4.etdp"], False),
    ],
)
def test_files_of_samples_bring_calls_to_the_front(names, comes, theme, qtbot, data):
    host = FakeHost(Session(), theme)
    qtbot.addWidget(CallsPanel(host))
    host.session.add([open_file(str(data / name)) for name in names])
    assert (("show_panel", "calls") in host.asked) is comes


@pytest.mark.parametrize("mode", [CallMode.TOP_DOWN, CallMode.BOTTOM_UP])
def test_calls_of_samples_have_no_mean_next_to_calls_with_one(mode, show_trace, qtbot, data):
    panel = show_trace(open_file(str(data / "samples" / "p01.speedscope.json")))
    panel.modes.buttons[mode].click()
    qtbot.waitUntil(lambda: not panel.is_pending)
    texts, table = panel.table.model().rows, panel.answer.table
    column = texts.columns[-1]
    assert column is CallColumn.MEAN
    means = {"/".join(table.path(n)): plain(texts.cell(n, column)) for n in range(len(table))}
    if mode is CallMode.TOP_DOWN:
        assert means["MainThread/main"] == means["MainThread/main/load"] == "–"
        assert means["simple/main"] == "14.000 µs"
        number = next(n for n in range(len(table)) if table.path(n)[0] == "MainThread")
        assert "how many calls these were is not known" in texts.lines(number + 1)[-1]
    else:
        assert means["main"] == means["main/MainThread"] == "–"  # some of it was sampled
        assert means["main/simple"] == "14.000 µs"


def test_the_calls_of_many_slices_are_shown_when_asked_for(opened, show_panel, qtbot, monkeypatch):
    monkeypatch.setattr(calls_panel, "MOST_UNASKED", 3)
    session = opened()
    session.add([trace_of(*SLICES)])
    panel = show_panel(CallsPanel, session, 900, 500)
    buttons = [button.text() for button in panel.empty.findChildren(QPushButton)]
    assert buttons == [SHOW_CALLS]
    assert plain(panel.sentence) == (
        "The calls of 6 slices take some seconds and up to 600 B of memory."
    )
    assert panel.answer is None
    assert not panel.is_pending
    panel.empty.pressed.emit()
    qtbot.waitUntil(lambda: not panel.is_empty)
    assert listed(panel)[0] == "main"
    panel.refresh()
    assert not panel.is_empty
