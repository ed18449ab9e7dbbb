"""Which program files the Sizes panel can show: each open one, or those of a comparison. No Qt."""

from __future__ import annotations

from viewer.gui.session.session import Session
from viewer.program.executable.executable import Executable

Files = tuple[Executable, Executable | None]  # the second one is that of B
Paths = tuple[str, str]  # "" for no B


def choices_of(session: Session) -> list[Files]:
    """Return what can be shown: the compared files, then each open one; of two, also both."""
    files = session.workspace.executables
    found: list[Files] = [(file, None) for file in files]
    compared = _compared(session)
    if compared is not None:
        return [compared, *found]
    if len(files) == 2:
        found.append((files[0], files[1]))
    return found


def shown_files(session: Session, chosen: Paths | None) -> Files | None:
    """Return what to show: the chosen files, else the compared ones, else one that ran."""
    choices = choices_of(session)
    for files in choices:
        if paths_of(files) == chosen:
            return files
    if not choices or choices[0][1] is not None:
        return choices[0] if choices else None
    space = session.workspace
    ran = {id(space.what_ran(trace)) for trace in space.traces}
    return next((files for files in choices if id(files[0]) in ran), choices[0])


def _compared(session: Session) -> Files | None:
    """Return the program files that the profiles of A and B ran, None if one is missing."""
    chosen, space = session.state.compared, session.workspace
    if chosen is None or not chosen.in_tables:
        return None
    sides = list[Executable]()
    for arm in (chosen.a, chosen.b):
        ran = [space.what_ran(trace) for trace in space.traces if trace.path in arm.paths]
        known = {id(file): file for file in ran if file is not None}
        if len(known) != 1:
            return None
        sides += known.values()
    a, b = sides
    return None if a is b else (a, b)


def paths_of(files: Files) -> Paths:
    """Return the paths of files."""
    return files[0].path, "" if files[1] is None else files[1].path


def range_count(file: Executable) -> int:
    """Return how many ranges a file states, which is about the number of its parts."""
    stored = file.stored
    constants = sum(len(d.constants) for method in file.methods for d in method.delegates)
    return len(stored.constants) + len(stored.named) + len(stored.delegates) + constants
