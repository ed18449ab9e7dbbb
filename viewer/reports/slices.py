"""Single slices as rows, and a part of a source file with the cost of its lines. No Qt.

A slice has a number: its position among the slices of its profile, from 0. A row has the columns of
`viewer.tables.slices`, with lists where these have JSON lists; its `start_ns` is a time of the axis
of its clock. Of a source line, `self_ns` is the time of operators on this line alone, and `shared`
what several lines share, once and never divided. Only paths that the open files record are looked
up.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from fractions import Fraction
from itertools import chain, islice

import numpy as np

from viewer.analysis.cost.costs import Costs, CostTable
from viewer.analysis.cost.source_costs import (
    LineCosts,
    first_lines,
    line_costs,
    most_expensive_lines,
)
from viewer.analysis.links.coverage import remedy
from viewer.analysis.links.labels import describe_near, run_label, slice_labels
from viewer.analysis.links.link_table import LinkState, LinkTable
from viewer.analysis.links.mlir_locations import positions_of
from viewer.analysis.search.query import Query
from viewer.analysis.search.search import SearchedTrace, refusal
from viewer.arrays import Ints
from viewer.model.figures import TimeScope
from viewer.model.queries import children_of, foreign, parent_of, run_of_slices, self_time_of
from viewer.model.times import plain_spaces, tick_to_ns
from viewer.model.trace import Trace
from viewer.program.program import Operator, Program, Tensor
from viewer.program.source_files import GAP, SourceFile, file_name, quoted_lines, version_fit
from viewer.reports.info import HEAD, Facts
from viewer.reports.parts import numbered_inferences
from viewer.tables.slices import SliceTableSource, slice_columns
from viewer.workspace.snapshot import LinkedTrace, Snapshot
from viewer.workspace.workspace import Workspace

# The orders of matches.
BY_START, BY_DURATION = "start", "duration"
ORDERS = (BY_START, BY_DURATION)
_LISTS = ("debug_handles", "operators")


class NoSuchSlice(ValueError):
    """A profile has no slice of that number; the message says which numbers it has."""


class WrongQuery(ValueError):
    """A query that cannot be understood; the message says what is wrong."""


def slice_rows(one: LinkedTrace, numbers: Ints) -> list[Facts]:
    """Return some slices of a profile as rows, in this order."""
    source = SliceTableSource(one.table, one.rate.ns_per_tick, one.offset_ns, one.processes)
    columns, count = slice_columns(source, numbers)
    rows = []
    for at in range(count):
        row = {name: column.value(at) for name, column in columns.items()}
        for name in _LISTS:
            row[name] = json.loads(str(row[name] or "[]"))
        rows.append({"file": one.trace.path, "slice": int(numbers[at]), **row})
    return rows


def slice_facts(workspace: Workspace, trace: Trace, number: int) -> Facts:
    """Return everything about one slice: its row, its place, its operators, and its link.

    `label`: its name on screen. `parent`: the slice around it; `children`: how many are directly
    inside it. `self_ns`: its time without these; null on a clock of its own. `link`: how its
    operators were found, or why it has none and what helps. Raises `NoSuchSlice`.
    """
    slices = trace.slices
    if not 0 <= number < len(slices):
        raise NoSuchSlice(
            f"{trace.path} has no slice {number}: "
            + (f"they are numbered 0 to {len(slices) - 1}" if len(slices) else "it has no slices")
        )
    one = next(linked for linked in Snapshot.of(workspace).traces if linked.trace is trace)
    table, rate = one.table, one.rate.ns_per_tick
    key, parent = int(slices.key[number]), parent_of(slices, number)
    run = int(run_of_slices(trace)[number])
    codes, labels = slice_labels(table)
    is_foreign = bool(np.isin(number, foreign(slices)))
    (row,) = slice_rows(one, np.array([number], np.int64))
    return {
        **HEAD,
        **row,
        "label": plain_spaces(labels[int(codes[number])]),
        "run": plain_spaces(run_label(table, trace.runs[run])) if run >= 0 else None,
        "self_ns": None if is_foreign else tick_to_ns(self_time_of(slices, number), rate),
        "parent": parent if parent >= 0 else None,
        "children": len(children_of(slices, number)),
        "program": table.program_path,
        "linked_operators": [_operator_facts(operator) for operator in table.executed(key)],
        "link": _link_facts(table, key),
    }


def _operator_facts(operator: Operator) -> Facts:
    place, caller = operator.source, operator.caller
    return {
        "label": operator.label,
        "method": operator.method,
        "debug_handle": operator.debug_handle if operator.debug_handle >= 0 else None,
        "module": operator.module_path or None,
        "module_type": operator.module_type or None,
        "source": None if place is None else {"file": place.path, "line": place.line},
        "called_from": None if caller is None else {"file": caller.path, "line": caller.line},
        "source_text": (place.text.strip() or None) if place else None,
        "call_path": [{"file": at.path, "line": at.line} for at in operator.frames],
        "outputs": [_tensor_text(tensor) for tensor in operator.nodes[-1].outputs],
    }


def _tensor_text(tensor: Tensor) -> str:
    shape = "?" if tensor.shape is None else ", ".join(map(str, tensor.shape))
    return f"{tensor.dtype}[{shape}]"


def _link_facts(table: LinkTable, key: int) -> Facts:
    link, program = table.links[key], table.program
    is_linked = link.reason.state is LinkState.LINKED
    near = [] if program is None else [program.operators[i].label for i in link.near]
    return {
        "state": link.reason.state.value,
        "reason": link.reason.text,
        "detail": plain_spaces(link.detail) or None,
        "backend": link.backend or None,
        "may_be": near,
        "may_be_text": describe_near(link) or None,
        "what_to_do": None
        if is_linked
        else plain_spaces(
            remedy(table.trace, link.reason, link.backend, 1, len(link.near), [link.detail])
        ),
    }


def searched(one: LinkedTrace) -> SearchedTrace:
    """Return a profile that can be searched many times."""
    return SearchedTrace(one.table, *slice_labels(one.table), one.rate.ns_per_tick, one.offset_ns)


def ready_for(
    query: Query,
    traces: Sequence[LinkedTrace],
    prepared: Callable[[LinkedTrace], SearchedTrace] = searched,
) -> list[SearchedTrace]:
    """Return profiles that can answer a query. prepared: returns a profile to search.

    Raises `WrongQuery` for a query with an error, and one that asks for what no profile has.
    """
    if query.complaint or query.node is None:
        raise WrongQuery(query.complaint or "the query is empty")
    ready = [prepared(one) for one in traces]
    if why := refusal(query, ready):
        raise WrongQuery(why)
    return ready


def search_facts(
    traces: Sequence[LinkedTrace],
    query: Query,
    limit: int,
    order: str = BY_START,
    prepared: Callable[[LinkedTrace], SearchedTrace] = searched,
) -> Facts:
    """Return the slices of some profiles that match a query, file by file.

    `total`: how many match; `shown`: how many of them have a row, at most `limit` of each file.
    order: one of `ORDERS`. prepared: returns a profile to search. Raises `WrongQuery`.
    """
    ready = ready_for(query, traces, prepared)
    files, rows, total = list[Facts](), list[Facts](), 0
    for one, in_trace in zip(traces, ready, strict=True):
        found = np.flatnonzero(in_trace.matches(query))
        first = _first(one.trace, found, limit, order)
        files.append({"path": one.trace.path, "total": len(found), "shown": len(first)})
        total += len(found)
        labels = in_trace.label_strings
        rows += [
            {**row, "label": plain_spaces(labels[int(in_trace.labels[row["slice"]])])}
            for row in slice_rows(one, first)
        ]
    return {
        **HEAD,
        "query": query.text,
        "order": order,
        "note": query.advice or None if not total else None,
        "files": files,
        "total": total,
        "shown": len(rows),
        "rows": rows,
    }


def _first(trace: Trace, found: Ints, limit: int, order: str) -> Ints:
    slices = trace.slices
    by = slices.start[found] if order == BY_START else slices.start[found] - slices.end[found]
    if len(found) > 4 * limit > 0:  # a part is enough, with all that are equal to its last one
        found = found[by <= np.partition(by, limit - 1)[limit - 1]]
        by = slices.start[found] if order == BY_START else slices.start[found] - slices.end[found]
    chosen: Ints = found[np.argsort(by, kind="stable")[:limit]]
    return chosen


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
    `NoSuchRun` of `viewer.reports.parts`.
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
