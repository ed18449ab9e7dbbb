"""`opscope sizes`: what the bytes of program files are for, and what differs between two files."""

from __future__ import annotations

import argparse
import json

from viewer.analysis.sizes.groups import GroupKey
from viewer.cli.arguments import add_files, complain
from viewer.cli.commands.open_inputs import open_all, warn
from viewer.reports.programs.sizes import NOTHING, sizes_facts, sizes_text


def run(arguments: list[str]) -> int:
    """Run the command with the arguments after its name. Returns the exit code."""
    parser = argparse.ArgumentParser(
        prog="opscope sizes",
        description="Report what the bytes of program files (.pte) are for: constants, named data, "
        "delegates and the program, the largest first, and parts with equal bytes. With the "
        "ETRecord of the model, parts have the operators and the module that use them.",
    )
    add_files(parser, "+")
    parser.add_argument(
        "--by", choices=[key.value for key in GroupKey], help="add up the parts by this key"
    )
    parser.add_argument("--json", action="store_true", help="print JSON for scripts")
    chosen = parser.parse_args(arguments)
    workspace, failed = open_all(parser, chosen)
    facts = sizes_facts(workspace, GroupKey(chosen.by) if chosen.by else None)
    warn(workspace)
    if not facts["files"]:
        complain(NOTHING)
        return 1
    print(json.dumps(facts, indent=1) if chosen.json else sizes_text(facts))
    return 1 if failed else 0
