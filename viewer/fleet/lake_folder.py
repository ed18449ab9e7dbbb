"""Files of a lake: opened, renamed and removed below its folder, or as objects of a bucket.

A lake can come from a stranger, and a folder or file in it may be a link to anywhere. So each
folder is opened inside the one above it, without following links, also while somebody changes the
lake. Windows has no such calls: there, the folders of a path are checked first.

A bucket has no locks, no renaming and no appending. It has one thing that a lake needs: an object
that is written only if there is none (`If-None-Match: *` of S3, `ifGenerationMatch=0` of GCS).
"""

from __future__ import annotations

import contextlib
import errno
import io
import json
import os
import secrets
import shutil
import stat
import sys
import threading
import time
from collections import OrderedDict
from collections.abc import Iterable, Iterator, Sequence
from itertools import islice
from typing import Any, BinaryIO

from viewer.codecs.atomic_file import OwnedLock, locked
from viewer.codecs.temporary_folder import TemporaryFolder, machine, owner_is_alive
from viewer.fleet.remote import file_system, is_url

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


# Where objects can be written only if there is none.
SCHEMES = ("s3", "s3a", "gs", "gcs")
# A build shows that it is alive so often; without that for so long, another one clears up.
_RENEW_S, LEASE_S = 30.0, 300.0
_ATTEMPTS, _PAUSE_S = 5, 0.2
# Objects up to this size are read at once, and so many bytes of them stay in memory.
_SMALL, _KEPT_BYTES = 4 << 20, 128 << 20
_BUFFER = 1 << 18
_MOST_AT_ONCE = 64


