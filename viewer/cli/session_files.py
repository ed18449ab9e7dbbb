"""What session files on a command line say: bookmarks that split inferences, clocks, queries.

Commands split profiles at bookmarks, align clocks as the session does, and run its queries for
reports and exports.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING

from viewer.analysis.links.link_table import LinkTable
from viewer.cli.arguments import complain
from viewer.codecs.reading import UnreadableFile, never_cancelled
from viewer.dataclasses import dataclass
from viewer.model.times import format_time, plain_spaces, tick_to_ns
from viewer.model.trace import Run, Trace
from viewer.view.clock_groups import Tie, shifts_of
from viewer.view.sessions.opened_files import is_session
from viewer.view.sessions.session_file import SavedSession, choices_of, find_inputs, read
from viewer.workspace.comparison_arms import RunChoice
from viewer.workspace.workspace import Workspace

if TYPE_CHECKING:
    from viewer.html_report.contents import QueryRows
    from viewer.workspace.perfetto_export import DerivedSource


@dataclass(frozen=True, slots=True)
class SessionBookmark:
    """A named bookmark of a session file, in ns on the axis of its clock.

    paths: the open profiles on that clock. start_ns: from the start of `profile`, the first one.
    problem: why it cannot split them, "" if it can.
    """

    name: str
    t0: int
    t1: int
    paths: tuple[str, ...]
    profile: str
    start_ns: int
    problem: str = ""

    @property
    def text(self) -> str:
        """Its name, and where it is: "warm" (at 1.5 ms of run.etdp)."""
        length = format_time(self.t1 - self.t0)
        what = f"{length} from" if self.t1 > self.t0 else "at"
        where = plain_spaces(f"{what} {format_time(self.start_ns)}")
        return f'"{self.name}" ({where} of {os.path.basename(self.profile)})'


def bookmarks_of(files: Sequence[str], workspace: Workspace) -> list[SessionBookmark]:
    """Return the bookmarks with a name of all session files among some files.

    Files that cannot be read, and bookmarks of profiles that are not open, are skipped.
    """
    session_bookmarks = []
    for path in filter(is_session, files):
        try:
            session_bookmarks += list(_bookmarks(read(path), path, workspace))
        except UnreadableFile:
            continue
    return session_bookmarks


def _bookmarks(saved: SavedSession, path: str, workspace: Workspace) -> Iterator[SessionBookmark]:
    inputs = find_inputs(saved, os.path.dirname(os.path.abspath(path)), never_cancelled)
    paths = [found_input.path for found_input in inputs]
    open_traces = {trace.path: trace for trace in workspace.traces}
    first = next((trace for place in paths if (trace := open_traces.get(place or ""))), None)
    rates = dict(choices_of(saved.choices, paths).clocks)
    for mark in () if saved.view is None else saved.view.bookmarks:
        if mark.clock is None:
            trace = first
        else:
            place = paths[mark.clock] if 0 <= mark.clock < len(paths) else None
            trace = open_traces.get(place or "")
        if trace is None or not mark.name or mark.start_ns > mark.end_ns:
            continue
        rate = workspace.clocks.ns_per_tick(trace)
        start = tick_to_ns(trace.start, rate) + workspace.clocks.offset_ns(trace)
        problem = ""
        if rate != rates.get(trace.path, trace.clock.ns_per_tick):
            problem = f"the clock rate of {os.path.basename(trace.path)} differs in {path}"
        yield SessionBookmark(
            mark.name,
            start + mark.start_ns,
            start + mark.end_ns,
            tuple(trace.path for trace in workspace.clocks.same_clock(trace)),
            trace.path,
            mark.start_ns,
            problem,
        )


def split_at(
    name: str, files: Sequence[str], workspace: Workspace
) -> tuple[RunChoice, RunChoice, list[str]]:
    """Return the inferences of both arms that a bookmark splits, and notes.

    A moment divides those that end before it from those that start after it, a span those inside
    from those outside; one that reaches over an edge is in neither. Profiles on another clock are
    left out, with a note. Raises ValueError if not exactly one bookmark has the name.
    """
    every = bookmarks_of(files, workspace)
    session_bookmarks = [
        session_bookmark for session_bookmark in every if session_bookmark.name == name
    ]
    if len(session_bookmarks) != 1 or session_bookmarks[0].problem:
        listed = ", ".join(
            session_bookmark.text for session_bookmark in (session_bookmarks or every)
        )
        problem = "no session file among the inputs has a bookmark with a name"
        if len(session_bookmarks) == 1:
            problem = session_bookmarks[0].problem
        elif session_bookmarks:
            problem = f"{len(session_bookmarks)} bookmarks have this name: {listed}"
        elif listed:
            problem = f"no bookmark has this name; there are: {listed}"
        raise ValueError(f"--split-at {name}: {problem}")
    mark = session_bookmarks[0]
    notes = [
        f"{os.path.basename(trace.path)} is on another clock than the bookmark and left out."
        for trace in workspace.traces
        if trace.path not in mark.paths
    ]
    if mark.t0 == mark.t1:
        words = f'before "{name}"', f'after "{name}"'
        in_a, in_b = (lambda start, end: end <= mark.t0), (lambda start, end: start >= mark.t0)
    else:
        words = f'inside "{name}"', f'outside "{name}"'
        in_a, in_b = _inside(mark.t0, mark.t1), _outside(mark.t0, mark.t1)
    a, b = (
        RunChoice(text, _on_clock(mark.paths, workspace, test))
        for text, test in zip(words, (in_a, in_b), strict=True)
    )
    return a, b, notes


_Test = Callable[[int, int], bool]


def _inside(t0: int, t1: int) -> _Test:
    return lambda start, end: start >= t0 and end <= t1


def _outside(t0: int, t1: int) -> _Test:
    return lambda start, end: end <= t0 or start >= t1


def _on_clock(
    paths: Sequence[str], workspace: Workspace, test: _Test
) -> Callable[[LinkTable, Run], bool]:
    """Whether an inference is of one of some profiles, and passes a test of its ns on the axis."""

    def axis_ns(trace: Trace, tick: int) -> int:
        return tick_to_ns(tick, workspace.clocks.ns_per_tick(trace)) + offsets[trace.path]

    offsets = {trace.path: workspace.clocks.offset_ns(trace) for trace in workspace.traces}

    def includes(table: LinkTable, run: Run) -> bool:
        trace = table.trace
        if trace.path not in paths:
            return False
        return test(axis_ns(trace, run.start), axis_ns(trace, run.end))

    return includes


def alignment_of(
    files: Sequence[str], workspace: Workspace
) -> tuple[dict[int, tuple[int, str]], list[str]]:
    """Return what aligns the open traces, as `PerfettoOptions.shifts`, and messages.

    That is the alignment of the first session file that has one. files: of the command line; those
    that cannot be read are skipped. A profile at another clock rate than in the session is not
    aligned, since its moment is a time at that rate.
    """
    keys = [workspace.clocks.place(trace).key for trace in workspace.traces]
    complaints: list[str] = []
    for path in filter(is_session, files):
        try:
            saved = read(path)
        except UnreadableFile:
            continue
        ties = _anchors(saved, path, workspace, complaints)
        shifts = shifts_of(ties, keys)
        if shifts:
            return shifts, complaints
    return {}, complaints


def _anchors(
    saved: SavedSession, path: str, workspace: Workspace, complaints: list[str]
) -> dict[str, Tie]:
    """Return the anchors of a session's clocks, by the keys of their axes, in ns of their axes."""
    clocks = () if saved.view is None else saved.view.clocks
    if not any(saved_clock.tie is not None for saved_clock in clocks):
        return {}
    found_inputs = find_inputs(saved, os.path.dirname(os.path.abspath(path)), never_cancelled)
    paths = [found_input.path for found_input in found_inputs]
    chosen = dict(choices_of(saved.choices, paths).clocks)
    traces = {trace.path: trace for trace in workspace.traces}
    ties: dict[str, Tie] = {}
    for saved_clock in clocks:
        place = paths[saved_clock.input] if 0 <= saved_clock.input < len(paths) else None
        trace = None if place is None else traces.get(place)
        if trace is None or saved_clock.tie is None or saved_clock.tie.anchor_ns is None:
            continue
        rate = workspace.clocks.ns_per_tick(trace)
        if rate != chosen.get(trace.path, trace.clock.ns_per_tick):
            complaints.append(f"{trace.path}: not aligned, since its clock rate differs in {path}")
            continue
        start = tick_to_ns(trace.start, rate) + workspace.clocks.offset_ns(trace)
        tie = Tie(anchor=start + saved_clock.tie.anchor_ns, reason=saved_clock.tie.reason)
        ties.setdefault(workspace.clocks.place(trace).key, tie)
    return ties


