"""The graph panel: it follows what is selected, walks without moving under the mouse, says why."""

import numpy as np
import pytest
from PySide6.QtCore import QPointF, Qt
from PySide6.QtGui import QColor, QGuiApplication
from PySide6.QtTest import QTest

from viewer.analysis.flows.dataflow import dataflow_of
from viewer.analysis.flows.neighborhood import Direction
from viewer.codecs.reading import never_cancelled, no_progress
from viewer.gui.panels.graph import panel as graph_panel
from viewer.gui.panels.graph.facts import NoCostFill
from viewer.gui.panels.graph.panel import NOTHING, UNLINKED, UNSELECTED, GraphPanel
from viewer.gui.qt.background import Latest
from viewer.gui.session.inferences import pick_run
from viewer.gui.session.selection import slices_of
from viewer.render.palette import RAMP, RAMP_STEPS, SLAB, contrast, fills, label_colors
from viewer.resources import SAMPLES
from viewer.view.state import SliceRef
from viewer.workspace.exports import NothingToExport

# Of the sample: ln1 → qkv → chunk → three views → three transposes → attention → transpose …
QKV, CHUNK, ATTENTION = 1, 2, 9
THIN = "\u202f"


def made(session, theme, qtbot, size=(760, 560)):
    panel = GraphPanel(session, theme)
    qtbot.addWidget(panel)
    panel.resize(*size)
    panel.show()
    qtbot.waitUntil(lambda: panel.is_empty or panel.view.picture is not None)
    return panel


@pytest.fixture
def panel(sample, theme, qtbot):
    return made(sample("attention_xnnpack"), theme, qtbot)


@pytest.fixture
def about_qkv(panel, qtbot):
    panel._session.select_operators(0, (QKV,))
    settle(qtbot, panel)
    return panel


def settle(qtbot, panel):
    qtbot.waitUntil(lambda: not any(x.pending for x in panel.findChildren(Latest)))


def operators(panel):
    return set(panel.view.picture.around.operators.tolist())


def node(panel, operator):
    picture = panel.view.picture
    return picture.nodes[picture.around.position[operator]]


def middle(panel, operator):
    place = panel.view.place_of(panel.view.picture.around.position[operator])
    return place.center().toPoint()


def click(panel, operator):
    QTest.mouseClick(panel.view, Qt.MouseButton.LeftButton, pos=middle(panel, operator))


def walk(panel, operator):
    """As the window system tells a double click: press, release, double click, release."""
    at = middle(panel, operator)
    QTest.mouseClick(panel.view, Qt.MouseButton.LeftButton, pos=at)
    QTest.mouseDClick(panel.view, Qt.MouseButton.LeftButton, pos=at)


def selected(panel):
    chosen = panel._session.state.operators
    return () if chosen is None else chosen[1]


def neighbors(panel, operator, hops):
    """By the record's edges alone, one after the other."""
    flow = dataflow_of(panel._session.traces[0].table.program)
    found = {operator}
    for _ in range(hops):
        found |= {int(n) for o in found for n in (*flow.inputs_of(o), *flow.outputs_of(o))}
    return found


# -- following ----------------------------------------------------------------------------------


def test_without_a_selection_a_sentence_says_what_to_do(panel):
    assert panel.is_empty
    assert panel.empty.sentence.text() == UNSELECTED


def test_it_is_about_the_selected_operator(about_qkv):
    assert not about_qkv.is_empty
    assert operators(about_qkv) == neighbors(about_qkv, QKV, 2)
    assert about_qkv.summary.text() == (
        f"blocks.0.qkv · linear: 1 producer, 1 consumer · {len(operators(about_qkv))} "
        "operators shown"
    )
    assert about_qkv.view.accessibleDescription() == about_qkv.summary.text()
    assert about_qkv.view.marked == {QKV}


def test_it_follows_a_slice_to_its_operators(panel, qtbot):
    session = panel._session
    calls = slices_of(session, 0, (ATTENTION,))
    alone = [i for i in calls.tolist() if session.traces[0].link(i).operators == (ATTENTION,)]
    session.select_slice(SliceRef(0, alone[0]))
    settle(qtbot, panel)
    assert operators(panel) == neighbors(panel, ATTENTION, 2)


def test_it_follows_the_call_of_a_delegate_to_all_its_operators(panel, qtbot):
    session = panel._session
    shared = next(i for i in range(len(session.traces[0].trace.slices))
                  if len(session.traces[0].link(i).operators) == 5)  # fmt: skip
    session.select_slice(SliceRef(0, shared))
    settle(qtbot, panel)
    members = set(session.traces[0].link(shared).operators)
    picture = panel.view.picture
    assert {picture.nodes[at].operator for at in picture.seeds} == members
    assert panel.summary.text().startswith("XnnpackBackend ")


