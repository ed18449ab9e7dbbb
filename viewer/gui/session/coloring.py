"""By which scheme slices are colored, and which class of it is highlighted."""

from __future__ import annotations

from dataclasses import replace

from viewer.gui.session.session import Session
from viewer.render.color_schemes import BY_ID, NAMES


def set_scheme(session: Session, scheme: str) -> None:
    """Color slices by one of `viewer.render.color_schemes`; no class of it is highlighted then.

    Raises ValueError for any other name.
    """
    if scheme not in BY_ID:
        raise ValueError(f"no scheme {scheme!r}; there are {', '.join(BY_ID)}")
    state = session.state
    lit = state.lit if scheme == state.scheme else None
    session.change(replace(state, scheme=scheme, lit=lit))


def highlight_class(session: Session, name: tuple[str, int] | None) -> None:
    """Draw one class of the scheme in full, by title and palette index, and dim the rest; the
    class that is highlighted already, or None, ends that."""
    session.change(replace(session.state, lit=None if name == session.state.lit else name))


def scheme_problem(session: Session, scheme: str) -> str:
    """Why nothing that is open can be colored by a scheme; "" if any of it can."""
    if not session.traces:
        return "No profile is open"
    reasons = [shown.barred.get(scheme, "") for shown in session.traces]
    return reasons[0] if all(reasons) else ""


def shown_scheme(session: Session) -> str:
    """The scheme on screen: the chosen one, or the names that all traces fall back to."""
    scheme = session.state.scheme
    return NAMES if session.traces and scheme_problem(session, scheme) else scheme
