"""`opscope estimates`: the Torq compiler's estimates next to the measurements."""

from __future__ import annotations

import argparse
import json

from viewer.cli.arguments import add_files
from viewer.cli.commands.open_inputs import open_all, warn
from viewer.reports.estimates import estimate_facts, estimate_text
from viewer.workspace.estimates import of_workspace


def run(arguments: list[str]) -> int:
    """Run the command with the arguments after its name. Returns the exit code."""
    parser = argparse.ArgumentParser(
        prog="opscope estimates",
        description="Compare the Torq compiler's estimates with the measurements, per action and "
        "per operator. Open a runtime profile with its debug info or its compile profile.",
    )
    add_files(parser, "*")
    parser.add_argument("--json", action="store_true", help="print JSON for scripts")
    chosen = parser.parse_args(arguments)
    workspace, failed = open_all(parser, chosen)
    comparison = of_workspace(workspace)
    print(
        json.dumps(estimate_facts(comparison), indent=1)
        if chosen.json
        else estimate_text(comparison)
    )
    warn(workspace)
    return 1 if failed else 0
