"""Findings from the order of inferences: changes over time, and the time between inferences.

Every phase is looked at by itself (`viewer.analysis.sequence`): a level shift or a trend with the
operators that change, and what the host does between inferences, which no slice shows.
"""

from __future__ import annotations

from fractions import Fraction

import numpy as np

from viewer.analysis.findings.finding import (
    NO_GAIN,
    Family,
    FamilyAnswer,
    Finding,
    FindingContext,
    FindingLevel,
    Gain,
    NotReported,
    RunRef,
    joined,
    percent,
    share_text,
)
from viewer.analysis.links.labels import series_names
from viewer.analysis.sequence.changes import Change, change_of
from viewer.analysis.sequence.levels import LEAST_CHANGE
from viewer.analysis.sequence.rates import Rate, rate_of, rate_text, sequences
from viewer.analysis.sequence.stretches import LEAST_ON_A_SIDE
from viewer.arrays import Ints
from viewer.model.inferences.logged_methods import series_of
from viewer.model.times import counted, group_digits

# Less of the wall time makes no noticeable difference.
BETWEEN_SHARE = Fraction(1, 10)

_CHANGES_RULE = (
    f"Reported when the inferences of a phase have levels that differ by at least "
    f"{percent(Fraction(str(LEAST_CHANGE)) - 1)}, with at least {LEAST_ON_A_SIDE} inferences on "
    "both sides, and random orders of the same times do not (1 in 1,000); or a trend of that size."
)
_BETWEEN_RULE = (
    f"Reported when the time between the inferences of a phase is at least "
    f"{percent(BETWEEN_SHARE)} of their wall time."
)


def changes(context: FindingContext) -> FamilyAnswer:
    """Report how the inferences of each phase change over time."""
    trace, of_key = context.trace, _things(context)
    findings: list[Finding] = []
    count = 0
    for name, own in _named(context):
        if len(own) < 2 * LEAST_ON_A_SIDE:
            continue
        count += 1
        change = change_of(trace, of_key, own)
        if change is not None:
            findings.append(_change(context, name, change))
    if findings:
        return findings
    few = f"there are too few {trace.unit.plural}"
    why = "no level shift and no trend" if count else few
    return NotReported(Family.CHANGES, why, _CHANGES_RULE, bool(count))


def between(context: FindingContext) -> FamilyAnswer:
    """Report the time between the inferences of each phase."""
    findings: list[Finding] = []
    most = -1.0
    for name, own in _named(context):
        rate = rate_of(context.trace, own)
        if rate is None:
            continue
        most = max(most, rate.share)
        if rate.share >= BETWEEN_SHARE:
            findings.append(_between(context, name, rate))
    if findings:
        return findings
    why = f"at most {share_text(most, 1)} of the wall time is between inferences"
    if most < 0:
        why = "the file does not show when several inferences started"
    unit = context.trace.unit
    return NotReported(Family.BETWEEN, unit.worded(why), _BETWEEN_RULE, most >= 0)


def _named(context: FindingContext) -> list[tuple[str, tuple[int, ...]]]:
    """Return the inferences of each phase, with its name; "" if there is only one."""
    trace = context.trace
    every = [sequence for sequence in sequences(trace) if trace.runs[sequence[0]].counts]
    of = {series_of(trace, trace.runs[own[0]]): own for own in every}
    several = {series_of(trace, run): None for run in trace.inferences() if run.finished}
    names = series_names(context.links, list(several))
    return [(names[series], own) for series, own in of.items()]


def _things(context: FindingContext) -> Ints:
    """Return the thing of each key, as an index into `WorkTime.things`, -1 for none."""
    work = context.work
    groups = work.group_of_key
    if not len(work.groups):
        return groups
    return np.where(groups >= 0, work.thing_of_group[np.maximum(groups, 0)], -1)


def _change(context: FindingContext, name: str, change: Change) -> Finding:
    levels = tuple(
        FindingLevel(level.number, level.median, level.factor) for level in change.levels
    )
    levels = levels if len(levels) > 1 else ()
    which = f" of {name}" if name else ""
    if levels:
        action, detail = _steps(context, change, which)
    else:
        action, detail = _trend(context, change, name)
    place = RunRef(change.levels[-1].run if levels else change.runs[-1])
    return Finding(
        Family.CHANGES,
        action,
        _gain(context, change, name),
        detail,
        _CHANGES_RULE,
        place,
        across=True,
        phase=name,
        advice=_causes(context, change),
        levels=levels,
    )


