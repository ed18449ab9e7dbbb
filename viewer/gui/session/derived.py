"""Adding and removing the tracks that queries derive. Each is a step that undo reverts."""

from __future__ import annotations

from dataclasses import replace

from viewer.gui.session.session import Session
from viewer.view.derived_tracks import DerivedTrack
from viewer.view.state import LONGEST_NAME, SliceRef


def add(session: Session, derived: DerivedTrack) -> None:
    """Draw a query; it replaces one of the same name."""
    others = (track for track in session.state.derived if track.name != derived.name)
    session.change(replace(session.state, derived=(*others, derived)))


def remove(session: Session, derived: DerivedTrack) -> None:
    """Draw a query no longer."""
    others = tuple(track for track in session.state.derived if track != derived)
    session.change(replace(session.state, derived=others))


def named(session: Session, name: str, sql: str, files: set[str]) -> DerivedTrack:
    """Return a query as a track on the clock of the files in its rows, else on the active one.

    Without a name it gets the next number.
    """
    used = {track.name for track in session.state.derived}
    numbers = (f"Query {n}" for n in range(1, len(used) + 2))
    title = " ".join(name.split())[:LONGEST_NAME] or next(n for n in numbers if n not in used)
    clocks = {
        session.groups.of(number).key
        for number, open_trace in enumerate(session.traces)
        if open_trace.file.path in files
    }
    clock = next(iter(clocks)) if len(clocks) == 1 else session.group.key
    return DerivedTrack(title, sql, clock)


def slice_of(session: Session, number: int) -> SliceRef | None:
    """Return the slice of an `id`: they are numbered over all files."""
    for trace in range(len(session.traces)):
        count = len(session.as_run(trace).trace.slices)
        if 0 <= number < count:
            return SliceRef(trace, number)
        number -= count
    return None
