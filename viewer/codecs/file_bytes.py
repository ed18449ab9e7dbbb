"""The bytes of a file that others may write to while it is open, read when they are needed.

A file is never mapped into memory: if another program truncates it, touching a page behind its new
end kills the process (SIGBUS). Here it is read block by block, and a file that is not the one that
was opened is an UnreadableFile: tensors and tables of two states of it must not be mixed.
"""

from __future__ import annotations

import os

import numpy as np
from numpy.typing import NDArray

from viewer.arrays import Ints
from viewer.codecs.reading import UnreadableFile

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
