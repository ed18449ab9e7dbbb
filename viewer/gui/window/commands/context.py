"""The parts of a window that commands act on, and preconditions that several commands share."""

from __future__ import annotations

from dataclasses import dataclass

from viewer.gui.qt.commands.command_table import CommandTable, Precondition
from viewer.gui.session.session import Session
from viewer.gui.timeline.timeline import Timeline
from viewer.gui.window.dialogs.command_palette import CommandPalette
from viewer.gui.window.files.background_work import BackgroundWork
from viewer.gui.window.files.closing import CloseGuard
from viewer.gui.window.files.comparing import Comparing
from viewer.gui.window.files.export_actions import ExportActions
from viewer.gui.window.files.file_opener import FileOpener
from viewer.gui.window.files.perfetto_ui import PerfettoUi
from viewer.gui.window.files.recordings import Recordings
from viewer.gui.window.files.sessions import SessionFiles
from viewer.gui.window.frame.clock_button import ClockButton
from viewer.gui.window.frame.docks import Docks
from viewer.gui.window.frame.panel_registry import PanelRegistry
from viewer.gui.window.frame.shell import Shell
from viewer.gui.window.frame.view_settings import ViewSettings
from viewer.gui.window.help.help import Help
from viewer.gui.window.toolbar.search_field import SearchField


@dataclass(frozen=True, slots=True)
class CommandContext:
    """The parts of one window that commands read and change; `table` contains the commands."""

    session: Session
    table: CommandTable
    timeline: Timeline
    docks: Docks
    panels: PanelRegistry
    shell: Shell
    search: SearchField
    clock: ClockButton
    view_settings: ViewSettings
    palette: CommandPalette
    work: BackgroundWork
    opener: FileOpener
    comparing: Comparing
    recordings: Recordings
    session_files: SessionFiles
    close_guard: CloseGuard
    exports: ExportActions
    perfetto_ui: PerfettoUi
    help: Help


def open_profile(session: Session) -> Precondition:
    """Requires an open profile."""
    return Precondition("an open profile", lambda: bool(session.traces))


def selected_slice(session: Session) -> Precondition:
    """Requires a selected slice."""
    return Precondition("a selected slice", lambda: session.state.slice is not None)
