"""Single slices as rows: what one slice is, and which slices match a query. No Qt.

A slice has a number: its position among the slices of its profile, from 0. A row has the columns of
the exported tables (`viewer.tables.slices`), with lists where these have JSON lists. Its
`start_ns` is a time of the axis of its clock, as those of inferences in `opscope info --json`.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence

import numpy as np

from viewer.analysis.links.labels import describe_near, run_label, slice_labels
from viewer.analysis.links.link_table import LinkState, LinkTable
from viewer.analysis.links.remedies import remedy
from viewer.analysis.search.query import Query
from viewer.analysis.search.search import SearchedTrace, refusal
from viewer.arrays import Ints
from viewer.model.queries import children_of, foreign, parent_of, run_of_slices, self_time_of
from viewer.model.times import plain_spaces, tick_to_ns
from viewer.model.trace import Trace
from viewer.program.program import Operator, Tensor
from viewer.reports.info import HEAD, Facts
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
    """Return the first of some slices in an order."""
    slices = trace.slices
    by = slices.start[found] if order == BY_START else slices.start[found] - slices.end[found]
    if len(found) > 4 * limit > 0:  # a part is enough, with all that are equal to its last one
        found = found[by <= np.partition(by, limit - 1)[limit - 1]]
        by = slices.start[found] if order == BY_START else slices.start[found] - slices.end[found]
    chosen: Ints = found[np.argsort(by, kind="stable")[:limit]]
    return chosen
