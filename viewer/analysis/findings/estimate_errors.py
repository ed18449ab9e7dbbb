"""Findings about Torq compiler estimates that are off by more than a factor of two.

The numbers come from `viewer.analysis.torq.estimates`: the mean over all runs of an action or NSS
job, compared with the compiler's estimate. They are reported for the profile with the measurement.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from viewer.analysis.findings.finding import (
    NAMED,
    NO_GAIN,
    Family,
    FamilyAnswer,
    Finding,
    FindingContext,
    Gain,
    NotReported,
    SliceNumbers,
    joined,
    plural,
)
from viewer.arrays import Ints
from viewer.model.names.torq import ACTION_ID, DISPATCH, JOB_ID, job_name
from viewer.model.queries import numbers, units_of
from viewer.model.times import counted, format_time
from viewer.model.trace import Unit

if TYPE_CHECKING:
    from viewer.analysis.torq.estimates import ActionRow


# Differences below this are normal: clocks, memory and the host's part of a job vary that much.
OFF = 2

_RULE = (
    f"Reported when the mean over all inferences is more than {OFF} times the estimate, or less "
    f"than 1/{OFF} of that."
)


def estimate_errors(context: FindingContext) -> FamilyAnswer:
    """Report actions above twice their estimate, and actions below half of it."""
    compared = context.estimates
    if compared is None or (context.trace.path, "measurement") not in compared.sources:
        why = "no estimates of what this profile measured are open"
        return NotReported(Family.ESTIMATES, why, _RULE, False)
    rows = [row for row in compared.actions if row.ratio is not None]
    if not rows:
        why = "nothing that is estimated was measured"
        return NotReported(Family.ESTIMATES, why, _RULE, False)
    longer = [row for row in rows if row.ratio is not None and row.ratio > OFF]
    shorter = [row for row in rows if row.ratio is not None and row.ratio * OFF < 1]
    findings = [_slow(context, longer, rows)] if longer else []
    if shorter:
        of_all = f"{len(shorter)} of {counted(len(rows), 'estimated action')}"
        what = plural(len(shorter), "it took", "they took")
        action = f"Check the estimates of {of_all}: {what} less than half of them"
        findings.append(_finding(context, shorter, action, NO_GAIN))
    if findings:
        return findings
    ratios = [row.ratio for row in rows if row.ratio is not None]
    why = f"measured / estimated is {min(ratios):.2f} to {max(ratios):.2f}"
    return NotReported(Family.ESTIMATES, why, _RULE, True)


def _slow(
    context: FindingContext, longer: Sequence[ActionRow], rows: Sequence[ActionRow]
) -> Finding:
    """Return the finding on actions above their estimate; the gain is the excess."""
    each = context.run is not None
    more = sum(_off(row) * (1 if each else _runs(row)) for row in longer)
    took = sum(_mean(row) * (1 if each else _runs(row)) for row in rows)
    of_all = f"{len(longer)} of {counted(len(rows), 'estimated action')}"
    ticks, whole = round(more / context.rate), round(took / context.rate)
    gain = context.gain_of(ticks, whole, "the time of estimated actions")
    return _finding(context, longer, f"Look into {of_all} above twice the estimate", gain)


def _finding(
    context: FindingContext, rows: Sequence[ActionRow], action: str, gain: Gain
) -> Finding:
    rows = sorted(rows, key=lambda row: -_off(row))
    return Finding(
        Family.ESTIMATES,
        action,
        gain,
        f"{joined([_compared(row) for row in rows[:NAMED]], len(rows))}.",
        _RULE,
        SliceNumbers(tuple(_slices_of(context, rows).tolist())),
        across=True,
    )


def _compared(row: ActionRow) -> str:
    return (
        f"{_name(row)} {format_time(_mean(row))} instead of {format_time(row.estimate_ns or 0.0)} "
        f"({row.ratio or 0:.1f} times)"
    )


def _mean(row: ActionRow) -> float:
    return row.measured.mean if row.measured else 0.0


def _runs(row: ActionRow) -> int:
    return row.measured.runs if row.measured else 0


def _off(row: ActionRow) -> float:
    """Return the absolute difference between mean and estimate, in ns."""
    return abs(_mean(row) - (row.estimate_ns or 0.0))


def _name(row: ActionRow) -> str:
    number = job_name(row.job) if row.job is not None else f"action {row.action}"
    return f"{number} ({row.label})" if row.label and row.label != number else number


def _slices_of(context: FindingContext, rows: Sequence[ActionRow]) -> Ints:
    """Return the executions of some jobs and actions in this profile, ascending."""
    jobs = [(row.dispatch, row.job) for row in rows if row.job is not None]
    actions = [(r.dispatch, r.action) for r in rows if r.job is None and r.action is not None]
    index_arrays = (
        _with_number(context, JOB_ID, Unit.NSS, jobs),
        _with_number(context, ACTION_ID, Unit.HOST, actions),
    )
    return np.sort(np.concatenate(index_arrays))


def _with_number(
    context: FindingContext, column: str, of: Unit, wanted: Sequence[tuple[str, int]]
) -> Ints:
    """Return a unit's slices that have one of the (dispatch, number) pairs.

    The dispatch is only compared if the trace names it.
    """
    trace = context.trace
    index, ids = numbers(trace, column, units_of(trace) == of)
    unique_ids, code = np.unique(ids, return_inverse=True)
    places = {number: i for i, number in enumerate(unique_ids.tolist())}
    is_named = DISPATCH in trace.slices.columns
    scopes = {scope.name: i for i, scope in enumerate(trace.scopes)} if is_named else {}
    present = [(dispatch, places[number]) for dispatch, number in wanted if number in places]
    of_any = [place for dispatch, place in present if dispatch not in scopes]
    of_one = [scopes[name] * len(unique_ids) + place for name, place in present if name in scopes]
    in_scope = trace.keys.scope[trace.slices.key[index]].astype(np.int64) * len(unique_ids) + code
    matches: Ints = index[np.isin(code, of_any) | np.isin(in_scope, of_one)]
    return matches
