"""Reads the rows of a CSV line by line with `row_reader`, for what pyarrow refuses.

That is a block whose quotes do not fit its lines, and rows of another width. It takes several times
as long as `csv_blocks`.
"""

from __future__ import annotations

import io
import itertools
from collections.abc import Generator, Iterable, Iterator, Sequence
from contextlib import closing
from dataclasses import replace

import numpy as np

from viewer.codecs.memory_budget import allowance
from viewer.formats.row_reader import RowReader
from viewer.formats.table.csv_rows import MOST_ROWS, UNCLOSED, CsvBlock, Shape, whole_numbers
from viewer.formats.table.packed_text import TextLines
from viewer.formats.text_rows import (
    CHUNK,
    LONGEST_LINE,
    LineFile,
    distinct_texts,
    rows_in,
    whole_lines,
)

_PIECE = 1 << 20
# Finding the line of a row takes half a second for a million rows.
_FARTHEST_ROW = 1_000_000
_MORE = 1 << 13
# Bytes of a byte of the text: its cells are objects. Measured with RSS, for cells of 6 characters.
_HELD_MEMORY = 16


class ReadAgain:
    """A file of which text that was read can be put back."""

    def __init__(self, file: LineFile) -> None:
        self._text = io.BytesIO()
        self._waiting = 0  # bytes of the text that were not read again
        self._beyond = 0  # bytes read from the file after the text
        self._file = file

    def put_back(self, text: bytes) -> None:
        """Let what was read last be read again."""
        position = self._text.tell()
        if not self._beyond and position >= len(text):
            self._text.seek(position - len(text))
            self._waiting += len(text)
            return
        text += self._text.read()
        self._text, self._waiting, self._beyond = io.BytesIO(text), len(text), 0

    def read(self, most: int, /) -> bytes:
        """Up to `most` more bytes; b"" only at the end."""
        return self._taken(self._text.read(most)) or self._further(self._file.read(most))

    def readline(self, most: int, /) -> bytes:
        """The next line, or its first `most` bytes."""
        return self._taken(self._text.readline(most)) or self._further(self._file.readline(most))

    def tell(self) -> int:
        """The position."""
        return self._file.tell() - self._waiting

    def _taken(self, text: bytes) -> bytes:
        self._waiting -= len(text)
        return text

    def _further(self, text: bytes) -> bytes:
        self._beyond += len(text)
        return text


def block_in_order(file: ReadAgain, path: str, shape: Shape, most: int) -> CsvBlock | None:
    """The rows of the next `most` bytes of whole lines, or fewer; None at the end of the file.

    Further lines are read if the last row has some. Raises UnreadableFile.
    """
    data = whole_lines(file, min(most, _PIECE) - 1, path)
    if not data:
        return None
    allowance().take(len(data) * _HELD_MEMORY)
    further: list[bytes] = []

    def more() -> Iterator[list[str]]:
        most = _MORE
        while data := whole_lines(file, most, path):
            further.extend(io.BytesIO(data).readlines())
            yield io.StringIO(decoded(data)[0], newline="\n").readlines()
            most = min(2 * most, _PIECE)

    text, replaced, nuls = decoded(data)
    reader = RowReader(more(), shape.separator, width=shape.width)
    block = _block(reader.rows_of(_lines_of(text)), shape)
    used = len(further) - reader.left
    file.put_back(b"".join(further[used:]))
    for line in further[:used]:
        _, more_replaced, more_nuls = decoded(line)
        replaced, nuls = replaced + more_replaced, nuls + more_nuls
    size = len(data) + sum(map(len, further[:used]))
    return replace(block, replaced=replaced, nuls=nuls, size=size)


def block_of(text: str, shape: Shape) -> CsvBlock:
    """The rows of some whole lines."""
    return _block(RowReader([_lines_of(text)], shape.separator, width=shape.width), shape)


def decoded(data: bytes) -> tuple[str, int, int]:
    """A text in UTF-8 without NUL bytes; how many bytes were invalid, and how many NUL."""
    try:
        text, replaced = data.decode(), 0
    except UnicodeDecodeError:
        text = data.decode("utf-8", "replace")
        replaced = text.count("\ufffd") - data.count("\ufffd".encode())
    nuls = text.count("\0")
    return text.replace("\0", " ") if nuls else text, replaced, nuls


def is_empty(row: Sequence[str]) -> bool:
    """Whether a line is no row, as it has no cells."""
    return not row or (len(row) == 1 and not row[0].strip())


def _lines_of(text: str) -> list[str]:
    return io.StringIO(text, newline="").readlines()


def _block(rows: Iterable[tuple[int, list[str] | None]], shape: Shape) -> CsvBlock:
    width = shape.width
    cells: list[list[str]] = []
    faults: list[int] = []
    for _, row in rows:
        if row is None:
            cells.append([""] * width)
            faults.append(UNCLOSED)
        elif not is_empty(row):
            faults.append(min(rows_in(len(row), width), MOST_ROWS) if any(row[width:]) else 0)
            cells.append(row if len(row) >= width else row + [""] * (width - len(row)))
    wanted = {*shape.numbers, *shape.texts}
    columns = {column: [row[column] for row in cells] for column in wanted}
    numbers = {column: whole_numbers(columns[column]) for column in shape.numbers}
    return CsvBlock(
        len(cells),
        {column: values for column, (values, _) in numbers.items()},
        {column: distinct_texts(columns[column]) for column in shape.texts},
        np.array(faults, np.int8),
        odd={column: first for column, (_, first) in numbers.items() if first is not None},
    )


def row_at(path: str, shape: Shape, header: int, row: int) -> tuple[int, str]:
    """The line (from 1) and the text of a row, counted from 0 without empty lines.

    header: the lines before the rows. (0, "") for a row far from the start, which takes too long to
    find.
    """
    if row > _FARTHEST_ROW:
        return 0, ""
    with closing(_parts(path, header)) as parts:
        # Where a CR in a line ends a row, too, lines are no longer those of an editor.
        even = itertools.takewhile(
            lambda part: not any(b"\r" in line.rstrip(b"\r\n") for line in part[1]), parts
        )
        texts = ([line.decode("utf-8", "replace") for line in part] for _, part in even)
        rows = RowReader(texts, shape.separator, width=shape.width)
        numbers = (number for number, cells in rows if cells is None or not is_empty(cells))
        number = next(itertools.islice(numbers, row, None), 0)
    if not number:
        return 0, ""
    with closing(_parts(path, header)) as parts:
        text = next(lines[number - first] for first, lines in parts if number < first + len(lines))
    return header + number, text.decode("utf-8", "replace").strip()


def _parts(path: str, header: int) -> Generator[tuple[int, list[bytes]], None, None]:
    """Lines after the header, each part with the number of its first one from 1."""
    with TextLines(path) as file:
        for _ in range(header):
            file.readline(LONGEST_LINE)
        first = 1
        while lines := io.BytesIO(whole_lines(file, CHUNK, path)).readlines():
            yield first, lines
            first += len(lines)
