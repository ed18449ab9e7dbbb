"""Slices as rows of a table: the columns that `opscope export -o OUT.csv` writes.

The first fifteen columns are a stable contract for scripts; the file's own arguments follow. A
table written from a trace opens again as a plain profile CSV.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from viewer.analysis.links.delegate_clocks import NATIVE_NS, native_ns
from viewer.analysis.links.labels import track_name
from viewer.analysis.links.link_table import LinkTable
from viewer.arrays import Bools, Ints
from viewer.model.queries import tree
from viewer.model.times import ticks_to_ns
from viewer.model.trace import Column, Slices
from viewer.program.program import Operator

COLUMNS = (
    "process", "thread", "depth", "name", "start_ns", "dur_ns", "start_ticks", "dur_ticks",
    "identifier", "method", "instruction_id", "debug_handles", "operators", "source", "link_reason",
)  # fmt: skip
Rows = dict[str, NDArray[Any]]


@dataclass(frozen=True, slots=True)
class SliceTableSource:
    """One linked trace to write, with its clock and the process name of each track.

    ns_range: only slices that overlap this range, in ns without the offset.
    """

    table: LinkTable
    ns_per_tick: Fraction
    offset_ns: int
    processes: tuple[str, ...]
    ns_range: tuple[int, int] | None = None


def slice_columns(source: SliceTableSource) -> Rows:
    """Return one row per slice, in preorder per track: column name -> array of equal length.

    start_ns is floor(start * ns_per_tick) plus the offset; dur_ns is the difference of the rounded
    ends.
    """
    table = source.table
    trace, slices = table.trace, table.trace.slices
    index = tree(slices).index
    if source.ns_range is not None:
        index = index[_within(slices, index, source.ns_per_tick, *source.ns_range)]
    row = slices.rows()[index]
    track = slices.row_track[row]
    key = slices.key[index]
    start, end = slices.start[index], slices.end[index]
    start_ns = ticks_to_ns(start, source.ns_per_tick)

    def of_key(value: Callable[[int], str | int]) -> NDArray[Any]:
        return text_array([value(k) for k in range(len(trace.keys))])[key]

    links, keys = table.links, trace.keys
    methods = [table.method_of_scope(s) or "" for s in range(len(trace.scopes))]
    rows: Rows = {
        "process": text_array(source.processes)[track],
        "thread": text_array([track_name(table, t) for t in range(len(trace.tracks))])[track],
        "depth": slices.row_depth[row],
        "name": text_array(trace.strings)[slices.name[index]],
        "start_ns": start_ns + source.offset_ns,
        "dur_ns": ticks_to_ns(end, source.ns_per_tick) - start_ns,
        "start_ticks": start,
        "dur_ticks": end - start,
        "identifier": of_key(lambda k: _blank(keys.identifier[k])),
        "method": of_key(lambda k: methods[int(keys.scope[k])]),
        "instruction_id": of_key(
            lambda k: int(keys.instruction[k]) if keys.instruction[k] >= 0 else ""
        ),
        "debug_handles": of_key(lambda k: json.dumps(list(links[k].handles))),
        "operators": of_key(lambda k: json.dumps(operator_names(table.operators(k)))),
        "source": of_key(lambda k: "; ".join(source_places(table.operators(k)))),
        "link_reason": of_key(lambda k: links[k].reason.text),
    }
    if slices.derived is not None:
        rows["derived"] = np.where(slices.derived[index], "true", "").astype(object)
    for name, column in slices.columns.items():
        if name not in rows:
            rows[name] = cells(column, index)
    if (rated := native_ns(table)) is not None:
        rows[NATIVE_NS] = cells(rated, index)
    return rows


def _within(slices: Slices, index: Ints, ns_per_tick: Fraction, first: int, last: int) -> Bools:
    """Return which slices overlap [first, last) ns; a zero-length one by its position."""
    low, high = (min(max(t, -(2**63)), 2**63 - 1) for t in (first, last))
    start, end = (ticks_to_ns(t[index], ns_per_tick) for t in (slices.start, slices.end))
    inside: Bools = (start < high) & ((end > low) | ((start == end) & (start >= low)))
    return inside


def operator_names(operators: Sequence[Operator]) -> list[str]:
    """Return the edge dialect operators behind a slice, per operator in graph order."""
    return [op for operator in operators for op in operator.ops]


def source_places(operators: Sequence[Operator]) -> list[str]:
    """Return the distinct "file:line" of some operators."""
    frames = [operator.source for operator in operators]
    return list(dict.fromkeys(f"{f.path}:{f.line}" for f in frames if f))


def cells(column: Column, index: NDArray[np.int64] | slice) -> NDArray[Any]:
    """Return the values of some rows of a column, with empty strings for nulls."""
    values = column.values[index]
    if column.strings is None:
        out = values.astype(object)
    else:
        out = text_array((*column.strings, ""))[values]  # a null's code may be past the texts
    if column.valid is not None:
        out[~column.valid[index]] = ""
    return out


def text_array(texts: Sequence[object]) -> NDArray[np.object_]:
    """Return texts, or values of several types, as an object array that can be indexed."""
    array = np.empty(len(texts), object)
    array[:] = list(texts)
    return array


def _blank(value: object) -> str:
    return "" if value is None else str(value)
