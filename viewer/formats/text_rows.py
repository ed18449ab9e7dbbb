"""Shared by readers of row-based texts: lines as bytes, rows with their lines, distinct texts.

Every line of a text table is in a row, or is counted. A cell in quotes may have line ends, as
RFC 4180 allows. But one quote too many, or one that is lost, must not take the rows after it into
its cell. So line ends belong to a cell only if its row is right as a whole: each closing quote
stands before a separator or a line end, no other cell ends in a quote, and the row has as many
cells as the header. Else the line is a row of its own, whose quote is not closed.
"""

from __future__ import annotations

import csv
import io
import math
import re
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any, Protocol, TypeVar

import numpy as np
from numpy.typing import NDArray

from viewer.arrays import Codes, Ints
from viewer.codecs import large_arrays
from viewer.codecs.memory_budget import allowance
from viewer.codecs.reading import Cancelled, Progress, UnreadableFile, faults_of, stop_if
from viewer.codecs.unpacking import open_part
from viewer.dataclasses import dataclass
from viewer.model.building.builder import TraceBuilder
from viewer.model.building.chunks import distinct_codes
from viewer.model.trace import Column

# A whole number of µs. 15 digits are 31 years; longer numbers would overflow int64 ns.
MICROSECONDS = r"[ ]*(-?[0-9]{1,15})[ ]*"

TWO_ROWS = "line with two rows: left out"

WHOLE = re.compile(r"-?(?:0|[1-9][0-9]{0,17})")
# 15 digits are exact in float64; longer numbers and leading zeros are identifiers, not amounts.
_DECIMAL = re.compile(
    r"[+-]?(?:(?:0|[1-9][0-9]{0,14})(?:\.[0-9]*)?|\.[0-9]+)(?:[eE][+-]?[0-9]{1,3})?"
)

# The cells of half a MB of text fit in the processor's cache: half the time of 8 MB at once.
CHUNK = 1 << 19
# Codes below this are combined unchanged: making them dense takes a pass over all rows.
DENSE = 1 << 16
ROWS_AT_ONCE = 1 << 16
# No profile has a row of 100 kB; a file of one line would be read whole to find its end.
LONGEST_LINE = 16 << 20
_HEAD = 4096  # bytes that tell what a file is
# What a row of a Torq profile takes at the peak, at least. Measured in bytes a row, with RSS:
# compile profiles 272 and 355 (600,000 rows of the benches), host profiles 210 (600,000 rows).
ROW_MEMORY = 150


class LineFile(Protocol):
    """A file of bytes that is read in order."""

    def read(self, most: int, /) -> bytes:
        """Up to `most` more bytes; b"" only at the end."""

    def readline(self, most: int, /) -> bytes:
        """The next line, or its first `most` bytes."""

    def tell(self) -> int:
        """The position."""


@dataclass(frozen=True, slots=True)
class TextColumn:
    """A column of texts: codes into the list of distinct texts."""

    codes: Codes
    distinct: list[str]


def argument_column(codes: Codes, strings: Sequence[str]) -> Column:
    """An argument column: int64 or float64 if all texts are numbers, else text; "" is null.

    codes: into `strings`, of which the first is "".
    """
    present = codes != 0
    valid = None if present.all() else present
    texts = strings[1:]
    if texts and all(map(WHOLE.fullmatch, texts)):
        return Column(np.array([0, *map(int, texts)], np.int64)[codes], valid)
    if texts and all(map(_DECIMAL.fullmatch, texts)):
        numbers = np.array([0.0, *map(float, texts)])
        if np.isfinite(numbers).all():
            return Column(numbers[codes], valid)
    return Column.of_codes(codes, strings, valid)


