"""Reads a table of any other tool: one slice per row, whatever its columns are called.

The columns are recognized by their names (`column_roles`), or stated by the user. Times may be in
any unit from s to ps and are exact down to 1 ps. The text may be packed and encoded in several ways
(`packed_text`). Rows without usable times are left out and counted, with the line and the text of
the first one. Rows that start with `#` and have no times are comments.

Other columns are arguments of the slices. `method`, `instruction_id`, `depth` and `derived` mean
what they mean in a profile CSV.
"""

from __future__ import annotations

import os
from collections.abc import Generator, Sequence
from contextlib import closing
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from viewer.arrays import Bools, Ints
from viewer.codecs.partial_file import is_partial, open_part
from viewer.codecs.reading import Cancelled, Progress, ReadCancelled, UnreadableFile
from viewer.formats import HEAD_SIZE, format_of
from viewer.formats.row_reader import NUL
from viewer.formats.row_reader import UNCLOSED as UNCLOSED_ROW
from viewer.formats.table import own_tables
from viewer.formats.table.column_roles import TIMES, Columns, columns_of, needed, recognized
from viewer.formats.table.csv_blocks import blocks
from viewer.formats.table.csv_lines import row_at
from viewer.formats.table.csv_rows import UNCLOSED, CsvBlock, Shape
from viewer.formats.table.layout import COMMENT, Layout, is_no_value, layout_of
from viewer.formats.table.packed_text import WINDOWS, TextLines, head_text, is_direct
from viewer.formats.table.slice_rows import PLACE, SliceRows
from viewer.formats.table.stated_columns import DECIMAL, NOTHING_STATED, stated_columns
from viewer.formats.table.time_cells import LIMIT, Cells, Numbers
from viewer.formats.text_rows import GrowingColumn, LineFile, TextColumn
from viewer.model.building.builder import BACKWARDS, TraceBuilder
from viewer.model.trace import Clock, Trace

MAX_COLUMNS = 256
_SAMPLE = 1 << 18
_HEADER_LIMIT = 1 << 20
_UNUSABLE = "row without usable times: left out"
_SURPLUS = "row with more cells than the header"
_NO_END = "slice without an end: drawn as an instant"
_TOO_FINE = "time below 1 ns, too large for ps: rounded to ns"
_NULL = "[NULL]"
_THREAD = "slices"
_LONGEST_ROW, _LONGEST_CELL = 80, 24


def sniff(head: bytes) -> bool:
    """Whether it is a table with names of times and others, or with two columns of numbers."""
    layout = layout_of(head_text(head), whole=len(head) < HEAD_SIZE)
    if layout is None:
        return False
    found = {role for role, columns in recognized(layout).items() if columns}
    if found & set(TIMES) and len(found) >= 2:
        return True
    return len(layout.rows) >= 2 and len(layout.number_columns) >= 2


def shows_columns(head: bytes) -> bool:
    """Whether a table shows what its columns are, so that it opens without a question."""
    layout = layout_of(head_text(head), whole=len(head) < HEAD_SIZE)
    try:
        return layout is not None and columns_of(layout, NOTHING_STATED, "").start >= 0
    except UnreadableFile:
        return False


def read(path: str, progress: Progress, cancelled: Cancelled) -> Trace:
    """One slice per row. Raises UnreadableFile (ColumnsNeeded), ReadCancelled."""
    try:
        layout = layout_in(path)
        columns = columns_of(layout, stated_columns(), path)
        if len(layout.names) > MAX_COLUMNS:
            raise UnreadableFile(
                path,
                f"it has {len(layout.names)} columns; the limit is {MAX_COLUMNS}",
                where=f"line {layout.lines}",
                remedy="Leave out arguments that you do not need",
            )
        with open(path, "rb") as file:
            direct = is_direct(file.read(HEAD_SIZE))
        rows = _Rows(path, layout, columns)
        with closing(_direct(path, rows) if direct else _packed(path, rows)) as parts:
            for block, at, share, ratio in parts:
                if cancelled():
                    raise ReadCancelled
                rows.add(block, at, share)
                rows.slices.reserve(share, at, ratio)
                progress(min(int(share * rows.size), rows.size), rows.size)
    except OSError as error:
        raise UnreadableFile(path, error.strerror or str(error)) from error
    return rows.trace(cancelled)


