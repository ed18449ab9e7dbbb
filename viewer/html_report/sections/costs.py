"""The tables of operators and modules in a report: the rows of `opscope stats`, largest first."""

from __future__ import annotations

from typing import Any

from viewer.analysis.cost.lines import place_of
from viewer.analysis.statistics import figure_terms
from viewer.html_report.contents import Contents, Profile
from viewer.html_report.html import Cell, Row, paragraph, section, table, text
from viewer.html_report.places import Places
from viewer.model.times import counted, format_share, group_digits, tick_to_ns
from viewer.tables.statistics import DELEGATE_NS, group_row, is_below_rounding, time_text

FIGURES = (
    (figure_terms.TOTAL.title, "total_ns"),
    (figure_terms.SELF.title, "self_ns"),
    ("Share", "share"),
    (figure_terms.COUNT.title, "count"),
    (figure_terms.MEAN.title, "mean_ns"),
    (figure_terms.MEDIAN.title, "p50_ns"),
    (figure_terms.P90.title, "p90_ns"),
    (figure_terms.MAX.title, "max_ns"),
)


def operators(contents: Contents, places: Places) -> str:
    """Return the operators of every profile; names for profiles without operators."""
    parts = [_groups(contents, one, one.key, "operator", places) for one in contents.profiles]
    title = "Operators" if any(p.key == "operator" for p in contents.profiles) else "Names"
    if any(part for part in parts):
        parts.append(paragraph(_LEGEND, "note"))
    return section("operators", title, *parts)


def modules(contents: Contents) -> str:
    """Return the modules of every profile."""
    parts = [_groups(contents, one, "module", "module", Places()) for one in contents.profiles]
    return section("modules", "Modules", *parts)


_LEGEND = (
    f"{figure_terms.TOTAL.title}: {figure_terms.TOTAL.definition} "
    f"{figure_terms.SELF.title}: {figure_terms.SELF.definition} Time that operators share is "
    "charged to all of them together, and never divided."
)


def figure_cells(row: dict[str, Any]) -> list[Cell]:
    """Return the figures of a row of statistics; empty where it has none."""
    cells = []
    for _, name in FIGURES:
        value = row.get(name)
        is_unknown = DELEGATE_NS in row or is_below_rounding(row)
        if value is None or (is_unknown and name == "share"):
            cells.append(Cell(""))
        elif name == "count":
            cells.append(Cell(group_digits(value), value))
        elif name == "share":
            cells.append(Cell(format_share(value, 1), value))
        else:
            cells.append(Cell(time_text(row, name), value))
    return cells


def _groups(contents: Contents, profile: Profile, key: str, kind: str, places: Places) -> str:
    found = profile.groups(key)
    if found is None or not len(found.groups):
        return ""
    rate, most = profile.shown.axis.ns_per_tick, contents.limits.rows
    rows = []
    for group in found.groups[:most]:
        row = group_row(profile.shown.file.path, rate, group)
        data: dict[str, object] = {"p": profile.number, "k": kind, "n": group.number}
        if key == "operator":
            data["l"] = _lines(profile, group.number, places)
        rows.append(Row([*figure_cells(row), Cell(group.label)], data))
    if found.ungrouped:
        ns = tick_to_ns(found.ungrouped, rate)
        rest = {"self_ns": ns, "share": found.ungrouped / found.whole}
        rows.append(Row([*figure_cells(rest), Cell(found.ungrouped_label)]))
    share = figure_terms.share(found.share_of)
    notes = [f"{share.title}: {share.definition.rstrip('.')}"]
    if len(found.groups) > most:
        notes.append(f"{counted(len(found.groups) - most, 'more row')} with less wall time")
    if found.foreign:
        notes.append(f"{counted(found.foreign, 'slice')} with separate clocks left out")
    titles = [share.title if name == "share" else title for title, name in FIGURES]
    titles.append(kind.capitalize() if key == kind else "Name")
    caption = f"{titles[-1]}s of {profile.title}"
    name = f"<h3>{text(profile.title)}</h3>" if len(contents.profiles) > 1 else ""
    return name + table(caption, titles, rows, left=1) + paragraph(". ".join(notes), "note")


def _lines(profile: Profile, number: int, places: Places) -> int | None:
    """Return the number of the lines of a set of operators, None for none."""
    links = profile.shown.table
    if links.program is None:
        return None
    members = (links.program.operators[i] for i in links.sets[number])
    found = places.number(place_of(operator) for operator in members)
    return found if found >= 0 else None