def test_what_is_linked_to_nothing_is_said_to_be(panel):
    session = panel._session
    bare = next(i for i in range(len(session.traces[0].trace.slices))
                if not session.traces[0].link(i).operators)  # fmt: skip
    session.select_slice(SliceRef(0, bare))
    assert panel.is_empty
    assert panel.empty.sentence.text() == UNLINKED
    session.clear_selection()
    assert panel.empty.sentence.text() == UNSELECTED


def test_nothing_open_says_what_to_open(theme, qtbot, opened):
    panel = made(opened(), theme, qtbot)
    assert panel.empty.sentence.text() == NOTHING
    with qtbot.waitSignal(panel.open_dialog_requested):
        panel.empty.pressed.emit()


def test_a_profile_without_a_record_says_what_is_missing(theme, qtbot, opened, data):
    panel = made(opened(data / "etdump" / "attn_portable_x5.etdp"), theme, qtbot)
    assert "No record or source is open" in panel.empty.sentence.text()


def test_nothing_is_worked_out_while_it_is_hidden(panel, qtbot, monkeypatch):
    asked, work = [], graph_panel._work_out
    monkeypatch.setattr(graph_panel, "_work_out", lambda *of: (asked.append(of), work(*of))[1])
    panel.hide()
    panel._session.select_operators(0, (QKV,))
    panel._session.select_operators(0, (CHUNK,))
    assert not asked
    panel.show()
    qtbot.waitUntil(lambda: len(asked) == 1)
    settle(qtbot, panel)
    assert operators(panel) == neighbors(panel, CHUNK, 2)


def test_the_same_question_is_not_asked_twice(about_qkv, monkeypatch):
    asked, work = [], graph_panel._work_out
    monkeypatch.setattr(graph_panel, "_work_out", lambda *of: (asked.append(of), work(*of))[1])
    about_qkv.refresh()
    about_qkv._session.select_operators(0, (QKV,))
    assert not asked


def test_the_old_picture_stays_until_the_new_one_is_there(about_qkv, qtbot, monkeypatch):
    monkeypatch.setattr(graph_panel, "NODES_AT_ONCE", 0)
    old = about_qkv.view.picture
    about_qkv._session.select_operators(0, (30,))
    about_qkv._session.select_operators(0, (ATTENTION,))
    assert about_qkv.view.picture is old
    settle(qtbot, about_qkv)
    assert operators(about_qkv) == neighbors(about_qkv, ATTENTION, 2)


def test_what_is_being_laid_out_can_be_stopped(about_qkv, qtbot, monkeypatch):
    monkeypatch.setattr(graph_panel, "NODES_AT_ONCE", 0)
    old = about_qkv.view.picture
    assert not about_qkv.stop()
    about_qkv._session.select_operators(0, (30,))
    assert about_qkv.stop()
    settle(qtbot, about_qkv)
    assert about_qkv.view.picture is old
    about_qkv._session.select_operators(0, (ATTENTION,))
    settle(qtbot, about_qkv)
    assert operators(about_qkv) == neighbors(about_qkv, ATTENTION, 2)


# -- choosing and walking -----------------------------------------------------------------------


def test_a_click_selects_and_the_graph_stays(about_qkv):
    before, place = about_qkv.view.picture, middle(about_qkv, CHUNK)
    click(about_qkv, CHUNK)
    assert selected(about_qkv) == (CHUNK,)
    assert about_qkv.view.picture is before
    assert middle(about_qkv, CHUNK) == place
    assert about_qkv.view.marked == {CHUNK}


def test_the_same_operator_selected_elsewhere_is_what_the_graph_is_about(about_qkv, qtbot):
    click(about_qkv, CHUNK)
    about_qkv._session.clear_selection()
    about_qkv._session.select_operators(0, (CHUNK,))
    settle(qtbot, about_qkv)
    assert operators(about_qkv) == neighbors(about_qkv, CHUNK, 2)


def test_a_double_click_walks_and_back_returns(about_qkv, qtbot):
    walk(about_qkv, CHUNK)
    settle(qtbot, about_qkv)
    assert selected(about_qkv) == (CHUNK,)
    assert operators(about_qkv) == neighbors(about_qkv, CHUNK, 2)
    about_qkv._session.go_back()
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
    layout, at = view.picture.layout, view.picture.around.position
    if beside == one:  # the middle one has neighbors on both sides
        QTest.keyClick(view, Qt.Key.Key_Left)
        beside = selected(about_qkv)[0]
    assert beside != one
    assert layout.y[at[beside]] == pytest.approx(layout.y[at[one]])
    QTest.keyClick(view, Qt.Key.Key_Return)
    settle(qtbot, about_qkv)
    assert operators(about_qkv) == neighbors(about_qkv, beside, 2)


