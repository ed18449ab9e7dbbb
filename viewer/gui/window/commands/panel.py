"""One command for each panel, which brings it to the front and gives it the keyboard."""

from __future__ import annotations

from typing import TYPE_CHECKING

from PySide6.QtCore import Qt
from PySide6.QtWidgets import QAbstractItemView, QDockWidget, QWidget

from viewer.gui.qt.commands.command_table import Command, Precondition
from viewer.gui.window.frame.docks import TITLES

if TYPE_CHECKING:
    from viewer.gui.window.controller import WindowController


PANELS_MENU = tuple(f"panel.{name}" for name in TITLES)


def panel_commands(desk: WindowController) -> list[Command]:
    """`panel.operators` and the like, listed under "Panels"."""
    something = Precondition("an open file", lambda: not desk.session.is_empty)

    def show(name: str) -> None:
        desk.docks.show_panel(name)
        _take_keys(desk.docks.by_name[name])

    return [
        Command(
            f"panel.{name}", f"Show {title}", "Go", lambda name=name: show(name),  # type: ignore[misc]
            enabled=something, group="Panels",
        )
        for name, title in TITLES.items()
    ]  # fmt: skip


def _take_keys(dock: QDockWidget) -> None:
    """Give the keyboard to a dock: to its table, else to what Tab would reach first in it."""
    inside = [w for w in dock.findChildren(QWidget) if w.isVisibleTo(dock) and w.isEnabled()]
    reached = [w for w in inside if w.focusPolicy() & Qt.FocusPolicy.TabFocus]
    tables = [w for w in reached if isinstance(w, QAbstractItemView)]
    for widget in (tables or reached)[:1]:
        widget.setFocus(Qt.FocusReason.ShortcutFocusReason)
