"""Identifies the source files of an export by hash, if they have not changed since they were read.

A file is stamped when it is read, and hashed when an export is written, possibly hours later. If
the file has changed by then, its hash would not match the exported data, so the export states the
reason instead.
"""

from __future__ import annotations

import os
import stat
from dataclasses import dataclass

from viewer.codecs.atomic_file import WriteCancelled
from viewer.codecs.reading import Cancelled, never_cancelled

_AT_ONCE = 1 << 20  # bytes
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
