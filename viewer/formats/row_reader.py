"""Reads the rows of a text table with their lines: every line is in a row, or is counted.

A cell in quotes may have line ends, as RFC 4180 allows. But one quote too many, or one that is
lost, must not take the rows after it into its cell. So line ends belong to a cell only if its row
is right as a whole: each closing quote stands before a separator or a line end, no other cell ends
in a quote, and the row has as many cells as the header. Else the line is a row of its own, whose
quote is not closed.
"""

from __future__ import annotations

import csv
import io
import re
from collections import deque
from collections.abc import Iterable, Iterator, Sequence

from viewer.codecs.memory_budget import allowance
from viewer.codecs.reading import Cancelled, Progress
from viewer.formats.text_rows import LONGEST_LINE, chunks_of_lines, decoded, rows_in
from viewer.model.building.builder import TraceBuilder

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
