"""Reads the rows of a CSV as columns of codes and numbers: in blocks, two at a time, or by lines.

A block ends at a line end outside of quotes: the quotes before it are even in number. A quote
inside a cell without quotes is only a character and makes that count wrong, and so does one that is
lost. So a parsed block also has to show that its quotes fit its lines. In one that does not, lines
with an odd number of quotes are read in order, one by one. The file is only read in order, since
one that is packed cannot be read otherwise.

Whole lines are parsed with pyarrow: several times as many rows per second, without the interpreter
lock. What it would read differently is read line by line: rows of another width one by one, and a
block with lines of only spaces, or with quotes that do not fit its lines, as a whole.
"""

from __future__ import annotations

import csv
import io
import itertools
import re
from collections import Counter, deque
from collections.abc import Generator, Iterable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import closing
from itertools import islice
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from viewer.arrays import Bools, Ints, flags_at, parts_of
from viewer.codecs.memory_budget import allowance
from viewer.dataclasses import dataclass, field, replace
from viewer.formats.table.packed_text import TextLines
from viewer.formats.text_rows import (
    CHUNK,
    LONGEST_LINE,
    DistinctTexts,
    LineFile,
    RowReader,
    TextColumn,
    distinct_texts,
    rest_of_line,
    rows_in,
    whole_lines,
)

if TYPE_CHECKING:
    import pyarrow as pa
    from pyarrow import csv as arrow_csv


# A slice from -2**62 to 2**62 lasts longer than a time may be.
NUMBER_LIMIT = 2**63 - 2
_TIME = re.compile(r"\s*([+-]?[0-9]{1,19})(?:\.0*)?\s*")

# Faults of a row: a quote is not closed, or the number of rows that its line has, up to MOST_ROWS.
UNCLOSED, MOST_ROWS = -1, 127

# Values, and which of them are usable (others are 0).
Numbers = tuple[Ints, Bools]
# The first row without a usable number, and its text.
FirstOdd = tuple[int, str] | None


@dataclass(frozen=True, slots=True)
class Shape:
    """The columns read from each row: integers and texts. `width`: columns in the header."""

    separator: str
    width: int
    numbers: tuple[int, ...]
    texts: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class CsvBlock:
    """Some rows as columns.

    numbers: values, and which of them are usable (others are 0). faults: UNCLOSED for a row with a
    quote that is not closed; for one with more cells than the header, how many rows its line has;
    else 0. replaced, nuls: number of invalid UTF-8 bytes and NUL bytes, in a block of `size` bytes.
    odd: for a column of numbers, the first row without a usable one, and its text.
    """

    rows: int
    numbers: dict[int, Numbers]
    texts: dict[int, TextColumn]
    faults: NDArray[np.int8]
    replaced: int = 0
    nuls: int = 0
    size: int = 0
    odd: dict[int, tuple[int, str]] = field(default_factory=dict)


def whole_numbers(cells: Sequence[str]) -> tuple[Numbers, FirstOdd]:
    """Parse integers."""
    joined = "".join(cells)
    try:
        # int() would also accept "1_000" and digits of other scripts.
        if not joined.isascii() or "_" in joined:
            raise ValueError
        values = np.fromiter(map(int, cells), np.int64, len(cells))
    except (ValueError, OverflowError):
        matches = map(_TIME.fullmatch, cells)
        numbers = (int(m[1]) if m else NUMBER_LIMIT + 1 for m in matches)
        bounded = (n if abs(n) <= NUMBER_LIMIT else NUMBER_LIMIT + 1 for n in numbers)
        values = np.fromiter(bounded, np.int64, len(cells))
    usable, first = usable_numbers(values)
    return usable, None if first < 0 else (first, cells[first])


def usable_numbers(values: Ints) -> tuple[Numbers, int]:
    """Which numbers are within the limit, and the first one that is not, else -1."""
    if values.min(initial=0) >= -NUMBER_LIMIT and values.max(initial=0) <= NUMBER_LIMIT:
        return (values, np.ones(len(values), np.bool_)), -1
    ok = (values <= NUMBER_LIMIT) & (values >= -NUMBER_LIMIT)
    return (np.where(ok, values, 0), ok), int(np.argmin(ok))


