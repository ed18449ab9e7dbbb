"""Slices, and events without a time, as rows: the tables that have the columns of files.

The columns of `SLICES` are a stable contract for scripts: every file has all of them, in this
order, with the same types; what is not known is null. The file's own columns follow; one with a
name of the contract is "column <name>". A table opens again as a plain profile CSV. `start_ns` is a
position for drawing where `timing` has "placed". If files of several clocks are in one table, it
counts from the first slice of each clock. Files whose ticks are no whole ns also have fractions.

`UNTIMED` has one row per allocation or debug event, in file order, which is all that is known of
their times: `event` is the position in the file, `after` the preceding slice.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Sequence
from enum import Enum
from fractions import Fraction
from functools import cached_property, partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from viewer.analysis.links.delegate_clocks import NATIVE_NS, native_ns
from viewer.analysis.links.labels import (
    NO_CALL,
    OUTSIDE,
    NodeTexts,
    keys_of,
    node_texts,
    places,
    runs_of,
    track_name,
)
from viewer.analysis.links.link_table import LinkTable
from viewer.arrays import Bools, Codes, Ints
from viewer.dataclasses import dataclass
from viewer.model.queries import (
    NATIVE_DURATION,
    NATIVE_START,
    NATIVE_UNIT,
    foreign,
    preorder,
    run_of_slices,
)
from viewer.model.times import ticks_to_ns
from viewer.model.timing import MEASURED, TIMING_TEXTS, kinds_of_time, timings
from viewer.model.trace import Column, Slices, UntimedKind, ValueType
from viewer.model.untimed import TYPE_NAMES, value_texts
from viewer.program.program import Operator
from viewer.tables.columns import (
    CALLED_FROM,
    DEBUG_HANDLES,
    DERIVED,
    METHOD,
    OPERATOR_NAMES,
    Columns,
    ColumnSpec,
    RowPlaces,
    Rows,
    SharedColumn,
    TableSpec,
    as_stored,
    as_text,
    cells,
    either,
    nulls,
    numbers_of,
    text_array,
    texts_of,
)

# What an exported trace states about slices that nothing open is linked to, by its own names.
_STATED = {
    "debug_handles": "debug_handles", "operators": "operator", "module": "module",
    "source": "source", "called_from": "called_from", "link_reason": "link_reason",
}  # fmt: skip
_STATED_NAME, _STATED_RUN = "event", "run"
START_FRACTION, DUR_FRACTION = "start_ns_fraction", "dur_ns_fraction"
# Products of two remainders fit int64.
_MOST = 1 << 31


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


class Per(Enum):
    """What has one value of a column."""

    SLICE = "slice"
    KEY = "key"  # all slices of one identity have it
    ROW = "row"  # all slices of one line of a track have it
    RUN = "run"  # all slices of one inference have it; the last value is that of no inference


class SliceTable:
    """The columns of the slices of one trace, each by what it is a property of.

    names: the columns, in order. A column is computed when it is needed: most are properties of the
    identities of slices, of which there are few.
    """

    def __init__(self, source: SliceTableSource) -> None:
        self.source = source
        trace, slices = source.table.trace, source.table.trace.slices
        self._made: dict[str, Callable[[], tuple[Per, Column]]] = {
            spec.name: partial(spec.value, self) for spec in SLICES.columns if spec.value
        }
        stated = dict(slices.columns)
        if trace.provenance:
            self._take_stated(stated)
        for spec in SLICES.columns:
            column = None if spec.value else stated.get(spec.name)
            if column is not None and (spec.is_text or column.values.dtype.kind in "iu"):
                self._made[spec.name] = partial(
                    _of_file, as_text(column) if spec.is_text else column
                )
                del stated[spec.name]
            elif not spec.value:
                like = Column(np.empty(0, np.int64), None, () if spec.is_text else None)
                self._made[spec.name] = partial(_nulls, like, len(slices.row_ptr) - 1)
        self._made = {name: self._made[name] for name in SLICES.names}
        for name, column in stated.items():
            if name != "instruction_id" or not self._is_part(as_stored(column)):
                self._made[_free(name, self._made)] = partial(_of_file, column)
        if (rated := native_ns(source.table)) is not None:
            self._made[_free(NATIVE_NS, self._made)] = partial(_per_slice, rated)
        if has_fractions(source.ns_per_tick):
            self._made[_free(START_FRACTION, self._made)] = self._start_fraction
            self._made[_free(DUR_FRACTION, self._made)] = self._dur_fraction

    def __len__(self) -> int:
        return len(self._slices)

    @property
    def names(self) -> tuple[str, ...]:
        """The columns of the contract, then those of the file."""
        return tuple(self._made)

    def column(self, name: str) -> tuple[Per, Column]:
        """Return a column, with one value per slice, identity or row of the trace.

        Numbers of slices are the arrays of the trace where these have the values.
        """
        return self._made[name]()

    def taken(self, name: str, index: Ints) -> Column:
        """Return a column for some slices, in their order."""
        per, column = self.column(name)
        return column.taken(self.places(per, index))

    def shared(self, index: Ints, names: Iterable[str]) -> dict[str, SharedColumn]:
        """Return columns for some slices, in their order, that are spread when rows are needed."""
        places = {per: RowPlaces(len(index), partial(self.places, per, index)) for per in Per}
        columns = {name: self.column(name) for name in names}
        return {name: SharedColumn(column, places[per]) for name, (per, column) in columns.items()}

    def places(self, per: Per, index: Ints, rows: slice = slice(None)) -> NDArray[np.integer[Any]]:
        """Return where the slices at `index[rows]` have their values in the columns of `per`."""
        chosen = index[rows]
        if per is Per.SLICE:
            return chosen
        if per is Per.KEY:
            return self._slices.key[chosen]
        return (self._rows if per is Per.ROW else self.runs)[chosen]

    @cached_property
    def runs(self) -> NDArray[np.int32]:
        """The place of each slice's value in a column of inferences; the last is that of none."""
        runs, trace = run_of_slices(self.source.table.trace), self.source.table.trace
        return np.where(runs < 0, len(trace.runs), runs).astype(np.int32)

    @property
    def _slices(self) -> Slices:
        return self.source.table.trace.slices

    @cached_property
    def _rows(self) -> Codes:
        return self._slices.rows()

    # -- columns of the contract -------------------------------------------------------------------

    def _thread(self) -> tuple[Per, Column]:
        table = self.source.table
        threads = [track_name(table, t) for t in range(len(table.trace.tracks))]
        return Per.ROW, texts_of(threads, self._slices.row_track)

    def _name(self) -> tuple[Per, Column]:
        strings, name = self.source.table.trace.strings, self._slices.name
        has_name = name != strings.index("") if "" in strings else None
        return Per.SLICE, Column(name, has_name, strings)

    def _start_ns(self) -> tuple[Per, Column]:
        start, offset = self._ns(self._slices.start), self.source.offset_ns
        return Per.SLICE, numbers_of(start + offset if offset else start)

    def _dur_ns(self) -> tuple[Per, Column]:
        if self.source.ns_per_tick == 1:
            return Per.SLICE, Column(self._durations)
        end = self._ns(self._slices.end)
        return Per.SLICE, numbers_of(end - self._ns(self._slices.start))

    def _ns(self, ticks: Ints) -> Ints:
        rate = self.source.ns_per_tick
        return ticks if rate == 1 else ticks_to_ns(ticks, rate)

    def _start_fraction(self) -> tuple[Per, Column]:
        rate = self.source.ns_per_tick
        return Per.SLICE, start_fractions(self._slices.start, rate, self._has_ticks)

    def _dur_fraction(self) -> tuple[Per, Column]:
        slices, rate = self._slices, self.source.ns_per_tick
        return Per.SLICE, dur_fractions(slices.start, slices.end, rate, self._has_ticks)

    @cached_property
    def _durations(self) -> Ints:
        return self._slices.end - self._slices.start

    @cached_property
    def _has_ticks(self) -> Bools | None:
        others = foreign(self._slices)
        if not len(others):
            return None
        own_clock = np.ones(len(self._slices), np.bool_)
        own_clock[others] = False
        return own_clock

    def _inference(self) -> tuple[Per, Column]:
        """The number of each slice's inference, null for loads and outside of runs."""
        trace = self.source.table.trace
        if not trace.runs:
            return _nulls(numbers_of(np.empty(0, np.int64)), len(self._slices.row_ptr) - 1)
        number = np.array([*(run.number for run in trace.runs), 0])
        return Per.RUN, numbers_of(number, number > 0)

    @cached_property
    def _methods(self) -> list[str]:
        """The method of each scope, "" if it is not known."""
        table = self.source.table
        return [table.method_of_scope(s) or "" for s in range(len(table.trace.scopes))]

    @cached_property
    def _nodes(self) -> Sequence[NodeTexts]:
        return node_texts(self.source.table)

    def _timing(self) -> tuple[Per, Column]:
        slices = self._slices
        if kinds_of_time(slices) == (MEASURED,):
            return Per.ROW, texts_of(TIMING_TEXTS, np.zeros(len(slices.row_ptr) - 1, np.uint32))
        return Per.SLICE, texts_of(TIMING_TEXTS, timings(slices))

    def _derived(self) -> tuple[Per, Column]:
        if self._slices.derived is None:
            return Per.ROW, Column(np.zeros(len(self._slices.row_ptr) - 1, np.bool_))
        return Per.SLICE, Column(self._slices.derived)

    # -- columns of the file -----------------------------------------------------------------------

    def _take_stated(self, stated: dict[str, Column]) -> None:
        """Move what an exported trace states about its slices to the columns that mean the same."""
        links = self.source.table.links
        every = np.arange(len(self._slices))
        for name, of_file in _STATED.items():
            column = stated.get(of_file)
            if column is not None and column.strings is not None:
                del stated[of_file]
                is_linked = np.array([bool(x.operators) for x in links])[self._slices.key]
                own_column = self.taken(name, every)
                self._made[name] = partial(
                    _per_slice, either(as_stored(column), own_column, ~is_linked)
                )
        event, run = stated.get(_STATED_NAME), stated.get(_STATED_RUN)
        if event is not None and event.strings is not None:
            del stated[_STATED_NAME]
            own_column = self.taken("name", every)
            self._made["name"] = partial(_per_slice, either(as_stored(event), own_column))
        if run is not None and run.values.dtype.kind in "iu" and run.strings is None:
            del stated[_STATED_RUN]
            own_column = self.taken("inference", every)
            self._made["inference"] = partial(_per_slice, either(as_stored(run), own_column))

    def _is_part(self, column: Column) -> bool:
        """Whether a column of numbers states nothing that the instruction ids do not."""
        if column.strings is not None:
            return False
        other = self.taken("instruction_id", np.arange(len(self._slices)))
        is_stated = np.ones(len(column.values), np.bool_) if column.valid is None else column.valid
        has_id = np.ones(len(column.values), np.bool_) if other.valid is None else other.valid
        return bool((has_id[is_stated] & (column.values == other.values)[is_stated]).all())


