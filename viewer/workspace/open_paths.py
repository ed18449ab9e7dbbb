"""Open files: their contents, found by what a user typed, and the MLIR texts opened with them.

The locations of a Torq profile name the file that it was compiled from. A location is untrusted
data and may name anything: only its last component is looked up next to the profile, or where a
path substitution points, only a few names are looked up at all, and only a plain local file of
limited size with MLIR text is accepted.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence
from itertools import islice
from typing import TYPE_CHECKING, TypeVar

import numpy as np

from viewer.codecs.file_bytes import FileStamp
from viewer.codecs.reading import Cancelled, Progress, UnreadableFile, never_cancelled, no_progress
from viewer.dataclasses import dataclass
from viewer.formats import open_file
from viewer.model.trace import KeyKind, Trace
from viewer.program.executables import Executable
from viewer.program.mlir.locations import unescape
from viewer.program.program import Program
from viewer.program.source_files import Substitution, file_name, is_readable, local_paths

if TYPE_CHECKING:
    from viewer.recording.run_file import SystemTrace


_File = TypeVar("_File", Program, Executable)


@dataclass(frozen=True, slots=True, eq=False)
class OpenFile:
    """One open file as it was read.

    found_for: the file whose companion it is, if it was opened automatically. stamp: its size and
    time when it was read, None if it was not a regular file. system_trace: that of its recording.
    """

    item: Trace | Program | Executable
    found_for: str | None
    stamp: FileStamp | None
    system_trace: SystemTrace | None = None


def find_path(paths: Iterable[str], typed: str) -> str | None:
    """Return the path that was typed, or the only one with that file name; None if there is none.

    Raises ValueError if several files have that name.
    """
    listed = list(dict.fromkeys(paths))
    absolute = os.path.abspath(typed)
    same = next((path for path in listed if os.path.abspath(path) == absolute), None)
    if same is not None:
        return same
    named = [path for path in listed if os.path.basename(path) == typed]
    if len(named) > 1:
        raise ValueError(f"{len(named)} open files are named {typed}: give the path of one")
    return named[0] if named else None


def with_file(files: Sequence[_File], path: str, item: _File | None) -> list[_File]:
    """Return the files with an item at its path, which replaces an earlier one; None removes it."""
    index = next((i for i, old in enumerate(files) if old.path == path), len(files))
    changed = list(files)
    changed[index : index + 1] = [] if item is None else [item]
    return changed


SUFFIX = ".mlir"
# A text opened automatically must not cost seconds; a larger one can be opened manually.
MAX_COMPANION = 64 << 20
# A profile comes from one or a few texts; if it names thousands, the rest is ignored.
_MOST_NAMES = 32
_MOST_LOCATIONS = 20_000
_MOST_CHARACTERS = 1 << 20


def companions(
    item: Trace | Program, open_paths: Iterable[str], substitutions: Sequence[Substitution] = ()
) -> list[str]:
    """Return the paths of the MLIR texts named in a file's locations that exist on this machine.

    A text whose name an open file already has is left out, however that file was opened.
    """
    names = {file_name(path) for path in open_paths}
    folder = os.path.dirname(item.path)
    paths: dict[str, str] = {}  # by name, because links depend only on the name
    for recorded in recorded_texts(item):
        name = file_name(recorded)
        if name in names or name in paths:
            continue
        for path in (*local_paths(recorded, substitutions), os.path.join(folder, name)):
            if is_readable(path, MAX_COMPANION):
                paths[name] = path
                break
    return list(paths.values())


def recorded_texts(item: Trace | Program) -> list[str]:
    """Return the distinct MLIR files that the locations of a trace or of debug info name.

    In order of appearance; only the first ones if there are very many.
    """
    texts: dict[str, None] = {}
    left = _MOST_CHARACTERS
    for location in dict.fromkeys(_locations(item)):
        left -= len(location)
        if left < 0 or len(texts) >= _MOST_NAMES:
            break
        # MLIR escapes quotes in its strings, so every second part is the content of a string.
        parts = location.split('"')
        for text, after in zip(parts[1::2], parts[2::2], strict=False):
            if after[:1] == ":" and text.lower().endswith(SUFFIX):
                texts[unescape(text)] = None
    return list(texts)[:_MOST_NAMES]


def _locations(item: Trace | Program) -> list[str]:
    """Return the first `_MOST_LOCATIONS` locations in a file."""
    if isinstance(item, Trace):
        keys = np.flatnonzero(item.keys.kind == KeyKind.LOCATION)[:_MOST_LOCATIONS]
        stated: list[str] = item.keys.location[keys].tolist()
        return stated
    actions = (action for dispatch in item.dispatches for action in dispatch.actions.values())
    return [action.location for action in islice(actions, _MOST_LOCATIONS)]


def read_companion(
    path: str, progress: Progress = no_progress, cancelled: Cancelled = never_cancelled
) -> Program:
    """Read a text that was found.

    Raises ReadCancelled, and UnreadableFile, also if it is not MLIR text.
    """
    item = open_file(path, progress, cancelled)
    if not isinstance(item, Program) or not item.is_mlir:
        raise UnreadableFile(path, "its name is that of an MLIR text, but it has no operations")
    return item


def is_text(item: Trace | Program | Executable) -> bool:
    """Return whether it is a text that traces are compiled from; debug info is the result."""
    return isinstance(item, Program) and item.is_mlir and not item.dispatches


def companion_complaint(path: str, error: object) -> str:
    """Return the message about a companion text that cannot be read."""
    return f"{os.path.basename(path)} refers to a source that cannot be read: {error}"
