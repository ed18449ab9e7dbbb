"""Bytes in memory in place of a file."""

import numpy as np

from viewer.codecs.file_bytes import FileBytes, LazyBytes


class HeldBytes(FileBytes):
    """A file that is in memory and never changes."""

    def __init__(self, data: bytes) -> None:
        self.path, self._data = "", np.frombuffer(data, np.uint8)

    def __len__(self) -> int:
        return len(self._data)

    def read_into(self, target, start):
        target[:] = self._data[start : start + len(target)]


def lazy(data: bytes) -> LazyBytes:
    """Lazy bytes with some content."""
    return LazyBytes(HeldBytes(bytes(data)))