def ran_queries(
    files: Sequence[str], space: Workspace, *, charts: bool = True
) -> tuple[list[tuple[QueryRows, DerivedSource | None]], bool]:
    """Return the rows of each query, with its tracks if it has any, and whether all of them ran.

    charts: whether those are wanted too. It is said which did not run, and why.
    """
    if not any(map(is_session, files)):
        return [], True
    # Late, as most commands have no session.
    from viewer.api.session_queries import KeptQueries, complaint_of, kept_queries
    from viewer.workspace.perfetto_export import DerivedSource

    queries = kept_queries(files, space)
    if not charts:
        queries = KeptQueries(queries.tracks)
    if not queries:
        return [], True
    query_rows = queries.rows(space, overdue=_stop)
    if complaint := complaint_of(query_rows):
        complain(complaint)
    keys = [space.clocks.place(trace).key for trace in space.traces]
    sources: list[DerivedSource | None] = [
        None if rows.trace is None else DerivedSource(keys.index(track.clock), rows.trace, rows.sql)
        for track, rows in zip(queries.tracks, query_rows, strict=False)
    ]
    sources += [None] * (len(query_rows) - len(sources))
    return list(zip(query_rows, sources, strict=True)), not complaint


def _stop() -> None:
    """End the process: DuckDB cannot interrupt what it does."""
    complain("a query of the session takes too long, and cannot be stopped")
    os._exit(1)
