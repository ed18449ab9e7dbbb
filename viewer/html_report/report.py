"""Writes a report: one HTML file that needs nothing else, of at most `MOST_BYTES`.

If it would be too large, everything in it is halved until it fits.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from viewer.codecs.atomic_file import NothingToExport, WriteCancelled, replacing
from viewer.codecs.reading import Cancelled, Progress, never_cancelled, no_progress
from viewer.html_report.contents import Contents, contents_of, short_paths
from viewer.html_report.html import document, embedded_json, text
from viewer.html_report.options import MOST_BYTES, Limits, ReportOptions
from viewer.html_report.sections.comparison import comparison
from viewer.html_report.sections.costs import modules, operators
from viewer.html_report.sections.delegation import delegation
from viewer.html_report.sections.memory import memory
from viewer.html_report.sections.overview import overview
from viewer.html_report.sections.provenance import provenance
from viewer.html_report.sections.queries import queries
from viewer.html_report.sections.source_lines import source_lines
from viewer.html_report.sections.timelines import exact_slices, timelines
from viewer.html_report.timeline_data import NAME, VERSION, Places, timeline_data
from viewer.resources import resource
from viewer.view.static_timeline.svg import timeline_style
from viewer.workspace.workspace import Workspace

NOTHING = "Nothing to report: open a profile, an ETRecord or a program file"
_MOST_HALVINGS = 8


@dataclass(frozen=True, slots=True)
class WrittenReport:
    """What was written: the size of the file, and how many slices it has exactly, of how many."""

    size: int
    exact: int
    slices: int


def write_report(
    workspace: Workspace,
    path: str | os.PathLike[str],
    options: ReportOptions | None = None,
    progress: Progress = no_progress,
    cancelled: Cancelled = never_cancelled,
) -> WrittenReport:
    """Write a report of the open files as one HTML file; the file is replaced atomically.

    The workspace may be a copy of one that changes meanwhile. Raises NothingToExport,
    WriteCancelled, and OSError as `viewer.codecs.atomic_file.replacing` does.
    """
    page, written = report_page(workspace, options or ReportOptions(), progress, cancelled)
    with replacing(path) as file:
        file.write(page)
    return written


def report_page(
    workspace: Workspace,
    options: ReportOptions,
    progress: Progress = no_progress,
    cancelled: Cancelled = never_cancelled,
) -> tuple[bytes, WrittenReport]:
    """Return a report as UTF-8, and what is in it. Raises NothingToExport and WriteCancelled."""
    if workspace.is_empty:
        raise NothingToExport(NOTHING)
    limits = Limits()
    for _ in range(_MOST_HALVINGS):
        contents = contents_of(workspace, options, limits)
        page, exact = _page(contents, progress, cancelled)
        encoded = page.encode("utf-8", "replace")
        if len(encoded) <= MOST_BYTES:
            break
        limits = limits.halved()
    slices = sum(len(profile.shown.trace.slices) for profile in contents.profiles)
    return encoded, WrittenReport(len(encoded), exact, slices)


def _page(contents: Contents, progress: Progress, cancelled: Cancelled) -> tuple[str, int]:
    """Return the page, and the number of its exact slices."""
    steps = 11
    done = 0

    def step() -> None:
        nonlocal done
        done += 1
        progress(done, steps)
        if cancelled():
            raise WriteCancelled

    places = Places()
    data: dict[str, Any] = timeline_data(contents, places)
    exact = exact_slices(data)
    step()
    sections = []
    make: Callable[[], str]
    for make in (
        lambda: comparison(contents),  # first: who gets one wants its answer
        lambda: overview(contents),
        lambda: timelines(contents, data),
        lambda: queries(contents),
        lambda: operators(contents, places),
        lambda: source_lines(contents, places),
        lambda: modules(contents),
        lambda: delegation(contents),
        lambda: memory(contents),
        lambda: provenance(contents, cancelled),
    ):
        sections.append(make())
        step()
    data["places"] = places.sets
    names = short_paths(places.files)
    data["files"] = [names[path] for path in places.files]
    return _document(contents, [section for section in sections if section], data), exact


def _document(contents: Contents, sections: list[str], data: dict[str, Any]) -> str:
    # The names of the files.
    paths = dict.fromkeys(path for space in contents.workspaces for path in space.paths)
    names = list(short_paths(paths).values())
    listed = ", ".join(text(name) for name in names[:6])
    more = f" and {len(names) - 6} more" if len(names) > 6 else ""
    return document(
        contents.title,
        sections,
        resource("report", "report.css").read_text(encoding="utf-8") + timeline_style(),
        generator=f", report {VERSION}",
        head=f"<p><small>{listed}{more}</small></p>",
        kind="several" if len(contents.profiles) > 1 else "",
        data=embedded_json(NAME, data),
        script=resource("report", "report.js").read_text(encoding="utf-8"),
    )
