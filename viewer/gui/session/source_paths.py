"""Where sources are on this machine that were recorded under another path."""

from __future__ import annotations

from viewer.gui.session.session import Session
from viewer.program.sources.files import Substitution


def add_substitution(session: Session, substitution: Substitution) -> None:
    """Look for sources that were recorded below one path below another."""
    session.edit_workspace_now(lambda space: space.substitute(substitution))
    session.sources_changed.emit()


def remove_substitution(session: Session, substitution: Substitution) -> None:
    """Forget a substitution."""
    session.edit_workspace_now(lambda space: space.withdraw(substitution))
    session.sources_changed.emit()
