"""`opscope stats`: the time in profiles, grouped by one key."""

from __future__ import annotations

import argparse
import json

from viewer.analysis.statistics import figure_terms
from viewer.analysis.statistics.group_keys import KEYS, keys_named, keys_text
from viewer.cli.arguments import Parser, add_files, add_inference, complain
from viewer.cli.commands.open_inputs import open_all, warn
from viewer.model.times import parse_range
from viewer.reports.inferences import NoSuchRun
from viewer.reports.stats import AUTO, PHASE, UNITS, NoSuchGroups, stats, stats_text

_FIGURES = (
    figure_terms.TOTAL,
    figure_terms.SELF,
    figure_terms.COUNT,
    figure_terms.MEAN,
    figure_terms.MEDIAN,
    figure_terms.P90,
    figure_terms.MIN,
    figure_terms.MAX,
)


def _figures_text() -> str:
    """The meaning of the table's columns, for the help."""
    lines = (f"  {term.title:<7} {term.definition}" for term in _FIGURES)
    return "\n".join(["columns of the table:", *lines])


def _keys(text: str) -> str:
    """Return the keys of an option. Raises ArgumentTypeError."""
    try:
        return text if text == PHASE else keys_text(keys_named(text))
    except ValueError as error:
        raise argparse.ArgumentTypeError(str(error)) from None


def run(arguments: list[str]) -> int:
    """Run the command with the arguments after its name. Returns the exit code."""
    parser = Parser(
        prog="opscope stats",
        description="Aggregate time by key.",
        epilog=_figures_text(),
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    add_files(parser, "+")
    by = parser.add_argument(
        "--by",
        required=True,
        type=_keys,
        metavar="KEY[,KEY]",
        help=f"{', '.join((*KEYS, 'arg:NAME', PHASE))}; with a second key, it divides "
        'each group: operator,inference; a name with a comma is arg:"A, B"',
    )
    by.completer = lambda **_: KEYS  # type: ignore[attr-defined]  # of argcomplete
    parser.add_argument(
        "--range",
        metavar="START:END",
        help="count only this range, such as 1.5ms:2ms; times count from the start of the trace, "
        "or from the earliest start if several traces share a clock",
    )
    add_inference(parser)
    parser.add_argument(
        "--phase",
        default="",
        metavar="NAME",
        help="count only inferences of this method or phase, as --by phase shows it",
    )
    parser.add_argument(
        "--per",
        choices=("inference",),
        help="the mean per inference after the warm-up, which adds up, with the median and the sum",
    )
    parser.add_argument(
        "--unit",
        choices=(AUTO, *UNITS),
        default=AUTO,
        help="unit of the times in the table, by default the one that suits each; "
        "JSON has ticks and ns",
    )
    parser.add_argument("--json", action="store_true", help="print JSON for scripts")
    chosen = parser.parse_args(arguments)
    try:
        span = parse_range(chosen.range) if chosen.range else None
    except ValueError as error:
        parser.error(str(error))
    if span and chosen.inference is not None:
        parser.error("--range and --inference cannot be used together")
    if chosen.per and (span or chosen.inference is not None or chosen.by == PHASE):
        parser.error("--per inference covers all inferences: no --range, --inference or --by phase")
    workspace, failed = open_all(parser, chosen)
    warn(workspace)
    if not workspace.paths:
        return 1
    try:
        facts = stats(
            workspace,
            chosen.by,
            span,
            chosen.inference,
            chosen.phase,
            per_inference=bool(chosen.per),
        )
    except NoSuchGroups as error:
        complain(str(error))
        return 1
    except NoSuchRun as error:
        complain(str(error))
        return 1 if failed else 2
    print(json.dumps(facts, indent=1) if chosen.json else stats_text(facts, chosen.unit))
    for file in facts["files"]:
        if file["missing"]:
            complain(f"note: {file['path']}: no statistics by {chosen.by}: {file['missing']}")
    return 1 if failed else 0