def _of_keys(text: Callable[[SliceTable, int], str]) -> Callable[[SliceTable], tuple[Per, Column]]:
    """Return the value of a column with a text of each identity."""

    def column(table: SliceTable) -> tuple[Per, Column]:
        count = len(table.source.table.trace.keys)
        return Per.KEY, texts_of([text(table, k) for k in range(count)], np.arange(count))

    return column


def _instruction_id(table: SliceTable) -> tuple[Per, Column]:
    instruction = table.source.table.trace.keys.instruction
    return Per.KEY, numbers_of(instruction, instruction >= 0)


# A value is what the column is a property of, and its values. Columns without one are of the file.
SLICES = TableSpec("slices", (
    ColumnSpec("process", "category", "Process, as displayed; for an ETDump its file name",
        lambda t: (Per.ROW, texts_of(t.source.processes, t._slices.row_track))),
    ColumnSpec("thread", "category", "Thread, as displayed", SliceTable._thread),
    ColumnSpec("depth", "Int64", "Level on the thread, 0 for the outermost slices",
        lambda t: (Per.ROW, numbers_of(t._slices.row_depth))),
    ColumnSpec("name", "category", "Name, as logged", SliceTable._name),
    ColumnSpec("start_ns", "int64",
        "Start, as the file counts; with several clocks, from the start of each clock",
        SliceTable._start_ns, "ns"),
    ColumnSpec("dur_ns", "int64", "Duration: the difference of the rounded ends",
        SliceTable._dur_ns, "ns"),
    ColumnSpec("start_ticks", "Int64",
        "Start, as in the file; 2^32 more for each wrap of a counter before it",
        lambda t: (Per.SLICE, numbers_of(t._slices.start, t._has_ticks)), "ticks"),
    ColumnSpec("dur_ticks", "Int64", "Duration, as in the file",
        lambda t: (Per.SLICE, Column(t._durations, t._has_ticks)), "ticks"),
    ColumnSpec("inference", "Int64", "Number of the inference in which it starts, from 1",
        SliceTable._inference),
    METHOD.filled(_of_keys(lambda t, k: t._methods[int(t.source.table.trace.keys.scope[k])])),
    ColumnSpec("instruction_id", "Int64", "Instruction of the runtime, or NSS job",
        _instruction_id),
    ColumnSpec("identifier", "category", "Delegate debug identifier, as logged",
        _of_keys(lambda t, k: _blank(t.source.table.trace.keys.identifier[k]))),
    DEBUG_HANDLES.filled(_of_keys(lambda t, k: json.dumps(list(t.source.table.links[k].handles)))),
    OPERATOR_NAMES.filled(
        _of_keys(lambda t, k: json.dumps(operator_names(t.source.table.operators(k))))),
    ColumnSpec("node", "category", 'Graph nodes that it ran, joined by "; "',
        _of_keys(lambda t, k: "; ".join(t._nodes[k].names))),
    ColumnSpec("op_type", "category", 'Operators of its graph nodes, joined by "; "',
        _of_keys(lambda t, k: "; ".join(t._nodes[k].op_types))),
    ColumnSpec("module", "category", 'Module paths of these nodes, joined by "; "',
        _of_keys(lambda t, k: "; ".join(t._nodes[k].modules))),
    ColumnSpec("source", "category", '"file:line" of these nodes, joined by "; "',
        _of_keys(lambda t, k: "; ".join(t._nodes[k].sources))),
    ColumnSpec("link_reason", "category", "How the operators were found, or why there are none",
        _of_keys(lambda t, k: t.source.table.links[k].reason.text)),
    ColumnSpec("timing", "category", 'Where the time comes from: "measured", "rounded" and more',
        SliceTable._timing),
    DERIVED.filled(SliceTable._derived),
    ColumnSpec(NATIVE_START, "Int64", "Start on a clock of its own", unit="native_unit"),
    ColumnSpec(NATIVE_DURATION, "Int64", "Duration on a clock of its own, or a value",
        unit="native_unit"),
    ColumnSpec(NATIVE_UNIT, "category", "Unit of that clock"),
    ColumnSpec("metadata", "category", "Metadata of a delegate, as logged"),
    CALLED_FROM.filled(_of_keys(lambda t, k: "; ".join(t._nodes[k].callers))),
))  # fmt: skip


