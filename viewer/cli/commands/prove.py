"""`opscope prove`: derives the figures of reports a second way, and lists what differs."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from viewer.cli.arguments import Parser, add_files, complain
from viewer.cli.commands.open_inputs import add_other_arm, open_all, open_arms, warn
from viewer.model.text import one_line
from viewer.model.times import counted, plain_spaces
from viewer.query.engine import NoDuckDB
from viewer.reports.compare import NoComparison
from viewer.reports.proof import proof

DIFFERS = 3  # the exit code
_MOST_LINES = 20


def run(arguments: list[str]) -> int:
    """Run the command with the arguments after its name. Returns the exit code."""
    parser = Parser(
        prog="opscope prove",
        description="Derive the figures of reports a second way, with SQL from raw ticks, and list "
        "what differs.",
        epilog="exit code: 3 if a figure differs",
    )
    add_files(parser, "+")
    add_other_arm(parser, "the files of another arm: their comparison is checked as well")
    parser.add_argument("--json", action="store_true", help="print JSON for scripts")
    chosen = parser.parse_args(arguments)
    if chosen.others:
        *arms, failed = open_arms(parser, chosen, chosen.files, chosen.others)
    else:
        *arms, failed = open_all(parser, chosen)
    for workspace in arms:
        warn(workspace)
    if not any(workspace.paths for workspace in arms):
        return 1
    if not all(workspace.traces for workspace in arms):
        complain("no profile is open, so there are no figures to derive")
        return 1
    try:
        facts = proof(*arms)
    except NoDuckDB as error:
        complain(str(error))
        return 2
    except NoComparison as error:
        complain(str(error))
        return 1
    print(json.dumps(facts, indent=1) if chosen.json else _text(facts))
    return DIFFERS if facts["differences"] else int(failed)


def _text(facts: Mapping[str, Any]) -> str:
    """Say what was checked, what was not, and what differs."""
    unchecked, differences = facts["unchecked"], facts["differences"]
    count = len(differences)
    lines = [
        f"{counted(facts['checked'], 'figure')} derived a second way, "
        + (f"{counted(count, 'difference')}" if count else "no difference"),
        *(
            f"  {each['figure']}: reported {each['shown']}, derived {each['derived']}"
            for each in differences[:_MOST_LINES]
        ),
    ]
    if count > _MOST_LINES:
        lines.append(f"  and {count - _MOST_LINES} more: --json has all")
    if unchecked:
        lines.append(f"{counted(sum(each['count'] for each in unchecked), 'figure')} not checked")
    lines += [
        f"  {each['figure']}: {each['count']}, because {each['reason']}" for each in unchecked
    ]
    return plain_spaces("\n".join(map(_indented, lines)))


def _indented(text: str) -> str:
    """Return a line with its control characters escaped."""
    return "  " * text.startswith("  ") + one_line(text.strip())