def layout_in(path: str) -> Layout:
    """The layout of a table in a file. Raises UnreadableFile, OSError."""
    with open(path, "rb") as file:
        direct = is_direct(file.read(HEAD_SIZE))
    if direct:
        with open_part(path, lines=True, quotes=True)[0] as plain:
            sample = plain.read(_SAMPLE)
    else:
        with TextLines(path) as packed:
            sample = packed.read(_SAMPLE)
            if not sample and packed.fault:
                raise UnreadableFile(path, packed.fault, remedy="Copy or record it again")
    text = sample.decode("utf-8-sig", "replace")
    found = layout_of(text, whole=len(sample) < _SAMPLE)
    if found is None:
        raise UnreadableFile(
            path,
            "it is no table: no row has cells separated by comma, semicolon, tab or |",
            where="line 1",
        )
    return found


_Parts = Generator[tuple[CsvBlock, int, float, float], None, None]


def _direct(path: str, rows: _Rows) -> _Parts:
    """The rows of a text in UTF-8, with position, share of the file and ratio of its packing."""
    file, rows.size = open_part(path, lines=True, quotes=True)
    with file:
        _skip(file, rows.layout)
        with closing(blocks(file, path, rows.shape)) as parts:
            for block, at in parts:
                yield block, at, at / max(rows.size, at, 1), 1.0


def _packed(path: str, rows: _Rows) -> _Parts:
    """The rows of another text, like `_direct`."""
    with TextLines(path) as file:
        rows.size = file.size
        if file.encoding == WINDOWS:
            rows.builder.problem("text that is not UTF-8: read as Windows-1252", 1, "")
        _skip(file, rows.layout)
        with closing(blocks(file, path, rows.shape)) as parts:
            for block, at in parts:
                # Blocks after this one were read already.
                share = file.share * at / max(file.tell(), at, 1)
                yield block, at, max(share, 1e-9), file.ratio
        if file.fault and not is_partial():
            rows.builder.problem(file.fault, 1, "the rows before it are shown")


def _skip(file: LineFile, layout: Layout) -> None:
    for _ in range(layout.lines):
        file.readline(_HEADER_LIMIT)


