"""A part of a source file with the cost of its lines, as data. No Qt.

A line's `self_ns` is the time of operators on this line alone. Time that several lines share is
listed once with all of them (`shared`) and never divided. Which file is read for a recorded path,
and whether, `viewer.program.sources` decides; only paths that the open files record are looked up.
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from itertools import chain, islice

from viewer.analysis.cost.costs import Costs, CostTable
from viewer.analysis.cost.lines import LineCosts, first_lines, line_costs, most_expensive_lines
from viewer.analysis.links.link_table import LinkTable
from viewer.analysis.links.text_positions import positions_of
from viewer.model.scope import TimeScope
from viewer.model.times import tick_to_ns
from viewer.model.trace import Trace
from viewer.program.program import Program
from viewer.program.sources.files import SourceFile, file_name
from viewer.program.sources.quoted_lines import GAP, quoted_lines, version_fit
from viewer.reports.inferences import numbered_inferences
from viewer.reports.info import HEAD, Facts
from viewer.workspace.workspace import Workspace

_MOST_LOCATIONS = 20_000  # of a trace, whose files are listed


class NoSource(ValueError):
    """No open file records this source, or any source; the message says so."""


def recorded_paths(workspace: Workspace) -> list[str]:
    """Return the recorded paths of all source files that the open files name, in their order."""
    paths: dict[str, None] = {}
    tables = [workspace.links(trace) for trace in workspace.traces]
    recorded = [table.program for table in tables if table.program and table.is_recorded]
    for program in (*workspace.programs, *recorded):
        if program.text_lines:
            paths[program.path] = None
        paths |= dict.fromkeys(sorted(program.quoted_texts))
    for trace in workspace.traces:
        locations = dict.fromkeys(filter(None, trace.keys.location.tolist()))
        for location in islice(locations, _MOST_LOCATIONS):
            paths |= {place.file: None for place in positions_of(location)}
    return list(paths)


def recorded_path(paths: Sequence[str], name: str) -> str:
    """Return which of some recorded paths is `name`, or the only one with that file name.

    Raises `NoSource` for any other text, so that nothing but a recorded path is ever looked up.
    """
    if name in paths:
        return name
    named = [path for path in paths if file_name(path) == name]
    if len(named) == 1:
        return named[0]
    if named:
        raise NoSource(f"{len(named)} recorded source files are named {name}: give the whole path")
    raise NoSource(f"no open file records a source {name}")


def source_facts(
    workspace: Workspace,
    trace: Trace | None,
    place: tuple[str, int] | None = None,
    around: int = 20,
    number: int | None = None,
) -> Facts:
    """Return the lines of a source file around a line, with their costs in a profile.

    trace: the profile; None for sources without times. place: a recorded path (see `recorded_path`)
    and a line, 0 for its most expensive one; None for the most expensive line of all. around: lines
    before and after it. number: only the inference of this number.

    `lines`: number, text and `self_ns` of each; the text is None where only the lines are recorded
    that stack traces quote, since the file is not on this machine (`shown_from` is None then).
    `shared`: time that several lines share, if one of them is shown. Raises `NoSource`, and
    `NoSuchRun` of `viewer.reports.inferences`.
    """
    table = None if trace is None else workspace.links(trace)
    program = None if table is None else table.program
    scope, rate = TimeScope(warm_up=False), Fraction(1)
    if trace is not None:
        rate = workspace.clocks.ns_per_tick(trace)
        if number is not None:
            scope = TimeScope(numbered_inferences([trace], number)[0][1])
    costs = None if table is None or program is None else Costs(table).table(scope)
    path, line = place or _most_expensive(workspace, program, costs)
    if not line:
        line = _line_of_file(workspace, program, costs, path)
    of_file = LineCosts({}, ())
    if program is not None and costs is not None:
        of_file = line_costs(program, costs, path)
    file = workspace.source(path)
    lines = _lines(workspace, file, path, line, around)
    line_numbers = {line_number for line_number, _ in lines}

    def ns(ticks: int) -> int:
        return tick_to_ns(ticks, rate)

    return {
        **HEAD,
        "file": path,
        "shown_from": None if file is None else file.shown,
        "profile": None if trace is None else trace.path,
        "inference": number,
        "line": line,
        "total": _total(workspace, file, path),
        "shown": len(lines),
        "differs_from_record": _differs(workspace, table, file),
        "lines": [
            {
                "line": line_number,
                "text": text,
                "self_ns": ns(of_file.self_costs[line_number].ticks)
                if line_number in of_file.self_costs
                else 0,
            }
            for line_number, text in lines
        ],
        "shared": [
            {
                "lines": list(shared_cost.lines),
                "ns": ns(shared_cost.ticks),
                "also_in_other_files": shared_cost.elsewhere,
            }
            for shared_cost in of_file.shared
            if line_numbers & set(shared_cost.lines)
        ],
        "file_self_ns": ns(sum(self_cost.ticks for self_cost in of_file.self_costs.values())),
        "file_shared_ns": ns(sum(shared_cost.ticks for shared_cost in of_file.shared)),
    }


def _most_expensive(
    workspace: Workspace, program: Program | None, costs: CostTable | None
) -> tuple[str, int]:
    """Return the most expensive line; without costs, that of the first operator."""
    places = most_expensive_lines(program, costs) if program and costs else ()
    places = places or tuple(chain.from_iterable(map(first_lines, workspace.programs)))
    if not places:
        raise NoSource("the open files record no source lines")
    return places[0]


def _line_of_file(
    workspace: Workspace, program: Program | None, costs: CostTable | None, path: str
) -> int:
    """Return the most expensive line of a file; without costs, that of its first operator, or 1."""
    places = dict(most_expensive_lines(program, costs) if program and costs else ())
    for each_program in workspace.programs:
        places = {**dict(first_lines(each_program)), **places}
    return places.get(path, 1)


def _lines(
    workspace: Workspace, file: SourceFile | None, path: str, line: int, around: int
) -> list[tuple[int, str | None]]:
    """Return the lines around one: those of the file, or of a missing one those quoted."""
    first, last = max(line - around, 1), line + around
    if file is not None:
        return [
            (line_number, file.line(line_number))
            for line_number in range(first, min(last, len(file.lines)) + 1)
        ]
    quoted = quoted_lines(workspace.programs, path)
    return [
        (line_number, text or None)
        for line_number, text in zip(quoted.numbers, quoted.texts, strict=True)
        if line_number != GAP and first <= line_number <= last
    ]


def _total(workspace: Workspace, file: SourceFile | None, path: str) -> int:
    """Return how many lines there are to show."""
    if file is not None:
        return len(file.lines)
    return sum(number != GAP for number in quoted_lines(workspace.programs, path).numbers)


def _differs(workspace: Workspace, table: LinkTable | None, file: SourceFile | None) -> list[Facts]:
    """Return the lines whose recorded texts differ from those of the file that is shown."""
    program = None if table is None else table.program
    if file is None or program is None:
        return []
    return [
        {"line": line_number, "recorded": text}
        for line_number, text in version_fit(program, file).unlike
    ]
