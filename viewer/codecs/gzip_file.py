"""Reads files that may be packed with gzip: their first bytes, or all of them in order.

Nothing else reads gzip, so that damage is the same everywhere: what can be unpacked before it is
read, and `fault` says what it is.
"""

from __future__ import annotations

import zlib
from collections.abc import Collection

from viewer.codecs.partial_file import is_partial, open_part
from viewer.codecs.unpacking import Unpacked

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
