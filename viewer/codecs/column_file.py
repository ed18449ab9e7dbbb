"""Files of columns that are mapped instead of read: a JSON head, and the bytes of arrays.

A file begins with its mark, its size, and the size and CRC of its head. The head has what the
writer says about the file (`key`), its values (`content`), and of each column its dtype, length,
offset and CRC. Columns begin at multiples of 64 bytes. Nothing in it is code: no pickle. It is
never changed once it has its name, so that it can be mapped.
"""

from __future__ import annotations

import json
import mmap  # noqa: TID251
import os
import stat
import struct
import sys
import threading
import weakref
import zlib
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from viewer.codecs.atomic_file import WriteCancelled, replacing
from viewer.codecs.large_arrays import count_pages
from viewer.codecs.reading import Cancelled, never_cancelled

Json = Any  # what `json.loads` returns

_MARK = b"opscope columns\n"
_FIRST = struct.Struct("<16sQQI")  # mark, size of the file, size of the head, CRC of the head
_ALIGNED = 64
_DTYPES = frozenset(
    ("|b1", "|u1", "|i1", "<u2", "<i2", "<u4", "<i4", "<u8", "<i8", "<f2", "<f4", "<f8")
)
SMALL = 1 << 16  # bytes; the CRC of a column up to this size is checked when it is asked for
_AT_ONCE = 4 << 20  # bytes
_NOT_A_LINK = sum(getattr(os, flag, 0) for flag in ("O_NOFOLLOW", "O_NONBLOCK", "O_BINARY"))


class DamagedFile(Exception):
    """A file of columns is not as it was written; the message says what."""


class NotStorable(Exception):
    """A value has no place in a file of columns; the message says which."""


def is_storable(column: NDArray[Any]) -> bool:
    """Whether an array can be a column."""
    return column.ndim == 1 and column.dtype.str in _DTYPES


def size_of_columns(columns: Sequence[NDArray[Any]]) -> int:
    """The bytes that some columns take in a file."""
    return sum(_aligned(column.nbytes) for column in columns)


def write_columns(
    path: str,
    key: Json,
    content: Json,
    columns: Sequence[NDArray[Any]],
    cancelled: Cancelled = never_cancelled,
) -> None:
    """Write a file that only its owner may read, atomically. Raises OSError or WriteCancelled."""
    blocks = [np.ascontiguousarray(column) for column in columns]
    rows, offset = [], 0
    for block in blocks:
        rows.append([block.dtype.str, len(block), offset, zlib.crc32(_bytes_of(block))])
        offset += _aligned(block.nbytes)
        if cancelled():
            raise WriteCancelled
    head = json.dumps({"key": key, "columns": rows, "content": content}).encode()
    begin = _aligned(_FIRST.size + len(head))
    with replacing(path, is_private=True) as file:
        file.write(_FIRST.pack(_MARK, begin + offset, len(head), zlib.crc32(head)))
        file.write(head)
        file.write(bytes(begin - _FIRST.size - len(head)))
        for block in blocks:
            view = _bytes_of(block)
            for start in range(0, len(view), _AT_ONCE):
                if cancelled():
                    raise WriteCancelled
                file.write(view[start : start + _AT_ONCE])
            file.write(bytes(_aligned(block.nbytes) - block.nbytes))


def _bytes_of(block: NDArray[Any]) -> memoryview:
    return block.view(np.uint8).data


def _aligned(size: int) -> int:
    return -(-size // _ALIGNED) * _ALIGNED


class ColumnFile:
    """An open file of columns. key, content: as it was written. size: of the file, in bytes."""

    def __init__(self, path: str) -> None:
        """Raises OSError and DamagedFile."""
        self.path = path
        self._descriptor = descriptor = os.open(path, os.O_RDONLY | _NOT_A_LINK)
        weakref.finalize(self, os.close, descriptor)
        self._lock = threading.Lock()
        status = os.fstat(descriptor)
        if not stat.S_ISREG(status.st_mode):
            raise DamagedFile("it is not a regular file")
        if sys.platform != "win32" and (status.st_uid != os.geteuid() or status.st_mode & 0o077):
            raise DamagedFile("others may have written it")
        self.size = status.st_size
        first = self._read(0, _FIRST.size)
        if len(first) < _FIRST.size:
            raise DamagedFile("it is too short")
        mark, size, head_size, crc = _FIRST.unpack(first)
        if mark != _MARK or size != self.size or head_size > size - _FIRST.size:
            raise DamagedFile("its size is not the one that it states")
        head = self._read(_FIRST.size, head_size)
        if zlib.crc32(head) != crc:
            raise DamagedFile("its head has another CRC")
        try:
            tree = json.loads(head)
            self.key, self.content, rows = tree["key"], tree["content"], tree["columns"]
            self._columns = _checked(rows, _aligned(_FIRST.size + head_size), size)
        except (ValueError, TypeError, KeyError, RecursionError) as error:
            raise DamagedFile(f"its head cannot be read ({error})") from error
        if os.fstat(descriptor).st_size != size:
            raise DamagedFile("it is becoming shorter")
        self._map = mmap.mmap(descriptor, size, access=mmap.ACCESS_READ)
        count_pages(self._map)

    def __len__(self) -> int:
        return len(self._columns)

    def column(self, number: object, *, check: bool = False) -> NDArray[Any]:
        """Return a column, mapped; its CRC is checked if it is small or `check` says so.

        Raises DamagedFile.
        """
        if type(number) is not int or not 0 <= number < len(self._columns):
            raise DamagedFile(f"it has no column {number!r}")
        dtype, count, offset, crc = self._columns[number]
        column = np.frombuffer(self._map, dtype, count, offset)
        if (check or column.nbytes <= SMALL) and zlib.crc32(_bytes_of(column)) != crc:
            raise DamagedFile(f"column {number} has another CRC")
        return column

    def damage(self, cancelled: Cancelled = never_cancelled) -> str:
        """Return what is damaged in any column, "" if nothing is; reads all of them.

        Raises OSError and WriteCancelled.
        """
        for number, (dtype, count, offset, crc) in enumerate(self._columns):
            now, end = 0, offset + dtype.itemsize * count
            for begin in range(offset, end, _AT_ONCE):
                if cancelled():
                    raise WriteCancelled
                # Not through the map, whose pages would count as memory of this process.
                now = zlib.crc32(self._read(begin, min(_AT_ONCE, end - begin)), now)
            if now != crc:
                return f"column {number} has another CRC"
        return ""

    def _read(self, begin: int, size: int) -> bytes:
        with self._lock:
            os.lseek(self._descriptor, begin, os.SEEK_SET)
            return os.read(self._descriptor, size)


def _checked(rows: list[Any], begin: int, size: int) -> list[tuple[np.dtype[Any], int, int, int]]:
    """Return dtype, length, offset in the file and CRC of all columns. Raises ValueError."""
    columns, expected = [], 0
    for name, count, offset, crc in rows:
        if name not in _DTYPES or {type(count), type(offset), type(crc)} != {int}:
            raise ValueError("a column of another type")
        if count < 0 or offset != expected:
            raise ValueError("a column at another place")
        dtype = np.dtype(name)
        expected += _aligned(dtype.itemsize * count)
        columns.append((dtype, count, begin + offset, crc))
    if begin + expected != size:
        raise ValueError("columns of another size")
    return columns