class DistinctTexts(dict[str, int]):
    """Distinct texts with their codes; a new text gets the next code."""

    def __missing__(self, text: str) -> int:
        code = self[text] = len(self)
        return code

    def codes(self, texts: Sequence[str]) -> Codes:
        """The codes of many texts (uint32)."""
        return np.fromiter(map(self.__getitem__, texts), np.uint32, len(texts))

    def codes_of(self, texts: TextColumn) -> Codes:
        """The codes of a column that has its own list of texts, some maybe twice (uint32)."""
        distinct, first = texts.distinct, len(self)
        if self.keys().isdisjoint(distinct) and len(set(distinct)) == len(distinct):
            numbers = np.arange(first, first + len(distinct), dtype=np.uint32)
            self.update(zip(distinct, numbers.tolist(), strict=True))
        else:
            numbers = self.codes(distinct)
        codes: Codes = numbers.take(texts.codes)
        return codes


def distinct_texts(cells: Sequence[str]) -> TextColumn:
    """Convert texts to codes into a list of distinct texts."""
    texts = DistinctTexts()
    codes = texts.codes(cells)
    return TextColumn(codes, list(texts))


def combined_codes(columns: Sequence[Codes]) -> tuple[Ints, Ints]:
    """A number for each distinct combination of codes, and the first row of each number."""
    count = int(columns[0].max(initial=0)) + 1
    numbers = columns[0].astype(np.int64)
    if len(columns) == 1 or count > DENSE:
        distinct, numbers = distinct_codes(numbers, count)
        count = len(distinct)
    for column in columns[1:]:
        # Renumbered at each step, so that the product of two counts never overflows int64.
        size = int(column.max(initial=0)) + 1
        pair = numbers * size
        pair += column
        distinct, numbers = distinct_codes(pair, count * size)
        count = len(distinct)
    return numbers, _first_rows(numbers, count)


def _first_rows(numbers: Ints, count: int) -> Ints:
    """The first row of each number. Most files show all numbers within a few thousand rows."""
    first = np.full(count, -1, np.int64)
    left = count
    for begin in range(0, len(numbers), ROWS_AT_ONCE):
        part = numbers[begin : begin + ROWS_AT_ONCE]
        fresh = np.flatnonzero(first[part] < 0)
        part, rows = part[fresh], fresh + begin
        # Among equal numbers, the last one written stays: the first row.
        first[part[::-1]] = rows[::-1]
        left -= int(np.count_nonzero(first[part] == rows))
        if not left:
            break
    return first


def numbers_of(columns: Sequence[Codes], number: Callable[[int], int]) -> Codes:
    """Map each row's combination of codes through `number`, which gets a row (uint32).

    `number` is called once per distinct combination, with its first row, in row order.
    """
    sizes = [int(column.max(initial=0)) + 1 for column in columns]
    rows = len(columns[0])
    if math.prod(sizes) > rows // 4 + DENSE:
        combined, first = combined_codes(columns)
        numbers_found = np.empty(len(first), np.uint32)
        for which in np.argsort(first).tolist():
            numbers_found[which] = number(int(first[which]))
        return numbers_found[combined]
    # Each part stays in the processor's cache: for ten million rows, every pass over all of them
    # takes 0.1 s in newly allocated memory.
    number_of_pair = np.full(math.prod(sizes), -1, np.int64)
    row_numbers = np.empty(rows, np.uint32)
    for begin in range(0, rows, ROWS_AT_ONCE):
        part = slice(begin, begin + ROWS_AT_ONCE)
        pair = columns[0][part].astype(np.int64)
        for column, size in zip(columns[1:], sizes[1:], strict=True):
            pair = pair * size + column[part]
        numbers = number_of_pair[pair]
        fresh = np.flatnonzero(numbers < 0)
        if len(fresh):
            distinct, first_rows = np.unique(pair[fresh], return_index=True)
            for which in np.argsort(first_rows).tolist():
                number_of_pair[distinct[which]] = number(begin + int(fresh[first_rows[which]]))
            numbers = number_of_pair[pair]
        row_numbers[part] = numbers
    return row_numbers


