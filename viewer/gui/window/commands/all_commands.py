"""All commands of a window."""

from __future__ import annotations

from viewer.gui.qt.commands.command_table import Command
from viewer.gui.window.commands.alignment import alignment_commands
from viewer.gui.window.commands.comparison import comparison_commands
from viewer.gui.window.commands.context import CommandContext
from viewer.gui.window.commands.file import file_commands, perfetto_ui_commands
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
    sample_commands,
)
from viewer.gui.window.commands.preferences import preferences_commands
from viewer.gui.window.commands.selection import copy_commands, selection_commands
from viewer.gui.window.commands.track import track_commands
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
