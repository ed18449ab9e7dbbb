"""Rules for `opscope compare --fail-if`: which change fails a build, such as "slower > 5%"."""

from __future__ import annotations

import argparse
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Protocol

from viewer.analysis.comparison.comparison import Compared, Doubt, Verdict
from viewer.analysis.comparison.joined import Row
from viewer.analysis.comparison.session_test import THRESHOLD
from viewer.cli.arguments import complain
from viewer.model.times import parse_time

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
