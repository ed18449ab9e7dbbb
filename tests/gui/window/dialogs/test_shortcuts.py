"""The sheet of keys under real keys: what is listed, how a key is chosen, taken and given back."""

import json

import pytest
import shiboken6
from PySide6.QtCore import QCoreApplication, Qt
from PySide6.QtWidgets import QToolButton

from viewer.gui.qt.settings import KEYS
from viewer.gui.window.dialogs.shortcuts import ShortcutsDialog

Key = Qt.Key
CTRL, SHIFT = Qt.KeyboardModifier.ControlModifier, Qt.KeyboardModifier.ShiftModifier


@pytest.fixture
def controller(attention):
    """The window with the attention sample open."""
    return attention


@pytest.fixture
def sheet(controller, qtbot):
    controller.commands.run("help.customize_keys")
    made = controller.window.findChild(ShortcutsDialog)
    qtbot.waitUntil(made.isVisible)
    yield made
    if shiboken6.isValid(made):
        made.close()


def rows(sheet):
    model = sheet.model
    return [tuple((model.item(r, c).text().strip() if model.item(r, c) else "")
                  for c in range(3)) for r in range(model.rowCount())]  # fmt: skip


def record(sheet, qtbot, id, key, held=Qt.KeyboardModifier.NoModifier):
    sheet.choose(id)
    qtbot.mouseClick(sheet.editor.recorder, Qt.MouseButton.LeftButton)
    assert sheet.editor.recorder.is_recording
    qtbot.keyClick(sheet.editor.recorder, key, held)


def chips(sheet):
    QCoreApplication.processEvents()
    return [b for b in sheet.editor.findChildren(QToolButton) if not b.isHidden()]


def test_it_lists_every_command_with_its_keys_and_the_mouse(sheet, controller):
    listed = {(what, keys) for what, keys, _ in rows(sheet)}
    for id, command in controller.commands.commands.items():
        assert (
            command.plain_title,
            ", ".join(controller.commands.keys(id)).replace("Escape", "Esc"),
        ) in listed
    assert ("Select an area", "Drag") in listed
    assert ("Pan the timeline", "Shift+drag") in listed


def test_it_says_what_drag_does_as_it_is_set(sheet, controller, qtbot):
    sheet.close()
    controller.commands.actions["view.drag_pans"].trigger()
    controller.commands.run("help.customize_keys")
    other = [s for s in controller.window.findChildren(ShortcutsDialog) if s.isVisible()][-1]
    listed = rows(other)
    assert ("Select an area", "Shift+drag", "") in listed
    assert ("Pan the timeline", "Drag", "") in listed
    other.close()


@pytest.mark.parametrize("typed", ["zoom in", "W", "ctrl++"])
def test_a_command_is_found_by_its_name_and_by_its_key(sheet, qtbot, typed):
    qtbot.keyClicks(sheet.filter, typed)
    assert any(row[0] == "Zoom in" for row in rows(sheet))
    assert len(rows(sheet)) < 20
    sheet.filter.setText("<b>nothing</b>")
    assert rows(sheet) == [
        ("No shortcut matches “<b>nothing</b>”. Escape clears the filter.", "", "")
    ]
    qtbot.keyClick(sheet.filter, Key.Key_Escape)
    assert sheet.isVisible()
    assert len(rows(sheet)) > 30


def test_a_pressed_key_is_added_works_at_once_and_is_stored(sheet, controller, qtbot):
    record(sheet, qtbot, "view.zoom_in", Key.Key_E)
    assert controller.commands.keys("view.zoom_in") == ("W", "Ctrl+=", "Ctrl++", "E")
    assert ("Zoom in", "W, Ctrl+=, Ctrl++, E", "changed") in rows(sheet)
    assert json.loads(controller.settings.get(KEYS)) == {
        "view.zoom_in": ["W", "Ctrl+=", "Ctrl++", "E"]
    }
    sheet.close()
    controller.window.activateWindow()
    qtbot.waitUntil(controller.window.isActiveWindow)
    before = controller.session.state
    qtbot.keyPress(controller.timeline.view, Key.Key_E)
    state = controller.session.state
    assert state.t1 - state.t0 < before.t1 - before.t0
    assert controller.timeline.view._held.is_moving
    qtbot.keyRelease(controller.timeline.view, Key.Key_E)
    assert not controller.timeline.view._held.is_moving


