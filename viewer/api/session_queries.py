"""Runs the queries that session files keep: their rows as tracks and charts. Needs duckdb.

A session may come from a stranger. Its queries only read what is open, each in bounded time and
memory, and all of them together in bounded time.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from types import MappingProxyType
from typing import TYPE_CHECKING

from viewer.api.sql import sql_result
from viewer.codecs.reading import Cancelled, UnreadableFile, never_cancelled
from viewer.dataclasses import dataclass
from viewer.html_report.contents import QueryRows
from viewer.model.inference_views import Inferences
from viewer.model.text import one_line
from viewer.query.engine import Limits, NoDuckDB, Result, WrongQuery
from viewer.view.clock_groups import clock_groups, table_zeros
from viewer.view.derived_tracks import MOST_QUERIES, DerivedTrack, QueryChart, derived_trace
from viewer.view.open_trace import views_of
from viewer.view.sessions.opened_files import is_session

if TYPE_CHECKING:
    from viewer.api.profile_tables import ProfileTables
    from viewer.workspace.workspace import Workspace

MOST_ROWS, SECONDS, TOGETHER_S = 100_000, 60.0, 120.0
LIMITS = Limits(SECONDS, memory=1_000_000_000, rows=MOST_ROWS)
_NO_RESULTS: Mapping[str, Result] = MappingProxyType({})


def results_of(
    profile: ProfileTables,
    texts: Iterable[str],
    *,
    started: Callable[[Callable[[], None]], None] | None = None,
    cancelled: Cancelled = never_cancelled,
    overdue: Callable[[], None] | None = None,
) -> dict[str, Result | str]:
    """Run queries, and return the rows of each, or why there are none.

    started: gets a function that stops the query that runs. cancelled: whether the others are not
    wanted any more. overdue: as of `Limits`.
    """
    results: dict[str, Result | str] = {}
    end = time.monotonic() + TOGETHER_S
    for text in dict.fromkeys(texts):
        if cancelled():
            break
        left = end - time.monotonic()
        if left <= 0:
            results[text] = f"not run, as the queries before it took {TOGETHER_S:g} s"
            continue
        limits = Limits(min(SECONDS, left), LIMITS.memory, overdue, MOST_ROWS)
        try:
            results[text] = sql_result(profile, text, limits, None, started)
        except (WrongQuery, NoDuckDB) as error:
            results[text] = str(error).partition(" (--")[0]
    return results


@dataclass(frozen=True, slots=True)
class KeptQueries:
    """What a session keeps of queries."""

    tracks: Sequence[DerivedTrack] = ()
    charts: Sequence[QueryChart] = ()

    def __bool__(self) -> bool:
        return bool(self.tracks or self.charts)

    def rows(
        self,
        space: Workspace,
        results: Mapping[str, Result] = _NO_RESULTS,
        *,
        overdue: Callable[[], None] | None = None,
        cancelled: Cancelled = never_cancelled,
    ) -> list[QueryRows]:
        """Return the rows of the tracks, then those of the charts.

        results: of queries that ran already, by their text.
        """
        if not self:
            return []
        # Late, as it needs pandas.
        from viewer.api.profile import Profile

        texts = [track.sql for track in self.tracks] + [chart.sql for chart in self.charts]
        texts = [text for text in texts if text not in results]
        run = results_of(Profile(space), texts, overdue=overdue, cancelled=cancelled)
        every: dict[str, Result | str] = {**run, **results}
        open_traces = list(views_of(space, {Inferences.AS_RUN}, {}).values())
        spans = {group.key: group.span_ns for group in clock_groups(open_traces)}
        zeros = table_zeros(open_traces)
        query_rows = []
        for track in self.tracks:
            rows = _rows(track.name, track.sql, every)
            if rows.result is not None:
                zero, span = zeros.get(track.clock, 0), spans.get(track.clock, 1)
                rows = _as_tracks(track, rows, rows.result, zero, span)
            query_rows.append(rows)
        query_rows += (_rows(chart.name, chart.sql, every, chart) for chart in self.charts)
        return query_rows


def _rows(
    name: str, sql: str, results: Mapping[str, Result | str], chart: QueryChart | None = None
) -> QueryRows:
    result, kind = results.get(sql, "it was stopped"), None if chart is None else chart.kind
    if isinstance(result, str):
        return QueryRows(name, sql, complaint=result, chart=kind)
    return QueryRows(name, sql, result, chart=kind)


def _as_tracks(
    track: DerivedTrack, rows: QueryRows, result: Result, zero: int, span: int
) -> QueryRows:
    try:
        trace = derived_trace(track, result.columns, result.rows, zero)
    except ValueError as error:
        return QueryRows(rows.name, rows.sql, result, str(error))
    return QueryRows(rows.name, rows.sql, result, trace=trace, span_ns=span)


def kept_queries(files: Iterable[str], space: Workspace) -> KeptQueries:
    """Return the queries of all session files among some files, of profiles that are open."""
    sessions = [path for path in files if is_session(path)]
    if not sessions:
        return KeptQueries()
    from viewer.view.sessions.saved_view import charts_of
    from viewer.view.sessions.session_file import find_inputs, read

    tracks: list[DerivedTrack] = []
    charts: list[QueryChart] = []
    keys = {trace.path: space.clocks.place(trace).key for trace in space.traces}
    for path in sessions:
        try:
            saved = read(path)
        except UnreadableFile:
            continue  # it was reported when its files were opened
        if saved.view is None or not (saved.view.derived or saved.view.charts):
            continue
        inputs = find_inputs(saved, os.path.dirname(os.path.abspath(path)), never_cancelled)
        clocks = [keys.get(each.path or "", "") for each in inputs]
        first = next(filter(None, clocks), "")
        for each in saved.view.derived[:MOST_QUERIES]:
            number = each.clock
            is_input = number is not None and 0 <= number < len(clocks)
            clock = first if number is None else clocks[number] if is_input else ""
            if clock:
                tracks.append(DerivedTrack(one_line(each.name), each.sql, clock))
        charts += charts_of(saved.view)
    return KeptQueries(tracks[:MOST_QUERIES], charts[:MOST_QUERIES])


def complaint_of(rows: Sequence[QueryRows]) -> str:
    """Return a sentence on the queries without tracks or rows, with their number; "" for none."""
    failed = [each for each in rows if each.complaint]
    if not failed:
        return ""
    names = ", ".join(each.name for each in failed[:3]) + (", …" if len(failed) > 3 else "")
    reasons = "; ".join(dict.fromkeys(each.complaint for each in failed))
    count = "1 query is" if len(failed) == 1 else f"{len(failed)} queries are"
    return f"{count} not drawn ({names}): {reasons}"
