"""Reads the plain profile CSV: one slice per row, for custom tools and for Opscope exports.

The first line names the columns, in any order, separated by comma, tab or semicolon:

    process,thread,name,start_ns,dur_ns    required; times are integer nanoseconds up to 2**62
    depth                                  level of the slice on its track, 0 outermost; used if all
                                           rows of a track have one
    method,instruction_id,identifier       identity: instruction of a method, or the debug
                                           identifier of an event that a delegate logged
    derived                                "true": computed by Opscope, not stated by any file
    anything else                          an argument of the slice: numbers if all cells are
                                           numbers, else text

Cells may be quoted as in RFC 4180. The encoding is UTF-8, with or without a byte order mark.
Columns that only an export writes are ignored: `debug_handles`, `operators`, `source`,
`link_reason` (links are created again) and `start_ticks`, `dur_ticks` (the file does not contain
the clock rate). In a table with all columns of an export, so are `node`, `op_type`, `module` and
columns without a value; `inference` numbers the inferences there, and `timing` says where a time
comes from. A row with unusable times is left out and counted.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from contextlib import closing
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from viewer.arrays import Bools, Ints
from viewer.codecs.reading import Cancelled, Progress, UnreadableFile, faults_of, stop_if
from viewer.codecs.unpacking import open_part
from viewer.formats import format_of
from viewer.formats.table import slice_rows
from viewer.formats.table.csv_rows import UNCLOSED, CsvBlock, Shape, blocks, row_at
from viewer.formats.table.slice_rows import PLACE, SliceRows
from viewer.formats.text_rows import NUL, GrowingColumn, header_row
from viewer.formats.text_rows import UNCLOSED as UNCLOSED_ROW
from viewer.model.building.builder import TraceBuilder
from viewer.model.trace import Clock, Trace

CLOCK = Clock("ns", Fraction(1))
REQUIRED = PLACE
_SEPARATORS = ",\t;"
_TIMES = ("start_ns", "dur_ns")
_UNUSABLE = "row without a usable start_ns or dur_ns"
# Twice this value still fits int64, so differences of two times never overflow.
TIME_LIMIT = 2**62 - 1
ROW_IN_HEADER = "row in the line of the header: left out"
_QUOTED = 24  # displayed characters of a cell
# Short rows are padded to the header's width: the limit keeps a small file from filling memory.
MAX_COLUMNS = 256
_HEADER_LIMIT = 1 << 20
_DIGITS = re.compile(r"\s*[+-]?[0-9]+\s*", re.ASCII)


def sniff(head: bytes) -> bool:
    """Whether the first line has all required columns, without repetitions."""
    return _header(_first_line(head)) is not None


def read(path: str, progress: Progress, cancelled: Cancelled) -> Trace:
    """One slice per row, in nanoseconds. Raises UnreadableFile, ReadCancelled."""
    with faults_of(path):
        file, size = open_part(path, lines=True, quotes=True)
        with file:
            first = file.readline(_HEADER_LIMIT)
            header = _header(_first_line(first))
            if header is None:
                raise UnreadableFile(
                    path,
                    f"its first line does not name the columns {', '.join(REQUIRED)}, each once",
                    where="line 1",
                )
            separator, names = header
            if len(names) > MAX_COLUMNS:
                raise UnreadableFile(
                    path,
                    f"it has {len(names)} columns; the limit is {MAX_COLUMNS}",
                    where="line 1",
                    remedy="Leave out arguments that you do not need",
                )
            is_changed = slice_rows.is_changed(_first_line(first), separator, names)
            rows = _Rows(path, names, separator, size, is_changed=is_changed)
            if _is_row_in_header(names, rows.shape.numbers):
                rows.builder.problem(ROW_IN_HEADER, 1, "line 1")
            with closing(blocks(file, path, rows.shape)) as parts:
                for block, position in parts:
                    stop_if(cancelled)
                    rows.add(block, position)
                    rows.reserve(position)
                    progress(min(position, size), size)
    return rows.trace(cancelled)


def _first_line(head: bytes) -> str:
    return head.decode("utf-8-sig", "replace").partition("\n")[0]


def _header(line: str) -> tuple[str, list[str]] | None:
    """The separator and the column names, None if this is not a profile CSV header."""
    line = line.rstrip("\r")
    for separator in _SEPARATORS:
        names = header_row(line, separator, skips_spaces=False)
        named = [name for name in names if name]
        if set(named) >= set(REQUIRED) and len(set(named)) == len(named):
            return separator, names
    return None


def _is_row_in_header(names: Sequence[str], times: Sequence[int]) -> bool:
    """Whether the line of a header has a row, too, as its line end is lost.

    times: the columns of times.
    """
    width = (len(names) + 1) // 2  # the last name and the first cell are one
    places = [width - 1 + column for column in times if 0 < column < width]
    return (
        len(names) == 2 * width - 1
        and bool(places)
        and all(_DIGITS.match(names[place]) is not None for place in places)
    )


class _Rows:
    """The rows read so far, as columns; `trace` converts them to slices."""

    def __init__(
        self, path: str, names: Sequence[str], separator: str, size: int, *, is_changed: bool
    ) -> None:
        """size: size of the file in bytes. is_changed: see `slice_rows.is_changed`."""
        names = slice_rows.originals(names) if is_changed else names
        self.builder = TraceBuilder(
            path, FORMAT.name, "", CLOCK, levels_are_hints=True, rounds_durations=True
        )
        self._size = size
        self._has_unclosed = False
        self._times = {name: GrowingColumn(np.int64) for name in ("start", "end")}
        skipped = slice_rows.skipped(names)
        texts = [n for n in names if n and n not in skipped and n not in _TIMES]
        self._at = {name: names.index(name) for name in texts}
        is_own = slice_rows.is_own(names)
        self._slices = SliceRows(self.builder, texts, is_own=is_own, is_changed=is_changed)
        self.shape = Shape(
            separator, len(names), tuple(map(names.index, _TIMES)), tuple(self._at.values())
        )

    def add(self, block: CsvBlock, position: int) -> None:
        """Add one block; `position`: the file position after it."""
        start, length = (block.numbers[n][0] for n in self.shape.numbers)
        keep = self._usable(block)
        expected = self._slices.expected(block.rows, position / max(self._size, position))
        self._times["start"].add(start[keep], expected)
        self._times["end"].add(start[keep] + length[keep], expected)
        texts = {name: block.texts[column] for name, column in self._at.items()}
        self._slices.add(texts, keep, block.rows, expected)
        where = f"in the {block.size} bytes before byte {position}"
        self.builder.problem("invalid UTF-8: replaced", block.replaced, where)
        self.builder.problem(NUL, block.nuls, where)

    def _usable(self, block: CsvBlock) -> Ints | slice:
        """The rows that are slices; counts the others."""
        (start, start_ok), (length, length_ok) = (block.numbers[n] for n in self.shape.numbers)
        # Nearly every block has only usable rows, which the extremes show in a third of the time.
        if (
            not block.odd
            and not block.faults.any()
            and start.min(initial=0) >= -TIME_LIMIT
            and length.min(initial=0) >= 0
            and int(start.max(initial=0)) + int(length.max(initial=0)) <= TIME_LIMIT
        ):
            return slice(None)
        start_ok = start_ok & (start <= TIME_LIMIT) & (start >= -TIME_LIMIT)
        # Not as a sum, which may not fit int64.
        length_ok = (
            length_ok & (length >= 0) & (length <= TIME_LIMIT - np.where(start_ok, start, 0))
        )
        surplus = np.maximum(block.faults, 0)
        is_whole = block.faults == 0
        usable = start_ok & length_ok & is_whole
        self._count("row with more cells than the header", surplus)
        self._count(UNCLOSED_ROW, block.faults == UNCLOSED)
        self._count(_UNUSABLE, ~(start_ok & length_ok) & is_whole, block)
        return slice(None) if usable.all() else np.flatnonzero(usable)

    def reserve(self, position: int) -> None:
        """Reserve the memory for all rows; `position`: read up to there. Raises NotEnoughMemory."""
        self._slices.reserve(position / max(self._size, position), position)

    def trace(self, cancelled: Cancelled) -> Trace:
        """The slices of all rows added. Raises ReadCancelled."""
        return self._slices.trace(
            lambda: (self._times["start"].take(), self._times["end"].take()), cancelled
        )

    def _count(
        self, kind: str, rows: Bools | NDArray[np.int8], block: CsvBlock | None = None
    ) -> None:
        """Count a problem of rows, by how often each has it.

        block: the source of the first row's unusable time.
        """
        bad_rows = np.flatnonzero(rows)
        if len(bad_rows):
            first = int(bad_rows[0])
            bad_time = "" if block is None else self._odd_time(block, first)
            where = f"data row {self._slices.rows + first + 1}"
            if kind == UNCLOSED_ROW and not self._has_unclosed:
                self._has_unclosed = True  # the line of the first one, which takes time
                line, _ = row_at(self.builder.path, self.shape, 1, self._slices.rows + first)
                where = f"line {line}" if line else where
            self.builder.problem(
                kind, int(rows.sum()), f"{where}: {bad_time}" if bad_time else where
            )

    def _odd_time(self, block: CsvBlock, row: int) -> str:
        """Why a time is unusable: `start_ns is "1.5", not whole ns`; "" if each cell is valid."""
        for name, column in zip(_TIMES, self.shape.numbers, strict=True):
            values, ok = block.numbers[column]
            odd_row, text = block.odd.get(column, (-1, ""))
            if not ok[row]:
                quoted = text if len(text) <= _QUOTED else f"{text[:_QUOTED]}…"
                why = "too large" if _DIGITS.fullmatch(text) else "not whole ns"
                message = f'{name} is "{quoted}", {why}' if text.strip() else f"{name} is empty"
                return message if odd_row == row else ""
            if name == "dur_ns" and values[row] < 0:
                return f'{name} is "{values[row]}"'
            if name == "start_ns" and not -TIME_LIMIT <= values[row] <= TIME_LIMIT:
                return f'{name} is "{values[row]}", too large'
        return ""


FORMAT = format_of("table.reader")
