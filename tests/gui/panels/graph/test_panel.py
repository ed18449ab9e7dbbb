"""The graph panel: it follows what is selected, walks without moving under the mouse, says why."""

from PySide6.QtCore import QPointF, Qt
from PySide6.QtTest import QTest

from tests.gui.panels.graph.picture import (
    ATTENTION,
    CHUNK,
    QKV,
    THIN,
    click,
    leaf,
    marked,
    middle,
    neighbors,
    node,
    operators,
    seeds,
    selected,
    settle,
    walk,
)
from viewer.analysis.flows.dataflow import Direction, dataflow_of
from viewer.gui.panels.graph import panel as graph_panel
from viewer.gui.panels.graph import question as graph_question
from viewer.gui.panels.graph.controls import GraphMode
from viewer.gui.panels.graph.measures import MeasureKind, NoCostFill
from viewer.gui.panels.graph.panel import NOTHING, UNLINKED, UNSELECTED, GraphPanel
from viewer.gui.panels.graph.question import edge_tip, node_tip
from viewer.gui.session.navigation import pick_run
from viewer.gui.session.selection import slices_of
from viewer.render.palette import HEAT, HEAT_STEPS, SLAB
from viewer.resources import SAMPLES
from viewer.view.state import SliceRef

# -- following ----------------------------------------------------------------------------------


def test_a_small_model_is_shown_whole_on_open(panel):
    assert not panel.is_empty
    assert panel.controls.is_whole
    assert operators(panel) == set(range(38))


def test_a_large_model_waits_for_a_selection(sample, show_graph, monkeypatch):
    monkeypatch.setattr(graph_panel, "WHOLE_BELOW", 38)
    panel = show_graph(sample("attention_xnnpack"))
    assert panel.is_empty
    assert panel.sentence == UNSELECTED


def test_without_a_selection_a_sentence_says_what_to_do(around):
    assert around.is_empty
    assert around.sentence == UNSELECTED


def test_it_is_about_the_selected_operator(about_qkv):
    assert not about_qkv.is_empty
    assert operators(about_qkv) == neighbors(about_qkv, QKV, 2)
    assert about_qkv.foot.summary.text() == (
        f"blocks.0.qkv · linear: 1 producer, 1 consumer · {len(operators(about_qkv))} "
        "operators shown"
    )
    assert about_qkv.view.accessibleDescription() == about_qkv.foot.summary.text()
    assert marked(about_qkv) == {QKV}


def test_it_follows_a_slice_to_its_operators(around, qtbot):
    panel, session = around, around.session
    calls = slices_of(session, 0, (ATTENTION,))
    alone = [i for i in calls.tolist() if session.traces[0].link(i).operators == (ATTENTION,)]
    session.select_slice(SliceRef(0, alone[0]))
    settle(qtbot, panel)
    assert operators(panel) == neighbors(panel, ATTENTION, 2)


def test_it_follows_the_call_of_a_delegate_to_all_its_operators(around, qtbot):
    panel, session = around, around.session
    shared = next(i for i in range(len(session.traces[0].trace.slices))
                  if len(session.traces[0].link(i).operators) == 5)  # fmt: skip
    session.select_slice(SliceRef(0, shared))
    settle(qtbot, panel)
    members = set(session.traces[0].link(shared).operators)
    assert seeds(panel) == members
    assert panel.foot.summary.text().startswith("Xnnpack · call 2 of 10: ")


def test_what_is_linked_to_nothing_is_said_to_be(around):
    panel, session = around, around.session
    bare = next(i for i in range(len(session.traces[0].trace.slices))
                if not session.traces[0].link(i).operators)  # fmt: skip
    session.select_slice(SliceRef(0, bare))
    assert panel.is_empty
    assert panel.sentence == UNLINKED
    session.clear_selection()
    assert panel.sentence == UNSELECTED


def test_nothing_open_says_what_to_open(show_graph, opened):
    panel = show_graph(opened())
    assert panel.sentence == NOTHING
    panel.empty.pressed.emit()
    assert panel.host.asked == [("open_files",)]


def test_a_profile_without_a_record_says_what_is_missing(show_graph, opened, data):
    panel = show_graph(opened(data / "etdump" / "attn_portable_x5.etdp"))
    assert "Open the ETRecord that matches attn_portable_x5.etdp" in panel.sentence


