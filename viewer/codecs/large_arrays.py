"""Arrays that are too large for memory, in files without a name.

Reading a hundred million slices needs twenty columns of half a gigabyte, of which each step uses
few. `empty` puts a long array into a file that the system may write out and read back, like swap
space, which few machines have enough of. As it has no name, no other program can shorten it, which
would kill this process, and nothing is left when the process ends. Where this is not possible, the
array is in memory: other systems than Linux, which extend their swap space themselves, folders in
memory, and disks without the space. Pages of such files count as memory of the process until the
system needs it; `let_go` returns them if they are many.
"""

from __future__ import annotations

import mmap  # noqa: TID251 - never of a file that another program can open
import os
import sys
import threading
import time
import weakref
from typing import Any

import numpy as np
from numpy.typing import DTypeLike, NDArray

from viewer.codecs.system_memory import kind_of_disk
from viewer.codecs.temporary_folder import folder_of_temporary_files

# Elements. Ten million slices, with two events each, stay in memory.
LARGE = 1 << 25
_FREE = 1 << 30  # bytes of the disk that stay free
_MOST_PAGES = 1 << 30  # bytes of files in memory
_EVERY_S = 0.1  # how often the thread looks
_SECOND_FOLDER = "/var/tmp"  # where the folder for temporary files is in memory
# Those where reserved space cannot run out when it is written to.
_DISKS = frozenset(("ext3", "ext4", "xfs", "btrfs", "f2fs", "overlay"))
_maps: weakref.WeakSet[mmap.mmap] = weakref.WeakSet()
_lock = threading.Lock()
_watchers: list[threading.Thread] = []  # one, or none


def empty(count: int, dtype: DTypeLike) -> NDArray[Any]:
    """Return an array of so many elements with any content."""
    size = count * np.dtype(dtype).itemsize
    mapped = _mapped(size) if count >= LARGE else None
    return np.empty(count, dtype) if mapped is None else np.frombuffer(mapped, dtype, count)


def are_possible(count: int, size: int) -> bool:
    """Whether arrays of so many elements, and so many bytes together, would be in files."""
    return count >= LARGE and _folder(size) is not None


def let_go() -> None:
    """Return memory to the system if pages of large arrays take much of it.

    It takes nothing if there are no such arrays, and 15 µs if there are.
    """
    if _maps and _bytes_of_files() > _MOST_PAGES:
        with _lock:
            maps = list(_maps)
        for mapped in maps:
            mapped.madvise(mmap.MADV_DONTNEED)


def count_pages(mapped: mmap.mmap) -> None:
    """Let go of the pages of another file, too, if it is large; it must be mapped shared."""
    if sys.platform == "linux" and len(mapped) >= _MOST_PAGES:
        _add(mapped)


def _add(mapped: mmap.mmap) -> None:
    """Let go of the pages of a file while it is mapped."""
    with _lock:
        _maps.add(mapped)
        if not _watchers:
            _watchers.append(threading.Thread(target=_watch, name="large arrays", daemon=True))
            _watchers[0].start()


def _watch() -> None:
    """Let go of pages until there are no large arrays any more."""
    while True:
        let_go()
        time.sleep(_EVERY_S)
        with _lock:
            if not _maps:
                _watchers.clear()
                return


def _mapped(size: int) -> mmap.mmap | None:
    """Return a map of a new file without a name; None if there can be none."""
    if sys.platform != "linux" or (folder := _folder(size)) is None:
        return None
    try:
        descriptor = os.open(folder, os.O_TMPFILE | os.O_RDWR | os.O_EXCL | os.O_CLOEXEC, 0o600)
        try:
            os.posix_fallocate(descriptor, 0, size)  # else a full disk would kill the process
            mapped = mmap.mmap(descriptor, size)
        finally:
            os.close(descriptor)
    except (OSError, ValueError):
        return None
    _add(mapped)
    return mapped


def _folder(size: int) -> str | None:
    """The folder where a file of so many bytes can be; None if there is none."""
    if sys.platform != "linux":
        return None
    for folder in (folder_of_temporary_files(), _SECOND_FOLDER):
        try:
            disk = os.statvfs(folder)
        except OSError:
            continue
        if kind_of_disk(folder) in _DISKS and disk.f_bavail * disk.f_frsize >= size + _FREE:
            return folder
    return None


def _bytes_of_files() -> int:
    """The bytes of mapped files that are in memory of this process."""
    try:
        with open("/proc/self/statm", encoding="ascii") as file:
            return int(file.read().split()[2]) * mmap.PAGESIZE
    except (OSError, ValueError, IndexError):
        return 0
