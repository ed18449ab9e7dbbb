"""`opscope compare`: two arms of profiles, what changed between them, and what is proven.

`--fail-if` has a rule for which change fails a build, such as "slower > 5%"; so has
`opscope fleet compare`.
"""

from __future__ import annotations

import argparse
import json
import os
import re
from collections.abc import Iterable, Sequence
from typing import Protocol

from viewer.analysis.comparison.arms import Noise, noise_of
from viewer.analysis.comparison.comparison import Compared, Comparison, Doubt, Verdict
from viewer.analysis.comparison.levels import (
    CALLS,
    DELEGATE,
    IDENTITIES,
    INFERENCE,
    LEVELS,
    NAME,
    PATH,
)
from viewer.analysis.comparison.operator_pairs import Row
from viewer.analysis.comparison.path_changes import PathComparison
from viewer.analysis.comparison.session_test import THRESHOLD
from viewer.cli.arguments import STANDARD, Parser, add_files, check_output, complain
from viewer.cli.commands.open_inputs import add_other_arm, files_in_arm, open_all, open_arms
from viewer.cli.session_files import split_at
from viewer.codecs.atomic_file import write_whole
from viewer.codecs.reading import UnreadableFile
from viewer.dataclasses import dataclass
from viewer.model.times import parse_time
from viewer.render.flame_graph.changed_calls import changed_calls
from viewer.render.flame_graph.svg import write_svg
from viewer.reports.compare import NoComparison, compare_facts, compared, noise_facts, read_noise
from viewer.reports.compare_text import compare_markdown, compare_text, picture_of
from viewer.workspace.comparison_arms import (
    RunChoice,
    all_of,
    arm_of,
    arm_problem,
    of_method,
    of_numbers,
)
from viewer.workspace.user_choices import parse_numbers
from viewer.workspace.workspace import Workspace

REGRESSION, UNKNOWN = 3, 4  # exit codes

_RULE = re.compile(
    r"(slower|faster|changed)"
    r"(?:\s*>\s*([0-9]{1,6}(?:\.[0-9]{1,3})?)\s*%)?"
    r"(?:\s*(?:and)?\s*>\s*([0-9.]{1,12}\s*(?:ns|us|µs|ms|s)))?"
)
_VERDICTS = {
    "slower": (Verdict.SLOWER,),
    "faster": (Verdict.FASTER,),
    "changed": (Verdict.SLOWER, Verdict.FASTER),
}
# Nothing to exclude: there is no change of a row that one arm does not have, and none of note of a
# time that is below its clock.
_SETTLED = (Doubt.ONLY_IN_ONE, Doubt.BELOW_CLOCK)


@dataclass(frozen=True, slots=True)
class Rule:
    """A change that fails: proven, of one of `verdicts`, by more than a share and a time.

    ratio: how many times as long, at least 1. ns: the least difference per inference.
    """

    text: str
    verdicts: tuple[Verdict, ...]
    ratio: float
    ns: int

    def fails(self, compared: Compared) -> bool:
        """Whether a proven change is large enough to fail."""
        if compared.verdict not in self.verdicts or compared.change is None:
            return False
        ratio = 1 + compared.change
        return max(ratio, 1 / ratio) > self.ratio and abs(compared.change_ns) > self.ns

    def may_fail(self, compared: Compared) -> bool:
        """Whether a change that fails is within what is not known."""
        if compared.doubt in _SETTLED or self.fails(compared):
            return False
        if compared.interval is None or compared.a_ns is None:
            return True
        low, high = (1 + end for end in compared.interval)
        slower = Verdict.SLOWER in self.verdicts and high > self.ratio
        faster = Verdict.FASTER in self.verdicts and low * self.ratio < 1
        return (slower and (high - 1) * compared.a_ns > self.ns) or (
            faster and (1 - low) * compared.a_ns > self.ns
        )


def parse_rule(text: str) -> Rule:
    """Return the rule of "slower > 5% and > 20us". Raises ValueError for anything else."""
    match = _RULE.fullmatch(" ".join(text.split()))
    if match is None:
        raise ValueError(
            f'{text!r} is not a rule: write it as "slower", "slower > 5%" or '
            '"slower > 5% and > 20us"; "faster" and "changed" are possible too'
        )
    ratio = 1 + float(match[2]) / 100 if match[2] else 1.0
    if match[2] and ratio < 1 + THRESHOLD:
        raise ValueError(f"{text!r}: changes below {THRESHOLD:.0%} are never proven")
    ns = parse_time(match[3].replace(" ", "")) if match[3] else 0
    return Rule(text, _VERDICTS[match[1]], ratio, ns)


