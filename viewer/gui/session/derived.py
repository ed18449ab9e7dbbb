"""Adding and removing the tracks and charts of queries. Each is a step that undo reverts."""

from __future__ import annotations

from dataclasses import replace

from viewer.gui.session.session import Session
from viewer.view.derived_tracks import MOST_QUERIES, ChartKind, DerivedTrack, QueryChart
from viewer.view.state import LONGEST_NAME, SliceRef


def add(session: Session, derived: DerivedTrack) -> None:
    """Draw a query; it replaces one of the same name."""
    others = (track for track in session.state.derived if track.name != derived.name)
    session.change(replace(session.state, derived=(*others, derived)))


def remove(session: Session, derived: DerivedTrack) -> None:
    """Draw a query no longer."""
    others = tuple(track for track in session.state.derived if track != derived)
    session.change(replace(session.state, derived=others))


def keep_chart(session: Session, name: str, sql: str, kind: ChartKind) -> QueryChart:
    """Keep a chart; it replaces one of the same name. Without a name it gets the next number."""
    charts = session.state.charts
    chart = QueryChart(_named(name, "Chart", {each.name for each in charts}), sql, kind)
    others = (each for each in charts if each.name != chart.name)
    session.change(replace(session.state, charts=(*others, chart)[-MOST_QUERIES:]))
    return chart


def drop_chart(session: Session, chart: QueryChart) -> None:
    """Keep a chart no longer."""
    charts = tuple(each for each in session.state.charts if each != chart)
    session.change(replace(session.state, charts=charts))


def _named(name: str, kind: str, used: set[str]) -> str:
    """Return a name on one line; without one that with the next number."""
    numbers = (f"{kind} {n}" for n in range(1, len(used) + 2))
    return " ".join(name.split())[:LONGEST_NAME] or next(n for n in numbers if n not in used)


def named(session: Session, name: str, sql: str, files: set[str]) -> DerivedTrack:
    """Return a query as a track on the clock of the files in its rows, else on the active one.

    Without a name it gets the next number.
    """
    title = _named(name, "Query", {track.name for track in session.state.derived})
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
