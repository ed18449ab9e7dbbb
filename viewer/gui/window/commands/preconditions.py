"""What several commands need, in the words of the palette."""

from __future__ import annotations

from viewer.gui.qt.commands.command_table import Precondition
from viewer.gui.session.session import Session


def open_profile(session: Session) -> Precondition:
    """Something that ran, on the timeline."""
    return Precondition("an open profile", lambda: bool(session.traces))


def selected_slice(session: Session) -> Precondition:
    """A slice to start from."""
    return Precondition("a selected slice", lambda: session.state.slice is not None)
