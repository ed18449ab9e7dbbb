"""What several commands need, in the words of the palette."""

from __future__ import annotations

from viewer.gui.qt.commands.command_table import Need
from viewer.gui.session.session import Session


def open_profile(session: Session) -> Need:
    """Something that ran, on the timeline."""
    return Need("an open profile", lambda: bool(session.traces))


def selected_slice(session: Session) -> Need:
    """A slice to start from."""
    return Need("a selected slice", lambda: session.state.slice is not None)
