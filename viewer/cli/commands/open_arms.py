"""Opens the files of two arms of a command line: each with its options, and a shared ETRecord."""

from __future__ import annotations

import argparse
import os
from collections.abc import Sequence
from dataclasses import asdict

from viewer.cli.arguments import option_texts
from viewer.cli.commands.open_inputs import open_all
from viewer.formats.folders import files_in
from viewer.program.executable.executable import Executable
from viewer.program.program import Program
from viewer.workspace.comparison_arms import share_programs
from viewer.workspace.workspace import Workspace


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
    a, failed_a = open_all(parser, _of_arm(chosen, files, others))
    known: dict[str, Program | Executable] = {os.path.abspath(p.path): p for p in a.programs}
    known |= {os.path.abspath(executable.path): executable for executable in a.executables}
    b, failed_b = open_all(parser, _of_arm(chosen, others, files), known)
    share_programs(a, b)
    share_programs(b, a)
    return a, b, failed_a or failed_b


def files_of(parser: argparse.ArgumentParser, given: Sequence[str]) -> list[str]:
    """Return the files, with those in folders in place of these."""
    try:
        return files_in(given)
    except ValueError as error:
        parser.error(str(error))


def _of_arm(
    chosen: argparse.Namespace, files: Sequence[str], others: Sequence[str]
) -> argparse.Namespace:
    """Return the options for one arm: without those that name a file of the other one."""
    own = asdict(option_texts(chosen).of_arm(files, others))
    return argparse.Namespace(**{**vars(chosen), **own, "files": list(files)})
