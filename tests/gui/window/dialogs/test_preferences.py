"""The Preferences window: every row shows and changes its setting, by mouse and by keys."""

import re

import pytest
from PySide6.QtCore import Qt
from PySide6.QtWidgets import QAbstractButton, QLabel

from viewer.gui.window.dialogs.preferences import (
    Choice,
    PreferencesDialog,
    Section,
    Switch,
    TextChoice,
)


@pytest.fixture
def values():
    return {"color": "red", "command": "", "sound": True}


@pytest.fixture
def dialog(qtbot, theme, values):
    def choose(name):
        return lambda value: values.__setitem__(name, value)

    rows = (
        Choice(
            "&Color",
            (("red", "Red"), ("blue", "Blue")),
            lambda: values["color"],
            choose("color"),
            "Of the box.",
        ),
        TextChoice("Co&mmand", ("run {x}",), "None", lambda: values["command"], choose("command")),
        Switch("&Sound", lambda: values["sound"], lambda: choose("sound")(not values["sound"])),
        Switch("&Light", lambda: False, lambda: None, "There is no lamp"),
    )
    dialog = PreferencesDialog((Section("All", rows),), theme)
    qtbot.addWidget(dialog)
    dialog.show()
    return dialog


def test_what_is_chosen_applies_at_once(dialog, values, qtbot):
    color, sound = dialog.controls["Color"], dialog.controls["Sound"]
    qtbot.keyClick(color, Qt.Key.Key_Down)
    assert values["color"] == "blue"
    sound.click()
    assert values["sound"] is False


def test_a_text_is_typed_chosen_or_left_empty(dialog, values, qtbot):
    command = dialog.controls["Command"]
    assert command.lineEdit().placeholderText() == "None"
    assert command.currentText() == ""
    qtbot.keyClicks(command.lineEdit(), "ru")
    assert values["command"] == "ru"  # not completed to the option
    dialog.follow()
    qtbot.keyClicks(command.lineEdit(), "n")
    assert command.currentText() == values["command"] == "run"
    command.setCurrentIndex(1)
    command.activated.emit(1)
    assert values["command"] == "run {x}"
    command.setCurrentIndex(0)
    command.activated.emit(0)
    dialog.follow()
    assert (values["command"], command.currentText()) == ("", "")


def test_a_chosen_text_can_be_edited_in_the_middle(dialog, values, qtbot):
    command = dialog.controls["Command"]
    command.setCurrentIndex(1)
    command.activated.emit(1)
    field = command.lineEdit()
    field.setCursorPosition(len("run"))
    for key in "-in":
        qtbot.keyClicks(field, key)
        dialog.follow()
    assert values["command"] == command.currentText() == "run-in {x}"
    assert field.cursorPosition() == len("run-in")


def test_no_text_stays_empty_when_it_is_chosen_again(dialog, values):
    command = dialog.controls["Command"]
    command.setCurrentIndex(0)
    command.activated.emit(0)
    assert values["command"] == command.currentText() == ""


def test_it_follows_what_is_changed_elsewhere(dialog, values):
    values.update(color="blue", command="vi", sound=False)
    dialog.follow()
    assert dialog.controls["Color"].currentText() == "Blue"
    assert dialog.controls["Command"].currentText() == "vi"
    assert not dialog.controls["Sound"].isChecked()


def test_a_switch_that_cannot_be_switched_says_why(dialog):
    assert not dialog.controls["Light"].isEnabled()
    assert dialog.controls["Light"].toolTip() == "There is no lamp"


def test_a_note_is_read_with_its_control(dialog):
    assert dialog.controls["Color"].accessibleDescription() == "Of the box."


def test_no_two_mnemonics_are_equal(controller):
    controller.commands.run("edit.preferences")
    dialog = controller.window.findChild(PreferencesDialog)
    named = [*dialog.findChildren(QLabel), *dialog.findChildren(QAbstractButton)]
    letters = [m[1].lower() for one in named if (m := re.search(r"&(\w)", one.text()))]
    assert len(letters) == len(set(letters))
    assert len(letters) == len(dialog.controls) + len(dialog.stocks) + 2
    dialog.close()


def test_the_buttons_restore_and_close(dialog, qtbot):
    with qtbot.waitSignal(dialog.restore_requested):
        dialog.restore.click()
    dialog.close_button.click()
    assert not dialog.isVisible()
