"""The command that opens the line of the Source panel in an editor."""

from __future__ import annotations

from viewer.gui.panels.source.panel import SourcePanel
from viewer.gui.qt.commands.command_table import Command, Precondition
from viewer.gui.window.commands.context import CommandContext


def source_commands(context: CommandContext) -> list[Command]:
    """The command for the editor."""
    source = context.panels.of(SourcePanel)
    return [
        Command(
            "edit.source",
            "Open source line in &editor",
            "Edit",
            context.source_editor.open,
            ("F4",),
            Precondition("a file in the Source panel", lambda: source.shown_file is not None),
            repeats=False,
            keywords="code file external",
        )
    ]
