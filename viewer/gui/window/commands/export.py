"""The commands that write files: Perfetto trace, tables, report, image of the timeline."""

from __future__ import annotations

from viewer.gui.qt.commands.command_table import Command, Precondition
from viewer.gui.session.session import Session
from viewer.gui.window.commands.context import CommandContext
from viewer.gui.window.commands.preconditions import open_profile


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
        linked = (shown.table.program for shown in session.traces)
        return any(program is not None and program.operators for program in linked)
    return any(program.operators for program in session.workspace.programs)