class BucketFolder:
    """The place of a lake in a bucket. Paths are below it. All methods raise OSError."""

    is_bucket = True

    def __init__(self, url: str) -> None:
        self.path = url.rstrip("/")
        # Sizes as of the last listing. An object of a lake never gets other contents.
        self._sizes: dict[str, int] = {}
        self._kept: OrderedDict[str, bytes] = OrderedDict()
        self._lease = ""

    def full(self, path: str) -> str:
        """The URL."""
        return f"{self.path}/{path}"

    def exists(self, path: str = "") -> bool:
        """Whether there is an object, or any below a path."""
        with self._system(path) as (system, place):
            return bool(system.exists(place))

    def read(self, path: str) -> BinaryIO:
        """Open an object to read."""
        size = self._sizes.get(path)
        if size is None:
            status = self.status(path)
            if status is None:
                raise FileNotFoundError(2, "it is missing", self.full(path))
            size = status.st_size
        if size > _SMALL:
            return io.BufferedReader(_Ranges(self, path, size), _BUFFER)
        if path not in self._kept:
            self._kept[path] = self.part(path, 0, size)
            while sum(map(len, self._kept.values())) > _KEPT_BYTES:
                self._kept.popitem(last=False)
        return io.BytesIO(self._kept[path])

    def part(self, path: str, start: int, end: int) -> bytes:
        """Some bytes of an object."""
        with self._system(path) as (system, place):
            data: bytes = system.cat_file(place, start=start, end=end) if end > start else b""
        return data

    def read_first(self, paths: Iterable[str]) -> Iterator[bytes]:
        """Yield the contents of objects, up to the first one that is missing; many at once."""
        rest, count = iter(paths), 1
        while chosen := list(islice(rest, count)):
            for data in self._read_all(chosen):
                if isinstance(data, FileNotFoundError):
                    return
                if isinstance(data, Exception):
                    raise OSError(f"{self.path}: {data}") from data
                yield data
            count = min(count * 4, _MOST_AT_ONCE)

    def _read_all(self, paths: Sequence[str]) -> list[Any]:
        """The contents of objects, or the errors."""
        with self._system("") as (system, place):
            every = {f"{place.rstrip('/')}/{path}": path for path in paths}
            contents = system.cat(list(every), on_error="return")
            return [contents[name] for name in every]

    def create(self, path: str) -> BinaryIO:
        """Open a file to write, and to read what was written; an object once it is closed."""
        return _Upload(self, path)

    def put(self, path: str, source: str) -> None:
        """Write an object from a file of this machine."""
        with self._system(path) as (system, place):
            system.put_file(source, place)
        self._sizes[path] = os.path.getsize(source)

    def create_only(self, path: str, data: bytes) -> bool:
        """Write an object if there is none; returns whether it did."""
        for attempt in range(_ATTEMPTS):
            with self._system(path) as (system, place):
                try:
                    system.pipe_file(place, data, mode="create")
                except Exception as error:
                    # Each client has an error of its own for an object that is there. A request
                    # can also be repeated after it was done.
                    with contextlib.suppress(FileNotFoundError):
                        content: bytes = system.cat_file(place)
                        return content == data
                    if attempt == _ATTEMPTS - 1:
                        raise OSError(f"{self.full(path)} cannot be written ({error})") from error
                else:
                    return True
            time.sleep(_PAUSE_S)
        raise AssertionError("unreachable")

    def status(self, path: str) -> os.stat_result | None:
        """The size of an object; None if it is missing."""
        size = self._sizes.get(path)
        if size is None:
            try:
                with self._system(path) as (system, place):
                    facts = system.info(place)
            except FileNotFoundError:
                return None
            if facts.get("type") == "directory":
                return None
            size = int(facts["size"])
        return os.stat_result((0o100644, 0, 0, 1, 0, 0, size, 0, 0, 0))

    def entries(self, folder: str) -> dict[str, int | None]:
        """The sizes of the objects in a folder, by name; None for folders in it. Sorted."""
        below = "" if folder == "." else folder
        with self._system(below) as (system, place):
            try:
                listed = system.ls(place, detail=True)
            except FileNotFoundError:
                return {}
        names = {
            str(facts["name"]).rstrip("/").rpartition("/")[2]: (
                None if facts["type"] == "directory" else int(facts["size"])
            )
            for facts in listed
            if str(facts["name"]).rstrip("/") != place.rstrip("/")
        }
        return dict(sorted(names.items()))

    def files_below(self, folder: str) -> Iterator[tuple[str, int]]:
        """Yield the objects below a path, with their sizes."""
        with self._system(folder) as (system, place):
            listed = system.find(place, detail=True)
        for name, facts in listed.items():
            path = f"{folder}/{name[len(place) :].strip('/')}"
            self._sizes[path] = int(facts["size"])
            yield path, self._sizes[path]

    def make(self, path: str, *, is_new: bool = False) -> None:
        """A bucket has no folders."""

    def rename(self, source: str, target: str) -> None:
        """Copy an object, and remove it."""
        with self._system(source) as (system, place):
            system.cp_file(place, self._below(system, target))
        self._sizes[target] = self._sizes.get(source, 0) or self._size_of(target)
        self.remove(source)

    def _size_of(self, path: str) -> int:
        status = self.status(path)
        return 0 if status is None else status.st_size

    def rename_folder(self, source: str, target: str) -> None:
        """There is no such call."""
        raise OSError(f"{self.full(source)}: a bucket has no folders")

    def remove(self, path: str) -> None:
        """Remove an object."""
        self._sizes.pop(path, None)
        self._kept.pop(path, None)
        with self._system(path) as (system, place):
            system.rm_file(place)

    def remove_folder(self, path: str) -> bool:
        """Remove the objects below a path; returns whether all are gone."""
        names = [name for name, _ in self.files_below(path)]
        with contextlib.suppress(FileNotFoundError), self._system("") as (system, _):
            if names:
                system.rm([self._below(system, name) for name in names])
        for name in names:
            self._sizes.pop(name, None)
        return True

    # -- who is alive ----------------------------------------------------------------------------

    def new_lock(self, path: str) -> Lease | None:
        """Make the lock of a new build; None if there is one."""
        home = TemporaryFolder()
        body = json.dumps({"machine": machine(), "folder": os.path.basename(home.path)}).encode()
        if not self.create_only(path, body):
            return None
        if self.create_only(path, secrets.token_bytes(8)):
            raise OSError(
                f"{self.path}: this store overwrites objects although it is asked not to, so two "
                "builds would destroy each other's; build the lake in a folder"
            )
        self._lease = path
        return Lease(self, path, body, home)

    def take_lock(self, path: str) -> Lease | None:
        """Take the lock of another build; None if its owner is alive, or may be."""
        return None if self._is_alive(path) else Lease(self, path)

    def _is_alive(self, path: str) -> bool:
        """Whether the owner of a lock lives, as its machine or the clock of the bucket says."""
        try:
            facts = json.loads(self.part(path, 0, 4096))
            if facts["machine"] == machine() != "":
                return owner_is_alive(str(facts["folder"]))
        except FileNotFoundError:
            return False
        except (ValueError, TypeError, KeyError):
            pass
        with self._system(path) as (system, place):
            now = self._below(system, self._lease)
            system.pipe_file(now, system.cat_file(now))
            age = system.modified(now) - system.modified(place)
        return bool(age.total_seconds() < LEASE_S)

    @contextlib.contextmanager
    def locked(self, path: str, patience: float) -> Iterator[None]:
        """No lock: what is written to a manifest is written only if there is none."""
        yield

    @contextlib.contextmanager
    def _system(self, path: str) -> Iterator[tuple[Any, str]]:
        """The file system, without what it remembers of listings, and a path there."""
        with file_system(f"{self.path}/{path}".rstrip("/")) as (system, place):
            system.invalidate_cache()
            yield system, place

    def _below(self, system: Any, path: str) -> str:
        return f"{str(system._strip_protocol(self.path)).rstrip('/')}/{path}"