def test_hops_and_direction_change_what_is_shown(about_qkv, qtbot):
    about_qkv.hops.setValue(1)
    settle(qtbot, about_qkv)
    assert operators(about_qkv) == neighbors(about_qkv, QKV, 1)
    about_qkv.direction.setCurrentIndex(about_qkv.direction.findData(Direction.CONSUMERS))
    settle(qtbot, about_qkv)
    assert operators(about_qkv) == {QKV, CHUNK}


def test_the_delegate_of_an_operator_is_shown_as_a_whole(about_qkv, qtbot):
    about_qkv._session.select_operators(0, (3,))
    about_qkv.delegate.setChecked(True)
    settle(qtbot, about_qkv)
    program = about_qkv._session.traces[0].table.program
    method = program.methods[0]
    handle = program.operators[3].debug_handle
    together = {
        method.by_handle[h].index
        for instruction in method.delegates
        if handle in method.handles[instruction]
        for h in method.handles[instruction]
    }
    picture = about_qkv.view.picture
    assert {picture.nodes[at].operator for at in picture.seeds} == together
    assert all(picture.nodes[at].tag.startswith("Xnnpack ") for at in picture.seeds)


def test_an_operator_in_no_delegate_says_so(about_qkv):
    outside = next(o for o in range(38) if not any(o in i.operators for i in about_qkv._instances))
    about_qkv._session.select_operators(0, (outside,))
    assert not about_qkv.delegate.isEnabled()
    assert about_qkv.delegate.toolTip() == "This operator went into no delegate"


def test_the_whole_model_needs_no_selection(panel, qtbot):
    panel.empty.pressed.emit()
    settle(qtbot, panel)
    assert panel.whole.isChecked()
    assert operators(panel) == set(range(38))
    click(panel, CHUNK) if panel.view.rect().contains(middle(panel, CHUNK)) else None
    panel._session.select_operators(0, (QKV,))
    settle(qtbot, panel)
    assert not panel.whole.isChecked()
    assert operators(panel) == neighbors(panel, QKV, 2)


def test_of_a_record_alone_the_model_is_shown_and_walked(theme, qtbot, opened, attention_record):
    panel = made(opened(attention_record), theme, qtbot)
    settle(qtbot, panel)
    assert len(operators(panel)) == 38
    assert {n.fill for n in panel.view.picture.nodes} == {NoCostFill.PLAIN}
    panel._walk(CHUNK)
    settle(qtbot, panel)
    program = panel._session.workspace.programs[0]
    found = {CHUNK}
    for _ in range(2):
        flow = dataflow_of(program)
        found |= {int(n) for o in found for n in (*flow.inputs_of(o), *flow.outputs_of(o))}
    assert operators(panel) == found
    panel.show_whole()
    settle(qtbot, panel)
    assert len(operators(panel)) == 38


def test_what_does_not_fit_is_said(panel, qtbot, monkeypatch):
    few = graph_panel.neighborhood
    monkeypatch.setattr(graph_panel, "neighborhood", lambda *of: few(*of, most=5))
    panel.show_whole()
    settle(qtbot, panel)
    assert panel.note.text() == "5 of 38 operators are shown, the dearest first."


def test_a_record_that_does_not_say_the_edges_says_so(theme, qtbot, opened, data):
    panel = made(opened(data / "etrecord" / "broken_partial_save.etrecord"), theme, qtbot)
    settle(qtbot, panel)
    assert "The record has no graph of this method" in panel.note.text()


# -- costs --------------------------------------------------------------------------------------


def test_costs_are_those_of_the_operators_panel(about_qkv, qtbot):
    about_qkv._session.select_operators(0, (ATTENTION,))
    settle(qtbot, about_qkv)
    dear = node(about_qkv, ATTENTION)
    assert dear.cost.replace(THIN, " ") == "8.544 µs · 15.5 % + shared"
    assert dear.fill == RAMP + RAMP_STEPS - 1  # the dearest of the run
    program = about_qkv._session.traces[0].table.program
    transposes = [n for n in about_qkv.view.picture.nodes
                  if program.operators[n.operator].op == "transpose"]  # fmt: skip
    assert {n.fill for n in transposes} == {SLAB}
    assert {n.cost.replace(THIN, " ") for n in transposes} >= {"2.774 µs shared by 5"}
    assert about_qkv.scale.accessibleName().replace(THIN, " ") == (
        "Colour by own time, 0 to 8.544 µs, shared"
    )


