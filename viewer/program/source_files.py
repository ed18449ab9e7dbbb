"""The source files that profiles and ETRecords name: which are read, where they are, their lines.

A recorded path is untrusted: it may name a password file, a key or a device. Only a regular local
file of at most `MAX_SOURCE` bytes is read, whose real name ends with one of `SUFFIXES`, or that is
below a folder that the user named for files of any kind: never devices, pipes or network paths.

A `Substitution` maps a folder of the recording machine to a local one. If none applies and the
recorded path does not exist here, the longest suffix of it that exists next to the opened files is
used. In the parent folders of those (`PARENTS` levels), any file could be named `model.py`, so a
file counts there only if the caller confirms that it is the recorded one.

A stack trace contains the text of every line it names (*quoted lines*, untrusted). If a local file
has other text there, it is another version than the ETRecord was made from, and costs would be
displayed next to the wrong lines.
"""

from __future__ import annotations

import os
import re
import stat
from collections import Counter
from collections.abc import Callable, Iterable, Sequence

from viewer.dataclasses import dataclass
from viewer.model.text import one_line
from viewer.program.program import Program

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


@dataclass(frozen=True, slots=True)
class VersionFit:
    """How a file compares with its recorded lines.

    compared: the number of lines recorded with their text. unlike: those that differ here,
    ascending, each with its recorded text.
    """

    compared: int
    unlike: tuple[tuple[int, str], ...]

    @property
    def is_other(self) -> bool:
        """Whether the file is a different version than the recorded one."""
        return bool(self.unlike)


def version_fit(program: Program, file: SourceFile) -> VersionFit:
    """Compare a file with every line of it that the program's stack traces quote.

    Leading and trailing whitespace is ignored.
    """
    recorded = program.quoted_texts.get(file.recorded_path, {})
    quoted = {line: texts for line, texts in sorted(recorded.items()) if texts}
    unlike = tuple(
        (line, min(texts))
        for line, texts in quoted.items()
        if (file.line(line) or "").strip() not in texts
    )
    return VersionFit(len(quoted), unlike)


MOST_CHARACTERS = 2000  # of a line; more would only make the view slow
GAP = 0  # the number of a row between lines that are not adjacent


@dataclass(frozen=True, slots=True)
class QuotedLines:
    """Rows of text, ascending: lines and the gaps between them; empty if no text was recorded.

    numbers: the line of each row, `GAP` between lines that are not adjacent. texts: what was
    recorded, without indentation. quoted: the number of lines with a text.
    """

    numbers: tuple[int, ...] = ()
    texts: tuple[str, ...] = ()
    quoted: int = 0


def quoted_lines(programs: Iterable[Program], path: str) -> QuotedLines:
    """All lines of a file that the programs name, with the text that they quote.

    Programs that quote another version of the file than an earlier one are left out.
    """
    lines: dict[int, set[str]] = {}
    for program in programs:
        texts_of_line = program.quoted_texts.get(path, {})
        if all(
            lines[n] & texts_of_line[n]
            for n in lines.keys() & texts_of_line
            if lines[n] and texts_of_line[n]
        ):
            lines |= {n: lines.get(n, set()) | texts for n, texts in texts_of_line.items()}
    quoted = sum(map(bool, lines.values()))
    if not quoted:
        return QuotedLines()
    numbers, rows, before = [], [], 0
    for number, texts in sorted(lines.items()):
        if before and number > before + 1:
            numbers.append(GAP)
            rows.append("")
        numbers.append(number)
        rows.append(_shown(min(texts, default="")))
        before = number
    return QuotedLines(tuple(numbers), tuple(rows), quoted)


def _shown(text: str) -> str:
    """A text on one line, cut if it is very long."""
    cut = text if len(text) <= MOST_CHARACTERS else text[:MOST_CHARACTERS] + "…"
    return one_line(cut)


SUFFIXES = (".py", ".mlir")


def is_source_name(path: str) -> bool:
    """Whether the real name of a file, behind symbolic links, is that of a source."""
    return os.path.realpath(path).lower().endswith(SUFFIXES)


def is_readable(path: str, most: int, substitutions: Sequence[Substitution] = ()) -> bool:
    """Whether a profile may name this file, of at most `most` bytes, to have it read."""
    return is_plain_file(path, most) and (
        is_source_name(path) or _is_in_chosen(path, substitutions)
    )


def read_named(path: str, substitutions: Sequence[Substitution] = ()) -> tuple[str, ...] | None:
    """The lines of a file that a profile names; None if it is missing, not text or not allowed."""
    # The resolved path, so that what is read is what was checked.
    real = os.path.realpath(path) if is_readable(path, MAX_SOURCE, substitutions) else None
    return None if real is None else read_source(real)


