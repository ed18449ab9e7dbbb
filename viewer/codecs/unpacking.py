"""Reads files in order, all or their first part, and unpacks gzip, within one budget.

How much of a file is read is up to the allowance of the thread (`memory_budget`). A part is read as
if the file ended there. What a packed file states about its size is not believed: bytes are counted
as they come, and compared with the packed ones. Nothing else reads gzip, so that damage is the same
everywhere: what can be unpacked before it is read, and `fault` says what it is.
"""

from __future__ import annotations

import io
import os
import shutil
import zlib
from collections.abc import Collection
from fractions import Fraction
from typing import TYPE_CHECKING, BinaryIO, Protocol

from viewer.codecs.memory_budget import allowance
from viewer.codecs.reading import Cancelled, UnreadableFile, never_cancelled, stop_if
from viewer.codecs.system_memory import is_in_memory

if TYPE_CHECKING:
    import zipfile

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


# A real PyTorch trace is packed 13:1, the sheet of a workbook with equal rows 60:1; a list of one
# event repeated, 340:1. Deflate cannot exceed 1032:1.
MOST_RATIO = 300
# Bytes that any file may become: they are unpacked in a tenth of a second.
ALWAYS = 16 << 20
# What other programs need of the disk.
_ROOM = 64 << 20
_CHUNK, _READ_AHEAD = 1 << 20, 1 << 13


class Unpacked:
    """The bytes that come out of a packed file.

    what: what grows, as the start of a sentence. ratio, always: it may have `ratio` bytes for each
    packed one, and `always` bytes in addition.
    """

    def __init__(
        self, path: str, what: str = "it", ratio: int = MOST_RATIO, always: int = ALWAYS
    ) -> None:
        self.count = 0
        self._path, self._what, self._ratio, self._always = path, what, ratio, always

    def add(self, count: int, packed: int) -> None:
        """Count bytes, which with those before come from so many. Raises UnreadableFile."""
        self.count += count
        if self.count > self._ratio * packed + self._always:
            raise UnreadableFile(
                self._path,
                f"{self._what} grows {self._ratio} times or more when unpacked, which no usual "
                "profile does",
                remedy="Unpack it, and open the file, if you trust it",
            )


class Readable(Protocol):
    """What is read in order."""

    def read(self, most: int, /) -> bytes:
        """Up to `most` more bytes; b"" only at the end."""


class UnpackedMember:
    """A member of a ZIP archive, unpacked while it is read."""

    def __init__(
        self,
        archive: zipfile.ZipFile,
        info: zipfile.ZipInfo,
        what: str,
        ratio: int = MOST_RATIO,
        always: int = ALWAYS,
    ) -> None:
        """what, ratio, always: as for `Unpacked`. Raises what `zipfile` raises if it is damaged."""
        self._file = archive.open(info)
        assert archive.fp is not None
        self._packed, self._begin = archive.fp, archive.fp.tell()
        self._unpacked = Unpacked(archive.filename or "", what, ratio, always)

    def read(self, most: int) -> bytes:
        """Up to `most` more bytes. Raises UnreadableFile."""
        parts: list[bytes] = []
        while most > 0:
            # As many packed bytes are read ahead at most.
            got = self._file.read(min(most, _READ_AHEAD))
            if not got:
                break
            self._unpacked.add(len(got), self._packed.tell() - self._begin)
            parts.append(got)
            most -= len(got)
        return b"".join(parts)

    def __enter__(self) -> UnpackedMember:
        return self

    def __exit__(self, *_: object) -> None:
        self._file.close()


def write_temporary(
    source: Readable,
    to: str,
    of: str,
    cancelled: Cancelled = never_cancelled,
) -> None:
    """Write a stream to a file in a temporary folder.

    of: what it is from, for errors. Raises UnreadableFile, ReadCancelled, NotEnoughMemory, OSError.
    """
    folder = os.path.dirname(to)
    in_memory = is_in_memory(folder)
    count = 0
    with open(to, "wb") as target:
        while chunk := source.read(_CHUNK):
            stop_if(cancelled)
            count += len(chunk)
            if shutil.disk_usage(folder).free < _ROOM + _CHUNK:
                raise UnreadableFile(
                    of,
                    f"it needs more room than the temporary folder {os.path.dirname(folder)} has",
                    remedy="Set TMPDIR to a folder on a larger disk",
                )
            if in_memory:
                allowance().take(count)
            target.write(chunk)