def test_another_run_has_other_costs_and_the_picture_stays(about_qkv, qtbot):
    view = about_qkv.view
    view.zoom(1.3)
    before, scale, place = node(about_qkv, QKV).cost, view.scale, middle(about_qkv, QKV)
    pick_run(about_qkv._session, (0, 1))  # the first inference, the cold one
    qtbot.waitUntil(lambda: node(about_qkv, QKV).cost != before)
    assert (view.scale, middle(about_qkv, QKV)) == (scale, place)


def test_no_time_there_and_never_linked_are_told_apart(theme, qtbot, opened, data):
    corpus = data / "etdump" / "cond_portable_x5.etdp", data / "etrecord"
    panel = made(opened(corpus[0], corpus[1] / "cond_toedge_portable.etrecord"), theme, qtbot)
    panel.show_whole()
    settle(qtbot, panel)
    costs = panel._costed[1]
    for each in panel.view.picture.nodes:
        own, shared = costs.own[each.operator], costs.shared[each.operator]
        if own < 0 and shared < 0:
            is_linked = bool(costs.linked[each.operator])
            assert each.fill is (NoCostFill.IDLE if is_linked else NoCostFill.UNLINKED)
            assert each.cost == ("no time here" if is_linked else "not linked")


def test_tooltips_tell_tensors_and_cost(about_qkv):
    position = about_qkv.view.picture.around.position[QKV]
    said = about_qkv._node_tip(position).replace(THIN, " ")
    assert said.splitlines()[0] == "blocks.0.qkv · linear"
    assert "2.083 µs of its own, 3.8 % in run 2 of 5" in said
    assert "takes 2 parameters or constants of the model" in said
    around = about_qkv.view.picture.around
    edge = next(
        i for i, (a, b) in enumerate(zip(around.producer, around.consumer, strict=True))
        if (around.operators[a], around.operators[b]) == (QKV, CHUNK)
    )  # fmt: skip
    said = about_qkv._edge_tip(edge)
    assert said.splitlines()[0] == "blocks.0.qkv · linear → blocks.0 · chunk"
    assert "f32  1 × 8 × 96" in said


@pytest.mark.parametrize("dark", [True, False])
def test_labels_are_legible_on_every_fill(dark):
    for fill in (SLAB, *range(RAMP, RAMP + RAMP_STEPS)):
        assert contrast(fills(dark)[fill], label_colors(dark)[fill]) >= 4.5


# -- drawing ------------------------------------------------------------------------------------


@pytest.mark.parametrize("choice", ["dark", "light"])
def test_both_themes_paint_the_nodes_in_their_fills(about_qkv, theme, choice):
    theme.set_choice(choice)
    view = about_qkv.view
    picture = view.grab().toImage()
    place = view.place_of(view.picture.around.position[QKV])
    # Right of the text, inside of the outline.
    spot = QPointF(place.right() - 6, place.bottom() - 6).toPoint()
    ratio = picture.devicePixelRatio()
    shown = picture.pixelColor(spot * ratio)
    assert shown == QColor.fromRgb(fills(theme.dark)[node(about_qkv, QKV).fill])


def test_what_fits_is_shown_whole_when_it_comes(about_qkv):
    for position in range(len(about_qkv.view.picture.nodes)):
        place = about_qkv.view.place_of(position).toRect()
        assert about_qkv.view.rect().contains(place)


def test_what_would_be_too_small_to_read_is_shown_in_part_and_f_shows_all(panel, qtbot):
    panel.show_whole()
    settle(qtbot, panel)
    view = panel.view
    assert view.scale > 0.8
    QTest.keyClick(view, Qt.Key.Key_F)
    assert view.scale < 0.8
    assert all(
        view.rect().contains(view.place_of(at).toRect()) for at in range(len(view.picture.nodes))
    )
    QTest.keyClick(view, Qt.Key.Key_0)
    assert view.scale == pytest.approx(1.0)
    QTest.keyClick(view, Qt.Key.Key_Plus)
    QTest.keyClick(view, Qt.Key.Key_Minus)
    assert view.scale == pytest.approx(1.0)


def test_zoom_keeps_what_is_under_the_mouse(about_qkv):
    view = about_qkv.view
    at = QPointF(middle(about_qkv, CHUNK))
    view.zoom(1.5, at)
    assert view.node_at(at) == view.picture.around.position[CHUNK]
    moved = QPointF(middle(about_qkv, CHUNK)) - at
    assert max(abs(moved.x()), abs(moved.y())) <= 1