def slice_columns(source: SliceTableSource, only: Ints | None = None) -> tuple[Columns, int]:
    """Return one row per slice, in preorder per track: the columns by name, and the row count.

    start_ns is floor(start * ns_per_tick) plus the offset; dur_ns is the difference of the rounded
    ends. only: the numbers of some slices; the rows are those, in this order.
    """
    shared = shared_slice_columns(source, only)
    rows = next(iter(shared.values())).places.rows
    return {name: column.taken() for name, column in shared.items()}, rows


def shared_slice_columns(
    source: SliceTableSource, only: Ints | None = None
) -> dict[str, SharedColumn]:
    """Return the columns of `slice_columns`, spread over rows when these are needed."""
    slices = source.table.trace.slices
    index = preorder(slices) if only is None else only
    if source.ns_range is not None:
        index = index[_within(slices, index, source.ns_per_tick, *source.ns_range)]
    table = SliceTable(source)
    return table.shared(index, table.names)


def _of_file(column: Column) -> tuple[Per, Column]:
    return Per.SLICE, as_stored(column)


def _per_slice(column: Column) -> tuple[Per, Column]:
    return Per.SLICE, column


def _nulls(like: Column, rows: int) -> tuple[Per, Column]:
    return Per.ROW, nulls(like, rows)


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
    return list(places(operator.source for operator in operators))


