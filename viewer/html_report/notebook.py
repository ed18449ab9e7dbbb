"""Profiles as a notebook shows them: main figures, findings, operators and a picture. No script.

A notebook keeps the HTML of an answer, so it is small. Everything in it is escaped, as in a report.
"""

from __future__ import annotations

from viewer.analysis.comparison.comparison import Comparison
from viewer.html_report.contents import Contents, Profile, contents_of
from viewer.html_report.html import Cell, Row, paragraph, table, text
from viewer.html_report.options import Limits, ReportOptions
from viewer.html_report.sections.comparison import rows_table
from viewer.html_report.sections.costs import figure_cells, figures
from viewer.html_report.sections.overview import findings_of, key_figures
from viewer.html_report.timeline_data import first_view_of
from viewer.model.times import counted
from viewer.reports.compare_sentences import explanation, headline
from viewer.tables.statistics import group_row
from viewer.view.static_timeline.svg import SvgTimeline, timeline_svg
from viewer.workspace.workspace import Workspace

_LIMITS = Limits(profiles=2, svg_boxes=400, rows=5)
_ROWS = 12  # of a picture
_FINDINGS = 3
_CHANGES = 10
_WIDTH = 880  # px
_SHOWN = ("total_ns", "self_ns", "share", "count")


def notebook_page(workspace: Workspace) -> str:
    """Return the profiles of a workspace as a piece of HTML; "" without any."""
    contents = contents_of(workspace, ReportOptions(source=False), _LIMITS)
    parts = [_profile(profile) for profile in contents.profiles]
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


def _profile(profile: Profile) -> str:
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
    columns = [column for column in figures() if column.name in _SHOWN]
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
