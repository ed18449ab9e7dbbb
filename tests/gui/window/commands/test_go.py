"""Flows in the window: keys that step along them, arrows, back and forward; focus of panels."""

import json

import numpy as np
import pytest
from PySide6.QtCore import QPoint, Qt
from PySide6.QtGui import QContextMenuEvent
from PySide6.QtWidgets import QApplication, QMenu

from tests.gui.events import SAMPLE, settle
from viewer.gui.qt.settings import FLOWS, Settings
from viewer.gui.session.feeds.selection import FlowFeed
from viewer.model.trace import KeyKind
from viewer.view.state import SliceRef

# Which arrows are drawn: decided when it is painted.
PAINTS = True

Key = Qt.Key
CTRL, ALT = Qt.KeyboardModifier.ControlModifier, Qt.KeyboardModifier.AltModifier


@pytest.fixture
def attention(attention):
    attention.timeline.view.setFocus()
    return attention


def call(controller, operators, run=2):
    """The call of these operators in a run."""
    shown = controller.session.traces[0]
    trace, inference = shown.trace, shown.trace.runs[run]
    return next(
        SliceRef(0, i) for i in range(len(trace.slices))
        if shown.link(i).operators == operators
        and inference.start <= trace.slices.start[i] < inference.end
        and trace.keys.kind[trace.slices.key[i]] != KeyKind.KERNEL
    )  # fmt: skip


def selected(controller):
    ref = controller.session.state.slice
    return controller.session.traces[0].link(ref.index).operators


def ends(controller, *, forward):
    answer = FlowFeed.of(controller.session).answer
    return [SliceRef(0, e.slice) for e in answer.flows.ends(forward=forward)]


def begin(controller, ref):
    return controller.session.traces[0].span_ns(ref.index)[0]


MLP = (15, 16, 17, 18)  # one delegate's call: linear, gelu, linear, add


def test_the_right_bracket_goes_to_what_begins_first_and_the_left_one_back(attention, qtbot):
    session = attention.session
    start = call(attention, MLP)
    session.select_slice(start)
    after = ends(attention, forward=True)
    assert len(after) == 2
    assert begin(attention, after[0]) < begin(attention, after[1])
    qtbot.keyClick(attention.window, Key.Key_BracketRight)
    assert session.state.slice == after[0]
    assert selected(attention) == (19,)  # the layer norm of the next block
    qtbot.keyClick(attention.window, Key.Key_BracketLeft)
    assert session.state.slice == start


def test_ctrl_and_a_bracket_go_around_the_branches(attention, qtbot):
    session = attention.session
    session.select_slice(call(attention, MLP))
    first, second = ends(attention, forward=True)
    qtbot.keyClick(attention.window, Key.Key_BracketRight)
    for expected in (second, first, second):
        qtbot.keyClick(attention.window, Key.Key_BracketRight, CTRL)
        assert session.state.slice == expected
    qtbot.keyClick(attention.window, Key.Key_BracketLeft, CTRL)
    assert session.state.slice == first
    qtbot.keyClick(attention.window, Key.Key_BracketLeft)
    assert selected(attention) == MLP


def test_branches_are_those_of_the_last_step_alone(attention, qtbot):
    session, actions = attention.session, attention.commands.actions
    session.select_slice(call(attention, MLP))
    assert not actions["go.next_branch"].isEnabled()
    qtbot.keyClick(attention.window, Key.Key_BracketRight)
    assert actions["go.next_branch"].isEnabled()
    other = call(attention, (0,))
    session.select_slice(other)
    assert not actions["go.next_branch"].isEnabled()
    qtbot.keyClick(attention.window, Key.Key_BracketRight, CTRL)
    assert session.state.slice == other


def test_the_view_stays_if_the_target_is_in_it_and_else_pans_as_one_step(attention, qtbot):
    session = attention.session
    start = call(attention, MLP)
    session.select_slice(start)
    near, far = ends(attention, forward=True)
    t0, t1 = begin(attention, start) - 100, begin(attention, near) + 100
    session.set_range(t0, t1)
    qtbot.keyClick(attention.window, Key.Key_BracketRight)
    assert (session.state.t0, session.state.t1) == (t0, t1)
    qtbot.keyClick(attention.window, Key.Key_BracketRight, CTRL)
    assert session.state.slice == far
    assert session.state.t1 - session.state.t0 == t1 - t0
    assert session.state.t0 < begin(attention, far) < session.state.t1
    qtbot.keyClick(attention.window, Key.Key_Left, ALT)
    assert session.state.slice == near
    assert (session.state.t0, session.state.t1) == (t0, t1)
    qtbot.keyClick(attention.window, Key.Key_Left, ALT)
    assert session.state.slice == start


