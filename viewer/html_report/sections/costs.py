"""The tables of operators and modules in a report: the rows of `opscope stats`, largest first."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from viewer.analysis.cost.lines import place_of
from viewer.analysis.statistics import figure_terms
from viewer.html_report.contents import Contents, Profile
from viewer.html_report.html import Cell, Row, paragraph, section, table, text
from viewer.html_report.timeline_data import Places
from viewer.model.figure_base import FigureBase
from viewer.model.text import name_text
from viewer.model.times import counted, format_share, group_digits, tick_to_ns
from viewer.tables.spec import ColumnSpec
from viewer.tables.statistics import (
    DELEGATE_NS,
    group_row,
    is_below_rounding,
    time_text,
    titled_columns,
)

_FIRST = ("total_ns", "self_ns", "share", "count", "mean_ns", "p50_ns", "p90_ns", "max_ns")
_WITHOUT = ("wall_ns", "min_ns", DELEGATE_NS, "clock_share")


def figures() -> list[ColumnSpec]:
    """Return the columns of figures."""
    return titled_columns(_FIRST, _WITHOUT)


def operators(contents: Contents, places: Places) -> str:
    """Return the operators of every profile; names for profiles without operators."""
    parts = [
        _groups(contents, profile, phase, profile.key, "operator", places)
        for profile in contents.profiles
        for phase in profile.phases
    ]
    title = "Operators" if any(p.key == "operator" for p in contents.profiles) else "Names"
    if any(part for part in parts):
        parts.append(paragraph(_LEGEND, "note"))
    return section("operators", title, *parts)


def modules(contents: Contents) -> str:
    """Return the modules of every profile."""
    parts = [
        _groups(contents, profile, phase, "module", "module", Places())
        for profile in contents.profiles
        for phase in profile.phases
    ]
    return section("modules", "Modules", *parts)


_LEGEND = (
    f"{figure_terms.TOTAL.title}: {figure_terms.TOTAL.definition} "
    f"{figure_terms.SELF.title}: {figure_terms.SELF.definition} Time that operators share is "
    "charged to all of them together, and never divided."
)


def figure_cells(row: dict[str, Any], columns: Sequence[ColumnSpec]) -> list[Cell]:
    """Return the figures of a row of statistics; empty where it has none."""
    cells = []
    for column in columns:
        name, value = column.name, row.get(column.name)
        is_unknown = DELEGATE_NS in row or is_below_rounding(row)
        if value is None or (is_unknown and name == "share"):
            cells.append(Cell(""))
        elif column.unit == "ns":
            cells.append(Cell(time_text(row, name), value))
        elif column.dtype == "float64":
            cells.append(Cell(format_share(value, 1), value))
        else:
            cells.append(Cell(group_digits(value), value))
    return cells


def _groups(
    contents: Contents, profile: Profile, phase: str, key: str, kind: str, places: Places
) -> str:
    group_table = profile.groups(key, phase)
    if group_table is None or not len(group_table.groups):
        return ""
    rate, most = profile.shown.axis.ns_per_tick, contents.limits.rows
    columns = figures()
    rows = []
    for group in group_table.groups[:most]:
        row = group_row(profile.shown.file.path, rate, group)
        data: dict[str, object] = {"p": profile.number, "k": kind, "n": group.number}
        if key == "operator":
            data["l"] = _lines(profile, group.number, places)
        rows.append(Row([*figure_cells(row, columns), Cell(name_text(group.label))], data))
    if group_table.ungrouped:
        ns = tick_to_ns(group_table.ungrouped, rate)
        rest = {"self_ns": ns, "share": group_table.ungrouped / group_table.whole}
        rows.append(Row([*figure_cells(rest, columns), Cell(group_table.ungrouped_label)]))
    share = figure_terms.share(
        group_table.share_of, of=FigureBase(rate, unit=profile.shown.file.unit)
    )
    notes = [f"{share.title}: {share.definition.rstrip('.')}"]
    if len(group_table.groups) > most:
        notes.append(f"{counted(len(group_table.groups) - most, 'more row')} with less wall time")
    if group_table.foreign:
        notes.append(f"{counted(group_table.foreign, 'slice')} with separate clocks left out")
    titles = [
        share.title if column_spec.name == "share" else column_spec.title for column_spec in columns
    ]
    titles.append(kind.capitalize() if key == kind else "Name")
    title = f"{profile.title}, {phase}" if phase else profile.title
    caption = f"{titles[-1]}s of {title}"
    several = len(contents.profiles) > 1 or len(profile.phases) > 1
    name = f"<h3>{text(title)}</h3>" if several else ""
    return name + table(caption, titles, rows, left=1) + paragraph(". ".join(notes), "note")


def _lines(profile: Profile, number: int, places: Places) -> int | None:
    """Return the number of the lines of a set of operators, None for none."""
    links = profile.shown.table
    if links.program is None:
        return None
    members = (links.program.operators[i] for i in links.sets[number])
    place_number = places.number(place_of(operator) for operator in members)
    return place_number if place_number >= 0 else None
