"""Findings about estimates of the Torq compiler that are off: by more than two times, either way.

The figures are those of `viewer.program.estimates`: the mean over all runs of an action or NSS job
beside what the compiler expected of it. They are told of the profile that measured.
"""

from __future__ import annotations

from fractions import Fraction

import numpy as np

from viewer.model.queries import numbers, units_of
from viewer.model.times import counted, format_time
from viewer.model.torq_words import ACTION_ID, DISPATCH, JOB_ID, job_name
from viewer.model.trace import Ints, Unit
from viewer.program.estimates import ActionRow
from viewer.program.finding import (
    Answer,
    Family,
    Finding,
    Question,
    Silent,
    Slices,
    joined,
    plural,
)

# Less is within what clocks, memories and the host's part in a job make of any estimate.
OFF = 2

_RULE = (
    f"Told when the mean over all runs is more than {OFF} times the estimate, or less than "
    f"1/{OFF} of it."
)


def estimates(asked: Question) -> Answer:
    """What took more than twice its estimate, and what took less than half of it."""
    made = asked.estimates
    if made is None or (asked.trace.path, "measurement") not in made.sources:
        why = "no estimates of what this profile measured are open"
        return Silent(Family.ESTIMATES, why, False)
    rows = [row for row in made.actions if row.ratio is not None]
    if not rows:
        why = "nothing that is estimated was measured"
        return Silent(Family.ESTIMATES, why, False)
    longer = [row for row in rows if row.ratio is not None and row.ratio > OFF]
    shorter = [row for row in rows if row.ratio is not None and row.ratio * OFF < 1]
    found = [
        _finding(asked, own, len(rows), how)
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
    return Silent(Family.ESTIMATES, f"{why}. {_RULE}", True)


def _finding(asked: Question, rows: list[ActionRow], of: int, how: str) -> Finding:
    rows = sorted(rows, key=lambda row: -_off(row))
    told = []
    off = Fraction(0)
    for row in rows:
        assert row.measured is not None
        assert row.ratio is not None
        estimate, mean = row.estimate_ns or 0.0, row.measured.mean
        told.append(
            f"{_name(row)} {format_time(mean)} instead of {format_time(estimate)} "
            f"({row.ratio:.1f} times)"
        )
        off += Fraction(_off(row)) * (1 if asked.run is not None else row.measured.runs)
    ticks = round(off / asked.rate)
    their = how.replace("their", plural(len(rows), "its", "their"))
    numbers_of = {i for row in rows for i in _slices_of(asked, row).tolist()}
    return Finding(
        Family.ESTIMATES,
        f"{len(rows)} of {counted(of, 'estimated action')} took {their}",
        f"{joined(told)}.",
        _RULE, ticks, 0, Slices(tuple(sorted(numbers_of))), across=True,
    )  # fmt: skip


def _off(row: ActionRow) -> float:
    """How many ns the mean lies from the estimate."""
    return abs((row.measured.mean if row.measured else 0.0) - (row.estimate_ns or 0.0))


def _name(row: ActionRow) -> str:
    number = job_name(row.job) if row.job is not None else f"action {row.action}"
    return f"{number} ({row.label})" if row.label and row.label != number else number


def _slices_of(asked: Question, row: ActionRow) -> Ints:
    """The executions of a job, or of an action, in this profile."""
    trace = asked.trace
    unit = units_of(trace)
    column, of, number = (
        (JOB_ID, Unit.NSS, row.job) if row.job is not None else (ACTION_ID, Unit.HOST, row.action)
    )
    at, ids = numbers(trace, column, unit == of)
    at = at[ids == number]
    names = [scope.name for scope in trace.scopes]
    if DISPATCH in trace.slices.columns and row.dispatch in names:
        at = at[trace.keys.scope[trace.slices.key[at]] == names.index(row.dispatch)]
    return np.sort(at)
