"""Findings that compare the inferences of one scope: a slow first one, and slow others.

An inference is unusual if it takes more than 1.3 times the median of the others and exceeds that
median by more than 5 median absolute deviations. The median is the length of an actual run: the
middle one by length, or the shorter of the middle two. So its events can be compared, and the
differences add up. The first inference is never one of "the others", slow or not. Inferences that
did not finish have no length to compare.
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
    NotReported,
    RunRef,
    joined,
    scope_name,
    share_text,
    times_text,
)
from viewer.analysis.links.link_table import LinkTable
from viewer.model.queries import execute_keys
from viewer.model.scope import TimeScope
from viewer.model.times import counted, group_digits
from viewer.model.trace import Run, RunKind

# With fewer inferences, a typical spread cannot be estimated.
LEAST_OTHERS = 3
LEAST_COMPARED = 5
# Undisturbed runs of small models stayed within 1.1 times their median.
TIMES = Fraction(13, 10)
# In a normal distribution 1 run in 2,600 exceeds the median by this much: 3.4 σ.
DEVIATIONS = 5
# For this many first inferences, the events that took longer are listed: two passes over all each.
_EXPLAINED = 12

_UNUSUAL = (
    f"more than {float(TIMES):g} times the median, and lies more than {DEVIATIONS} times the "
    "median deviation above it"
)


@dataclass(frozen=True, slots=True)
class _Scope:
    """The finished inferences of one scope, by their number.

    name: " of Execute 2" or "".
    """

    name: str
    runs: tuple[Run, ...]
    numbers: Mapping[tuple[int, int], int]  # track and start -> position in `Trace.runs`

    @property
    def others(self) -> tuple[Run, ...]:
        """All inferences but the first."""
        return self.runs[1:]

    @property
    def count(self) -> str:
        return f"{counted(len(self.runs), 'inference')}{self.name}"

    def place(self, run: Run) -> RunRef:
        return RunRef(self.numbers[run.track, run.start])

    def share(self, ticks: int) -> str:
        """Format what share of the time of all inferences some ticks are."""
        part = share_text(ticks, self.whole)
        return f"{part} of the time of all {counted(len(self.runs), 'inference')}"

    @property
    def whole(self) -> int:
        return sum(map(_length, self.runs))


def warm_up(context: FindingContext) -> FamilyAnswer:
    """Report the first inference of each scope, if it took unusually long."""
    rule = f"Told when the first takes {_UNUSUAL}; both are of the others, at least {LEAST_OTHERS}."
    unusual: list[tuple[int, _Scope, Run]] = []
    why: list[str] = []
    scopes = _scopes(context.links)
    for scope in scopes:
        if len(scope.others) < LEAST_OTHERS:
            why.append(_too_few(scope, LEAST_OTHERS))
            continue
        middle, deviation = _middle(scope.others)
        long, usual = _length(scope.runs[0]), _length(middle)
        if _is_unusual(long, usual, deviation):
            unusual.append((long - usual, scope, middle))
        else:
            ratio = times_text(long, usual)
            why.append(f"the first inference{scope.name} took {ratio} the median of the others")
    found: list[Finding] = []
    for more, scope, middle in sorted(unusual, key=lambda one: -one[0]):
        first = scope.runs[0]
        detail = (
            f"{context.time(_length(first))}, the median is {context.time(_length(middle))}: "
            f"{context.time(more)} more, {scope.share(more)}."
        )
        if len(found) < _EXPLAINED:
            detail += _difference(context, first, middle)
        ratio = times_text(_length(first), _length(middle))
        title = f"The first of {scope.count} took {ratio} the median of the others"
        found.append(
            Finding(
                Family.WARM_UP,
                title,
                detail,
                rule,
                more,
                scope.whole,
                scope.place(first),
                across=True,
            )
        )
    return found or _silent(Family.WARM_UP, why, rule, LEAST_OTHERS, scopes)


def slow_runs(context: FindingContext) -> FamilyAnswer:
    """Report inferences after the first that took unusually long; one finding per scope."""
    rule = (
        f"Told when one takes {_UNUSUAL}; the first is left out, and there are at least "
        f"{LEAST_COMPARED} others."
    )
    found: list[Finding] = []
    why: list[str] = []
    scopes = _scopes(context.links)
    for scope in scopes:
        if len(scope.others) < LEAST_COMPARED:
            why.append(_too_few(scope, LEAST_COMPARED))
            continue
        middle, deviation = _middle(scope.others)
        usual = _length(middle)
        slow = [run for run in scope.others if _is_unusual(_length(run), usual, deviation)]
        slow.sort(key=lambda run: -_length(run))
        if slow:
            found.append(_slow(context, scope, slow, usual, rule))
        else:
            ratio = times_text(max(map(_length, scope.others)), usual)
            why.append(f"the slowest inference{scope.name} took {ratio} the median")
    return found or _silent(Family.SLOW_RUNS, why, rule, LEAST_COMPARED, scopes)


def _slow(
    context: FindingContext, scope: _Scope, slow: Sequence[Run], usual: int, rule: str
) -> Finding:
    runs = [
        f"{'run' if at else 'Run'} {group_digits(run.number)} {context.time(_length(run))} "
        f"({times_text(_length(run), usual)})"
        for at, run in enumerate(slow)
    ]
    more = sum(_length(run) - usual for run in slow)
    others = f"{counted(len(scope.others), 'inference')}{scope.name} after the first"
    worst = times_text(_length(slow[0]), usual)
    title = f"{group_digits(len(slow))} of {others} took up to {worst} their median"
    if len(slow) == 1:
        title = f"Run {group_digits(slow[0].number)} took {worst} the median of the {others}"
    return Finding(
        Family.SLOW_RUNS,
        title,
        f"{joined(runs)}; the median is {context.time(usual)}. {context.time(more)} more together, "
        f"{scope.share(more)}.",
        rule,
        more,
        scope.whole,
        scope.place(slow[0]),
        across=True,
    )


def _silent(
    family: Family, why: list[str], rule: str, least: int, scopes: Sequence[_Scope]
) -> NotReported:
    applies = any(len(scope.others) >= least for scope in scopes)
    return NotReported(family, f"{joined(why) or 'there are no inferences'}. {rule}", applies)


def _scopes(table: LinkTable) -> list[_Scope]:
    """Return the finished inferences of every scope, in the order of `Run.number`.

    If the file has `Method::execute` slices, only runs that are one of them count.
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
    found: dict[tuple[str, int], list[tuple[int, Run]]] = {}
    for number, run in sorted(numbered, key=lambda one: one[1].number):
        place = trace.tracks[run.track].process, run.scope
        found.setdefault(place, []).append((number, run))
    several = len(found) > 1
    return [
        _Scope(
            f" of {scope_name(table, scope)}" if several else "",
            tuple(run for _, run in own),
            {(run.track, run.start): number for number, run in own},
        )
        for (_, scope), own in found.items()
    ]


