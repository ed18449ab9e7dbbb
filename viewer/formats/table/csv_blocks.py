"""Cuts a large CSV into blocks of whole lines and parses two of them at a time.

A block ends at a line end outside of quotes: the quotes before it are even in number. A quote
inside a cell without quotes is only a character and makes that count wrong. So a parsed block also
has to show that no quote is open at its end. From the first one that does not, the rest is one
stream, which is read in order.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Generator, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from typing import BinaryIO

import numpy as np

from viewer.arrays import parts_of
from viewer.formats.table.arrow_rows import parsed
from viewer.formats.table.csv_rows import CsvBlock, Shape
from viewer.formats.table.csv_stream import blocks_in_order
from viewer.formats.text_rows import LineFile, rest_of_line

BLOCK = 8 << 20
_AT_ONCE = 2
# A cell in quotes with line ends is in one block up to this many bytes.
_LONGEST_CELL = 1 << 20


def blocks(file: BinaryIO, path: str, shape: Shape) -> Generator[tuple[CsvBlock, int], None, None]:
    """All rows from the current position, each block with the file position after it.

    Raises UnreadableFile. Closing the iterator cancels pending parsing.
    """
    rows = 0
    unclosed: int | None = None
    with ThreadPoolExecutor(_AT_ONCE, "csv") as pool:
        waiting: deque[tuple[Future[CsvBlock | None], int, int]] = deque()
        cut = _cut(file, path)
        try:
            while True:
                begin, data = next(cut, (0, b""))
                if data:
                    future = pool.submit(parsed, data, shape)
                    waiting.append((future, begin, begin + len(data)))
                    if len(waiting) <= _AT_ONCE:
                        continue
                if not waiting:
                    break
                done, begin, at = waiting.popleft()
                block = done.result()
                if block is None:
                    unclosed = begin
                    break
                rows += block.rows
                yield block, at
        finally:
            for future, _, _ in waiting:
                future.cancel()
    if unclosed is not None:
        file.seek(unclosed)
        yield from blocks_in_order(file, path, shape, rows)


def _cut(file: BinaryIO, path: str) -> Iterator[tuple[int, bytes]]:
    """Split into blocks of whole lines, with their positions; no cell in quotes is cut.

    If the quotes are uneven in number for too long, the block ends at the first line end. That line
    end is located first, so that a block is read in one call and not copied.
    """
    begin = file.tell()
    while True:
        file.seek(begin + BLOCK)
        rest_of_line(file, path)
        size = file.tell() - begin
        file.seek(begin)
        data = file.read(size)
        if not data:
            return
        if b'"' in data and _quotes(data) % 2:
            data += _rest_of_cell(file, path)
        yield begin, data
        begin += len(data)


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