def test_nothing_is_worked_out_while_it_is_hidden(around, qtbot, monkeypatch):
    panel = around
    asked, work = [], graph_panel.work_out
    monkeypatch.setattr(graph_panel, "work_out", lambda *of: (asked.append(of), work(*of))[1])
    panel.hide()
    panel.session.select_operators(0, (QKV,))
    panel.session.select_operators(0, (CHUNK,))
    assert not asked
    panel.show()
    qtbot.waitUntil(lambda: len(asked) == 1)
    settle(qtbot, panel)
    assert operators(panel) == neighbors(panel, CHUNK, 2)


def test_the_same_question_is_not_asked_twice(about_qkv, monkeypatch):
    asked, work = [], graph_panel.work_out
    monkeypatch.setattr(graph_panel, "work_out", lambda *of: (asked.append(of), work(*of))[1])
    about_qkv.refresh()
    about_qkv.session.select_operators(0, (QKV,))
    assert not asked


def test_the_old_picture_stays_until_the_new_one_is_there(about_qkv, qtbot, monkeypatch):
    monkeypatch.setattr(GraphPanel, "SYNC_LIMIT", 0)
    old = about_qkv.view.picture
    about_qkv.session.select_operators(0, (30,))
    about_qkv.session.select_operators(0, (ATTENTION,))
    assert about_qkv.view.picture is old
    settle(qtbot, about_qkv)
    assert operators(about_qkv) == neighbors(about_qkv, ATTENTION, 2)


def test_what_is_being_laid_out_can_be_stopped(about_qkv, qtbot, monkeypatch):
    monkeypatch.setattr(GraphPanel, "SYNC_LIMIT", 0)
    old = about_qkv.view.picture
    assert not about_qkv.stop()
    about_qkv.session.select_operators(0, (30,))
    assert about_qkv.stop()
    settle(qtbot, about_qkv)
    assert about_qkv.view.picture is old
    about_qkv.session.select_operators(0, (ATTENTION,))
    settle(qtbot, about_qkv)
    assert operators(about_qkv) == neighbors(about_qkv, ATTENTION, 2)


# -- choosing and walking -----------------------------------------------------------------------


def test_a_click_selects_and_the_graph_stays(about_qkv):
    before, place = about_qkv.view.picture, middle(about_qkv, CHUNK)
    click(about_qkv, CHUNK)
    assert selected(about_qkv) == (CHUNK,)
    assert about_qkv.view.picture is before
    assert middle(about_qkv, CHUNK) == place
    assert marked(about_qkv) == {CHUNK}


def test_the_same_operator_selected_elsewhere_is_what_the_graph_is_about(about_qkv, qtbot):
    click(about_qkv, CHUNK)
    about_qkv.session.clear_selection()
    about_qkv.session.select_operators(0, (CHUNK,))
    settle(qtbot, about_qkv)
    assert operators(about_qkv) == neighbors(about_qkv, CHUNK, 2)


def test_a_double_click_walks_and_back_returns(about_qkv, qtbot):
    walk(about_qkv, CHUNK)
    settle(qtbot, about_qkv)
    assert selected(about_qkv) == (CHUNK,)
    assert operators(about_qkv) == neighbors(about_qkv, CHUNK, 2)
    about_qkv.session.go_back()
    settle(qtbot, about_qkv)
    assert selected(about_qkv) == (QKV,)
    assert operators(about_qkv) == neighbors(about_qkv, QKV, 2)


def test_arrow_keys_go_along_the_lines_and_enter_walks(about_qkv, qtbot):
    view = about_qkv.view
    view.setFocus()
    assert not view.picture.across  # the room is about as tall as wide: producers are above
    QTest.keyClick(view, Qt.Key.Key_Down)
    assert selected(about_qkv) == (CHUNK,)
    QTest.keyClick(view, Qt.Key.Key_Up)
    assert selected(about_qkv) == (QKV,)
    QTest.keyClick(view, Qt.Key.Key_Down)
    QTest.keyClick(view, Qt.Key.Key_Down)
    one = selected(about_qkv)[0]
    QTest.keyClick(view, Qt.Key.Key_Right)
    beside = selected(about_qkv)[0]
    if beside == one:  # the middle one has neighbors on both sides
        QTest.keyClick(view, Qt.Key.Key_Left)
        beside = selected(about_qkv)[0]
    assert beside != one
    assert middle(about_qkv, beside).y() == middle(about_qkv, one).y()
    QTest.keyClick(view, Qt.Key.Key_Return)
    settle(qtbot, about_qkv)
    assert operators(about_qkv) == neighbors(about_qkv, beside, 2)


