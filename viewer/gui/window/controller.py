"""Creates the parts of one window, connects them, and keeps them in sync with the session.

Panels ask their window through a `WindowHost`.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING

from PySide6.QtCore import QObject, QTimer, Slot

from viewer.formats.memory import release_freed
from viewer.gui.panels.base.panel import ExportedFile, JobOf, PanelWidget
from viewer.gui.qt.command_table import CommandTable, shown_key
from viewer.gui.qt.settings import PANEL_LAYOUT
from viewer.gui.qt.theme.theme import Theme
from viewer.gui.session.comparison import ComparisonFeed
from viewer.gui.session.feeds.search import Search
from viewer.gui.session.feeds.selection import SelectionFeed
from viewer.gui.session.file_jobs import Loader, Saver
from viewer.gui.session.session import Session
from viewer.gui.window.commands.menus import START_KEYS, CommandContext, FocusKeys, spoken_keys
from viewer.gui.window.dialogs.command_palette import CommandPalette
from viewer.gui.window.files.comparing import Comparing, Recordings, References
from viewer.gui.window.files.drops import FolderDrops
from viewer.gui.window.files.export_actions import BackgroundWork, ExportActions, PerfettoUi
from viewer.gui.window.files.file_opener import ColumnFiles, FileOpener
from viewer.gui.window.files.sessions import SessionFiles
from viewer.gui.window.files.source_files import SourceEditor, SourcePaths
from viewer.gui.window.files.unsaved_work import Autosave, CloseGuard, Then
from viewer.gui.window.frame.panel_registry import PanelRegistry, stored_layout
from viewer.gui.window.frame.shell import Shell
from viewer.gui.window.frame.status import (
    ClockButton,
    LinkWarnings,
    range_text,
    selection_text,
    spoken_text,
)
from viewer.gui.window.frame.view_settings import ViewSettings
from viewer.gui.window.frame.window_layout import WindowLayout
from viewer.gui.window.help.help import Help
from viewer.gui.window.menu_bar import ContextMenus, MenuBar, RecentMenus, commands_of
from viewer.gui.window.toolbar.toolbar import SearchField, Toolbar
from viewer.program.source_files import Substitution

if TYPE_CHECKING:
    from viewer.gui.window.help.tour import Tour


class WindowHost:
    """The host of one page of a panel; `PanelHost` says what its methods do.

    controller: returns the controller once it is complete, which is after the panels are made.
    Until then there is nothing to count, and no user to ask for anything.
    """

    def __init__(
        self,
        session: Session,
        theme: Theme,
        controller: Callable[[], WindowController | None],
        page: str,
    ) -> None:
        self.session, self.theme = session, theme
        self._controller, self._page = controller, page

    @property
    def _parts(self) -> WindowController:
        controller = self._controller()
        assert controller is not None
        return controller

    def open_files(self) -> None:
        self._parts.opener.open_dialog()

    def show_panel(self, name: str) -> None:
        self._parts.docks.show_panel(name)

    def show_source(self, path: str, line: int) -> None:
        self.session.source_requested.emit(path, line)

    def show_inferences(self) -> None:
        self._parts.toolbar.run.show_list()

    def choose_comparison(self) -> None:
        self._parts.comparing.choose()

    def choose_reference(self) -> None:
        self._parts.references.choose()

    def choose_buffer(self) -> None:
        self._parts.references.choose_buffer()

    def locate_source(self, recorded_path: str) -> None:
        self._parts.source_paths.locate(recorded_path)

    def forget_source(self, substitution: Substitution) -> None:
        self._parts.source_paths.forget(substitution)

    def edit_file(self, path: str, line: int) -> None:
        self._parts.source_editor.open(path, line)

    def export(self, file: ExportedFile, job_of: JobOf) -> None:
        self._parts.exports.export_file(file, job_of)

    def show_count(self, count: int) -> None:
        if self._controller() is not None:
            self._parts.layout.show_count(self._page, count)

    def refresh_commands(self) -> None:
        if self._controller() is not None:
            self._parts.commands.refresh()


FREED_AFTER_MS = 1000
# How often the text of a moving range and the state of the commands follow it. Nobody reads faster,
# and in every frame they would be an eighth of it.
_RANGE_MS = 100


class ShortcutHints(QObject):
    """Stores the user's keys, and shows the current keys in panels, timeline and start page."""

    def __init__(
        self,
        table: CommandTable,
        panels: PanelRegistry,
        search: SearchField,
        shell: Shell,
    ) -> None:
        super().__init__(shell)
        self._table, self._search, self._shell = table, search, shell
        self._panels = panels
        panels.follow(self._show_in)
        table.keys_changed.connect(self._keep)
        self._show()

    @Slot()
    def _keep(self) -> None:
        self._shell.settings.set_keys(self._table.own_keys)
        self._show()

    def _show(self) -> None:
        way = self._table.way_to
        for name, page in self._panels.pages.existing.items():
            self._show_in(name, page)
        self._search.set_shortcut_hints(way("search.find"), way("view.only_hits"))
        self._panels.timeline.set_shortcut_hints(spoken_keys(self._table))
        named = [(text, self._table.keys(id)) for text, id in START_KEYS]
        self._shell.start_page.show_keys(
            [(text, shown_key(keys[0])) for text, keys in named if keys]
        )

    def _show_in(self, name: str, page: PanelWidget) -> None:
        page.show_keys(self._table.way_to)


