"""The menu bar and the ruler's menu, and what the window adds to menus of slices and table rows.

A panel selects the row, and opens a menu with its own actions such as copying. The window adds
commands, which act on the selection. So every entry it adds is also available elsewhere, and shows
its shortcut.
"""

from __future__ import annotations

from functools import partial
from html import escape

from PySide6.QtCore import QObject, QPoint, Qt, SignalInstance, Slot
from PySide6.QtWidgets import QAbstractScrollArea, QMenu, QToolButton, QWidget

from viewer.gui.qt.commands.command_table import SEPARATOR, CommandTable
from viewer.gui.session.coloring import scheme_problem
from viewer.gui.session.session import Session
from viewer.gui.timeline.timeline import Timeline
from viewer.gui.window.commands.menus import (
    CLOCK_MENU,
    CLOCKS_MENU,
    COMPARE_MENU,
    COPY_MENU,
    LAYOUT_MENU,
    MENUS,
    MOVE_MENU,
    RULER_MENU,
    SAMPLE_MENU,
)
from viewer.gui.window.files.recent_menus import RecentMenus
from viewer.gui.window.frame.clock_button import ClockButton
from viewer.gui.window.frame.docks import Docks
from viewer.gui.window.frame.panel_registry import PanelRegistry
from viewer.gui.window.frame.shell import Shell
from viewer.gui.window.help.help import Help
from viewer.gui.window.help.pages import TIMELINE
from viewer.render.color_schemes import SCHEMES

# For the canvas while no slice is selected.
CANVAS_MENU = (
    "view.fit_all", "go.back", "go.forward", SEPARATOR, "selection.same", "mark.measure",
    "mark.keep", SEPARATOR, "tracks.filter", "tracks.show_all", SEPARATOR, "file.export",
    "file.save_picture", "edit.copy_timeline",
)  # fmt: skip
SLICE_MENU = (
    "view.fit", "selection.same", "selection.area", "selection.copy_name", "edit.copy_markdown",
    "edit.copy_json", SEPARATOR,
    "panel.details", "panel.operators", "panel.calls", "panel.source", "panel.graph", "panel.model",
    "selection.method", SEPARATOR,
    "go.next_flow", "go.previous_flow", SEPARATOR, "mark.measure", "mark.keep", SEPARATOR,
    "tracks.pin", "tracks.hide", SEPARATOR, "file.export",
)  # fmt: skip
# These are titled for the submenu "Copy as".
_COPY_TITLES = {"edit.copy_markdown": "Copy as &Markdown", "edit.copy_json": "Copy as &JSON"}


