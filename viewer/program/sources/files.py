"""Source files on this machine for the paths that a record names.

A recorded path is data from a file and may name anything. Only plain local files are read: never a
device, a pipe, a UNC or network path, never more than `MAX_SOURCE` bytes. A `Substitution` says
where a folder of the recording machine lies on this one. Where none applies and the recorded path
does not exist here, the longest suffix of it that exists beside the opened files is taken, and the
caller is told so. In the folders around those (`PARENTS` levels) any file may be called `model.py`:
there one counts only where the caller finds that it is the recorded one.
"""

from __future__ import annotations

import os
import re
import stat
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

MAX_SOURCE = 8 << 20
PARENTS = 3  # folders around one with an opened file that are looked into
_DEEPEST = 64  # components of a recorded path that are looked for beside opened files
# Regular files by mode that are none: reading some of them blocks or has effects. Below /net, and
# others that are mounted when they are asked for, already the question reaches another machine.
_KERNEL_FOLDERS = ("/dev/", "/proc/", "/sys/", "/run/", "/net/")
_SEPARATORS = re.compile(r"[\\/]+")
_DRIVE = re.compile(r"[A-Za-z]:[\\/]")


@dataclass(frozen=True, slots=True)
class SourceFile:
    """A source text: where it was recorded, where it was read, and its lines."""

    recorded: str
    shown: str
    lines: tuple[str, ...]

    @property
    def is_elsewhere(self) -> bool:
        """Whether the file was found under another path than the recorded one."""
        return self.recorded != self.shown

    def line(self, number: int) -> str | None:
        """The text of a line counted from 1, None beyond the end."""
        return self.lines[number - 1] if 0 < number <= len(self.lines) else None


@dataclass(frozen=True, slots=True)
class Substitution:
    """Paths that were recorded below `recorded` lie below `local` on this machine.

    Both may name one file. An empty `recorded` is of names that were recorded without a root.
    Raises ValueError for a `local` that is no absolute path of a plain local place.
    """

    recorded: str
    local: str

    def __post_init__(self) -> None:
        if not _is_plain_absolute(self.local) or "\0" in self.recorded + self.local:
            raise ValueError(f"{self.local!r} is not the absolute path of a local folder or file")

    def applied(self, path: str) -> str | None:
        """The local path of a recorded one, None if it is not below `recorded`."""
        parts, prefix = _parts(path), _parts(self.recorded)
        if ".." in _SEPARATORS.split(path) or "\0" in path:
            return None
        if parts[: len(prefix)] != prefix or _root(path) != _root(self.recorded):
            return None
        return os.path.join(self.local, *parts[len(prefix) :])


def substitution_between(recorded: str, local: str) -> Substitution:
    """What makes a local file of a recorded path: both without the components they end in alike.

    Raises ValueError as `Substitution` does.
    """
    local = os.path.abspath(local)
    shared = shared_suffix(recorded, local)
    if shared == 0:
        return Substitution(recorded, local)
    kept = _parts(recorded)[:-shared]
    folder = os.path.join(os.path.abspath(os.sep), *_parts(local)[:-shared])
    return Substitution(_root(recorded) + "/".join(kept), folder)


def local_paths(recorded: str, substitutions: Sequence[Substitution]) -> list[str]:
    """Where substitutions say that a recorded path lies here, the one that says most first."""
    by_length = sorted(substitutions, key=lambda s: -len(_parts(s.recorded)))
    return [path for s in by_length if (path := s.applied(recorded)) is not None]


def find_source(recorded: str, beside: Sequence[str]) -> SourceFile | None:
    """The source of a recorded path, from there or from beside the opened files; None if neither.

    beside: folders of opened files, in order of preference.
    """
    for candidate in _candidates(recorded, beside):
        lines = read_source(candidate)
        if lines is not None:
            return SourceFile(recorded, candidate, lines)
    return None