def caller_places(operators: Sequence[Operator]) -> list[str]:
    """Return the distinct "file:line" that lines in installed packages were called from."""
    return list(places(operator.caller for operator in operators))


def _blank(value: object) -> str:
    return "" if value is None else str(value)


# The parts of times below 1 ns, for files with ticks that are no whole ns.
#
# `start_ns` and `dur_ns` are whole: 1 cycle at 800 MHz is 1.25 ns, and ticks of a Chrome trace can
# be 1 ps. The columns `start_ns_fraction` and `dur_ns_fraction` have what is missing, as exact
# texts: "0.25", or "1/12" if it is no finite decimal. A duration's fraction can be negative, since
# `dur_ns` is the difference of two rounded times.


def has_fractions(ns_per_tick: Fraction) -> bool:
    """Whether times in ns can have a fraction that this module can state."""
    return 1 < ns_per_tick.denominator < _MOST


def start_fractions(start: Ints, ns_per_tick: Fraction, valid: Bools | None) -> Column:
    """What each start has beyond its `start_ns`: from 0 to less than 1 ns."""
    return _texts(_rest(start, ns_per_tick), ns_per_tick.denominator, valid)


def dur_fractions(start: Ints, end: Ints, ns_per_tick: Fraction, valid: Bools | None) -> Column:
    """What each duration differs from its `dur_ns`: more than -1 and less than 1 ns."""
    rest = _rest(end, ns_per_tick) - _rest(start, ns_per_tick)
    return _texts(rest, ns_per_tick.denominator, valid)


