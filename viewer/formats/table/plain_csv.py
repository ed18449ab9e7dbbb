"""Reads a table of any other tool: one slice per row, whatever its columns are called.

The columns are recognized (`column_roles`), or stated by the user. Times may be in any unit from s
to ps and are exact down to 1 ps. Rows without usable times are left out and counted. Rows that
start with `#` and have no times are comments. Other lines can be above the header: it is the line,
of the first ones, that shows most of what the columns are, or that has the names that the user
states. Other columns are arguments of the slices. `method`, `instruction_id`, `depth` and `derived`
mean what they mean in a profile CSV.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Generator, Mapping, Sequence
from contextlib import closing
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from viewer.arrays import Bools, Ints
from viewer.codecs.reading import Cancelled, Progress, UnreadableFile, faults_of, stop_if
from viewer.codecs.unpacking import is_partial, open_part
from viewer.dataclasses import replace
from viewer.formats import HEAD_SIZE, PLAIN_CSV, format_of
from viewer.formats.event_pairs import paired_by_name
from viewer.formats.table import slice_rows as own_tables
from viewer.formats.table.column_roles import (
    BEGIN,
    END,
    PHASE_OF,
    TIMES,
    Columns,
    columns_of,
    kind_of,
    needed,
    recognized,
    recognized_names,
)
from viewer.formats.table.csv_rows import UNCLOSED, CsvBlock, Shape, blocks, row_at
from viewer.formats.table.layout import (
    SEPARATORS,
    Layout,
    best_layout,
    is_no_row,
    is_no_value,
    is_number,
    is_rule,
    layout_of,
    lines_of,
)
from viewer.formats.table.packed_text import WINDOWS, TextLines, head_text, is_direct
from viewer.formats.table.slice_rows import PLACE, SliceRows
from viewer.formats.table.stated_columns import (
    DECIMAL,
    NOTHING_STATED,
    StatedColumns,
    stated_columns,
)
from viewer.formats.table.time_cells import LIMIT, Cells, Numbers, over_midnight
from viewer.formats.table.time_texts import CYCLE
from viewer.formats.text_rows import (
    NUL,
    GrowingColumn,
    LineFile,
    TextColumn,
    combined_codes,
    header_row,
)
from viewer.formats.text_rows import UNCLOSED as UNCLOSED_ROW
from viewer.model.building.builder import BACKWARDS, TraceBuilder
from viewer.model.trace import Clock, Trace
from viewer.model.trace_attributes import Counter, stated_counter

_NO_BEGIN = "end without a start: left out"
_BACKWARDS = "end before its start: drawn as an instant"
_COUNTERS = "counters"
_EXACT = 2**53
_PERCENT = ("percent", "pct", "%", "%]", "%)")


def phases_of(texts: TextColumn) -> NDArray[np.int8]:
    """What each row is: BEGIN, END or MARK; -1 if its text says none."""
    kinds = [PHASE_OF.get(text.strip().casefold(), -1) for text in texts.distinct]
    phases: NDArray[np.int8] = np.array(kinds, np.int8)[texts.codes]
    return phases


def joined_pairs(
    slices: SliceRows, builder: TraceBuilder, phase: NDArray[np.int8], time: Ints
) -> tuple[Ints, Ints, Ints]:
    """The rows that begin a slice or mark an instant, with start and end; the rest is counted."""
    codes = [slices.codes(name) for name in ("process", "thread")]
    name = slices.codes("name")
    stack = combined_codes(codes)[0] if len(name) else np.empty(0, np.int64)
    events = np.flatnonzero((phase == BEGIN) | (phase == END))
    nameless = slices.code("name", "")
    is_end = phase == END
    pairs = paired_by_name(stack[events], time[events], is_end[events], name[events], nameless)
    builder.problem("start without an end: drawn as an instant", len(pairs.lone_begin))
    builder.problem(_NO_BEGIN, len(pairs.lone_end))
    end = time.copy()
    begin, last = events[pairs.begin], events[pairs.end]
    builder.problem(_BACKWARDS, int(np.count_nonzero(time[last] < time[begin])))
    end[begin] = np.maximum(time[last], time[begin])
    begin_rows = np.flatnonzero(~is_end)
    return begin_rows, time[begin_rows], end[begin_rows]


class CounterRows:
    """The samples of counters: one time for each row, and a value for some of the columns."""

    def __init__(self, names: Mapping[int, str], numbers: Numbers) -> None:
        """names: of the columns."""
        self._names, self._numbers = names, numbers
        self._values = {column: GrowingColumn(np.float64) for column in names}
        self._meanings = {column: GrowingColumn(np.int8) for column in names}
        self._processes = GrowingColumn(np.uint32)
        self._known: dict[str, int] = {}

    def add(
        self,
        columns: Mapping[int, TextColumn],
        process: TextColumn,
        keep: Ints | slice,
        expected: int,
    ) -> int:
        """Add the rows `keep`. Returns how many of their values are no numbers."""
        bad = 0
        codes = [self._known.setdefault(text, len(self._known)) for text in process.distinct]
        self._processes.add(np.array(codes, np.uint32)[process.codes][keep], expected)
        for column in self._names:
            texts = columns[column]
            value, meaning = self._numbers.amounts(texts.distinct)
            no_value = np.array([is_no_value(text) for text in texts.distinct], np.bool_)
            rows = texts.codes[keep]
            self._values[column].add(value[rows], expected)
            self._meanings[column].add(meaning[rows], expected)
            bad += int(np.count_nonzero((np.isnan(value) & ~no_value)[rows]))
        return bad

    def finish(self, builder: TraceBuilder, tick: Ints) -> None:
        """Add the counters of each process to the builder. tick: of the rows."""
        of_row, processes = self._processes.take(), list(self._known)
        for column, name in self._names.items():
            value, meaning = self._values[column].take(), self._meanings[column].take()
            self._numbers.settle_amounts(value, meaning)
            for code, process in enumerate(processes):
                rows = np.flatnonzero((of_row == code) & np.isfinite(value))
                if len(rows):
                    if not builder.tracks_of(process):
                        builder.track(process, _COUNTERS)
                    builder.counter(_counter(process, name, tick[rows], value[rows]))


def _counter(process: str, name: str, tick: Ints, value: NDArray[np.float64]) -> Counter:
    is_whole = bool((value == np.trunc(value)).all() and (np.abs(value) < _EXACT).all())
    counter = stated_counter(process, name, tick, value.astype(np.int64) if is_whole else value)
    if name.casefold().rstrip().endswith(_PERCENT):
        return Counter(counter.process, name, "%", counter.tick, counter.value)
    return counter


_UNUSABLE = "row without usable times: left out"
_NO_END = "slice without an end: drawn as an instant"
_NO_NUMBER = "value that is not a number: left out"
_NO_PHASE = "row without a known phase: left out"
_TOO_FINE = "time below 1 ns, too large for ps: rounded to ns"
_NULL = "[NULL]"
_THREAD = "slices"
_LONGEST_ROW, _LONGEST_CELL = 80, 24


class PlainRows:
    """The rows read so far; `trace` converts them to slices."""

    def __init__(self, path: str, layout: Layout, columns: Columns) -> None:
        self.layout, self.size = layout, 1
        self._path, self._columns = path, columns
        names = layout.names
        self.builder = TraceBuilder(
            path,
            PLAIN_CSV,
            "",
            Clock(),
            levels_are_hints=True,
            rounds_durations=columns.dur >= 0,
        )
        self._length = columns.length
        self._numbers = Numbers(layout.separator, columns.decimal)
        self._quoted_kinds = set[str]()
        self._unclear = -1  # the first row with an unclear time
        self._start = [GrowingColumn(kind) for kind in (np.int64, np.int16, np.int8)]
        self._last = [GrowingColumn(kind) for kind in (np.int64, np.int16, np.int8)]
        self._phase = GrowingColumn(np.int8)
        values = {column: names[column] for column in columns.values}
        self._counters = CounterRows(values, self._numbers) if values else None
        is_own = own_tables.is_own(names)
        self._at = self._text_columns(is_own)
        if above := layout.above:
            text = _short(" · ".join(line.strip() for line in above), _LONGEST_ROW)
            self.builder.state("Lines above the header", f"{len(above)}, not read: {text}")
        is_changed = own_tables.is_changed(layout.header, layout.separator, names)
        self.slices = SliceRows(
            self.builder,
            ["process", "thread", *(name for name in self._at if name not in PLACE), "name"],
            is_own=is_own,
            is_changed=is_changed,
        )
        read = {0, columns.start, *self._at.values(), *columns.values}
        read |= {column for column in (self._length, columns.phase, columns.name) if column >= 0}
        self.shape = Shape(layout.separator, len(names), (), tuple(sorted(read)))

    def _text_columns(self, is_own: bool) -> dict[str, int]:
        """The columns of the slices, by the names that they have there."""
        names, columns = self.layout.names, self._columns
        roles = {"process": columns.process, "thread": columns.thread, "name": columns.name,
                 "identifier": columns.identifier}  # fmt: skip
        column_of = {role: column for role, column in roles.items() if column >= 0}
        skipped = own_tables.skipped(names) if is_own else frozenset()
        used = {columns.start, self._length, columns.phase, *columns.values, *column_of.values()}
        if "name" not in column_of:
            column_of["name"] = columns.start  # of rows that are no slices
        for column, name in enumerate(names):
            if column not in used and name and name not in skipped:
                unique = name
                while unique in column_of or unique in PLACE:
                    unique += "_"
                column_of[unique] = column
        return column_of

    def add(self, block: CsvBlock, position: int, share: float) -> None:
        """Add one block. at: bytes read; share: of the file."""
        start_unit, last_unit = self._columns.units
        start = self._times(block.texts[self._columns.start], start_unit)
        last = self._times(block.texts[self._length], last_unit) if self._length >= 0 else start
        start_ok, last_ok = start.usable, last.usable
        if self._columns.dur >= 0:
            if self._columns.is_query:
                open_ = last_ok & (last.ns == -1)
                last.ns[open_] = 0
                self._count(_NO_END, open_)
            last_ok = (
                last_ok & (last.ns >= 0) & (last.ns <= LIMIT - np.where(start_ok, start.ns, 0))
            )
            if self._columns.ends_at_start:
                last_ok &= start.ns >= last.ns - LIMIT
        surplus, is_whole = np.maximum(block.faults, 0), block.faults == 0
        usable = start_ok & last_ok & is_whole
        comment = ~usable
        if comment.any():
            comment &= self._is_no_row(block)
        self._count("row with more cells than the header", np.where(comment, 0, surplus))
        self._count(UNCLOSED_ROW, block.faults == UNCLOSED)
        bad = ~(start_ok & last_ok) & is_whole & ~comment
        if bad.any():
            first = int(np.argmax(bad))
            column = self._columns.start if not start_ok[first] else self._length
            self._count(_UNUSABLE, bad, self._cell(block, column, first))
        unclear = usable & ((start.meaning != 0) | (last.meaning != 0))
        if self._unclear < 0 and unclear.any():
            self._unclear = self.slices.rows + int(np.argmax(unclear))
        phase = None
        if self._columns.phase >= 0:
            phase = phases_of(block.texts[self._columns.phase])
            self._count(_NO_PHASE, usable & (phase < 0))
            usable &= phase >= 0
        keep = slice(None) if usable.all() else np.flatnonzero(usable)
        expected = self.slices.expected(block.rows, share)
        for columns, cells in ((self._start, start), (self._last, last)):
            columns[0].add(cells.ns[keep], expected)
            columns[1].add(cells.ps[keep], expected)
            columns[2].add(cells.meaning[keep], expected)
        if phase is not None:
            self._phase.add(phase[keep], expected)
        texts = self._texts(block)
        if self._counters is not None:
            bad = self._counters.add(block.texts, texts["process"], keep, expected)
            self.builder.problem(
                _NO_NUMBER, bad, f"in the {block.size} bytes before byte {position}"
            )
        if not self._columns.has_slices:
            keep = slice(0)
        self.slices.add(texts, keep, block.rows, expected)
        where = f"in the {block.size} bytes before byte {position}"
        self.builder.problem("invalid UTF-8: replaced", block.replaced, where)
        self.builder.problem(NUL, block.nuls, where)

    def _times(self, texts: TextColumn, unit: str) -> Cells:
        cells = self._numbers.parse(texts.distinct, unit)
        codes = texts.codes
        return Cells(cells.ns[codes], cells.ps[codes], cells.usable[codes], cells.meaning[codes])

    def _texts(self, block: CsvBlock) -> dict[str, TextColumn]:
        clean = _stripped if self.layout.separator == "|" else _nulls
        texts = {name: clean(block.texts[column]) for name, column in self._at.items()}
        for role, instead in (("process", _stem(self._path)), ("thread", _THREAD)):
            if role in texts:
                texts[role] = self._numbered(texts[role], self.layout.names[self._at[role]], role)
            else:
                texts[role] = TextColumn(np.zeros(block.rows, np.uint32), [instead])
        return texts

    @staticmethod
    def _numbered(texts: TextColumn, name: str, role: str) -> TextColumn:
        """Texts with the name of their column before numbers, as in "tid 12"."""
        if name.casefold() == role:
            return texts
        return TextColumn(
            texts.codes, [f"{name} {text}" if text.isdecimal() else text for text in texts.distinct]
        )

    def _is_no_row(self, block: CsvBlock) -> Bools:
        """Which rows are comments or drawn lines: by the first cell, or by start and name."""
        mask: Bools = self._has(block.texts[0], is_no_row)
        start, name = self._columns.start, self._columns.name
        drawn = self._has(block.texts[start], is_rule)
        return mask | (drawn & self._has(block.texts[name], is_rule) if name >= 0 else drawn)

    @staticmethod
    def _has(texts: TextColumn, what: Callable[[str], bool]) -> Bools:
        mask: Bools = np.array(list(map(what, texts.distinct)), np.bool_)[texts.codes]
        return mask

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
        quoted = _short(text, _LONGEST_ROW)
        return f"line {line}: {why} in {quoted}" if why else f"line {line}: {quoted}"

    def trace(self, cancelled: Cancelled) -> Trace:
        """The slices of all rows. Raises ReadCancelled; ColumnsNeeded for unclear numbers."""
        why = self._numbers.question
        if why:
            where = self._quoted(self._unclear) if self._unclear >= 0 else ""
            raise needed(
                self._path, self.layout, stated_columns(), (DECIMAL,), why=why, where=where
            )
        if len(self._numbers.zones) == 2:
            self.builder.state("Times without a zone", "read as UTC")
        return self.slices.trace(self._ticks, cancelled)

    def _ticks(self) -> tuple[Ints, Ints]:
        """Start and end of each slice in ticks; adds the counters, and sets the clock."""
        start, end = self._times_of_rows()
        if self._columns.units[0] == CYCLE:
            self.builder.clock = Clock("cycle", Fraction(1), assumed=True)
        if self._counters is not None:
            self._counters.finish(self.builder, start)
        if not self._columns.has_slices:
            return start[:0], end[:0]
        if self._columns.phase >= 0:
            rows, start, end = joined_pairs(self.slices, self.builder, self._phase.take(), start)
            self.slices.keep(rows)
        return start, end

    def _times_of_rows(self) -> tuple[Ints, Ints]:
        """Start and end of each row in ticks; sets the clock of ps."""
        start, start_ps = self._taken(self._start)
        last, last_ps = self._taken(self._last)
        if self._columns.ends_at_start:
            end, end_ps = start.copy(), start_ps.copy()
            start -= last
            start_ps -= last_ps
            start -= start_ps < 0
            start_ps %= 1000
            last, last_ps = end, end_ps
        elif self._columns.dur >= 0:
            last += start
            last_ps += start_ps
            last += last_ps >= 1000
            last_ps %= 1000
        else:
            if self._numbers.has_clocks and over_midnight(start, last):
                self.builder.state("Times after midnight", "are those of the next day")
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


def _stripped(texts: TextColumn) -> TextColumn:
    """Cells of a table that is drawn, without the spaces around them."""
    return _nulls(TextColumn(texts.codes, [text.strip() for text in texts.distinct]))


def _stem(path: str) -> str:
    name = os.path.basename(path)
    return name.partition(".")[0] or name


def _short(text: str, most: int) -> str:
    return text if len(text) <= most else f"{text[: most - 1]}…"


MAX_COLUMNS = 256
_SAMPLE = 1 << 18
_HEADER_LIMIT = 1 << 20
_MOST_LINES = 30
# A part of every name of a time.
_HINT = re.compile(
    r"(?i)start|begin|from|end|stop|finish|dur|elapsed|latency|time|took|(?<![a-z])t[os]?(?![a-z])"
)


def sniff(head: bytes) -> bool:
    """Whether it is a table with names of times and others, or with two columns of numbers."""
    layout = table_of(head_text(head), stated_columns(), whole=len(head) < HEAD_SIZE)
    if layout is None:
        return False
    if kind_of(layout, stated_columns()):
        return True
    roles = {role for role, columns in recognized(layout).items() if columns}
    if roles & set(TIMES) and len(roles) >= 2:
        return True
    return len(layout.rows) >= 2 and len(layout.number_columns) >= 2


def shows_columns(head: bytes) -> bool:
    """Whether a table shows what its columns are, so that it opens without a question."""
    layout = table_of(head_text(head), NOTHING_STATED, whole=len(head) < HEAD_SIZE)
    try:
        return layout is not None and columns_of(layout, NOTHING_STATED, "").start >= 0
    except UnreadableFile:
        return False


def is_table(head: bytes) -> bool:
    """Whether it is a table beyond doubt, by its columns of times or by all of its rows."""
    layout = table_of(head_text(head), stated_columns(), whole=len(head) < HEAD_SIZE)
    if layout is None or layout.above:
        return False
    if kind_of(layout, stated_columns()) and _has_times(layout):
        return True
    is_even = {len(row) for row in layout.rows} == {len(layout.names)}
    return len(layout.rows) >= 2 and is_even and len(layout.number_columns) >= 2


def read(path: str, progress: Progress, cancelled: Cancelled) -> Trace:
    """One slice per row. Raises UnreadableFile (ColumnsNeeded), ReadCancelled."""
    with faults_of(path):
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
        rows = PlainRows(path, layout, columns)
        with closing(_direct(path, rows) if direct else _packed(path, rows)) as parts:
            for block, position, share, ratio in parts:
                stop_if(cancelled)
                rows.add(block, position, share)
                rows.slices.reserve(share, position, ratio)
                progress(min(int(share * rows.size), rows.size), rows.size)
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
            if not sample and packed.source.fault:
                raise UnreadableFile(path, packed.source.fault, remedy="Copy or record it again")
    text = sample.decode("utf-8-sig", "replace").replace("\0", " ")
    layout = table_of(text, stated_columns(), whole=len(sample) < _SAMPLE)
    if layout is None:
        raise UnreadableFile(
            path,
            "it is no table: no row has cells separated by comma, semicolon, tab or |",
            where="line 1",
        )
    return layout


def table_of(text: str, stated: StatedColumns, *, whole: bool) -> Layout | None:
    """The layout of the table in a text, also below other lines; None if there is none.

    whole: as for `layout_of`.
    """
    first = layout_of(text, whole=whole)
    wanted = stated.names
    if first is not None and _is_table(first, stated, wanted):
        return first
    lines = lines_of(text, whole=whole)
    best: tuple[int, Layout] | None = None
    for index, line in enumerate(lines[:_MOST_LINES]):
        if not _may_be_header(line, wanted):
            continue
        layout = best_layout(lines[index:], index, footers=True)
        if layout is None or not layout.header or not _is_table(layout, stated, wanted):
            continue
        if layout.rows and not wanted and not _has_times(layout):
            continue
        recognized_count = sum(map(bool, recognized_names(layout.names).values()))
        if best is None or recognized_count > best[0]:
            above = tuple(line for line in lines[:index] if line.strip())
            best = recognized_count, replace(layout, above=above)
    return best[1] if best else first


def _is_table(layout: Layout, stated: StatedColumns, wanted: set[str]) -> bool:
    """Whether it has the columns that are stated, or shows what its columns are."""
    if wanted:
        return wanted <= set(layout.names)
    return kind_of(layout, stated) != ""


def _has_times(layout: Layout) -> bool:
    """Whether a column that is called a time mostly has numbers or times: else it has words."""
    named = recognized(layout)
    for column in {column for role in (*TIMES, "at") for column in named[role]}:
        cells = [row[column] for row in layout.rows if column < len(row)]
        if 2 * sum(map(is_number, cells)) > len(cells):
            return True
    return False


def _may_be_header(line: str, wanted: set[str]) -> bool:
    """Whether a line has the stated names with any separator, or names of times and others."""
    if not wanted and not _HINT.search(line):
        return False
    for separator in SEPARATORS:
        if separator not in line:
            continue
        names = header_row(line, separator, skips_spaces=False)
        if wanted and wanted <= set(names):
            return True
        roles = {role for role, columns in recognized_names(names).items() if columns}
        if not wanted and roles & {*TIMES, "at"} and len(names) >= 2:
            return True
    return False


_Parts = Generator[tuple[CsvBlock, int, float, float], None, None]


def _direct(path: str, rows: PlainRows) -> _Parts:
    """The rows of a text in UTF-8, with position, share of the file and ratio of its packing."""
    file, rows.size = open_part(path, lines=True, quotes=True)
    with file:
        _skip(file, rows)
        with closing(blocks(file, path, rows.shape)) as parts:
            for block, position in parts:
                yield block, position, position / max(rows.size, position, 1), 1.0


def _packed(path: str, rows: PlainRows) -> _Parts:
    """The rows of another text, like `_direct`."""
    with TextLines(path) as file:
        rows.size = file.source.size
        if file.encoding == WINDOWS:
            rows.builder.problem("text that is not UTF-8: read as Windows-1252", 1, "")
        _skip(file, rows)
        with closing(blocks(file, path, rows.shape)) as parts:
            for block, position in parts:
                # Blocks after this one were read already.
                share = file.source.share * position / max(file.tell(), position, 1)
                yield block, position, max(share, 1e-9), file.source.ratio
        if file.source.fault and not is_partial():
            rows.builder.problem(file.source.fault, 1, "the rows before it are shown")


def _skip(file: LineFile, rows: PlainRows) -> None:
    nuls = sum(file.readline(_HEADER_LIMIT).count(b"\0") for _ in range(rows.layout.lines))
    rows.builder.problem(NUL, nuls, "before the first row")


FORMAT = format_of("table.plain_csv")
