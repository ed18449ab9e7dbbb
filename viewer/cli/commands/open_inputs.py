"""Opens the files of a command line, and warns about those that do not match."""

from __future__ import annotations

import argparse
import os
from collections.abc import Mapping
from types import MappingProxyType

from viewer.cli.arguments import choices_of, complain, files_of, internal_error
from viewer.codecs.reading import UnreadableFile
from viewer.formats import open_file
from viewer.program.executable.executable import Executable
from viewer.program.program import Program
from viewer.view.sessions.session_file import with_inputs
from viewer.workspace.link_choices import NO_CHOICES, apply
from viewer.workspace.workspace import Workspace

NOTHING_KNOWN: Mapping[str, Program | Executable] = MappingProxyType({})


def open_all(
    parser: argparse.ArgumentParser,
    chosen: argparse.Namespace,
    known: Mapping[str, Program | Executable] = NOTHING_KNOWN,
) -> tuple[Workspace, bool]:
    """Return a workspace with every readable file, and whether anything failed.

    Reports unreadable files on stderr; exits with a usage error if the command line is wrong.
    known: programs that were already read, by path.
    """
    choices = choices_of(parser, chosen) or NO_CHOICES
    workspace = Workspace()
    given, complaints = files_of(chosen)
    files, of_sessions, not_found = with_inputs(given)
    complaints += not_found
    for complaint in complaints:
        complain(complaint)
    failed = bool(complaints)
    if not files and not failed:
        parser.error("nothing to open: give FILES or --debug-info DIR")
    for path in files:
        try:
            read = known.get(os.path.abspath(path))
            workspace.add(read or open_file(path, part=choices.part_of(path)))
        except UnreadableFile as error:
            complain(str(error))
            failed = True
        except Exception as error:  # a bug with one file must not affect the others
            complain(internal_error(path, error))
            failed = True
    # Before the other choices, because companion files are found through these paths.
    for substitution in (s for one in (*of_sessions, choices) for s in one.source_paths):
        workspace.substitute(substitution)
    for complaint in workspace.open_companions():
        complain(f"warning: {complaint}")
    for one in of_sessions:
        for complaint in apply(one, workspace):
            complain(f"warning: {complaint}")
    # The command line overrides session files.
    refused = apply(choices, workspace)
    if refused and not failed:
        parser.error(refused[0])
    return workspace, failed


def warn(workspace: Workspace) -> None:
    """Print the warnings about the open files on stderr."""
    for trace in workspace.traces:
        for warning in workspace.warnings(trace):
            complain(f"warning: {warning}")


def share_programs(one: Workspace, other: Workspace) -> None:
    """Use the ETRecords, and the program files, of one side for the other if that has none."""
    if not any(program.methods for program in other.programs):
        for program in one.programs:
            other.add(program)
    if not other.executables:
        for executable in one.executables:
            other.add(executable)
