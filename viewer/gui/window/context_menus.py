"""The context menus of slices and of table rows.

A panel selects the row, and opens a menu with its own actions such as copying. The window adds
commands, which act on the selection. So every entry it adds is also available elsewhere, and shows
its shortcut.
"""

from __future__ import annotations

from functools import partial

from PySide6.QtCore import QObject, QPoint, Qt, SignalInstance
from PySide6.QtWidgets import QAbstractScrollArea, QMenu

from viewer.gui.qt.commands.command_table import SEPARATOR, CommandTable
from viewer.gui.session.session import Session
from viewer.gui.timeline.timeline import Timeline
from viewer.gui.window.frame.docks import Docks
from viewer.gui.window.frame.panel_table import PANELS
from viewer.gui.window.help.help import Help
from viewer.gui.window.help.pages import TIMELINE

# For the canvas while no slice is selected.
CANVAS = (
    "view.fit_all", "go.back", "go.forward", SEPARATOR, "selection.same", "mark.measure",
    "mark.keep", SEPARATOR, "tracks.filter", "tracks.show_all", SEPARATOR, "file.export",
    "file.save_picture",
)  # fmt: skip
SLICE = (
    "view.fit", "selection.same", "selection.area", "selection.copy_name", "edit.copy_markdown",
    "edit.copy_json", SEPARATOR,
    "panel.details", "panel.operators", "panel.calls", "panel.source", "panel.graph", "panel.model",
    "selection.method", SEPARATOR,
    "go.next_flow", "go.previous_flow", SEPARATOR, "mark.measure", "mark.keep", SEPARATOR,
    "tracks.pin", "tracks.hide", SEPARATOR, "file.export",
)  # fmt: skip
# These are titled for the submenu "Copy as".
_TITLES = {"edit.copy_markdown": "Copy as &Markdown", "edit.copy_json": "Copy as &JSON"}


class ContextMenus(QObject):
    """Adds commands to the context menus of a window's timeline and panels."""

    def __init__(
        self, session: Session, timeline: Timeline, docks: Docks, table: CommandTable, help: Help
    ) -> None:
        super().__init__(docks)
        self._session, self._timeline, self._table, self._help = session, timeline, table, help
        timeline.menu_requested.connect(self._on_timeline)
        for spec in PANELS:
            if not spec.row_commands:
                continue
            for rows in docks.by_name[spec.id].findChildren(QAbstractScrollArea):
                offered: SignalInstance | None = getattr(rows, "menu_offered", None)
                if offered is not None:  # skips those without rows, such as lists of combo boxes
                    offered.connect(partial(self._add, spec.row_commands, spec.help_page))

    def _on_timeline(self, at: QPoint) -> None:
        """Open the context menu of the selection at a screen position."""
        menu = QMenu(self._timeline)
        menu.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        chosen = self._session.state.slice is not None
        self._add(SLICE if chosen else CANVAS, TIMELINE, menu)
        menu.popup(at)

    def _add(self, ids: tuple[str, ...], page: str, menu: QMenu) -> None:
        """Add commands in their current state, and the help on this panel."""
        self._table.refresh()
        if menu.actions():
            menu.addSeparator()
        self._table.add_to(menu, (*ids, SEPARATOR), _TITLES)
        menu.addAction("Help", partial(self._help.show_help, page))
