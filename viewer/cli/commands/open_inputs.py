"""Opens the files of a command line, of one or two arms, and warns about those that do not match.

Each arm has its options; an ETRecord may be shared.
"""

from __future__ import annotations

import argparse
import os
from collections.abc import Callable, Mapping, Sequence

from viewer.cli.arguments import choices_of, complain, files_of, internal_error, option_texts
from viewer.codecs.reading import UnreadableFile
from viewer.dataclasses import asdict
from viewer.program.executables import Executable
from viewer.program.program import Program
from viewer.view.sessions.opened_files import NOTHING_KNOWN, opened_files
from viewer.workspace.link_choices import NO_CHOICES
from viewer.workspace.workspace import Workspace

_NOTHING = "nothing to open: give FILES or --debug-info DIR"


def open_all(
    parser: argparse.ArgumentParser,
    chosen: argparse.Namespace,
    parsed: Mapping[str, Program | Executable] = NOTHING_KNOWN,
    report: Callable[[str], None] = complain,
) -> tuple[Workspace, bool]:
    """Return a workspace with every readable file, and whether anything failed.

    Reports unreadable files; exits with a usage error if the command line is wrong. known: programs
    that were already read, by path. report: takes each message, by default to stderr.
    """
    choices = choices_of(parser, chosen) or NO_CHOICES
    paths, complaints = files_of(chosen)
    if not paths and not complaints:
        parser.error(_NOTHING)
    opened = opened_files(paths, choices, parsed)
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


def add_other_arm(parser: argparse.ArgumentParser, help: str) -> None:
    """Add the option for the files of arm B."""
    parser.add_argument("--with", dest="others", nargs="+", metavar="B", help=help)


def open_arms(
    parser: argparse.ArgumentParser,
    chosen: argparse.Namespace,
    files: Sequence[str],
    others: Sequence[str],
) -> tuple[Workspace, Workspace, bool]:
    """Return the arms A and B, and whether anything failed.

    An ETRecord or program file of one arm is used for both if the other has none.
    """
    from viewer.workspace.comparison_arms import share_programs

    a, failed_a = open_all(parser, _of_arm(chosen, files, others))
    parsed: dict[str, Program | Executable] = {os.path.abspath(p.path): p for p in a.programs}
    parsed |= {os.path.abspath(executable.path): executable for executable in a.executables}
    b, failed_b = open_all(parser, _of_arm(chosen, others, files), parsed)
    share_programs(a, b)
    share_programs(b, a)
    return a, b, failed_a or failed_b


def files_in_arm(parser: argparse.ArgumentParser, patterns: Sequence[str]) -> list[str]:
    """Return the files, with those in folders in place of these."""
    from viewer.formats.folders import files_in

    try:
        return files_in(patterns)
    except ValueError as error:
        parser.error(str(error))


def _of_arm(
    chosen: argparse.Namespace, files: Sequence[str], others: Sequence[str]
) -> argparse.Namespace:
    """Return the options for one arm: without those that name a file of the other one."""
    texts = asdict(option_texts(chosen).of_arm(files, others))
    return argparse.Namespace(**{**vars(chosen), **texts, "files": list(files)})
