"""Runs the queries that session files on a command line keep, for reports and exports."""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import TYPE_CHECKING

from viewer.cli.arguments import complain
from viewer.view.sessions.opened_files import is_session
from viewer.workspace.workspace import Workspace

if TYPE_CHECKING:
    from viewer.html_report.options import QueryRows
    from viewer.workspace.perfetto_export import DerivedSource


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
