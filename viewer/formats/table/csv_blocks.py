"""Cuts a CSV into blocks of whole lines and parses two of them at a time.

A block ends at a line end outside of quotes: the quotes before it are even in number. A quote
inside a cell without quotes is only a character and makes that count wrong, and so does one that is
lost. So a parsed block also has to show that its quotes fit its lines. In one that does not, lines
with an odd number of quotes are read in order, one by one.

The file is only read in order, since one that is packed cannot be read otherwise.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Generator, Iterator
from concurrent.futures import Future, ThreadPoolExecutor

import numpy as np

from viewer.arrays import parts_of
from viewer.formats.table.arrow_rows import parsed
from viewer.formats.table.csv_lines import ReadAgain, block_in_order
from viewer.formats.table.csv_rows import CsvBlock, Shape
from viewer.formats.text_rows import LineFile, rest_of_line, whole_lines

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
            done, data, at = waiting.popleft()
            block = done.result()
            if block is None:
                file.put_back(b"".join([data, *(later for _, later, _ in waiting)]))
                return data
            yield block, at
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
