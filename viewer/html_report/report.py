"""Writes a report: as one HTML file, as Markdown, or as a notebook shows it.

If the file would have more than `MOST_BYTES`, everything in it is halved until it fits. Markdown is
for tickets and pull requests. A notebook keeps the HTML of an answer, so that is small and without
a script. Names come from files of strangers, and are escaped everywhere.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable
from typing import Any

from viewer import __version__
from viewer.analysis.comparison.comparison import Comparison
from viewer.codecs.atomic_file import NothingToExport, WriteCancelled, replacing
from viewer.codecs.reading import Cancelled, Progress, never_cancelled, no_progress
from viewer.dataclasses import dataclass
from viewer.html_report.contents import (
    MOST_BYTES,
    Contents,
    Limits,
    Profile,
    QueryRows,
    ReportOptions,
    contents_of,
    short_paths,
)
from viewer.html_report.costs import (
    delegation,
    figure_cells,
    figure_columns,
    memory,
    modules,
    operators,
    source_lines,
)
from viewer.html_report.html import Cell, Row, document, embedded_json, paragraph, table, text
from viewer.html_report.overview import (
    comparison,
    findings_of,
    key_figures,
    overview,
    provenance,
    rows_table,
)
from viewer.html_report.queries import queries
from viewer.html_report.timelines import (
    NAME,
    VERSION,
    Places,
    exact_slices,
    first_view_of,
    timeline_data,
    timelines,
)
from viewer.model.text import markdown_text, one_line
from viewer.model.times import counted, plain_spaces
from viewer.query.engine import cell_text, is_number
from viewer.reports.compare_text import compare_markdown, explanation, headline
from viewer.resources import resource
from viewer.tables.statistics import group_row
from viewer.view.timeline_drawing import SvgTimeline, timeline_style, timeline_svg
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


_MOST_ROWS, _MOST_LINES = 10, 40


def report_markdown(workspace: Workspace, options: ReportOptions | None = None) -> str:
    """Return a report of the open files as Markdown. Raises NothingToExport."""
    if workspace.is_empty:
        raise NothingToExport(NOTHING)
    contents = contents_of(workspace, options or ReportOptions(), Limits())
    lines = [f"## {markdown_text(contents.title)}", ""]
    if contents.options.compared is not None:
        compared = contents.options.compared
        lines += ["### Comparison", ""]
        lines += [compare_markdown(compared.comparison, compared.problems), ""]
    for profile in contents.profiles:
        lines += _profile_lines(profile, named=len(contents.profiles) > 1)
    for query in contents.options.queries:
        lines += _query(query)
    if contents.others:
        lines += [f"{counted(contents.others, 'more profile')} not shown.", ""]
    paths = dict.fromkeys(path for space in contents.workspaces for path in space.paths)
    names = ", ".join(markdown_text(name) for name in short_paths(paths).values())
    origin = f"From {names}, by Opscope {__version__}."
    return plain_spaces("\n".join([*lines, origin]) + "\n")


def _profile_lines(profile: Profile, *, named: bool) -> list[str]:
    lines = [f"### {markdown_text(profile.title)}", ""] if named else []
    figures = "; ".join(f"{meaning}: **{value}**" for value, meaning in key_figures(profile))
    lines += [figures, ""]
    findings = findings_of(profile)
    lines += ["**Findings**", ""] if findings else []
    lines += [
        f"1. **{markdown_text(finding.title)}** ({finding.severity.key}): "
        f"{markdown_text(f'{finding.detail} {finding.advice}'.rstrip())}"
        for finding in findings
    ]
    lines += [""] if findings else []
    for phase in profile.phases:
        lines += [f"**{markdown_text(phase)}**", ""] if phase else []
        lines += _table(profile, phase)
    return lines


def _table(profile: Profile, phase: str) -> list[str]:
    groups = profile.groups(profile.key, phase)
    if groups is None or not len(groups.groups):
        return []
    rate, columns = profile.shown.axis.ns_per_tick, figure_columns()
    rows = [
        [
            *(cell.text for cell in figure_cells(group_row("", rate, group), columns)),
            markdown_text(group.label),
        ]
        for group in groups.groups[:_MOST_ROWS]
    ]
    titles = [*(column.title for column in columns), profile.key.capitalize()]
    lines = ["| " + " | ".join(titles) + " |", "|" + " ---: |" * (len(titles) - 1) + " --- |"]
    lines += ["| " + " | ".join(row) + " |" for row in rows]
    rest = len(groups.groups) - len(rows)
    return [*lines, "", *([f"{counted(rest, 'more row')}.", ""] if rest > 0 else [])]


def _query(query: QueryRows) -> list[str]:
    """Return a query and its first rows, or why there are none."""
    sql = [one_line(line) for line in query.sql.splitlines()[:_MOST_LINES]]
    fence = "`" * (max((len(run) for run in re.findall("`+", query.sql)), default=2) + 1)
    fence = fence.ljust(3, "`")
    lines = [f"### {markdown_text(query.title)}", "", f"{fence}sql", *sql, fence, ""]
    lines += [markdown_text(query.complaint), ""] if query.complaint else []
    result = query.result
    if result is None or not result.columns:
        return lines
    columns = range(len(result.columns))
    numbers = [is_number(type_name) for type_name in result.types]
    lines += [
        "| " + " | ".join(markdown_text(name) for name in result.columns) + " |",
        "|" + "".join(" ---: |" if each else " --- |" for each in numbers),
    ]
    count = min(len(result.rows), _MOST_ROWS)
    lines += [
        "| " + " | ".join(markdown_text(cell_text(result, row, i)) for i in columns) + " |"
        for row in range(count)
    ]
    rest = result.count - count
    return [*lines, "", *([f"{counted(rest, 'more row')}.", ""] if rest > 0 else [])]


_LIMITS = Limits(profiles=2, svg_boxes=400, rows=5)
_ROWS = 12  # of a picture
_FINDINGS = 3
_CHANGES = 10
_WIDTH = 880  # px
_SHOWN = ("total_ns", "self_ns", "share", "count")


def notebook_page(workspace: Workspace) -> str:
    """Return the profiles of a workspace as a piece of HTML; "" without any."""
    contents = contents_of(workspace, ReportOptions(source=False), _LIMITS)
    parts = [_profile_html(profile) for profile in contents.profiles]
    if contents.others:
        parts.append(paragraph(f"{counted(contents.others, 'more profile')}"))
    parts += [picture.svg for picture in pictures(contents)]
    return "\n".join(part for part in parts if part)


def comparison_page(comparison: Comparison) -> str:
    """Return a comparison as a piece of HTML: the answer as a sentence, and the largest changes."""
    answer = f"<p><strong>{text(headline(comparison), 1000)}</strong></p>"
    return "\n".join([answer, paragraph(explanation(comparison)), rows_table(comparison, _CHANGES)])


def pictures(contents: Contents, width: int = _WIDTH, *, whole: bool = False) -> list[SvgTimeline]:
    """Return a picture of each clock, with its style sheet.

    whole: the whole axis instead of the part that a window shows first. width: in px.
    """
    svg_timelines = []
    for axis in contents.axes:
        view = first_view_of(axis)
        svg_timelines.append(
            timeline_svg(
                axis.traces,
                axis.group,
                span_ns=None if whole else (view.t0, view.t1),
                width=width,
                most_rows=_ROWS,
                most_boxes=contents.limits.svg_boxes,
            )
        )
    return svg_timelines


def timeline_picture(workspace: Workspace, width: int = _WIDTH, *, whole: bool = False) -> str:
    """Return the timelines of a workspace as one SVG each, below one another; "" without any."""
    contents = contents_of(workspace, ReportOptions(source=False), Limits())
    return "\n".join(picture.svg for picture in pictures(contents, width, whole=whole))


def _profile_html(profile: Profile) -> str:
    figure_text = " · ".join(f"{meaning}: {value}" for value, meaning in key_figures(profile))
    profile_findings = findings_of(profile)[:_FINDINGS]
    findings = "".join(f"<li>{text(finding.title)}</li>" for finding in profile_findings)
    return "\n".join(
        [
            f"<p><strong>{text(profile.title)}</strong><br>{text(figure_text, 1000)}</p>",
            f"<ul>{findings}</ul>" if findings else "",
            _operators(profile),
        ]
    )


def _operators(profile: Profile) -> str:
    # The phase with the largest total.
    phase = profile.summary.phase if len(profile.phases) > 1 else ""
    groups = profile.groups(profile.key, phase)
    if groups is None or not groups.groups:
        return ""
    rate, most = profile.shown.axis.ns_per_tick, _LIMITS.rows
    columns = [column for column in figure_columns() if column.name in _SHOWN]
    rows = []
    for group in groups.groups[:most]:
        row = group_row(profile.shown.file.path, rate, group)
        rows.append(Row([*figure_cells(row, columns), Cell(group.label)]))
    more = len(groups.groups) - len(rows)
    title = "Operator" if profile.key == "operator" else "Name"
    of = f" in {phase}" if phase else ""
    caption = f"{title}s with the most own time{of}" + (f", {more} more" if more else "")
    titles = [*(column.title for column in columns), title]
    return table(caption, titles, rows, left=1, sortable=False)
