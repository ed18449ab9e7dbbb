"""`opscope info`: describes files, how they link, and their warnings."""

from __future__ import annotations

import json

from viewer.cli.arguments import Parser, add_files
from viewer.cli.commands.open_inputs import open_all, warn
from viewer.reports.info import info, info_text


def run(arguments: list[str]) -> int:
    """Run the command with the arguments after its name. Returns the exit code."""
    parser = Parser(
        prog="opscope info", description="Summarize files, their links and their warnings."
    )
    add_files(parser, "*")
    parser.add_argument("--json", action="store_true", help="print JSON for scripts")
    chosen = parser.parse_args(arguments)
    workspace, failed = open_all(parser, chosen)
    if chosen.json:
        print(json.dumps(info(workspace), indent=1))
    else:
        text = info_text(workspace)
        if text:
            print(text)
    warn(workspace)
    return 1 if failed else 0
