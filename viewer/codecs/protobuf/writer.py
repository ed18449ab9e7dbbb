"""Writes many protobuf messages at once from numpy columns, instead of one object per message.

A *piece* is one part of each of n messages. It knows its size in each message and can write its
bytes at given positions of a buffer. Pieces are joined and nested until one piece is the whole
message. The caller chooses the field order: ascending numbers give the same bytes as the official
serializer. The cost is per distinct byte length: one numpy assignment copies all rows of a length.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from viewer.arrays import Bools, Ints

Bytes = NDArray[np.uint8]

VARINT = 0
FIXED64 = 1
LENGTH_DELIMITED = 2


def varint(value: int) -> bytes:
    """Encode one unsigned integer below 2^64 as a varint."""
    out = bytearray()
    while value > 0x7F:
        out.append(value & 0x7F | 0x80)
        value >>= 7
    out.append(value)
    return bytes(out)


def tag(field: int, wire_type: int) -> bytes:
    """The tag bytes of a field."""
    return varint(field << 3 | wire_type)


def varint_lengths(values: NDArray[np.uint64]) -> Ints:
    """The size of each value as a varint: 1 to 10 bytes."""
    length = np.ones(len(values), np.int64)
    top = int(values.max(initial=np.uint64(0)))
    for bits in range(7, top.bit_length(), 7):
        length += values >= np.uint64(1 << bits)
    return length


def _varint_rows(values: NDArray[np.uint64], length: int) -> Bytes:
    rows = np.empty((len(values), length), np.uint8)
    for k in range(length):
        np.right_shift(values, np.uint64(7 * k), out=rows[:, k], casting="unsafe")
    rows[:, :-1] |= 0x80
    rows[:, -1] &= 0x7F
    return rows


def _put(out: Bytes, positions: Ints, rows: Bytes) -> None:
    """Copy row i of a (n, width) array to out[at[i] : at[i] + width]."""
    n, width = rows.shape
    if n == 0 or width == 0:
        return
    item = np.dtype(f"V{width}")
    window: NDArray[Any] = np.ndarray((len(out) - width + 1,), item, out.data, strides=(1,))
    window[positions] = np.ascontiguousarray(rows).view(item)[:, 0]


def _by_length(length: Ints) -> list[tuple[int, Ints | slice]]:
    """Group rows by length: (length, rows); a full slice if all lengths are equal."""
    if len(length) == 0:
        return []
    low, high = int(length.min()), int(length.max())
    if low == high:
        return [(low, slice(None))]
    if high - low < 16:
        by_length = ((n, np.flatnonzero(length == n)) for n in range(low, high + 1))
        return [(n, rows) for n, rows in by_length if len(rows)]
    order = np.argsort(length, kind="stable")
    sizes, first = np.unique(length[order], return_index=True)
    return list(zip(sizes.tolist(), np.split(order, first[1:]), strict=True))


def repeated(
    head: bytes, numbers: Ints, size: int, between: bytes, doubles: NDArray[np.float64]
) -> bytes:
    """Messages that differ only in one varint of `size` bytes and a float64 at their end.

    All messages have the same length, which is faster than general pieces.
    """
    parts = [("head", f"V{len(head)}"), ("number", f"V{size}")]
    rows = np.empty(len(numbers), [*parts, ("between", f"V{len(between)}"), ("double", "<f8")])
    rows["head"] = np.void(head)
    rows["number"] = _varint_rows(numbers.view(np.uint64), size).view(f"V{size}")[:, 0]
    rows["between"] = np.void(between)
    rows["double"] = doubles
    return rows.tobytes()


class Piece(Protocol):
    """A part of n messages. `length`: its size in each message in bytes (int64, n)."""

    length: Ints

    def write(self, out: Bytes, positions: Ints) -> None:
        """Write the bytes of message i at out[at[i]] and after."""


class Literal:
    """The same bytes in every message."""

    def __init__(self, data: bytes, n: int) -> None:
        self.length: Ints = np.full(n, len(data), np.int64)
        self._data = np.frombuffer(data, np.uint8)

    def write(self, out: Bytes, positions: Ints) -> None:
        """See `Piece`."""
        _put(out, positions, np.broadcast_to(self._data, (len(positions), len(self._data))))


class Varints:
    """One varint per message, after bytes that depend only on its length.

    `values`: integers of any type. Negative ones are written as int64, in 10 bytes. `head(length)`
    returns the bytes before a varint of that length: a tag, or tags and lengths of enclosing
    messages.
    """

    def __init__(self, values: NDArray[Any], head: Callable[[int], bytes]) -> None:
        if values.dtype.kind == "u":
            self._values = values.astype(np.uint64, copy=False)
        else:
            self._values = values.astype(np.int64, copy=False).view(np.uint64)
        size = varint_lengths(self._values)
        self._head = head
        self._heads = np.array([0, *(len(head(n)) for n in range(1, 11))])
        self._size = size
        self.length: Ints = size + self._heads[size]

    def write(self, out: Bytes, positions: Ints) -> None:
        """See `Piece`."""
        for size, rows in _by_length(self._size):
            head = np.frombuffer(self._head(size), np.uint8)
            values = self._values[rows]
            data = np.empty((len(values), len(head) + size), np.uint8)
            data[:, : len(head)] = head
            data[:, len(head) :] = _varint_rows(values, size)
            _put(out, positions[rows], data)


class Decimals:
    """Numbers from 0 to 2^63 - 1 as decimal text."""

    def __init__(self, values: Ints) -> None:
        self._values = values
        self.length: Ints = np.ones(len(values), np.int64)
        top, power = int(values.max(initial=0)), 10
        while power <= top:
            self.length += values >= power
            power *= 10

    def write(self, out: Bytes, positions: Ints) -> None:
        """See `Piece`."""
        for size, rows in _by_length(self.length):
            rest = self._values[rows]
            digits = np.empty((len(rest), size), np.uint8)
            for k in range(size - 1, -1, -1):
                tens = rest // 10
                digits[:, k] = rest - tens * 10
                rest = tens
            _put(out, positions[rows], digits + np.uint8(ord("0")))


class Doubles:
    """One float64 (eight bytes) per message, after constant bytes."""

    def __init__(self, values: NDArray[Any], head: bytes) -> None:
        little = values.astype("<f8").view(np.uint8).reshape(len(values), 8)
        front = np.broadcast_to(np.frombuffer(head, np.uint8), (len(values), len(head)))
        self._rows: Bytes = np.concatenate([front, little], axis=1)
        self.length: Ints = np.full(len(values), len(head) + 8, np.int64)

    def write(self, out: Bytes, positions: Ints) -> None:
        """See `Piece`."""
        _put(out, positions, self._rows)


class Fixed64s:
    """Any number of fixed64 fields in each of n messages: values[k] belongs to message rows[k].

    rows must ascend. values: uint64. The fields of a message keep the order of their values.
    """

    def __init__(self, n: int, rows: Ints, values: NDArray[np.uint64], head: bytes) -> None:
        self._fields = Doubles(values.view(np.float64), head)
        count = np.bincount(rows, minlength=n)
        self.length: Ints = count * (len(head) + 8)
        first = np.cumsum(count) - count
        self._rows = rows
        self._within: Ints = (np.arange(len(rows)) - first[rows]) * (len(head) + 8)

    def write(self, out: Bytes, positions: Ints) -> None:
        """See `Piece`."""
        self._fields.write(out, positions[self._rows] + self._within)


class Blobs:
    """A table of distinct byte strings, encoded once and selected by index."""

    def __init__(self, blobs: Sequence[bytes]) -> None:
        self._lay(b"".join(blobs), np.fromiter(map(len, blobs), np.int64, len(blobs)))

    @classmethod
    def of_texts(cls, texts: Sequence[str]) -> Blobs:
        """Encode texts as UTF-8. Lone surrogates, which non-UTF-8 names contain, become "?"."""
        data = "".join(texts).encode("utf-8", "replace")
        length = np.fromiter(map(len, texts), np.int64, len(texts))
        if len(data) != int(length.sum()):
            return cls([text.encode("utf-8", "replace") for text in texts])
        blobs = cls(())
        blobs._lay(data, length)
        return blobs

    def _lay(self, data: bytes, length: Ints) -> None:
        self.length = length
        self._slot = np.zeros(len(length), np.int64)
        self._tables: dict[int, NDArray[Any]] = {}
        first = np.cumsum(length) - length
        everything = np.arange(len(length))
        for size, rows in _by_length(length):
            numbers = everything[rows]
            self._slot[numbers] = np.arange(len(numbers))
            if size:
                kind = np.dtype(f"V{size}")
                window: NDArray[Any] = np.ndarray((len(data) - size + 1,), kind, data, strides=(1,))
                self._tables[size] = window[first[numbers]]

    def rows(self, codes: NDArray[Any], length: int) -> Bytes:
        """The blobs at indices `codes`, all of one length > 0, as a (n, length) array."""
        picked: Bytes = self._tables[length][self._slot[codes]].view(np.uint8)
        return picked.reshape(len(codes), length)


class Picked:
    """Blob codes[i] of a table in message i."""

    def __init__(self, blobs: Blobs, codes: NDArray[Any]) -> None:
        self._blobs = blobs
        self._codes = codes
        self.length: Ints = blobs.length[codes]

    def write(self, out: Bytes, positions: Ints) -> None:
        """See `Piece`."""
        for size, rows in _by_length(self.length):
            if size:
                _put(out, positions[rows], self._blobs.rows(self._codes[rows], size))


class Where:
    """A piece in the messages where the mask is set, nothing in the others."""

    def __init__(self, mask: Bools, piece: Piece) -> None:
        self._rows = np.flatnonzero(mask)
        self._piece = piece
        self.length: Ints = np.zeros(len(mask), np.int64)
        self.length[self._rows] = piece.length

    def write(self, out: Bytes, positions: Ints) -> None:
        """See `Piece`."""
        self._piece.write(out, positions[self._rows])


class Joined:
    """Several pieces in sequence."""

    def __init__(self, *pieces: Piece) -> None:
        self._pieces = pieces
        self.length: Ints = pieces[0].length.copy()
        for piece in pieces[1:]:
            self.length += piece.length

    def write(self, out: Bytes, positions: Ints) -> None:
        """See `Piece`."""
        positions = positions.copy()
        for piece in self._pieces:
            piece.write(out, positions)
            positions += piece.length


class Message:
    """A length-delimited field: tag, length of the body, body."""

    def __init__(self, field: int, body: Piece) -> None:
        tag_bytes = tag(field, LENGTH_DELIMITED)
        self._piece = Joined(Varints(body.length, lambda size: tag_bytes), body)
        self.length: Ints = self._piece.length

    def write(self, out: Bytes, positions: Ints) -> None:
        """See `Piece`."""
        self._piece.write(out, positions)


def assemble(parts: Sequence[tuple[Ints, Piece]]) -> bytes:
    """Join the messages of several pieces in one byte string.

    Each part gives the positions of its messages in the result. Together, the positions are 0 ..
    total-1, each once.
    """
    total = sum(len(position) for position, _ in parts)
    length = np.empty(total, np.int64)
    for position, piece in parts:
        length[position] = piece.length
    end = np.cumsum(length)
    first = end - length
    out: Bytes = np.empty(int(end[-1]) if total else 0, np.uint8)
    for position, piece in parts:
        piece.write(out, first[position])
    return out.tobytes()
