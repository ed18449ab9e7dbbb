"""The source in a report: the lines that operators come from, with their time.

Time that several lines share is not divided: it is listed with each of them as shared. Lines are
quoted only if the file is the recorded version.
"""

from __future__ import annotations

from viewer.analysis.cost.lines import LineCosts, line_costs, lines_text, most_expensive_lines
from viewer.analysis.statistics import figure_terms
from viewer.html_report.contents import Contents, Profile, short_paths
from viewer.html_report.html import Cell, Row, paragraph, rest_note, section, table, text
from viewer.html_report.timeline_data import Places
from viewer.model.times import counted, format_bounded, format_share, format_time, tick_to_ns
from viewer.model.timing import ROUNDING_TICKS
from viewer.program.program import Program
from viewer.program.sources.files import SourceFile
from viewer.program.sources.quoted_lines import version_fit

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
        + table(caption, _TITLES, rows[:most], left=2, sortable=False)
        + paragraph(". ".join(filter(None, (note, more))), "note")
    )


_TITLES = (figure_terms.SELF.title, "%", figure_terms.SHARED.title, "Line", "Source")


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