class WithFigures(Protocol):
    """A comparison: its rows with their figures, and those of the whole inference."""

    @property
    def rows(self) -> tuple[Row, ...]:
        """All rows."""
        ...

    @property
    def compared(self) -> tuple[Compared, ...]:
        """The figures of `rows`."""
        ...

    @property
    def inference(self) -> Compared:
        """The figures of the whole inference."""
        ...


def add_rule_options(parser: argparse.ArgumentParser) -> None:
    """Add --fail-if and --fail-if-unknown."""
    parser.add_argument(
        "--fail-if",
        metavar="RULE",
        help='exit with 3 if a change is proven: "slower > 5%% and > 20us" (per inference)',
    )
    parser.add_argument(
        "--fail-if-unknown",
        action="store_true",
        help="exit with 4 if the sessions cannot exclude such a change",
    )


def rule_of(parser: argparse.ArgumentParser, chosen: argparse.Namespace) -> Rule | None:
    """Return the rule of --fail-if, None without one; a wrong one is a usage error."""
    if chosen.fail_if is None:
        if chosen.fail_if_unknown:
            parser.error("--fail-if-unknown needs --fail-if")
        return None
    try:
        return parse_rule(chosen.fail_if)
    except ValueError as error:
        parser.error(f"--fail-if: {error}")


def code_of(
    rule: Rule | None, comparisons: Sequence[tuple[str, WithFigures]], *, unknown: bool
) -> int:
    """Say what fails on stderr; returns the exit code.

    comparisons: each with what its labels begin with. unknown: whether changes that cannot be
    excluded fail, too.
    """
    if rule is None:
        return 0
    failed = [
        f"{of}{label}" for of, with_figures in comparisons for label in failing(with_figures, rule)
    ]
    for label in failed:
        complain(f"{rule.text}: {label}")
    if failed:
        return REGRESSION
    doubtful = [
        f"{of}{label}"
        for of, with_figures in comparisons
        if unknown
        for label in undecided(with_figures, rule)
    ]
    if doubtful:
        more = f" and {len(doubtful) - 1} more" if len(doubtful) > 1 else ""
        complain(f"{rule.text}: cannot be excluded for {doubtful[0]}{more}")
        return UNKNOWN
    return 0


def failing(comparison: WithFigures, rule: Rule) -> list[str]:
    """Return the labels of what fails a rule."""
    return [label for label, compared in _all(comparison) if rule.fails(compared)]


def undecided(comparison: WithFigures, rule: Rule) -> list[str]:
    """Return the labels of what may fail a rule, but for which the sessions do not suffice."""
    return [label for label, compared in _all(comparison) if rule.may_fail(compared)]


def _all(comparison: WithFigures) -> Iterable[tuple[str, Compared]]:
    yield "the whole inference", comparison.inference
    yield from (
        (row.label, compared)
        for row, compared in zip(comparison.rows, comparison.compared, strict=True)
    )


_MOST_INFERENCES = 10_000_000


