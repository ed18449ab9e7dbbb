"""`opscope estimates`: the Torq compiler's estimates next to the measurements."""

from __future__ import annotations

import json

from viewer.cli.arguments import Parser, add_files, complain
from viewer.cli.commands.open_inputs import open_all, warn
from viewer.reports.estimates import estimate_facts, estimate_text
from viewer.workspace.estimates import of_workspace


def run(arguments: list[str]) -> int:
    """Run the command with the arguments after its name. Returns the exit code."""
    parser = Parser(
        prog="opscope estimates",
        description="Compare the Torq compiler's estimates with the measurements, per action and "
        "per operator. Open a runtime profile with its debug info or its compile profile.",
    )
    add_files(parser, "*")
    parser.add_argument("--json", action="store_true", help="print JSON for scripts")
    chosen = parser.parse_args(arguments)
    workspace, failed = open_all(parser, chosen)
    warn(workspace)
    if not workspace.paths:
        return 1
    comparison = of_workspace(workspace)
    if not comparison.actions and not comparison.operators:
        complain(estimate_text(comparison))
        return 1
    print(
        json.dumps(estimate_facts(comparison), indent=1)
        if chosen.json
        else estimate_text(comparison)
    )
    return 1 if failed else 0
