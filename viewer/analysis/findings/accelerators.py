"""Findings about accelerators: work outside delegates, and Torq estimates that are far off.

Estimates are the mean over all runs of an action or NSS job, compared with the compiler's estimate.
They are reported for the profile with the measurement.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from fractions import Fraction
from typing import TYPE_CHECKING

import numpy as np

from viewer.analysis.cost.event_times import WorkPart
from viewer.analysis.delegates.delegation import Delegation
from viewer.analysis.delegates.why_outside import NOT_KNOWN
from viewer.analysis.findings.finding import (
    NAMED,
    NO_GAIN,
    Family,
    FamilyAnswer,
    Finding,
    FindingContext,
    Gain,
    NotReported,
    SliceKeys,
    SliceNumbers,
    joined,
    percent,
    plural,
    share_text,
)
from viewer.analysis.links.coverage import starts_within
from viewer.arrays import Ints
from viewer.model.queries import numbers, units_of
from viewer.model.recorded_names import ACTION_ID, DISPATCH, JOB_ID, job_name
from viewer.model.times import counted, format_time
from viewer.model.trace import KeyKind, Unit

if TYPE_CHECKING:
    from viewer.analysis.torq.estimates import ActionRow


# Work outside delegates below 10% makes no noticeable difference.
OUTSIDE_SHARE = Fraction(1, 10)
_OUTSIDE_RULE = (
    f"Reported when a delegate ran, and at least {percent(OUTSIDE_SHARE)} of the time ran outside "
    "delegates; or when none ran. The bound is never reached, because a delegate takes time too."
)

_KERNEL_OF_CPU = "native_call_"
_TRY = (
    "Try a partitioner when you export: XNNPACK for CPUs, or that of the device's accelerator. "
    "Else link the optimized kernels instead of the portable ones."
)


def outside(context: FindingContext) -> FamilyAnswer:
    """Report what ran outside delegates."""
    groups, ticks, whole = context.work.groups, context.ticks, context.whole_ticks
    timed = np.flatnonzero(ticks).tolist()
    is_outside = np.array([group.part is WorkPart.OUTSIDE for group in groups], np.bool_)
    outside_ticks = np.where(is_outside, ticks, 0)
    total = int(outside_ticks.sum())
    is_delegated = any(groups[n].part is WorkPart.DELEGATED for n in timed)
    if not total and not is_delegated:
        why = f"neither a delegate nor a kernel ran in {context.scope}"
        return NotReported(Family.OUTSIDE, why, _OUTSIDE_RULE, False)
    if not whole or total < OUTSIDE_SHARE * whole:
        why = f"{share_text(total, whole)} of {context.whole} ran outside delegates"
        return NotReported(Family.OUTSIDE, why, _OUTSIDE_RULE, True)
    keys = tuple(key for i in np.flatnonzero(outside_ticks).tolist() for key in groups[i].keys)
    if is_delegated:
        action = f"Delegate {_outside_text(context, keys)} that ran outside"
        detail = f"{context.listed(context.work.by_thing(outside_ticks))}."
        advice = _why(context, keys) or NOT_KNOWN
    else:
        action = "Delegate the model: nothing runs in a delegate"
        detail = _nothing_delegated(context, keys, outside_ticks)
        advice = " ".join(filter(None, (_TRY, _why(context, keys))))
    return [
        Finding(
            Family.OUTSIDE,
            action,
            context.gain(total),
            detail,
            _OUTSIDE_RULE,
            SliceKeys(keys),
            advice=advice,
        )
    ]


def _outside_text(context: FindingContext, keys: Sequence[int]) -> str:
    """Return "3 operators", or "the work" if not all of it is linked to operators."""
    operators = [context.links.links[key].operators for key in keys]
    if not all(operators):
        return "the work"
    return counted(len({i for operator in operators for i in operator}), "operator")


def _nothing_delegated(context: FindingContext, keys: Sequence[int], ticks: Ints) -> str:
    """Return where everything ran instead, which types take most of it, and what to try."""
    trace = context.trace
    kernels = [key for key in keys if trace.keys.kind[key] == KeyKind.KERNEL]
    names = [trace.strings[int(trace.keys.name[key])] for key in kernels]
    is_cpu = bool(names) and all(name.startswith(_KERNEL_OF_CPU) for name in names)
    where = f"{_KERNEL_OF_CPU} kernels of the CPU library" if is_cpu else "kernels"
    types = Counter[str]()
    for group in np.flatnonzero(ticks).tolist():
        types[_type(context, group)] += int(ticks[group])
    shares = [f"{name} {share_text(own, context.whole_ticks)}" for name, own in types.most_common()]
    by_kernel = f" By kernel: {joined(_kernels(context, kernels))}." if kernels else ""
    return (
        f"0 of {context.time_per(context.whole_ticks)} runs in a delegate; all operators run as "
        f"{where}: {joined(shares)}.{by_kernel}"
    )


def _kernels(context: FindingContext, keys: Sequence[int]) -> list[str]:
    """Return the kernels with their shares of the time, the largest first."""
    trace = context.trace
    inside = starts_within(trace, context.within)
    long = (trace.slices.end - trace.slices.start)[inside]
    total = np.zeros(len(trace.keys), np.int64)
    np.add.at(total, trace.slices.key[inside], long)
    named = Counter[str]()
    for key in keys:
        named[trace.strings[int(trace.keys.name[key])]] += int(total[key])
    return [f"{name} {share_text(own, context.whole_ticks)}" for name, own in named.most_common()]


def _type(context: FindingContext, group: int) -> str:
    """Return the type of the operators of a group, else what it is called."""
    work_group, program = context.work.groups[group], context.links.program
    operators = context.links.links[work_group.keys[0]].operators
    types = {program.operators[i].op for i in operators} if program is not None else set()
    return types.pop() if len(types) == 1 else context.work.things[work_group.thing]


def _why(context: FindingContext, keys: Sequence[int]) -> str:
    """Return why the most expensive operators were not delegated, as far as the files show it."""
    program, ticks = context.links.program, Counter[int]()
    group_of_key, of_group = context.work.group_of_key, context.ticks
    for key in keys:
        operators = context.links.links[key].operators
        if len(operators) == 1:
            ticks[operators[0]] += int(of_group[group_of_key[key]])
    if program is None or program.is_mlir or not ticks:
        return ""
    why = Delegation(context.links).why_outside
    texts = [text for i, _ in ticks.most_common(NAMED) if why and (text := why.named(i))]
    return " ".join(f"{text}." for text in texts)


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
