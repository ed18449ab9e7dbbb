"""Temporary folders that go with their process, also at a signal; a later start removes the others.

Nothing else of Opscope makes temporary files: a process that is killed would leave them for ever.
Each contains a lock file, which shows whether its owner is alive. They are in the system's folder
for temporary files, which other users may write to, so folders of others and links are left alone.
"""

from __future__ import annotations

import contextlib
import os
import re
import shutil
import stat
import tempfile  # noqa: TID251
import time
import weakref
from collections.abc import Callable
from functools import partial

from viewer.codecs.atomic_file import OwnedLock
from viewer.codecs.ending import at_end, wait_if_ending

_PREFIX, _LOCK = "opscope-folder-", ".lock"
_NAME = re.compile(rf"{_PREFIX}[0-9a-zA-Z_]{{8}}")
_TRIES, _PAUSE_S = 200, 0.001
_SETTLED_S = 3600.0  # a folder without a lock that is older has no owner
_alive: dict[str, OwnedLock | None] = {}


class TemporaryFolder:
    """A folder for the files of this process, until `remove`, the end of a `with` or the exit."""

    def __init__(self) -> None:
        self.path, lock = _new_folder()
        self._remove = weakref.finalize(self, _remove, self.path, lock)

    def remove(self) -> None:
        """Delete the folder and everything in it, as far as possible."""
        self._remove()

    def __enter__(self) -> str:
        return self.path

    def __exit__(self, *_: object) -> None:
        self.remove()


def _new_folder() -> tuple[str, OwnedLock | None]:
    """Create a folder, locked where that is possible; returns its path and lock."""
    while True:
        path = _new_path()
        _alive[path] = None  # before it exists: a signal may come right after
        wait_if_ending()
        try:
            os.mkdir(path, 0o700)
        except OSError as error:
            del _alive[path]
            if isinstance(error, FileExistsError):
                continue
            raise
        # Another process may take it for a left one, and lock and delete it just now.
        try:
            lock = OwnedLock.take(os.path.join(path, _LOCK))
        except OSError:
            if os.path.isdir(path):  # on a file system without locks
                return path, None
        else:
            if lock is not None:
                _alive[path] = lock
                return path, lock
        _alive.pop(path, None)


def _new_path() -> str:
    return os.path.join(tempfile.gettempdir(), f"{_PREFIX}{os.urandom(4).hex()}")


def _remove_alive() -> None:
    """Remove all folders of this process, which ends.

    Other threads may still write there. They open files by path, so each gets another name first.
    """
    for path, lock in tuple(_alive.items()):
        _waited(partial(os.path.isdir, path))  # another thread makes it just now
        ended = _new_path()
        with contextlib.suppress(OSError):
            os.rename(path, ended)
        _remove(path, lock)
        _waited(partial(_is_removed, ended))


def _is_removed(path: str) -> bool:
    shutil.rmtree(path, ignore_errors=True)
    return not os.path.lexists(path)


def _waited(is_done: Callable[[], bool]) -> None:
    """Wait a moment until something is done."""
    for _ in range(_TRIES):
        if is_done():
            break
        time.sleep(_PAUSE_S)


at_end(_remove_alive)


def folder_of_temporary_files() -> str:
    """Return the system's folder for temporary files, for those that never have a name."""
    return tempfile.gettempdir()


def remove_left_folders() -> None:
    """Remove the temporary folders of dead processes of this user; never raises OSError."""
    try:
        with os.scandir(tempfile.gettempdir()) as entries:
            left = [entry.path for entry in entries if _NAME.fullmatch(entry.name)]
    except OSError:
        return
    for path in left:
        with contextlib.suppress(OSError):
            lock_path = os.path.join(path, _LOCK)
            # Without a lock file, it was made just now, or by others after its owner removed it,
            # as Qt does with the folder of settings. Without locks here, `take` raises.
            if _is_own_folder(path) and (os.path.isfile(lock_path) or _is_old(path)):
                lock = OwnedLock.take(lock_path)
                if lock is not None:
                    _remove(path, lock)


def _is_old(path: str) -> bool:
    return time.time() - os.lstat(path).st_mtime > _SETTLED_S


def machine() -> str:
    """What the processes have in common that have this folder for temporary files, until the
    system starts again; "" if it cannot be told.
    """
    try:
        with open("/proc/sys/kernel/random/boot_id", encoding="ascii") as file:
            start = file.read().strip()
        status = os.stat(tempfile.gettempdir())
    except (OSError, ValueError):
        return ""
    return f"{start} {status.st_dev} {status.st_ino}"


def owner_is_alive(name: str) -> bool:
    """Whether the process with a temporary folder of this name, on this machine, is alive."""
    path = os.path.join(tempfile.gettempdir(), name)
    if not _NAME.fullmatch(name) or not os.path.lexists(path):
        return False
    lock_path = os.path.join(path, _LOCK)
    with contextlib.suppress(OSError):
        if _is_own_folder(path) and os.path.isfile(lock_path):
            lock = OwnedLock.take(lock_path)
            if lock is not None:
                _remove(path, lock)
                return False
    return True


def _is_own_folder(path: str) -> bool:
    status = os.lstat(path)
    is_own = not hasattr(os, "getuid") or status.st_uid == os.getuid()
    return stat.S_ISDIR(status.st_mode) and is_own


def _remove(path: str, lock: OwnedLock | None) -> None:
    if lock is not None:
        lock.remove()  # first: Windows cannot delete an open file
    shutil.rmtree(path, ignore_errors=True)
    _alive.pop(path, None)