def with_rows(block: CsvBlock, more: CsvBlock, more_rows: Ints) -> CsvBlock:
    """A block with the rows of another one, in the places `more_rows` of the result (ascending)."""
    rows = block.rows + more.rows
    is_more = flags_at(rows, more_rows)
    own_at = np.flatnonzero(~is_more)

    def joined(values: NDArray[Any], others: NDArray[Any]) -> NDArray[Any]:
        merged = np.empty(rows, values.dtype)
        merged[own_at], merged[more_rows] = values, others
        return merged

    texts: dict[int, TextColumn] = {}
    for column, text_column in block.texts.items():
        distinct_texts = DistinctTexts()
        codes = joined(
            distinct_texts.codes_of(text_column), distinct_texts.codes_of(more.texts[column])
        )
        texts[column] = TextColumn(codes, list(distinct_texts))
    numbers: dict[int, Numbers] = {}
    odd: dict[int, tuple[int, str]] = {}
    for column, (values, ok) in block.numbers.items():
        other_values, other_ok = more.numbers[column]
        numbers[column] = joined(values, other_values), joined(ok, other_ok)
        places = ((own_at, block.odd.get(column)), (more_rows, more.odd.get(column)))
        first = [(int(place[odd[0]]), odd[1]) for place, odd in places if odd]
        if first:
            odd[column] = min(first)
    faults = joined(block.faults, more.faults)
    return replace(block, rows=rows, numbers=numbers, texts=texts, faults=faults, odd=odd)


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


_FIRST_ROWS = 8


class _Refused(Exception):
    """pyarrow does not read a block as the reader of lines does."""


def parsed(data: bytes, shape: Shape) -> CsvBlock | None:
    """Parse whole lines; None if their quotes do not fit them, so that later lines may matter."""
    replaced, nuls, size = 0, 0, len(data)
    if not data.isascii() or b"\0" in data:
        text, replaced, nuls = decoded(data)
        if replaced or nuls:
            data = text.encode()
    try:
        block = _coded(data, shape)
    except _Refused:
        block = None if b'"' in data else block_of(data.decode(), shape)
    return None if block is None else replace(block, replaced=replaced, nuls=nuls, size=size)


def _coded(data: bytes, shape: Shape) -> CsvBlock | None:
    import pyarrow as pa

    width = _width(data, shape)
    if width < 2:
        raise _Refused  # lines of only spaces would be rows
    # A row of another width as the last one: an open quote would take it into its cell.
    last = shape.separator * (shape.width + 2)
    is_quoted = b'"' in data
    if is_quoted:
        data = b"%s%s%s\n" % (data, b"" if data.endswith(b"\n") else b"\n", last.encode())
    uneven: list[tuple[int, str]] = []
    table = None
    if not _has_hexadecimal(data):
        try:
            table = _table(data, shape, width, pa.int64(), uneven)
        except pa.ArrowInvalid:
            uneven.clear()  # a cell is not a number
    if table is None:
        try:
            table = _table(data, shape, width, pa.string(), uneven)
        except pa.ArrowInvalid as error:
            raise _Refused from error
    rows = table.num_rows
    if is_quoted and (not uneven or uneven.pop() != (rows + len(uneven) + 1, last)):
        return None
    has_cells_of_lines = is_quoted and rows + len(uneven) + 1 != data.count(b"\n")
    if has_cells_of_lines and not _quotes_fit(data, shape.separator):
        return None
    numbers: dict[int, Numbers] = {}
    odd: dict[int, tuple[int, str]] = {}
    for column in shape.numbers:
        numbers[column], first = _numbers(table, column)
        if first is not None:
            odd[column] = first
    texts = {column: _texts(table, column) for column in shape.texts}
    beyond = _texts(table, shape.width)
    faults = np.array([text != "" for text in beyond.distinct], np.int8)[beyond.codes]
    if has_cells_of_lines and (width < shape.width or faults.any()):
        raise _Refused  # only a row of the header's width may have such cells
    block = CsvBlock(rows, numbers, texts, faults, odd=odd)
    if not uneven:
        return block
    more = block_of("\n".join(text for _, text in uneven), shape)
    if more.rows != len(uneven):
        raise _Refused  # lines of only spaces are no rows
    return with_rows(block, more, np.array([number for number, _ in uneven], np.int64) - 1)


