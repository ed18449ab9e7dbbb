"""The steps from an inference of A to one of B: one per changed row, and one for each kind of rest.

They start and end with the times that the headline states, and add up exactly. Events inside
delegate calls have no step, as their calls have one. What no row has is the last step: the time
between calls, and single calls that ran long, which a median of a row leaves out and a median of
totals does not.
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
# How many times the sum of its rows an inference must take for calls that ran long to explain it.
LARGE = 1.1
SINGLE_CALLS, BETWEEN, OVERLAP = "single calls that ran long", "between calls", "at the same time"


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
    """The time of an inference of A, in ns, the steps to that of B, and that of B.

    rows_a, rows_b: the sums of the medians of all rows, which an arm without inferences has alone.
    """

    a_ns: float
    steps: tuple[Step, ...]
    b_ns: float
    rows_a: float
    rows_b: float


def steps_of(comparison: Comparison) -> Steps:
    """Return the steps from A to B; none for different clocks."""
    if comparison.inference.doubt is Doubt.DIFFERENT_CLOCKS:
        sums = comparison.sum_ns(0), comparison.sum_ns(1)
        return Steps(sums[0], (), sums[1], *sums)
    rows = [
        (i, row, compared)
        for i, (row, compared) in enumerate(zip(comparison.rows, comparison.compared, strict=True))
        if row.level != DELEGATE_EVENT
    ]
    # Too few sessions prove nothing: then the largest changes are shown without a verdict.
    untested = _fewest(comparison) < LEAST_SESSIONS
    changed = sorted(
        (each for each in rows if each[2].verdict in CHANGED or (untested and _is_paired(each[2]))),
        key=lambda each: -abs(each[2].change_ns),
    )
    steps = [
        Step(row.label, compared.change_ns, compared.verdict, i)
        for i, row, compared in changed[:MOST_STEPS]
    ]
    more = changed[MOST_STEPS:]
    if more:
        what = "more rows" if untested else "more changed"
        steps.append(Step(f"{len(more)} {what}", _sum(more)))
    for verdict, label in ((Verdict.NO_CHANGE, "no change"), (Verdict.CANNOT_TELL, "inconclusive")):
        chosen = [each for each in rows if each[2].verdict is verdict and _is_paired(each[2])]
        if chosen and not untested:
            steps.append(Step(label, _sum(chosen), verdict))
    for label, chosen in (
        ("only in A", [each for each in rows if each[2].b_ns is None]),
        ("only in B", [each for each in rows if each[2].a_ns is None]),
    ):
        if chosen:
            steps.append(Step(label, _sum(chosen)))
    a = sum(compared.a_ns or 0.0 for _, _, compared in rows)
    b = a + sum(step.ns for step in steps)
    whole = comparison.inference
    if whole.a_ns is None or whole.b_ns is None:
        return Steps(a, tuple(steps), b, a, b)
    rest = whole.b_ns - whole.a_ns - (b - a)
    if round(rest):
        steps.append(Step(_rest_label(whole.a_ns, whole.b_ns, a, b), rest))
    return Steps(whole.a_ns, tuple(steps), whole.b_ns, a, b)


def _rest_label(whole_a: float, whole_b: float, rows_a: float, rows_b: float) -> str:
    """Return what the time is that no row has, by how much longer the whole is."""
    if whole_a < rows_a or whole_b < rows_b:
        return OVERLAP
    is_long = max(whole_a - LARGE * rows_a, whole_b - LARGE * rows_b) > 0
    return SINGLE_CALLS if is_long else BETWEEN


def _fewest(comparison: Comparison) -> int:
    return min(len(comparison.a.sessions), len(comparison.b.sessions))


def _is_paired(compared: Compared) -> bool:
    return compared.a_ns is not None and compared.b_ns is not None


def _sum(rows: list[tuple[int, Row, Compared]]) -> float:
    return sum(compared.change_ns for _, _, compared in rows)
