"""Substitutions from recorded source paths to paths on this machine."""

from __future__ import annotations

from viewer.gui.session.session import Session
from viewer.program.sources.files import Substitution


def add_substitution(session: Session, substitution: Substitution) -> None:
    """Map sources recorded below one path to another path, and emit `sources_changed`."""
    session.edit_workspace_now(lambda space: space.substitute(substitution))
    session.sources_changed.emit()


def remove_substitution(session: Session, substitution: Substitution) -> None:
    """Remove a substitution, and emit `sources_changed`."""
    session.edit_workspace_now(lambda space: space.withdraw(substitution))
    session.sources_changed.emit()