def _rest(ticks: Ints, ns_per_tick: Fraction) -> Ints:
    """The remainder of ticks in ns, in units of 1 / denominator."""
    n, d = ns_per_tick.numerator, ns_per_tick.denominator
    rest: Ints = (ticks % d) * (n % d) % d
    return rest


def _texts(rest: Ints, denominator: int, valid: Bools | None) -> Column:
    distinct, codes = np.unique(rest, return_inverse=True)
    strings = tuple(fraction_text(Fraction(value, denominator)) for value in distinct.tolist())
    return Column(codes.astype(np.uint32), valid, strings)


def fraction_text(value: Fraction) -> str:
    """An exact text: "0", "0.25", "-0.001", or "1/12" if no decimal is exact."""
    digits, power = 0, value.denominator
    while power % 10 == 0:
        digits, power = digits + 1, power // 10
    for prime in (2, 5):
        while power % prime == 0:
            digits, power = digits + 1, power // prime
    if power != 1:
        return str(value)
    text = f"{abs(value.numerator) * 10**digits // value.denominator:0{digits + 1}d}"
    whole, part = (text[:-digits], text[-digits:]) if digits else (text, "")
    sign = "-" if value < 0 else ""
    return f"{sign}{whole}.{part.rstrip('0')}" if part.strip("0") else f"{sign}{whole}"


