"""`opscope delegation`: time in delegates, what was not delegated, and what is linked."""

from __future__ import annotations

import json

from viewer.cli.arguments import Parser, add_files, add_include_warmup, complain
from viewer.cli.commands.open_inputs import open_all, warn
from viewer.reports.delegation import delegation_facts, delegation_text
from viewer.reports.inferences import NoSuchRun


def run(arguments: list[str]) -> int:
    """Run the command with the arguments after its name. Returns the exit code."""
    parser = Parser(
        prog="opscope delegation",
        description="Report the time in delegates, what was not delegated, how many slices are "
        "linked and why others are not, and debug handle maps with the logged identifiers.",
    )
    add_files(parser, "*")
    add_include_warmup(parser)
    parser.add_argument(
        "--phase",
        default="",
        metavar="NAME",
        help="count only inferences of this method or phase, as opscope stats --by phase shows it",
    )
    parser.add_argument("--json", action="store_true", help="print JSON for scripts")
    chosen = parser.parse_args(arguments)
    workspace, failed = open_all(parser, chosen)
    if not workspace.paths:
        return 1
    try:
        facts = delegation_facts(workspace, chosen.phase, warm_up=chosen.include_warmup)
    except NoSuchRun as error:
        complain(str(error))
        return 1 if failed else 2
    print(json.dumps(facts, indent=1) if chosen.json else delegation_text(facts))
    warn(workspace)
    return 1 if failed else 0
