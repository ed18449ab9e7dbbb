"""Cuts a CSV into blocks of whole lines and parses two of them at a time.

A block ends at a line end outside of quotes: the quotes before it are even in number. A quote
inside a cell without quotes is only a character and makes that count wrong. So a parsed block also
has to show that no quote is open at its end. From the first one that does not, the rest is one
stream, which is read in order.

The file is only read in order, since one that is packed cannot be read otherwise.
"""

from __future__ import annotations

import io
from collections import deque
from collections.abc import Generator, Iterator
from concurrent.futures import Future, ThreadPoolExecutor

import numpy as np

from viewer.arrays import parts_of
from viewer.formats.table.arrow_rows import parsed
from viewer.formats.table.csv_rows import CsvBlock, Shape
from viewer.formats.table.csv_stream import blocks_in_order
from viewer.formats.text_rows import LineFile, rest_of_line, whole_lines

BLOCK = 8 << 20
_AT_ONCE = 2
# A cell in quotes with line ends is in one block up to this many bytes.
_LONGEST_CELL = 1 << 20


def blocks(file: LineFile, path: str, shape: Shape) -> Generator[tuple[CsvBlock, int], None, None]:
    """All rows from the current position, each block with the file position after it.

    Raises UnreadableFile. Closing the iterator cancels pending parsing.
    """
    rows = 0
    unclosed = b""  # what was read from the block on that ends inside a quote
    with ThreadPoolExecutor(_AT_ONCE, "csv") as pool:
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
                    break
                done, data, at = waiting.popleft()
                block = done.result()
                if block is None:
                    unclosed = b"".join([data, *(later for _, later, _ in waiting)])
                    break
                rows += block.rows
                yield block, at
        finally:
            for future, _, _ in waiting:
                future.cancel()
    if unclosed:
        yield from blocks_in_order(_ReadAgain(unclosed, file), path, shape, rows)


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


class _ReadAgain:
    """Text of a file that was read already, and then the rest of the file."""

    def __init__(self, text: bytes, file: LineFile) -> None:
        """text: whole lines, or all that was left of the file."""
        self._text, self._size = io.BytesIO(text), len(text)
        self._file = file

    def read(self, most: int, /) -> bytes:
        """Up to `most` more bytes; b"" only at the end."""
        return self._text.read(most) or self._file.read(most)

    def readline(self, most: int, /) -> bytes:
        """The next line, or its first `most` bytes."""
        return self._text.readline(most) or self._file.readline(most)

    def tell(self) -> int:
        """The position."""
        return self._file.tell() - self._size + self._text.tell()
