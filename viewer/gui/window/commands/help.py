"""The commands of the Help menu: help pages, tour, samples, shortcuts, palette, About."""

from __future__ import annotations

from PySide6.QtCore import Qt

from viewer.gui.qt import fault_log
from viewer.gui.qt.commands.command_table import Command
from viewer.gui.qt.settings import RECENT_COMMANDS
from viewer.gui.window.commands.context import CommandContext
from viewer.gui.window.commands.menus import mouse_help
from viewer.gui.window.help.pages import GLOSSARY, RECORDING
from viewer.resources import SAMPLES


def sample_commands(context: CommandContext) -> list[Command]:
    """One command per bundled sample, which opens it."""
    return [
        Command(
            f"sample.{sample.key}",
            sample.title,
            "Help",
            lambda sample=sample: context.opener.open(sample.paths()),  # type: ignore[misc]
            group="Open a sample",
        )
        for sample in SAMPLES
    ]


def keys_and_about_commands(context: CommandContext) -> list[Command]:
    """The commands for the page of keys, the shortcuts dialog and the About dialog."""
    shell = context.shell

    def show_keys() -> None:
        """Show all shortcuts and mouse gestures on one page."""
        from viewer.gui.window.dialogs.key_sheet import KeySheet

        gestures = mouse_help(context.view_settings.drag_pans)
        page = KeySheet(context.table, gestures, shell.theme, shell)
        page.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        page.customize_requested.connect(customize_keys)
        page.open()

    def customize_keys() -> None:
        """Let the user change shortcuts."""
        from viewer.gui.window.dialogs.shortcuts import ShortcutsDialog

        gestures = mouse_help(context.view_settings.drag_pans)
        sheet = ShortcutsDialog(context.table, gestures, shell.theme, shell)
        sheet.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        sheet.open()

    def show_about() -> None:
        """Show version and bundled packages."""
        # Imported on demand: reading the metadata of all packages takes 0.1 s.
        from viewer.gui.window.dialogs.about import AboutDialog

        box = AboutDialog(shell.theme, fault_log.path_of(shell.settings.folder), shell)
        box.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        box.open()

    return [
        Command("help.keys", "&Keyboard shortcuts…", "Help", show_keys, ("?",)),
        Command("help.customize_keys", "Customi&ze shortcuts…", "Help", customize_keys),
        Command("help.about", "&About Opscope", "Help", show_about),
    ]


def palette_commands(context: CommandContext) -> list[Command]:
    """The command for the command palette."""

    def show_palette() -> None:
        """Show the command palette, or hide it if it is open."""
        context.table.refresh()
        context.palette.toggle(context.shell.settings.get(RECENT_COMMANDS))

    return [
        Command(
            "help.palette",
            "&Command palette…",
            "Help",
            show_palette,
            ("Ctrl+Shift+P",),
            repeats=False,
        )
    ]


def guide_commands(context: CommandContext) -> list[Command]:
    """The commands for help and tour."""
    help = context.help
    return [
        Command("help.here", "&Help for this panel", "Help", help.show_help_here, ("F1",)),
        Command("help.tour", "Take the &tour", "Help", help.start_tour),
        Command(
            "help.recording",
            "How to &record a profile",
            "Help",
            lambda: help.show_help(RECORDING),
        ),
        Command("help.glossary", "&Glossary", "Help", lambda: help.show_help(GLOSSARY)),
    ]
