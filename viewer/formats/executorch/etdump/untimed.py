"""Reads the allocation and debug events of an ETDump, which have an order but no time.

`place` determines each event's run, the timed event before it, and the call that its value belongs
to. This relies on when the runtime logs: every event is written when it completes, so the contents
of a call come before it, and an operator's values come just before the operator.

There are three generations of debug events: G1 has a chain, a debug handle and only the number of
its values; G2 has one value; G3 adds a delegate debug identifier and a name. A value is a table
with its type and another table with the content. For a tensor, the ETDump has its scalar type, its
sizes, and the position of its data in the debug buffer, which is a separate file. Strings have a
type, but no field for their text. Scalar types are in scalar_type.fbs next to ExecuTorch's schema.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from viewer.arrays import Bools, Ints
from viewer.codecs.flatbuffer import Buffer, Tables, distinct_texts, elements
from viewer.dataclasses import dataclass
from viewer.formats.executorch.etdump.events import Codes32, ProfileEvents, Runs, count_rows, filled
from viewer.formats.executorch.schema import MOST_DIMENSIONS, SCALAR_TYPES, decoded, scalar_type
from viewer.model.building.builder import TraceBuilder
from viewer.model.trace import Column, KeyKind, UntimedEvents, UntimedKind, ValueType

_KNOWN_DTYPE = np.isin(np.arange(256), list(SCALAR_TYPES))
_SHOWN_TENSORS = 3  # per list
_NO_SIZE = -1
ODD = np.uint64(0x9E3779B97F4A7C15)

# Slots of Value that contain each type.
_SLOTS = {
    ValueType.TENSOR: 1, ValueType.TENSOR_LIST: 2, ValueType.INT: 3, ValueType.FLOAT: 4,
    ValueType.DOUBLE: 5, ValueType.BOOL: 6,
}  # fmt: skip
_OUTPUT = 7

Report = Callable[[str, Ints], None]
"""Called with a kind of problem and the rows of the file that have it."""


@dataclass(slots=True)
class LoggedValues:
    """One value per debug event; `UntimedEvents` describes types and values.

    size: bytes of a tensor. sized: whether the size is known. offset: that of a tensor. has_offset:
    whether it is a tensor.
    """

    type: NDArray[np.uint8]
    value: Ints
    size: NDArray[np.uint64]
    sized: Bools
    offset: Ints
    has_offset: Bools
    output: Bools


class ValueReader:
    """Reads values chunk by chunk; `texts` are interned across chunks."""

    def __init__(self, buffer: Buffer, report: Report) -> None:
        self._buffer = buffer
        self._report = report
        self._codes: dict[tuple[object, ...], int] = {}
        self._sizes: list[int] = []
        self.texts: list[str] = []

    def read(self, positions: Ints, rows: Ints) -> LoggedValues:
        """The values at positions (0: none) of events at rows of the file. Raises Malformed."""
        n = len(positions)
        logged_values = LoggedValues(
            np.zeros(n, np.uint8),
            np.zeros(n, np.int64),
            np.zeros(n, np.uint64),
            np.zeros(n, np.bool_),
            np.zeros(n, np.int64),
            np.zeros(n, np.bool_),
            np.zeros(n, np.bool_),
        )
        self._report("debug event without a value", rows[positions == 0])
        index = np.flatnonzero(positions > 0)
        tables = Tables(self._buffer, positions[index], "value")
        stated = tables.numbers(0, np.uint8, 0)
        is_valid = stated < len(ValueType) - 2  # all but NONE and COUNT
        self._report("debug value of an unknown type", rows[index[~is_valid]])
        logged_values.type[index] = np.where(is_valid, stated + 1, ValueType.NONE)
        texts = logged_values.type == ValueType.STRING
        self._report("debug value is a string: ETDump does not store its text", rows[texts])
        for type, slot in _SLOTS.items():
            here = np.flatnonzero(logged_values.type[index] == type)
            if not len(here):
                continue
            place = tables.targets(slot)[here]
            self._report(f"debug value without its {_words(type)}", rows[index[here[place == 0]]])
            logged_values.type[index[here[place == 0]]] = ValueType.NONE
            present = index[here[place > 0]]
            self._contents(type, place[place > 0], present, rows[present], logged_values)
        outputs = tables.targets(_OUTPUT)
        with_output = np.flatnonzero(outputs > 0)
        flags = Tables(self._buffer, outputs[with_output], "output flag").numbers(0, np.uint8, 0)
        logged_values.output[index[with_output]] = flags != 0
        return logged_values

    def _contents(
        self, type: ValueType, positions: Ints, into: Ints, rows: Ints, logged_values: LoggedValues
    ) -> None:
        if type is ValueType.TENSOR:
            codes, offset = self._tensors(positions, rows)
            logged_values.value[into] = codes
            logged_values.size[into] = np.array([max(s, 0) for s in self._sizes], np.uint64)[codes]
            logged_values.sized[into] = np.array([s >= 0 for s in self._sizes])[codes]
            logged_values.offset[into], logged_values.has_offset[into] = offset, True
        elif type is ValueType.TENSOR_LIST:
            logged_values.value[into] = self._lists(positions, rows)
        else:
            tables = Tables(self._buffer, positions, _words(type))
            if type is ValueType.INT:
                logged_values.value[into] = tables.numbers(0, np.int64, 0)
            elif type is ValueType.BOOL:
                logged_values.value[into] = tables.numbers(0, np.uint8, 0) != 0
            elif type is ValueType.FLOAT:
                with np.errstate(invalid="ignore"):  # signaling NaNs stay NaN
                    wide = tables.numbers(0, np.float32, 0).astype(np.float64)
                logged_values.value[into] = wide.view(np.int64)
            else:
                logged_values.value[into] = tables.numbers(0, np.float64, 0).view(np.int64)

    def _tensors(self, positions: Ints, rows: Ints) -> tuple[Ints, Ints]:
        """Codes of the texts of tensors, and the positions of their data in the debug buffer."""
        buffer = self._buffer
        tables = Tables(buffer, positions, "tensor")
        dtype = tables.numbers(0, np.uint8, 0)
        first, rank = buffer.vectors(tables.targets(1), 8, "sizes of a tensor")
        shown_rank = np.where(rank > MOST_DIMENSIONS, 0, rank)
        sizes = np.zeros((int(shown_rank.max(initial=0)), len(positions)), np.int64)
        for dimension in range(len(sizes)):
            live = np.flatnonzero(shown_rank > dimension)
            sizes[dimension, live] = buffer.u8(first[live] + 8 * dimension).view(np.int64)
        self._report("tensor of an unknown scalar type", rows[~_KNOWN_DTYPE[dtype]])
        self._report("tensor with a negative size", rows[(sizes < 0).any(axis=0)])
        self._report(f"tensor of more than {MOST_DIMENSIONS} dimensions", rows[shown_rank < rank])

        def describe(i: int) -> tuple[tuple[object, ...], str, int]:
            dims = None if shown_rank[i] < rank[i] else sizes[: int(rank[i]), i].tolist()
            name, width = scalar_type(int(dtype[i]))
            what = (int(dtype[i]), int(rank[i]), *(dims or ()))
            return what, _tensor_text(name, dims, int(rank[i])), _tensor_size(dims, width)

        codes = self._interned([rank << 8 | dtype, *sizes], describe)
        return codes, tables.numbers(3, np.int64, 0)

    def _lists(self, positions: Ints, rows: Ints) -> Ints:
        """Codes of the texts of lists: the number of tensors, and the first ones."""
        buffer = self._buffer
        tables = Tables(buffer, positions, "tensor list")
        first, length = buffer.vectors(tables.targets(0), 4, "tensors of a list")
        members = np.full((_SHOWN_TENSORS, len(positions)), -1)
        for i in range(_SHOWN_TENSORS):
            live = np.flatnonzero(length > i)
            place = buffer.follow(first[live] + 4 * i, "tensor of a list")  # inside its vector
            members[i, live], _ = self._tensors(place, rows[live])

        def describe(i: int) -> tuple[tuple[object, ...], str, int]:
            count, list_members = int(length[i]), members[: int(length[i]), i].tolist()
            text = f"{count} tensor{'' if count == 1 else 's'}"
            if list_members:
                more = ["…"] if count > len(list_members) else []
                text += ": " + ", ".join([*(self.texts[code] for code in list_members), *more])
            return ("list", count, *list_members), text, _NO_SIZE

        return self._interned([length, *members], describe)

    def _interned(
        self,
        columns: Sequence[Ints],
        describe: Callable[[int], tuple[tuple[object, ...], str, int]],
    ) -> Ints:
        """Codes into `texts` for rows of columns; `describe` returns identity, text and size."""
        representative = _first_equal(columns)
        distinct = np.unique(representative)
        code_of = np.empty(len(representative), np.int64)
        for i in distinct.tolist():
            what, text, size = describe(i)
            code = self._codes.setdefault(what, len(self.texts))
            if code == len(self.texts):
                self.texts.append(text)
                self._sizes.append(size)
            code_of[i] = code
        return code_of[representative]


def _first_equal(columns: Sequence[Ints]) -> Ints:
    """For each row of some columns, the index of an equal one: the same for all equal rows."""
    mixed = np.zeros(len(columns[0]), np.uint64)
    for column in columns:
        part = (mixed ^ column.view(np.uint64)) * ODD
        mixed = part ^ (part >> np.uint64(29))
    _, first, inverse = np.unique(mixed, return_index=True, return_inverse=True)
    first_rows: Ints = first[inverse]
    if all(bool((column[first_rows] == column).all()) for column in columns):
        return first_rows
    _, first, inverse = np.unique(
        np.stack(columns), axis=1, return_index=True, return_inverse=True
    )  # two rows that differ have the same hash
    exact: Ints = first[inverse.ravel()]
    return exact


def _tensor_text(dtype: str, sizes: list[int] | None, rank: int) -> str:
    """The dtype and shape of a tensor: "f32 1 × 8 × 32", "i64 scalar"."""
    if sizes is None:
        return f"{dtype}, {rank} dimensions"
    return f"{dtype} {' × '.join(map(str, sizes)) or 'scalar'}"


def _tensor_size(sizes: list[int] | None, width: int) -> int:
    """The size of a tensor in bytes, -1 if unknown."""
    if sizes is None or not width or min(sizes, default=0) < 0:
        return _NO_SIZE
    size = width
    for extent in sizes:
        size *= extent
    return size if size < 1 << 64 else _NO_SIZE


def _words(type: ValueType) -> str:
    return type.name.lower().replace("_", " ")


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
