"""Which tracks are visible, their order, and which are collapsed, as strips of clocks can be."""

from __future__ import annotations

from dataclasses import replace

from viewer.gui.session.session import Session
from viewer.render.layout import HeaderPart
from viewer.view.state import TrackView


def toggle_part(session: Session, part: HeaderPart) -> None:
    """Collapse or expand a process or track."""
    arrange_tracks(session, session.state.tracks.toggled(part))


def arrange_tracks(session: Session, tracks: TrackView, *, joins: bool = False) -> None:
    """Change visibility or order of the tracks.

    `joins` merges this into the previous undo step, as while the user drags or types.
    """
    session.change(replace(session.state, tracks=tracks), remember=not joins)


def toggle_strip(session: Session, clock: str) -> None:
    """Collapse or expand the strip of a clock group."""
    session.change(replace(session.state, strips=session.state.strips.toggled(clock)))


def shown_clocks(session: Session) -> list[str]:
    """Return the keys of the clock groups that have strips, from top to bottom.

    Also if the user shows only some: that of the active one, and that of the selected slice.
    """
    state, groups = session.state, session.groups
    keys = state.strips.shown(groups.keys)
    needed = [groups.by_key(state.clock).key]
    if state.slice is not None:
        needed.append(groups.of(state.slice.trace).key)
    return list(dict.fromkeys((*keys, *needed)))
