"""Findings that compare the inferences of one scope: slow warm-up, and slow steady inferences.

`viewer.model.warm_up` decides which inferences warm up; all others are steady. An inference is slow
if it takes more than 1.3 times the median of the steady ones and exceeds that median by more than 5
median absolute deviations. The median is the length of an actual inference: the middle one by
length, or the shorter of the middle two. So its events can be compared, and the differences add up.
Inferences that did not finish have no length to compare.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from viewer.analysis.findings.finding import (
    NAMED,
    Family,
    FamilyAnswer,
    Finding,
    FindingContext,
    Gain,
    NotReported,
    RunRef,
    joined,
    scope_name,
    times_text,
)
from viewer.analysis.links.link_table import LinkTable
from viewer.model.inferences.logged_methods import Series, series_of
from viewer.model.queries import execute_keys
from viewer.model.scope import TimeScope
from viewer.model.times import NARROW_SPACE, counted, group_digits
from viewer.model.trace import Run, RunKind
from viewer.model.warm_up import MOST, median_inference

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

    def place(self, run: Run) -> RunRef:
        return RunRef(self.numbers[run.track, run.start])

    def gain(self, context: FindingContext, ticks: int) -> Gain:
        """Return the gain of some ticks of all inferences."""
        count = len(self.runs)
        whole = sum(map(_length, self.runs))
        every = f"of all {counted(count, 'inference')}{self.name}"
        return context.gain(ticks, whole, every)


def warm_up(context: FindingContext) -> FamilyAnswer:
    """Report the inferences of each scope that warm up, if any took unusually long."""
    slow: list[tuple[int, _Scope, list[Run], Run]] = []
    why: list[str] = []
    applies = False
    for scope in _scopes(context.links):
        if not scope.warm:
            why.append(f"too few inferences{scope.name} after a load for any to warm up")
            continue
        if len(scope.steady) < LEAST_STEADY:
            why.append(_too_few(scope, LEAST_STEADY))
            continue
        applies = True
        middle, deviation = _middle(scope.steady)
        usual = _length(middle)
        long = _slow_ones(scope.warm, usual, deviation)
        if long:
            slow.append((sum(_length(run) - usual for run in long), scope, long, middle))
        else:
            ratio = times_text(max(map(_length, scope.warm)), usual)
            why.append(f"the slowest inference{scope.name} that warms up took {ratio} the median")
    found: list[Finding] = []
    for more, scope, long, middle in sorted(slow, key=lambda one: -one[0]):
        detail = f"{_against_median(context, scope, long, middle)}."
        if len(found) < _EXPLAINED:
            detail += _difference(context, long[0], middle)
        action = f"Warm up before the first inference{scope.name}"
        gain = scope.gain(context, more)
        place = scope.place(long[0])
        found.append(
            Finding(Family.WARM_UP, action, gain, detail, _WARM_UP_RULE, place, across=True)
        )
    return found or _none_found(Family.WARM_UP, why, _WARM_UP_RULE, applies)


def slow_runs(context: FindingContext) -> FamilyAnswer:
    """Report steady inferences that took unusually long; one finding per scope."""
    found: list[Finding] = []
    why: list[str] = []
    applies = False
    for scope in _scopes(context.links):
        if len(scope.steady) < LEAST_COMPARED:
            why.append(_too_few(scope, LEAST_COMPARED))
            continue
        applies = True
        middle, deviation = _middle(scope.steady)
        usual = _length(middle)
        slow = _slow_ones(scope.steady, usual, deviation)
        if slow:
            found.append(_slow(context, scope, slow, middle))
        else:
            ratio = times_text(max(map(_length, scope.steady)), usual)
            why.append(f"the slowest inference{scope.name} after warm-up took {ratio} the median")
    return found or _none_found(Family.SLOW_RUNS, why, _SLOW_RULE, applies)


@dataclass(frozen=True, slots=True)
class SlowestInference:
    """The inference that exceeds the median of its scope by most.

    run: its position in `Trace.runs`. of: " of Execute 2" or "". why: which events took longer,
    if it is slow by the rule of the findings; "" otherwise.
    """

    run: int
    number: int
    of: str
    ticks: int
    median: int
    why: str

    @property
    def text(self) -> str:
        """How slow it is: "Inference 1 took 2.2 times the median"."""
        which = f"Inference {group_digits(self.number)}{self.of}"
        if 20 * self.ticks < 21 * self.median:  # it would be "1.0 times"
            return f"{which} was the slowest, within 5{NARROW_SPACE}% of the median"
        return f"{which} took {times_text(self.ticks, self.median)} the median"


def slowest_inference(context: FindingContext) -> SlowestInference | None:
    """Return the slowest inference of all; None with fewer than two, or if none exceeds its median.

    It compares all inferences of each scope, whichever the context covers.
    """
    worst: tuple[int, Run, _Scope, Run, bool] | None = None
    for scope in _scopes(context.links):
        if len(scope.runs) < 2 or not scope.steady:
            continue
        middle, deviation = _middle(scope.steady)
        longest = max(scope.runs, key=_length)
        more = _length(longest) - _length(middle)
        if more > 0 and _length(middle) > 0 and (worst is None or more > worst[0]):
            is_slow = bool(_slow_ones([longest], _length(middle), deviation))
            worst = more, longest, scope, middle, is_slow
    if worst is None:
        return None
    _, run, scope, middle, is_slow = worst
    why = _difference(context, run, middle).strip() if is_slow else ""
    place = scope.place(run).run
    return SlowestInference(place, run.number, scope.name, _length(run), _length(middle), why)


@dataclass(frozen=True, slots=True)
class Outliers:
    """Slow inferences after the warm-up that distort sums over all inferences.

    slow, of: how many of how many of one scope. name: " of Execute 2" if there are several scopes,
    else "". times: how many times the median the slowest took, "52.5 times". median: the position
    of the median inference in `Trace.runs`.
    """

    slow: int
    of: int
    name: str
    times: str
    median: int

    @property
    def text(self) -> str:
        """Them in words: "5 of 22 inferences after warm-up took up to 52.5 times the median"."""
        of = f"{counted(self.of, 'inference')} after warm-up{self.name}"
        return f"{group_digits(self.slow)} of {of} took up to {self.times} the median"


def outliers(table: LinkTable) -> Outliers | None:
    """Return the slow inferences that take much more than the median; None if there are none.

    Of several scopes, those of the one where they take most.
    """
    worst: tuple[int, Outliers] | None = None
    for scope in _scopes(table):
        if len(scope.steady) < LEAST_COMPARED:
            continue
        middle, deviation = _middle(scope.steady)
        slow = _slow_ones(scope.steady, _length(middle), deviation)
        more = sum(_length(run) - _length(middle) for run in slow)
        is_much = slow and more >= OUTLIERS * sum(map(_length, scope.steady))
        if is_much and (worst is None or more > worst[0]):
            count, times = len(scope.steady), _times(slow[0], middle)
            median = scope.place(middle).run
            worst = more, Outliers(len(slow), count, scope.name, times, median)
    return worst[1] if worst else None


def _slow(context: FindingContext, scope: _Scope, slow: Sequence[Run], middle: Run) -> Finding:
    worst = _times(slow[0], middle)
    action = (
        f"Look into the {group_digits(len(slow))} slowest of "
        f"{counted(len(scope.steady), 'inference')} after warm-up{scope.name}, which took up to "
        f"{worst} the median"
    )
    if len(slow) == 1:
        number = group_digits(slow[0].number)
        action = f"Look into inference {number}{scope.name}, which took {worst} the median"
    return Finding(
        Family.SLOW_RUNS,
        action,
        scope.gain(context, sum(_length(run) - _length(middle) for run in slow)),
        f"{_against_median(context, scope, slow, middle)}.",
        _SLOW_RULE,
        scope.place(slow[0]),
        across=True,
    )


def _against_median(
    context: FindingContext, scope: _Scope, slow: Sequence[Run], middle: Run
) -> str:
    """Return the longest of some inferences and what they are compared with, in words."""
    steady = counted(len(scope.steady), "inference")
    median = f"the median of the {steady} after warm-up ({context.time(_length(middle))})"
    first = slow[0]
    if len(slow) == 1:
        number, time = group_digits(first.number), context.time(_length(first))
        return f"Inference {number} took {time}, {_times(first, middle)} {median}"
    named = [
        f"inference {group_digits(run.number)} {context.time(_length(run))} ({_times(run, middle)})"
        for run in slow
    ]
    return f"Compared with {median}: {joined(named)}"


def _none_found(family: Family, why: list[str], rule: str, applies: bool) -> NotReported:
    return NotReported(family, joined(why) or "there are no inferences", rule, applies)


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
        at = np.flatnonzero(executes[slices.key])
        track = slices.tracks_of(at).tolist()
        whole = set(zip(track, slices.start[at].tolist(), strict=True))
        numbered = [(i, run) for i, run in numbered if (run.track, run.start) in whole]
    found: dict[Series, list[tuple[int, Run]]] = {}
    for number, run in sorted(numbered, key=lambda one: one[1].number):
        if run.part >= 0:
            found.setdefault(series_of(trace, run), []).append((number, run))
    several = len(found) > 1 or any(run.part < 0 for _, run in numbered)
    return [
        _Scope(
            f" of {scope_name(table, scope)}{f' from load {part}' if part else ''}"
            if several
            else "",
            tuple(run for _, run in own),
            tuple(run for _, run in own if run.warms_up),
            tuple(run for _, run in own if not run.warms_up),
            {(run.track, run.start): number for number, run in own},
        )
        for (_, scope, part), own in found.items()
    ]


def _length(run: Run) -> int:
    return run.end - run.start


def _middle(runs: Sequence[Run]) -> tuple[Run, int]:
    """Return the run of median length, and the median absolute deviation from that length."""
    middle = median_inference(runs)
    deviations = sorted(abs(_length(run) - _length(middle)) for run in runs)
    return middle, deviations[(len(deviations) - 1) // 2]


def _slow_ones(runs: Sequence[Run], usual: int, deviation: int) -> list[Run]:
    """Return the runs that are slow by the rule, the longest first."""
    slow = (
        run
        for run in runs
        if _length(run) > TIMES * usual and _length(run) > usual + DEVIATIONS * deviation
    )
    return sorted(slow, key=lambda run: -_length(run))


def _times(run: Run, middle: Run) -> str:
    return times_text(_length(run), _length(middle))


def _difference(context: FindingContext, slow: Run, middle: Run) -> str:
    """Describe which events took longer in a run than in the median one; they add up."""
    more = context.work.ticks(TimeScope(slow)) - context.work.ticks(TimeScope(middle))
    rest = _length(slow) - _length(middle) - int(more.sum())
    named = context.work.by_thing(more)
    named += [("outside all events", rest)] if rest > 0 else []
    named.sort(key=lambda one: -one[1])
    if not named:
        return ""
    text = ", ".join(f"{name} {context.time(ticks)}" for name, ticks in named[:NAMED])
    return f" Largest increases over the median (inference {middle.number}): {text}."


def _too_few(scope: _Scope, least: int) -> str:
    count = len(scope.steady)
    are = "is" if count == 1 else "are"
    return f"it needs {least} inferences{scope.name} after warm-up; there {are} {count or 'none'}"