class WindowController(QObject):
    """Owns and connects all parts of one window, which share one session."""

    def __init__(self, window: Shell, panels: PanelRegistry) -> None:
        super().__init__(window)
        self.window, self.theme, self.settings = window, window.theme, window.settings
        self.panels, self.session = panels, panels.session
        space = self.session.workspace
        space.choose(space.choices.with_remembered(self.settings.identifier_columns()))
        self._steps = [
            self._take_panels,
            self._make_files,
            self._make_commands,
            self._make_menus,
            self._make_toolbar,
            self._connect,
        ]

    def prepare(self) -> bool:
        """Take the next step towards a complete controller; returns whether there was one."""
        if self._steps:
            self._steps.pop(0)()
            return True
        return False

    def _connect(self) -> None:
        """Connect all parts, and show the state of the session: from now on they can be used."""
        self._connect_session()
        self._connect_parts()
        self.docks.default = stored_layout(self.settings.get(PANEL_LAYOUT))
        self.docks.restore(self.docks.default)
        self.refresh()

    # -- creating the parts --------------------------------------------------------------------

    def _take_panels(self) -> None:
        """Get the timeline, and create docks, status widgets and search field."""
        panels, session, window = self.panels, self.session, self.window
        self.timeline = panels.timeline
        self.commands = CommandTable(window, (), self.settings.keys())
        self.view_settings = ViewSettings(session, self.timeline, window)
        self.clock = ClockButton(session)
        window.status.addPermanentWidget(self.clock)
        self.layout = WindowLayout(session, self.timeline, panels, window)
        self.docks = self.layout.docks
        self.link_warnings = LinkWarnings(session, self.docks, window)
        self.search = SearchField(session, self.theme)

    def _make_files(self) -> None:
        session, window, table = self.session, self.window, self.commands
        self.loader, self.saver = Loader(window), Saver(window)
        self.work = BackgroundWork(self.loader, self.saver, window)
        self.opener = FileOpener(session, self.loader, table, window)
        self.column_files = ColumnFiles(session, self.opener.read, window)
        self.source_paths = SourcePaths(session, self.opener, window)
        self.source_editor = SourceEditor(window)
        self.exports = ExportActions(session, self.saver, self.work, self.timeline, window)
        self.session_files = SessionFiles(
            session, self.opener, self.saver, self.exports, self.docks, self._confirm_close, window
        )
        self.close_guard = CloseGuard(session, self.opener, self.session_files, table, window)
        self.autosave = Autosave(session, self.opener, self.session_files, window)
        self.comparing = Comparing(session, self.opener, self.docks, window)
        self.recordings = Recordings(session, self.opener, self.comparing, self.close_guard, window)
        self.references = References(session, self.opener, window)
        self.drops = FolderDrops(self.opener, self.comparing, window)
        self.recent_menus = RecentMenus(self.comparing, self.session_files, window)
        self.perfetto_ui = PerfettoUi(session, self.saver, self._export_perfetto, window)

    def _make_commands(self) -> None:
        self.palette = CommandPalette(self.window, self.commands, self.theme)
        self.help = Help(self.commands, self.docks, self.timeline, self._make_tour, self.window)
        context = CommandContext(
            session=self.session,
            table=self.commands,
            timeline=self.timeline,
            docks=self.docks,
            panels=self.panels,
            shell=self.window,
            search=self.search,
            clock=self.clock,
            view_settings=self.view_settings,
            palette=self.palette,
            work=self.work,
            opener=self.opener,
            comparing=self.comparing,
            recordings=self.recordings,
            session_files=self.session_files,
            close_guard=self.close_guard,
            exports=self.exports,
            perfetto_ui=self.perfetto_ui,
            help=self.help,
        )
        self.commands.add(commands_of(context))

    def _make_menus(self) -> None:
        session, window, table = self.session, self.window, self.commands
        self.menu_bar = MenuBar(
            session, self.timeline, table, self.docks, self.clock, self.recent_menus, window
        )
        self.context_menus = ContextMenus(session, self.timeline, self.panels, table, self.help)

    def _make_toolbar(self) -> None:
        """Create the toolbar, and what shows the shortcuts and handles keys of the focus."""
        window, table = self.window, self.commands
        window.installEventFilter(FocusKeys(self))
        self.toolbar = Toolbar(self.session, self.theme, table, self.search)
        window.take_toolbar(self.toolbar)
        self.hints = ShortcutHints(table, self.panels, self.search, window)

    def _make_tour(self) -> Tour:
        from viewer.gui.window.help.tour import Tour

        return Tour(
            self.session,
            self.loader,
            self.opener.open,
            self.timeline,
            self.search,
            self.docks,
            self.commands,
            self.view_settings,
            self.window,
        )

    # -- connecting them -----------------------------------------------------------------------

    def _connect_session(self) -> None:
        """Connect the signals of session and files; the order of the connections matters."""
        session, refresh_commands = self.session, self.commands.refresh
        session.about_to_change.connect(self.layout.make_room)
        session.workspace_changed.connect(self.refresh)
        session.files_added.connect(self._added)
        self._range_told = QTimer(self, interval=_RANGE_MS, singleShot=True)
        self._range_told.timeout.connect(self._show_range)
        self._range_told.timeout.connect(refresh_commands)
        session.range_changed.connect(self._follow_range)
        session.range_jumped.connect(self._show_range)
        session.clock_activated.connect(self._show_range)
        session.selection_changed.connect(self._show_selection)
        session.history_changed.connect(refresh_commands)
        session.ruler_changed.connect(refresh_commands)
        self.view_settings.changed.connect(refresh_commands)
        SelectionFeed.of(session).changed.connect(self._selection_counted)
        session.columns_remembered.connect(self._keep_columns)
        Search.of(session).changed.connect(refresh_commands)
        ComparisonFeed.of(session).changed.connect(refresh_commands)
        self.layout.unveiled_empty.connect(self.refresh)
        self.opener.session_requested.connect(self.session_files.open)
        self.opener.nothing_opened.connect(self.refresh)
        # After services that wait for their own file, because the last message stays visible.
        self.saver.progressed.connect(self.exports.report_progress)
        self.saver.saved.connect(self.exports.report_saved)
        self.saver.failed.connect(self.exports.report_failed)
        self.saver.failed.connect(self.column_files.check)
        self.palette.ran.connect(self.settings.add_recent_command)
        self.clock.refused.connect(self.window.message.show_error)

    def _connect_parts(self) -> None:
        """Connect what parts of the window request of others."""
        self.opener.values_requested.connect(self.references.take)
        for note in (self.layout.note, self.layout.program_note):
            note.open_requested.connect(self.opener.open_dialog)
        self.toolbar.panel_requested.connect(self.docks.show_panel)
        self.search.left.connect(self.timeline.focus_view)
        self.search.list_requested.connect(partial(self.commands.run, "search.list"))
        self.timeline.headers_focused.connect(self.commands.refresh)

    def _confirm_close(self, then: Then) -> None:
        self.close_guard.confirm_then(then)

    def _export_perfetto(self) -> None:
        self.commands.run("file.export")

    # -- following the session -----------------------------------------------------------------

    @Slot()
    def refresh(self) -> None:
        """Update page, docks, title and texts to what is open."""
        window, is_empty = self.window, self.session.is_empty
        self.work.end_progress()
        window.message.keep_warnings(
            self.link_warnings.texts | {self.session_files.warning} | self.opener.warnings
        )
        if is_empty:
            # By then, whatever was closed is freed.
            QTimer.singleShot(FREED_AFTER_MS, self, release_freed)
            window.start_page.offer_last_session(self.session_files.has_last)
        self.layout.show_page()
        self.session_files.update_title()
        self._show_range()
        self._show_selection()
        self.commands.refresh()
        page = window.pages.currentWidget()
        if page is self.timeline:
            self.timeline.view.setFocus()
        elif page is not None and not is_empty:
            page.setFocus()  # a note with a button

    @Slot(object)
    def _added(self, complaints: list[str]) -> None:
        for complaint in complaints:
            self.window.message.show_error(complaint)
        self.link_warnings.show()
        self.layout.show_added_rows()
        self.opener.report_added()

    @Slot()
    def _follow_range(self) -> None:
        if not self._range_told.isActive():
            self._range_told.start()

    @Slot()
    def _show_range(self) -> None:
        self.window.status.show_range(range_text(self.session))

    @Slot()
    def _show_selection(self) -> None:
        self.window.status.show_selection(selection_text(self.session))
        self.clock.follow()
        self.timeline.announce(spoken_text(self.session))

    @Slot()
    def _selection_counted(self) -> None:
        """Show the new statistics of the selection."""
        self.window.status.show_selection(selection_text(self.session))
        self.commands.refresh()

    @Slot()
    def _keep_columns(self) -> None:
        self.settings.set_identifier_columns(self.session.workspace.choices.remembered)

    def shut_down(self) -> None:
        """Stop background work."""
        self.work.shut_down()