MAGIC = b"\x1f\x8b"
_GZIP = 16 + zlib.MAX_WBITS
_MOST = 4096
_STEP = 4096
_PACKED = 1 << 18  # bytes that are read from the disk at once
_BLOCK = 1 << 21


def inflated_head(head: bytes) -> bytes:
    """At most 4096 decompressed bytes, those before any damage; b"" if `head` is not gzip."""
    while head.startswith(MAGIC):
        unpack = zlib.decompressobj(_GZIP)
        try:
            inflated = unpack.decompress(head, _MOST)
        except zlib.error:
            inflated = inflated_before_damage(zlib.decompressobj(_GZIP), head, _MOST)
        if inflated:
            return inflated
        head = unpack.unused_data.lstrip(b"\0")  # behind an empty member
    return b""


def inflated_before_damage(unpack: zlib._Decompress, packed: bytes, most: int) -> bytes:
    """What can be decompressed of some damaged bytes, at most so much."""
    inflated = b""
    size, position = _STEP, 0
    while size and len(inflated) < most and not unpack.eof:
        before = unpack.copy()
        try:
            inflated += unpack.decompress(packed[position : position + size], most - len(inflated))
            position += size
        except zlib.error:
            unpack = before
            size //= 8
    return inflated


class PackedFile:
    """A file read sequentially, decompressed if it is gzip (one or several members)."""

    def __init__(self, path: str) -> None:
        """Open the file. Raises OSError."""
        self.path = path
        self._file, self.size = open_part(path)
        self._packed = self._file.read(2) == MAGIC
        self._file.seek(0)
        self._unpack = zlib.decompressobj(_GZIP)
        self._left = b""
        self._count = Unpacked(path)
        self.done = 0  # bytes read from disk
        self.fault = ""  # why the gzip could not be read to its end

    @property
    def unpacked(self) -> int:
        """The bytes returned so far."""
        return self._count.count

    @property
    def share(self) -> float:
        """How much of the file has been unpacked, 0 to 1."""
        return (self.done - len(self._left)) / max(self.size, 1)

    @property
    def ratio(self) -> float:
        """Unpacked bytes per byte of the file, so far."""
        return self.unpacked / max(self.done - len(self._left), 1)

    def read(self, most: int) -> bytes:
        """Up to `most` more bytes; b"" at the end, or where a gzip is damaged.

        Raises UnreadableFile for a gzip that grows beyond all measure.
        """
        got = self._inflated(most) if self._packed else self._file.read(most)
        if not self._packed:
            self.done += len(got)
        self._count.add(len(got), self.done - len(self._left))
        return got

    def _inflated(self, most: int) -> bytes:
        while not self.fault:
            if not self._left:
                self._left = self._file.read(_PACKED)
                self.done += len(self._left)
            if self._unpack.eof:
                # Zero padding (from tapes), which gzip accepts too.
                self._left = self._left.lstrip(b"\0")
                if not self._left:
                    return b""
                self._unpack = zlib.decompressobj(_GZIP)
            ended = not self._left
            before = self._unpack.copy()
            try:
                got = self._unpack.decompress(self._left, most)
            except zlib.error as error:
                self.fault = f"the gzip is damaged ({error})"
                return inflated_before_damage(before, self._left, most)
            self._left = self._unpack.unconsumed_tail or self._unpack.unused_data
            if got:
                return got
            if ended and not self._unpack.eof:
                if not is_partial():
                    self.fault = "the gzip is truncated"
                return b""
        return b""

    def lines_at(self, positions: Collection[int]) -> dict[int, int]:
        """The lines of some unpacked bytes, from 1. Reads the file once more."""
        lines: dict[int, int] = {}
        todo = sorted(positions, reverse=True)
        begin, line = 0, 1
        with PackedFile(self.path) as source:
            while todo:
                data = source.read(_BLOCK)
                counted = 0
                while todo and (todo[-1] < begin + len(data) or not data):
                    position = todo.pop()
                    line += data.count(b"\n", counted, position - begin)
                    counted = position - begin
                    lines[position] = line
                line += data.count(b"\n", counted)
                begin += len(data)
        return lines

    def __enter__(self) -> PackedFile:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Close the file."""
        self._file.close()
