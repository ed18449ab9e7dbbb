"""`opscope sizes`: what the bytes of program files are for, and what differs between two files."""

from __future__ import annotations

import argparse
import json

from viewer.analysis.sizes.groups import GroupKey
from viewer.cli.arguments import Parser, add_files, complain
from viewer.cli.commands.open_inputs import open_all, warn
from viewer.reports.programs.differences import (
    difference_facts,
    difference_problem,
    difference_text,
)
from viewer.reports.programs.sizes import NOTHING, sizes_facts, sizes_text
from viewer.workspace.workspace import Workspace


def run(arguments: list[str]) -> int:
    """Run the command with the arguments after its name. Returns the exit code."""
    parser = Parser(
        prog="opscope sizes",
        description="Report what the bytes of program files (.pte) are for: constants, named data, "
        "delegates and the program, the largest first, and parts with equal bytes. With the "
        "ETRecord of the model, parts have the operators and the module that use them.",
    )
    add_files(parser, "+")
    parser.add_argument(
        "--by", choices=[key.value for key in GroupKey], help="add up the parts by this key"
    )
    parser.add_argument(
        "--with",
        dest="others",
        nargs="+",
        metavar="FILE",
        help="compare with another program file, and its ETRecord: instructions, kernels, "
        "delegates, planned memory and sizes",
    )
    parser.add_argument("--json", action="store_true", help="print JSON for scripts")
    chosen = parser.parse_args(arguments)
    if chosen.others and chosen.by:
        parser.error("--by cannot be used with --with, which has all tables")
    workspace, failed = open_all(parser, chosen)
    if chosen.others:
        return _difference(parser, chosen, workspace, failed)
    facts = sizes_facts(workspace, GroupKey(chosen.by) if chosen.by else None)
    warn(workspace)
    if not facts["files"]:
        if workspace.paths:
            complain(NOTHING)
        return 1
    print(json.dumps(facts, indent=1) if chosen.json else sizes_text(facts))
    return 1 if failed else 0


def _difference(
    parser: argparse.ArgumentParser, chosen: argparse.Namespace, a: Workspace, failed: bool
) -> int:
    """Compare the program file in `a` with that of the other files. Returns the exit code."""
    names = ("pair", "method", "identifier_column", "clock", "part", "debug_info")
    none: dict[str, list[str]] = {
        name: [] for name in names
    }  # options for files apply to the first ones
    others = argparse.Namespace(**{**vars(chosen), **none, "files": list(chosen.others)})
    b, failed_b = open_all(parser, others)
    for workspace, other in ((a, b), (b, a)):
        if not workspace.programs:  # the same model may have been lowered twice
            for program in other.programs:
                workspace.add(program)
    for name, side in (("A", a), ("B", b)):
        problem = difference_problem(side)
        if problem:
            complain(f"{name} {problem}")
            return 1
    facts = difference_facts(a, b)
    print(json.dumps(facts, indent=1) if chosen.json else difference_text(facts))
    return 1 if failed or failed_b else 0