def test_a_drag_moves_the_picture_and_selects_nothing(about_qkv):
    view = about_qkv.view
    start = middle(about_qkv, CHUNK)
    before = QPointF(start)
    QTest.mousePress(view, Qt.MouseButton.LeftButton, pos=start)
    QTest.mouseMove(view, start + QPointF(30, 20).toPoint())
    QTest.mouseMove(view, start + QPointF(60, 40).toPoint())
    QTest.mouseRelease(view, Qt.MouseButton.LeftButton, pos=start + QPointF(60, 40).toPoint())
    moved = QPointF(middle(about_qkv, CHUNK)) - before
    assert moved.x() > 20
    assert selected(about_qkv) == (QKV,)


def test_a_wide_and_low_room_has_producers_on_the_left(about_qkv, qtbot):
    about_qkv.resize(1200, 330)
    settle(qtbot, about_qkv)
    qtbot.waitUntil(lambda: about_qkv.view.picture.across)
    layout, at = about_qkv.view.picture.layout, about_qkv.view.picture.around.position
    assert layout.x[at[QKV]] < layout.x[at[CHUNK]]
    about_qkv.resize(420, 900)
    qtbot.waitUntil(lambda: not about_qkv.view.picture.across)
    layout = about_qkv.view.picture.layout
    assert layout.y[at[QKV]] < layout.y[at[CHUNK]]


def test_the_mouse_finds_nodes_and_lines(about_qkv):
    view = about_qkv.view
    around, layout = view.picture.around, view.picture.layout
    for edge in range(len(around.producer)):
        line = layout.points[layout.ptr[edge] : layout.ptr[edge + 1]]
        middle_of_line = QPointF(*np.mean(line[:2], axis=0)) * view.scale + view._origin
        assert view.edge_at(middle_of_line) >= 0
    assert view.edge_at(QPointF(3, 3)) == -1
    assert view.node_at(QPointF(3, 3)) == -1


def test_a_copy_is_all_of_the_picture(about_qkv):
    about_qkv.copy()
    image = QGuiApplication.clipboard().image()
    layout = about_qkv.view.picture.layout
    assert image.width() >= 2 * layout.width
    assert image.height() >= 2 * layout.height


@pytest.mark.parametrize(("name", "begins"), [("a.png", b"\x89PNG\r\n"), ("a.svg", b"<?xml")])
def test_the_picture_is_written_whole(about_qkv, tmp_path, name, begins):
    path = tmp_path / name
    count = about_qkv.job_of(str(path))(no_progress, never_cancelled)
    assert count == len(operators(about_qkv))
    assert path.read_bytes().startswith(begins)


def test_without_a_graph_there_is_nothing_to_save(panel):
    with pytest.raises(NothingToExport, match="no graph"):
        panel.job_of("a.png")


def test_every_control_has_a_name(panel):
    controls = (panel.hops, panel.direction, panel.delegate, panel.whole, panel.copy_button,
                panel.save_button, panel.fit_button, panel.view)  # fmt: skip
    assert all(control.accessibleName() for control in controls)


def test_names_from_files_are_drawn_as_one_line_of_bounded_length(theme, qtbot, opened):
    """A record may hold any text: markup, lines, a million letters."""
    from viewer.program.dataflow import MethodFlow
    from viewer.program.program import GraphNode, Method, Operator, Program

    names = ("<b>bold</b>\nnext", "x" * 1_000_000)
    found = tuple(
        Operator(i, "forward", i, (GraphNode(name, name, i, modules=((name, name),)),))
        for i, name in enumerate(names)
    )
    method = Method("forward", found, flow=MethodFlow((1,), (0,)))
    session = opened()
    session.add([Program("/m/hostile.etrecord", "ETRecord", "1", (method,))])
    panel = made(session, theme, qtbot)
    settle(qtbot, panel)
    assert len(panel.view.picture.nodes) == 2
    for position, drawn in enumerate(panel.view.picture.nodes):
        assert len(drawn.name) <= 130
        assert "\n" not in drawn.name + drawn.place
        assert len(panel._node_tip(position)) < 1000
    panel.view.grab()


def test_an_operator_of_another_record_is_not_looked_for_in_the_one_before(opened, theme, qtbot):
    keys = ("attention_xnnpack", "delegate_handle_map")
    session = opened(*(path for s in SAMPLES if s.key in keys for path in s.paths()))
    last = [len(shown.table.program.operators) - 1 for shown in session.traces]
    assert last[0] != last[1]
    panel = made(session, theme, qtbot)
    for trace in (0, 1, 0, 1):
        session.select_operators(trace, (last[trace],))
        settle(qtbot, panel)
        assert last[trace] in operators(panel)