class GrowingColumn:
    """A column that is filled part by part, in place.

    Joining the parts at the end would take twice the memory.
    """

    def __init__(self, dtype: type) -> None:
        self._values: NDArray[Any] = np.empty(0, dtype)
        self._used = 0

    def add(self, part: NDArray[Any], expected: int) -> None:
        """Append a part. expected: the estimated total number of values."""
        end = self._used + len(part)
        if end > len(self._values):
            # Unused capacity takes no memory.
            grown = large_arrays.empty(max(expected, end + end // 8), self._values.dtype)
            grown[: self._used] = self.values
            self._values = grown
        self._values[self._used : end] = part
        self._used = end

    @property
    def values(self) -> NDArray[Any]:
        """All values added so far."""
        return self._values[: self._used]

    def take(self) -> NDArray[Any]:
        """All values; the column releases them."""
        values = self.values
        self._values, self._used = self._values[:0].copy(), 0
        return values


def numbered(values: Ints) -> Codes:
    """Codes for arbitrary numbers, equal for equal numbers."""
    return np.unique(values, return_inverse=True)[1].astype(np.uint32)


def count_rows(builder: TraceBuilder, kind: str, rows: NDArray[np.integer], each: int = 1) -> None:
    """Count a problem of rows, given by their numbers from 0 and displayed from 1.

    each: how often it is in a row.
    """
    if len(rows):
        builder.problem(kind, each * len(rows), f"row {int(rows[0]) + 1}")


def chunks_of_lines(
    path: str, progress: Progress, cancelled: Cancelled
) -> Iterator[tuple[int, bytes]]:
    """Whole lines of a file in parts, each with the number of its first line (from 1).

    A byte order mark is removed. Raises UnreadableFile and ReadCancelled.
    """
    line, done = 1, 0
    with faults_of(path):
        file, size = open_part(path, lines=True)
        with file:
            while whole := whole_lines(file, CHUNK, path):
                stop_if(cancelled)
                done += len(whole)
                yield line, whole.removeprefix(b"\xef\xbb\xbf") if line == 1 else whole
                line += count_lines(whole)
                allowance().expect(line * ROW_MEMORY, done / max(size, done), done)
                progress(done, max(size, done))


class RowReading(Protocol):
    """What reads the rows of a file part by part."""

    def add(self, line: int, raw: bytes) -> None:
        """Add some whole lines; `line` is the number of the first one."""


Reading = TypeVar("Reading", bound=RowReading)


def read_rows(
    path: str,
    begin: Callable[[bytes], tuple[Reading, bool] | None],
    progress: Progress,
    cancelled: Cancelled,
) -> Reading | None:
    """Read all rows of a file. Raises UnreadableFile and ReadCancelled.

    begin: gets the start of the file, and returns what reads its rows, and whether the first line
    is a header; None if the file is another one, as this function then does.
    """
    reading: Reading | None = None
    for line, raw in chunks_of_lines(path, progress, cancelled):
        if reading is None:
            begun = begin(raw[:_HEAD])
            if begun is None:
                return None
            reading, has_header = begun
            if has_header:
                line, raw = 2, raw.partition(b"\n")[2]
        if raw:
            reading.add(line, raw)
    return reading


def count_lines(raw: bytes) -> int:
    """How many lines a text has; the last one may have no end."""
    return raw.count(b"\n") + (not raw.endswith(b"\n"))


def whole_lines(file: LineFile, size: int, path: str) -> bytes:
    """About `size` bytes of whole lines; b"" at the end. Raises UnreadableFile, OSError."""
    return file.read(size) + rest_of_line(file, path)


def rest_of_line(file: LineFile, path: str) -> bytes:
    """The bytes up to the next line end, and it. Raises UnreadableFile if they are too many."""
    rest = file.readline(LONGEST_LINE)
    if len(rest) == LONGEST_LINE and not rest.endswith(b"\n"):
        raise UnreadableFile(
            path,
            f"it has a line of more than {LONGEST_LINE >> 20} MB",
            where=f"byte {file.tell() - len(rest)}",
            remedy="This is no profile with a row on each line: check how it was written",
        )
    return rest


def first_line(head: bytes, separator: str) -> str:
    """The first line of a text, with the spaces around its cells removed."""
    line = head.decode("utf-8-sig", "replace").partition("\n")[0]
    return separator.join(cell.strip() for cell in line.split(separator))


def decoded(raw: bytes, line: int, builder: TraceBuilder) -> str:
    r"""Decode UTF-8 and normalize line ends to "\\n". line: number of the first line.

    Invalid bytes are replaced and counted.
    """
    try:
        text = raw.decode("utf-8")
    except UnicodeDecodeError as error:
        text = raw.decode("utf-8", "replace")
        before = raw.count(b"\n", 0, error.start)
        builder.problem(
            "invalid UTF-8: replaced",
            text.count("\ufffd") - raw.count("\ufffd".encode()),
            f"line {line + before}",
        )
    return text.replace("\r\n", "\n") if "\r" in text else text


def rows_in(cells: int, width: int) -> int:
    """How many rows a line has by its cells: two, one after another, have a cell less."""
    return max((cells + 1) // width, 1)


class RowCells:
    """Parses the rows of a text part by part with one pattern."""

    def __init__(
        self,
        pattern: re.Pattern[str],
        huge: re.Pattern[str],
        spelled: str,
        builder: TraceBuilder,
        separator: str = "",
    ) -> None:
        """A line that does not match is counted: a number is too large for a time, or other.

        huge: matches the first kind. spelled: a row as it should be. separator: what no cell
        contains, so that it shows how many rows a line has; "" if there is none.
        """
        self._pattern, self._huge, self._spelled = pattern, huge, spelled
        self._builder, self._separator = builder, separator
        self.count = 0  # of the rows so far; empty lines are none

    def take(self, line: int, raw: bytes) -> tuple[list[tuple[str, ...]], Codes]:
        """The groups of each matching row in some whole lines, and its row number in the file."""
        text = decoded(raw, line, self._builder)
        cells: list[tuple[str, ...]] = self._pattern.findall(text)
        first, count = self.count, count_lines(raw)
        if len(cells) == count:
            self.count += count
            return cells, np.arange(first, first + count, dtype=np.uint32)
        cells, rows = [], list[int]()
        for number, content in enumerate(text.split("\n"), line):
            if not content.strip():
                continue
            match = self._pattern.match(content)
            if match is not None:
                cells.append(match.groups(""))
                rows.append(self.count)
            elif self._huge.search(content):
                kind = "row with a number too large for a time"
                self._builder.problem(kind, 1, f"line {number}")
            else:
                count = 1
                if separator := self._separator:
                    width = self._spelled.count(separator) + 1
                    count = rows_in(content.count(separator) + 1, width)
                self._builder.problem(f"row that is not {self._spelled}", count, f"line {number}")
            self.count += 1
        return cells, np.array(rows, np.uint32)


UNCLOSED = "row with a quote that is not closed: left out"
UNFIT = "row that does not fit the header: left out"
_ABOVE = "row above the header: left out"
NUL = "NUL byte: read as a space"
# Characters of a row after its first line, at most.
_LONGEST_ROW = 1 << 18
# Rows that fit in the processor's cache.
_AT_ONCE = 256
# Bytes of a row at the peak: its cells as texts, and its arguments. Not measured.
_ROW_MEMORY = 600

# The module refuses cells of 128 kB; what a line may take is limited here.
csv.field_size_limit(max(csv.field_size_limit(), LONGEST_LINE))


class RowReader:
    """The rows of some lines with their numbers from 1, also empty rows.

    width: the cells of the header; 0 until it is known, and then each line is a row.
    """

    def __init__(
        self,
        parts: Iterable[list[str]],
        separator: str,
        *,
        width: int = 0,
        skips_spaces: bool = False,
    ) -> None:
        """parts: lines with their ends; a CR is only at the end of one, or in quotes.

        skips_spaces: spaces before a cell are left out.
        """
        self.width = width
        self._parts = iter(parts)
        self._separator, self._skips_spaces = separator, skips_spaces
        plain = rf'[^"\r\n{re.escape(separator)}]+'
        cell = rf' *"[^"]*(?:""[^"]*)*"|(?:{plain}(?:"+{plain})*)?'
        self._whole = re.compile(rf"(?:{cell})(?:{re.escape(separator)}(?:{cell}))*\r?\n?")
        self._lines: deque[str] = deque()  # read, but in no row yet
        self._taken: list[str] = []  # those of the row that is being read
        self._next = 1

    @property
    def left(self) -> int:
        """How many lines were read and are in no row yet."""
        return len(self._lines)

    def __iter__(self) -> Iterator[tuple[int, list[str] | None]]:
        """None for a row with a quote that is not closed."""
        while self._lines or self._has_more():
            yield from self._until(self._next + len(self._lines))

    def rows_of(self, lines: list[str]) -> Iterator[tuple[int, list[str] | None]]:
        """The rows that begin in some more lines; None as above."""
        self._lines.extend(lines)
        yield from self._until(self._next + len(self._lines))

    def _until(self, end: int) -> Iterator[tuple[int, list[str] | None]]:
        """The rows that begin before a line."""
        while (count := min(_AT_ONCE, end - self._next)) > 0:
            lines = [self._lines.popleft() for _ in range(count)]
            # The header is alone, since rows after it may have line ends.
            rows = self._each_in_a_line(lines) if self.width else None
            first = self._next
            if rows is None:
                self._lines.extendleft(reversed(lines))
                yield from self._one_by_one(first + count)
            else:
                self._next += count
                yield from enumerate(rows, first)

    def _each_in_a_line(self, lines: list[str]) -> list[list[str]] | None:
        """The rows, None unless each of them is one line without a fault."""
        reader = csv.reader(
            lines, delimiter=self._separator, skipinitialspace=self._skips_spaces, strict=True
        )
        try:
            rows = list(reader)
        except csv.Error:
            return None
        return rows if len(rows) == len(lines) else None

    def _one_by_one(self, end: int) -> Iterator[tuple[int, list[str] | None]]:
        """The rows of all lines before `end`; the last one may have further lines."""
        taken = self._taken
        while self._next < end:
            try:
                for row in csv.reader(
                    self._fed(),
                    delimiter=self._separator,
                    skipinitialspace=self._skips_spaces,
                    strict=True,
                ):
                    if len(taken) > 1 and not self._fits(row):
                        break
                    line = self._next
                    self._next += len(taken)
                    taken.clear()
                    yield line, row
                    if self._next >= end:
                        return
            except csv.Error:
                pass
            first, *others = taken
            taken.clear()
            self._lines.extendleft(reversed(others))
            # Another line is in the same row only if a quote is open at the end of the first one.
            rows = csv.reader(
                (first, "\n"), delimiter=self._separator, skipinitialspace=self._skips_spaces
            )
            cells = next(rows)
            self._next += 1
            yield self._next - 1, None if rows.line_num > 1 else cells

    def _fits(self, row: list[str]) -> bool:
        """Whether a row of several lines is right as a whole."""
        # There may be a separator at its end.
        if len(row) != self.width and (len(row) != self.width + 1 or row[-1]):
            return False
        return self._whole.fullmatch("".join(self._taken)) is not None

    def _fed(self) -> Iterator[str]:
        """The lines, until a row cannot be right anymore."""
        lines, taken = self._lines, self._taken
        size = quotes = 0
        while lines or self._has_more():
            if not taken:
                size = quotes = 0
            else:
                # A cell begins and ends with an odd number of quotes: so no line is read more
                # often than a row has cells, however many quotes are wrong.
                size += len(lines[0])
                quotes += lines[0].replace('""', "").count('"')
                if not self.width or size > _LONGEST_ROW or quotes > 2 * self.width:
                    return
            taken.append(lines.popleft())
            yield taken[-1]

    def _has_more(self) -> bool:
        self._lines.extend(next(self._parts, ()))
        return bool(self._lines)


class TableRows:
    """The rows of a text table: each with its line, without empty ones.

    header: its cells, set by the reader when it finds it. Rows with a quote that is not closed and
    NUL bytes are counted. count: the rows so far, with the header and those that are left out.
    """

    def __init__(
        self,
        path: str,
        builder: TraceBuilder,
        progress: Progress,
        cancelled: Cancelled,
        *,
        separator: str = ",",
        keeps_spaces: bool = False,
        row_memory: int = _ROW_MEMORY,
    ) -> None:
        """keeps_spaces: spaces around cells are kept. row_memory: bytes of a row at the peak."""
        self._builder = builder
        self._keeps_spaces, self._row_memory = keeps_spaces, row_memory
        self._rows = RowReader(
            (lines for _, lines in lines_of(path, builder, progress, cancelled)),
            separator,
            skips_spaces=not keeps_spaces,
        )
        self._header: Sequence[str] = ()
        self._above: dict[int, tuple[int, int]] = {}  # width: count, first line
        self.count = 0

    @property
    def header(self) -> Sequence[str]:
        """The cells of the header, () until it was set."""
        return self._header

    @header.setter
    def header(self, cells: Sequence[str]) -> None:
        count, line = self._above.pop(len(cells), (0, 0))
        self._builder.problem(_ABOVE, count, f"line {line}")
        self._above.clear()
        self._header = cells
        self._rows.width = len(cells)

    def __iter__(self) -> Iterator[tuple[int, list[str]]]:
        """Raises UnreadableFile, ReadCancelled and NotEnoughMemory."""
        for line, row in self._rows:
            if row is None:
                self.count += 1
                if self._header:
                    self._builder.problem(UNCLOSED, 1, f"line {line}")
            elif any(row):
                self.count += 1
                if self.count % 1000 == 0:
                    allowance().take(self.count * self._row_memory)
                yield line, row if self._keeps_spaces else [cell.strip() for cell in row]

    def skip(self, line: int, row: Sequence[str]) -> None:
        """Leave out a row above the header; it is counted if it turns out to fit the header."""
        count, first = self._above.get(len(row), (0, line))
        self._above[len(row)] = count + 1, first

    def fits(self, line: int, row: Sequence[str], kind: str = UNFIT) -> bool:
        """Whether a row has as many cells as the header; else it is counted.

        Where a line end is lost, a line has two rows.
        """
        width = len(self._header)
        if len(row) == width:
            return True
        self._builder.problem(kind, rows_in(len(row), width), f"line {line}")
        return False


def lines_of(
    path: str, builder: TraceBuilder, progress: Progress, cancelled: Cancelled
) -> Iterator[tuple[int, list[str]]]:
    """Lines with their ends, in parts, each with the number of its first line.

    Raises as `chunks_of_lines`.
    """
    for first, raw in chunks_of_lines(path, progress, cancelled):
        text = decoded(raw, first, builder)
        if "\0" in text:
            line = first + text.count("\n", 0, text.index("\0"))
            builder.problem(NUL, text.count("\0"), f"line {line}")
            text = text.replace("\0", " ")
        # Lines that end in CR only are one line to the file, and several to csv.
        yield first, io.StringIO(text.replace("\r", " "), newline="\n").readlines()


def header_row(line: str, separator: str = ",", *, skips_spaces: bool = True) -> list[str]:
    """The cells of a line that may be the header of a CSV, [] if it cannot be parsed."""
    reader = csv.reader([line], delimiter=separator, skipinitialspace=skips_spaces)
    try:
        return [cell.strip() for cell in next(reader, [])]
    except csv.Error:
        return []


def lines_of_head(head: bytes) -> Sequence[str]:
    """The lines in the first bytes of a file, the last one possibly cut."""
    return head.decode("utf-8-sig", "replace").replace("\0", " ").splitlines()
