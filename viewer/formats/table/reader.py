"""Reads the plain profile CSV: one slice per row, for custom tools and for Opscope exports.

The first line names the columns, in any order, separated by comma, tab or semicolon:

    process,thread,name,start_ns,dur_ns    required; times are integer nanoseconds up to 2**62
    depth                                  level of the slice on its track, 0 outermost
    method,instruction_id,identifier       identity: instruction of a method, or the debug
                                           identifier of an event that a delegate logged
    derived                                "true": computed by Opscope, not stated by any file
    anything else                          an argument of the slice: numbers if all cells are
                                           numbers, else text

Cells may be quoted as in RFC 4180. The encoding is UTF-8, with or without a byte order mark; UTF-16
is recognized and rejected with a remedy. Columns that only an export writes are ignored:
`debug_handles`, `operators`, `source`, `link_reason` (links are created again) and `start_ticks`,
`dur_ticks` (the file does not contain the clock rate). In a table with all columns of an export,
also `node`, `op_type`, `module` and columns without a value are; `inference` numbers the inferences
there, and `timing` says where a time comes from. Texts that the export changed for spreadsheets are
changed back. A row with unusable times is left out and counted.

`depth` is used for a track if all its rows have one; the builder checks it against the times.
"""

from __future__ import annotations

import codecs
import csv
import re
from collections.abc import Sequence
from contextlib import closing
from fractions import Fraction

import numpy as np

from viewer.arrays import Bools, Codes, Ints
from viewer.codecs.memory_budget import allowance
from viewer.codecs.partial_file import open_part
from viewer.codecs.reading import Cancelled, Progress, ReadCancelled, UnreadableFile
from viewer.formats import HEAD_SIZE, format_of
from viewer.formats.table import own_tables
from viewer.formats.table.csv_blocks import CsvBlock, Shape, blocks
from viewer.formats.table.stated_levels import levels_of, preorder
from viewer.formats.text_rows import DistinctTexts, GrowingColumn, numbers_of
from viewer.model.building.builder import TraceBuilder
from viewer.model.building.chunks import distinct_codes
from viewer.model.names.executorch import (
    CONTROL,
    DELEGATE_CALL,
    EXECUTE,
    KERNEL_PREFIX,
    LOAD,
    SCOPES,
    is_library_kernel,
)
from viewer.model.names.profilers import PROFILER_STEP
from viewer.model.trace import UNATTRIBUTED, Clock, Column, KeyKind, RunKind, Trace

CLOCK = Clock("ns", Fraction(1))
REQUIRED = ("process", "thread", "name", "start_ns", "dur_ns")
IDENTITY = ("method", "instruction_id", "identifier")
DERIVED = "derived"
_SEPARATORS = ",\t;"
_NEARLY = 2  # of the required columns: other kinds of CSV often have a name or a process
_NAMED = 4  # similar column names to list in a message
_TIMES = ("start_ns", "dur_ns")
_UNUSABLE = "row without a usable start_ns or dur_ns"
# Twice this value still fits int64, so differences of two times never overflow.
TIME_LIMIT = 2**62 - 1
_QUOTED = 24  # displayed characters of a cell
# Short rows are padded to the header's width: the limit keeps a small file from filling memory.
MAX_COLUMNS = 256
_HEADER_LIMIT = 1 << 20
# Bytes at the peak of a row, of a text in it, and of a distinct text. Measured with RSS, in bytes a
# row: 145 with three texts (2 M rows of 18 bytes), 146 (2 and 10 M rows of 115 bytes), 200 with
# five texts in quotes, 371 with 13 texts; 818 with four texts, two of which every row has of its
# own (1 M rows each).
_ROW_MEMORY, _CELL_MEMORY, _TEXT_MEMORY = 70, 22, 250
_UTF16 = {codecs.BOM_UTF16_LE: "utf-16-le", codecs.BOM_UTF16_BE: "utf-16-be"}
_WHOLE = re.compile(r"-?(?:0|[1-9][0-9]{0,17})")
_DIGITS = re.compile(r"\s*[+-]?[0-9]+\s*", re.ASCII)
# 15 digits are exact in float64; longer numbers and leading zeros are identifiers, not amounts.
_DECIMAL = re.compile(
    r"[+-]?(?:(?:0|[1-9][0-9]{0,14})(?:\.[0-9]*)?|\.[0-9]+)(?:[eE][+-]?[0-9]{1,3})?"
)
RUN_SCOPES = {LOAD: RunKind.LOAD, EXECUTE: RunKind.INFERENCE}
_CALLS = {
    DELEGATE_CALL: KeyKind.DELEGATE_CALL,
    **dict.fromkeys(CONTROL, KeyKind.CONTROL),
}


