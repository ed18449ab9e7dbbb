"""Opens the first part of a file as if the file ended there.

How much is read is up to the allowance of the thread (`memory_budget`); usually it is all.
"""

from __future__ import annotations

import io
import os
from fractions import Fraction
from typing import TYPE_CHECKING, BinaryIO

from viewer.codecs.memory_budget import allowance

if TYPE_CHECKING:
    from _typeshed import WriteableBuffer

_AT_ONCE = 1 << 20  # bytes


def open_part(path: str, *, lines: bool = False, quotes: bool = False) -> tuple[BinaryIO, int]:
    """Open the part of a file that is to be read; also returns its size in bytes.

    lines: it ends after a whole line and has at least two, if the file has. quotes: line ends
    inside double quotes do not count. Raises OSError.
    """
    file = open(path, "rb")  # noqa: SIM115 - the caller closes it
    size = os.fstat(file.fileno()).st_size
    part = allowance().part
    if part >= 1:
        return file, size
    end = part_size(size, part)
    if lines:
        end = _end_of_line(file, end, quotes=quotes)
    return io.BufferedReader(_Prefix(file, end)), end


def part_size(size: int, part: Fraction) -> int:
    """The bytes of a part of a file of `size` bytes, rounded up."""
    return -(-size * part.numerator // part.denominator)


def is_partial() -> bool:
    """Whether only a part of the file is read, so that its end says nothing about damage."""
    return allowance().part < 1


def _end_of_line(file: BinaryIO, end: int, *, quotes: bool) -> int:
    """The end of the last whole line before `end`, but at least that of the second line."""
    file.seek(0)
    second = len(file.readline(_AT_ONCE)) + len(file.readline(_AT_ONCE))
    limit = end
    if quotes:
        count = last = 0
        file.seek(0)
        for begin in range(0, end, _AT_ONCE):
            block = file.read(min(_AT_ONCE, end - begin))
            if quote_count := block.count(b'"'):
                count, last = count + quote_count, begin + block.rfind(b'"')
        if count % 2:
            limit = last  # the end is inside quotes, and the line that they are in is left out
    while limit > 0:
        begin = max(0, limit - _AT_ONCE)
        file.seek(begin)
        newline = file.read(limit - begin).rfind(b"\n")
        if newline >= 0:
            return max(begin + newline + 1, second)
        limit = begin
    return second


class _Prefix(io.RawIOBase):
    """The first bytes of an open file; closing it closes the file."""

    def __init__(self, file: BinaryIO, size: int) -> None:
        self._file, self._size = file, size
        file.seek(0)

    def readable(self) -> bool:
        return True

    def seekable(self) -> bool:
        return True

    def seek(self, offset: int, whence: int = os.SEEK_SET) -> int:
        if whence == os.SEEK_END:
            return self._file.seek(self._size + offset)
        return self._file.seek(offset, whence)

    def tell(self) -> int:
        return self._file.tell()

    def readinto(self, buffer: WriteableBuffer) -> int:
        room = memoryview(buffer).cast("B")
        got = self._file.read(max(0, min(len(room), self._size - self._file.tell())))
        room[: len(got)] = got
        return len(got)

    def close(self) -> None:
        self._file.close()
        super().close()
