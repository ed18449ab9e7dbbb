"""Opens the inputs that a command line names, and warns of what does not fit together."""

from __future__ import annotations

import argparse

from viewer.cli.arguments import choices_of, complain, files_of
from viewer.codecs.reading import UnreadableFile
from viewer.view.session_file import with_inputs
from viewer.workspace.link_choices import NO_CHOICES, apply
from viewer.workspace.workspace import Workspace


def open_all(parser: argparse.ArgumentParser, chosen: argparse.Namespace) -> tuple[Workspace, bool]:
    """A workspace with every file that can be read, and whether any could not.

    Says on stderr what cannot be read; ends the program where the command line is wrong.
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
            workspace.open(path)
        except UnreadableFile as error:
            complain(str(error))
            failed = True
    # Before the other choices, since companions lie there.
    for substitution in (s for one in (*of_sessions, choices) for s in one.source_paths):
        workspace.substitute(substitution)
    for complaint in workspace.open_companions():
        complain(f"warning: {complaint}")
    for one in of_sessions:
        for complaint in apply(one, workspace):
            complain(f"warning: {complaint}")
    # What is said on this command line goes before what a session file says.
    refused = apply(choices, workspace)
    if refused and not failed:
        parser.error(refused[0])
    return workspace, failed


def warn(workspace: Workspace) -> None:
    """Say on stderr what does not fit together in the open files."""
    for trace in workspace.traces:
        for warning in workspace.warnings(trace):
            complain(f"warning: {warning}")