def run(arguments: list[str]) -> int:
    """Run the command with the arguments after its name. Returns the exit code."""
    parser = Parser(
        prog="opscope compare",
        usage="opscope compare A [A ...] --with B [B ...] [options]\n"
        "       opscope compare A [A ...] --inferences 1 --with-inferences 2-10 [options]\n"
        "       opscope compare A [A ...] --arm-method NAME --with-method NAME [options]\n"
        "       opscope compare A [A ...] SESSION.opscope --split-at BOOKMARK [options]",
        description="Compare two arms: is B faster, where, and is it sure? Each file is a "
        "session, that is, one process on the device. A verdict needs 3 sessions in each arm. An "
        "ETRecord in one arm is used for both if the other has none. A folder means all files in "
        "it.",
        epilog="exit code: 0 compared, 1 unreadable, 2 usage, 3 a change fails --fail-if, 4 such a "
        "change cannot be excluded (with --fail-if-unknown)",
    )
    add_files(parser, "+")
    add_other_arm(parser, "the files of the other arm")
    for name, arm in (("--inferences", "A"), ("--with-inferences", "B")):
        parser.add_argument(
            name,
            metavar="NUMBERS",
            help=f"only these inferences of {arm}, such as 1 or 2-10,12; also those that warm up. "
            "Without --with, B has the same files",
        )
    for name, arm in (("--arm-method", "A"), ("--with-method", "B")):
        parser.add_argument(
            name,
            metavar="NAME",
            help=f"only the inferences of {arm} that ran this method, such as prefill; two methods "
            "are paired whatever their names. Without --with, B has the same files",
        )
    parser.add_argument(
        "--split-at",
        metavar="BOOKMARK",
        help="split the inferences at a bookmark of a session file among the files: those before a "
        "moment are A and those after it are B; of a span, those inside are A, the others B",
    )
    parser.add_argument(
        "--by",
        choices=(CALLS, *LEVELS, NAME, DELEGATE, PATH, INFERENCE, *IDENTITIES),
        default=CALLS,
        help="what a row is: operators with their calls and events of delegates (default), or all "
        "slices of a graph node, line, module, operator type or name, all calls of a delegate, "
        "call paths, only the whole inference, or what profiles of Torq state: locations, "
        "actions, jobs, tasks, or the busy time of units",
    )
    parser.add_argument(
        "--relative",
        action="store_true",
        help="divide the times of rows by the inference of their session, and multiply them by "
        "that of A: what changed apart from a common factor, such as the clock or heat",
    )
    add_rule_options(parser)
    parser.add_argument(
        "--null",
        action="store_true",
        help="measure the noise of a device: all files are sessions of one unchanged program. "
        "Store it with -o noise.json",
    )
    parser.add_argument(
        "--noise",
        metavar="FILE",
        help="a file written by --null: gives changes an interval if there are one or two sessions",
    )
    parser.add_argument("--all", action="store_true", help="print all rows")
    form = parser.add_mutually_exclusive_group()
    form.add_argument("--json", action="store_true", help="print JSON for scripts")
    form.add_argument("--markdown", action="store_true", help="print Markdown")
    parser.add_argument(
        "-o",
        "--output",
        metavar="FILE",
        help="write to a file: .json, .md, .svg (a flame graph, needs --by path) or any other for "
        "text",
    )
    chosen = parser.parse_args(arguments)
    chosen.files = files_in_arm(parser, chosen.files)
    chosen.others = files_in_arm(parser, chosen.others or ())
    read = (*chosen.files, *chosen.others, *filter(None, [chosen.noise]))
    check_output(parser, chosen.output, read)
    if chosen.null:
        return _null(parser, chosen)
    _check_arms(parser, chosen)
    if _end(chosen) == ".svg" and chosen.by != PATH:
        parser.error("a flame graph needs --by path")
    rule = rule_of(parser, chosen)
    try:
        noise = read_noise(chosen.noise) if chosen.noise else None
    except UnreadableFile as error:
        complain(str(error))
        return 1
    comparison, problems, failed = _opened(parser, chosen, noise)
    if comparison is None:
        return 1
    if _end(chosen) == ".svg" and isinstance(comparison, PathComparison):
        if not _write_picture(chosen.output, comparison):
            return 1
    elif not _write(chosen, _text(chosen, comparison, problems)):
        return 1
    if failed:
        return 1
    return code_of(rule, [("", comparison)], unknown=chosen.fail_if_unknown)


def _check_arms(parser: argparse.ArgumentParser, chosen: argparse.Namespace) -> None:
    """Complete the files of arm B; exits with a usage error if the arms are not two."""
    of_a, of_b = (
        (chosen.inferences, chosen.arm_method),
        (chosen.with_inferences, chosen.with_method),
    )
    if chosen.split_at is not None:
        if chosen.others or any((*of_a, *of_b)):
            parser.error("--split-at makes both arms: no --with, and no inferences or methods")
    elif not chosen.others and not any(x and y for x, y in zip(of_a, of_b, strict=True)):
        parser.error(
            "give the other arm: --with FILES, --inferences and --with-inferences, --arm-method "
            "and --with-method, or --split-at BOOKMARK"
        )
    chosen.others = chosen.others or chosen.files


