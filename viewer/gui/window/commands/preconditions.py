"""Preconditions that several commands share, as worded in the command palette."""

from __future__ import annotations

from viewer.gui.qt.commands.command_table import Precondition
from viewer.gui.session.session import Session


def open_profile(session: Session) -> Precondition:
    """Requires an open profile."""
    return Precondition("an open profile", lambda: bool(session.traces))


def selected_slice(session: Session) -> Precondition:
    """Requires a selected slice."""
    return Precondition("a selected slice", lambda: session.state.slice is not None)
