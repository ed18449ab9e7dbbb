"""Reads many flatbuffer tables at once: one numpy gather per field instead of one call per value.

Every offset is checked against the file size before it is followed, so a damaged file raises only
`Malformed`, with the position of the error. This module knows no schema: callers pass slots.
Positions are byte offsets into the file, int64. 0 means "absent": no field can be at byte 0.
Layout: https://flatbuffers.dev/internals/
"""

from __future__ import annotations

import struct
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from viewer.arrays import Ints
from viewer.codecs.file_bytes import LazyBytes
from viewer.codecs.reading import UnreadableFile

Number = TypeVar(
    "Number", np.uint8, np.int32, np.uint32, np.int64, np.uint64, np.float32, np.float64
)

# Longer texts are rare, and 16 or more passes over all texts cost more than reading them one by
# one.
_SHORT_TEXT = 64
# So few texts are read one by one too: 0.4 µs each, where the passes over words take 170 µs in all.
_FEW = 400
_SMALL_FILE = 1 << 16  # bytes; a larger file is not copied to read its texts
# The tables of a column share few vtables, because writers store equal ones once. So few are
# decoded in Python; for one per table, or for long ones, that would take longer than numpy.
_FEW_VTABLES, _SHORT_VTABLE = 64, 512
ODD = np.uint64(0x9E3779B97F4A7C15)
_BYTE_MASKS = np.array([0, 0xFF, 0xFFFF, 0xFFFFFF, 0xFFFFFFFF], np.uint32)


class Malformed(Exception):
    """An offset or length leads outside the file; `byte` is its position."""

    def __init__(self, byte: int, reason: str) -> None:
        super().__init__(reason)
        self.byte = byte
        self.reason = reason


@contextmanager
def damage_of(path: str, remedy: str) -> Iterator[None]:
    """Raise UnreadableFile about a file for what is malformed in the block."""
    try:
        yield
    except Malformed as error:
        place = f"byte {error.byte}"
        raise UnreadableFile(path, error.reason, where=place, remedy=remedy) from error


