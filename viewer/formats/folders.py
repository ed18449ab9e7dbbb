"""Finds the files in a folder and its subfolders that can be opened, by content and within limits.

Hidden names and links to folders are skipped: a folder of traces may be next to a checkout, or link
to the whole disk. Python files are recognized by name, because any text could be Python.
"""

from __future__ import annotations

import os
import time
from collections import deque
from collections.abc import Callable, Sequence

from viewer.codecs.reading import UnreadableFile
from viewer.codecs.unpacking import inflated_head
from viewer.dataclasses import dataclass
from viewer.formats import LOG, PACKED, PLAIN_CSV, choose, head_of

DEEPEST = 4  # levels of subfolders
MOST_LOOKED_AT = 5000
MOST_FOUND = 200
LONGEST_LOOK = 5.0  # seconds; a network folder may take forever
TEXT, BYTECODE = ".mlir", ".mlirb"  # of Torq debug info
_PYTHON, _MLIR, _CHROME = "Python source", "MLIR text", "Chrome trace"
_ZIP = "ZIP archive"
_BYTECODE = b"ML\xefR"
# In the first 4 kB of a Chrome trace; other JSON files start the same way.
_OF_TRACE = (b'"traceEvents"', b'"ph"', b'"displayTimeUnit"', b'"schemaVersion"')


class NoDebugInfo(Exception):
    """A folder without debug info; the message names the folder and the command that writes it."""


@dataclass(frozen=True, slots=True)
class FoundFile:
    """A file that can be opened. name: its path relative to the searched folder, with "/".

    is_meant: whether it is opened by default. False for Python, which is found when an ETRecord
    names it, for JSON that does not start like a trace, and for a table that does not show what its
    columns are.
    """

    path: str
    name: str
    format: str
    size: int
    is_meant: bool = True


@dataclass(frozen=True, slots=True)
class FolderContents:
    """The files found in a folder. is_whole: whether the search was complete."""

    folder: str
    files: tuple[FoundFile, ...]
    is_whole: bool = True

    @property
    def debug_info(self) -> list[str]:
        """The files to open if the folder contains only Torq debug info, else none."""
        if any(file.format not in (_MLIR, _PYTHON) for file in self.files):
            return []
        try:
            return debug_info_of(self.folder)
        except NoDebugInfo:
            return []


def look_through(folder: str, clock: Callable[[], float] = time.monotonic) -> FolderContents:
    """Find the files that can be opened in a folder; unreadable files and folders are skipped."""
    until = clock() + LONGEST_LOOK
    found_files: list[FoundFile] = []
    waiting = deque([(folder, 0)])
    looked = 0
    while waiting:
        here, depth = waiting.popleft()
        for entry in _listed(here):
            looked += 1
            if looked > MOST_LOOKED_AT or len(found_files) >= MOST_FOUND or clock() > until:
                return FolderContents(folder, _sorted(found_files), is_whole=False)
            if entry.name.startswith("."):
                continue
            if _is_folder(entry):
                if depth < DEEPEST and not entry.is_symlink():
                    waiting.append((entry.path, depth + 1))
            elif (file := _file(entry.path, folder)) is not None:
                found_files.append(file)
    return FolderContents(folder, _sorted(found_files))


def debug_info_of(folder: str) -> list[str]:
    """The texts in a folder of Torq debug info, and bytecode files without a text, by name.

    `torq-compile --torq-debug-info=DIR` writes one bytecode file per dispatch (`<dispatch>.mlirb`).
    Texts printed from them are next to them (`<dispatch>.mlir`). Bytecode cannot be read: opening
    it shows the command that prints it as text. Raises NoDebugInfo if there is neither, or no such
    folder.
    """
    try:
        names = sorted(os.listdir(folder))
    except OSError as error:
        raise NoDebugInfo(f"{folder}: it cannot be listed ({error.strerror or error})") from error
    texts = {name.removesuffix(TEXT) for name in names if name.endswith(TEXT)}
    chosen = [
        name
        for name in names
        if name.endswith(TEXT)
        or (name.endswith(BYTECODE) and name.removesuffix(BYTECODE) not in texts)
    ]
    if not chosen:
        raise NoDebugInfo(
            f"{folder}: no debug info in this folder: neither {TEXT} nor {BYTECODE} files. "
            "torq-compile --torq-debug-info=DIR writes it"
        )
    return [os.path.join(folder, name) for name in chosen]


def _sorted(found_files: list[FoundFile]) -> tuple[FoundFile, ...]:
    """Sort by name, the files of a folder before those of its subfolders."""
    return tuple(sorted(found_files, key=lambda file: (file.name.count("/"), file.name)))


def _listed(folder: str) -> list[os.DirEntry[str]]:
    listed: list[os.DirEntry[str]] = []
    try:
        with os.scandir(folder) as entries:
            for entry in entries:
                listed.append(entry)
                if len(listed) > MOST_LOOKED_AT:
                    break
    except OSError:
        pass
    return sorted(listed, key=lambda entry: entry.name)


def _is_folder(entry: os.DirEntry[str]) -> bool:
    try:
        return entry.is_dir()
    except OSError:
        return False


def _may_be_profile(kind: str, head: bytes) -> bool:
    """Whether a file is not a table that does not show which of its columns are times."""
    if kind != PLAIN_CSV:
        return True
    from viewer.formats.table.plain_csv import shows_columns

    return shows_columns(head)


def _file(path: str, folder: str) -> FoundFile | None:
    """A file that can be opened, else None. MLIR bytecode opens only as its printed text."""
    try:
        head = head_of(path)
        kind = choose(head, path).name if head else ""
        if kind == PACKED:
            from viewer.formats.packed import inner_head

            head = inner_head(path)
            kind = choose(head, path).name if head else ""
        size = os.path.getsize(path)
    except (UnreadableFile, OSError):
        return None
    other_text = kind == _PYTHON and not path.endswith(".py")
    if not kind or other_text or path.endswith(".opscope") or head.startswith(_BYTECODE):
        return None
    name = os.path.relpath(path, folder).replace(os.sep, "/")
    return FoundFile(path, name, kind, size, is_meant(kind, head))


def is_meant(kind: str, head: bytes) -> bool:
    """Whether a file of a format is one that people want to see, by its first bytes.

    Not Python, JSON without trace events, a table that does not show what its columns are, and
    archives and logs, which are looked into when they are opened.
    """
    content = inflated_head(head) or head
    is_trace = kind != _CHROME or any(word in content for word in _OF_TRACE)
    return kind not in (_PYTHON, _ZIP, LOG, PACKED) and is_trace and _may_be_profile(kind, head)


def files_in(paths: Sequence[str]) -> list[str]:
    """Return files, with those in folders in place of these.

    Raises ValueError for a folder without a profile or ETRecord.
    """
    files: list[str] = []
    for path in paths:
        if os.path.isdir(path):
            inside = [file.path for file in look_through(path).files if file.is_meant]
            if not inside:
                raise ValueError(f"{path}: no profile or ETRecord in this folder")
            files += inside
        else:
            files.append(path)
    return files
