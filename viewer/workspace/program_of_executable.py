"""Which open ETRecord describes an open program file."""

from __future__ import annotations

from viewer.analysis.links.executable_match import match_with_executable
from viewer.program.executables import Executable
from viewer.program.program import Program
from viewer.workspace.workspace import Workspace


def program_of_executable(workspace: Workspace, executable: Executable) -> Program | None:
    """Return the ETRecord of a program file; None if none matches, or several do equally well.

    That of a profile which the program file ran in decides, as the user may have chosen it. Else
    all methods that both have must match, instruction by instruction.
    """
    for trace in workspace.traces:
        linked = workspace.links(trace).program
        if linked is not None and workspace.what_ran(trace) is executable:
            return linked
    rated = [
        (value, program)
        for program in workspace.programs
        if (value := _match(program, executable)) is not None
    ]
    best = max((value for value, _ in rated), default=0.0)
    programs = [program for value, program in rated if value == best]
    return programs[0] if len(programs) == 1 else None


def _match(program: Program, executable: Executable) -> float | None:
    """How well all shared methods match; None if any does not, or nothing can be compared."""
    matches = [
        match_with_executable(method, ran)
        for ran in executable.methods
        if (method := program.method(ran.name)) is not None
    ]
    comparable = [match for match in matches if match.checkable]
    if not comparable or not all(match.belongs for match in comparable):
        return None
    return sum(match.value for match in comparable) / len(comparable)
