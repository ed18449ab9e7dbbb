"""The search commands."""

from __future__ import annotations

from PySide6.QtCore import Qt

from viewer.gui.panels.search.panel import HitsPanel
from viewer.gui.qt.commands.command_table import Command, Precondition
from viewer.gui.session.feeds.search import Search
from viewer.gui.window.commands.context import CommandContext
from viewer.gui.window.commands.preconditions import open_profile


def search_commands(context: CommandContext) -> list[Command]:
    """The commands to focus the search field, step through hits, list them, and show only hits."""
    session, field = context.session, context.search

    def find() -> None:
        """Focus the search field, and select its text."""
        field.setFocus(Qt.FocusReason.ShortcutFocusReason)
        field.selectAll()

    def show_hits() -> None:
        """Show the list of hits, and focus it."""
        context.docks.show_panel("search")
        context.panels.of(HitsPanel).take_focus()

    has_trace = open_profile(session)
    is_on = Precondition("a search", lambda: Search.of(session).is_on)

    return [
        Command("search.find", "&Find", "Edit", find, ("Ctrl+F", "/"), has_trace),
        Command(
            "search.next", "Next ma&tch", "Go", lambda: Search.of(session).step(1), ("F3",), is_on
        ),
        Command(
            "search.previous",
            "Previous match",
            "Go",
            lambda: Search.of(session).step(-1),
            ("Shift+F3",),
            is_on,
        ),
        Command("search.list", "List &of matches", "Go", show_hits, ("Ctrl+Shift+F",), has_trace),
        Command(
            "view.only_hits",
            "S&how only matches",
            "View",
            lambda: Search.of(session).show_only_hits(not session.state.only_hits),
            ("H",),
            is_on,
            lambda: session.state.only_hits,
        ),
    ]
