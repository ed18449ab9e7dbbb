"""Reads the values of an ETDump's debug events: scalars, and tensors by dtype and shape.

A value is a table with its type and another table with the content. For a tensor, the ETDump has
its scalar type, its sizes, and the position of its data in the debug buffer, which is a separate
file. All values are read as columns; texts are formatted once per distinct dtype and shape.

The layout is in devtools/etdump/etdump_schema_flatcc.fbs of ExecuTorch, the scalar types in
scalar_type.fbs next to it. Strings have a type, but no field for their text.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from viewer.arrays import Bools, Ints
from viewer.codecs.flatbuffer import Buffer, Tables
from viewer.formats.executorch.scalar_types import MOST_DIMENSIONS, SCALAR_TYPES, scalar_type
from viewer.model.trace import ValueType

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
