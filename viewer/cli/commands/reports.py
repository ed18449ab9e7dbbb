"""Commands that print one report about files: info, stats, delegation, memory and others.

What a command needs is imported when it runs, so that none brings the imports of another.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Mapping
from typing import Any

from viewer.cli.arguments import Parser, add_files, add_include_warmup, add_inference, complain
from viewer.cli.commands.open_inputs import add_other_arm, open_all, open_arms, warn
from viewer.model.text import one_line
from viewer.model.times import counted, parse_range, plain_spaces
from viewer.workspace.workspace import Workspace

DIFFERS = 3  # the exit code of `opscope prove`
_MOST_LINES = 20  # of differences


def run_info(arguments: list[str]) -> int:
    """Run the command with the arguments after its name. Returns the exit code."""
    from viewer.reports.info import info, info_text

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


def run_stats(arguments: list[str]) -> int:
    """Run the command with the arguments after its name. Returns the exit code."""
    from viewer.analysis.statistics.group_keys import KEYS, keys_named, keys_text
    from viewer.model import figures as figure_terms
    from viewer.reports.parts import NoSuchRun
    from viewer.reports.stats import AUTO, PHASE, UNITS, NoSuchGroups, stats, stats_text

    def keys(text: str) -> str:
        """Return the keys of an option. Raises ArgumentTypeError."""
        try:
            return text if text == PHASE else keys_text(keys_named(text))
        except ValueError as error:
            raise argparse.ArgumentTypeError(str(error)) from None

    terms = (
        figure_terms.TOTAL,
        figure_terms.SELF,
        figure_terms.COUNT,
        figure_terms.MEAN,
        figure_terms.MEDIAN,
        figure_terms.P90,
        figure_terms.MIN,
        figure_terms.MAX,
    )
    columns = (f"  {term.title:<7} {term.definition}" for term in terms)
    parser = Parser(
        prog="opscope stats",
        description="Aggregate time by key.",
        epilog="\n".join(["columns of the table:", *columns]),
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    add_files(parser, "+")
    by = parser.add_argument(
        "--by",
        required=True,
        type=keys,
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


def run_delegation(arguments: list[str]) -> int:
    """Run the command with the arguments after its name. Returns the exit code."""
    from viewer.reports.delegation import delegation_facts, delegation_text
    from viewer.reports.parts import NoSuchRun

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


def run_estimates(arguments: list[str]) -> int:
    """Run the command with the arguments after its name. Returns the exit code."""
    from viewer.reports.delegation import estimate_facts, estimate_text
    from viewer.workspace.snapshot import estimates_of_workspace

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
    comparison = estimates_of_workspace(workspace)
    if not comparison.actions and not comparison.operators:
        complain(estimate_text(comparison))
        return 1
    print(
        json.dumps(estimate_facts(comparison), indent=1)
        if chosen.json
        else estimate_text(comparison)
    )
    return 1 if failed else 0


def run_findings(arguments: list[str]) -> int:
    """Run the command with the arguments after its name. Returns the exit code."""
    from viewer.reports.parts import NoSuchRun
    from viewer.reports.summary import findings_facts, findings_text

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


def run_memory(arguments: list[str]) -> int:
    """Run the command with the arguments after its name. Returns the exit code."""
    from viewer.reports.program_files import NO_MEMORY_PLANS, memory_facts, memory_text

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
            complain(NO_MEMORY_PLANS)
        return 1
    print(json.dumps(facts, indent=1) if chosen.json else memory_text(facts))
    return 1 if failed else 0


def run_sizes(arguments: list[str]) -> int:
    """Run the command with the arguments after its name. Returns the exit code."""
    from viewer.analysis.sizes.groups import GroupKey
    from viewer.reports.program_files import NO_SIZES, sizes_facts, sizes_text

    parser = Parser(
        prog="opscope sizes",
        description="Report what the bytes of program files (.pte) are for: constants, named data, "
        "delegates and the program, the largest first, and parts with equal bytes. With the "
        "ETRecord of the model, parts have the operators and the module that use them.",
    )
    add_files(parser, "+")
    parser.add_argument(
        "--by", choices=[key.value for key in GroupKey], help="add up the parts by this key"
    )
    parser.add_argument(
        "--with",
        dest="others",
        nargs="+",
        metavar="FILE",
        help="compare with another program file, and its ETRecord: instructions, kernels, "
        "delegates, planned memory and sizes",
    )
    parser.add_argument("--json", action="store_true", help="print JSON for scripts")
    chosen = parser.parse_args(arguments)
    if chosen.others and chosen.by:
        parser.error("--by cannot be used with --with, which has all tables")
    workspace, failed = open_all(parser, chosen)
    if chosen.others:
        return _difference(parser, chosen, workspace, failed)
    facts = sizes_facts(workspace, GroupKey(chosen.by) if chosen.by else None)
    warn(workspace)
    if not facts["files"]:
        if workspace.paths:
            complain(NO_SIZES)
        return 1
    print(json.dumps(facts, indent=1) if chosen.json else sizes_text(facts))
    return 1 if failed else 0


def _difference(
    parser: argparse.ArgumentParser, chosen: argparse.Namespace, a: Workspace, failed: bool
) -> int:
    """Compare the program file in `a` with that of the other files. Returns the exit code."""
    from viewer.reports.program_files import difference_facts, difference_problem, difference_text

    names = ("pair", "method", "identifier_column", "clock", "part", "debug_info")
    none: dict[str, list[str]] = {
        name: [] for name in names
    }  # options for files apply to the first ones
    others = argparse.Namespace(**{**vars(chosen), **none, "files": list(chosen.others)})
    b, failed_b = open_all(parser, others)
    for workspace, other in ((a, b), (b, a)):
        if not workspace.programs:  # the same model may have been lowered twice
            for program in other.programs:
                workspace.add(program)
    for name, side in (("A", a), ("B", b)):
        problem = difference_problem(side)
        if problem:
            complain(f"{name} {problem}")
            return 1
    facts = difference_facts(a, b)
    print(json.dumps(facts, indent=1) if chosen.json else difference_text(facts))
    return 1 if failed or failed_b else 0


def run_prove(arguments: list[str]) -> int:
    """Run the command with the arguments after its name. Returns the exit code."""
    from viewer.query.engine import NoDuckDB
    from viewer.reports.compare import NoComparison
    from viewer.reports.proof import proof

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


def run_inspect(arguments: list[str]) -> int:
    """Run the command with the arguments after its name. Returns the exit code."""
    from viewer.compat import inspector_cli

    return inspector_cli.run(arguments, complain)
