"""What costs time and memory, as sections of a report: operators, source lines, delegates, memory.

Time that several source lines share is listed with each of them as shared. Lines are quoted only if
the file is the recorded version.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import Any

from viewer.analysis.cost.source_costs import (
    LineCosts,
    line_costs,
    lines_text,
    most_expensive_lines,
    place_of,
)
from viewer.analysis.findings.finding import joined
from viewer.html_report.contents import Contents, Profile, short_paths
from viewer.html_report.html import Cell, Row, figures, paragraph, rest_note, section, table, text
from viewer.html_report.timelines import Places
from viewer.model import figures as figure_terms
from viewer.model.figures import FigureBase
from viewer.model.text import bytes_text, name_text
from viewer.model.times import (
    counted,
    format_bounded,
    format_share,
    format_time,
    group_digits,
    tick_to_ns,
)
from viewer.model.timing import ROUNDING_TICKS
from viewer.program.program import Program
from viewer.program.source_files import SourceFile, version_fit
from viewer.reports.delegation import PARTS, UPPER_BOUND, delegation_facts
from viewer.reports.info import Facts
from viewer.reports.program_files import largest_first, memory_facts
from viewer.tables.columns import ColumnSpec
from viewer.tables.statistics import (
    DELEGATE_NS,
    group_row,
    is_below_rounding,
    time_text,
    titled_columns,
)

_FIRST = ("total_ns", "self_ns", "share", "count", "mean_ns", "p50_ns", "p90_ns", "max_ns")
_WITHOUT = ("wall_ns", "min_ns", DELEGATE_NS, "clock_share")


def figure_columns() -> list[ColumnSpec]:
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
    columns = figure_columns()
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


_MOST_FILES = 8
_CONTEXT = 2  # lines above and below those with a time
_OTHER_VERSION = "The file on this machine is another version than the recorded one."
_NOT_FOUND = "The file was not found on this machine."


def source_lines(contents: Contents, places: Places) -> str:
    """Return the lines of every profile that is linked to source."""
    left, parts = contents.limits.source_lines, list[str]()
    for profile in contents.profiles:
        program = profile.shown.table.program
        if program is None:
            continue
        paths = [path for path, _ in most_expensive_lines(program, profile.costs)]
        names = short_paths(paths)
        heading = f"<h3>{text(profile.title)}</h3>" if len(contents.profiles) > 1 else ""
        sections = []
        for path in paths[:_MOST_FILES]:
            rows, note = _rows(contents, profile, program, path, places)
            if rows and left > 0:
                level = "h4" if heading else "h3"
                sections.append(_file(names[path], rows, left, note, profile, level))
                left -= len(rows)
        sections += filter(None, [rest_note(len(paths) - _MOST_FILES, "more file")])
        if sections:
            parts += [heading, *sections]
    if any(parts):
        parts.append(
            paragraph(
                f"{figure_terms.SHARED.title}: time of calls that cover several lines. It is "
                "listed with each of them, and never divided.",
                "note",
            )
        )
    return section("source", "Source", *parts)


def _file(name: str, rows: list[Row], most: int, note: str, profile: Profile, level: str) -> str:
    """Return the first lines of a file below a heading; level: "h3" or "h4"."""
    more = f"{counted(len(rows) - most, 'more line')} not listed" if len(rows) > most else ""
    caption = f"Lines of {name} in {profile.title}"
    return (
        f"<{level}>{text(name)}</{level}>"
        + table(caption, _LINE_TITLES, rows[:most], left=2, sortable=False)
        + paragraph(". ".join(filter(None, (note, more))), "note")
    )


_LINE_TITLES = (figure_terms.SELF.title, "%", figure_terms.SHARED.title, "Line", "Source")


def _rows(
    contents: Contents, profile: Profile, program: Program, path: str, places: Places
) -> tuple[list[Row], str]:
    """Return the lines of one file with a time and those around them, and a note about it."""
    costs = line_costs(program, profile.costs, path)
    shared = costs.shared_by_line
    timed = sorted({*costs.self_costs, *shared})
    source, note = _source(contents, profile, program, path)
    line_numbers = set(timed)
    if source is not None:
        around = (line + i for line in timed for i in range(-_CONTEXT, _CONTEXT + 1))
        line_numbers |= {line for line in around if source.line(line) is not None}
    file, rows, before = places.file(path), list[Row](), 0
    for line in sorted(line_numbers):
        if rows and line > before + 1:
            rows.append(Row([Cell(""), Cell(""), Cell(""), Cell("⋯"), Cell("")]))
        before = line
        rows.append(_row(profile, costs, shared, line, source, file))
    return rows, note


def _row(
    profile: Profile,
    costs: LineCosts,
    shared: dict[int, int],
    line: int,
    source: SourceFile | None,
    file: int,
) -> Row:
    rate, whole = profile.shown.axis.ns_per_tick, max(profile.costs.whole, 1)
    self_cost, code = costs.self_costs.get(line), None if source is None else source.line(line)
    time, share = "", ""
    if self_cost is not None:
        zeros, cut = self_cost.zeros, float(ROUNDING_TICKS * rate)
        time = format_bounded(tick_to_ns(self_cost.ticks, rate), zeros, cut)
        share = "" if zeros and not self_cost.ticks else format_share(self_cost.wall, whole)
    cells = [
        Cell(time),
        Cell(share),
        Cell(format_time(tick_to_ns(shared[line], rate)) if line in shared else ""),
        Cell(str(line)),
        Cell((code or "").expandtabs(4).rstrip(), is_code=True),
    ]
    if self_cost is None and line not in shared:
        return Row(cells)
    return Row(cells, {"p": profile.number, "f": file, "line": line})


def _source(
    contents: Contents, profile: Profile, program: Program, path: str
) -> tuple[SourceFile | None, str]:
    """Return the text of a file if it may be quoted, else why it is not."""
    if not contents.options.source:
        return None, ""
    source = profile.workspace.source(path)
    if source is None:
        return None, _NOT_FOUND
    fit = version_fit(program, source)
    if fit.is_other:
        lines = lines_text(line for line, _ in fit.unlike)
        return None, f"{_OTHER_VERSION} It differs in line {lines}."
    return source, ""


def delegation(contents: Contents) -> str:
    """Return the delegates of every profile whose runtime calls any."""
    parts, known = list[str](), dict[int, Facts]()
    for profile in contents.profiles:
        if not profile.summary.delegation:
            continue
        space = profile.workspace
        if id(space) not in known:
            known[id(space)] = delegation_facts(space)
        files, path = known[id(space)]["files"], profile.shown.file.path
        own = next(file for file in files if file["path"] == path)
        if len(contents.profiles) > 1:
            parts.append(f"<h3>{text(profile.title)}</h3>")
        parts.append(_profile(contents, profile, own))
    return section("delegation", "Delegation", *parts)


def _profile(contents: Contents, profile: Profile, facts: Facts) -> str:
    whole, most = facts["whole_ns"], contents.limits.rows
    amounts = [
        (f"{format_time(facts[f'{key}_ns'])} ({_share(facts[f'{key}_ns'], whole)})", name)
        for name, key in PARTS
    ]
    phases = [
        Row(
            [
                _time(own["whole_ns"]),
                *(
                    Cell(
                        f"{format_time(own[f'{key}_ns'])} "
                        f"({_share(own[f'{key}_ns'], own['whole_ns'])})"
                    )
                    for _, key in PARTS
                ),
                Cell(own["phase"]),
            ]
        )
        for own in facts["of_phases"]
        if own["whole_ns"] is not None
    ]
    delegates = [
        Row(
            [
                _time(row["time_ns"]),
                _ratio(row["share"]),
                _time(row["unattributed_ns"]),
                _count(None if row["operators"] is None else len(row["operators"])),
                Cell(row["label"]),
                Cell(_instruction(row)),
            ]
        )
        for row in facts["delegates"][:most]
    ]
    outside = [
        Row(
            [
                _time(row["time_ns"]),
                _ratio(row["share"]),
                _count(row["slices"]),
                Cell(row["label"]),
                Cell(row["why"] or ""),
            ]
        )
        for row in facts["stayed_outside"][:most]
    ]
    title = profile.title
    return "\n".join(
        [
            figures(amounts),
            *_of_phases(facts, phases, title),
            table(f"Delegates in {title}", _DELEGATES, delegates, left=2),
            rest_note(len(facts["delegates"]) - most, "more delegate call"),
            table(f"Not delegated in {title} ({UPPER_BOUND})", _OUTSIDE, outside, left=2),
            rest_note(len(facts["stayed_outside"]) - most, "more row"),
            _links(facts),
        ]
    )


_DELEGATES = ("Time", "Share", "Unattributed", "Operators", "Delegate", "Instruction")
_PHASES = ("Total", "Delegates", "Not delegated", "No operator", "Phase")
_OUTSIDE = ("Time", "Share", "Count", "Operators", "Why not")


def _of_phases(facts: Facts, rows: Sequence[Row], title: str) -> list[str]:
    """Return what the figures cover, and those of each method and phase; [] of one."""
    if not facts["of_phases"]:
        return []
    names = [own["phase"] for own in facts["of_phases"]]
    note = f"These figures add up {joined(names)}."
    return [paragraph(note, "note"), table(f"Phases of {title}", _PHASES, rows, left=1)]


def _links(facts: Facts) -> str:
    found = facts["coverage"]
    if not found["linkable"]:
        return paragraph("Links: no slice is linkable.", "note")
    items = "".join(
        f"<li>{text(counted(row['slices'], 'slice'))}: {text(row['reason'])}"
        f"{'' if row['linkable'] else ' (not linkable)'}</li>"
        for row in facts["unlinked"]
    )
    linked = (
        f"Links: {found['linked']} of {found['linkable']} linkable slices, "
        f"{_share(found['of_time'] or 0, 1)} of linkable time."
    )
    return paragraph(linked, "note") + (f"<ul>{items}</ul>" if items else "")


def _instruction(row: Facts) -> str:
    number = row["instruction_id"]
    parts: Sequence[str] = [row["method"] or "", "" if number is None else f"instruction {number}"]
    return " · ".join(filter(None, parts))


def _time(ns: int | None) -> Cell:
    return Cell("") if ns is None else Cell(format_time(ns), ns)


def _ratio(share: float | None) -> Cell:
    return Cell("") if share is None else Cell(_share(share, 1), share)


def _count(count: int | None) -> Cell:
    return Cell("" if count is None else str(count), count)


def _share(part: float, whole: float) -> str:
    return format_share(part, whole) if whole else ""


_WIDTH, _HEIGHT = 960, 96
_MOST_METHODS = 8


def memory(contents: Contents) -> str:
    """Return the memory plans of all program files."""
    methods = [m for space in contents.workspaces for m in memory_facts(space)["methods"]]
    by_file_and_name = {(method["file"], method["name"]): method for method in methods}
    parts = [
        _method(contents, method) for method in list(by_file_and_name.values())[:_MOST_METHODS]
    ]
    rest = len(by_file_and_name) - _MOST_METHODS
    parts.append(rest_note(rest, "more method"))
    return section("memory", "Memory", *parts)


def _method(contents: Contents, method: dict[str, Any]) -> str:
    name = f"{os.path.basename(method['file'])} · {method['name']}"
    heading = f"<h3>{text(name)}</h3>"
    notes = [
        f"{sentence}: not in the plan" for sentence in (*method["not_in_plan"], *method["problems"])
    ]
    if method["peak_instruction"] is None:
        return heading + paragraph(". ".join(["No planned memory", *notes]), "note")
    peak, arena = method["peak_bytes"], method["arena_bytes"]
    amounts = [
        (bytes_text(peak), f"peak, at instruction {method['peak_instruction']}"),
        (bytes_text(arena), "arena"),
        (format_share(method["fragmentation"] or 0, 1), "unused at the peak"),
    ]
    at_peak = set(method["at_peak"])
    tensors = largest_first(row for row in method["tensors"] if row["id"] in at_peak)
    rows = [
        Row(
            [
                Cell(group_digits(row["bytes"]), row["bytes"]),
                Cell(group_digits(row["offset"]), row["offset"]),
                Cell(row["tensor"]),
                Cell(row["origin"] or row["operator"] or row["kernel"] or ""),
                Cell(f"{row['first']} – {row['last']}"),
            ]
        )
        for row in tensors[: contents.limits.rows]
    ]
    return "\n".join(
        [
            heading,
            figures(amounts),
            _picture(method["live"], name),
            table(f"Tensors at the peak of {name}", _TENSOR_TITLES, rows, left=3),
            paragraph(". ".join(notes), "note"),
        ]
    )


_TENSOR_TITLES = ("Bytes", "Offset", "Tensor", "Written by", "Instructions")


def _picture(live: Sequence[int], name: str) -> str:
    """Return the bytes in use by instruction, as an area: the largest of each column."""
    if not live:
        return ""
    columns = min(len(live), _WIDTH // 2)
    top = max(max(live), 1)
    parts = [f"M0 {_HEIGHT}"]
    for i in range(columns):
        first, last = i * len(live) // columns, max((i + 1) * len(live) // columns, 1)
        height = max(live[first:last]) * _HEIGHT / top
        x0, x1 = (n * _WIDTH / columns for n in (i, i + 1))
        parts.append(f"L{x0:.1f} {_HEIGHT - height:.1f}H{x1:.1f}")
    path = "".join([*parts, f"V{_HEIGHT}z"])
    return (
        f'<svg class="live-bytes" viewBox="0 0 {_WIDTH} {_HEIGHT}" role="img" '
        f'preserveAspectRatio="none"><title>{text(f"Bytes in use by instruction, {name}")}</title>'
        f'<path d="{path}"/></svg>'
    )
