"""The menus where the mouse is: what makes sense with a slice, or with the row of a table.

Panels open their menus with what they can do by themselves, such as copying, after they have chosen
the row. The window adds commands, which are all about what is chosen; so a menu never has an action
that no other way leads to, and shows the key that does the same.
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from PySide6.QtCore import QObject, QPoint, QRect, Qt, SignalInstance
from PySide6.QtGui import QContextMenuEvent
from PySide6.QtWidgets import QAbstractItemView, QApplication, QMenu

from viewer.gui.qt.commands.command_table import SEPARATOR, Command
from viewer.gui.window.help.pages import TIMELINE

if TYPE_CHECKING:
    from viewer.gui.window.controller import WindowController

# On the canvas, where no slice is selected.
CANVAS = (
    "view.fit_all", "go.back", "go.forward", SEPARATOR, "selection.same", "mark.measure",
    "mark.keep", SEPARATOR, "tracks.filter", "tracks.show_all", SEPARATOR, "file.export",
    "file.save_picture",
)  # fmt: skip
SLICE = (
    "view.fit", "selection.same", "selection.area", "selection.copy_name", SEPARATOR,
    "panel.details", "panel.operators", "panel.source", "panel.graph", "panel.model", SEPARATOR,
    "go.next_flow", "go.previous_flow", SEPARATOR, "mark.measure", "mark.keep", SEPARATOR,
    "tracks.pin", "tracks.hide", SEPARATOR, "file.export",
)  # fmt: skip
# Rows of panels that choose operators or slices.
_CHOSEN = ("view.fit", "selection.area", SEPARATOR, "panel.details")
ROWS = {
    "operators": (*_CHOSEN, "panel.source", "panel.graph", "panel.model"),
    "model": (*_CHOSEN, "panel.source", "panel.graph", "panel.operators"),
    "search": (*_CHOSEN, "panel.source", "panel.graph", SEPARATOR, "mark.keep", "view.only_hits"),
    "events": (*_CHOSEN, "panel.source", "panel.graph"),
    "statistics": ("view.fit", "selection.area", SEPARATOR, "panel.selection", "panel.details"),
    "selection": ("view.fit", "selection.area", "selection.export", SEPARATOR, "mark.keep"),
    "findings": (*_CHOSEN, "panel.operators", "panel.source", SEPARATOR, "mark.keep"),
    "estimates": _CHOSEN,
    "handle_map": (*_CHOSEN, "panel.source"),
    "delegation": (*_CHOSEN, "panel.source", "panel.links"),
    "marks": ("mark.fit", "mark.rename", "mark.remove"),
    "problems": ("panel.links", "file.reload"),
    "untimed": ("panel.details",),
}


class ContextMenus(QObject):
    """Adds commands to the menus of the timeline and of the panels of a desk."""

    def __init__(self, desk: WindowController) -> None:
        super().__init__(desk)
        self._desk = desk
        desk.timeline.view.menu_requested.connect(self._on_timeline)
        for name, ids in ROWS.items():
            dock = desk.docks.by_name[name]
            for table in dock.findChildren(QAbstractItemView):
                offered: SignalInstance | None = getattr(table, "menu_offered", None)
                if offered is not None:  # one that is filled in, no list of a combo box
                    offered.connect(partial(self._add, ids, name))

    def _on_timeline(self, at: QPoint) -> None:
        """Open the menu of the selection at a place on the screen."""
        menu = QMenu(self._desk.timeline)
        menu.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        chosen = self._desk.session.state.slice is not None
        self._add(SLICE if chosen else CANVAS, TIMELINE, menu)
        menu.popup(at)

    def _add(self, ids: tuple[str, ...], page: str, menu: QMenu) -> None:
        """Add commands as they can be done now, and the help on this panel."""
        commands = self._desk.commands
        commands.refresh()
        if menu.actions():
            menu.addSeparator()
        commands.add_to(menu, (*ids, SEPARATOR))
        menu.addAction("Help", partial(self._desk.guide.show_help, page))


def menu_commands(desk: WindowController) -> list[Command]:
    """The command that opens the menu of what has the keyboard, as the Menu key does."""

    def open_menu() -> None:
        focus = QApplication.focusWidget()
        if focus is None:
            return
        row = focus.inputMethodQuery(Qt.InputMethodQuery.ImCursorRectangle)
        at = row.center() if isinstance(row, QRect) and row.isValid() else focus.rect().center()
        asked = QContextMenuEvent(QContextMenuEvent.Reason.Keyboard, at, focus.mapToGlobal(at))
        QApplication.sendEvent(focus, asked)

    return [Command("view.menu", "Open the m&enu here", "View", open_menu, ("Shift+F10",))]