def sniff(head: bytes) -> bool:
    """Whether the first line has all required columns, without repetitions."""
    for mark, encoding in _UTF16.items():
        if head.startswith(mark):
            text = head[len(mark) :].decode(encoding, "replace")
            return _header(text.partition("\n")[0]) is not None
    return _header(_first_line(head)) is not None


def why_not(head: bytes) -> tuple[str, str] | None:
    """Why a file is almost a profile CSV but not one, and the remedy; None for other files.

    A file counts as almost one if it has two of the required columns.
    """
    line = _first_line(head).rstrip("\r")
    if len(line) + 4 > len(head) >= HEAD_SIZE:
        return None  # the line continues beyond the known bytes
    names = max((_cells(line, one) for one in _SEPARATORS), key=lambda cells: _required_in(cells))
    if _required_in(names) < _NEARLY:
        return None
    twice = sorted({name for name in names if name and names.count(name) > 1})
    missing = [name for name in REQUIRED if name not in names]
    if not missing:
        return f"this is a profile CSV with two columns {twice[0]}", "Rename one of them"
    like = tuple(name.partition("_")[0] for name in missing)
    instead = [name for name in names if name.casefold().startswith(like)]
    found = f" (found: {', '.join(instead[:_NAMED])})" if instead else ""
    return (
        f"it looks like a profile CSV, but lacks: {', '.join(missing)}{found}",
        f"It needs the columns {', '.join(REQUIRED)}; times are in whole ns",
    )


def read(path: str, progress: Progress, cancelled: Cancelled) -> Trace:
    """One slice per row, in nanoseconds. Raises UnreadableFile, ReadCancelled."""
    try:
        file, size = open_part(path, lines=True, quotes=True)
        with file:
            first = file.readline(_HEADER_LIMIT)
            if first.startswith(tuple(_UTF16)):
                raise UnreadableFile(
                    path, "its text is UTF-16", where="line 1", remedy="Save it as UTF-8"
                )
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
            is_changed = own_tables.is_changed(_first_line(first), separator, names)
            rows = _Rows(path, names, separator, size, is_changed=is_changed)
            with closing(blocks(file, path, rows.shape)) as parts:
                for block, at in parts:
                    if cancelled():
                        raise ReadCancelled
                    rows.add(block, at)
                    rows.reserve(at)
                    progress(min(at, size), size)
    except OSError as error:
        raise UnreadableFile(path, error.strerror or str(error)) from error
    return rows.trace(cancelled)


def _first_line(head: bytes) -> str:
    return head.decode("utf-8-sig", "replace").partition("\n")[0]


def _cells(line: str, separator: str) -> list[str]:
    """The cells of a header, [] if its quotes are not closed."""
    try:
        return [cell.strip() for cell in next(csv.reader([line], delimiter=separator), [])]
    except csv.Error:
        return []


def _required_in(names: Sequence[str]) -> int:
    return len(set(REQUIRED) & set(names))


def _header(line: str) -> tuple[str, list[str]] | None:
    """The separator and the column names, None if this is not a profile CSV header."""
    line = line.rstrip("\r")
    for separator in _SEPARATORS:
        names = _cells(line, separator)
        named = [name for name in names if name]
        if _required_in(named) == len(REQUIRED) and len(set(named)) == len(named):
            return separator, names
    return None