class _Events:
    """The events of a trace. Columns are lists of values by a code of each event."""

    def __init__(self, table: LinkTable, process: str) -> None:
        self.table, self.process = table, process
        self.events, self.trace = table.trace.untimed, table.trace
        self.keys = keys_of(table.trace)

    def of_keys(self, text: Callable[[int], str]) -> NDArray[Any]:
        """Return a text of the identity of each event, "" for those without one."""
        return text_array([*map(text, range(len(self.table.links))), ""])[self.keys]

    def runs(self) -> NDArray[Any]:
        """Return the run of each event."""
        run, runs = runs_of(self.table)
        return text_array(runs)[run]

    def names_before(self) -> NDArray[Any]:
        """Return the name of the slice before each event."""
        names = (self.trace.strings[name] for name in self.trace.slices.name)
        return text_array([*names, ""])[self.events.after]

    def rows_before(self) -> NDArray[Any]:
        """Return the position in the file of the slice before each event."""
        row = np.append(self.trace.slices.source_row, 0)[self.events.after]
        return cells(Column(row, self.events.after >= 0), slice(None))

    def methods(self) -> NDArray[Any]:
        """Return the method of the run of each event."""
        names = (self.table.method_of_scope(run.scope) or "" for run in self.trace.runs)
        return text_array([*names, ""])[self.events.run]

    def reasons(self) -> NDArray[Any]:
        """Return how the operators of each event were found, or why there are none."""
        texts = self.of_keys(lambda k: self.table.links[k].reason.text)
        no_call = (self.events.kind == UntimedKind.DEBUG) & (self.keys < 0)
        texts[no_call] = np.where(self.events.chain.values[no_call] < 0, OUTSIDE, NO_CALL)
        return texts


def _stored(name: str) -> Callable[[_Events], NDArray[Any]]:
    """Return the value of a column that events have themselves."""
    return lambda e: cells(getattr(e.events, name), slice(None))


# A value is that of all events.
UNTIMED = TableSpec("untimed", (
    ColumnSpec("process", "category", "Name of the file",
        lambda e: text_array([e.process] * len(e.events))),
    ColumnSpec("run", "category", "Method and number of the run, or block", _Events.runs,
        title="Run"),
    ColumnSpec("event", "int64", "Position in the file", lambda e: e.events.source_row, title="#"),
    ColumnSpec("after", "category", "Name of the slice before it", _Events.names_before,
        title="After"),
    ColumnSpec("after_event", "Int64", "Position of that slice", _Events.rows_before),
    ColumnSpec("kind", "category", "What it is",
        lambda e: text_array([kind.name.lower() for kind in UntimedKind])[e.events.kind],
        title="Kind"),
    ColumnSpec("name", "category", "Name of the allocator", _stored("name"), title="Name"),
    ColumnSpec("bytes", "Int64", "Size", _stored("size"), "bytes", "Bytes"),
    ColumnSpec("identifier", "category", "Delegate debug identifier, as logged",
        lambda e: text_array([*map(str, e.events.identifiers), ""])[e.events.identifier]),
    METHOD.filled(_Events.methods),
    ColumnSpec("chain", "Int64", "Chain of the instruction", _stored("chain")),
    ColumnSpec("instruction_id", "Int64", "Instruction of the runtime", _stored("instruction")),
    ColumnSpec("type", "category", "Type of the value",
        lambda e: text_array([TYPE_NAMES[type] for type in ValueType])[e.events.type]),
    ColumnSpec("value", "category", "The value, or its shape", lambda e: value_texts(e.events),
        title="Value"),
    ColumnSpec("output", "category", '"true" for an output of the method',
        lambda e: text_array(["", "true"])[e.events.output.astype(np.int64)]),
    ColumnSpec("offset", "Int64", "Offset in the debug buffer", _stored("offset"), "bytes",
        "Offset"),
    DEBUG_HANDLES.filled(lambda e: e.of_keys(lambda k: json.dumps(list(e.table.links[k].handles)))),
    OPERATOR_NAMES.filled(
        lambda e: e.of_keys(lambda k: json.dumps(operator_names(e.table.operators(k))))),
    ColumnSpec("source", "category", '"file:line", joined by "; "',
        lambda e: e.of_keys(lambda k: "; ".join(source_places(e.table.executed(k))))),
    ColumnSpec("link_reason", "category", "How the operators were found, or why there are none",
        _Events.reasons),
    CALLED_FROM.filled(
        lambda e: e.of_keys(lambda k: "; ".join(caller_places(e.table.executed(k))))),
))  # fmt: skip


def untimed_columns(table: LinkTable, process: str) -> Rows:
    """Return one row per event: column name -> array of equal length.

    process: the name of the file.
    """
    return UNTIMED.row(_Events(table, process))