def _gain(context: FindingContext, change: Change, name: str) -> Gain:
    """Return what inferences take beyond the first level, if they become slower."""
    if not change.is_slower:
        return NO_GAIN
    whole = sum(context.trace.runs[run].end - context.trace.runs[run].start for run in change.runs)
    count = context.trace.unit.counted(len(change.runs))
    return context.gain_per(change.beyond, whole, len(change.runs), f"over {count}{_of(name)}")


def _of(name: str) -> str:
    return f" of {name}" if name else ""


def _steps(context: FindingContext, change: Change, which: str) -> tuple[str, str]:
    first, *later = change.levels
    ways = {int(np.sign(round(one.factor, 2) - 1)) for one in later}
    action, how, each = "Look into the change", "", " as long"
    if ways == {1}:
        action, how, each = "Prevent the slowdown", " slower", ""
    elif ways == {-1}:
        action, how, each = "Look into the speedup", " as long", ""
    noun = context.trace.unit.noun
    steps = [
        f"from {noun} {group_digits(one.number)} on {_factor(one.factor, each)}" for one in later
    ]
    parts = [f"{context.time(first.median)} up to {noun} {group_digits(later[0].number - 1)}"]
    for level, after in zip(later, [*later[1:], None], strict=True):
        until = f"up to {noun} {group_digits(after.number - 1)}" if after else "after that"
        parts.append(f"{context.time(level.median)} {until}")
    texts = f"{', '.join(parts[:-1])} and {parts[-1]}"
    return f"{action}{which}, {', '.join(steps)}{how}", f"Median durations: {texts}."


def _trend(context: FindingContext, change: Change, name: str) -> tuple[str, str]:
    trend = change.trend
    assert trend is not None
    noun = context.trace.unit.in_phase(name).noun
    more = "more" if trend.slope > 0 else "less"
    named = [context.work.things[part_change.group] for part_change in change.parts]
    who = joined(named) if named and not change.is_uniform else "all operators"
    verb = "takes" if who in named else "take"
    slope = context.time(Fraction(abs(trend.slope)))
    end = trend.start + trend.slope * (change.positions - 1)
    action = f"Look into the trend{_of(name)}: {who} {verb} {slope} {more} per {noun}"
    detail = (
        f"From {context.time(Fraction(trend.start))} to {context.time(Fraction(end))} within "
        f"{counted(change.positions, noun)}."
    )
    return action, detail


def _causes(context: FindingContext, change: Change) -> str:
    """Say whether all operators change by one factor, or which ones do."""
    if change.is_uniform:
        return (
            "All operators change by the same factor: look at the clock frequency and the "
            "temperature of the device, not at one operator."
        )
    rest = [f"{context.time(Fraction(abs(change.outside)))} outside all events"]
    rest = rest if change.outside else []
    if not change.parts:
        where = f"It is {rest[0]}." if rest else ""
        return where or "No single operator changes with it."
    if change.trend is not None:
        slopes = (
            f"{context.work.things[part.group]} {context.time(Fraction(abs(part.slope)))} each"
            for part in change.parts
        )
        return f"It is in {joined([*slopes])}; the others stay as they are."
    named = (
        f"{context.work.things[part.group]} from {context.time(Fraction(part.before))} to "
        f"{context.time(Fraction(part.after))}"
        for part in change.parts
    )
    more = f", and {rest[0]}" if rest else ""
    return f"Not all operators change by one factor: {joined([*named])}{more}."


def _factor(factor: float, how: str) -> str:
    """Return "1.25 times", with how if it is not said of several, or "as at first"."""
    text = f"{factor:.2f}"
    return "as at first" if how and text == "1.00" else f"{text.rstrip('0').rstrip('.')} times{how}"


def _between(context: FindingContext, name: str, rate: Rate) -> Finding:
    noun = context.trace.unit.in_phase(name).noun
    text = rate_text(rate, context.rate, noun)
    return Finding(
        Family.BETWEEN,
        f"Shorten the time between {noun}s{_of(name)}, "
        f"{share_text(rate.idle, rate.wall)} of the wall time",
        NO_GAIN,  # it is no part of an inference
        f"{text[:1].upper()}{text[1:]}. No slice covers it: look at what the host does before each "
        f"{noun}; the longest is {context.time(max(rate.gaps))}.",
        _BETWEEN_RULE,
        RunRef(rate.longest),
        across=True,
        phase=name,
    )
