"""A lake in a bucket: the operations of `lake_folder` on objects, through fsspec.

A bucket has no locks, no renaming and no appending. It has one thing that a lake needs: an object
that is written only if there is none (`If-None-Match: *` of S3, `ifGenerationMatch=0` of GCS).
`new_lock` tries that, as a store without it would let two builds overwrite each other.
"""

from __future__ import annotations

import contextlib
import io
import json
import os
import secrets
import threading
import time
from collections import OrderedDict
from collections.abc import Iterable, Iterator, Sequence
from itertools import islice
from typing import Any, BinaryIO

from viewer.codecs.temporary_folder import TemporaryFolder, machine, owner_is_alive
from viewer.fleet.lake_folder import LakeFolder
from viewer.fleet.remote import file_system, is_url

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