def _length(run: Run) -> int:
    return run.end - run.start


def _middle(runs: Sequence[Run]) -> tuple[Run, int]:
    """Return the run of median length, and the median absolute deviation from that length."""
    middle = sorted(runs, key=_length)[(len(runs) - 1) // 2]
    deviations = sorted(abs(_length(run) - _length(middle)) for run in runs)
    return middle, deviations[(len(deviations) - 1) // 2]


def _is_unusual(long: int, usual: int, deviation: int) -> bool:
    return long > TIMES * usual and long > usual + DEVIATIONS * deviation


def _difference(context: FindingContext, first: Run, middle: Run) -> str:
    """Describe which events took longer in the first run than in the median one; they add up."""
    more = context.work.ticks(TimeScope(first)) - context.work.ticks(TimeScope(middle))
    rest = _length(first) - _length(middle) - int(more.sum())
    named = context.work.by_thing(more)
    named += [("outside of all events", rest)] if rest > 0 else []
    named.sort(key=lambda one: -one[1])
    if not named:
        return ""
    text = ", ".join(f"{name} {context.time(ticks)}" for name, ticks in named[:NAMED])
    return f" The largest parts of that, beside run {middle.number} (the median): {text}."


def _too_few(scope: _Scope, least: int) -> str:
    count = len(scope.others)
    return (
        f"it needs {least} inferences{scope.name} after the first, there "
        f"{'is' if count == 1 else 'are'} {count or 'none'}"
    )
