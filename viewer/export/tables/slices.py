"""Slices as rows of a table: the columns that `opscope export -o OUT.csv` writes.

The columns in `COLUMNS` are a stable contract for scripts: every file has all of them, in this
order, with the same types; what is not known is null. The file's own columns follow. One with a
name of the contract is written as "column <name>". A table opens again as a plain profile CSV.

    process, thread         as displayed
    depth                   level on the thread, 0 outermost
    name                    as logged
    start_ns, dur_ns        rounded down; where `timing` has "placed", a position for drawing.
                            start_ns is as in the file; if files of several clocks are in one table,
                            it counts from the first slice of each clock and compares only within it
    start_ticks, dur_ticks  as in the file; null if an event has a clock of its own
    inference               number of the inference in which it starts, from 1; null in a load
    method, instruction_id  of the runtime; for an NSS job or action its number
    identifier              the delegate debug identifier, as logged
    debug_handles           JSON list
    operators               JSON list: edge dialect operators of what it is linked to
    node, op_type, module   of the graph nodes that it ran; several are joined by "; "
    source                  "file:line", several joined by "; "
    link_reason             how the operators were found, or why there are none
    timing                  where the time comes from: "measured", "placed, rounded" ...
    derived                 whether Opscope computed the slice
    native_start ...        native_dur, native_unit: of an event with a clock of its own
    metadata                of a delegate, as logged
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from viewer.analysis.links.delegate_clocks import NATIVE_NS, native_ns
from viewer.analysis.links.labels import track_name
from viewer.analysis.links.link_table import LinkTable
from viewer.analysis.links.node_texts import node_texts
from viewer.arrays import Bools, Ints
from viewer.export.tables.columns import (
    Columns,
    as_stored,
    as_text,
    either,
    nulls,
    numbers_of,
    texts_of,
)
from viewer.model.queries import (
    NATIVE_DURATION,
    NATIVE_START,
    NATIVE_UNIT,
    foreign,
    run_of_slices,
    tree,
)
from viewer.model.times import ticks_to_ns
from viewer.model.timing import TIMING_TEXTS, timings
from viewer.model.trace import Column, Slices, Trace
from viewer.program.program import Operator

COLUMNS = (
    "process", "thread", "depth", "name", "start_ns", "dur_ns", "start_ticks", "dur_ticks",
    "inference", "method", "instruction_id", "identifier", "debug_handles", "operators", "node",
    "op_type", "module", "source", "link_reason", "timing", "derived", "native_start", "native_dur",
    "native_unit", "metadata",
)  # fmt: skip
# Columns of the contract that are columns of a file, and whether they are text.
_OF_FILE = {NATIVE_START: False, NATIVE_DURATION: False, NATIVE_UNIT: True, "metadata": True}
# What an exported trace states about slices that nothing open is linked to, by its own names.
_STATED = {
    "debug_handles": "debug_handles", "operators": "operator", "module": "module",
    "source": "source", "link_reason": "link_reason",
}  # fmt: skip
_STATED_NAME, _STATED_RUN = "event", "run"


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


def slice_columns(source: SliceTableSource) -> tuple[Columns, int]:
    """Return one row per slice, in preorder per track: the columns by name, and the row count.

    start_ns is floor(start * ns_per_tick) plus the offset; dur_ns is the difference of the rounded
    ends.
    """
    table = source.table
    trace, slices = table.trace, table.trace.slices
    index = tree(slices).index
    if source.ns_range is not None:
        index = index[_within(slices, index, source.ns_per_tick, *source.ns_range)]
    row = slices.rows()[index]
    track, key = slices.row_track[row], slices.key[index]
    start, end = slices.start[index], slices.end[index]
    start_ns = ticks_to_ns(start, source.ns_per_tick)
    links, keys = table.links, trace.keys
    own_clock = np.ones(len(slices), np.bool_)
    own_clock[foreign(slices)] = False
    has_ticks = None if own_clock.all() else own_clock[index]
    nodes = node_texts(table)
    methods = [table.method_of_scope(s) or "" for s in range(len(trace.scopes))]
    threads = [track_name(table, t) for t in range(len(trace.tracks))]
    is_derived = np.zeros(len(slices), np.bool_) if slices.derived is None else slices.derived

    def of_key(text: Callable[[int], str]) -> Column:
        return texts_of([text(k) for k in range(len(keys))], key)

    found: Columns = {
        "process": texts_of(source.processes, track),
        "thread": texts_of(threads, track),
        "depth": numbers_of(slices.row_depth[row]),
        "name": texts_of(trace.strings, slices.name[index]),
        "start_ns": numbers_of(start_ns + source.offset_ns),
        "dur_ns": numbers_of(ticks_to_ns(end, source.ns_per_tick) - start_ns),
        "start_ticks": numbers_of(start, has_ticks),
        "dur_ticks": numbers_of(end - start, has_ticks),
        "inference": _inferences(trace, index),
        "method": of_key(lambda k: methods[int(keys.scope[k])]),
        "instruction_id": numbers_of(keys.instruction[key], keys.instruction[key] >= 0),
        "identifier": of_key(lambda k: _blank(keys.identifier[k])),
        "debug_handles": of_key(lambda k: json.dumps(list(links[k].handles))),
        "operators": of_key(lambda k: json.dumps(operator_names(table.operators(k)))),
        "node": of_key(lambda k: "; ".join(nodes[k].names)),
        "op_type": of_key(lambda k: "; ".join(nodes[k].op_types)),
        "module": of_key(lambda k: "; ".join(nodes[k].modules)),
        "source": of_key(lambda k: "; ".join(nodes[k].sources)),
        "link_reason": of_key(lambda k: links[k].reason.text),
        "timing": texts_of(TIMING_TEXTS, timings(slices)[index]),
        "derived": Column(is_derived[index]),
    }
    stated = dict(slices.columns)
    if trace.provenance:
        _take_stated(found, stated, index, np.array([bool(x.operators) for x in links])[key])
    for name, is_text in _OF_FILE.items():
        column = stated.get(name)
        if column is not None and (is_text or column.values.dtype.kind in "iu"):
            found[name] = _of_file(as_text(column) if is_text else column, index)
            del stated[name]
        else:
            like = Column(np.empty(0, np.int64), None, () if is_text else None)
            found[name] = nulls(like, len(index))
    assert tuple(found) == COLUMNS
    for name, column in stated.items():
        own = _of_file(column, index)
        if name != "instruction_id" or not _is_part(own, found[name]):
            found[_free(name, found)] = own
    if (rated := native_ns(table)) is not None:
        found[_free(NATIVE_NS, found)] = rated.taken(index)
    return found, len(index)


def _inferences(trace: Trace, index: Ints) -> Column:
    """The number of each slice's inference, null for loads and outside of runs."""
    number = np.array([*(run.number for run in trace.runs), 0])
    of_slice = number[run_of_slices(trace)][index]  # without a run the index is -1, for the 0
    return numbers_of(of_slice, of_slice > 0)