def test_a_key_of_another_is_taken_only_if_so_said(sheet, controller, qtbot):
    record(sheet, qtbot, "view.panels", Key.Key_N)
    assert sheet.editor.said == "N is assigned to “Next inference”."
    assert sheet.editor.use.text() == "Reassign to “Toggle bottom panel”"
    assert controller.commands.keys("go.next_run") == ("N",)
    qtbot.mouseClick(sheet.editor.leave, Qt.MouseButton.LeftButton)
    assert controller.commands.keys("view.panels") == ("Q",)
    record(sheet, qtbot, "view.panels", Key.Key_N)
    qtbot.mouseClick(sheet.editor.use, Qt.MouseButton.LeftButton)
    assert controller.commands.keys("view.panels") == ("Q", "N")
    assert controller.commands.keys("go.next_run") == ()
    assert sheet.editor.said == "“Next inference” has no shortcut now."


def test_its_own_key_is_said_to_be_so(sheet, controller, qtbot):
    record(sheet, qtbot, "view.panels", Key.Key_Q)
    assert sheet.editor.said == "Q is already assigned to “Toggle bottom panel”."
    assert controller.commands.own_keys == {}


def test_a_key_is_taken_away_and_one_or_all_are_reset(sheet, controller, qtbot):
    sheet.choose("view.zoom_in")
    assert not sheet.editor.reset.isEnabled()
    qtbot.mouseClick(chips(sheet)[0], Qt.MouseButton.LeftButton)
    assert controller.commands.keys("view.zoom_in") == ("Ctrl+=", "Ctrl++")
    record(sheet, qtbot, "view.panels", Key.Key_W)
    qtbot.mouseClick(sheet.editor.reset, Qt.MouseButton.LeftButton)
    assert controller.commands.keys("view.panels") == ("Q",)
    sheet.choose("view.zoom_in")
    qtbot.mouseClick(sheet.editor.reset, Qt.MouseButton.LeftButton)
    assert controller.commands.keys("view.zoom_in") == ("W", "Ctrl+=", "Ctrl++")
    record(sheet, qtbot, "view.panels", Key.Key_J)
    qtbot.mouseClick(sheet.reset_all, Qt.MouseButton.LeftButton)
    assert controller.commands.own_keys == {}
    assert json.loads(controller.settings.get(KEYS)) == {}
    assert not sheet.reset_all.isEnabled()


@pytest.mark.parametrize(
    ("key", "held", "text"),
    [
        (Key.Key_K, CTRL, "Ctrl+K"), (Key.Key_K, CTRL | SHIFT, "Ctrl+Shift+K"),
        (Key.Key_K, SHIFT, "Shift+K"), (Key.Key_F5, SHIFT, "Shift+F5"),
        (Key.Key_Tab, CTRL, "Ctrl+Tab"), (Key.Key_PageUp, SHIFT, "Shift+PgUp"),
        (Key.Key_Exclam, SHIFT, "!"),
    ],
)  # fmt: skip
def test_keys_with_modifiers_are_recorded_as_they_are_matched(
    sheet, controller, qtbot, key, held, text
):
    record(sheet, qtbot, "view.panels", key, held)
    assert controller.commands.keys("view.panels") == ("Q", text)


def test_a_modifier_alone_is_waited_over_and_escape_gives_up(sheet, controller, qtbot):
    record(sheet, qtbot, "view.panels", Key.Key_Shift)
    assert sheet.editor.recorder.is_recording
    qtbot.keyClick(sheet.editor.recorder, Key.Key_Escape)
    assert not sheet.editor.recorder.is_recording
    assert sheet.isVisible()
    assert controller.commands.own_keys == {}


@pytest.mark.parametrize(("key", "held", "does"), [
    (Key.Key_Tab, Qt.KeyboardModifier.NoModifier, "Tab always moves the focus forward"),
    (Key.Key_C, CTRL, "Ctrl+C always copies"),
])  # fmt: skip
def test_what_widgets_need_no_command_can_have(sheet, controller, qtbot, key, held, does):
    record(sheet, qtbot, "view.panels", key, held)
    assert sheet.editor.said == f"{does} and cannot be assigned."
    assert controller.commands.own_keys == {}


def test_enter_on_a_row_asks_for_a_key(sheet, qtbot):
    sheet.choose("view.panels")
    sheet.table.setFocus()
    qtbot.keyClick(sheet.table, Key.Key_Return)
    assert sheet.editor.recorder.is_recording


def test_motion_stops_when_the_sheet_opens(controller, qtbot):
    qtbot.keyPress(controller.timeline.view, Key.Key_D)
    assert controller.timeline.view._held.is_moving
    controller.commands.run("help.customize_keys")
    assert not controller.timeline.view._held.is_moving
    controller.window.findChild(ShortcutsDialog).close()
