"""Findings about inferences: slow warm-up, slow ones, changes over time, and what is between.

Inferences after the warm-up are steady. One is slow if it takes more than 1.3 times their median
and exceeds it by more than 5 median absolute deviations. Its events are compared with those of the
typical inference, so that the differences add up. Inferences that did not finish have no length to
compare. Changes, and what the host does between inferences, are looked for in each phase.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from fractions import Fraction

import numpy as np

from viewer.analysis.findings.finding import (
    NAMED,
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
    times_text,
)
from viewer.analysis.links.labels import series_names
from viewer.analysis.links.link_table import LinkTable
from viewer.analysis.sequence.changes import LEAST_CHANGE, LEAST_ON_A_SIDE, Change, change_of
from viewer.analysis.sequence.wall_time import Rate, rate_of, rate_text, sequences
from viewer.arrays import Ints, lists_by_key
from viewer.dataclasses import dataclass
from viewer.model.figures import TimeScope
from viewer.model.inference_views import series_of
from viewer.model.quantiles import exact_median
from viewer.model.queries import execute_keys
from viewer.model.text import listed
from viewer.model.times import NARROW_SPACE, counted, group_digits
from viewer.model.trace import Run, RunKind
from viewer.model.trace_attributes import INFERENCE, WorkUnit
from viewer.model.warm_up import MOST, typical_inference

# With fewer inferences, a typical spread cannot be estimated.
LEAST_STEADY = 3
LEAST_COMPARED = 5
# Undisturbed inferences of small models stayed within 1.1 times their median.
TIMES = Fraction(13, 10)
# In a normal distribution 1 inference in 2,600 exceeds the median by this much: 3.4 σ.
DEVIATIONS = 5
# If slow inferences take this part of the time beyond their median, sums say little about the rest.
OUTLIERS = Fraction(1, 10)
# For this many scopes, the events that took longer are listed: two passes over all each.
_EXPLAINED = 12

# From this factor on, a larger input is as likely as caches that are cold.
MORE_WORK = 3
_MORE_WORK = (
    "If it had a larger input, such as a prompt, it did more work and does not warm up: --phases "
    "keeps its figures apart."
)

_SLOW = (
    f"more than {float(TIMES):g} times the median of the inferences after warm-up, and "
    f"more than {DEVIATIONS} median absolute deviations above it"
)
_WARM_UP_RULE = (
    f"Reported when an inference that warms up takes {_SLOW}. The first quarter of the inferences "
    f"after a load warms up, at most {MOST}; there must be at least {LEAST_STEADY} others."
)
_SLOW_RULE = (
    f"Reported when an inference after warm-up takes {_SLOW}. There must be at least "
    f"{LEAST_COMPARED} of them."
)


@dataclass(frozen=True, slots=True)
class _Scope:
    """The finished inferences of one method, by their number.

    name: " of Execute 2", " of Execute from load 2" or "". warm: those of `runs` that warm up;
    steady: the others.
    """

    name: str
    runs: tuple[Run, ...]
    warm: tuple[Run, ...]
    steady: tuple[Run, ...]
    numbers: Mapping[tuple[int, int], int]  # track and start -> position in `Trace.runs`
    unit: WorkUnit = INFERENCE

    def place(self, run: Run) -> RunRef:
        return RunRef(self.numbers[run.track, run.start])

    def gain(self, context: FindingContext, ticks: int) -> Gain:
        """Return the gain of some ticks of all inferences.

        Per inference if these are the only ones, as other gains then are.
        """
        count = len(self.runs)
        whole = sum(map(_length, self.runs))
        every = f"all {self.unit.counted(count)}{self.name}"
        if context.is_timed:
            return context.gain_per(ticks, whole, count, f"over {every}")
        return context.gain_of(ticks, whole, every)


def warm_up(context: FindingContext) -> FamilyAnswer:
    """Report the inferences of each scope that warm up, if any took unusually long."""
    slow: list[tuple[int, _Scope, list[Run], _Usual]] = []
    why: list[str] = []
    applies = False
    for scope in _scopes(context.links):
        if not scope.warm:
            why.append(f"too few {scope.unit.plural}{scope.name} after a load for any to warm up")
            continue
        if len(scope.steady) < LEAST_STEADY:
            why.append(_too_few(scope, LEAST_STEADY))
            continue
        applies = True
        usual = _usual(scope.steady)
        long = _slow_ones(scope.warm, usual)
        if long:
            slow.append((_beyond(long, usual), scope, long, usual))
        else:
            ratio = times_text(max(map(_length, scope.warm)), usual.ticks)
            slowest = f"the slowest {scope.unit.noun}{scope.name}"
            why.append(f"{slowest} that warms up took {ratio} the median")
    findings: list[Finding] = []
    for more, scope, long, usual in sorted(slow, key=lambda row: -row[0]):
        detail = f"{_against_median(context, scope, long, usual)}."
        if len(findings) < _EXPLAINED:
            detail += _difference(context, long[0], usual.run)
        action = f"Warm up before the first {scope.unit.noun}{scope.name}"
        gain = scope.gain(context, more)
        place = scope.place(long[0])
        findings.append(
            Finding(
                Family.WARM_UP,
                action,
                gain,
                detail,
                _WARM_UP_RULE,
                place,
                across=True,
                advice=_MORE_WORK if _length(long[0]) >= MORE_WORK * usual.ticks else "",
            )
        )
    return findings or _none_found(context, Family.WARM_UP, why, _WARM_UP_RULE, applies)


def slow_runs(context: FindingContext) -> FamilyAnswer:
    """Report steady inferences that took unusually long; one finding per scope."""
    findings: list[Finding] = []
    why: list[str] = []
    applies = False
    for scope in _scopes(context.links):
        if len(scope.steady) < LEAST_COMPARED:
            why.append(_too_few(scope, LEAST_COMPARED))
            continue
        applies = True
        usual = _usual(scope.steady)
        slow = _slow_ones(scope.steady, usual)
        if slow:
            findings.append(_slow(context, scope, slow, usual))
        else:
            ratio = times_text(max(map(_length, scope.steady)), usual.ticks)
            slowest = f"the slowest {scope.unit.noun}{scope.name}"
            why.append(f"{slowest} after warm-up took {ratio} the median")
    return findings or _none_found(context, Family.SLOW_RUNS, why, _SLOW_RULE, applies)


@dataclass(frozen=True, slots=True)
class SlowestInference:
    """The inference that takes longest.

    run: its position in `Trace.runs`. of: " of Execute 2" or "". median: of `steady` inferences of
    its method, those after warm-up, in ticks; its own if there are no others. why: which events
    took longer, if it is slow by the rule of the findings; "" otherwise.
    """

    run: int
    number: int
    of: str
    ticks: int
    median: Fraction
    steady: int
    why: str
    unit: WorkUnit = INFERENCE

    @property
    def text(self) -> str:
        """How slow it is: "Inference 1 took 2.2 times the median"."""
        which = f"{self.unit.title} {group_digits(self.number)}{self.of}"
        if self.steady < 2 and self.ticks == self.median:
            return f"{which} was the slowest"
        if 20 * self.ticks < 21 * self.median:  # it would be "1.0 times"
            return f"{which} was the slowest, within 5{NARROW_SPACE}% of the median"
        return f"{which} took {times_text(self.ticks, self.median)} the median"


def slowest_inference(context: FindingContext) -> SlowestInference | None:
    """Return the slowest inference of all, whichever the context covers; of equal ones the first.

    None with fewer than two, if all are equally long, or if some may be of several methods.
    """
    scopes = _scopes(context.links)
    runs = [(run, scope) for scope in scopes for run in scope.runs]
    is_open = any(run.part < 0 for run in context.trace.inferences())
    if is_open or len({_length(run) for run, _ in runs}) < 2:
        return None
    run, scope = max(runs, key=lambda pair: _length(pair[0]))
    usual = _usual(scope.steady or scope.runs)
    is_slow = bool(scope.steady and _slow_ones([run], usual))
    return SlowestInference(
        scope.place(run).run,
        run.number,
        scope.name,
        _length(run),
        usual.ticks,
        len(scope.steady),
        _difference(context, run, usual.run).strip() if is_slow else "",
        run.unit,
    )


@dataclass(frozen=True, slots=True)
class Outliers:
    """Slow inferences after the warm-up that distort sums over all inferences.

    slow, of: how many of how many of one scope. name: " of Execute 2" if there are several scopes,
    else "". times: how many times the median the slowest took, "52.5 times". typical: the
    position of the typical inference in `Trace.runs`.
    """

    slow: int
    of: int
    name: str
    times: str
    typical: int
    unit: WorkUnit = INFERENCE

    @property
    def text(self) -> str:
        """Them in words: "5 of 22 inferences after warm-up took up to 52.5 times the median"."""
        of = f"{self.unit.counted(self.of)} after warm-up{self.name}"
        return f"{group_digits(self.slow)} of {of} took up to {self.times} the median"


def outliers(table: LinkTable) -> Outliers | None:
    """Return the slow inferences that take much more than the median; None if there are none.

    Of several scopes, those of the one where they take most.
    """
    worst: tuple[int, Outliers] | None = None
    for scope in _scopes(table):
        if len(scope.steady) < LEAST_COMPARED:
            continue
        usual = _usual(scope.steady)
        slow = _slow_ones(scope.steady, usual)
        more = _beyond(slow, usual)
        is_much = slow and more >= OUTLIERS * sum(map(_length, scope.steady))
        if is_much and (worst is None or more > worst[0]):
            count, times = len(scope.steady), _times(slow[0], usual)
            place = scope.place(usual.run).run
            worst = more, Outliers(len(slow), count, scope.name, times, place, scope.unit)
    return worst[1] if worst else None


def _slow(context: FindingContext, scope: _Scope, slow: Sequence[Run], usual: _Usual) -> Finding:
    worst = _times(slow[0], usual)
    action = (
        f"Look into the {group_digits(len(slow))} slowest of "
        f"{scope.unit.counted(len(scope.steady))} after warm-up{scope.name}, which took up to "
        f"{worst} the median"
    )
    if len(slow) == 1:
        number = group_digits(slow[0].number)
        action = f"Look into {scope.unit.noun} {number}{scope.name}, which took {worst} the median"
    return Finding(
        Family.SLOW_RUNS,
        action,
        scope.gain(context, _beyond(slow, usual)),
        f"{_against_median(context, scope, slow, usual)}.",
        _SLOW_RULE,
        scope.place(slow[0]),
        across=True,
    )


def _against_median(
    context: FindingContext, scope: _Scope, slow: Sequence[Run], usual: _Usual
) -> str:
    """Return the longest of some inferences and what they are compared with, in words."""
    steady = scope.unit.counted(len(scope.steady))
    median = f"the median of the {steady} after warm-up ({context.time(usual.ticks)})"
    first = slow[0]
    if len(slow) == 1:
        number, time = group_digits(first.number), context.time(_length(first))
        return f"{scope.unit.title} {number} took {time}, {_times(first, usual)} {median}"
    named = [
        f"{run.unit.noun} {group_digits(run.number)} {context.time(_length(run))} "
        f"({_times(run, usual)})"
        for run in slow
    ]
    return f"Compared with {median}: {joined(named)}"


def _none_found(
    context: FindingContext, family: Family, why: list[str], rule: str, applies: bool
) -> NotReported:
    unit = context.trace.unit
    reason = joined(why) or f"there are no {unit.plural}"
    return NotReported(family, reason, rule, applies)


def _scopes(table: LinkTable) -> list[_Scope]:
    """Return the finished inferences of every method, in the order of `Run.number`.

    Those that may be of several methods are left out. If the file has `Method::execute` slices,
    only runs that are one of them count.
    """
    trace = table.trace
    numbered = [
        (number, run)
        for number, run in enumerate(trace.runs)
        if run.kind is RunKind.INFERENCE and run.count == 1 and run.end > run.start
    ]
    executes = execute_keys(trace)
    if executes.any():
        slices = trace.slices
        index = np.flatnonzero(executes[slices.key])
        track = slices.tracks_of(index).tolist()
        whole = set(zip(track, slices.start[index].tolist(), strict=True))
        numbered = [(i, run) for i, run in numbered if (run.track, run.start) in whole]
    runs_of_series = lists_by_key(
        (series_of(trace, run), (number, run))
        for number, run in sorted(numbered, key=lambda pair: pair[1].number)
        if run.part >= 0
    )
    several = [*runs_of_series, *(series_of(trace, run) for _, run in numbered if run.part < 0)]
    names = series_names(table, several)
    return [
        _Scope(
            f" of {names[series]}" if names[series] else "",
            tuple(run for _, run in series_runs),
            tuple(run for _, run in series_runs if run.warms_up),
            tuple(run for _, run in series_runs if not run.warms_up),
            {(run.track, run.start): number for number, run in series_runs},
            trace.unit,
        )
        for series, series_runs in runs_of_series.items()
    ]


def _length(run: Run) -> int:
    return run.end - run.start


@dataclass(frozen=True, slots=True)
class _Usual:
    """What inferences are compared with.

    ticks: the median of the steady ones; deviation: the median absolute deviation from it. run: the
    typical one.
    """

    ticks: Fraction
    deviation: Fraction
    run: Run


def _usual(runs: Sequence[Run]) -> _Usual:
    middle = exact_median([_length(run) for run in runs])
    # The median is a whole number of ticks, or half of one.
    twice = exact_median([int(abs(2 * (_length(run) - middle))) for run in runs])
    return _Usual(middle, twice / 2, typical_inference(runs))


def _slow_ones(runs: Sequence[Run], usual: _Usual) -> list[Run]:
    """Return the runs that are slow by the rule, the longest first."""
    least = max(TIMES * usual.ticks, usual.ticks + DEVIATIONS * usual.deviation)
    return sorted((run for run in runs if _length(run) > least), key=lambda run: -_length(run))


def _beyond(runs: Sequence[Run], usual: _Usual) -> int:
    """Return what some runs take beyond the median, in ticks, rounded down."""
    return int(sum((_length(run) - usual.ticks for run in runs), start=Fraction()))


def _times(run: Run, usual: _Usual) -> str:
    return times_text(_length(run), usual.ticks)


def _difference(context: FindingContext, slow: Run, usual: Run) -> str:
    """Describe which events took longer in a run than in the typical one; they add up."""
    more = context.work.ticks(TimeScope(slow)) - context.work.ticks(TimeScope(usual))
    rest = _length(slow) - _length(usual) - int(more.sum())
    named = context.work.by_thing(more)
    named += [("outside all events", rest)] if rest > 0 else []
    named.sort(key=lambda pair: -pair[1])
    if not named:
        return ""
    text = ", ".join(f"{name} +{context.time(ticks)}" for name, ticks in named[:NAMED])
    return f" Slower than {usual.unit.noun} {usual.number} mainly in: {text}."


def _too_few(scope: _Scope, least: int) -> str:
    count = len(scope.steady)
    are = "is" if count == 1 else "are"
    needed = f"{least} {scope.unit.plural}{scope.name}"
    return f"it needs {needed} after warm-up; there {are} {count or 'none'}"


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
    return f"{action}{which}, {', '.join(steps)}{how}", f"Median durations: {listed(parts)}."


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
