"""Opens the files of a command line, and warns about those that do not match."""

from __future__ import annotations

import argparse
from collections.abc import Callable, Mapping

from viewer.cli.arguments import choices_of, complain, files_of, internal_error
from viewer.codecs.reading import UnreadableFile
from viewer.program.executable.executable import Executable
from viewer.program.program import Program
from viewer.view.sessions.opened_files import NOTHING_KNOWN, opened_files
from viewer.workspace.link_choices import NO_CHOICES
from viewer.workspace.workspace import Workspace

_NOTHING = "nothing to open: give FILES or --debug-info DIR"


def open_all(
    parser: argparse.ArgumentParser,
    chosen: argparse.Namespace,
    known: Mapping[str, Program | Executable] = NOTHING_KNOWN,
    report: Callable[[str], None] = complain,
) -> tuple[Workspace, bool]:
    """Return a workspace with every readable file, and whether anything failed.

    Reports unreadable files; exits with a usage error if the command line is wrong. known: programs
    that were already read, by path. report: takes each message, by default to stderr.
    """
    choices = choices_of(parser, chosen) or NO_CHOICES
    given, complaints = files_of(chosen)
    if not given and not complaints:
        parser.error(_NOTHING)
    opened = opened_files(given, choices, known)
    for complaint in (*complaints, *opened.not_found):
        report(complaint)
    if opened.is_empty and not complaints:
        parser.error(_NOTHING)
    for path, error in opened.failures:
        is_told = isinstance(error, UnreadableFile)
        report(str(error) if is_told else internal_error(path, error))
    for warning in opened.warnings:
        report(f"warning: {warning}")
    failed = bool(complaints or opened.not_found or opened.failures)
    if opened.refused and not failed:
        parser.error(opened.refused[0])
    return opened.workspace, failed


def warn(workspace: Workspace) -> None:
    """Print the warnings about the open files on stderr."""
    for trace in workspace.traces:
        for warning in workspace.warnings(trace):
            complain(f"warning: {warning}")
