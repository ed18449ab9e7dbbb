"""Exclusive locks on files, which the system releases when their process ends, even by a crash.

A lock shows whether the owner of a file is alive. A process id does not: another process may have
it by now, or the owner runs on another machine or in another container with the same home folder.
"""

from __future__ import annotations

import contextlib
import os
import sys
import time
from collections.abc import Iterator

if sys.platform == "win32":
    import msvcrt
else:
    import fcntl

_RETRY_S = 0.005
_NO_LINK = getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0)
# What systems answer if another process holds the lock; any other error: no locks here.
_HELD = (BlockingIOError, PermissionError)


def try_lock(descriptor: int) -> bool:
    """Lock an open, writable file until it is closed; False if it is locked already.

    Two descriptors of one process exclude each other, too. Raises OSError if the file system has no
    locks.
    """
    try:
        if sys.platform == "win32":
            os.lseek(descriptor, 0, os.SEEK_SET)
            msvcrt.locking(descriptor, msvcrt.LK_NBLCK, 1)
        else:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except _HELD:
        return False
    return True


class OwnedLock:
    """A lock file that exists while it is held.

    Two processes may be about to delete and to create the file at one time. So a lock counts only
    if the path still refers to the locked file.
    """

    def __init__(self, path: str, descriptor: int) -> None:
        self.path, self._descriptor = path, descriptor

    @classmethod
    def take(cls, path: str) -> OwnedLock | None:
        """Lock a file, and create it if needed; None if its owner is alive. Raises OSError."""
        descriptor = os.open(path, os.O_RDWR | os.O_CREAT | _NO_LINK, 0o600)
        try:
            if try_lock(descriptor) and _is_at(descriptor, path):
                return cls(path, descriptor)
        except BaseException:
            os.close(descriptor)
            raise
        os.close(descriptor)
        return None

    def release(self) -> None:
        """Release the lock; the file stays. Later calls do nothing."""
        # Taken before it is closed: at a signal, two threads may release one lock.
        descriptor, self._descriptor = self._descriptor, -1
        if descriptor >= 0:
            with contextlib.suppress(OSError):
                os.close(descriptor)

    def remove(self) -> None:
        """Delete the lock file and release the lock."""
        if sys.platform == "win32":  # an open file cannot be deleted
            self.release()
        with contextlib.suppress(OSError):
            os.unlink(self.path)
        self.release()


@contextlib.contextmanager
def locked(path: str, patience: float) -> Iterator[None]:
    """Hold the lock on a lock file, which stays; wait at most `patience` seconds for it.

    Raises TimeoutError if another process holds it longer, and OSError if the file cannot be
    created, as where it is a link. Without locks in the file system, the block runs unlocked.
    """
    descriptor = os.open(path, os.O_RDWR | os.O_CREAT | _NO_LINK, 0o600)
    try:
        deadline = time.monotonic() + patience
        with contextlib.suppress(_NoLocks):
            while not _tried(descriptor):
                if time.monotonic() >= deadline:
                    raise TimeoutError(110, "another Opscope does not release its lock", path)
                time.sleep(_RETRY_S)
        yield
    finally:
        os.close(descriptor)


class _NoLocks(Exception):
    """The file system has no locks."""


def _tried(descriptor: int) -> bool:
    try:
        return try_lock(descriptor)
    except OSError as error:
        raise _NoLocks from error


def _is_at(descriptor: int, path: str) -> bool:
    try:
        return os.path.samestat(os.fstat(descriptor), os.stat(path))
    except FileNotFoundError:
        return False
