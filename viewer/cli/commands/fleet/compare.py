"""`opscope fleet compare`: two arms of the profiles of a lake, such as two builds."""

from __future__ import annotations

import json

from viewer.cli.arguments import Parser, complain
from viewer.cli.commands.fleet.losses import add_strict, code_of_losses
from viewer.cli.regressions import add_rule_options, code_of, rule_of
from viewer.fleet.answers.arms import WrongArms, parse_arm
from viewer.fleet.answers.comparison import compare_lake
from viewer.fleet.answers.comparison_text import lake_comparison_facts, lake_comparison_text
from viewer.fleet.answers.paired_rows import LEVELS, OPERATOR
from viewer.fleet.lake import Lake, UnusableLake
from viewer.fleet.query import NoDuckDB


def run(arguments: list[str]) -> int:
    """Run the command with the arguments after its name. Returns the exit code."""
    parser = Parser(
        prog="opscope fleet compare",
        description="Compare two arms of a lake with the statistics of opscope compare. A profile "
        "is a session. Models, devices and builds that the arms do not name are compared one by "
        "one, and all tests are corrected together. Needs the tables inference_operators and "
        "inferences.",
        epilog="exit code: 0 compared, 1 rows of the lake are lost (with --strict), 2 usage or no "
        "such profiles, 3 a change fails --fail-if, 4 such a change cannot be excluded (with "
        "--fail-if-unknown)",
    )
    parser.add_argument("lake", metavar="LAKE")
    for name, arm in (("--a", "A"), ("--b", "B")):
        parser.add_argument(
            name,
            required=True,
            metavar="CONDITIONS",
            help=f"the profiles of {arm}, such as build=1 or build=1,device=pixel,tag.quant=int8",
        )
    parser.add_argument(
        "--by", choices=LEVELS, default=OPERATOR, help="what a row is (default: %(default)s)"
    )
    add_rule_options(parser)
    parser.add_argument("--all", action="store_true", help="print all groups and rows")
    parser.add_argument("--json", action="store_true", help="print JSON for scripts")
    add_strict(parser)
    chosen = parser.parse_args(arguments)
    rule = rule_of(parser, chosen)
    try:
        a, b = parse_arm(chosen.a), parse_arm(chosen.b)
    except ValueError as error:
        parser.error(str(error))
    try:
        lake = Lake(chosen.lake)
        group_comparisons, notes = compare_lake(lake, a, b, chosen.by)
    except WrongArms as error:
        complain(str(error))
        code_of_losses(lake, strict=False)  # they may be why
        return 2
    except (UnusableLake, NoDuckDB) as error:
        complain(str(error))
        return 2
    if chosen.json:
        facts = lake_comparison_facts(a, b, group_comparisons, notes)
        print(json.dumps(facts, indent=1, allow_nan=False))
    else:
        print(lake_comparison_text(a, b, group_comparisons, notes, everything=chosen.all))
    every = [
        (f"{group_comparison.group.label}: ", group_comparison)
        for group_comparison in group_comparisons
    ]
    lost = code_of_losses(lake, strict=chosen.strict)
    return code_of(rule, every, unknown=chosen.fail_if_unknown) or lost
