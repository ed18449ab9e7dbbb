"""A file mapped into memory: its bytes are read when they are touched, and can be let go again."""

from __future__ import annotations

import mmap
import os

import numpy as np
from numpy.typing import NDArray


class MappedFile:
    """The bytes of a file, as uint8; copies nothing."""

    def __init__(self, path: str) -> None:
        """Map a file. Raises OSError, and ValueError for a path with a NUL."""
        self.path = path
        with open(path, "rb") as file:
            self.size = os.fstat(file.fileno()).st_size
            self._map = (
                mmap.mmap(file.fileno(), self.size, access=mmap.ACCESS_READ) if self.size else None
            )
        self.bytes: NDArray[np.uint8] = (
            np.empty(0, np.uint8) if self._map is None else np.frombuffer(self._map, np.uint8)
        )

    def let_go(self, start: int, end: int) -> None:
        """Free the memory of pages that were read; touching them reads them again.

        Does nothing on systems that cannot.
        """
        first = start // mmap.PAGESIZE * mmap.PAGESIZE
        if self._map is not None and end > first and hasattr(mmap, "MADV_DONTNEED"):
            self._map.madvise(mmap.MADV_DONTNEED, first, min(end, self.size) - first)
