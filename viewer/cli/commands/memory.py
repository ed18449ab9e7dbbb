"""`opscope memory`: the planned memory of program files, its peak, and what holds it."""

from __future__ import annotations

import json

from viewer.cli.arguments import Parser, add_files, complain
from viewer.cli.commands.open_inputs import open_all, warn
from viewer.reports.programs.memory import NOTHING, memory_facts, memory_text


def run(arguments: list[str]) -> int:
    """Run the command with the arguments after its name. Returns the exit code."""
    parser = Parser(
        prog="opscope memory",
        description="Report the memory plan of program files (.pte): the bytes in use at each "
        "instruction, the peak, and the tensors in use then. With the ETRecord of the model, "
        "tensors have the operator that writes them.",
    )
    add_files(parser, "+")
    parser.add_argument("--json", action="store_true", help="print JSON for scripts")
    chosen = parser.parse_args(arguments)
    workspace, failed = open_all(parser, chosen)
    facts = memory_facts(workspace)
    warn(workspace)
    if not facts["methods"]:
        if workspace.paths:
            complain(NOTHING)
        return 1
    print(json.dumps(facts, indent=1) if chosen.json else memory_text(facts))
    return 1 if failed else 0
