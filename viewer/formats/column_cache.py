"""The columns of large profiles next to other caches of the user, so that they open at once.

Reading ten million slices takes seconds, mapping their columns some milliseconds. So the window
writes the columns of a profile that was large or slow to read to a file of columns, after it has
shown it. Without a folder, as in commands, the cache neither writes nor reads.

Such a file is of one path with its options. It is used only for the same file: size, times, inode,
and the digest of both ends; and only if the readers of this version wrote it. Who changes a file in
its middle changes its time of change as well, which no program can set on POSIX systems. Where it
can be set (Windows, some network drives), a change in the middle that restores size and time stays
unseen. A file that changed less than two seconds ago is not kept: its time may not show the next
change. CRCs of up to a gigabyte are checked before use, which takes 0.05 s for ten million slices,
others by `is_damaged`, which the window calls after the first frame, an export before it writes.
"""

from __future__ import annotations

import contextlib
import functools
import os
import re
import stat
import sys
import threading
import time
import weakref
from collections.abc import Callable, Collection, Mapping
from typing import TYPE_CHECKING, Any, TypeVar, cast

from viewer import __version__
from viewer.codecs.reading import Cancelled, never_cancelled
from viewer.codecs.system_memory import is_remote
from viewer.dataclasses import dataclass, fields

if TYPE_CHECKING:
    from viewer.codecs.column_file import ColumnFile
    from viewer.model.trace import Slices, Trace

_Item = TypeVar("_Item")
Extras = Callable[[], Mapping[str, object]]
LARGE = 50 << 20  # bytes of a profile
SLOW_S = 0.5
_SETTLED_NS = 2 * 10**9
_ENDS = 64 << 10  # bytes at both ends of a profile, whose digest is part of its key
_MOST = 10 * 10**9  # bytes of all files
_SHARE_OF_DISK = 10
_FREE = 512 << 20  # bytes that stay free
# Files up to this size are checked before they are used: 0.05 s for ten million slices.
_CHECKED_AT_ONCE = 1 << 30
_SUFFIX = ".columns"
_NAME = re.compile(rf"[0-9a-f]{{32}}{re.escape(_SUFFIX)}")
# What decides which columns a profile has, and what the window keeps with them.
_SOURCES = ("arrays.py", "codecs", "model", "formats", "program", "analysis", "render")


@dataclass(frozen=True, slots=True)
class _Unsaved:
    """A trace that was read. rest: its fields but its slices, which would keep themselves alive."""

    place: str
    key: dict[str, Any]
    rest: dict[str, Any]


@dataclass(slots=True)
class _Opened:
    """A trace from a file of columns.

    has_crcs: whether those of all columns are right, False if that is not checked yet. is_whole:
    whether the file is, None until its values are checked, too.
    """

    file: ColumnFile
    path: str
    rest: dict[str, Any]
    has_crcs: bool
    is_whole: bool | None = None


