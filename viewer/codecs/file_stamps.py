"""The files that an export is made from: told apart by their hash, as long as they are unchanged.

A file is stamped when it is read and hashed when an export is written, which may be hours later. If
it is another one by then, a hash would be of what the export is not made from: then that is said.
"""

from __future__ import annotations

import hashlib
import os
import stat
from dataclasses import dataclass

from viewer.codecs.atomic_file import WriteCancelled
from viewer.codecs.reading import Cancelled, never_cancelled

_AT_ONCE = 1 << 20  # bytes
GONE = "it is gone, or no plain file"
CHANGED = "it changed after it was read"


@dataclass(frozen=True, slots=True)
class FileStamp:
    """By what a change of a file is noticed: its size in bytes, and when it was written last."""

    size: int
    mtime_ns: int


def stamp_of(path: str) -> FileStamp | None:
    """The stamp of a plain file, None where there is none (a pipe, a folder, a path with a NUL)."""
    try:
        found = os.stat(path)
    except (OSError, ValueError):
        return None
    return FileStamp(found.st_size, found.st_mtime_ns) if stat.S_ISREG(found.st_mode) else None


def hash_facts(
    path: str, stamp: FileStamp | None, cancelled: Cancelled = never_cancelled
) -> dict[str, str]:
    """`sha256` of a file in hexadecimal digits, or `sha256_missing` with the reason.

    stamp: of the time when the file was read. Raises WriteCancelled.
    """
    if stamp is None:
        return {"sha256_missing": GONE}
    digest = hashlib.sha256()
    try:
        # Not waiting for a writer, should a pipe have taken the place of the file.
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