def test_hops_and_direction_change_what_is_shown(about_qkv, qtbot):
    about_qkv.controls.hops.setValue(1)
    settle(qtbot, about_qkv)
    assert operators(about_qkv) == neighbors(about_qkv, QKV, 1)
    about_qkv.controls.direction.setCurrentIndex(
        about_qkv.controls.direction.findData(Direction.CONSUMERS)
    )
    settle(qtbot, about_qkv)
    assert operators(about_qkv) == {QKV, CHUNK}


def test_backspace_closes_nothing_in_a_neighborhood(about_qkv, qtbot):
    before = about_qkv.view.picture
    about_qkv.view.setFocus()
    QTest.keyClick(about_qkv.view, Qt.Key.Key_Backspace)
    settle(qtbot, about_qkv)
    assert about_qkv.view.picture is before


def test_a_search_moves_the_neighborhood(about_qkv, qtbot):
    search = about_qkv.controls.search
    search.field.setText("chunk")
    before = about_qkv.view.picture
    QTest.keyClick(search.field, Qt.Key.Key_Return)  # it is in view
    settle(qtbot, about_qkv)
    assert (selected(about_qkv), about_qkv.view.picture) == ((CHUNK,), before)
    QTest.keyClick(search.field, Qt.Key.Key_Return)  # that of the other block
    settle(qtbot, about_qkv)
    (other,) = selected(about_qkv)
    assert operators(about_qkv) == neighbors(about_qkv, other, 2)
    assert CHUNK not in operators(about_qkv)


def test_a_neighborhood_has_the_colors_and_the_map_of_the_whole_model(partly, qtbot):
    view = partly.view
    first = int(view.picture.tree.operator[view.picture.boxes[0]])
    partly.controls.kinds.buttons[MeasureKind.MEMORY].click()
    settle(qtbot, partly)
    whole = node(partly, first).figure, node(partly, first).fill
    view.walked.emit(first)
    settle(qtbot, partly)
    assert not partly.controls.is_whole
    assert (node(partly, first).figure, node(partly, first).fill) == whole
    assert not view.minimap.isVisible()
    view.zoom(4.0, QPointF(0, 0))
    view.grab()
    assert view.minimap.isVisible()


def test_the_delegate_of_an_operator_is_shown_as_a_whole(about_qkv, qtbot):
    about_qkv.session.select_operators(0, (3,))
    about_qkv.controls.delegate.setChecked(True)
    settle(qtbot, about_qkv)
    program = about_qkv.session.traces[0].table.program
    method = program.methods[0]
    handle = program.operators[3].debug_handle
    together = {
        method.by_handle[h].index
        for instruction in method.delegates
        if handle in method.handles[instruction]
        for h in method.handles[instruction]
    }
    assert seeds(about_qkv) == together
    tags = {node(about_qkv, operator).tag for operator in together}
    assert tags == {"Xnnpack 2/10"}


def test_an_operator_in_no_delegate_says_so(about_qkv):
    outside = next(
        o
        for o in range(38)
        if not any(o in call.operators for call in about_qkv.answer.question.calls)
    )
    about_qkv.session.select_operators(0, (outside,))
    assert not about_qkv.controls.delegate.isEnabled()
    assert about_qkv.controls.delegate.toolTip() == "This operator is not delegated"


def test_the_whole_model_needs_no_selection(around, qtbot):
    panel = around
    panel.empty.pressed.emit()
    settle(qtbot, panel)
    assert panel.controls.is_whole
    assert set(panel.answer.model.tree.inside(0).tolist()) == set(range(38))
    panel.session.select_operators(0, (QKV,))
    settle(qtbot, panel)
    assert panel.controls.is_whole  # it stays, and the operator is marked
    assert marked(panel) == {QKV}
    panel.controls.modes.buttons[GraphMode.NEIGHBORHOOD].click()
    settle(qtbot, panel)
    assert operators(panel) == neighbors(panel, QKV, 2)


def test_of_a_record_alone_the_model_is_shown_and_walked(
    show_graph, qtbot, opened, attention_record
):
    panel = show_graph(opened(attention_record))
    settle(qtbot, panel)
    assert panel.controls.is_whole
    looks = panel.view.picture.looks
    assert {look.fill for look in looks.values()} == {NoCostFill.PLAIN}
    panel.view.walked.emit(CHUNK)
    settle(qtbot, panel)
    assert not panel.controls.is_whole
    program = panel.session.workspace.programs[0]
    found = {CHUNK}
    for _ in range(2):
        flow = dataflow_of(program)
        found |= {int(n) for o in found for n in (*flow.inputs_of(o), *flow.outputs_of(o))}
    assert operators(panel) == found


