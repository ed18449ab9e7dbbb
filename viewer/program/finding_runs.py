"""Findings that compare the inferences of one scope: the first with the others, and slow ones.

An inference is unusual if it takes more than 1.3 times the median of the others and lies more than
5 times their median deviation above it. The median is that of a run that there is: the middle one
by length, of an even number the shorter of the two. So its events can be compared, and what is
told of them adds up. The first inference is one of "the others" for none, slow or not. Inferences
that did not come to their end have no length to compare.
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction

import numpy as np

from viewer.model.queries import execute_keys
from viewer.model.times import counted, group_digits
from viewer.model.trace import Run
from viewer.program.finding import (
    Answer,
    Family,
    Finding,
    OfRun,
    Question,
    Silent,
    joined,
    of_scope,
    share_text,
    times_text,
)

# Fewer have no spread that could be called usual.
LEAST_OTHERS = 3
LEAST_COMPARED = 5
# Runs of small models that nothing disturbed stayed within 1.1 times their median.
TIMES = Fraction(13, 10)
# Of normally spread runs one in 2,600 lies so far above the median: 3.4 standard deviations.
DEVIATIONS = 5

_UNUSUAL = (
    f"more than {float(TIMES):g} times the median, and lies more than {DEVIATIONS} times the "
    "median deviation above it"
)


def warm_up(asked: Question) -> Answer:
    """The first inference of each scope, if it took unusually long."""
    rule = f"Told when the first takes {_UNUSUAL}; both are of the others, at least {LEAST_OTHERS}."
    found: list[Finding] = []
    why: list[str] = []
    runs = list(_scopes(asked))
    for scoped in runs:
        first, others = scoped[0], scoped[1:]
        name = _of_scope(asked, first)
        if len(others) < LEAST_OTHERS:
            why.append(f"there are {counted(len(scoped), 'inference')}{name} to compare")
            continue
        middle, deviation = _middle(others)
        long, usual = _length(first), _length(middle)
        if not _is_unusual(long, usual, deviation):
            why.append(f"the first inference{name} took {times_text(long, usual)} the median")
            continue
        whole = sum(map(_length, scoped))
        found.append(
            Finding(
                Family.WARM_UP,
                f"The first of {counted(len(scoped), 'inference')}{name} took "
                f"{times_text(long, usual)} the median of the others",
                f"{asked.time(long)}, the median is {asked.time(usual)}: {asked.time(long - usual)}"
                f" more, {_of_all(long - usual, scoped)}. {_difference(asked, first, middle)}".rstrip(),
                rule, long - usual, whole, OfRun(asked.trace.runs.index(first)), across=True,
            )
        )  # fmt: skip
    return found or _silent(Family.WARM_UP, why, rule, LEAST_OTHERS + 1, runs)


def slow_runs(asked: Question) -> Answer:
    """Inferences but the first that took unusually long, each scope in one finding."""
    rule = (
        f"Told when one takes {_UNUSUAL}; the first is left out, and there are at least "
        f"{LEAST_COMPARED} others."
    )
    found: list[Finding] = []
    why: list[str] = []
    runs = list(_scopes(asked))
    for scoped in runs:
        others = scoped[1:]
        name = _of_scope(asked, scoped[0])
        if len(others) < LEAST_COMPARED:
            why.append(f"there are {counted(len(scoped), 'inference')}{name} to compare")
            continue
        middle, deviation = _middle(others)
        usual = _length(middle)
        slow = [run for run in others if _is_unusual(_length(run), usual, deviation)]
        slow.sort(key=lambda run: -_length(run))
        if not slow:
            most = max(map(_length, others))
            why.append(f"the slowest inference{name} took {times_text(most, usual)} the median")
            continue
        told = [
            f"run {group_digits(run.number)} {asked.time(_length(run))} "
            f"({times_text(_length(run), usual)})"
            for run in slow
        ]
        more = sum(_length(run) - usual for run in slow)
        worst = times_text(_length(slow[0]), usual)
        title = (
            f"{group_digits(len(slow))} of {counted(len(others), 'inference')}{name} after the "
            f"first took up to {worst} their median"
        )
        if len(slow) == 1:
            title = (
                f"Run {group_digits(slow[0].number)}{name} took {worst} the median of the "
                f"{counted(len(others), 'inference')} after the first"
            )
        found.append(
            Finding(
                Family.SLOW_RUNS,
                title,
                f"{joined(told)}; the median is {asked.time(usual)}. {asked.time(more)} more "
                f"together, {_of_all(more, scoped)}.",
                rule, more, sum(map(_length, scoped)),
                OfRun(asked.trace.runs.index(slow[0])), across=True,
            )
        )  # fmt: skip
    return found or _silent(Family.SLOW_RUNS, why, rule, LEAST_COMPARED + 1, runs)


def _silent(
    family: Family, why: list[str], rule: str, least: int, runs: Sequence[Sequence[Run]]
) -> Silent:
    asked = any(len(scoped) >= least for scoped in runs)
    return Silent(family, f"{joined(why) or 'there are no inferences'}. {rule}", asked)


def _scopes(asked: Question) -> list[list[Run]]:
    """The finished inferences of every scope by their number."""
    trace = asked.trace
    runs = [run for run in trace.inferences() if run.count == 1 and run.end > run.start]
    executes = execute_keys(trace)
    if executes.any():
        slices = trace.slices
        at = np.flatnonzero(executes[slices.key])
        track = slices.tracks_of(at).tolist()
        whole = set(zip(track, slices.start[at].tolist(), strict=True))
        runs = [run for run in runs if (run.track, run.start) in whole]
    found: dict[int, list[Run]] = {}
    for run in sorted(runs, key=lambda run: run.number):
        found.setdefault(run.scope, []).append(run)
    return list(found.values())


def _length(run: Run) -> int:
    return run.end - run.start


def _middle(runs: Sequence[Run]) -> tuple[Run, int]:
    """The run of median length, and the median of how far all lie from that."""
    middle = sorted(runs, key=_length)[(len(runs) - 1) // 2]
    away = sorted(abs(_length(run) - _length(middle)) for run in runs)
    return middle, away[(len(away) - 1) // 2]


def _of_all(ticks: int, runs: Sequence[Run]) -> str:
    """What share of the time of all inferences of a scope something is."""
    part = share_text(ticks, sum(map(_length, runs)))
    return f"{part} of the time of all {counted(len(runs), 'inference')}"


def _is_unusual(long: int, usual: int, deviation: int) -> bool:
    return long > TIMES * usual and long > usual + DEVIATIONS * deviation


def _of_scope(asked: Question, run: Run) -> str:
    return of_scope(asked.trace, run)


def _difference(asked: Question, first: Run, middle: Run) -> str:
    """Which events took longer in the first than in the median one; they add up."""
    more = asked.work.ticks(first) - asked.work.ticks(middle)
    rest = _length(first) - _length(middle) - int(more.sum())
    order = [i for i in np.argsort(-more, kind="stable").tolist()[:4] if more[i] > 0]
    named = [(asked.work.groups[i].label, int(more[i])) for i in order[:3]]
    if rest > 0:
        named.append(("outside of all events", rest))
    named.sort(key=lambda item: -item[1])
    if not named:
        return ""
    text = ", ".join(f"{name} {asked.time(ticks)}" for name, ticks in named[:3])
    return f"The largest parts of that, compared with run {middle.number} (the median): {text}."
