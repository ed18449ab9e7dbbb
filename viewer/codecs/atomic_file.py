"""Writing a file so that its name shows the whole of it or nothing.

The bytes go to a temporary file in the folder of the target, which replaces the target only after
the last byte is written. Every exporter writes through `replacing`.
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
    """Raised out of a writer when `cancelled()` turned true; the target is as it was before."""


class NothingToExport(Exception):
    """What is open cannot be written in the asked form; the message says why."""


_mark = ""  # of the temporary files of this process


def mark_parts(mark: str) -> None:
    """Let the temporary files of this process begin with a dot and a mark, so that another one can
    take them away should this one be ended."""
    global _mark
    _mark = mark


def remove_parts(folder: str, mark: str) -> None:
    """Take away the temporary files of ended processes with a mark."""
    with contextlib.suppress(OSError):
        for name in os.listdir(folder):
            if name.startswith(f".{mark}") and name.endswith(_PART):
                os.unlink(os.path.join(folder, name))


def is_same_file(one: str, other: str) -> bool:
    """Whether two paths are one file, so that writing one would lose the other."""
    try:
        return os.path.samefile(one, other)
    except (OSError, ValueError):  # one is missing; a path with a NUL
        return False


def write_whole(path: str | os.PathLike[str], data: bytes) -> None:
    """Write a file of these bytes, whole or not at all. Raises OSError as `replacing` does."""
    with replacing(path) as file:
        file.write(data)


@contextlib.contextmanager
def replacing(path: str | os.PathLike[str]) -> Iterator[BinaryIO]:
    """A binary file to write; when the block ends well it takes the place of `path`.

    When the block raises, the temporary file is removed and an existing target is untouched. A link
    stays a link: the file that it points to is replaced. Pipes and devices cannot be replaced and
    are written directly. Raises OSError as `open` would: folder missing, target is a folder, no
    permission.
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
