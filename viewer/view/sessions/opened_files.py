"""Opens files without a window: a workspace with every readable file, and what went wrong.

Session files stand for their inputs, and options override what a session chose. They are recognized
by their first bytes; what reads them is imported late.
"""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import TYPE_CHECKING

from viewer.codecs.reading import UnreadableFile, never_cancelled
from viewer.dataclasses import dataclass
from viewer.formats import head_of, open_file
from viewer.program.program import Program
from viewer.workspace.link_choices import NO_CHOICES, Choices, apply
from viewer.workspace.workspace import Workspace

if TYPE_CHECKING:
    from viewer.program.executables import Executable


_FIRST_KEY = b'"opscope_session"'
_HEAD = 256  # bytes that must contain the first key


def is_session(path: str) -> bool:
    """Return whether a file starts like a session file; False if it is unreadable.

    Also False for anything but a regular file, which could block forever.
    """
    try:
        head = head_of(path)[:_HEAD]
    except UnreadableFile:
        return False
    return head.removeprefix(b"\xef\xbb\xbf").lstrip()[:1] == b"{" and _FIRST_KEY in head


NOTHING_KNOWN: Mapping[str, Program | Executable] = MappingProxyType({})


@dataclass(frozen=True, slots=True)
class OpenedFiles:
    """A workspace, and what went wrong.

    is_empty: whether there was no file to open. not_found: a message per missing input of a
    session. failures: path and error of each file that could not be read; other errors than
    UnreadableFile are faults of Opscope. warnings: what should be known. refused: the choices that
    are not possible.
    """

    workspace: Workspace
    is_empty: bool
    not_found: tuple[str, ...]
    failures: tuple[tuple[str, Exception], ...]
    warnings: tuple[str, ...]
    refused: tuple[str, ...]


def opened_files(
    texts: Sequence[str],
    choices: Choices = NO_CHOICES,
    programs: Mapping[str, Program | Executable] = NOTHING_KNOWN,
) -> OpenedFiles:
    """Open files, one after another. programs: those that were already read, by absolute path."""
    workspace = Workspace()
    files, of_sessions, not_found = with_inputs(texts)
    failures: list[tuple[str, Exception]] = []
    for path in files:
        try:
            read = programs.get(os.path.abspath(path))
            columns = _columns_of(path, (choices, *of_sessions))
            part = choices.part_of(path)
            workspace.add(read or open_file(path, part=part, columns=columns))
        except Exception as error:  # a bug with one file must not affect the others
            failures.append((path, error))
    # Before the other choices, because companion files are found through these paths.
    for substitution in (s for choices in (*of_sessions, choices) for s in choices.source_paths):
        workspace.substitute(substitution)
    warnings = workspace.open_companions()
    for session_choices in of_sessions:
        warnings += apply(session_choices, workspace)
    # The options override session files.
    refused = apply(choices, workspace)
    warnings += workspace.clocks.doubts
    return OpenedFiles(
        workspace,
        not (files or not_found),
        tuple(not_found),
        tuple(failures),
        tuple(warnings),
        tuple(refused),
    )


def with_inputs(paths: Sequence[str]) -> tuple[list[str], list[Choices], list[str]]:
    """Replace session files by their inputs; for commands without a window.

    Returns the files, the choices of each session, and a message for each missing file.
    """
    sessions = {path for path in paths if is_session(path)}
    if not sessions:
        return list(dict.fromkeys(paths)), [], []
    # The readers of sessions take a third of the time in which a small file opens.
    from viewer.view.sessions.session_file import choices_of, find_inputs, read

    files: list[str] = []
    choices: list[Choices] = []
    complaints: list[str] = []
    for path in paths:
        if path not in sessions:
            files.append(path)
            continue
        try:
            saved = read(path)
        except UnreadableFile as error:
            complaints.append(str(error))
            continue
        found_inputs = find_inputs(saved, os.path.dirname(os.path.abspath(path)), never_cancelled)
        complaints += (
            f"{path}: {f.input.path} was not found" for f in found_inputs if f.path is None
        )
        files += (f.path for f in found_inputs if f.path is not None)
        choices.append(choices_of(saved.choices, [f.path for f in found_inputs]))
    return list(dict.fromkeys(files)), choices, complaints


def _columns_of(path: str, stated: Sequence[Choices]) -> str:
    """Return what is stated of the columns of a file; the first counts."""
    return next((text for choices in stated if (text := choices.columns_of(path))), "")
