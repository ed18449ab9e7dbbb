"""Which tracks are shown, in which order, and which are collapsed."""

from __future__ import annotations

from dataclasses import replace

from viewer.gui.session.session import Session
from viewer.render.layout import HeaderPart
from viewer.view.state import TrackView


def toggle_part(session: Session, part: HeaderPart) -> None:
    """Collapse or expand a process or a track."""
    arrange_tracks(session, session.state.tracks.toggled(part))


def arrange_tracks(session: Session, tracks: TrackView, *, joins: bool = False) -> None:
    """Show other tracks, or the same in another order; `joins` makes it one step of undo with the
    change before, as while something is dragged or typed."""
    session.change(replace(session.state, tracks=tracks), remember=not joins)
