"""Reads the Torq compile profile: the cycle estimate that torq-compile writes per dispatch.

ProfilingPass.cpp writes it (`--torq-enable-profiling --torq-dump-profiling=PATH`). Generations:

    C0  2025-10  no header  event,start,end,loc,type           DI0,0,128,loc("m.mlir":2:3),DMA_IN
    C1  2025-12  no header  event,start,end,loc,type[,bytes]   S1_1,2481,11889,loc(...),conv2d
    C2  2026-02  actionIndex, elapsed_time(us), timestamp(us), event, location, bytes
    C3  2026-02  taskId, elapsed_time(us), timestamp(us), event, location, bytes

All times are cycles, whatever the header states. The clock rate is not in the file; 800 MHz is
assumed. Nothing is quoted and a location may contain commas, so a row is split around it: from the
first "loc(" to the last ")", because no other cell contains a parenthesis. Each row is one slice.
Lines that are not a row are counted.

C0 has one track for all slice units: its `S<i>` is a running number, not a unit. C1 files state the
unit (`S<i>_<unit>`). All columns are read.

Nearly all rows of nearly all files are plain: ASCII, only digits in number cells, nothing unusual
around the location. Splitting a block of such rows with numpy takes a fifth of the time of one
pattern match per row. For any other block `split_block` returns None, and the reader uses its
pattern. So it handles no unexpected data, and for plain rows it must find exactly what the pattern
finds.
"""

from __future__ import annotations

import os
import re
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from viewer.arrays import Bools, Codes, Ints
from viewer.codecs.reading import Cancelled, Progress, UnreadableFile
from viewer.formats import format_of
from viewer.formats.text_rows import (
    TWO_ROWS,
    DistinctTexts,
    RowCells,
    TextColumn,
    count_rows,
    distinct_texts,
    read_rows,
)
from viewer.model.building.builder import TraceBuilder
from viewer.model.building.chunks import distinct_codes
from viewer.model.recorded_names import ACTION_ID, BYTES, TASK_ID
from viewer.model.timing import Timing
from viewer.model.trace import Clock, Column, KeyKind, Trace, Unit

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


CLOCK = Clock("cycle", Fraction(5, 4), assumed=True)

_HEADERS = {
    "actionIndex,elapsed_time(us),timestamp(us),event,location,bytes": "C2",
    "taskId,elapsed_time(us),timestamp(us),event,location,bytes": "C3",
}
_FIRST_COLUMN = {"C2": ACTION_ID, "C3": TASK_ID}
_EVENT = r"(?:DI|DO|S|CSS|CDMA_(?:L2D|L2I|D2L))\d+(?:_\d+)?"
_BARE_ROW = re.compile(rf"{_EVENT},-?\d+,-?\d+,loc\(", re.A)

# 18 digits: the sum of two such numbers, in nanoseconds, still fits int64.
_NUMBER = r" *(-?[0-9]{1,18}) *"
_SIZE = re.compile(r" *[0-9]{1,18} *")
_CELL = r"([^,()\n]*)"
_ROW_C0 = re.compile(
    rf"^{_CELL},{_NUMBER},{_NUMBER},(loc\(.*\)),{_CELL}(?:,{_CELL})?$", re.MULTILINE
)
_ROW_C2 = re.compile(rf"^{_NUMBER},{_NUMBER},{_NUMBER},{_CELL},(loc\(.*\)),{_CELL}$", re.MULTILINE)
# In a location: another row begins after the first ")".
_SECOND_ROW = re.compile(r"\),.{0,200}?[0-9] *, *-?[0-9]+ *,(?:[^,()]*,)? *loc\(")
_HUGE = re.compile(r"(?:^|,) *-?[0-9]{19,} *(?=,)")
_SPELLED = {
    "C0": "event,start,end,loc(...),type",
    "C2": "actionIndex,elapsed,timestamp,event,loc(...),bytes",
    "C3": "taskId,elapsed,timestamp,event,loc(...),bytes",
}

_NAMES = {
    "DMA_IN": "DMA In",
    "DMA_OUT": "DMA Out",
    "CDMA_LRAM_TO_DTCM": "CDMA LRAM to DTCM",
    "CDMA_LRAM_TO_ITCM": "CDMA LRAM to ITCM",
    "CDMA_DTCM_TO_LRAM": "CDMA DTCM to LRAM",
}
# More units than any chip has would only fill the window with tracks.
_UNIT = re.compile(
    r"(?P<DMA_In>DI\d+|DMA In)|(?P<DMA_Out>DO\d+|DMA Out)|(?P<CDMA>CDMA[_ ].*)"
    r"|(?:S\d+_|Slice )(?P<Slice_unit>\d{1,2})|(?P<Slice_units>S\d+)|(?P<CSS>CSS\d*)",
    re.A,
)
_UNITS = {
    "DMA In": Unit.DMA_IN, "DMA Out": Unit.DMA_OUT, "CDMA": Unit.CDMA, "CSS": Unit.CSS
}  # fmt: skip
_DISPLAY_ORDER = ("DMA In", "DMA Out", "CDMA", "Slice units", "Slice unit", "CSS", "Other")


