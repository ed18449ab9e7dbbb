"""`opscope findings`: what to improve, ranked by possible gain."""

from __future__ import annotations

import json

from viewer.cli.arguments import Parser, add_files, add_include_warmup, add_inference, complain
from viewer.cli.commands.open_inputs import open_all, warn
from viewer.reports.findings import findings_facts, findings_text
from viewer.reports.inferences import NoSuchRun


def run(arguments: list[str]) -> int:
    """Run the command with the arguments after its name. Returns the exit code."""
    parser = Parser(
        prog="opscope findings",
        description="Report what to improve, ranked by the most time that it could save: the most "
        "expensive operators, work outside delegates, copies, gaps, slow inferences, wrong "
        "estimates and more.",
    )
    add_files(parser, "+")
    add_inference(parser)
    add_include_warmup(parser)
    parser.add_argument(
        "--rules",
        action="store_true",
        help="also print the rule of each finding, and the checks without one with their reasons",
    )
    parser.add_argument("--json", action="store_true", help="print JSON for scripts")
    chosen = parser.parse_args(arguments)
    workspace, failed = open_all(parser, chosen)
    warn(workspace)
    if not workspace.paths:
        return 1
    try:
        facts = findings_facts(workspace, chosen.inference, warm_up=chosen.include_warmup)
    except NoSuchRun as error:
        complain(str(error))
        return 1 if failed else 2
    print(json.dumps(facts, indent=1) if chosen.json else findings_text(facts, chosen.rules))
    reported = {file["path"] for file in facts["files"]}
    for trace in workspace.traces:
        if trace.path not in reported:
            complain(f"note: {trace.path}: it has no inference {chosen.inference}")
    return 1 if failed else 0
