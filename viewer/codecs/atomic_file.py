"""Writes files atomically: a file appears complete under its name or not at all. And locks files.

A process that is killed leaves its temporary file; one that a signal ends does not (`ending`). The
next one that writes to this folder removes it: its owner is dead if nobody holds the lock on it.
The system releases a lock when its process ends, even by a crash. A process id does not tell as
much: another process may have it by now, or the owner runs on another machine or in another
container with the same home folder.
"""

from __future__ import annotations

import contextlib
import errno
import os
import re
import stat
import sys
import time
from collections.abc import Iterable, Iterator
from typing import BinaryIO

from viewer.codecs.ending import at_end, wait_if_ending

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


_PREFIX, _PART = ".opscope-", ".part"
_PART_NAME = re.compile(r"\.opscope-[0-9a-f]{16,64}\.part")
# Windows has no lock between the last byte and the renaming, which takes far less than this.
_SETTLED_S = 60.0
# What file systems answer that cannot sync a file or a folder.
_NO_SYNC = {errno.EINVAL, errno.ENOTSUP, errno.ENOSYS, errno.EBADF, errno.EACCES, errno.EPERM}


_PRIVATE = 0o600


class WriteCancelled(Exception):
    """Raised by a writer when `cancelled()` returns true. The target is unchanged."""


class NothingToExport(Exception):
    """The open files cannot be exported in the requested format; the message says why."""


_mark = ""  # of the temporary files of this process
_cleaned: set[str] = set()  # folders where this process has removed what dead ones left
_parts: set[str] = set()  # temporary files of this process


def mark_parts(mark: str) -> None:
    """Put `mark`, hexadecimal digits, into the names of this process's temporary files.

    If this process is killed, another one can find and remove the files.
    """
    global _mark
    _mark = mark


def remove_parts(folder: str, mark: str) -> None:
    """Remove temporary files with `mark` that killed processes left in `folder`."""
    with contextlib.suppress(OSError):
        for name in os.listdir(folder):
            if name.startswith(f"{_PREFIX}{mark}") and name.endswith(_PART):
                os.unlink(os.path.join(folder, name))


def remove_left_parts(folder: str) -> None:
    """Remove temporary files that dead processes left in `folder`; never raises OSError.

    Files of living processes, and of file systems without locks, stay.
    """
    try:
        with os.scandir(folder) as entries:
            left = [entry.path for entry in entries if _PART_NAME.fullmatch(entry.name)]
    except OSError:
        return
    for path in left:
        with contextlib.suppress(OSError):
            _remove_left(path)


def _remove_left(path: str) -> None:
    """Remove a temporary file if its owner is dead. Raises OSError."""
    status = os.lstat(path)
    if not stat.S_ISREG(status.st_mode):
        return
    if sys.platform == "win32":  # deleting a file that is open fails
        if time.time() - status.st_mtime > _SETTLED_S:
            os.unlink(path)
        return
    descriptor = os.open(path, os.O_RDWR | os.O_NOFOLLOW | os.O_NONBLOCK)
    try:
        if try_lock(descriptor):
            os.unlink(path)
    finally:
        os.close(descriptor)


OVERWRITTEN = "this is an input file and would be overwritten"
NO_URL = "nothing is written to URLs; name a local path, and copy it from there"


def output_fault(output: str, inputs: Iterable[str]) -> str:
    """Why an output cannot be written, which is a URL or an input; "" if it can."""
    if "://" in output:
        return f"{output}: {NO_URL}"
    if any(is_same_file(path, output) for path in inputs):
        return f"{output}: {OVERWRITTEN}"
    return ""


def is_same_file(path: str, other: str) -> bool:
    """Whether two paths are the same file, so that writing to one would overwrite the other."""
    try:
        return os.path.samefile(path, other)
    except (OSError, ValueError):  # one is missing; a path with a NUL
        return False


def write_whole(path: str | os.PathLike[str], data: bytes, *, is_private: bool = False) -> None:
    """Write a file with these bytes, atomically. Raises OSError as `replacing` does."""
    with replacing(path, is_private=is_private) as file:
        file.write(data)


@contextlib.contextmanager
def replacing(path: str | os.PathLike[str], *, is_private: bool = False) -> Iterator[BinaryIO]:
    """Open a binary file that replaces `path` when the block ends without an exception.

    is_private: only its owner may read it, whoever could read an existing one.

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
    folder = os.path.dirname(target)
    if folder not in _cleaned:  # once, as listing a folder of 100,000 files takes 0.1 s
        _cleaned.add(folder)
        remove_left_parts(folder)
    file, temporary = _new_part(folder)
    try:
        with file:
            if is_private:
                os.chmod(temporary, _PRIVATE)
            elif old is not None:
                os.chmod(temporary, stat.S_IMODE(old.st_mode))
            yield file
            file.flush()
            _sync(file.fileno())
            if sys.platform != "win32":  # still locked, so that nobody takes it for a left one
                os.replace(temporary, target)
        if sys.platform == "win32":  # an open file cannot be renamed
            os.replace(temporary, target)
    except BaseException:
        with contextlib.suppress(OSError):
            os.unlink(temporary)
        raise
    finally:
        _parts.discard(temporary)
    sync_folder(folder)


def _remove_parts() -> None:
    """Remove the temporary files of this process, which ends."""
    for path in tuple(_parts):
        with contextlib.suppress(OSError):
            os.unlink(path)


at_end(_remove_parts)


def _new_part(folder: str) -> tuple[BinaryIO, str]:
    """Create a temporary file, locked where that is possible; returns it and its path."""
    while True:
        # Not named after the target, whose name may already have the maximum length.
        path = os.path.join(folder, f"{_PREFIX}{_mark}{os.urandom(8).hex()}{_PART}")
        _parts.add(path)  # before it exists: a signal may come right after
        wait_if_ending()
        try:
            file = open(path, "xb")  # noqa: SIM115
        except OSError:
            _parts.discard(path)
            raise
        try:
            # Another process may take it for a left one, and lock and delete it just now.
            if sys.platform == "win32" or (try_lock(file.fileno()) and os.path.exists(path)):
                return file, path
        except OSError:  # a file system without locks
            return file, path
        file.close()
        _parts.discard(path)


def sync_folder(folder: str) -> None:
    """Write the names in a folder to the disk, on systems that can; never raises OSError.

    The files in it are complete in any case. After a power failure, an unsynced name may be missing
    or refer to the file that it had before.
    """
    if sys.platform == "win32":
        return
    with contextlib.suppress(OSError):
        descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)


def _sync(descriptor: int) -> None:
    """Write a file to the disk. Raises OSError if that fails, as on a full network drive."""
    try:
        os.fsync(descriptor)
    except OSError as error:
        if error.errno not in _NO_SYNC:
            raise
