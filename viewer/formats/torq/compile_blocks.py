"""Splits blocks of plain rows of a Torq compile profile with numpy instead of row by row.

Nearly all rows of nearly all files are plain: ASCII, only digits in number cells, nothing unusual
around the location. Splitting a block of such rows takes a fifth of the time of one pattern match
per row. For any other block `split_block` returns None, and the reader uses its pattern. So this
module handles no unexpected data, and for plain rows it must find exactly what the pattern finds.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from viewer.arrays import Bools, Codes, Ints
from viewer.formats.text_rows import DistinctTexts, TextColumn

Words = NDArray[np.uint64]

_FRONT, _BACK = b"0" * 24, b"\0" * 32
_COMMA, _CLOSE, _UNDERSCORE = ord(","), ord(")"), ord("_")
_LOC = int.from_bytes(b"loc(", "little")
_MAX_SHORT = 24
_MAX_DIGITS = 18
# With more lengths in one block, comparing them costs more than cutting their rows.
_MAX_LENGTHS = 64
_SLOT_BITS = 12

# Masks for the first (or, inverted, the last) k of the eight characters in a word.
_FIRST: Words = np.array([(1 << 8 * k) - 1 for k in range(9)], np.uint64)
_ZEROS = np.uint64(0x3030303030303030)
_HIGH = np.uint64(0xF0F0F0F0F0F0F0F0)
_MIX = (np.uint64(0x9E3779B97F4A7C15), np.uint64(0xC2B2AE3D27D4EB4F), np.uint64(0x165667B19E3779F9))


@dataclass(frozen=True, slots=True)
class CellBlock:
    """The cells of some rows.

    numbers: the number columns before the location, in order. shape: events of one shape differ
    only in their running numbers, so they are on the same unit (uint32).
    """

    numbers: tuple[Ints, ...]
    event: TextColumn
    shape: Codes
    location: TextColumn
    kind: TextColumn | None  # only C0 and C1
    size: TextColumn

    def __len__(self) -> int:
        return len(self.event.codes)

    def taken(self, rows: Ints) -> CellBlock:
        """Some of the rows."""

        def cells(column: TextColumn) -> TextColumn:
            return TextColumn(column.codes[rows], column.distinct)

        return CellBlock(
            tuple(numbers[rows] for numbers in self.numbers),
            cells(self.event),
            np.unique(self.shape[rows], return_inverse=True)[1].astype(np.uint32),
            cells(self.location),
            None if self.kind is None else cells(self.kind),
            cells(self.size),
        )


class _NotPlain(Exception):
    pass


def split_block(raw: bytes, has_ids: bool) -> CellBlock | None:
    """The cells of whole lines; None unless every row is plain.

    has_ids: rows of C2 and C3, `id,elapsed,start,event,loc(...),bytes`; else those of C0 and C1,
    `event,start,end,loc(...),type[,bytes]`.
    """
    if not raw.endswith(b"\n"):
        raw += b"\n"
    if not raw.isascii() or b"\r" in raw or b"\0" in raw:
        return None
    try:
        return _split(_Text(raw), has_ids)
    except _NotPlain:
        return None


def _split(text: _Text, has_ids: bool) -> CellBlock:
    # A row has a comma after each cell before the location, and at least one after it.
    cells = 4 if has_ids else 3
    text.need_commas(cells + 1)
    ends = [text.comma(k) for k in range(cells)]
    starts = [text.start, *(end + 1 for end in ends)]
    numbers = tuple(text.numbers(starts[k], ends[k]) for k in range(0 if has_ids else 1, 3))
    first = 3 if has_ids else 0
    event_span = starts[first], ends[first]
    # If events are numbered, no two are equal.
    event = text.short_texts(*event_span) if has_ids else text.texts_apart(*event_span)
    place, place_end = starts[cells], text.comma(-1)
    kind: TextColumn | None = None
    size_start = place_end + 1
    if not has_ids:
        # "),type" or "),type,bytes"
        sized = text.bytes[place_end - 1] != _CLOSE
        kind_end, place_end = np.where(sized, place_end, text.end), text.comma(-1 - sized)
        kind = text.short_texts(place_end + 1, kind_end)
        size_start = np.where(sized, size_start, text.end)
    size = text.short_texts(size_start, text.end)
    is_location = (place_end - place > 4) & (text.bytes[place_end - 1] == _CLOSE)
    if not (is_location & (text.word(place, np.uint32) == _LOC)).all():
        raise _NotPlain
    shape = event.codes if has_ids else text.shapes(*event_span)
    return CellBlock(numbers, event, shape, text.long_texts(place, place_end), kind, size)


class _Text:
    """ASCII lines as bytes in an array, with the positions of rows and commas.

    Positions count from 24 bytes before the first line, so that a word may end anywhere in it.
    """

    def __init__(self, raw: bytes) -> None:
        self._raw = _FRONT + raw + _BACK
        self._str = self._raw.decode("ascii")
        self.bytes = np.frombuffer(self._raw, np.uint8)
        self.end: Ints = np.flatnonzero(self.bytes == ord("\n"))
        self.start: Ints = np.append(len(_FRONT), self.end[:-1] + 1)
        self._commas: Ints = np.flatnonzero(self.bytes == _COMMA)
        first = np.searchsorted(self._commas, np.append(self.start, len(self.bytes)))
        self._first, self._after = first[:-1], first[1:]

    def need_commas(self, least: int) -> None:
        """Raise _NotPlain unless every row has at least this many commas."""
        if (self._after - self._first < least).any():
            raise _NotPlain

    def comma(self, k: int | Ints) -> Ints:
        """The position of the k-th comma of every row; negative k count from the row's end."""
        commas: Ints = self._commas[np.where(np.asarray(k) < 0, self._after, self._first) + k]
        return commas

    def word(self, positions: Ints, type: type[np.unsignedinteger]) -> NDArray[np.unsignedinteger]:
        """The bytes from some positions on as little-endian integers."""
        kind = np.dtype(type).newbyteorder("<")
        count = len(self.bytes) - kind.itemsize + 1
        window: NDArray[np.unsignedinteger] = np.ndarray((count,), kind, self._raw, strides=(1,))
        return window[positions]

    def numbers(self, start: Ints, end: Ints) -> Ints:
        """Parse cells of at most 18 digits. Raises _NotPlain."""
        size = end - start
        if (size < 1).any() or (size > _MAX_DIGITS).any():
            raise _NotPlain
        value = np.zeros(len(size), np.uint64)
        plain = np.ones(len(size), np.bool_)
        for k in range(2 if int(size.max(initial=0)) > 8 else 0, -1, -1):
            # Eight digits; the last one is 8 k characters before the end.
            word = self.word(end - 8 * (k + 1), np.uint64).astype(np.uint64)
            digits = np.clip(size - 8 * k, 0, 8)
            outside = _FIRST[8 - digits]
            word = (word & ~outside) | (_ZEROS & outside)
            plain &= _are_digits(word)
            value = value * np.uint64(100_000_000) + _eight_digits(word)
        if not plain.all():
            raise _NotPlain
        return value.astype(np.int64)

    def short_texts(self, start: Ints, end: Ints) -> TextColumn:
        """Cells of at most 24 characters without parentheses. Raises _NotPlain."""
        size = end - start
        longest = int(size.max(initial=0))
        if longest > _MAX_SHORT or (size < 0).any():
            raise _NotPlain
        words = []
        key = size.astype(np.uint64)
        for k in range((longest + 7) // 8):
            word = self.word(start + 8 * k, np.uint64).astype(np.uint64)
            word &= _FIRST[np.clip(size - 8 * k, 0, 8)]
            words.append(word)
            key = (key ^ word) * _MIX[k]
            key ^= key >> np.uint64(29)
        first, codes = _alike(key)
        # Two texts with the same key are nearly impossible, but must not be confused.
        if not all((word == word[first][codes]).all() for word in words):
            raise _NotPlain
        distinct = self._slices(start[first], end[first])
        _refuse_brackets(distinct)
        return TextColumn(codes, distinct)

    def texts_apart(self, start: Ints, end: Ints) -> TextColumn:
        """Cells of at most 24 characters without parentheses, each with its own code."""
        size = (end - start)[:, np.newaxis]
        longest = int(size.max(initial=0))
        if longest > _MAX_SHORT:
            raise _NotPlain
        # One line per cell, so that one call splits all of them.
        cells = self._window(start, longest + 1).view(np.uint8).reshape(len(start), -1).copy()
        column = np.arange(longest + 1)
        cells[column == size] = ord("\n")
        lines = cells[column <= size].tobytes().decode("ascii")
        _refuse_brackets([lines])
        return TextColumn(np.arange(len(start), dtype=np.uint32), lines.split("\n")[:-1])

    def shapes(self, start: Ints, end: Ints) -> Codes:
        """Codes of the rest of "DI17" and "S17_1" without the 17."""
        digits = self._digits_before(start, end)
        stem = end - digits
        has_unit = (digits > 0) & (self.bytes[stem - 1] == _UNDERSCORE) & (stem - 1 > start)
        number = self._digits_before(start, np.where(has_unit, stem - 1, start))
        head_end = np.where(has_unit, stem - 1 - number, stem)
        head = self.short_texts(start, head_end)
        unit = self.short_texts(np.where(has_unit, stem, end), end)
        numbered = (number > 0) * 2 + (digits > 0)
        code = (head.codes.astype(np.int64) * len(unit.distinct) + unit.codes) * 4 + numbered
        return _alike(code.astype(np.uint64) * _MIX[0])[1]

    def _digits_before(self, start: Ints, end: Ints) -> Ints:
        """The number of digits directly before each end."""
        count = np.zeros(len(start), np.int64)
        run = end > start
        while run.any():
            byte = self.bytes[end - count - 1]
            run = run & (byte >= ord("0")) & (byte <= ord("9")) & (end - count > start)
            count += run
        return count

    def long_texts(self, start: Ints, end: Ints) -> TextColumn:
        """Cells of any length. Neighbors are mostly equal: only those that differ are cut."""
        size = end - start
        lengths = np.unique(size)
        few = len(lengths) <= _MAX_LENGTHS
        new = np.ones(len(size), np.bool_)
        # The row with the same cell, for rows whose cell is not new.
        like = np.arange(len(size))
        for length in lengths.tolist() if few else ():
            rows = np.flatnonzero(size == length)
            if length:
                new[rows[1:]] = False
                new[rows[self._changes(start[rows], length)]] = True
                like[rows] = rows[
                    np.maximum.accumulate(np.where(new[rows], np.arange(len(rows)), 0))
                ]
        cut = np.flatnonzero(new)
        distinct_texts = DistinctTexts()
        codes = np.empty(len(size), np.uint32)
        codes[cut] = distinct_texts.codes(self._slices(start[cut], end[cut]))
        return TextColumn(codes[like], list(distinct_texts))

    def _changes(self, start: Ints, length: int) -> Ints:
        """Which cells of one length differ from the one before."""
        cells = self._window(start, length)
        return np.flatnonzero(cells[1:] != cells[:-1]) + 1

    def _window(self, start: Ints, length: int) -> NDArray[np.bytes_]:
        """`length` characters from each position on."""
        kind, count = np.dtype(f"S{length}"), len(self.bytes) - length + 1
        window: NDArray[np.bytes_] = np.ndarray((count,), kind, self._raw, strides=(1,))
        return window[start]

    def _slices(self, start: Ints, end: Ints) -> list[str]:
        text = self._str
        return [text[i:j] for i, j in zip(start.tolist(), end.tolist(), strict=True)]


def _alike(keys: Words) -> tuple[Ints, Codes]:
    """The first row of each distinct key in row order, and the codes of all rows."""
    slot = (keys >> np.uint64(64 - _SLOT_BITS)).astype(np.int64)
    rows = np.arange(len(keys))
    row_of_slot = np.full(1 << _SLOT_BITS, -1, np.int64)
    row_of_slot[slot[::-1]] = rows[::-1]  # if several, the last one written stays: the first row
    first = row_of_slot[slot]
    if (keys[first] == keys).all():
        codes = np.cumsum(first == rows) - 1
        return np.flatnonzero(first == rows), codes[first].astype(np.uint32)
    # Many keys, or two keys in one slot.
    _, first_rows, code_of = np.unique(keys, return_index=True, return_inverse=True)
    order = np.argsort(first_rows)
    rank = np.empty(len(order), np.uint32)
    rank[order] = np.arange(len(order), dtype=np.uint32)
    return first_rows[order], rank[code_of]


def _refuse_brackets(texts: list[str]) -> None:
    together = "".join(texts)
    if "(" in together or ")" in together:
        raise _NotPlain


def _are_digits(word: Words) -> Bools:
    from_zero: Bools = (word & _HIGH) == _ZEROS
    to_nine: Bools = ((word + np.uint64(0x0606060606060606)) & _HIGH) == _ZEROS
    return from_zero & to_nine


def _eight_digits(word: Words) -> Words:
    """The number written in eight characters: pairs, then fours, then all eight at once."""
    word = (word & np.uint64(0x0F0F0F0F0F0F0F0F)) * np.uint64(2561) >> np.uint64(8)
    word = (word & np.uint64(0x00FF00FF00FF00FF)) * np.uint64(6553601) >> np.uint64(16)
    return (word & np.uint64(0x0000FFFF0000FFFF)) * np.uint64(42949672960001) >> np.uint64(32)