def find_source(
    recorded_path: str, folders: Sequence[str], substitutions: Sequence[Substitution] = ()
) -> SourceFile | None:
    """The source of a recorded path, from that path or next to the opened files; None if missing.

    folders: those of opened files, in order of preference. substitutions: see `read_named`.
    """
    for candidate in candidates(recorded_path, folders):
        lines = read_named(candidate, substitutions)
        if lines is not None:
            return SourceFile(recorded_path, candidate, lines)
    return None


def find_around(
    recorded_path: str, folders: Sequence[str], is_it: Callable[[SourceFile], bool]
) -> SourceFile | None:
    """The source of a recorded path in parent folders of opened files, nearest first, or None.

    is_it: confirms that a file with the same path suffix is the recorded one.
    """
    for folder in parent_folders(folders):
        for candidate in candidates(recorded_path, [folder]):
            lines = read_named(candidate)
            if lines is not None and is_it(SourceFile(recorded_path, candidate, lines)):
                return SourceFile(recorded_path, candidate, lines)
    return None


def refusal(
    recorded_path: str, folders: Sequence[str], substitutions: Sequence[Substitution] = ()
) -> str:
    """Why a file of a recorded path is not read although there is one; "" if there is none.

    folders: those of opened files.
    """
    if recorded_path.startswith(("//", "\\\\")) or is_kernel_path(recorded_path):
        return f"Opscope does not read {one_line(recorded_path)}: it is not a regular local file."
    paths = [*local_paths(recorded_path, substitutions), *candidates(recorded_path, folders)]
    return next(filter(None, (_why_not(path, substitutions) for path in paths)), "")


def _why_not(path: str, substitutions: Sequence[Substitution]) -> str:
    if is_kernel_path(path):
        return ""  # not even looked at: a stat may contact another machine
    try:
        status = os.stat(path)
    except (OSError, ValueError):
        return ""
    if stat.S_ISDIR(status.st_mode):
        return ""
    name = one_line(path)
    if stat.S_ISREG(status.st_mode) and status.st_size > MAX_SOURCE:
        return f"Opscope does not read {name}: it is larger than {MAX_SOURCE >> 20} MB."
    if not is_plain_file(path, MAX_SOURCE):
        return f"Opscope does not read {name}: it is not a regular local file."
    if not is_readable(path, MAX_SOURCE, substitutions):
        return (
            f"Opscope reads only .py and .mlir files that a profile names, not {name}. To show it, "
            "locate it once, or name its folder with --source-path."
        )
    return ""


def _is_in_chosen(path: str, substitutions: Sequence[Substitution]) -> bool:
    """Whether a file is below a folder that the user named for files of any kind."""
    real = os.path.realpath(path)
    chosen = (os.path.realpath(s.local) for s in substitutions if s.any_kind)
    return any(real == folder or real.startswith(os.path.join(folder, "")) for folder in chosen)


class Sources:
    """Looks up the sources of the open files, each path once.

    programs, paths: the open ones. substitutions: recorded folders and their local folders, in the
    order they were given.
    """

    def __init__(
        self,
        programs: Sequence[Program] = (),
        paths: Sequence[str] = (),
        substitutions: Sequence[Substitution] = (),
    ) -> None:
        self._programs, self._paths = programs, paths
        self._substitutions = substitutions
        self._found: dict[str, SourceFile | None] = {}

    def source(self, recorded_path: str) -> SourceFile | None:
        """The source of a recorded path, or None if it is not found.

        Sources are open programs, local files, and files near the open ones.
        """
        if recorded_path not in self._found:
            self._found[recorded_path] = self._find(recorded_path)
        return self._found[recorded_path]

    def _find(self, recorded_path: str) -> SourceFile | None:
        texts = [p for p in self._programs if p.text_lines]
        opened = max(texts, key=lambda p: shared_suffix(p.path, recorded_path), default=None)
        if opened is not None and opened.path == recorded_path:
            return SourceFile(recorded_path, recorded_path, opened.text_lines)
        # The user's substitution has priority over an open text with a similar path.
        for path in local_paths(recorded_path, self._substitutions):
            lines = read_named(path, self._substitutions)
            if lines is not None:
                return SourceFile(recorded_path, path, lines)
        if opened is not None and shared_suffix(opened.path, recorded_path):
            return SourceFile(recorded_path, opened.path, opened.text_lines)
        folders = dict.fromkeys(os.path.dirname(os.path.abspath(p)) for p in self._paths)
        parents = list(folders)
        source_file = find_source(recorded_path, parents, self._substitutions)
        return source_file or find_around(
            recorded_path, parents, lambda file: _is_recorded(file, self._programs)
        )


def _is_recorded(file: SourceFile, programs: Sequence[Program]) -> bool:
    """Whether a file matches the lines that the programs quote.

    If none quotes it, whether at least its folder has the recorded name too.
    """
    fits = [fit for program in programs if (fit := version_fit(program, file)).compared]
    if fits:
        return not any(fit.is_other for fit in fits)
    return shared_suffix(file.recorded_path, file.shown) > 1
