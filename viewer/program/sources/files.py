"""Finds and reads local source files for recorded paths.

A recorded path comes from a file and is untrusted. Only plain local files are read, of at most
`MAX_SOURCE` bytes: never devices, pipes, UNC or network paths. A `Substitution` maps a folder of
the recording machine to a local one. If none applies and the recorded path does not exist here, the
longest suffix of it that exists next to the opened files is used, and `SourceFile.is_elsewhere` is
set. In the parent folders of those (`PARENTS` levels), any file could be named `model.py`, so a
file counts there only if the caller confirms that it is the recorded one.
"""

from __future__ import annotations

import os
import re
import stat
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

MAX_SOURCE = 8 << 20
PARENTS = 3  # levels of parent folders that are searched
_DEEPEST = 64  # trailing components of a recorded path that are searched for
# Paths that look like regular files but are not: reading some of them blocks or has side effects.
# For /net and other automounts, even a stat contacts another machine.
_KERNEL_FOLDERS = ("/dev/", "/proc/", "/sys/", "/run/", "/net/")
# Folders in them that have files like any other: in memory, and on disks that are plugged in.
_PLAIN_FOLDERS = ("/dev/shm/", "/run/media/")
_SEPARATORS = re.compile(r"[\\/]+")
_DRIVE = re.compile(r"[A-Za-z]:[\\/]")


@dataclass(frozen=True, slots=True)
class SourceFile:
    """A source text: its recorded path, the path where it was read, and its lines."""

    recorded_path: str
    shown: str
    lines: tuple[str, ...]

    @property
    def is_elsewhere(self) -> bool:
        """Whether the file was found at a path other than the recorded one."""
        return self.recorded_path != self.shown

    def line(self, number: int) -> str | None:
        """The text of a line, counted from 1; None after the end."""
        return self.lines[number - 1] if 0 < number <= len(self.lines) else None


@dataclass(frozen=True, slots=True)
class Substitution:
    """Maps paths below `recorded_path` to paths below `local` on this machine.

    Both may name one file. An empty `recorded_path` matches names that were recorded without
    a root. any_kind: whether the user named `local` itself, so that a profile may name files of
    any kind there (see named_files.py). Raises ValueError if `local` is not an absolute path of a
    plain local file or folder.
    """

    recorded_path: str
    local: str
    any_kind: bool = False

    def __post_init__(self) -> None:
        if not _is_plain_absolute(self.local) or "\0" in self.recorded_path + self.local:
            raise ValueError(f"{self.local!r} is not the absolute path of a local folder or file")

    def applied(self, path: str) -> str | None:
        """The local path of a recorded one, or None if it is not below `recorded_path`."""
        parts, prefix = _parts(path), _parts(self.recorded_path)
        if ".." in _SEPARATORS.split(path) or "\0" in path:
            return None
        if parts[: len(prefix)] != prefix or _root(path) != _root(self.recorded_path):
            return None
        return os.path.join(self.local, *parts[len(prefix) :])


def substitution_between(recorded_path: str, local: str) -> Substitution:
    """The substitution that maps a recorded path to a local one, without their common suffix.

    Raises ValueError as `Substitution` does.
    """
    local = os.path.abspath(local)
    shared = shared_suffix(recorded_path, local)
    if shared == 0:
        return Substitution(recorded_path, local)
    prefix = _parts(recorded_path)[:-shared]
    folder = os.path.join(os.path.abspath(os.sep), *_parts(local)[:-shared])
    return Substitution(_root(recorded_path) + "/".join(prefix), folder)


def local_paths(recorded_path: str, substitutions: Sequence[Substitution]) -> list[str]:
    """The local paths of a recorded path under all substitutions, most specific first."""
    by_length = sorted(substitutions, key=lambda s: -len(_parts(s.recorded_path)))
    return [path for s in by_length if (path := s.applied(recorded_path)) is not None]


