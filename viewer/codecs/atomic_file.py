"""Writes files atomically: a file appears complete under its name or not at all.

The bytes go to a temporary file in the target's folder. It replaces the target only after the last
byte is written. Every exporter writes through `replacing`.
"""

from __future__ import annotations

import contextlib
import os
import secrets
import stat
from collections.abc import Iterator
from typing import BinaryIO

_PART = ".part"


class WriteCancelled(Exception):
    """Raised by a writer when `cancelled()` returns true. The target is unchanged."""


class NothingToExport(Exception):
    """The open files cannot be exported in the requested format; the message says why."""


_mark = ""  # of the temporary files of this process


def mark_parts(mark: str) -> None:  # prefix of this process's temporary files
    """Start the names of this process's temporary files with a dot and `mark`.

    If this process is killed, another one can find and remove the files.
    """
    global _mark
    _mark = mark


def remove_parts(folder: str, mark: str) -> None:
    """Remove temporary files with `mark` that killed processes left in `folder`."""
    with contextlib.suppress(OSError):
        for name in os.listdir(folder):
            if name.startswith(f".{mark}") and name.endswith(_PART):
                os.unlink(os.path.join(folder, name))


def is_same_file(one: str, other: str) -> bool:
    """Whether two paths are the same file, so that writing to one would overwrite the other."""
    try:
        return os.path.samefile(one, other)
    except (OSError, ValueError):  # one is missing; a path with a NUL
        return False


def write_whole(path: str | os.PathLike[str], data: bytes) -> None:
    """Write a file with these bytes, atomically. Raises OSError as `replacing` does."""
    with replacing(path) as file:
        file.write(data)


@contextlib.contextmanager
def replacing(path: str | os.PathLike[str]) -> Iterator[BinaryIO]:
    """Open a binary file that replaces `path` when the block ends without an exception.

    If the block raises, the temporary file is removed and an existing target is unchanged. A
    symbolic link stays a link: the file it points to is replaced. Pipes and devices cannot be
    replaced and are written directly. Raises OSError as `open` would: the folder is missing, the
    target is a folder, or permission is denied.
    """
    try:
        old = os.stat(path)
    except FileNotFoundError:
        old = None
    if old is not None and not stat.S_ISREG(old.st_mode):
        with open(path, "wb") as direct:
            yield direct
        return
    target = os.path.realpath(path)
    if old is not None and not os.access(target, os.W_OK):
        # os.replace asks the folder alone and would override a write-protected file.
        raise PermissionError(13, os.strerror(13), os.fspath(path))
    # Not named after the target: a target with the longest legal name would have no room for more.
    temporary = os.path.join(os.path.dirname(target), f".{_mark}{secrets.token_hex(8)}{_PART}")
    try:
        with open(temporary, "xb") as file:
            if old is not None:
                os.chmod(temporary, stat.S_IMODE(old.st_mode))
            yield file
        os.replace(temporary, target)
    except BaseException:
        with contextlib.suppress(OSError):
            os.unlink(temporary)
        raise
