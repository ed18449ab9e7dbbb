"""Reads the allocation and debug events of an ETDump, which have an order but no time.

`UntimedReader` converts their tables to columns, chunk by chunk, as `read_events` finds them.
`place` then determines each event's run, the timed event before it, and the call that its value
belongs to. This relies on when the runtime logs: every event is written when it completes, so the
contents of a call come before it, and an operator's values come just before the operator.

There are three generations of debug events: G1 has a chain, a debug handle and only the number of
its values; G2 has one value; G3 adds a delegate debug identifier and a name.
`viewer.formats.executorch.etdump.reader` cites the specification.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from viewer.arrays import Ints
from viewer.codecs.flatbuffer import Buffer, Tables, distinct_texts, elements
from viewer.formats.executorch.etdump.events import (
    Codes32,
    ProfileEvents,
    Runs,
    count_rows,
    filled,
)
from viewer.formats.executorch.etdump.values import ValueReader
from viewer.formats.executorch.texts import decoded
from viewer.model.building.builder import TraceBuilder
from viewer.model.trace import Column, KeyKind, UntimedEvents, UntimedKind, ValueType

_LEAST_ALLOCATOR = 8  # bytes: an offset and the head of a table
_NO_ID = -1
_TEXT = np.int64(1) << 33  # separates texts from all integer identifiers


@dataclass(slots=True)
class Untimed:
    """The columns of `UntimedEvents` that the events state; number, text: identifiers."""

    columns: dict[str, NDArray[Any]]
    names: list[str]
    texts: list[str]
    tensors: list[str]


# Column -> dtype and default for an event without that field.
_COLUMNS: dict[str, tuple[type, int]] = {
    "row": (np.uint32, 0), "kind": (np.uint8, 0), "name": (np.uint32, 0), "id": (np.int64, 0),
    "size": (np.uint64, 0), "sized": (np.bool_, 0), "chain": (np.int64, 0),
    "instruction": (np.int32, _NO_ID), "number": (np.int32, _NO_ID), "text": (np.uint32, 0),
    "type": (np.uint8, 0), "value": (np.int64, 0), "offset": (np.int64, 0),
    "has_offset": (np.bool_, 0), "output": (np.bool_, 0),
}  # fmt: skip


_NO_EVENTS: dict[str, NDArray[Any]] = {
    name: np.empty(0, dtype) for name, (dtype, _) in _COLUMNS.items()
}


class UntimedReader:
    """Collects the events without a profile event, in file order."""

    def __init__(self, buffer: Buffer, runs: Runs, builder: TraceBuilder) -> None:
        self._buffer = buffer
        self._runs = runs
        self._builder = builder
        self._values = ValueReader(buffer, self._report)
        self._run_ends = np.cumsum(runs.length)
        self._parts: list[dict[str, NDArray[Any]]] = []

    def _report(self, kind: str, rows: Ints) -> None:
        count_rows(self._builder, kind, rows)

    def read(self, rows: Ints, positions: Ints) -> None:
        """Read some events, by position among all events and in the file. Raises Malformed."""
        tables = Tables(self._buffer, positions, "event")
        allocation, debug = tables.targets(1), tables.targets(2)
        is_debug = (allocation == 0) & (debug > 0)
        full = is_debug | (allocation > 0)
        self._report("events without content: left out", rows[~full])
        part: dict[str, NDArray[Any]] = {
            name: np.full(int(full.sum()), default, dtype)
            for name, (dtype, default) in _COLUMNS.items()
        }
        part["row"][:] = rows[full]
        index = np.flatnonzero(is_debug[full])
        rest = np.flatnonzero(~is_debug[full])
        if len(rest):
            self._allocations(part, rest, allocation[allocation > 0])
        if len(index):
            part["kind"][index] = UntimedKind.DEBUG
            self._debug_events(part, index, debug[is_debug])
        self._parts.append(part)

    @cached_property
    def _allocators(self) -> tuple[Ints, Ints]:
        """The positions of all allocator names, and the first one of each run."""
        first, length = self._runs.allocators
        tables = elements(self._buffer, first, length, "allocators", _LEAST_ALLOCATOR)
        names = Tables(self._buffer, tables, "allocator").targets(0)
        return np.append(names, 0), np.cumsum(length) - length

    def _allocations(self, part: dict[str, NDArray[Any]], index: Ints, positions: Ints) -> None:
        tables = Tables(self._buffer, positions, "allocation event")
        number = tables.numbers(0, np.int32, 0).astype(np.int64)  # counts from 1
        rows = part["row"][index].astype(np.int64)
        run = np.searchsorted(self._run_ends, rows, side="right")
        names, first_of_run = self._allocators
        has_allocator = (number >= 1) & (number <= self._runs.allocators[1][run])
        self._report(
            "allocation from an allocator that its run does not list", rows[~has_allocator]
        )
        part["name"][index] = names[
            np.where(has_allocator, first_of_run[run] + number - 1, len(names) - 1)
        ]
        part["id"][index] = number
        part["size"][index] = tables.numbers(1, np.uint64, 0)
        part["sized"][index] = True

    def _debug_events(self, part: dict[str, NDArray[Any]], index: Ints, positions: Ints) -> None:
        tables = Tables(self._buffer, positions, "debug event")
        rows = part["row"][index].astype(np.int64)
        part["instruction"][index] = tables.numbers(1, np.int32, _NO_ID)
        if self._builder.generation == "G1":
            part["chain"][index] = tables.numbers(0, np.int32, 0)
            _, count = self._buffer.vectors(tables.targets(2), 1, "values of a debug event")
            self._report("debug event without a value", rows[count == 0])
            part["type"][index] = np.where(count > 0, ValueType.COUNT, ValueType.NONE)
            part["value"][index] = count
            return
        if any(tables.has(slot) for slot in (3, 4, 5)):
            self._builder.generation = "G3"
        # The runtime writes chain -1 to an unsigned field.
        part["chain"][index] = tables.numbers(0, np.uint64, 0).view(np.int64)
        part["number"][index] = tables.numbers(3, np.int32, _NO_ID)
        part["text"][index] = tables.targets(4)
        part["name"][index] = tables.targets(5)
        values = self._values.read(tables.targets(2), rows)
        for name in ("type", "value", "size", "sized", "offset", "has_offset", "output"):
            part[name][index] = getattr(values, name)

    def finish(self) -> Untimed:
        """Everything read so far. Raises Malformed for texts outside the file."""
        if not self._parts:  # most files
            return Untimed(_NO_EVENTS, [], [], [])
        columns = {
            name: np.concatenate([np.empty(0, dtype), *(part[name] for part in self._parts)])
            for name, (dtype, _) in _COLUMNS.items()
        }
        self._parts.clear()
        texts: dict[str, list[str]] = {}
        for name in ("name", "text"):
            codes, raw_texts = distinct_texts(
                self._buffer, columns[name].astype(np.int64), f"{name}s of events without time"
            )
            columns[name] = codes
            texts[name] = decoded(raw_texts, self._builder.problem)
        # An allocator that has no name or is not listed is named by its number.
        unnamed = (columns["kind"] == UntimedKind.ALLOCATION) & (columns["name"] < 0)
        number, code = np.unique(columns["id"][unnamed], return_inverse=True)
        columns["name"][unnamed] = len(texts["name"]) + code
        texts["name"] += [f"allocator {i}" for i in number.tolist()]
        return Untimed(columns, texts["name"], texts["text"], self._values.texts)


def place(
    untimed: Untimed, runs: Runs, events: ProfileEvents, kind: NDArray[np.uint8]
) -> UntimedEvents:
    """The events with their runs and their neighbors among the timed events.

    `events.run` and `kind` are the parts of runs and the `KeyKind`s of the timed events. `after`
    and `call` in the result are source rows of slices.
    """
    columns = untimed.columns
    if not len(columns["row"]):
        return UntimedEvents.empty(tuple(runs.names))
    row = columns["row"].astype(np.int64)
    block = np.searchsorted(np.cumsum(runs.length), row, side="right")
    nearest = np.searchsorted(events.row, row)  # index of the next timed event
    timed_block = np.append(events.run >> 1, -1)
    has_next = timed_block[nearest] == block
    has_last = timed_block[nearest - 1] == block  # before the first event this is the -1
    neighbor = np.where(has_next, nearest, nearest - 1)
    parts = np.unique(events.run)
    run = np.searchsorted(parts, np.append(events.run, 0)[neighbor])
    timed_row = np.append(events.row, -1)
    call = _calls(untimed, events, kind, block)
    call[timed_block[call] != block] = -1
    identifier, identifiers = _identifiers(untimed)
    is_debug = columns["kind"] == UntimedKind.DEBUG
    named = columns["name"] >= 0
    stated = is_debug & (columns["chain"] >= 0) & (columns["instruction"] >= 0)
    return UntimedEvents(
        kind=columns["kind"],
        block=block.astype(np.uint32),
        run=np.where(has_next | has_last, run, -1).astype(np.int32),
        source_row=columns["row"],
        after=timed_row[np.where(has_last, nearest - 1, -1)].astype(np.int32),
        call=timed_row[call].astype(np.int32),
        name=Column.of_codes(np.where(named, columns["name"], 0), untimed.names, named),
        size=Column(columns["size"], columns["sized"], unit="B"),
        chain=Column(columns["chain"], is_debug),
        instruction=Column(columns["instruction"].astype(np.int64), stated),
        identifier=identifier,
        type=columns["type"],
        value=columns["value"],
        output=columns["output"],
        offset=Column(columns["offset"], columns["has_offset"], unit="B"),
        blocks=tuple(runs.names),
        identifiers=identifiers,
        tensors=tuple(untimed.tensors),
    )


def _identifiers(untimed: Untimed) -> tuple[Codes32, tuple[int | str, ...]]:
    """An index into the distinct identifiers per event (-1: none); integers come first."""
    columns = untimed.columns
    numbers, code = np.unique(columns["number"], return_inverse=True)
    has = (columns["number"] != _NO_ID) | filled(columns["text"], untimed.texts)
    codes = np.where(columns["number"] != _NO_ID, code, len(numbers) + columns["text"])
    identifiers = (*numbers.tolist(), *untimed.texts)
    return np.where(has, codes, -1).astype(np.int32), identifiers


def _calls(untimed: Untimed, events: ProfileEvents, kind: NDArray[np.uint8], block: Ints) -> Ints:
    """The timed event that each untimed event's value belongs to (-1: none); any block.

    A value with a delegate debug identifier belongs to the delegate event with that identifier: the
    next one, else the last before. Other values belong to the next call of their instruction.
    """
    columns = untimed.columns
    on_chain = (
        (columns["chain"] >= 0) & (columns["chain"] < 1 << 31) & (columns["instruction"] >= 0)
    )
    has = (columns["number"] != _NO_ID) | filled(columns["text"], untimed.texts)
    call = np.full(len(columns["row"]), -1, np.int64)

    calls = np.flatnonzero((kind == KeyKind.OPERATOR_CALL) | (kind == KeyKind.DELEGATE_CALL))
    pending = np.flatnonzero(on_chain & ~has)
    identity = _identity(events.chain[calls], events.instruction[calls])
    query = _identity(columns["chain"][pending], columns["instruction"][pending])
    following, _ = _neighbors(
        identity, events.row[calls], query, columns["row"][pending].astype(np.int64)
    )
    call[pending] = np.append(calls, -1)[following]

    pending = np.flatnonzero(on_chain & has)
    if not len(pending):
        return call
    logged = np.flatnonzero(kind == KeyKind.DELEGATE_EVENT)
    text_codes = {text: i for i, text in enumerate(events.texts)}
    code = np.array([*(text_codes.get(text, -1) for text in untimed.texts), -1], np.int64)
    logged_labels = _label(events.number[logged], events.text[logged].astype(np.int64))
    query_labels = _label(columns["number"][pending], code[columns["text"][pending]])
    rank = np.unique(np.concatenate([logged_labels, query_labels]), return_inverse=True)[1]
    logged_labels, query_labels = rank[: len(logged)], rank[len(logged) :]
    identity = _identity(logged_labels, events.instruction[logged])
    query = _identity(query_labels, columns["instruction"][pending])
    rows = columns["row"][pending].astype(np.int64)
    following, before = _neighbors(identity, events.row[logged], query, rows)
    following, before = np.append(logged, -1)[following], np.append(logged, -1)[before]
    in_block = np.append(events.run >> 1, -1)[following] == block[pending]
    call[pending] = np.where(in_block, following, before)
    return call


def _label(number: Codes32, text: Ints) -> Ints:
    """An identifier as one number; a text that no timed event has matches nothing."""
    return np.where(number != _NO_ID, number.astype(np.int64), _TEXT + text)


def _identity(first: Ints | Codes32, second: Codes32) -> Ints:
    """Combine two small numbers into one."""
    return (first.astype(np.int64) << 32) | second.astype(np.int64)


def _neighbors(identity: Ints, row: Codes32, asked: Ints, places: Ints) -> tuple[Ints, Ints]:
    """The next and the last timed event (-1: none) of each requested identity and row."""
    distinct, rank = np.unique(identity, return_inverse=True)
    if not len(distinct):
        nothing = np.full(len(asked), -1)
        return nothing, nothing
    wide = int(max(row.max(), places.max(initial=0))) + 2
    key = rank * wide + row
    order = np.argsort(key)
    index = np.minimum(np.searchsorted(distinct, asked), len(distinct) - 1)
    is_equal = distinct[index] == asked
    position = np.searchsorted(key[order], index * wide + places)
    bounded = np.append(order, -1)
    rank_at = np.append(rank[order], -1)
    following = np.where(is_equal & (rank_at[position] == index), bounded[position], -1)
    before = np.where(is_equal & (rank_at[position - 1] == index), bounded[position - 1], -1)
    return following, before