class ColumnCache:
    """The files of columns in one folder, which is "" if nothing is kept. Thread-safe."""

    def __init__(self) -> None:
        self.folder = ""
        self._dropped: set[str] = set()
        self._lock = threading.Lock()
        self._unsaved: weakref.WeakKeyDictionary[Slices, _Unsaved] = weakref.WeakKeyDictionary()
        self._opened: weakref.WeakKeyDictionary[Slices, _Opened] = weakref.WeakKeyDictionary()

    # -- opening -----------------------------------------------------------------------------

    def open(self, path: str, part: str, columns: str, read: Callable[[], _Item]) -> _Item:
        """Return the trace of a file: from its columns, or as `read` returns it.

        part, columns: the options with which it is read. Raises what `read` raises.
        """
        before = _status_of(path) if self.folder else None
        if before is None:
            return read()
        named = {
            "path": path, "real_path": os.path.realpath(path), "part": part, "columns": columns
        }  # fmt: skip
        place = os.path.join(self.folder, f"{_digest(repr(named))[:32]}{_SUFFIX}")
        trace = self._mapped(place, named, before)
        if trace is not None:
            return cast("_Item", trace)
        began = time.perf_counter()
        item = read()
        if before["size"] >= LARGE or time.perf_counter() - began > SLOW_S:
            self._note(place, named, before, item)
        return item

    def _mapped(self, place: str, named: dict[str, str], before: dict[str, int]) -> Trace | None:
        """Return the trace of a file of columns; None if there is none for this file."""
        if not os.path.exists(place) or not _is_private(self.folder):
            return None
        from viewer.codecs.column_file import ColumnFile, DamagedFile

        try:
            file = ColumnFile(place)
            if file.key != _key_of(named, before):
                return None
            is_checked = file.size <= _CHECKED_AT_ONCE
            trace = trace_in(file)
            if is_checked and (damage := file.damage()):
                raise DamagedFile(damage)
        except DamagedFile:
            self._drop(place, named["path"])
            return None
        except OSError:
            return None
        with contextlib.suppress(OSError):
            os.utime(place)  # it was used last now
        with self._lock:
            rest = _without_slices(trace)
            self._opened[trace.slices] = _Opened(file, named["path"], rest, is_checked)
        return trace

    def _note(
        self, place: str, named: dict[str, str], before: dict[str, int], item: object
    ) -> None:
        """Remember a trace for `keep`, if its file did not change while it was read."""
        from viewer.model.trace import Trace

        changed = before["mtime_ns" if sys.platform == "win32" else "ctime_ns"]
        if not isinstance(item, Trace) or before["looked_ns"] - changed < _SETTLED_NS:
            return
        key = _key_of(named, before)
        if key is not None:
            with self._lock:
                self._unsaved[item.slices] = _Unsaved(place, key, _without_slices(item))

    # -- after the first frame ---------------------------------------------------------------

    def keep(
        self, slices: Slices, extras: Extras = dict, cancelled: Cancelled = never_cancelled
    ) -> bool:
        """Write the columns of a trace that was read, if that is worth it; whether they were.

        extras: returns dataclasses to write with it, by name. A full disk, or a folder that cannot
        be written, is no error: the profile is read again next time.
        """
        with self._lock:
            unsaved = self._unsaved.pop(slices, None)
        if unsaved is None or not self.folder:
            return False
        from viewer.codecs.atomic_file import WriteCancelled
        from viewer.codecs.column_file import NotStorable, Packer, size_of_columns, write_columns
        from viewer.model.trace import Trace

        packer = Packer()
        try:
            content = {
                "trace": packer.pack(Trace(slices=slices, **unsaved.rest), Trace),
                **{name: packer.pack(extra, type(extra)) for name, extra in extras().items()},
            }
            os.makedirs(self.folder, mode=0o700, exist_ok=True)
            size = size_of_columns(packer.columns)
            if not _is_private(self.folder) or not self._make_room(size, unsaved.place):
                return False
            write_columns(unsaved.place, unsaved.key, content, packer.columns, cancelled)
        except (NotStorable, OSError, WriteCancelled, MemoryError):
            return False
        return True

    def extra(self, slices: Slices, name: str, hint: type[_Item]) -> _Item | None:
        """Return what `keep` wrote with a trace; None if the trace is from no file of columns."""
        with self._lock:
            opened = self._opened.get(slices)
        if opened is None or name not in opened.file.content:
            return None
        from viewer.codecs.column_file import DamagedFile, unpacked

        try:
            return unpacked(opened.file, opened.file.content[name], hint)
        except DamagedFile:
            return None  # `is_damaged` will tell

    def is_damaged(self, slices: Slices, cancelled: Cancelled = never_cancelled) -> bool:
        """Whether a trace is from a file of columns that is damaged, which is then removed.

        The first time, it reads the whole file. Raises WriteCancelled.
        """
        with self._lock:
            opened = self._opened.get(slices)
        if opened is None:
            return False
        if opened.is_whole is None:
            opened.is_whole = _is_whole(opened, slices, cancelled)
            if not opened.is_whole:
                self._drop(opened.file.path, opened.path)
        return not opened.is_whole

    def part_of(self, slices: Slices) -> str:
        """The part of the file that a trace from a file of columns is of, "1" for all."""
        with self._lock:
            opened = self._opened.get(slices)
        return "1" if opened is None else str(opened.file.key["part"])

    def take_dropped(self, paths: Collection[str]) -> list[str]:
        """Return which of some profiles had a damaged file of columns, once."""
        with self._lock:
            dropped = [path for path in paths if path in self._dropped]
            self._dropped.difference_update(dropped)
        return dropped

    # -- the folder --------------------------------------------------------------------------

    @property
    def size(self) -> int:
        """The bytes of all files of columns."""
        return sum(status.st_size for _, status in self._files())

    def empty(self) -> None:
        """Remove all files of columns; open profiles keep theirs."""
        from viewer.codecs.atomic_file import remove_left_parts

        if self.folder:
            remove_left_parts(self.folder)
        for place, _ in self._files():
            with contextlib.suppress(OSError):
                os.unlink(place)

    def _files(self) -> list[tuple[str, os.stat_result]]:
        """Return all files of columns, the one that was used longest ago first."""
        files = []
        with contextlib.suppress(OSError), os.scandir(self.folder or os.devnull) as entries:
            for entry in entries:
                if _NAME.fullmatch(entry.name):
                    files.append((entry.path, entry.stat(follow_symlinks=False)))
        return sorted(files, key=lambda file: file[1].st_mtime_ns)

    def _make_room(self, size: int, place: str) -> bool:
        """Remove files until another one fits within the limits; False if it cannot."""
        import shutil

        disk = shutil.disk_usage(self.folder)
        limit = min(_MOST, disk.total // _SHARE_OF_DISK)
        if size > limit or size + _FREE > disk.free or is_remote(self.folder):
            return False
        files = [file for file in self._files() if file[0] != place]
        taken = size + sum(status.st_size for _, status in files)
        for oldest, status in files:
            if taken <= limit:
                break
            with contextlib.suppress(OSError):
                os.unlink(oldest)
                taken -= status.st_size
        return taken <= limit

    def _drop(self, place: str, path: str) -> None:
        with contextlib.suppress(OSError):
            os.unlink(place)
        with self._lock:
            self._dropped.add(path)


CACHE = ColumnCache()


def trace_in(file: ColumnFile) -> Trace:
    """Return the trace in a file of columns that fit one another. Raises DamagedFile."""
    from viewer.codecs.column_file import DamagedFile, unpacked
    from viewer.model.trace import Trace
    from viewer.model.trace_checks import require_fitting

    try:
        trace = unpacked(file, file.content["trace"], Trace)
        require_fitting(trace)
    except (ValueError, TypeError, KeyError) as error:
        raise DamagedFile(f"its columns do not fit ({error})") from error
    return trace


def _is_whole(opened: _Opened, slices: Slices, cancelled: Cancelled) -> bool:
    from viewer.model.trace import Trace
    from viewer.model.trace_checks import require_fitting_values

    try:
        if not opened.has_crcs and opened.file.damage(cancelled):
            return False
        require_fitting_values(Trace(slices=slices, **opened.rest))
    except (OSError, ValueError, IndexError):
        return False
    return True


def _without_slices(trace: Trace) -> dict[str, Any]:
    return {
        field.name: getattr(trace, field.name) for field in fields(trace) if field.name != "slices"
    }


def _status_of(path: str) -> dict[str, int] | None:
    """What the system says about a regular file, and when; None for anything else."""
    looked = time.time_ns()
    try:
        status = os.stat(path)
    except (OSError, ValueError):
        return None
    if not stat.S_ISREG(status.st_mode):
        return None
    return {
        "size": status.st_size, "mtime_ns": status.st_mtime_ns, "ctime_ns": status.st_ctime_ns,
        "inode": status.st_ino, "device": status.st_dev, "looked_ns": looked,
    }  # fmt: skip


def _key_of(named: dict[str, str], before: dict[str, int]) -> dict[str, Any] | None:
    """Return what identifies a file and how it was read; None if it changed since `before`."""
    path, size = named["path"], before["size"]
    try:
        with open(path, "rb") as file:
            head = file.read(_ENDS)
            file.seek(max(size - _ENDS, 0))
            tail = file.read(_ENDS)
    except OSError:
        return None
    after = _status_of(path)
    facts = {name: value for name, value in before.items() if name != "looked_ns"}
    if after is None or any(after[name] != value for name, value in facts.items()):
        return None
    return {**named, **facts, "ends": _digest(head + tail), "readers": readers()}


@functools.cache
def readers() -> str:
    """Return what identifies the readers of this version and the columns that they make.

    The digest of their sources takes 13 ms; a bundle without sources has those of its program.
    """
    import hashlib  # 4 MB, which commands do without
    from pathlib import Path

    digest = hashlib.blake2b(__version__.encode(), digest_size=16)
    root, count = Path(__file__).parents[1], 0
    for name in _SOURCES:
        place = root / name
        for source in sorted(place.rglob("*.py")) if place.is_dir() else [place]:
            with contextlib.suppress(OSError):
                data = source.read_bytes()
                digest.update(f"{source.relative_to(root)} {len(data)} ".encode() + data)
                count += 1
    if not count:
        status = os.stat(sys.executable)
        digest.update(f"{status.st_size} {status.st_mtime_ns}".encode())
    return digest.hexdigest()


def _digest(data: bytes | str) -> str:
    import hashlib

    if isinstance(data, str):
        data = data.encode("utf-8", "surrogatepass")
    return hashlib.blake2b(data, digest_size=16).hexdigest()


def _is_private(folder: str) -> bool:
    """Whether a folder is of this user, and nobody else may write to it."""
    try:
        status = os.lstat(folder)
    except OSError:
        return False
    is_ours = sys.platform == "win32" or (
        status.st_uid == os.geteuid() and not status.st_mode & 0o022
    )
    return stat.S_ISDIR(status.st_mode) and is_ours
