"""The command for the editor is available while the Source panel shows a file."""

from PySide6.QtCore import QPoint
from PySide6.QtGui import QContextMenuEvent
from PySide6.QtWidgets import QApplication, QMenu


def test_it_requires_a_file_in_the_panel(controller):
    action = controller.commands.actions["edit.source"]
    assert not action.isEnabled()
    assert controller.commands.commands["edit.source"].need == "a file in the Source panel"
    assert controller.source.editor.isHidden()


def test_a_file_that_is_not_found_takes_it_away(attention):
    action = attention.commands.actions["edit.source"]
    assert action.isEnabled()
    assert not attention.source.editor.isHidden()
    attention.source.show_source("/nowhere/at_all.py", 3)
    assert not action.isEnabled()
    assert attention.source.editor.isHidden()


def test_a_right_click_on_a_line_offers_that_line(attention, monkeypatch):
    menus = []
    monkeypatch.setattr(QMenu, "popup", lambda menu, at: menus.append(menu))
    attention.docks.show_panel("source")
    code = attention.source.code
    at = QPoint(code.gutter_width + 20, code.top_of(48) + 5)
    mouse = QContextMenuEvent.Reason.Mouse
    viewport = code.viewport()
    QApplication.sendEvent(viewport, QContextMenuEvent(mouse, at, viewport.mapToGlobal(at)))
    assert attention.commands.actions["edit.source"] in menus[-1].actions()
    assert attention.source.current_line == 48
    menus[-1].close()
