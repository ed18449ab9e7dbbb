"""The steps from the rows of A to those of B: one per changed row, and one for each kind of rest.

They add up exactly. Events inside delegate calls have no step, as their calls have one. Time that
no row has, such as that between calls, is in the whole inference only.
"""

from __future__ import annotations

from dataclasses import dataclass

from viewer.analysis.comparison.comparison import Compared, Comparison, Doubt, Verdict
from viewer.analysis.comparison.joined import Row
from viewer.analysis.comparison.rows import DELEGATE_EVENT
from viewer.analysis.comparison.session_test import LEAST_SESSIONS

CHANGED = (Verdict.SLOWER, Verdict.FASTER)
# Changed rows with a step of their own, the largest; the others share one.
MOST_STEPS = 6


@dataclass(frozen=True, slots=True)
class Step:
    """A step. ns: how much longer B takes. row: its number, -1 for what is not one row.

    verdict: of the row or of all rows of the step; None for rows in one arm, and for the rest.
    """

    label: str
    ns: float
    verdict: Verdict | None = None
    row: int = -1


@dataclass(frozen=True, slots=True)
class Steps:
    """The sum of the medians of all rows of A, in ns, the steps to that of B, and that of B."""

    a_ns: float
    steps: tuple[Step, ...]
    b_ns: float


def steps_of(comparison: Comparison) -> Steps:
    """Return the steps from A to B; none for different clocks."""
    if comparison.inference.doubt is Doubt.DIFFERENT_CLOCKS:
        return Steps(comparison.sum_ns(0), (), comparison.sum_ns(1))
    rows = [
        (i, row, one)
        for i, (row, one) in enumerate(zip(comparison.rows, comparison.compared, strict=True))
        if row.level != DELEGATE_EVENT
    ]
    # Too few sessions prove nothing: then the largest changes are shown without a verdict.
    untested = _fewest(comparison) < LEAST_SESSIONS
    changed = sorted(
        (each for each in rows if each[2].verdict in CHANGED or (untested and _is_paired(each[2]))),
        key=lambda each: -abs(each[2].change_ns),
    )
    steps = [Step(row.label, one.change_ns, one.verdict, i) for i, row, one in changed[:MOST_STEPS]]
    more = changed[MOST_STEPS:]
    if more:
        what = "more rows" if untested else "more changed"
        steps.append(Step(f"{len(more)} {what}", _sum(more)))
    for verdict, label in ((Verdict.NO_CHANGE, "no change"), (Verdict.CANNOT_TELL, "inconclusive")):
        own = [each for each in rows if each[2].verdict is verdict and _is_paired(each[2])]
        if own and not untested:
            steps.append(Step(label, _sum(own), verdict))
    for label, own in (
        ("only in A", [each for each in rows if each[2].b_ns is None]),
        ("only in B", [each for each in rows if each[2].a_ns is None]),
    ):
        if own:
            steps.append(Step(label, _sum(own)))
    a = sum(one.a_ns or 0.0 for _, _, one in rows)
    return Steps(a, tuple(steps), a + sum(step.ns for step in steps))


def _fewest(comparison: Comparison) -> int:
    return min(len(comparison.a.sessions), len(comparison.b.sessions))


def _is_paired(one: Compared) -> bool:
    return one.a_ns is not None and one.b_ns is not None


def _sum(rows: list[tuple[int, Row, Compared]]) -> float:
    return sum(one.change_ns for _, _, one in rows)