class _Rows:
    """The rows read so far, as columns; `trace` converts them to slices."""

    def __init__(
        self, path: str, names: Sequence[str], separator: str, size: int, *, is_changed: bool
    ) -> None:
        """size: size of the file in bytes. is_changed: see `own_tables.is_changed`."""
        names = own_tables.originals(names) if is_changed else names
        self.builder = TraceBuilder(path, FORMAT.name, "", CLOCK, levels_are_hints=True)
        self._names = names
        self._is_changed = is_changed
        self._row = 0
        self._size = size
        self._times = {"start": GrowingColumn(np.int64), "end": GrowingColumn(np.int64)}
        self._rows = GrowingColumn(np.uint32)
        self._tables: dict[str, DistinctTexts] = {}
        self._codes: dict[str, GrowingColumn] = {}
        self._is_own = own_tables.is_own(names)
        skipped = own_tables.skipped(names)
        for name in names:
            if name and name not in skipped and name not in _TIMES:
                self._tables[name] = DistinctTexts({"": 0})
                self._codes[name] = GrowingColumn(np.uint32)
        self.shape = Shape(
            separator,
            len(names),
            tuple(map(names.index, _TIMES)),
            tuple(map(names.index, self._tables)),
        )

    def add(self, block: CsvBlock, at: int) -> None:
        """Add one block; `at`: the file position after it."""
        (start, start_ok), (length, length_ok) = (block.numbers[n] for n in self.shape.numbers)
        start_ok = start_ok & (start <= TIME_LIMIT) & (start >= -TIME_LIMIT)
        # Not as a sum, which may not fit int64.
        length_ok = (
            length_ok & (length >= 0) & (length <= TIME_LIMIT - np.where(start_ok, start, 0))
        )
        usable = start_ok & length_ok & ~block.surplus
        self._count("row with more cells than the header", block.surplus)
        self._count(_UNUSABLE, ~(start_ok & length_ok) & ~block.surplus, block)
        keep = slice(None) if usable.all() else np.flatnonzero(usable)
        read = self._row + block.rows
        # Two percent more than the rows so far suggest, because rows with later times are longer.
        expected = read * self._size * 51 // (50 * max(at, 1))
        self._times["start"].add(start[keep], expected)
        self._times["end"].add(start[keep] + length[keep], expected)
        self._rows.add(np.arange(self._row, read, dtype=np.uint32)[keep], expected)
        for name, table in self._tables.items():
            codes = table.codes_of(block.texts[self._names.index(name)])
            self._codes[name].add(codes[keep], expected)
        where = f"in the {block.size} bytes before byte {at}"
        self.builder.problem("invalid UTF-8: replaced", block.replaced, where)
        self._row = read

    def reserve(self, at: int) -> None:
        """Reserve the memory for all rows; `at`: the file position. Raises NotEnoughMemory."""
        rows = self._row * (_ROW_MEMORY + _CELL_MEMORY * len(self._tables))
        texts = sum(map(len, self._tables.values())) * _TEXT_MEMORY
        allowance().expect(rows, at / max(self._size, at), at, fixed=texts)

    def trace(self, cancelled: Cancelled) -> Trace:
        """The slices of all rows added. Raises ReadCancelled."""

        def step() -> None:
            if cancelled():
                raise ReadCancelled

        builder = self.builder
        start, end = (self._times.pop(name).values for name in ("start", "end"))
        row = self._rows.values
        del self._rows
        if not len(start):
            return builder.build()
        step()
        codes = {name: column.values for name, column in self._codes.items()}
        self._codes.clear()
        strings = {name: tuple(table) for name, table in self._tables.items()}
        if self._is_changed:
            strings = {name: own_tables.originals(texts) for name, texts in strings.items()}
        track = self._tracks(codes, strings)
        names = strings["name"] if self._is_changed else self._tables["name"]
        name = self._names_of(codes["name"], names)
        key = self._keys(codes, strings, name)
        self._runs(track, start, end, codes, strings)
        own = {own_tables.INFERENCE, own_tables.TIMING} if self._is_own else set()
        columns = {
            column: _argument(codes[column], strings[column])
            for column in strings
            if column not in (*REQUIRED, *IDENTITY, "depth", DERIVED, *own)
            and (len(strings[column]) > 1 or not self._is_own)
        }

        derived = None
        if DERIVED in codes:
            derived = np.array([text == "true" for text in strings[DERIVED]])[codes[DERIVED]]

        timing = None
        if self._is_own:
            of_timing = codes[own_tables.TIMING], strings[own_tables.TIMING]
            timing = own_tables.stated_timing(builder, *of_timing)

        def add(at: Ints | slice, levels: Ints | None) -> None:
            if len(start[at]):
                builder.add(
                    track=track[at],
                    start=start[at],
                    end=end[at],
                    name=name[at],
                    key=key[at],
                    source_row=row[at],
                    levels=None if levels is None else levels[at].astype(np.int32),
                    derived=None if derived is None else derived[at],
                    columns={n: column.taken(at) for n, column in columns.items()},
                    timing=None if timing is None else timing[at],
                )

        if "depth" not in codes:
            add(slice(None), None)
            # The builder has them now: two copies of a large file's columns would fill memory.
            del start, end, row, codes, track, name, key, columns, derived, timing
            return builder.build(step)
        level = levels_of(codes["depth"], strings["depth"])
        is_partial = np.bincount(track, level < 0) > 0
        is_mixed = is_partial & (np.bincount(track, level >= 0) > 0)
        builder.problem("track with a depth on some rows only: nested by time", int(is_mixed.sum()))
        add(np.flatnonzero(is_partial[track]), None)
        add(preorder(np.flatnonzero(~is_partial[track]), track, start, end, level), level)
        return builder.build(step)

    def _runs(
        self,
        track: Codes,
        start: Ints,
        end: Ints,
        codes: dict[str, Codes],
        strings: dict[str, tuple[str, ...]],
    ) -> None:
        """Add the loads and inferences of an exported ETDump.

        By name, if methods are stated; inferences by their numbers in a table of ours.
        """
        methods = strings.get("method", ())
        if self._is_own:
            own_tables.add_inferences(self.builder, track, start, end, codes, strings)
        for name, kind in RUN_SCOPES.items():
            if self._is_own and kind is RunKind.INFERENCE:
                continue
            if name not in strings["name"] or not any(methods):
                continue
            found = np.flatnonzero(codes["name"] == strings["name"].index(name))
            for i in found[np.lexsort((start[found], track[found]))].tolist():
                method = methods[codes["method"][i]]
                self.builder.run(
                    kind,
                    name,
                    int(track[i]),
                    self.builder.scope(method or "file", method or None),
                    int(start[i]),
                    int(end[i]),
                )

    def _count(self, kind: str, rows: Bools, block: CsvBlock | None = None) -> None:
        """Count a problem of rows. block: the source of the first row's unusable time."""
        found = np.flatnonzero(rows)
        if len(found):
            first = int(found[0])
            bad_time = "" if block is None else self._odd_time(block, first)
            where = f"data row {self._row + first + 1}"
            self.builder.problem(kind, len(found), f"{where}: {bad_time}" if bad_time else where)

    def _odd_time(self, block: CsvBlock, row: int) -> str:
        """Why a time is unusable: `start_ns is "1.5", not whole ns`; "" if each cell is valid."""
        for name, column in zip(_TIMES, self.shape.numbers, strict=True):
            values, ok = block.numbers[column]
            at, text = block.odd.get(column, (-1, ""))
            if not ok[row]:
                shown = text if len(text) <= _QUOTED else f"{text[:_QUOTED]}…"
                why = "too large" if _DIGITS.fullmatch(text) else "not whole ns"
                message = f'{name} is "{shown}", {why}' if text.strip() else f"{name} is empty"
                return message if at == row else ""
            if name == "dur_ns" and values[row] < 0:
                return f'{name} is "{values[row]}"'
            if name == "start_ns" and not -TIME_LIMIT <= values[row] <= TIME_LIMIT:
                return f'{name} is "{values[row]}", too large'
        return ""

    def _tracks(self, codes: dict[str, Codes], strings: dict[str, tuple[str, ...]]) -> Codes:
        """The track of every row; tracks are numbered by first appearance."""
        process, thread = codes["process"], codes["thread"]

        def number(row: int) -> int:
            return self.builder.track(
                strings["process"][process[row]], strings["thread"][thread[row]]
            )

        return numbers_of([process, thread], number)

    def _names_of(self, codes: Codes, texts: tuple[str, ...] | dict[str, int]) -> Codes:
        """The name number of every row; a new builder numbers the names like the texts."""
        names = self.builder.intern_all(texts)
        return codes if np.array_equal(names, np.arange(len(names))) else names[codes]

    def _keys(
        self, codes: dict[str, Codes], strings: dict[str, tuple[str, ...]], name: Codes
    ) -> Codes:
        """The key of every row, created once per identity; `name` is the number of its name."""
        parts = ["name"] + [name for name in (*IDENTITY, DERIVED) if len(strings.get(name, ())) > 1]
        if parts == ["name"] and not self._is_own:
            return self._keys_by_name(name, len(strings["name"]))

        def number(row: int) -> int:
            cell = {name: strings[name][codes[name][row]] for name in parts}
            text = cell.get("name", "")
            if self._is_own and own_tables.is_step(text):
                return self.builder.key(KeyKind.FRAMEWORK, PROFILER_STEP)  # one for all steps
            return self._key(
                text,
                cell.get("method", ""),
                cell.get("instruction_id", "").strip(),
                cell.get("identifier", ""),
                cell.get(DERIVED) == "true",
            )

        return numbers_of([codes[name] for name in parts], number)

    def _keys_by_name(self, name: Codes, names: int) -> Codes:
        """The key of every row if its name is its identity: there can be as many as rows.

        names: the number of names.
        """
        used, key = distinct_codes(name.astype(np.int64), names)
        scopes = [self.builder.intern(scope) for scope in sorted(SCOPES)]
        kind = np.where(np.isin(used, scopes), KeyKind.FRAMEWORK, KeyKind.PLAIN).astype(np.uint8)
        numbers = self.builder.distinct_keys(
            kind,
            used.astype(np.uint32),
            np.full(len(used), self.builder.scope("file"), np.uint32),
            np.full(len(used), -1, np.int64),
            np.full(len(used), None, object),
        )
        return numbers[key]

    def _key(
        self, name: str, method: str, instruction_id: str, identifier: str, derived: bool
    ) -> int:
        instruction = -1
        if _WHOLE.fullmatch(instruction_id):
            instruction = max(-1, int(instruction_id))
        elif instruction_id:
            self.builder.problem("instruction_id that is not a number", 1, repr(instruction_id))
        if derived and name == UNATTRIBUTED:
            kind = KeyKind.UNATTRIBUTED
        elif identifier:
            kind = KeyKind.DELEGATE_EVENT
        elif instruction < 0:
            kind = KeyKind.FRAMEWORK if name in SCOPES else KeyKind.PLAIN
        elif name.startswith(KERNEL_PREFIX) or is_library_kernel(name):
            kind = KeyKind.KERNEL
        else:
            kind = _CALLS.get(name, KeyKind.OPERATOR_CALL)
        return self.builder.key(
            kind,
            name,
            scope=self.builder.scope(method or "file", method or None),
            instruction=instruction,
            identifier=identifier or None,
        )


def _argument(codes: Codes, strings: Sequence[str]) -> Column:
    """An argument column: int64 or float64 if all texts are numbers, else text; "" is null."""
    present = codes != 0
    valid = None if present.all() else present
    texts = strings[1:]
    if texts and all(map(_WHOLE.fullmatch, texts)):
        return Column(np.array([0, *map(int, texts)], np.int64)[codes], valid)
    if texts and all(map(_DECIMAL.fullmatch, texts)):
        numbers = np.array([0.0, *map(float, texts)])
        if np.isfinite(numbers).all():
            return Column(numbers[codes], valid)
    return Column.of_codes(codes, strings, valid)


FORMAT = format_of("table.reader")
