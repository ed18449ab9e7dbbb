"""The file system through which DuckDB reads a lake. It has no call that writes.

DuckDB's own lists of allowed paths also allow writing there, such as with
`WITH x AS (COPY ... TO ...) SELECT ...`. Needs fsspec.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Collection
from datetime import UTC, datetime
from typing import Any, BinaryIO

from fsspec import AbstractFileSystem

from viewer.fleet.lake_folder import BucketFolder, LakeFolder

_PROTOCOL = "opscope"
_PREFIX = f"{_PROTOCOL}://"


class _Opened:
    """An open file, as DuckDB uses it: many threads at once, each of which seeks and then reads.

    So each thread has a position of its own. DuckDB drops files without closing them.
    """

    def __init__(self, file: BinaryIO) -> None:
        self._file, self._lock, self._own = file, threading.Lock(), threading.local()

    def seek(self, offset: int, whence: int = os.SEEK_SET) -> int:
        """Go to a byte, for this thread."""
        with self._lock:
            self._file.seek(self.tell())
            self._own.at = self._file.seek(offset, whence)
        return self.tell()

    def tell(self) -> int:
        """The position of this thread."""
        position: int = getattr(self._own, "at", 0)
        return position

    def read(self, size: int = -1) -> bytes:
        """Read bytes at the position of this thread."""
        with self._lock:
            self._file.seek(self.tell())
            data = self._file.read(size)
        self._own.at = self.tell() + len(data)
        return data

    def close(self) -> None:
        """Close the file."""
        self._file.close()

    __del__ = close


class ReadOnlyFiles(AbstractFileSystem):  # type: ignore[misc]
    """The files of a lake. Paths are below it; nothing but them can be opened.

    is_gone: whether one of them was missing, as after a compaction.
    """

    protocol = _PROTOCOL
    cachable = False

    def __init__(self, folder: LakeFolder | BucketFolder, paths: Collection[str]) -> None:
        super().__init__()
        self._folder, self.paths = folder, frozenset(paths)
        self._path_of = {self.name(path).removeprefix(_PREFIX): path for path in paths}
        self.is_gone = False

    @staticmethod
    def name(path: str) -> str:
        """The name of a file in SQL. DuckDB decodes percent signs, and refuses other paths then."""
        return f"{_PREFIX}{path.replace('~', '~~').replace('%', '~25')}"

    def open(self, path: str, mode: str = "rb", **_: Any) -> _Opened:
        """Open a file to read. Raises OSError."""
        if mode != "rb":
            raise PermissionError("files of a lake are only read")
        try:
            return _Opened(self._folder.read(self._below(path)))
        except FileNotFoundError:
            self.is_gone = True
            raise

    def info(self, path: str, **_: Any) -> dict[str, Any]:
        """The size of a file. Raises FileNotFoundError."""
        status = self._folder.status(self._below(path))
        if status is None:
            self.is_gone = True
            raise FileNotFoundError(path)
        return {"name": path, "size": status.st_size, "type": "file", "mtime": status.st_mtime}

    def modified(self, path: str) -> datetime:
        """When a file was changed. Raises FileNotFoundError."""
        return datetime.fromtimestamp(self.info(path)["mtime"], UTC)

    def glob(self, path: str, **_: Any) -> list[str]:
        """The file itself: names of a lake's files have no pattern."""
        return [path] if self.exists(path) else []

    def exists(self, path: str, **_: Any) -> bool:
        """Whether this is a file of the lake."""
        return path.removeprefix(_PREFIX) in self._path_of

    isfile = exists

    def _below(self, path: str) -> str:
        below = self._path_of.get(path.removeprefix(_PREFIX))
        if below is None:
            raise PermissionError(f"{path} is no file of the lake")
        return below
