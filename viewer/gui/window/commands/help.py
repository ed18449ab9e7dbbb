"""The commands of the Help menu and of the Preferences window.

They show help pages, the tour, samples, shortcuts, the palette, About, and the settings.
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from PySide6.QtCore import Qt

from viewer.formats.column_cache import CACHE
from viewer.gui.qt import crash_report as fault_log
from viewer.gui.qt.command_table import Command, CommandTable
from viewer.gui.qt.settings import RECENT_COMMANDS
from viewer.gui.window.commands.menus import DENSITIES, THEMES, CommandContext, mouse_help
from viewer.gui.window.files.source_files import EDITORS
from viewer.gui.window.frame.view_settings import ViewSettings
from viewer.gui.window.help.pages import GLOSSARY, RECORDING
from viewer.gui.window.toolbar.inference_picker import ENTRIES, INCLUDE_WARM_UP
from viewer.model.inference_views import Inferences
from viewer.model.text import bytes_text
from viewer.render.stacking import Density
from viewer.resources import SAMPLES

if TYPE_CHECKING:
    from viewer.gui.window.dialogs.preferences import Section

_edit = partial(Command, menu="Edit")
_sample = partial(Command, menu="Help", group="Open a sample")
_help = partial(Command, menu="Help")


_FONT_SIZES = (("small", "Small"), ("normal", "Normal"), ("large", "Large"), ("larger", "Larger"))


def preferences_commands(context: CommandContext) -> list[Command]:
    """The command for the Preferences window."""
    shell, view_settings = context.shell, context.view_settings

    def show_preferences() -> None:
        """Show the window, whose choices and those of the menus follow one another."""
        from viewer.gui.window.dialogs.preferences import PreferencesDialog

        sections = preferences(view_settings, context.table)
        dialog = PreferencesDialog(sections, shell.theme, shell)
        dialog.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        dialog.restore_requested.connect(view_settings.restore_defaults)
        view_settings.changed.connect(dialog.follow)
        dialog.open()

    return [
        _edit(
            "edit.preferences",
            "&Preferences…",
            show_preferences,
            ("Ctrl+,",),
            keywords="settings options",
        )
    ]


def _columns_text() -> str:
    if not CACHE.folder:
        return "Not used (--no-cache)"
    return bytes_text(CACHE.size) if CACHE.size else "None"


def preferences(view_settings: ViewSettings, table: CommandTable) -> tuple[Section, ...]:
    """The settings of the window, named as in the menus."""

    from viewer.gui.window.dialogs.preferences import Choice, Section, Stock, Switch, TextChoice

    def options_of(ids: tuple[str, ...]) -> list[tuple[str, str]]:
        """The last part of each id, which is the value, and the command's title."""
        titles = (table.commands[id].plain_title for id in ids)
        return [(id.rpartition("_")[2], title) for id, title in zip(ids, titles, strict=True)]

    motion = table.commands["view.motion"].title
    return (
        Section(
            "Appearance",
            (
                Choice(
                    "&Theme",
                    options_of(THEMES),
                    lambda: view_settings.theme,
                    view_settings.pick_theme,
                ),
                Choice(
                    "&Font size",
                    _FONT_SIZES,
                    lambda: view_settings.font_size,
                    view_settings.pick_font_size,
                ),
                Choice(
                    "Row &density",
                    options_of(DENSITIES),
                    lambda: view_settings.density.value,
                    lambda value: view_settings.set_density(Density(value)),
                ),
            ),
        ),
        Section(
            "Timeline",
            (
                Switch(
                    motion,
                    lambda: view_settings.moves_smoothly,
                    view_settings.toggle_motion,
                    ""
                    if view_settings.can_move_smoothly
                    else "Animations are turned off in the desktop settings",
                ),
                Switch(
                    table.commands["view.drag_pans"].title,
                    lambda: view_settings.drag_pans,
                    view_settings.toggle_drag_pans,
                ),
                Switch(
                    "&Legend of colors",
                    lambda: view_settings.shows_legend,
                    view_settings.toggle_legend,
                ),
                Switch(
                    "Fl&ows of the selected slice",
                    lambda: view_settings.shows_flows,
                    view_settings.toggle_flows,
                ),
            ),
        ),
        Section(
            "When files are opened",
            (
                Choice(
                    "Show &inferences",
                    [(way.name.lower(), text) for way, text in ENTRIES.items()],
                    lambda: view_settings.first_inferences.name.lower(),
                    lambda name: view_settings.set_first_inferences(Inferences[name.upper()]),
                ),
                Switch(
                    INCLUDE_WARM_UP.replace("warm", "&warm"),
                    lambda: view_settings.includes_warm_up,
                    view_settings.toggle_warm_up,
                ),
                Stock(
                    "&Kept columns",
                    _columns_text,
                    "Empty",
                    CACHE.empty,
                    lambda: not CACHE.size,
                    "Of large profiles, so that they open at once the next time.",
                ),
            ),
        ),
        Section(
            "Source",
            (
                TextChoice(
                    "&Editor command",
                    EDITORS,
                    "System default",
                    lambda: view_settings.editor,
                    view_settings.set_editor,
                    "{file} and {line} are filled in. The system default does not use the line.",
                ),
            ),
        ),
    )


def sample_commands(context: CommandContext) -> list[Command]:
    """One command per bundled sample, which opens it."""
    return [
        _sample(
            f"sample.{sample.key}",
            sample.title,
            lambda sample=sample: context.opener.open(sample.paths()),  # type: ignore[misc]
        )
        for sample in SAMPLES
    ]


def keys_and_about_commands(context: CommandContext) -> list[Command]:
    """The commands for the page of keys, the shortcuts dialog and the About dialog."""
    shell = context.shell

    def show_keys() -> None:
        """Show all shortcuts and mouse gestures on one page."""
        from viewer.gui.window.dialogs.shortcuts import KeySheet

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

        box = AboutDialog(shell.theme, fault_log.fault_log_path(shell.settings.folder), shell)
        box.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        box.open()

    return [
        _help("help.keys", "&Keyboard shortcuts…", show_keys, ("?",)),
        _help("help.customize_keys", "Customi&ze shortcuts…", customize_keys),
        _help("help.about", "&About Opscope", show_about),
    ]


def palette_commands(context: CommandContext) -> list[Command]:
    """The command for the command palette."""

    def show_palette() -> None:
        """Show the command palette, or hide it if it is open."""
        context.table.refresh()
        context.palette.toggle(context.shell.settings.get(RECENT_COMMANDS))

    return [
        _help("help.palette", "&Command palette…", show_palette, ("Ctrl+Shift+P",), repeats=False)
    ]


def guide_commands(context: CommandContext) -> list[Command]:
    """The commands for help and tour."""
    help = context.help
    return [
        _help("help.here", "&Help for this panel", help.show_help_here, ("F1",)),
        _help("help.tour", "Take the &tour", help.start_tour),
        _help("help.recording", "How to &record a profile", lambda: help.show_help(RECORDING)),
        _help("help.glossary", "&Glossary", lambda: help.show_help(GLOSSARY)),
    ]