def folder_of(lake: str) -> LakeFolder | BucketFolder:
    """The folder of a lake, by its path or URL."""
    return BucketFolder(lake) if is_url(lake) else LakeFolder(lake)


class Lease:
    """A lock that its owner renews, until `release` or `remove`."""

    def __init__(
        self,
        folder: BucketFolder,
        path: str,
        body: bytes = b"",
        home: TemporaryFolder | None = None,
    ) -> None:
        """body: to renew it with; empty for the lock of a dead build. home: a sign of life, too."""
        self._folder, self._path, self._body, self._home = folder, path, body, home
        self._ended = threading.Event()
        if body:
            threading.Thread(target=self._renew, daemon=True).start()

    def _renew(self) -> None:
        while not self._ended.wait(_RENEW_S):
            with contextlib.suppress(OSError), self._folder._system(self._path) as (system, place):
                system.pipe_file(place, self._body)

    def release(self) -> None:
        """Stop to renew it."""
        self._ended.set()
        if self._home is not None:
            self._home.remove()

    def remove(self) -> None:
        """Remove it."""
        self.release()
        with contextlib.suppress(OSError):
            self._folder.remove(self._path)


class _Ranges(io.RawIOBase):
    """A large object, of which parts are read."""

    def __init__(self, folder: BucketFolder, path: str, size: int) -> None:
        self._folder, self._path, self._size, self._place = folder, path, size, 0

    def readable(self) -> bool:
        return True

    def seekable(self) -> bool:
        return True

    def seek(self, offset: int, whence: int = os.SEEK_SET) -> int:
        start = {os.SEEK_SET: 0, os.SEEK_CUR: self._place, os.SEEK_END: self._size}[whence]
        self._place = max(start + offset, 0)
        return self._place

    def tell(self) -> int:
        return self._place

    def readinto(self, buffer: Any) -> int:
        end = min(self._place + len(buffer), self._size)
        data = self._folder.part(self._path, self._place, end)
        buffer[: len(data)] = data
        self._place += len(data)
        return len(data)


class _Upload(io.BufferedRandom):
    """A file of this machine that becomes an object once it is closed."""

    def __init__(self, folder: BucketFolder, path: str) -> None:
        self._home = TemporaryFolder()
        self._local = os.path.join(self._home.path, "object")
        super().__init__(io.FileIO(self._local, "x+"))
        self._folder, self._path = folder, path

    def close(self) -> None:
        if self.closed:
            return
        self.flush()
        try:
            self._folder.put(self._path, self._local)
        finally:
            super().close()
            self._home.remove()