class _Rows:
    """The rows read so far; `trace` converts them to slices."""

    def __init__(self, path: str, layout: Layout, columns: Columns) -> None:
        self.layout, self.size = layout, 1
        self._path, self._columns = path, columns
        names = layout.names
        self.builder = TraceBuilder(path, FORMAT.name, "", Clock(), levels_are_hints=True)
        self._length = columns.dur if columns.dur >= 0 else columns.end
        self._numbers = Numbers(layout.separator, columns.decimal)
        self._quoted_kinds = set[str]()
        self._unclear = -1  # the first row with an unclear time
        self._start = [GrowingColumn(kind) for kind in (np.int64, np.int16, np.int8)]
        self._last = [GrowingColumn(kind) for kind in (np.int64, np.int16, np.int8)]
        is_own = own_tables.is_own(names)
        self._at = self._text_columns(is_own)
        is_changed = own_tables.is_changed(layout.header, layout.separator, names)
        self.slices = SliceRows(
            self.builder,
            ["process", "thread", *(name for name in self._at if name not in PLACE), "name"],
            is_own=is_own,
            is_changed=is_changed,
        )
        read = {0, columns.start, self._length, *self._at.values()}
        self.shape = Shape(layout.separator, len(names), (), tuple(sorted(read)))

    def _text_columns(self, is_own: bool) -> dict[str, int]:
        """The columns of the slices, by the names that they have there."""
        names, given = self.layout.names, self._columns
        roles = {"process": given.process, "thread": given.thread, "name": given.name,
                 "identifier": given.identifier}  # fmt: skip
        found = {role: column for role, column in roles.items() if column >= 0}
        skipped = own_tables.skipped(names) if is_own else frozenset()
        used = {given.start, self._length, *found.values()}
        for column, name in enumerate(names):
            if column not in used and name and name not in skipped:
                shown = name
                while shown in found or shown in PLACE:
                    shown += "_"
                found[shown] = column
        return found

    def add(self, block: CsvBlock, at: int, share: float) -> None:
        """Add one block. at: bytes read; share: of the file."""
        start_unit, last_unit = self._columns.units
        start = self._times(block.texts[self._columns.start], start_unit)
        last = self._times(block.texts[self._length], last_unit)
        start_ok, last_ok = start.usable, last.usable
        if self._columns.dur >= 0:
            if self._columns.is_query:
                open_ = last_ok & (last.ns == -1)
                last.ns[open_] = 0
                self._count(_NO_END, open_)
            last_ok = (
                last_ok & (last.ns >= 0) & (last.ns <= LIMIT - np.where(start_ok, start.ns, 0))
            )
        surplus, is_whole = np.maximum(block.faults, 0), block.faults == 0
        usable = start_ok & last_ok & is_whole
        comment = ~usable & self._starting_with_comment(block.texts[0])
        self._count(_SURPLUS, np.where(comment, 0, surplus))
        self._count(UNCLOSED_ROW, block.faults == UNCLOSED)
        bad = ~(start_ok & last_ok) & is_whole & ~comment
        if bad.any():
            first = int(np.argmax(bad))
            column = self._columns.start if not start_ok[first] else self._length
            self._count(_UNUSABLE, bad, self._cell(block, column, first))
        unclear = usable & ((start.meaning != 0) | (last.meaning != 0))
        if self._unclear < 0 and unclear.any():
            self._unclear = self.slices.rows + int(np.argmax(unclear))
        keep = slice(None) if usable.all() else np.flatnonzero(usable)
        expected = self.slices.expected(block.rows, share)
        for columns, cells in ((self._start, start), (self._last, last)):
            columns[0].add(cells.ns[keep], expected)
            columns[1].add(cells.ps[keep], expected)
            columns[2].add(cells.meaning[keep], expected)
        self.slices.add(self._texts(block), keep, block.rows, expected)
        where = f"in the {block.size} bytes before byte {at}"
        self.builder.problem("invalid UTF-8: replaced", block.replaced, where)
        self.builder.problem(NUL, block.nuls, where)

    def _times(self, texts: TextColumn, unit: str) -> Cells:
        """The times of every row in a column."""
        cells = self._numbers.parse(texts.distinct, unit)
        codes = texts.codes
        return Cells(cells.ns[codes], cells.ps[codes], cells.usable[codes], cells.meaning[codes])

    def _texts(self, block: CsvBlock) -> dict[str, TextColumn]:
        found = {name: _nulls(block.texts[column]) for name, column in self._at.items()}
        for role, instead in (("process", _stem(self._path)), ("thread", _THREAD)):
            if role in found:
                found[role] = self._numbered(found[role], self.layout.names[self._at[role]], role)
            else:
                found[role] = TextColumn(np.zeros(block.rows, np.uint32), [instead])
        return found

    @staticmethod
    def _numbered(texts: TextColumn, name: str, role: str) -> TextColumn:
        """Texts with the name of their column before numbers, as in "tid 12"."""
        if name.casefold() == role:
            return texts
        return TextColumn(
            texts.codes, [f"{name} {text}" if text.isdecimal() else text for text in texts.distinct]
        )

    @staticmethod
    def _starting_with_comment(texts: TextColumn) -> Bools:
        is_comment = np.array([t.lstrip().startswith(COMMENT) for t in texts.distinct], np.bool_)
        found: Bools = is_comment[texts.codes]
        return found

    def _cell(self, block: CsvBlock, column: int, row: int) -> str:
        """What is wrong with a time: `dur (ms) is "n/a"`."""
        texts = block.texts[column]
        text = texts.distinct[int(texts.codes[row])].strip()
        name = self.layout.names[column]
        if is_no_value(text):
            return f"{_short(name, _LONGEST_CELL)} has no value"
        return f'{_short(name, _LONGEST_CELL)} is "{_short(text, _LONGEST_CELL)}"'

    def _count(self, kind: str, rows: Bools | Ints, why: str = "") -> None:
        """Count a problem of rows, by how often each has it; the first one of all is quoted."""
        count = int(rows.sum())
        if not count:
            return
        where = ""
        if kind not in self._quoted_kinds:
            self._quoted_kinds.add(kind)
            where = self._quoted(self.slices.rows + int(np.argmax(rows != 0)), why)
        self.builder.problem(kind, count, where)

    def _quoted(self, row: int, why: str = "") -> str:
        """A row with its line: `line 17: dur (ms) is "n/a" in conv,1,n/a`."""
        line, text = row_at(self._path, self.shape, self.layout.lines, row)
        if not line:
            return f"data row {row + 1}: {why}" if why else f"data row {row + 1}"
        shown = _short(text, _LONGEST_ROW)
        return f"line {line}: {why} in {shown}" if why else f"line {line}: {shown}"

    def trace(self, cancelled: Cancelled) -> Trace:
        """The slices of all rows. Raises ReadCancelled; ColumnsNeeded for unclear numbers."""
        why = self._numbers.question
        if why:
            where = self._quoted(self._unclear) if self._unclear >= 0 else ""
            raise needed(
                self._path, self.layout, stated_columns(), (DECIMAL,), why=why, where=where
            )
        return self.slices.trace(self._ticks, cancelled)

    def _ticks(self) -> tuple[Ints, Ints]:
        """Start and end in ticks; sets the clock."""
        start, start_ps = self._taken(self._start)
        last, last_ps = self._taken(self._last)
        if self._columns.dur >= 0:
            last += start
            last_ps += start_ps
            last += last_ps >= 1000
            last_ps %= 1000
        else:
            backwards = (last < start) | ((last == start) & (last_ps < start_ps))
            last[backwards], last_ps[backwards] = start[backwards], start_ps[backwards]
            self.builder.problem(BACKWARDS, int(np.count_nonzero(backwards)))
        fine = int(((start_ps != 0) | (last_ps != 0)).sum())
        if not fine:
            return start, last
        limit = LIMIT // 1000
        if (np.abs(start) < limit).all() and (np.abs(last) < limit).all():
            self.builder.clock = Clock("ps", Fraction(1, 1000))
            return start * 1000 + start_ps, last * 1000 + last_ps
        self.builder.problem(_TOO_FINE, fine)
        return start + (start_ps >= 500), last + (last_ps >= 500)

    def _taken(self, columns: Sequence[GrowingColumn]) -> tuple[Ints, NDArray[np.int16]]:
        ns, ps, meaning = (column.take() for column in columns)
        self._numbers.settle(ns, ps, meaning)
        return ns, ps


def _nulls(texts: TextColumn) -> TextColumn:
    """Texts in which what trace_processor writes for no value is empty."""
    if _NULL not in texts.distinct:
        return texts
    return TextColumn(texts.codes, ["" if text == _NULL else text for text in texts.distinct])


def _stem(path: str) -> str:
    name = os.path.basename(path)
    return name.partition(".")[0] or name


def _short(text: str, most: int) -> str:
    return text if len(text) <= most else f"{text[: most - 1]}…"


FORMAT = format_of("table.plain_csv")