class MenuBar(QObject):
    """Fills the menus of the shell, and `ruler`: unit, clocks and moving along the time axis."""

    def __init__(
        self,
        session: Session,
        timeline: Timeline,
        table: CommandTable,
        docks: Docks,
        clock: ClockButton,
        recent: RecentMenus,
        shell: Shell,
    ) -> None:
        super().__init__(shell)
        self._session, self._table, self._theme = session, table, shell.theme
        menus = shell.menus
        for title, ids in MENUS:
            table.add_to(menus[title], ids)
        docks.fill(menus["View"].addMenu("Pa&nels"))
        table.add_to(menus["View"].addMenu("Layo&ut"), LAYOUT_MENU)
        self.ruler = QMenu(shell)
        table.add_to(self.ruler, (*RULER_MENU, SEPARATOR))
        table.add_to(self.ruler.addMenu("&Move"), MOVE_MENU)
        self._clocks = self.ruler.addMenu("Cloc&ks")
        self._clocks.setToolTipsVisible(True)
        self._clocks.aboutToShow.connect(self._explain_clocks)
        table.add_to(self._clocks, CLOCKS_MENU)
        self.ruler.addMenu(clock.rates)
        table.add_to(clock.rates, CLOCK_MENU)
        copy_as = QMenu("Cop&y as", menus["Edit"])
        table.add_to(copy_as, COPY_MENU)
        menus["Edit"].insertMenu(table.actions["search.find"], copy_as)
        comparison = QMenu("Com&parison", menus["File"])
        table.add_to(comparison, COMPARE_MENU)
        menus["File"].insertMenu(table.actions["file.save_session"], comparison)
        samples = QMenu("Open a &sample", menus["Help"])
        table.add_to(samples, SAMPLE_MENU)
        menus["Help"].insertMenu(table.actions["help.recording"], samples)
        menus["File"].insertMenu(table.actions["file.last_session"], recent.files)
        menus["File"].insertMenu(table.actions["file.reload"], recent.sessions)
        session.workspace_changed.connect(self._explain_colors)
        session.workspace_changed.connect(self._offer_clocks)
        self._explain_colors()
        self._offer_clocks()
        timeline.ruler_menu_requested.connect(self._open_ruler_menu)
        timeline.clock_menu_requested.connect(self._open_clock_menu)
        self._help = QToolButton()
        self._help.setDefaultAction(table.actions["help.here"])
        self._help.setToolButtonStyle(Qt.ToolButtonStyle.ToolButtonIconOnly)
        # At the end of the menu bar, where it takes no space from the toolbar.
        shell.menuBar().setCornerWidget(self._help)
        self._theme.changed.connect(self._retheme)
        self._retheme()

    @Slot(QPoint)
    def _open_ruler_menu(self, place: QPoint) -> None:
        self.ruler.popup(place)

    @Slot(QPoint)
    def _open_clock_menu(self, place: QPoint) -> None:
        self._clocks.popup(place)

    @Slot()
    def _explain_colors(self) -> None:
        """Set the tooltip of each color scheme: what it shows, or why it is not available."""
        for scheme in SCHEMES:
            text = scheme_problem(self._session, scheme.id) or scheme.tells
            action = self._table.actions[f"view.colour_{scheme.id}"]
            action.setStatusTip(text)
            action.setToolTip(f"<p>{escape(text)}</p>")

    @Slot()
    def _offer_clocks(self) -> None:
        """Hide the menu of clocks while there is only one, unless the user made one of several."""
        session = self._session
        several = len(session.groups) > 1 or bool(session.state.same_clocks)
        self._clocks.menuAction().setVisible(several)

    @Slot()
    def _explain_clocks(self) -> None:
        """Set the tooltip of each command about clocks: what it needs while it is unavailable."""
        for name in CLOCKS_MENU:
            if name != SEPARATOR:
                command = self._table.commands[name]
                need = "" if command.is_possible else f"Needs {command.need}"
                self._table.actions[name].setToolTip(need)

    @Slot()
    def _retheme(self) -> None:
        self._help.setIcon(self._theme.icon("help"))


class ContextMenus(QObject):
    """Adds commands to the context menus of a window's timeline and panels."""

    def __init__(
        self,
        session: Session,
        timeline: Timeline,
        panels: PanelRegistry,
        table: CommandTable,
        help: Help,
    ) -> None:
        super().__init__(help)
        self._session, self._timeline, self._table, self._help = session, timeline, table, help
        timeline.menu_requested.connect(self._on_timeline)
        self._pages = panels.table.pages
        panels.follow(self._add_to)

    def _add_to(self, name: str, widget: QWidget) -> None:
        """Add the commands on its rows to a page of a panel."""
        page = self._pages[name]
        for rows in widget.findChildren(QAbstractScrollArea) if page.row_commands else ():
            offered: SignalInstance | None = getattr(rows, "menu_offered", None)
            if offered is not None:  # skips those without rows, such as lists of combo boxes
                offered.connect(partial(self._add, page.row_commands, page.help_page))

    def _on_timeline(self, point: QPoint) -> None:
        """Open the context menu of the selection at a screen position."""
        menu = QMenu(self._timeline)
        menu.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        chosen = self._session.state.slice is not None
        self._add(SLICE_MENU if chosen else CANVAS_MENU, TIMELINE, menu)
        menu.popup(point)

    def _add(self, ids: tuple[str, ...], page: str, menu: QMenu) -> None:
        """Add commands in their current state, and the help on this panel."""
        self._table.refresh()
        if menu.actions():
            menu.addSeparator()
        self._table.add_to(menu, (*ids, SEPARATOR), _COPY_TITLES)
        menu.addAction("Help", partial(self._help.show_help, page))
