"""The actions of the search."""

from __future__ import annotations

from typing import TYPE_CHECKING

from viewer.gui.qt.commands.command_table import Command, Precondition
from viewer.gui.session.preconditions import open_profile
from viewer.gui.session.search import Search

if TYPE_CHECKING:
    from viewer.gui.window.controller import WindowController


def search_commands(desk: WindowController) -> list[Command]:
    """Every action of the search of a desk."""
    session = desk.session
    has_trace = open_profile(session)
    is_on = Precondition("a search", lambda: Search.of(session).is_on)

    return [
        Command(
            "search.find", "Searc&h", "Go", desk.search, ("Ctrl+F", "/"), has_trace
        ),
        Command(
            "search.next", "Next hi&t", "Go", lambda: Search.of(session).step(1), ("F3",), is_on
        ),
        Command(
            "search.previous", "Previous h&it", "Go", lambda: Search.of(session).step(-1),
            ("Shift+F3",), is_on,
        ),
        Command(
            "search.list", "List &of hits", "Go", desk.show_hits, ("Ctrl+Shift+F",), has_trace
        ),
        Command(
            "view.only_hits", "Show only &hits", "View",
            lambda: Search.of(session).show_only_hits(not session.state.only_hits), ("H",), is_on,
            lambda: session.state.only_hits,
        ),
    ]  # fmt: skip
