"""The rows of the findings list: findings by rank, then the other checks, collapsed to two lines.

A finding is its action, the numbers behind it, and its gain. Rules are not part of the texts: every
row has an info mark for its rule.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from enum import Enum

from viewer.analysis.findings.finding import Finding, NotReported, checks_text, share_text
from viewer.analysis.findings.findings import Findings
from viewer.model.times import counted

NONE_FOUND = "No findings: every check passed or does not apply."


class RowKind(Enum):
    """The kind of a row."""

    FINDING = "a finding"
    NOTE = "a remark"
    GROUP = "the number of checks that passed, or that do not apply"
    CHECK = "one of these checks"


@dataclass(frozen=True, slots=True)
class FindingRow:
    """One row.

    title, detail: its texts. number: the rank of a finding, from 1; 0 for other rows. rule: what
    its info mark shows, "" without a mark. is_passed, is_open: of a group.
    """

    kind: RowKind
    title: str
    detail: str = ""
    number: int = 0
    rule: str = ""
    finding: Finding | None = None
    is_passed: bool = False
    is_open: bool = False

    @property
    def plain(self) -> str:
        """The row as text without its rule, for copies and screen readers."""
        finding = self.finding
        if finding is None:
            return self.title
        severity = f"{finding.severity.title} severity"
        return f"{self.number}. {severity}: {finding.title}. {_detail(finding)}"

    @property
    def accessible(self) -> str:
        """The text for screen readers: `plain`, and whether a group is open."""
        if self.kind is RowKind.GROUP:
            return f"{self.title}, {'expanded' if self.is_open else 'collapsed'}"
        return self.plain

    @property
    def figure(self) -> str:
        """The gain of a finding as a figure: "up to 19.232 µs"; "" if there is none."""
        time = "" if self.finding is None else self.finding.gain.time
        return f"up to {time}" if time else ""

    @property
    def base(self) -> str:
        """What that is a share of: "29.6 % of 64.973 µs per inference"; "" if there is no gain."""
        gain = None if self.finding is None else self.finding.gain
        if gain is None or not gain.whole:
            return ""
        base = f"of {gain.base} {gain.of}" if gain.is_per_inference else gain.of
        return f"{share_text(gain.ticks, gain.whole)} {base}"


def _detail(finding: Finding) -> str:
    return f"{finding.detail} {finding.advice}".rstrip()


def rows_of(findings: Findings, opened: Collection[bool] = ()) -> tuple[FindingRow, ...]:
    """Return the rows: findings by rank, then the checks without one.

    opened: which groups of checks are expanded: True for those that passed, False for those that do
    not apply.
    """
    rows = [
        FindingRow(RowKind.FINDING, finding.action, _detail(finding), number, finding.rule, finding)
        for number, finding in enumerate(findings.found, 1)
    ]
    if not rows:
        rows.append(FindingRow(RowKind.NOTE, NONE_FOUND))
    if findings.left_out:
        more = f"{counted(findings.left_out, 'more finding')} with a smaller gain"
        rows.append(FindingRow(RowKind.NOTE, more))
    for is_passed in (True, False):
        checks = checks_of(findings, is_passed)
        if checks:
            is_open = is_passed in opened
            title = checks_text(len(checks), is_passed)
            rows.append(FindingRow(RowKind.GROUP, title, is_passed=is_passed, is_open=is_open))
            rows += checks if is_open else ()
    return tuple(rows)


def checks_of(findings: Findings, is_passed: bool) -> tuple[FindingRow, ...]:
    """Return the rows of the checks that passed, or of those that do not apply."""
    return tuple(
        _check(not_reported)
        for not_reported in findings.not_reported
        if not_reported.applicable is is_passed
    )


def _check(not_reported: NotReported) -> FindingRow:
    return FindingRow(
        RowKind.CHECK, f"{not_reported.title}: {not_reported.why}", rule=not_reported.rule
    )
