"""The model panel in the window: its dock, its keys, its columns after files are opened again."""

from PySide6.QtCore import Qt

from tests.gui.events import canvas, open_files, place_of, settle
from tests.gui.panels.model.tree import ATTENTION_0, marked, open_to, opened_rows
from viewer.gui.panels.base.panel_spec import PanelArea
from viewer.model.figures import TimeScope
from viewer.view.state import SliceRef


def test_columns_are_as_wide_after_a_second_opening(attention, qtbot):
    controller = attention
    controller.docks.show_panel("model")
    settle(qtbot, controller)
    header = controller.panels["model"].view.header()

    def widths():
        return [header.sectionSize(i) for i in range(header.count())]

    first = widths()
    assert header.length() == controller.panels["model"].view.viewport().width()
    controller.commands.actions["file.close_all"].trigger()
    settle(qtbot, controller)
    with qtbot.waitSignal(controller.session.files_added, timeout=20_000):
        controller.commands.actions["go.undo"].trigger()
    settle(qtbot, controller)
    controller.docks.show_panel("model")
    settle(qtbot, controller)
    # The first column takes the rest of the panel, whose own width may differ by a rounded pixel.
    assert widths()[1:] == first[1:]
    assert header.length() == controller.panels["model"].view.viewport().width()


def test_a_text_of_operations_has_no_modules_and_leads_to_the_operators(controller, qtbot, data):
    open_files(
        qtbot, controller, data / "torq/compile_c0_callsite.csv", data / "torq/tiny_cnn.mlir"
    )
    controller.docks.show_panel("model")
    settle(qtbot, controller)
    assert controller.panels["model"].is_empty
    sentence = controller.panels["model"].sentence
    assert sentence == "tiny_cnn.mlir is a text of operations, which have no modules."
    controller.panels["model"].empty.pressed.emit()
    settle(qtbot, controller)
    assert not controller.panels["operators"].visibleRegion().isEmpty()


def test_the_dock_lies_beside_operators_and_follows_the_timeline(attention, qtbot):
    controller = attention
    docks = controller.docks
    assert docks.areas[PanelArea.LEFT].names[:3] == ("operators", "calls", "model")
    docks.show_panel("model")
    settle(qtbot, controller)
    shown = controller.session.traces[0]
    run = shown.trace.runs[controller.session.state.run[1]]
    one = int(shown.costs.slices_of({(ATTENTION_0,)}, TimeScope(run))[0])
    qtbot.mouseClick(canvas(controller), Qt.MouseButton.LeftButton, pos=place_of(controller, one))
    assert controller.session.state.slice == SliceRef(0, one)
    assert marked(controller.panels["model"]) == ["blocks.0 · scaled_dot_product_attention"]


def test_keys_of_the_tree_work_in_the_window_and_letters_stay_commands(attention, qtbot):
    controller = attention
    controller.docks.show_panel("model")
    settle(qtbot, controller)
    panel, session = controller.panels["model"], controller.session
    panel.view.setFocus()
    panel.view.mark(0)
    for key in (Qt.Key.Key_Down, Qt.Key.Key_Right, Qt.Key.Key_Down):
        qtbot.keyClick(panel.view, key)
    assert marked(panel) == ["blocks.0.ln1"]
    qtbot.keyClick(panel.view, Qt.Key.Key_Left)
    assert marked(panel) == ["blocks.0"]
    qtbot.keyClick(panel.view, Qt.Key.Key_Asterisk, Qt.KeyboardModifier.ShiftModifier)
    assert "blocks.0.mlp.fc1" in opened_rows(panel)
    rows = panel.model.rows
    one = rows.items[rows.below(rows.find((ATTENTION_0,)))[3]]
    open_to(panel, one)
    panel.view.mark(one.id)
    qtbot.keyClick(panel.view, Qt.Key.Key_Return)
    settle(qtbot, controller)
    assert session.state.slice == SliceRef(0, one.number)
    span = session.state.t1 - session.state.t0
    qtbot.keyClick(panel.view, Qt.Key.Key_W)
    settle(qtbot, controller)
    assert session.state.t1 - session.state.t0 < span
