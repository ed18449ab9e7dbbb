"""Opens the files of two arms of a command line: each with its options, and a shared ETRecord."""

from __future__ import annotations

import argparse
import os
from collections.abc import Sequence

from viewer.cli.commands.open_inputs import open_all, share_programs
from viewer.formats.folders import look_through
from viewer.program.executable.executable import Executable
from viewer.program.program import Program
from viewer.workspace.workspace import Workspace


def open_arms(
    parser: argparse.ArgumentParser,
    chosen: argparse.Namespace,
    files: Sequence[str],
    others: Sequence[str],
) -> tuple[Workspace, Workspace, list[str], bool]:
    """Return the arms A and B, the warnings about their files, and whether anything failed.

    An ETRecord or program file of one arm is used for both if the other has none.
    """
    a, failed_a = open_all(parser, _of_arm(chosen, files, others))
    known: dict[str, Program | Executable] = {os.path.abspath(p.path): p for p in a.programs}
    known |= {os.path.abspath(executable.path): executable for executable in a.executables}
    b, failed_b = open_all(parser, _of_arm(chosen, others, files), known)
    share_programs(a, b)
    share_programs(b, a)
    problems = [f"A: {text}" for text in _warnings(a)] + [f"B: {text}" for text in _warnings(b)]
    return a, b, problems, failed_a or failed_b


def files_in(parser: argparse.ArgumentParser, given: Sequence[str]) -> list[str]:
    """Return the files, with those in folders in place of these."""
    found: list[str] = []
    for path in given:
        if os.path.isdir(path):
            inside = [file.path for file in look_through(path).files if file.is_meant]
            if not inside:
                parser.error(f"{path}: no profile or ETRecord in this folder")
            found += inside
        else:
            found.append(path)
    return found


def _warnings(workspace: Workspace) -> list[str]:
    return [text for trace in workspace.traces for text in workspace.warnings(trace)]


def _of_arm(
    chosen: argparse.Namespace, files: Sequence[str], others: Sequence[str]
) -> argparse.Namespace:
    """Return the options for one arm: without those that name a file of the other one."""

    def is_own(text: str) -> bool:
        def named(paths: Sequence[str]) -> bool:
            starts = [name for path in paths for name in (path, os.path.basename(path))]
            return any(text.startswith((f"{name}=", f"{name}:")) for name in starts)

        return named(files) or not named(others)

    lists = ("pair", "method", "identifier_column", "clock", "part")
    own = {name: list(filter(is_own, getattr(chosen, name))) for name in lists}
    return argparse.Namespace(**{**vars(chosen), **own, "files": list(files)})
