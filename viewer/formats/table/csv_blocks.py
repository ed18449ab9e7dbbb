"""Cuts a CSV into blocks of whole lines and parses two of them at a time.

A block ends at a line end outside of quotes: the quotes before it are even in number. A quote
inside a cell without quotes is only a character and makes that count wrong, and so does one that is
lost. So a parsed block also has to show that its quotes fit its lines. In one that does not, lines
with an odd number of quotes are read in order, one by one.

The file is only read in order, since one that is packed cannot be read otherwise.

Whole lines are parsed with pyarrow: several times as many rows per second, without the interpreter
lock. What it reads differently from `csv_lines`, that reads: rows of another width one by one, and
a block with lines of only spaces, or with quotes that do not fit its lines, as a whole.
"""

from __future__ import annotations

import csv
import io
from collections import Counter, deque
from collections.abc import Generator, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import replace
from itertools import islice
from typing import TYPE_CHECKING

import numpy as np

from viewer.arrays import parts_of
from viewer.formats.table.csv_lines import ReadAgain, block_in_order, block_of, decoded
from viewer.formats.table.csv_rows import (
    CsvBlock,
    FirstOdd,
    Numbers,
    Shape,
    usable_numbers,
    whole_numbers,
    with_rows,
)
from viewer.formats.text_rows import LineFile, TextColumn, rest_of_line, whole_lines

if TYPE_CHECKING:
    import pyarrow as pa
    from pyarrow import csv as arrow_csv

_FIRST_ROWS = 8


class _Refused(Exception):
    """pyarrow does not read a block as `csv_lines` does."""


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
