"""Open files: their contents, found by what a user typed, and replaced when opened again."""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeVar

from viewer.codecs.file_bytes import FileStamp
from viewer.model.trace import Trace
from viewer.program.executables import Executable
from viewer.program.program import Program

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