def test_what_does_not_fit_is_said(around, qtbot, monkeypatch):
    panel = around
    few = graph_question.neighborhood
    monkeypatch.setattr(
        graph_question, "neighborhood", lambda *of, best: few(*of, most=5, best=best)
    )
    panel.session.select_operators(0, tuple(range(38)))
    settle(qtbot, panel)
    assert panel.foot.note.text() == "5 of 38 operators are shown, the most expensive first."


def test_a_record_that_does_not_say_the_edges_says_so(show_graph, qtbot, opened, data):
    panel = show_graph(opened(data / "etrecord" / "broken_partial_save.etrecord"))
    settle(qtbot, panel)
    assert "The ETRecord has no graph of this method" in panel.foot.note.text()


# -- costs --------------------------------------------------------------------------------------


def test_costs_are_those_of_the_operators_panel(about_qkv, qtbot):
    about_qkv.session.select_operators(0, (ATTENTION,))
    settle(qtbot, about_qkv)
    dear = node(about_qkv, ATTENTION)
    assert dear.figure.replace(THIN, " ") == "8.544 µs · 15.5 % + shared"
    assert dear.fill == HEAT + HEAT_STEPS - 1  # the dearest of the run
    program = about_qkv.session.traces[0].table.program
    transposes = [node(about_qkv, o) for o in operators(about_qkv)
                  if program.operators[o].op == "transpose"]  # fmt: skip
    assert {look.fill for look in transposes} == {SLAB}
    assert {look.figure.replace(THIN, " ") for look in transposes} >= {"2.774 µs shared by 5"}
    assert about_qkv.foot.legend.accessibleName().replace(THIN, " ") == (
        "Color by Time, 0 to 8.544 µs, shared"
    )


def test_another_run_has_other_costs_and_the_picture_stays(about_qkv, qtbot):
    view = about_qkv.view
    view.zoom(1.3)
    before, scale, place = node(about_qkv, QKV).figure, view.scale, middle(about_qkv, QKV)
    pick_run(about_qkv.session, (0, 1))  # the first inference, the cold one
    qtbot.waitUntil(lambda: node(about_qkv, QKV).figure != before)
    assert (view.scale, middle(about_qkv, QKV)) == (scale, place)


def test_no_time_there_and_never_linked_are_told_apart(show_graph, qtbot, opened, data):
    corpus = data / "etdump" / "cond_portable_x5.etdp", data / "etrecord"
    panel = show_graph(opened(corpus[0], corpus[1] / "cond_toedge_portable.etrecord"))
    count = len(panel.session.traces[0].table.program.operators)
    panel.session.select_operators(0, tuple(range(count)))
    settle(qtbot, panel)
    figures, values = panel.answer.question.figures, panel.answer.values
    for operator in operators(panel):
        look, number = node(panel, operator), leaf(panel, operator)
        if not values.has[number] and not values.sets[number]:
            is_linked = bool(figures.linked[operator])
            assert look.fill is (NoCostFill.IDLE if is_linked else NoCostFill.UNLINKED)
            assert look.figure == ("no time in this range" if is_linked else "not linked")


def test_tooltips_tell_tensors_and_cost(about_qkv):
    said = node_tip(about_qkv.answer, leaf(about_qkv, QKV)).replace(THIN, " ")
    assert said.splitlines()[0] == "blocks.0.qkv · linear"
    assert "2.083 µs self, 3.8 % in run 2 of 5" in said
    assert "input: 2 parameters or constants of the model" in said
    edges, ends = about_qkv.answer.layout.edges, (leaf(about_qkv, QKV), leaf(about_qkv, CHUNK))
    edge = list(zip(edges.source.tolist(), edges.target.tolist(), strict=True)).index(ends)
    said = edge_tip(about_qkv.answer, edge)
    assert said.splitlines()[0] == "blocks.0.qkv · linear → blocks.0 · chunk"
    assert "f32  1 × 8 × 96" in said


def test_an_operator_of_another_record_is_not_looked_for_in_the_one_before(
    opened, show_graph, qtbot
):
    keys = ("attention_xnnpack", "delegate_handle_map")
    session = opened(*(path for s in SAMPLES if s.key in keys for path in s.paths()))
    last = [len(shown.table.program.operators) - 1 for shown in session.traces]
    assert last[0] != last[1]
    panel = show_graph(session)
    for trace in (0, 1, 0, 1):
        session.select_operators(trace, (last[trace],))
        settle(qtbot, panel)
        assert last[trace] in operators(panel)
