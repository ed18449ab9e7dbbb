"""One command per panel, which shows and focuses it, and one to edit what Source shows."""

from __future__ import annotations

from PySide6.QtCore import Qt
from PySide6.QtWidgets import QAbstractItemView, QWidget

from viewer.gui.panels.source.panel import SourcePanel
from viewer.gui.qt.commands.command_table import Command, Precondition
from viewer.gui.window.commands.context import CommandContext
from viewer.gui.window.frame.panel_table import PANELS


def panel_commands(context: CommandContext) -> list[Command]:
    """The commands `panel.operators` etc., listed under "Panels"."""
    something = Precondition("an open file", lambda: not context.session.is_empty)

    def show(name: str) -> None:
        context.docks.show_panel(name, by_hand=True)
        _take_keys(context.docks.by_name[name])

    return [
        Command(
            spec.command,
            f"Show {spec.title}",
            "Go",
            lambda name=spec.id: show(name),  # type: ignore[misc]
            enabled=something,
            group="Panels",
        )
        for spec in PANELS
    ]


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


def _take_keys(panel: QWidget) -> None:
    """Focus a panel's table, or else the first widget that Tab would reach in it."""
    inside = [w for w in panel.findChildren(QWidget) if w.isVisibleTo(panel) and w.isEnabled()]
    reached = [w for w in inside if w.focusPolicy() & Qt.FocusPolicy.TabFocus]
    tables = [w for w in reached if isinstance(w, QAbstractItemView)]
    for widget in (tables or reached)[:1]:
        widget.setFocus(Qt.FocusReason.ShortcutFocusReason)
