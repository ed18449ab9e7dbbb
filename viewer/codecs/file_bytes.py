"""The bytes of files that others may write to: read when needed, compared by ranges, and hashed.

A file is never mapped into memory: if another program truncates it, touching a page behind its new
end kills the process (SIGBUS). A file that is not the one that was opened is an UnreadableFile:
tensors and tables of two states of it must not be mixed. A source file of an export is hashed when
the export is written, possibly hours after it was read; if it changed, the export says so instead.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Hashable, Iterable, Sequence
from typing import BinaryIO

import numpy as np
from numpy.typing import NDArray

from viewer.arrays import Ints, lists_by_key
from viewer.codecs.atomic_file import WriteCancelled
from viewer.codecs.reading import Cancelled, UnreadableFile, never_cancelled, stop_if
from viewer.dataclasses import dataclass

# Bytes that `LazyBytes` reads at once: weights between the tables of a program are left out.
_BLOCK_BITS = 14
# Files up to this are loaded whole: looking what is there takes longer.
_SMALL = 1 << 20


class FileBytes:
    """A file as it was when this was made; no descriptor stays open."""

    def __init__(self, path: str) -> None:
        """Raises OSError, and ValueError for a path with a NUL."""
        self.path = path
        with open(path, "rb", buffering=0) as file:
            self._stamp = _stamp(file.fileno())

    def __len__(self) -> int:
        return self._stamp[0]

    def read(self, start: int, stop: int) -> NDArray[np.uint8]:
        """A copy of some bytes. Raises UnreadableFile if the file has changed."""
        content = np.empty(stop - start, np.uint8)
        self.read_into(content, start)
        return content

    def read_into(self, target: NDArray[np.uint8], start: int) -> None:
        """Fill an array with the bytes from a position on. Raises as `read`."""
        try:
            with open(self.path, "rb", buffering=0) as file:
                file.seek(start)
                left = target.data
                while left and (got := file.readinto(left)):
                    left = left[got:]
                is_same = not left and _stamp(file.fileno()) == self._stamp
        except (OSError, ValueError) as error:
            reason = getattr(error, "strerror", None) or str(error)
            raise UnreadableFile(self.path, f"it cannot be read anymore ({reason})") from error
        if not is_same:
            raise UnreadableFile(
                self.path, "the file has changed since it was opened", remedy="Reload it"
            )


def _stamp(descriptor: int) -> tuple[int, int, int]:
    status = os.fstat(descriptor)
    return status.st_size, status.st_mtime_ns, status.st_ino


class LazyBytes:
    """Some bytes of a file in an array, of which only what was loaded is there.

    memory: the array; what was not loaded is 0, and takes no memory. is_whole: all is loaded.
    """

    def __init__(self, file: FileBytes) -> None:
        """Raises UnreadableFile."""
        self._file = file
        self.memory: NDArray[np.uint8] = np.zeros(len(file), np.uint8)
        self._whole = self.memory  # of the whole file
        self._has = np.zeros((len(file) >> _BLOCK_BITS) + 1, np.bool_)
        self._base = 0
        self.is_whole = len(file) <= _SMALL
        if self.is_whole:
            file.read_into(self.memory, 0)
            self._has[:] = True

    def __len__(self) -> int:
        return len(self.memory)

    def part(self, start: int, stop: int) -> LazyBytes:
        """The bytes from `start` up to `stop`; copies nothing."""
        lazy_bytes = LazyBytes.__new__(LazyBytes)
        lazy_bytes._file, lazy_bytes._has, lazy_bytes._whole = self._file, self._has, self._whole
        lazy_bytes.memory, lazy_bytes.is_whole = self.memory[start:stop], self.is_whole
        lazy_bytes._base = self._base + start
        return lazy_bytes

    def raw(self, start: int, stop: int) -> bytes:
        """A few bytes; fewer at the end. Raises UnreadableFile."""
        stop = min(stop, len(self))
        self.load(np.array([start]), max(stop - start, 0))
        return self.memory[start:stop].tobytes()

    def load(self, positions: Ints, width: int | Ints) -> None:
        """Load the ranges at .. at + width, which are inside. Raises UnreadableFile."""
        if self.is_whole or not len(positions):
            return
        first = (positions + self._base) >> _BLOCK_BITS
        last = (positions + (width + self._base)) >> _BLOCK_BITS
        if self._has[first].all() and self._has[last].all() and int((last - first).max()) <= 1:
            return
        # How many ranges begin and end before each block.
        count = len(self._has)
        depth = np.bincount(first, minlength=count + 1) - np.bincount(last + 1, minlength=count + 1)
        missing = np.flatnonzero((np.cumsum(depth)[:count] > 0) & ~self._has)
        if not len(missing):
            return
        gaps = np.flatnonzero(np.diff(missing) > 1) + 1
        begins = missing[np.concatenate(([0], gaps))].tolist()
        ends = missing[np.concatenate((gaps - 1, [len(missing) - 1]))].tolist()
        for begin, end in zip(begins, ends, strict=True):
            start = begin << _BLOCK_BITS
            self._file.read_into(self._whole[start : (end + 1) << _BLOCK_BITS], start)
            self._has[begin : end + 1] = True


_SAMPLE = 512  # bytes at the start, in the middle and at the end
_AT_ONCE = 1 << 20
Range = tuple[int, int]  # start, size


@dataclass(frozen=True, slots=True)
class EqualRanges:
    """groups: indexes of ranges with equal bytes, at least two each.

    unread: how many ranges were not compared: the file has become shorter, or they overlap so that
    all of them have more than twice the bytes of the file.
    """

    groups: tuple[tuple[int, ...], ...]
    unread: int = 0


def equal_ranges(
    path: str, ranges: Sequence[Range], cancelled: Cancelled = never_cancelled
) -> EqualRanges:
    """Return which ranges have equal bytes. Raises OSError and ReadCancelled."""
    same_size = _groups((size, i) for i, (_, size) in enumerate(ranges))
    if not same_size:
        return EqualRanges(())
    with open(path, "rb") as file:
        reader = _Reader(file, cancelled)
        alike: list[list[int]] = []
        for group in same_size:
            alike += _groups((reader.sample(*ranges[i]), i) for i in group)
        equal: list[list[int]] = []
        for group in alike:
            if ranges[group[0]][1] <= 3 * _SAMPLE:  # a sample is all of it
                equal.append([i for i in group if not reader.is_short(*ranges[i])])
            else:
                equal += _groups((reader.digest(*ranges[i]), i) for i in group)
    return EqualRanges(tuple(tuple(each) for each in sorted(equal) if len(each) > 1), reader.unread)


def _groups(keyed: Iterable[tuple[Hashable, int]]) -> list[list[int]]:
    """Those with equal keys, at least two each, in order; keys that are None are left out."""
    by_key = lists_by_key((key, i) for key, i in keyed if key is not None)
    return [group for group in by_key.values() if len(group) > 1]


class _Reader:
    """Reads ranges of one file, at most twice its bytes."""

    def __init__(self, file: BinaryIO, cancelled: Cancelled) -> None:
        self._file = file
        self._cancelled = cancelled
        self._end = file.seek(0, 2)
        self._left = 2 * self._end
        self.unread = 0

    def is_short(self, start: int, size: int) -> bool:
        """Whether the file ends before a range does."""
        return start + size > self._end

    def sample(self, start: int, size: int) -> bytes | None:
        """Some bytes of a range, all of a short one; None if the file ends before."""
        if self.is_short(start, size):
            self.unread += 1
            return None
        stop_if(self._cancelled)
        if size <= 3 * _SAMPLE:
            return self._bytes(start, size)
        places = (start, start + (size - _SAMPLE) // 2, start + size - _SAMPLE)
        return b"".join(self._bytes(place, _SAMPLE) for place in places)

    def digest(self, start: int, size: int) -> bytes | None:
        """The SHA-256 of a range; None if too much was read already."""
        self._left -= size
        if self._left < 0:
            self.unread += 1
            return None
        import hashlib  # late, as in `hash_facts`

        digest = hashlib.sha256()
        for position in range(start, start + size, _AT_ONCE):
            stop_if(self._cancelled)
            digest.update(self._bytes(position, min(_AT_ONCE, start + size - position)))
        return digest.digest()

    def _bytes(self, start: int, size: int) -> bytes:
        self._file.seek(start)
        return self._file.read(size)


GONE = "it no longer exists, or is not a regular file"
CHANGED = "it changed after it was read"


@dataclass(frozen=True, slots=True)
class FileStamp:
    """Detects changes to a file: its size in bytes and modification time."""

    size: int
    mtime_ns: int


def stamp_of(path: str) -> FileStamp | None:
    """The stamp of a regular file, or None (missing file, pipe, folder, path with a NUL)."""
    try:
        status = os.stat(path)
    except (OSError, ValueError):
        return None
    return FileStamp(status.st_size, status.st_mtime_ns) if stat.S_ISREG(status.st_mode) else None


def hash_facts(
    path: str, stamp: FileStamp | None, cancelled: Cancelled = never_cancelled
) -> dict[str, str]:
    """`sha256` of a file in hexadecimal digits, or `sha256_missing` with the reason.

    stamp: the stamp from when the file was read. Raises WriteCancelled.
    """
    if stamp is None:
        return {"sha256_missing": GONE}
    import hashlib  # 6 ms, which commands that write nothing do without

    digest = hashlib.sha256()
    try:
        # Do not wait for a writer if a pipe has replaced the file.
        with open(os.open(path, os.O_RDONLY | getattr(os, "O_NONBLOCK", 0)), "rb") as file:
            if stamp_of(path) != stamp:
                return {"sha256_missing": CHANGED}
            while block := file.read(_AT_ONCE):
                if cancelled():
                    raise WriteCancelled
                digest.update(block)
    except (OSError, ValueError):
        return {"sha256_missing": GONE}
    if stamp_of(path) != stamp:
        return {"sha256_missing": CHANGED}
    return {"sha256": digest.hexdigest()}
