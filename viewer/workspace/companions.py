"""The MLIR texts that a profile was compiled from, found without being asked for. No Qt.

The locations of a Torq profile name their file. Where it lies beside the profile, or where a path
substitution says, it is opened with it. A location is data from a file and may name anything: only
its last component is looked for beside the profile, few names are looked for at all, and only a
plain local file of bounded size that holds MLIR text is taken.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence
from itertools import islice

import numpy as np

from viewer.codecs.reading import Cancelled, Progress, UnreadableFile, never_cancelled, no_progress
from viewer.formats import open_file
from viewer.model.trace import KeyKind, Trace
from viewer.program.mlir.locations import unescape
from viewer.program.program import Program
from viewer.program.sources.files import Substitution, file_name, is_plain_file, local_paths

SUFFIX = ".mlir"
# A text that nobody asked for must not cost seconds; a bigger one can be opened by hand.
MAX_COMPANION = 64 << 20
# A profile is of one or a few texts; one that names thousands is not looked after.
_MOST_NAMES = 32
_MOST_LOCATIONS = 20_000
_MOST_CHARACTERS = 1 << 20


def companions(
    item: Trace | Program, open_paths: Iterable[str], substitutions: Sequence[Substitution] = ()
) -> list[str]:
    """Paths of the MLIR texts that the locations of a file name and that lie on this machine.

    One whose name an open file has already is left out, however that one came to be open.
    """
    known = {file_name(path) for path in open_paths}
    folder = os.path.dirname(item.path)
    found: dict[str, str] = {}  # by name, since a link is made by the name alone
    for recorded in recorded_texts(item):
        name = file_name(recorded)
        if name in known or name in found:
            continue
        for path in (*local_paths(recorded, substitutions), os.path.join(folder, name)):
            if is_plain_file(path, MAX_COMPANION):
                found[name] = path
                break
    return list(found.values())


def recorded_texts(item: Trace | Program) -> list[str]:
    """The distinct files with the suffix of MLIR texts that the locations of a trace, or of debug
    info, name, in order of appearance; of one that names very many, the first ones."""
    found: dict[str, None] = {}
    left = _MOST_CHARACTERS
    for location in dict.fromkeys(_locations(item)):
        left -= len(location)
        if left < 0 or len(found) >= _MOST_NAMES:
            break
        # MLIR escapes quotes in its strings: every second part is the content of one.
        parts = location.split('"')
        for text, after in zip(parts[1::2], parts[2::2], strict=False):
            if after[:1] == ":" and text.lower().endswith(SUFFIX):
                found[unescape(text)] = None
    return list(found)[:_MOST_NAMES]


def _locations(item: Trace | Program) -> list[str]:
    """The first locations that a file states."""
    if isinstance(item, Trace):
        keys = np.flatnonzero(item.keys.kind == KeyKind.LOCATION)[:_MOST_LOCATIONS]
        stated: list[str] = item.keys.location[keys].tolist()
        return stated
    actions = (action for dispatch in item.dispatches for action in dispatch.actions.values())
    return [action.location for action in islice(actions, _MOST_LOCATIONS)]


def read_companion(
    path: str, progress: Progress = no_progress, cancelled: Cancelled = never_cancelled
) -> Program:
    """Read a text that was found. Raises UnreadableFile, also for what is no MLIR text, and
    ReadCancelled."""
    item = open_file(path, progress, cancelled)
    if isinstance(item, Trace) or not item.is_mlir:
        raise UnreadableFile(path, "it is called as an MLIR text and holds none")
    return item


def is_text(item: Trace | Program) -> bool:
    """Whether it is a text that traces are compiled from; debug info is what it was compiled to."""
    return isinstance(item, Program) and item.is_mlir and not item.dispatches


def companion_complaint(path: str, error: object) -> str:
    """What to say of a text that was found beside a file and cannot be read."""
    return f"{os.path.basename(path)} was compiled from a text that cannot be read: {error}"