def test_at_the_end_of_a_flow_nothing_moves(attention, qtbot):
    session = attention.session
    session.select_slice(call(attention, (34, 35, 36, 37)))
    before = session.state
    qtbot.keyClick(attention.window, Key.Key_BracketRight)
    assert session.state == before
    assert attention.window.status.said.text() == "No flow from this slice"


def test_a_flow_at_a_slice_inside_the_selected_one_is_told(shared_window, tmp_path):
    path = tmp_path / "nested.json"
    one, two = {"pid": 1, "tid": 1}, {"pid": 1, "tid": 2}
    events = [
        {"ph": "X", "name": "outer", "ts": 0, "dur": 100, **one},
        {"ph": "X", "name": "inner", "ts": 10, "dur": 40, **one},
        {"ph": "X", "name": "outer", "ts": 200, "dur": 100, **two},
        {"ph": "X", "name": "inner", "ts": 210, "dur": 40, **two},
        {"ph": "s", "id": 1, "name": "f", "cat": "f", "ts": 20, **one},
        {"ph": "f", "id": 1, "name": "f", "cat": "f", "ts": 220, "bp": "e", **two},
    ]
    path.write_text(json.dumps({"traceEvents": events}))
    controller = shared_window.showing(path)
    shown, said = controller.session.traces[0], controller.window.status.said
    slices = range(len(shown.trace.slices))
    first, last = [SliceRef(0, i) for i in slices if shown.label(i) == "outer"]
    controller.session.select_slice(first)
    controller.commands.run("go.next_flow")
    assert said.text() == "No flow from this slice · one starts at a slice inside it"
    controller.commands.run("go.previous_flow")
    assert said.text() == "No flow to this slice"
    controller.session.select_slice(last)
    controller.commands.run("go.previous_flow")
    assert said.text() == "No flow to this slice · one ends at a slice inside it"


def test_without_a_slice_or_a_record_there_are_no_steps(shared_window, qtbot):
    dump = next(path for path in SAMPLE["attention_xnnpack"].paths() if path.endswith(".etdp"))
    controller = shared_window.showing(dump)
    actions = controller.commands.actions
    assert not actions["go.next_flow"].isEnabled()
    controller.session.select_slice(SliceRef(0, 66))
    assert actions["go.next_flow"].isEnabled()
    before = controller.session.state
    qtbot.keyClick(controller.window, Key.Key_BracketRight)
    assert controller.session.state == before


def test_whether_arrows_are_drawn_is_remembered(attention, qtbot):
    action, feed = attention.commands.actions["view.flows"], FlowFeed.of(attention.session)
    attention.session.select_slice(call(attention, MLP))
    flows = attention.timeline.view.frames.flows
    settle(qtbot, attention)
    assert action.isChecked()
    assert flows.drawn == 4
    action.trigger()
    attention.timeline.view.repaint()
    settle(qtbot, attention)
    assert (feed.visible, action.isChecked(), flows.drawn) == (False, False, 0)
    assert attention.settings.get(FLOWS) is False
    # The keys go on without them.
    qtbot.keyClick(attention.window, Key.Key_BracketRight)
    assert selected(attention) == (19,)
    action.trigger()
    assert attention.settings.get(FLOWS) is True


def test_arrows_are_drawn_unless_the_user_said_otherwise(tmp_path):
    from PySide6.QtCore import QSettings

    store = QSettings(str(tmp_path / "s.ini"), QSettings.Format.IniFormat)
    assert Settings(store).get(FLOWS) is True


