"""The page of all keys: complete, current, small enough, and the way to change keys."""

import pytest
from PySide6.QtCore import QCoreApplication, QSize
from PySide6.QtWidgets import QLabel, QScrollArea

from viewer.gui.window.commands.menus import MOUSE_HELP
from viewer.gui.window.dialogs.shortcuts import TASKS, KeySheet, ShortcutsDialog, tasks_of


@pytest.fixture(params=[(1920, 1050)])
def sheet(controller, request, monkeypatch):
    """The page on a screen of the given size."""
    monkeypatch.setattr(KeySheet, "room", lambda sheet: QSize(*request.param))
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


@pytest.mark.parametrize("sheet", [(1280, 940)], indirect=True)
def test_the_page_fits_a_small_screen(sheet):
    assert sheet.sizeHint().width() <= 1280
    assert sheet.sizeHint().height() <= 800
    assert sheet.height() >= sheet.sizeHint().height()  # nothing is cut
    assert not sheet.findChild(QScrollArea).verticalScrollBar().isVisible()


@pytest.mark.parametrize("sheet", [(1024, 700), (640, 480)], indirect=True)
def test_on_a_narrow_screen_the_page_has_fewer_columns_and_scrolls(sheet):
    room, scroll = sheet.room(), sheet.findChild(QScrollArea)
    QCoreApplication.processEvents()
    assert sheet.width() <= room.width()
    assert sheet.height() <= room.height()
    assert scroll.verticalScrollBar().isVisible()
    columns = scroll.widget().findChildren(QLabel)
    assert columns
    assert all(label.geometry().right() < scroll.viewport().width() for label in columns)


def test_it_shows_current_keys(controller, sheet):
    controller.commands.give_key("help.about", "F9")
    assert ("F9", "About Opscope") in tasks_of(controller.commands)["Help"]
    assert ("F9", "About Opscope") in sheet.rows
    controller.commands.reset_keys()


def test_a_change_of_theme_recolors_the_page(controller, sheet):
    theme = controller.window.theme
    before, first = theme.choice, theme.tokens.text2
    theme.set_choice("light" if theme.dark else "dark")
    assert theme.tokens.text2 != first
    assert any(theme.tokens.text2 in label.text() for label in sheet.findChildren(QLabel))
    theme.set_choice(before)


def test_customize_opens_the_dialog_that_changes_keys(controller, sheet):
    sheet.customize_requested.emit()
    assert controller.window.findChild(ShortcutsDialog).isVisible()
    controller.window.findChild(ShortcutsDialog).close()