def find_around(
    recorded: str, beside: Sequence[str], is_it: Callable[[SourceFile], bool]
) -> SourceFile | None:
    """The source of a recorded path from the folders around those of opened files, nearest first.

    is_it: whether a file that ends like the recorded path is the one. None if none is.
    """
    for folder in _around(beside):
        for candidate in _candidates(recorded, [folder]):
            lines = read_source(candidate)
            if lines is not None and is_it(SourceFile(recorded, candidate, lines)):
                return SourceFile(recorded, candidate, lines)
    return None


def _around(folders: Sequence[str]) -> list[str]:
    """The folders around some, level by level; none of another machine."""
    found: dict[str, None] = {}
    level = list(folders)
    for _ in range(PARENTS):
        level = [os.path.dirname(folder) for folder in level if _is_plain_absolute(folder)]
        found |= dict.fromkeys(level)
    return [folder for folder in found if folder not in folders and _is_plain_absolute(folder)]


def _candidates(recorded: str, beside: Sequence[str]) -> list[str]:
    if not recorded or "\0" in recorded:
        return []
    parts = _parts(recorded)
    if parts and _DRIVE.match(recorded):
        parts = parts[1:]
    parts = parts[-_DEEPEST:]
    found = [recorded] if _is_plain_absolute(recorded) else []
    for cut in range(len(parts)):
        found += [os.path.join(folder, *parts[cut:]) for folder in beside]
    return found


def _is_plain_absolute(path: str) -> bool:
    if path.startswith(("\\\\", "//")) or path.startswith(_KERNEL_FOLDERS):
        return False
    return os.path.isabs(path) and ".." not in _SEPARATORS.split(path)


def shared_suffix(one: str, other: str) -> int:
    """How many last components two paths have in common, whatever their separators."""
    pairs = zip(reversed(_parts(one)), reversed(_parts(other)), strict=False)
    return next(
        (i for i, (a, b) in enumerate(pairs) if a != b), min(len(_parts(one)), len(_parts(other)))
    )


def file_name(recorded: str) -> str:
    """The last component of a path of any system."""
    return os.path.basename(recorded.replace("\\", "/")) or recorded


def short_names(paths: Iterable[str]) -> dict[str, str]:
    """Every path with what it is called among the others: its last component where only it has it,
    else all of it."""
    names = {path: file_name(path) for path in paths}
    often = Counter(names.values())
    return {path: name if often[name] == 1 else path for path, name in names.items()}


def _parts(path: str) -> list[str]:
    return [p for p in _SEPARATORS.split(path) if p not in ("", ".", "..")]


def _root(path: str) -> str:
    """ "/" of absolute paths, "//" of network paths, "" of names and of Windows drives, which are
    a component of their own."""
    return "//" if path[:2] in ("//", "\\\\") else "/" if path[:1] in ("/", "\\") else ""


def is_plain_file(path: str, most: int) -> bool:
    """Whether a path leads to a regular local file of at most so many bytes."""
    if path.startswith(_KERNEL_FOLDERS):
        return False
    try:
        status = os.stat(path)
        if not stat.S_ISREG(status.st_mode) or status.st_size > most:
            return False
        # Of what is there alone: it asks for each of the folders.
        return not os.path.realpath(path).startswith(_KERNEL_FOLDERS)
    except (OSError, ValueError):
        return False


def read_source(path: str) -> tuple[str, ...] | None:
    """The lines of a plain local text file; None if it is none, is too big or is not there."""
    if not is_plain_file(path, MAX_SOURCE):
        return None
    try:
        # Not waiting for a writer, should a pipe have taken the place of the file.
        with open(os.open(path, os.O_RDONLY | getattr(os, "O_NONBLOCK", 0)), "rb") as file:
            if not stat.S_ISREG(os.fstat(file.fileno()).st_mode):
                return None
            data = file.read(MAX_SOURCE + 1)
    except (OSError, ValueError):
        return None
    if b"\0" in data[:4096]:
        return None
    # str.splitlines would also end lines at form feeds and the like, where Python counts none.
    text = data.decode("utf-8", "replace").replace("\r\n", "\n").replace("\r", "\n")
    return tuple(text.removesuffix("\n").split("\n"))
