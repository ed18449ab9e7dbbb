"""A report as Markdown, for tickets and pull requests: the main figures, findings and tables.

Names come from files of strangers, and are escaped.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from viewer import __version__
from viewer.codecs.atomic_file import NothingToExport
from viewer.html_report.contents import Contents, Profile, contents_of, short_paths
from viewer.html_report.options import Limits, QueryRows, ReportOptions
from viewer.html_report.report import NOTHING
from viewer.html_report.sections.costs import figure_cells, figures
from viewer.html_report.sections.overview import findings_of, key_figures
from viewer.model.text import markdown_text, one_line
from viewer.model.times import counted, plain_spaces
from viewer.query.result_values import cell_text, is_number
from viewer.reports.compare_text import compare_markdown
from viewer.tables.statistics import group_row
from viewer.workspace.workspace import Workspace

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
        lines += _profile(profile, named=len(contents.profiles) > 1)
    for query in contents.options.queries:
        lines += _query(query)
    if contents.others:
        lines += [f"{counted(contents.others, 'more profile')} not shown.", ""]
    return plain_spaces("\n".join([*lines, *_origin(contents)]) + "\n")


def _profile(profile: Profile, *, named: bool) -> list[str]:
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
    rate, columns = profile.shown.axis.ns_per_tick, figures()
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


def _origin(contents: Contents) -> Sequence[str]:
    paths = dict.fromkeys(path for space in contents.workspaces for path in space.paths)
    names = ", ".join(markdown_text(name) for name in short_paths(paths).values())
    return [f"From {names}, by Opscope {__version__}."]