def _take_stated(found: Columns, stated: dict[str, Column], index: Ints, is_linked: Bools) -> None:
    """Move what an exported trace states about its slices to the columns that mean the same."""
    for name, of_file in _STATED.items():
        column = stated.get(of_file)
        if column is not None and column.strings is not None:
            del stated[of_file]
            found[name] = either(_of_file(column, index), found[name], ~is_linked)
    event, run = stated.get(_STATED_NAME), stated.get(_STATED_RUN)
    if event is not None and event.strings is not None:
        del stated[_STATED_NAME]
        found["name"] = either(_of_file(event, index), found["name"])
    if run is not None and run.values.dtype.kind in "iu" and run.strings is None:
        del stated[_STATED_RUN]
        found["inference"] = either(_of_file(run, index), found["inference"])


def _of_file(column: Column, index: Ints) -> Column:
    return as_stored(column.taken(index))


def _is_part(one: Column, other: Column) -> bool:
    """Whether a column of numbers states nothing that another one does not."""
    if one.strings is not None:
        return False
    told = np.ones(len(one.values), np.bool_) if one.valid is None else one.valid
    known = np.ones(len(one.values), np.bool_) if other.valid is None else other.valid
    return bool((known[told] & (one.values == other.values)[told]).all())


def _free(name: str, taken: Iterable[str]) -> str:
    """A name for a column of a file that no other column has.

    On one line and without spaces around it, as the reader of tables expects names.
    """
    free = " ".join(name.split()) or "column"
    while free in taken:
        free = f"column {free}"
    return free


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


def _blank(value: object) -> str:
    return "" if value is None else str(value)
