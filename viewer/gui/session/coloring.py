"""Which color scheme is used, and which of its classes is highlighted."""

from __future__ import annotations

from dataclasses import replace

from viewer.analysis.statistics.slice_keys import ARGUMENT, argument_names
from viewer.gui.session.session import Session
from viewer.program.program import Program
from viewer.render.color_schemes import BY_ID, NAMES, scheme_of
from viewer.render.palette import Palette

MOST_ARGUMENTS = 60  # to choose from


def set_scheme(session: Session, scheme: str) -> None:
    """Color by a scheme of `viewer.render.color_schemes`, and clear the class highlight.

    That of an argument is "arg:NAME". Raises ValueError if there is no such scheme.
    """
    if scheme_of(scheme) is None:
        raise ValueError(f"no scheme {scheme!r}; there are {', '.join(BY_ID)}")
    state = session.state
    lit = state.lit if scheme == state.scheme else None
    session.change(replace(state, scheme=scheme, lit=lit))


def highlight_class(session: Session, name: tuple[str, int] | None) -> None:
    """Highlight one class of the scheme, given as (title, palette index), and dim the rest.

    None, or the class that is already highlighted, clears the highlight.
    """
    session.change(replace(session.state, lit=None if name == session.state.lit else name))


def scheme_problem(session: Session, scheme: str) -> str:
    """Why no open trace supports the scheme, as a sentence; "" if any trace does."""
    if not session.traces:
        return "No profile is open"
    reasons = [open_trace.why_not_by(scheme) for open_trace in session.traces]
    return reasons[0] if all(reasons) else ""


def shown_scheme(session: Session) -> str:
    """The scheme on screen: the chosen one, or names if no open trace supports it."""
    scheme = session.state.scheme
    return NAMES if session.traces and scheme_problem(session, scheme) else scheme


def argument_schemes(session: Session) -> list[str]:
    """The schemes of the arguments of open traces, by name, with that on screen."""
    names = {name for open_trace in session.traces for name in argument_names(open_trace.trace)}
    listed = [f"{ARGUMENT}{name}" for name in sorted(names, key=str.casefold)]
    chosen = shown_scheme(session)
    more = [chosen] if chosen in listed[MOST_ARGUMENTS:] else []
    return [*listed[:MOST_ARGUMENTS], *more]


def operator_palette(session: Session, program: Program | None) -> Palette | None:
    """The color of every operator of a program, as on the timeline; None without a profile."""
    profiles = (profile for profile in session.traces if profile.table.program is program)
    first = None if program is None else next(profiles, None)
    return None if first is None else first.operator_colors(session.state.scheme)