def _quotes_fit(data: bytes, separator: str) -> bool:
    """Whether each cell with line ends begins after a separator or line end, and ends before one.

    That is asked of quotes in pairs: a quote that is only a character makes it false, too.
    """
    values = np.frombuffer(data, np.uint8)
    is_quote = values == ord('"')
    signs = np.flatnonzero(is_quote | (values == ord("\n")))
    is_quote = is_quote[signs]
    quotes = signs[is_quote]
    after = np.cumsum(is_quote)[~is_quote]  # the quote after each line end, as its number
    closing = after[after % 2 == 1]  # of cells with a line end
    if len(closing) and closing[-1] == len(quotes):
        return False
    around = np.frombuffer(b'"\r\n' + separator.encode(), np.uint8)
    begins = np.concatenate([around[-1:], values])[quotes[closing - 1]]
    ends = values[quotes[closing] + 1]  # a line end is the last byte
    return bool(np.isin(begins, around).all() and np.isin(ends, around).all())


def _width(data: bytes, shape: Shape) -> int:
    """The cells of most of the first rows, but at most one more than the header has."""
    lines = (line.decode("utf-8", "replace") for line in islice(io.BytesIO(data), _FIRST_ROWS))
    try:
        widths = Counter(map(len, csv.reader(lines, delimiter=shape.separator)))
    except csv.Error:
        return shape.width
    del widths[0]
    return min(widths.most_common(1)[0][0], shape.width + 1) if widths else shape.width


def _has_hexadecimal(data: bytes) -> bool:
    """Whether "0x" occurs: pyarrow reads 0x10 as a number.

    `in` takes a tenth of the time of parsing, unless it looks for a single byte.
    """
    if b"x" not in data and b"X" not in data:
        return False
    values = np.frombuffer(data, np.uint8)
    zero, after = values[:-1], values[1:]
    return any(
        bool(((zero[part] == ord("0")) & ((after[part] | 0x20) == ord("x"))).any())
        for part in parts_of(len(after))
    )


def _table(
    data: bytes, shape: Shape, width: int, number: pa.DataType, uneven: list[tuple[int, str]]
) -> pa.Table:
    """The rows of `width` cells; the others are added to `uneven`, with their number from 1.

    number: the type of the columns of numbers. Raises ArrowInvalid if a cell does not fit it.
    """
    import pyarrow as pa
    from pyarrow import csv as arrow_csv

    def note(row: arrow_csv.InvalidRow) -> str:
        uneven.append((row.number, row.text))
        return "skip"

    codes = pa.dictionary(pa.int32(), pa.string())
    kinds = {str(column): codes for column in (*shape.texts, shape.width)}
    kinds.update({str(column): number for column in shape.numbers})
    return arrow_csv.read_csv(
        pa.py_buffer(data),
        arrow_csv.ReadOptions(
            use_threads=False,
            block_size=len(data) + 1,
            column_names=[str(column) for column in range(width)],
        ),
        arrow_csv.ParseOptions(delimiter=shape.separator, invalid_row_handler=note),
        arrow_csv.ConvertOptions(
            check_utf8=False,  # done before
            column_types=kinds,
            null_values=[],
            strings_can_be_null=False,
            include_columns=[column for column in kinds if int(column) < width],
        ),
    )


def _texts(table: pa.Table, column: int) -> TextColumn:
    """A column of codes; empty texts if no row has it."""
    name = str(column)
    if name not in table.column_names or not table.num_rows:
        return TextColumn(np.zeros(table.num_rows, np.uint32), [""])
    chunk = table.column(name).combine_chunks()
    return TextColumn(chunk.indices.to_numpy().view(np.uint32), chunk.dictionary.to_pylist())


def _numbers(table: pa.Table, column: int) -> tuple[Numbers, FirstOdd]:
    name = str(column)
    if name not in table.column_names:
        return whole_numbers([""] * table.num_rows)
    chunks = table.column(name)
    if not str(chunks.type).startswith("int"):
        return whole_numbers(chunks.to_pylist())
    values = chunks.to_numpy()
    numbers, first = usable_numbers(values)
    return numbers, None if first < 0 else (first, str(values[first]))


