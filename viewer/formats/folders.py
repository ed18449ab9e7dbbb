"""What can be opened of a folder and the folders in it, found by content and within bounds.

Hidden names and links to folders are left out: a folder of traces may lie beside a checkout, or
link to the whole disk. Python files are told by their name, since any text could be one.
"""

from __future__ import annotations

import os
import time
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass

from viewer.codecs.gzip_head import inflated_head
from viewer.codecs.reading import UnreadableFile
from viewer.formats import choose, head_of

DEEPEST = 4  # folders inside of one another
MOST_LOOKED_AT = 5000
MOST_FOUND = 200
LONGEST_LOOK = 5.0  # seconds; a folder of another machine may take for ever
TEXT, BYTECODE = ".mlir", ".mlirb"  # of Torq debug info
_PYTHON, _MLIR, _CHROME = "Python source", "MLIR text", "Chrome trace"
_BYTECODE = b"ML\xefR"
# Of the first 4 kB of a Chrome trace; any other JSON file begins as it does.
_OF_TRACE = (b'"traceEvents"', b'"ph"', b'"displayTimeUnit"', b'"schemaVersion"')


class NoDebugInfo(Exception):
    """A folder without any debug info; the message says which, and what makes some."""


@dataclass(frozen=True, slots=True)
class FoundFile:
    """A file that opens. name: its path from the folder that was looked through, with "/".

    is_meant: it is to be opened unless somebody says otherwise. Not Python, which is found by
    itself where a record names it, nor JSON that does not begin as a trace.
    """

    path: str
    name: str
    format: str
    size: int
    is_meant: bool = True


@dataclass(frozen=True, slots=True)
class FolderContents:
    """What a folder has, by name. is_whole: all of it was looked at."""

    folder: str
    files: tuple[FoundFile, ...]
    is_whole: bool = True

    @property
    def debug_info(self) -> list[str]:
        """The files to open if the folder is one of Torq debug info and of nothing else."""
        if any(file.format not in (_MLIR, _PYTHON) for file in self.files):
            return []
        try:
            return debug_info_of(self.folder)
        except NoDebugInfo:
            return []


def look_through(folder: str, clock: Callable[[], float] = time.monotonic) -> FolderContents:
    """Find what opens in a folder. What cannot be listed or read is passed over."""
    until = clock() + LONGEST_LOOK
    found: list[FoundFile] = []
    waiting = deque([(folder, 0)])
    looked = 0
    while waiting:
        here, depth = waiting.popleft()
        for entry in _listed(here):
            looked += 1
            if looked > MOST_LOOKED_AT or len(found) >= MOST_FOUND or clock() > until:
                return FolderContents(folder, _sorted(found), is_whole=False)
            if entry.name.startswith("."):
                continue
            if _is_folder(entry):
                if depth < DEEPEST and not entry.is_symlink():
                    waiting.append((entry.path, depth + 1))
            elif (file := _file(entry.path, folder)) is not None:
                found.append(file)
    return FolderContents(folder, _sorted(found))


def debug_info_of(folder: str) -> list[str]:
    """The texts in a folder of Torq debug info and the bytecode files without one, by name.

    `torq-compile --torq-debug-info=DIR` writes one bytecode file per dispatch (`<dispatch>.mlirb`),
    and texts that were printed of them are next to them (`<dispatch>.mlir`). Bytecode cannot be
    read: opening it says with which command it is printed as text. Raises NoDebugInfo if there is
    neither, or no such folder.
    """
    try:
        names = sorted(os.listdir(folder))
    except OSError as error:
        raise NoDebugInfo(f"{folder}: it cannot be listed ({error.strerror or error})") from error
    texts = {name.removesuffix(TEXT) for name in names if name.endswith(TEXT)}
    found = [
        name
        for name in names
        if name.endswith(TEXT)
        or (name.endswith(BYTECODE) and name.removesuffix(BYTECODE) not in texts)
    ]
    if not found:
        raise NoDebugInfo(
            f"{folder}: no debug info is in this folder, neither {TEXT} nor {BYTECODE} files. "
            "torq-compile --torq-debug-info=DIR writes it"
        )
    return [os.path.join(folder, name) for name in found]


def _sorted(found: list[FoundFile]) -> tuple[FoundFile, ...]:
    """Files of a folder before those of the folders in it, by name."""
    return tuple(sorted(found, key=lambda file: (file.name.count("/"), file.name)))


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


def _file(path: str, folder: str) -> FoundFile | None:
    """A file that opens, None for any other; MLIR bytecode opens only as the text of it."""
    try:
        head = head_of(path)
        kind = choose(head, path).name if head else ""
        size = os.path.getsize(path)
    except (UnreadableFile, OSError):
        return None
    other_text = kind == _PYTHON and not path.endswith(".py")
    if not kind or other_text or path.endswith(".opscope") or head.startswith(_BYTECODE):
        return None
    begins = inflated_head(head) or head
    meant = kind != _PYTHON and (kind != _CHROME or any(word in begins for word in _OF_TRACE))
    name = os.path.relpath(path, folder).replace(os.sep, "/")
    return FoundFile(path, name, kind, size, meant)