def sniff(head: bytes) -> bool:
    """Whether line 1 is the header of C2 or C3, or one of the first lines is a row of C0 or C1."""
    lines = head.decode("utf-8-sig", "replace").split("\n")
    return _generation(lines) is not None


def read(path: str, progress: Progress, cancelled: Cancelled) -> Trace:
    """One slice per row, in cycles; the module docstring describes the generations."""

    def begin(head: bytes) -> tuple[_Rows, bool] | None:
        generation = _generation(head.decode("utf-8", "replace").split("\n"))
        if generation is None:
            return None
        return _Rows(path, generation), generation != "C0"

    rows = read_rows(path, begin, progress, cancelled)
    if rows is None:
        raise UnreadableFile(
            path,
            "its header and first rows are not those of a Torq compile profile",
            where="line 1",
            remedy="Write one with torq-compile --torq-enable-profiling --torq-dump-profiling=FILE",
        )
    return rows.trace()


def _generation(lines: Sequence[str]) -> str | None:
    header = ",".join(cell.strip() for cell in lines[0].split(","))
    if header in _HEADERS:
        return _HEADERS[header]
    if any(_BARE_ROW.match(line) for line in lines[:3]):
        return "C0"
    return None


class _Rows:
    """The rows read so far, as columns; `trace` converts them to slices."""

    def __init__(self, path: str, generation: str) -> None:
        self._builder = TraceBuilder(path, FORMAT.name, generation, CLOCK)
        self._has_header = generation != "C0"
        pattern = _ROW_C2 if self._has_header else _ROW_C0
        self._cells = RowCells(pattern, _HUGE, _SPELLED[generation], self._builder)
        self._events: list[str] = []  # distinct only within each block
        self._types, self._locations, self._threads = (
            DistinctTexts(),
            DistinctTexts(),
            DistinctTexts(),
        )
        self._ints: dict[str, list[Ints]] = {}
        self._codes: dict[str, list[Codes]] = {}

    def add(self, line: int, raw: bytes) -> None:
        """Add some whole lines of the file; `line` is the number of the first one."""
        block = split_block(raw, self._has_header)
        if block is not None:
            row = np.arange(self._cells.count, self._cells.count + len(block), dtype=np.uint32)
            self._cells.count += len(block)
        else:
            matches, row = self._cells.take(line, raw)
            block = self._block(matches)
        if len(block):
            self._add_block(block, row)

    def trace(self) -> Trace:
        """The slices of all rows added."""
        builder = self._builder
        generation, c0 = builder.generation, builder.generation == "C0"
        if not self._codes:
            return builder.build()
        ints = {name: np.concatenate(parts) for name, parts in self._ints.items()}
        codes = {name: np.concatenate(parts) for name, parts in self._codes.items()}
        types, locations, threads = (*self._types,), (*self._locations,), (*self._threads,)
        events, codes["event"] = _distinct(self._events, codes["event"])
        has_bytes = ints["bytes"] >= 0
        units = {name.rpartition(" ")[0] for name in threads} | {*threads}
        if c0 and (has_bytes.any() or units & {"Slice unit", "CDMA", "CSS"}):
            builder.generation = "C1"
        process = os.path.basename(builder.path)
        number = {
            t: builder.track(process, t, flat=True, unit=_unit(t))
            for t in sorted(threads, key=_rank)
        }
        track_of = np.array([number[name] for name in threads], np.uint32)

        names = [_NAMES.get(t, t) or "unknown" for t in types] if c0 else events
        named = codes["type"] if c0 else codes["event"]
        pairs, pair = distinct_codes(
            named.astype(np.int64) * len(locations) + codes["location"],
            len(names) * len(locations),
        )
        keys = np.fromiter(
            (
                builder.key(KeyKind.LOCATION, names[n], location=locations[place])
                for n, place in (divmod(both, len(locations)) for both in pairs.tolist())
            ),
            np.uint32,
            len(pairs),
        )
        columns = {
            "event": Column.of_codes(codes["event"], events),
            "location": Column.of_codes(codes["location"], locations),
            BYTES: Column(np.maximum(ints["bytes"], 0), has_bytes, unit="B"),
        }
        if c0:
            columns["type"] = Column.of_codes(codes["type"], types)
        else:
            columns[_FIRST_COLUMN[generation]] = Column(ints["id"])
        builder.add(
            track=track_of[codes["thread"]],
            start=ints["start"],
            end=ints["end"],
            name=builder.intern_all(names)[named],
            key=keys[pair],
            source_row=codes["row"],
            columns=columns,
            timing=np.full(len(ints["start"]), Timing.ESTIMATED, np.uint8),
        )
        return builder.build()

    def _block(self, matches: Sequence[tuple[str, ...]]) -> CellBlock:
        """Convert the pattern's matches to columns."""
        cells = list(zip(*matches, strict=True)) or [()] * 6
        numbers, kind = cells[1:3], None
        if self._has_header:
            numbers, (event, location, size) = cells[:3], cells[3:]
        else:
            event, location, size = cells[0], cells[3], cells[5]
            kind = distinct_texts(cells[4])
        events = distinct_texts(event)
        return CellBlock(
            tuple(np.fromiter(map(int, texts), np.int64, len(matches)) for texts in numbers),
            events,
            events.codes,
            distinct_texts(location),
            kind,
            distinct_texts(size),
        )

    def _add_block(self, block: CellBlock, row: Codes) -> None:
        two = [_SECOND_ROW.search(text) is not None for text in block.location.distinct]
        if any(two):
            is_two = np.array(two, np.bool_)[block.location.codes]
            count_rows(self._builder, TWO_ROWS, row[is_two], 2)
            rows = np.flatnonzero(~is_two)
            block, row = block.taken(rows), row[rows]
            if not len(block):
                return
        n = len(block)
        if self._has_header:
            ids, elapsed, starts = block.numbers
            ends = starts + elapsed
        else:
            starts, ends = block.numbers
            ids = np.zeros(n, np.int64)
        count_rows(self._builder, "negative time: kept", row[(starts < 0) | (ends < 0)])
        sizes = self._sizes(block.size, row)
        ints = {"start": starts, "end": ends, "id": ids, "bytes": sizes}
        for name, values in ints.items():
            self._ints.setdefault(name, []).append(values)
        codes = {
            "row": row,
            "event": block.event.codes + np.uint32(len(self._events)),
            "thread": self._threads_of(block),
            "location": self._locations.codes_of(block.location),
            "type": np.zeros(n, np.uint32)
            if block.kind is None
            else self._types.codes_of(block.kind),
        }
        for name, numbers in codes.items():
            self._codes.setdefault(name, []).append(numbers)
        self._events += block.event.distinct

    def _sizes(self, cells: TextColumn, row: Codes) -> Ints:
        """Sizes in bytes, -1 if not stated."""
        codes = cells.codes
        sizes = np.full(len(cells.distinct), -1, np.int64)
        invalid = []
        for i, cell in enumerate(cells.distinct):
            if _SIZE.fullmatch(cell):
                sizes[i] = int(cell)
            elif cell.strip():
                invalid.append(i)
        if invalid:
            kind = "byte count that is not a number: left out"
            count_rows(self._builder, kind, row[np.isin(codes, invalid)])
        return sizes[codes]

    def _threads_of(self, block: CellBlock) -> Codes:
        """The thread of each row, as codes; looked up once per event shape."""
        _, first, count = np.unique(block.shape, return_index=True, return_counts=True)
        events = (block.event.distinct[i] for i in block.event.codes[first].tolist())
        of_shape = [self._thread(event, n) for event, n in zip(events, count.tolist(), strict=True)]
        return self._threads.codes(of_shape)[block.shape]

    def _thread(self, event: str, count: int) -> str:
        match = _UNIT.fullmatch(event)
        if match is None or match.lastgroup is None:
            self._builder.problem('event of an unknown unit: on track "Other"', count, repr(event))
            return "Other"
        if match.lastgroup == "Slice_unit":
            return f"Slice unit {int(match['Slice_unit'])}"
        return match.lastgroup.replace("_", " ")


def _distinct(texts: Sequence[str], codes: Codes) -> tuple[tuple[str, ...], Codes]:
    """Remove repeated texts, and update the codes that refer to them."""
    if len(set(texts)) == len(texts):
        return tuple(texts), codes
    text_column = distinct_texts(texts)
    return tuple(text_column.distinct), text_column.codes[codes]


def _rank(thread: str) -> tuple[int, int]:
    kind, _, unit = thread.rpartition(" ")
    if kind == "Slice unit" and unit.isdigit():
        return _DISPLAY_ORDER.index(kind), int(unit)
    return _DISPLAY_ORDER.index(thread), 0


def _unit(thread: str) -> Unit:
    if thread.startswith("Slice unit"):
        return Unit.SLICE
    return _UNITS.get(thread, Unit.NONE)


FORMAT = format_of("torq.compile_csv")