BLOCK = 8 << 20
_AT_ONCE = 2
# A cell in quotes with line ends is in one block up to this many bytes.
_LONGEST_CELL = 1 << 20
# Lines with an odd number of quotes that are no more bytes apart are read together: pyarrow takes a
# millisecond for any block.
_NEAR = 1 << 13


def blocks(file: LineFile, path: str, shape: Shape) -> Generator[tuple[CsvBlock, int], None, None]:
    """All rows from the current position, each block with the file position after it.

    Raises UnreadableFile. Closing the iterator cancels pending parsing.
    """
    again = ReadAgain(file)
    with ThreadPoolExecutor(_AT_ONCE, "csv") as pool:
        while data := (yield from _parsed(again, path, shape, pool)):
            begin = again.tell()
            for first, end in _odd_regions(data):
                if (size := begin + first - again.tell()) > 0:
                    part = again.read(size)
                    block = parsed(part, shape)
                    if block is None:
                        again.put_back(part)
                        yield from _in_order(again, path, shape, begin + first)
                    else:
                        yield block, again.tell()
                yield from _in_order(again, path, shape, begin + end)


def _in_order(file: ReadAgain, path: str, shape: Shape, end: int) -> Iterator[tuple[CsvBlock, int]]:
    """The rows up to a position, and further lines if the last row has some."""
    while (size := end - file.tell()) > 0 and (block := block_in_order(file, path, shape, size)):
        yield block, file.tell()


def _odd_regions(data: bytes) -> list[tuple[int, int]]:
    """Where lines with an odd number of quotes are, those near to each other as one; else all."""
    values = np.frombuffer(data, np.uint8)
    ends = np.append(np.flatnonzero(values == ord("\n")) + 1, len(data))
    before = np.searchsorted(np.flatnonzero(values == ord('"')), ends)
    odd = np.flatnonzero(np.diff(before, prepend=0) % 2)
    if not len(odd):
        return [(0, len(data))]
    begins, ends = np.append(0, ends[:-1])[odd], ends[odd]
    far = np.flatnonzero(begins[1:] - ends[:-1] > _NEAR)
    firsts, lasts = np.append(0, far + 1), np.append(far, len(odd) - 1)
    return list(zip(begins[firsts].tolist(), ends[lasts].tolist(), strict=True))


def _parsed(
    file: ReadAgain, path: str, shape: Shape, pool: ThreadPoolExecutor
) -> Generator[tuple[CsvBlock, int], None, bytes]:
    """The blocks up to one with quotes that do not fit: it is put back and returned; b"" else."""
    waiting: deque[tuple[Future[CsvBlock | None], bytes, int]] = deque()
    cut = _cut(file, path)
    try:
        while True:
            data = next(cut, b"")
            if data:
                waiting.append((pool.submit(parsed, data, shape), data, file.tell()))
                if len(waiting) <= _AT_ONCE:
                    continue
            if not waiting:
                return b""
            done, data, position = waiting.popleft()
            block = done.result()
            if block is None:
                file.put_back(b"".join([data, *(later for _, later, _ in waiting)]))
                return data
            yield block, position
    finally:
        for future, _, _ in waiting:
            future.cancel()


def _cut(file: LineFile, path: str) -> Iterator[bytes]:
    """Split into blocks of whole lines; no cell in quotes is cut.

    If the quotes are uneven in number for too long, the block ends at the first line end.
    """
    while data := whole_lines(file, BLOCK, path):
        if b'"' in data and _quotes(data) % 2:
            data += _rest_of_cell(file, path)
        yield data


def _quotes(data: bytes) -> int:
    """The number of quotes; `bytes.count` takes three times as long if they are many."""
    values = np.frombuffer(data, np.uint8)
    return sum(int(np.count_nonzero(values[part] == ord('"'))) for part in parts_of(len(values)))


def _rest_of_cell(file: LineFile, path: str) -> bytes:
    """The lines up to the one that closes a cell in quotes, but at most `_LONGEST_CELL` bytes."""
    lines: list[bytes] = []
    size = 0
    while size < _LONGEST_CELL and (line := rest_of_line(file, path)):
        lines.append(line)
        size += len(line)
        if line.count(b'"') % 2:
            break
    return b"".join(lines)
