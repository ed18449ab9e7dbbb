"""Files of a lake: opened, renamed and removed below its folder, without following links.

A lake can come from a stranger, as a profile can. `manifest_lines` accepts paths of one form only,
but a folder or file in the lake may still be a link to anywhere. So each folder is opened inside
the one above it, also while somebody changes the lake. Windows has no such calls: there, the
folders of a path are checked first.
"""

from __future__ import annotations

import contextlib
import errno
import io
import os
import shutil
import stat
import sys
from collections.abc import Iterator
from typing import BinaryIO

from viewer.codecs.file_lock import OwnedLock, locked

# Without waiting for the other end of a pipe.
_FILE = (
    getattr(os, "O_NOFOLLOW", 0)
    | getattr(os, "O_NONBLOCK", 0)
    | getattr(os, "O_CLOEXEC", 0)
    | getattr(os, "O_BINARY", 0)
)
_FOLDER = os.O_RDONLY | getattr(os, "O_DIRECTORY", 0) | getattr(os, "O_CLOEXEC", 0)
# What systems answer for a link in the place of a folder or a file.
_LINK = (errno.ELOOP, errno.ENOTDIR)
NEW = os.O_RDWR | os.O_CREAT | os.O_EXCL


class LakeFolder:
    """The folder of a lake. Paths are below it, with "/". What it reads are regular files.

    The folder itself may be a link, as the user named it. All methods raise OSError, also for a
    link in a path.
    """

    is_bucket = False

    def __init__(self, path: str) -> None:
        self.path = path

    def full(self, path: str) -> str:
        """The path for messages, and for what is not opened here."""
        return os.path.join(self.path, *path.split("/"))

    def read(self, path: str) -> io.BufferedReader:
        """Open a regular file to read."""
        return os.fdopen(self._descriptor(path, os.O_RDONLY), "rb")

    def create(self, path: str) -> BinaryIO:
        """Create a file to write, and to read what was written."""
        return os.fdopen(self._descriptor(path, NEW), "w+b")

    def append(self, path: str) -> int:
        """Create a file to append to; returns its descriptor."""
        return self._descriptor(path, NEW | os.O_APPEND)

    def status(self, path: str) -> os.stat_result | None:
        """The status of a regular file; None for anything else, and if it is missing."""
        try:
            with self._at(path) as (name, folder):
                status = os.stat(name, dir_fd=folder, follow_symlinks=False)
        except OSError:
            return None
        return status if stat.S_ISREG(status.st_mode) else None

    def entries(self, folder: str) -> dict[str, int | None]:
        """The sizes of the regular files in a folder, by name; None for all else. Sorted."""
        sizes: dict[str, int | None] = {}
        with self._at(f"{folder}/x") as (name, descriptor):
            place = os.path.dirname(name) if descriptor is None else descriptor
            with os.scandir(place) as entries:
                for entry in entries:
                    with contextlib.suppress(FileNotFoundError):  # removed just now
                        status = entry.stat(follow_symlinks=False)
                        is_file = stat.S_ISREG(status.st_mode)
                        sizes[entry.name] = status.st_size if is_file else None
        return dict(sorted(sizes.items()))

    def files_below(self, folder: str) -> Iterator[tuple[str, int]]:
        """Yield the regular files in a folder and its folders, with their sizes.

        Links are left out, and what is removed at that moment.
        """
        try:
            entries = self.entries(folder)
        except OSError:
            return
        for name, size in entries.items():
            if size is None:
                yield from self.files_below(f"{folder}/{name}")
            else:
                yield f"{folder}/{name}", size

    def make(self, path: str, *, is_new: bool = False) -> None:
        """Make a folder, unless it is there. is_new: it must not be there."""
        context = contextlib.nullcontext() if is_new else contextlib.suppress(FileExistsError)
        with self._at(path) as (name, folder), context:
            os.mkdir(name, dir_fd=folder)
        with self._at(f"{path}/x"):  # it is no link
            pass

    def rename(self, source: str, target: str) -> None:
        """Rename a file, over what is there, and make the folders that it needs."""
        with self._at(source) as (name, folder), self._at(target, make=True) as (new, new_folder):
            os.replace(name, new, src_dir_fd=folder, dst_dir_fd=new_folder)

    def rename_folder(self, source: str, target: str) -> None:
        """Rename a folder."""
        with self._at(source) as (name, folder), self._at(target) as (new, new_folder):
            os.rename(name, new, src_dir_fd=folder, dst_dir_fd=new_folder)

    def remove(self, path: str) -> None:
        """Remove a file."""
        with self._at(path) as (name, folder):
            os.unlink(name, dir_fd=folder)

    def remove_folder(self, path: str) -> bool:
        """Remove a folder with all that is in it, as far as possible; returns whether it is gone.

        A link in its place stays.
        """
        with self._at(path) as (name, folder):
            shutil.rmtree(name, ignore_errors=True, dir_fd=folder)
            try:
                os.stat(name, dir_fd=folder, follow_symlinks=False)
            except FileNotFoundError:
                return True
        return False

    def take_lock(self, path: str) -> OwnedLock | None:
        """Take the lock of a folder in `_tmp`; None if its owner is alive.

        The folders are checked first, and then the system follows the path.
        """
        with self._at(path):
            return OwnedLock.take(self.full(path))

    new_lock = take_lock

    def locked(self, path: str, patience: float) -> contextlib.AbstractContextManager[None]:
        """Hold a lock for the length of the block. Also raises TimeoutError."""
        return locked(self.full(path), patience)

    def _descriptor(self, path: str, flags: int) -> int:
        with self._at(path) as (name, folder):
            try:
                descriptor = os.open(name, flags | _FILE, 0o644, dir_fd=folder)
            except OSError as error:
                raise self._told(error, path) from error
        if not stat.S_ISREG(os.fstat(descriptor).st_mode):
            os.close(descriptor)
            raise OSError(errno.EINVAL, "it is no regular file", self.full(path))
        return descriptor

    @contextlib.contextmanager
    def _at(self, path: str, *, make: bool = False) -> Iterator[tuple[str, int | None]]:
        """The name of a file and the descriptor of its folder; on Windows its full path and None.

        make: make the folders that are missing.
        """
        *folders, name = path.split("/")
        if sys.platform == "win32":
            place = self.path
            for folder in folders:
                place = os.path.join(place, folder)
                if make:
                    os.makedirs(place, exist_ok=True)
                _refuse_link(place)
            place = os.path.join(place, name)
            with contextlib.suppress(FileNotFoundError):
                _refuse_link(place)
            yield place, None
            return
        descriptor = os.open(self.path, _FOLDER)
        try:
            for number, folder in enumerate(folders):
                if make:
                    with contextlib.suppress(FileExistsError):
                        os.mkdir(folder, dir_fd=descriptor)
                try:
                    inner = os.open(folder, _FOLDER | os.O_NOFOLLOW, dir_fd=descriptor)
                except OSError as error:
                    raise self._told(error, "/".join(folders[: number + 1])) from error
                os.close(descriptor)
                descriptor = inner
            yield name, descriptor
        finally:
            os.close(descriptor)

    def _told(self, error: OSError, path: str) -> OSError:
        """An error that names the file, and a link as such."""
        if error.errno in _LINK:
            return OSError(error.errno, f"{path} is a link or no folder", self.full(path))
        return OSError(error.errno, error.strerror, self.full(path))


if sys.platform == "win32":

    def _refuse_link(path: str) -> None:
        tags = (stat.IO_REPARSE_TAG_SYMLINK, stat.IO_REPARSE_TAG_MOUNT_POINT)
        if os.lstat(path).st_reparse_tag in tags:
            raise OSError(errno.ELOOP, f"{path} is a link", path)
