"""All commands of a window, its menu bar, and the context menus.

Menus of recent files and kept sessions are filled when they open. The window adds its commands to
the menus of the ruler, of slices and of table rows.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from datetime import datetime
from functools import partial
from html import escape

from PySide6.QtCore import QObject, QPoint, Qt, SignalInstance, Slot
from PySide6.QtWidgets import QAbstractScrollArea, QMenu, QToolButton, QWidget

from viewer.gui.qt.command_table import SEPARATOR, Command, CommandTable
from viewer.gui.qt.widgets.labels import literal
from viewer.gui.session.choices import scheme_problem
from viewer.gui.session.session import Session
from viewer.gui.timeline.timeline import Timeline
from viewer.gui.window.commands.file import comparison_commands, file_commands, perfetto_ui_commands
from viewer.gui.window.commands.go import (
    flow_commands,
    history_commands,
    panel_commands,
    search_commands,
)
from viewer.gui.window.commands.help import (
    guide_commands,
    keys_and_about_commands,
    palette_commands,
    preferences_commands,
    sample_commands,
)
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
    CommandContext,
)
from viewer.gui.window.commands.selection import copy_commands, selection_commands
from viewer.gui.window.commands.tracks import alignment_commands, track_commands
from viewer.gui.window.commands.view import (
    clock_commands,
    color_commands,
    context_menu_commands,
    layout_commands,
    motion_commands,
    motion_setting_commands,
    range_commands,
    ruler_commands,
)
from viewer.gui.window.files.comparing import Comparing
from viewer.gui.window.files.sessions import SessionFiles
from viewer.gui.window.frame.docks import Docks
from viewer.gui.window.frame.panel_registry import PanelRegistry
from viewer.gui.window.frame.shell import Shell
from viewer.gui.window.frame.start_page import recent_titles
from viewer.gui.window.frame.status import ClockButton
from viewer.gui.window.help.help import Help
from viewer.gui.window.help.pages import TIMELINE
from viewer.model.text import display_name
from viewer.render.color_schemes import SCHEMES
from viewer.view.sessions.recent_sessions import UnsavedWork


def commands_of(context: CommandContext) -> list[Command]:
    """All commands of a window, in the order of the palette and the shortcuts dialog."""
    panels = panel_commands(context)
    commands = [
        *file_commands(context),
        *comparison_commands(context),
        *history_commands(context),
        *range_commands(context),
        *layout_commands(context),
        *sample_commands(context),
        *keys_and_about_commands(context),
        *motion_setting_commands(context),
        *preferences_commands(context),
        *palette_commands(context),
        *guide_commands(context),
        *panels,
        *context_menu_commands(),
        *clock_commands(context),
        *alignment_commands(context),
        *motion_commands(context),
        *ruler_commands(context),
        *flow_commands(context),
        *perfetto_ui_commands(context),
        *color_commands(context),
        *track_commands(context),
        *selection_commands(context),
        *copy_commands(context),
        *search_commands(context),
    ]
    for command in context.panels.commands():
        before = [other.id for other in commands].index(command.after or panels[-1].id)
        commands.insert(before + 1, command)
    return commands


class RecentMenus(QObject):
    """The submenus `files` (recent files) and `sessions` (kept ones), filled when opened."""

    def __init__(self, comparing: Comparing, session_files: SessionFiles, shell: Shell) -> None:
        super().__init__(shell)
        self._comparing, self._session_files = comparing, session_files
        self._settings = shell.settings
        self.files = shell.menus["File"].addMenu("Open &recent")
        self.sessions = shell.menus["File"].addMenu("Earli&er sessions")
        self.files.setToolTipsVisible(True)
        self.files.aboutToShow.connect(self._fill_files)
        self.sessions.aboutToShow.connect(self._fill_sessions)

    @Slot()
    def _fill_files(self) -> None:
        """List the recent sets of files, newest first, and an entry that clears the list."""
        self.files.clear()
        rows = self._settings.recent_files()
        titles = recent_titles(rows)
        firsts = [title for title, _ in titles]
        for recent, (title, rest) in zip(rows, titles, strict=True):
            paths = recent.paths
            names = [title, *filter(None, rest.split(" · "))]
            if recent.b:
                text = title
            elif firsts.count(title) > 1:
                # What the others with this title do not have.
                text = _and_more(", ".join(names[:2]), len(names) - 2)
            else:
                text = _and_more(title, len(names) - 1)
            action = self.files.addAction(literal(text))
            # A path may look like markup.
            action.setToolTip("".join(f"<p>{escape(path)}</p>" for path in paths))
            action.setEnabled(any(map(os.path.exists, paths)))
            action.setData(paths)
            action.triggered.connect(partial(self._open_files, paths))
        self.files.addSeparator()
        clear = self.files.addAction("Clear list")
        clear.triggered.connect(self._settings.clear_recent_sets)

    def _open_files(self, paths: Sequence[str], checked: bool = False) -> None:
        self._comparing.reopen([path for path in paths if os.path.exists(path)])

    @Slot()
    def _fill_sessions(self) -> None:
        """List the kept sessions, newest first, with their files and number of bookmarks."""
        menu, recent = self.sessions, self._session_files.recent
        menu.clear()
        for path in recent.paths():
            if (work := recent.work(path)) is not None:
                action = menu.addAction(literal(_text(work, os.path.getmtime(path))))
                action.triggered.connect(partial(self._open_session, path))
        menu.setEnabled(True)
        if menu.isEmpty():
            menu.addAction("No recent sessions").setEnabled(False)

    def _open_session(self, path: str, checked: bool = False) -> None:
        self._session_files.open(path)


def _text(work: UnsavedWork, when: float) -> str:
    """A kept session in one line: "net.etdp and 1 more · 3 bookmarks · 2026-11-22 14:03"."""
    count = len(work.bookmarks)
    bookmarks = f" · {count} bookmark{'s' if count > 1 else ''}" if count else ""
    return (
        f"{_first_and_count(work.files)}{bookmarks} · {datetime.fromtimestamp(when):%Y-%m-%d %H:%M}"
    )


def _first_and_count(paths: Sequence[str]) -> str:
    """Some files in a few words: "net.etdp and 1 more"."""
    if not paths:
        return "no file"
    return _and_more(display_name(paths[0]), len(paths) - 1)


def _and_more(text: str, count: int) -> str:
    return f"{text} and {count} more" if count > 0 else text


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
