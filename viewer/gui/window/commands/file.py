"""The commands of the File menu: opening, saving, exporting, closing."""

from __future__ import annotations

from viewer.gui.qt.commands.command_table import Command, Precondition
from viewer.gui.session.session import Session
from viewer.gui.window.commands.context import CommandContext, open_profile


def file_commands(context: CommandContext) -> list[Command]:
    """The commands of the File menu, except the Perfetto UI."""
    files, shell = context.session_files, context.shell
    something = Precondition("an open file", lambda: not context.session.is_empty)
    table = Precondition("an open plain CSV", lambda: context.opener.can_choose_columns)
    last = Precondition("an earlier session", lambda: files.has_last)
    return [
        Command(
            "file.new_window", "&New window", "File", shell.new_window_requested.emit, ("Ctrl+N",)
        ),
        Command("file.open", "&Open…", "File", context.opener.open_dialog, ("Ctrl+O",)),
        Command("file.record", "Recor&d…", "File", context.recordings.show),
        Command("file.save_session", "&Save session", "File", files.save, ("Ctrl+S",), something),
        Command(
            "file.save_session_as",
            "Save session &as…",
            "File",
            files.save_as,
            ("Ctrl+Shift+S",),
            something,
        ),
        Command("file.reload", "Re&load files", "File", files.reload, ("F5",), something),
        Command(
            "file.columns", "Columns of a CSV…", "File", context.opener.choose_columns, (), table
        ),
        Command("file.last_session", "Reopen last session", "File", files.open_last, (), last),
        *export_commands(context),
        Command(
            "file.close_all",
            "&Close all",
            "File",
            context.close_guard.close_all,
            ("Ctrl+W",),
            something,
        ),
        Command("file.close_window", "Close &window", "File", shell.close, ("Ctrl+Shift+W",)),
        Command("file.quit", "&Quit", "File", shell.quit_requested.emit, ("Ctrl+Q",)),
    ]


def perfetto_ui_commands(context: CommandContext) -> list[Command]:
    """The command that opens the current files in the Perfetto UI."""
    return [
        Command(
            "file.perfetto_ui",
            "Open in Perfetto &UI",
            "File",
            context.perfetto_ui.open,
            enabled=open_profile(context.session),
        )
    ]


def export_commands(context: CommandContext) -> list[Command]:
    """The export commands."""
    session, exports = context.session, context.exports
    operators = Precondition(
        "an ETRecord or a source",
        lambda: _has_operators(session),
    )
    return [
        Command(
            "file.export",
            "&Export to Perfetto…",
            "File",
            exports.export_perfetto,
            ("Ctrl+E",),
            open_profile(session),
        ),
        Command(
            "file.export_table",
            "Export &table of slices…",
            "File",
            lambda: exports.export_rows("slices"),
            ("Ctrl+Shift+E",),
            open_profile(session),
        ),
        Command(
            "file.export_operators",
            "Export ta&ble of operators…",
            "File",
            lambda: exports.export_rows("operators"),
            (),
            operators,
        ),
        Command(
            "file.export_report",
            "Export &report…",
            "File",
            exports.export_report,
            (),
            open_profile(session),
        ),
        Command(
            "file.save_picture",
            "Export &image…",
            "File",
            exports.save_view,
            (),
            open_profile(session),
        ),
    ]


def _has_operators(session: Session) -> bool:
    """Whether the table of operators would have any row."""
    if session.traces:
        linked = (open_trace.table.program for open_trace in session.traces)
        return any(program is not None and program.operators for program in linked)
    return any(program.operators for program in session.workspace.programs)