def _write(chosen: argparse.Namespace, text: str) -> bool:
    """Print a text, or write it to the output; returns whether that was possible."""
    if chosen.output in (None, "", STANDARD):
        print(text)
        return True
    try:
        write_whole(chosen.output, (text + "\n").encode())
    except OSError as error:
        complain(f"{chosen.output}: {error.strerror or error}")
        return False
    return True


def _write_picture(output: str, comparison: PathComparison) -> bool:
    """Write the flame graph of call paths; returns whether that was possible."""
    names = [arm.sessions[0].name for arm in (comparison.a, comparison.b)]
    try:
        write_svg(output, [picture_of(changed_calls(comparison.changes), " → ".join(names))])
    except OSError as error:
        complain(f"{output}: {error.strerror or error}")
        return False
    return True


def _end(chosen: argparse.Namespace) -> str:
    """The suffix of the output, in lower case."""
    return os.path.splitext(chosen.output or "")[1].lower()


def _null(parser: argparse.ArgumentParser, chosen: argparse.Namespace) -> int:
    """Measure the noise between the sessions of one arm. Returns the exit code."""
    splits = (chosen.inferences, chosen.with_inferences, chosen.arm_method, chosen.with_method)
    others = (chosen.others, chosen.fail_if, chosen.noise, chosen.split_at, chosen.relative)
    if any((*others, *splits)):
        parser.error("--null has one arm of whole files, and only the options for files")
    workspace, failed = open_all(parser, chosen)
    arm = arm_of(workspace)
    problem = arm_problem(arm)
    if problem:
        complain(problem)
        return 1
    try:
        noise = noise_of(arm)
    except ValueError as error:
        complain(str(error))
        return 1
    paths = [trace.path for trace in workspace.traces]
    if not _write(chosen, json.dumps(noise_facts(noise, paths), indent=1, allow_nan=False)):
        return 1
    return 1 if failed else 0


def _opened(
    parser: argparse.ArgumentParser, chosen: argparse.Namespace, noise: Noise | None
) -> tuple[Comparison | None, list[str], bool]:
    """Return the comparison (None without a profile in each arm), its problems, and any failure."""
    a, b, failed = open_arms(parser, chosen, chosen.files, chosen.others)
    notes: list[str] = []
    try:
        choices = _choice(chosen, a, "A"), _choice(chosen, b, "B")
        if chosen.split_at is not None:
            *both, notes = split_at(chosen.split_at, chosen.files, a)
            choices = both[0], both[1]
    except ValueError as error:
        if not failed:
            parser.error(str(error))
        complain(str(error))  # what is missing may be in a file that could not be read
        return None, [], True
    try:
        comparison, problems = compared(a, b, chosen.by, choices, noise, relative=chosen.relative)
    except NoComparison as error:
        if a.paths and b.paths:  # else the files that could not be read are the reason
            complain(str(error))
        return None, [], True
    except ValueError as error:
        parser.error(str(error))
    return comparison, [*notes, *problems], failed


def _choice(chosen: argparse.Namespace, workspace: Workspace, arm: str) -> RunChoice | None:
    """Return which inferences an arm has; None for all. Raises ValueError for a wrong option."""
    options = {
        "A": (("--inferences", chosen.inferences), ("--arm-method", chosen.arm_method)),
        "B": (("--with-inferences", chosen.with_inferences), ("--with-method", chosen.with_method)),
    }
    run_choices = []
    for name, text in options[arm]:
        if text is None:
            continue
        try:
            by_number = name.endswith("inferences")
            run_choices.append(
                of_numbers(workspace, parse_numbers(text, _MOST_INFERENCES))
                if by_number
                else of_method(workspace, text)
            )
        except ValueError as error:
            raise ValueError(f"{name}: {error}") from error
    return all_of(run_choices)


def _text(chosen: argparse.Namespace, comparison: Comparison, problems: Sequence[str]) -> str:
    end = _end(chosen)
    if chosen.json or (end == ".json" and not chosen.markdown):
        return json.dumps(compare_facts(comparison, problems), indent=1, allow_nan=False)
    if chosen.markdown or end == ".md":
        return compare_markdown(comparison, problems, everything=chosen.all)
    return compare_text(comparison, problems, everything=chosen.all)