def test_a_step_that_is_pressed_too_early_is_made_when_it_can_be(attention, qtbot, monkeypatch):
    """As in a large trace: the flows of the selected slice are worked out in a thread."""
    monkeypatch.setattr("viewer.gui.session.feeds.selection.AT_ONCE", 0)
    monkeypatch.setattr("viewer.gui.session.feeds.selection.OPERATORS_AT_ONCE", 0)
    session, feed = attention.session, FlowFeed.of(attention.session)
    feed._indexes.clear()
    session.select_slice(call(attention, MLP))
    assert feed.pending
    assert feed.answer is None  # no arrows of what was selected before
    qtbot.keyClick(attention.window, Key.Key_BracketRight)
    qtbot.waitUntil(lambda: selected(attention) == (19,))


def test_undo_and_closing_while_flows_are_worked_out(attention, qtbot, monkeypatch):
    monkeypatch.setattr("viewer.gui.session.feeds.selection.AT_ONCE", 0)
    session, feed = attention.session, FlowFeed.of(attention.session)
    feed._indexes.clear()
    session.select_slice(call(attention, MLP))
    session.undo()
    settle(qtbot, attention)
    assert feed.answer is None
    session.redo()
    session.close_all()
    settle(qtbot, attention)
    assert feed.answer is None
    assert not feed.pending


def test_flows_of_aligned_and_mean_inferences_stay_in_their_own(attention):
    from viewer.model.inference_views import Inferences

    session = attention.session
    for view in (Inferences.ALIGNED, Inferences.MEAN):
        session.show_inferences(view)
        slices = session.traces[0].trace.slices
        calls = [i for i in range(len(slices)) if session.traces[0].link(i).operators == MLP]
        assert len(calls) == (5 if view is Inferences.ALIGNED else 1)
        for i in calls:
            session.select_slice(SliceRef(0, i))
            found = ends(attention, forward=False) + ends(attention, forward=True)
            assert len(found) == 4
            assert {slices.track(ref.index) for ref in found} == {slices.track(i)}
            starts = np.array([slices.start[ref.index] for ref in found])
            assert (np.diff(starts[2:]) > 0).all()


def test_a_step_over_threads_of_an_npu(shared_window, qtbot):
    """Along a job: from the host's start of it to the NPU and back to its wait."""
    controller = shared_window.showing_sample("torq_npu")
    controller.timeline.view.setFocus()
    session = controller.session
    number = next(
        n
        for n, t in enumerate(session.traces)
        if any(x.thread == "NSS jobs" for x in t.trace.tracks)
    )
    trace = session.traces[number].trace
    first = next(i for i in range(len(trace.slices)) if trace.name(i) == "NSS_START")
    session.select_slice(SliceRef(number, first))
    names = []
    for _ in range(2):
        qtbot.keyClick(controller.window, Key.Key_BracketRight)
        names.append(trace.name(session.state.slice.index))
    assert names == ["job 0", "NSS_WAIT"]
    for _ in range(2):
        qtbot.keyClick(controller.window, Key.Key_BracketLeft)
    assert session.state.slice == SliceRef(number, first)


def test_it_requires_a_file_in_the_panel(controller):
    action = controller.commands.actions["edit.source"]
    assert not action.isEnabled()
    assert controller.commands.commands["edit.source"].need == "a file in the Source panel"
    assert controller.panels["source"].editor.isHidden()


def test_a_file_that_is_not_found_takes_it_away(attention):
    action = attention.commands.actions["edit.source"]
    assert action.isEnabled()
    assert not attention.panels["source"].editor.isHidden()
    attention.panels["source"].show_source("/nowhere/at_all.py", 3)
    assert not action.isEnabled()
    assert attention.panels["source"].editor.isHidden()


def test_a_right_click_on_a_line_offers_that_line(attention, monkeypatch):
    menus = []
    monkeypatch.setattr(QMenu, "popup", lambda menu, at: menus.append(menu))
    attention.docks.show_panel("source")
    code = attention.panels["source"].code
    at = QPoint(code.gutter_width + 20, code.top_of(48) + 5)
    mouse = QContextMenuEvent.Reason.Mouse
    viewport = code.viewport()
    QApplication.sendEvent(viewport, QContextMenuEvent(mouse, at, viewport.mapToGlobal(at)))
    assert attention.commands.actions["edit.source"] in menus[-1].actions()
    assert attention.panels["source"].current_line == 48
    menus[-1].close()