def parent_folders(folders: Sequence[str]) -> list[str]:
    """The parent folders of some folders, level by level; only plain local ones."""
    parents: dict[str, None] = {}
    level = list(folders)
    for _ in range(PARENTS):
        level = [os.path.dirname(folder) for folder in level if _is_plain_absolute(folder)]
        parents |= dict.fromkeys(level)
    return [folder for folder in parents if folder not in folders and _is_plain_absolute(folder)]


def candidates(recorded_path: str, folders: Sequence[str]) -> list[str]:
    """The paths at which the source of a recorded path may be, most likely first.

    folders: those of opened files, in order of preference.
    """
    if not recorded_path or "\0" in recorded_path:
        return []
    parts = _parts(recorded_path)
    if parts and _DRIVE.match(recorded_path):
        parts = parts[1:]
    parts = parts[-_DEEPEST:]
    paths = [recorded_path] if _is_plain_absolute(recorded_path) else []
    for cut in range(len(parts)):
        paths += [os.path.join(folder, *parts[cut:]) for folder in folders]
    return paths


def _is_plain_absolute(path: str) -> bool:
    if path.startswith(("\\\\", "//")) or is_kernel_path(path):
        return False
    return os.path.isabs(path) and ".." not in _SEPARATORS.split(path)


def shared_suffix(path: str, other: str) -> int:
    """The number of trailing components that two paths share, whatever their separators."""
    pairs = zip(reversed(_parts(path)), reversed(_parts(other)), strict=False)
    return next(
        (i for i, (a, b) in enumerate(pairs) if a != b), min(len(_parts(path)), len(_parts(other)))
    )


def file_name(recorded_path: str) -> str:
    """The last component of a path of any operating system."""
    return os.path.basename(recorded_path.replace("\\", "/")) or recorded_path


def short_names(paths: Iterable[str]) -> dict[str, str]:
    """A display name for every path: its last component if unique, else the whole path."""
    names = {path: file_name(path) for path in paths}
    often = Counter(names.values())
    return {path: name if often[name] == 1 else path for path, name in names.items()}


def _parts(path: str) -> list[str]:
    return [p for p in _SEPARATORS.split(path) if p not in ("", ".", "..")]


def _root(path: str) -> str:
    """The root of a path: "/" if absolute, "//" for network paths, else "".

    A Windows drive is not a root but a component of its own.
    """
    return "//" if path[:2] in ("//", "\\\\") else "/" if path[:1] in ("/", "\\") else ""


def is_kernel_path(path: str) -> bool:
    """Whether a path names something that looks like a file but is none, or another machine."""
    return path.startswith(_KERNEL_FOLDERS) and not path.startswith(_PLAIN_FOLDERS)


def is_plain_file(path: str, most: int) -> bool:
    """Whether a path is a regular local file of at most `most` bytes."""
    if is_kernel_path(path):
        return False
    try:
        status = os.stat(path)
        if not stat.S_ISREG(status.st_mode) or status.st_size > most:
            return False
        # Only for existing files, because it stats each of the folders.
        return not is_kernel_path(os.path.realpath(path))
    except (OSError, ValueError):
        return False


def read_source(path: str) -> tuple[str, ...] | None:
    """The lines of a plain local text file; None if it is missing, too large or not text."""
    if not is_plain_file(path, MAX_SOURCE):
        return None
    try:
        # Do not wait for a writer if a pipe has replaced the file.
        with open(os.open(path, os.O_RDONLY | getattr(os, "O_NONBLOCK", 0)), "rb") as file:
            if not stat.S_ISREG(os.fstat(file.fileno()).st_mode):
                return None
            data = file.read(MAX_SOURCE + 1)
    except (OSError, ValueError):
        return None
    if b"\0" in data[:4096]:
        return None
    # str.splitlines would also split at form feeds and similar characters, where Python does not.
    text = data.decode("utf-8", "replace").replace("\r\n", "\n").replace("\r", "\n")
    return tuple(text.removesuffix("\n").split("\n"))