class Buffer:
    """The bytes of one file; all multi-byte values are little-endian."""

    def __init__(self, data: NDArray[np.uint8] | LazyBytes) -> None:
        """Wrap a file given as uint8; copies nothing. Of lazy bytes, methods load what they use."""
        self._load = None
        if isinstance(data, LazyBytes):
            self._load = None if data.is_whole else data.load
            data = data.memory
        self.size = len(data)
        self.bytes = data
        self.view = data.data
        self._u2 = data[: self.size // 2 * 2].view("<u2")
        self._u4 = data[: self.size // 4 * 4].view("<u4")
        self._u8 = data[: self.size // 8 * 8].view("<u8")

    def check(self, positions: Ints, width: int | Ints, what: str) -> None:
        """Raise `Malformed` unless every range at .. at + width is inside the file."""
        if not len(positions):
            return
        last = int(np.maximum.reduce(positions if isinstance(width, int) else positions + width))
        if isinstance(width, int):
            last += width
        if last > self.size or int(np.minimum.reduce(positions)) < 0:
            bad = (positions < 0) | (positions + width > self.size)
            raise Malformed(int(positions[np.argmax(bad)]), f"{what} is outside the file")

    def load(self, positions: Ints, width: int | Ints) -> None:
        """Make sure that checked ranges of `bytes` and `view` are there."""
        if self._load is not None:
            self._load(positions, width)

    def u1(self, positions: Ints) -> NDArray[np.uint8]:
        """Bytes at checked positions."""
        self.load(positions, 1)
        return self.bytes[positions]

    def u2(self, positions: Ints) -> Ints:
        """Unsigned 16-bit values at checked positions, as int64."""
        self.load(positions, 2)
        if np.bitwise_or.reduce(positions) & 1:
            return self.bytes[positions].astype(np.int64) | (
                self.bytes[positions + 1].astype(np.int64) << 8
            )
        values: Ints = self._u2[positions >> 1].astype(np.int64)
        return values

    def u4(self, positions: Ints) -> NDArray[np.uint32]:
        """Unsigned 32-bit values at checked positions."""
        self.load(positions, 4)
        if np.bitwise_or.reduce(positions) & 3:
            return (self.u2(positions) | (self.u2(positions + 2) << 16)).astype(np.uint32)
        values: NDArray[np.uint32] = self._u4[positions >> 2]
        return values

    def u8(self, positions: Ints) -> NDArray[np.uint64]:
        """Unsigned 64-bit values at checked positions."""
        self.load(positions, 8)
        if np.bitwise_or.reduce(positions) & 7:
            high = self.u4(positions + 4).astype(np.uint64)
            return self.u4(positions).astype(np.uint64) | (high << np.uint64(32))
        values: NDArray[np.uint64] = self._u8[positions >> 3]
        return values

    def follow(self, positions: Ints, what: str, *, is_everywhere: bool = False) -> Ints:
        """The targets of the 32-bit offsets at checked positions; 0 stays 0. Raises `Malformed`.

        is_everywhere: whether it is known that no position is 0.
        """
        offset = self.u4(positions)
        target = positions + (
            offset if is_everywhere or positions.all() else np.where(positions > 0, offset, 0)
        )
        if len(positions) and int(np.maximum.reduce(target)) + 4 > self.size:
            raise Malformed(int(positions[np.argmax(target)]), f"{what} points outside the file")
        return target

    def vectors(self, positions: Ints, width: int, what: str) -> tuple[Ints, Ints]:
        """First element and length of vectors of `width`-byte elements; length 0 where at is 0."""
        self.check(positions, 4, what)
        length = self.u4(positions).astype(np.int64)
        if not positions.all():
            length[positions == 0] = 0
        self.check(positions, 4 + length * width, what)
        return positions + 4, length

    def text(self, position: int) -> bytes:
        """The bytes of one string or byte vector whose extent was checked."""
        place = np.array([position])
        self.load(place, 4)
        length = int.from_bytes(self.view[position : position + 4], "little")
        self.load(place, 4 + length)
        return bytes(self.view[position + 4 : position + 4 + length])


class Tables:
    """A column of tables of one type. Checks every vtable when created; raises `Malformed`."""

    def __init__(self, buffer: Buffer, positions: Ints, what: str) -> None:
        self._buffer = buffer
        self._at = positions
        self._what = what
        self._last = int(np.maximum.reduce(positions, initial=0))
        if self._last + 4 > buffer.size or int(np.minimum.reduce(positions, initial=0)) < 0:
            buffer.check(positions, 4, what)
        vtable = positions - buffer.u4(positions).view(np.int32)
        # The distinct vtables, and which one each table has; None if all have the same.
        self._which: Ints | None = None
        distinct = vtable[:1]
        if not (vtable == distinct).all():
            ascending = np.sort(vtable)
            distinct = ascending[np.concatenate(([True], ascending[1:] != ascending[:-1]))]
            self._which = np.searchsorted(distinct, vtable)
        if len(positions) and (int(distinct[0]) < 0 or int(distinct[-1]) + 4 > buffer.size):
            bad = (vtable < 0) | (vtable + 4 > buffer.size)
            raise Malformed(
                int(positions[np.argmax(bad)]), f"{what} has its vtable outside the file"
            )
        self._vtable = distinct
        self._vtable_size = buffer.u2(distinct)
        buffer.check(distinct, self._vtable_size, f"vtable of {what}")
        self._offsets: list[tuple[int, ...]] | None = None
        if len(distinct) <= _FEW_VTABLES:
            sizes = self._vtable_size.tolist()
            if max(sizes, default=0) <= _SHORT_VTABLE:
                buffer.load(distinct, self._vtable_size)
                self._offsets = [
                    struct.unpack_from(f"<{max(size - 4, 0) // 2}H", buffer.view, place + 4)
                    for place, size in zip(distinct.tolist(), sizes, strict=True)
                ]

    def __len__(self) -> int:
        return len(self._at)

    def has(self, slot: int) -> bool:
        """Whether any of the tables has a field in a slot."""
        return any(self._offsets_of(slot))

    def fields(self, slot: int) -> Ints:
        """The position of a slot's field in each table, 0 where it is absent."""
        offsets = self._offsets_of(slot)
        return self._fields(offsets) if any(offsets) else np.zeros(len(self._at), np.int64)

    def _fields(self, offsets: list[int]) -> Ints:
        """The position of a field in each table, by its offset for each distinct vtable."""
        if self._which is None:
            return self._at + offsets[0]
        offset = np.array(offsets, np.int64)[self._which]
        positions: Ints = self._at + offset
        return positions if all(offsets) else np.where(offset > 0, positions, 0)

    def _offsets_of(self, slot: int) -> list[int]:
        """The offset of a slot's field for each distinct vtable, 0 if absent."""
        if self._offsets is not None:
            return [offsets[slot] if slot < len(offsets) else 0 for offsets in self._offsets]
        entry = 4 + 2 * slot
        has_slot = self._vtable_size >= entry + 2
        places = np.where(has_slot, self._vtable + entry, 0)
        offsets: list[int] = np.where(has_slot, self._buffer.u2(places), 0).tolist()
        return offsets

    def numbers(self, slot: int, dtype: type[Number], default: int) -> NDArray[Number]:
        """Numbers of 8, 32 or 64 bits from a slot, with the schema's default where absent."""
        offsets = self._offsets_of(slot)
        if not any(offsets):
            return np.full(len(self._at), default, dtype)
        width = np.dtype(dtype).itemsize
        positions, buffer = self._within(slot, offsets, width), self._buffer
        raw = (
            buffer.u8(positions)
            if width == 8
            else buffer.u4(positions)
            if width == 4
            else buffer.u1(positions)
        )
        values = raw.view(dtype)
        return values if all(offsets) else np.where(positions > 0, values, np.array(default, dtype))

    def targets(self, slot: int) -> Ints:
        """Positions of the tables, vectors or strings that a slot refers to, 0 where absent."""
        offsets = self._offsets_of(slot)
        if not any(offsets):
            return np.zeros(len(self._at), np.int64)
        positions = self._within(slot, offsets, 4)
        what = f"slot {slot} of {self._what}"
        return self._buffer.follow(positions, what, is_everywhere=all(offsets))

    def _within(self, slot: int, offsets: list[int], width: int) -> Ints:
        """The positions of a slot's fields, which are `width` bytes inside the file."""
        positions = self._fields(offsets)
        if self._last + max(offsets) + width > self._buffer.size:
            self._buffer.check(positions, width, f"slot {slot} of {self._what}")
        return positions


def elements(buffer: Buffer, first: Ints, length: Ints, what: str, least: int) -> Ints:
    """Positions of the tables in vectors of offsets, vector after vector.

    `least` is the smallest size of one element in a file, including its offset. Vectors that
    overlap or share elements could claim far more data than the file contains; this raises
    `Malformed`.
    """
    places = _places(buffer, first, length, what, 4, least)
    buffer.check(places, 4, what)
    return buffer.follow(places, what)


def numbers_in(
    buffer: Buffer, first: Ints, length: Ints, dtype: type[Number], what: str
) -> NDArray[Number]:
    """The numbers of 32 or 64 bits in vectors, vector after vector.

    The vectors are as `Buffer.vectors` returns them. Raises `Malformed` if they overlap so much
    that they claim more data than the file contains.
    """
    width = np.dtype(dtype).itemsize
    positions = _places(buffer, first, length, what, width, width)
    return (buffer.u8(positions) if width == 8 else buffer.u4(positions)).view(dtype)


def _places(buffer: Buffer, first: Ints, length: Ints, what: str, width: int, least: int) -> Ints:
    """Positions of the elements of `width` bytes in vectors, vector after vector."""
    total = int(length.sum())
    if total * least > buffer.size:
        raise Malformed(int(first[0]) - 4, f"{what} overlap: they claim {total} elements")
    skipped = np.cumsum(length) - length
    places: Ints = np.repeat(first - width * skipped, length)
    places += width * np.arange(total, dtype=np.int64)
    return places


def distinct_texts(
    buffer: Buffer, positions: Ints, what: str
) -> tuple[NDArray[np.int32], list[bytes]]:
    """Strings or byte vectors at positions (0 = absent) as codes into a list of distinct texts.

    Codes are numbered by first appearance; -1 means absent. Equal hashes only suggest equal texts:
    the full texts are compared.
    """
    codes = np.full(len(positions), -1, np.int32)
    present = positions.nonzero()[0]
    if not len(present):
        return codes, []
    positions = positions[present]
    _, length = buffer.vectors(positions, 1, what)
    if len(positions) <= _FEW and int(np.add.reduce(length)) <= buffer.size:
        seen: dict[bytes, int] = {}
        buffer.load(positions, 4 + length)
        first, ends = (positions + 4).tolist(), (positions + (4 + length)).tolist()
        # A slice of bytes takes a third of the time of one of a view.
        content = bytes(buffer.view) if buffer.size <= _SMALL_FILE else buffer.view
        texts = [bytes(content[a:b]) for a, b in zip(first, ends, strict=True)]
        codes[present] = [seen.setdefault(text, len(seen)) for text in texts]
        return codes, list(seen)
    # A short text is read by words, so its last word must be inside the file too.
    plain = (
        (length <= _SHORT_TEXT)
        & (positions & 3 == 0)
        & (positions + 4 + length <= buffer.size // 4 * 4)
    )
    short = np.flatnonzero(plain)
    representative = np.arange(len(positions))
    representative[short] = short[_representatives(buffer, positions[short], length[short])]
    rest = np.flatnonzero(~plain)
    representative[rest] = rest[
        _representatives_one_by_one(buffer, positions[rest], length[rest], what)
    ]

    is_first = representative == np.arange(len(positions))
    number = np.cumsum(is_first, dtype=np.int32) - np.int32(1)
    codes[present] = number[representative]
    return codes, [buffer.text(int(p)) for p in positions[is_first]]


def _words(buffer: Buffer, positions: Ints, length: Ints) -> Iterator[tuple[Ints | slice, NDArray]]:  # type: ignore[type-arg]
    """Yield the texts as zero-padded 32-bit words: (texts that have this word, their words)."""
    live: Ints | slice = slice(None)
    word, rest = (positions + 4) >> 2, length
    while len(rest):
        if int(rest.min()) <= 0:
            keep = rest > 0
            live = np.flatnonzero(keep) if isinstance(live, slice) else live[keep]
            word, rest = word[keep], rest[keep]
        if len(rest):
            yield live, buffer.u4(word << 2) & _BYTE_MASKS[np.minimum(rest, 4)]
        word, rest = word + 1, rest - 4


def _representatives(buffer: Buffer, positions: Ints, length: Ints) -> Ints:
    """For each short, aligned text, the index of the first equal text."""
    mixed = length.astype(np.uint64) * ODD
    for live, words in _words(buffer, positions, length):
        part = (mixed[live] ^ words) * ODD
        mixed[live] = part ^ (part >> np.uint64(29))
    _, first, inverse = np.unique(mixed, return_index=True, return_inverse=True)
    first_alike: Ints = first[inverse]
    same = bool((length[first_alike] == length).all())
    if same:
        pairs = zip(
            _words(buffer, positions, length),
            _words(buffer, positions[first_alike], length),
            strict=True,
        )
        same = all(bool((a == b).all()) for (_, a), (_, b) in pairs)
    return first_alike if same else _representatives_one_by_one(buffer, positions, length, "texts")


def _representatives_one_by_one(buffer: Buffer, positions: Ints, length: Ints, what: str) -> Ints:
    """Like `_representatives`, for texts of any length and alignment."""
    places, first, inverse = np.unique(positions, return_index=True, return_inverse=True)
    if int(length[first].sum()) > buffer.size:
        raise Malformed(
            int(positions[0]), f"{what} overlap: they claim more bytes than the file has"
        )
    order = np.argsort(first)
    seen: dict[bytes, int] = {}
    first_alike = np.empty(len(places), np.int64)
    for i in order.tolist():
        first_alike[i] = seen.setdefault(buffer.text(int(places[i])), int(first[i]))
    return first_alike[inverse]
