"""Findings about Torq compiler estimates that are off by more than a factor of two.

The numbers come from `viewer.analysis.torq.estimates`: the mean over all runs of an action or NSS
job, compared with the compiler's estimate. They are reported for the profile with the measurement.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from viewer.analysis.findings.finding import (
    NAMED,
    Family,
    FamilyAnswer,
    Finding,
    FindingContext,
    NotReported,
    SliceNumbers,
    joined,
    plural,
)
from viewer.analysis.torq.estimates import ActionRow
from viewer.arrays import Ints
from viewer.model.queries import numbers, units_of
from viewer.model.times import counted, format_time
from viewer.model.torq_names import ACTION_ID, DISPATCH, JOB_ID, job_name
from viewer.model.trace import Unit

# Differences below this are normal: clocks, memory and the host's part of a job vary that much.
OFF = 2

_RULE = (
    f"Told when the mean over all runs is more than {OFF} times the estimate, or less than "
    f"1/{OFF} of it."
)


def estimates(context: FindingContext) -> FamilyAnswer:
    """Report actions above twice their estimate, and actions below half of it."""
    compared = context.estimates
    if compared is None or (context.trace.path, "measurement") not in compared.sources:
        why = "no estimates of what this profile measured are open"
        return NotReported(Family.ESTIMATES, why, False)
    rows = [row for row in compared.actions if row.ratio is not None]
    if not rows:
        why = "nothing that is estimated was measured"
        return NotReported(Family.ESTIMATES, why, False)
    longer = [row for row in rows if row.ratio is not None and row.ratio > OFF]
    shorter = [row for row in rows if row.ratio is not None and row.ratio * OFF < 1]
    found = [
        _finding(context, own, len(rows), how)
        for own, how in (
            (longer, "more than twice their estimate"),
            (shorter, "less than half of their estimate"),
        )
        if own
    ]
    if found:
        return found
    ratios = [row.ratio for row in rows if row.ratio is not None]
    why = f"the ratios are from {min(ratios):.2f} to {max(ratios):.2f}"
    return NotReported(Family.ESTIMATES, f"{why}. {_RULE}", True)


def _finding(context: FindingContext, rows: list[ActionRow], of: int, how: str) -> Finding:
    rows = sorted(rows, key=lambda row: -_off(row))
    off = sum(_off(row) * (1 if context.run is not None else _runs(row)) for row in rows)
    their = how.replace("their", plural(len(rows), "its", "their"))
    return Finding(
        Family.ESTIMATES,
        f"{len(rows)} of {counted(of, 'estimated action')} took {their}",
        f"{joined([_told(row) for row in rows[:NAMED]], len(rows))}.",
        _RULE,
        round(off / float(context.rate)),
        0,
        SliceNumbers(tuple(_slices_of(context, rows).tolist())),
        across=True,
    )


def _told(row: ActionRow) -> str:
    mean, estimate = row.measured.mean if row.measured else 0.0, row.estimate_ns or 0.0
    return (
        f"{_name(row)} {format_time(mean)} instead of {format_time(estimate)} "
        f"({row.ratio or 0:.1f} times)"
    )


def _runs(row: ActionRow) -> int:
    return row.measured.runs if row.measured else 0


def _off(row: ActionRow) -> float:
    """Return the absolute difference between mean and estimate, in ns."""
    return abs((row.measured.mean if row.measured else 0.0) - (row.estimate_ns or 0.0))


def _name(row: ActionRow) -> str:
    number = job_name(row.job) if row.job is not None else f"action {row.action}"
    return f"{number} ({row.label})" if row.label and row.label != number else number


def _slices_of(context: FindingContext, rows: Sequence[ActionRow]) -> Ints:
    """Return the executions of some jobs and actions in this profile, ascending."""
    jobs = [(row.dispatch, row.job) for row in rows if row.job is not None]
    actions = [(r.dispatch, r.action) for r in rows if r.job is None and r.action is not None]
    found = (
        _with_number(context, JOB_ID, Unit.NSS, jobs),
        _with_number(context, ACTION_ID, Unit.HOST, actions),
    )
    return np.sort(np.concatenate(found))


def _with_number(
    context: FindingContext, column: str, of: Unit, wanted: Sequence[tuple[str, int]]
) -> Ints:
    """Return a unit's slices that have one of the (dispatch, number) pairs.

    The dispatch is only compared if the trace names it.
    """
    trace = context.trace
    at, ids = numbers(trace, column, units_of(trace) == of)
    known, code = np.unique(ids, return_inverse=True)
    places = {number: i for i, number in enumerate(known.tolist())}
    is_named = DISPATCH in trace.slices.columns
    scopes = {scope.name: i for i, scope in enumerate(trace.scopes)} if is_named else {}
    present = [(dispatch, places[number]) for dispatch, number in wanted if number in places]
    of_any = [place for dispatch, place in present if dispatch not in scopes]
    of_one = [scopes[name] * len(known) + place for name, place in present if name in scopes]
    in_scope = trace.keys.scope[trace.slices.key[at]].astype(np.int64) * len(known) + code
    found: Ints = at[np.isin(code, of_any) | np.isin(in_scope, of_one)]
    return found
