"""The page of all keys: complete, current, small enough, and the way to change keys."""

import pytest

from viewer.gui.window.commands.menus import MOUSE_HELP
from viewer.gui.window.dialogs.key_sheet import TASKS, KeySheet, tasks_of
from viewer.gui.window.dialogs.shortcuts import ShortcutsDialog


@pytest.fixture
def sheet(controller):
    controller.commands.run("help.keys")
    made = controller.window.findChild(KeySheet)
    yield made
    made.close()


def test_every_command_with_keys_is_on_the_page_once(controller, sheet):
    titles = [what for _, what in sheet.rows]
    with_keys = [c for c in controller.commands.commands.values() if controller.commands.keys(c.id)]
    assert len(titles) == len(with_keys) + len(MOUSE_HELP)
    for command in with_keys:
        assert command.plain_title.rstrip("…") in titles


def test_every_command_has_a_task(controller):
    starts = tuple(start for _, parts in TASKS for start in parts)
    assert all(id.startswith(starts) for id in controller.commands.commands)


def test_the_page_fits_a_small_screen(sheet):
    assert sheet.sizeHint().width() <= 1280
    assert sheet.sizeHint().height() <= 800
    assert sheet.height() >= sheet.sizeHint().height()  # nothing is cut


def test_it_shows_current_keys(controller, sheet):
    controller.commands.give_key("help.about", "F9")
    assert ("F9", "About Opscope") in tasks_of(controller.commands)["Help"]
    assert ("F9", "About Opscope") in sheet.rows
    controller.commands.reset_keys()


def test_customize_opens_the_dialog_that_changes_keys(controller, sheet):
    sheet.customize_requested.emit()
    assert controller.window.findChild(ShortcutsDialog).isVisible()
    controller.window.findChild(ShortcutsDialog).close()
