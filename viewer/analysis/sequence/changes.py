"""How the inferences of a phase change over time, and which operators change.

Inferences that warm up are left out if they are slower: they are a change of their own. Two causes
are kept apart: all operators change by one factor, as with another clock frequency, or some
operators do, such as attention, which grows with the position. A position is the place in a block
of inferences of the phase that nothing else interrupts: after each prompt, it starts again.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from itertools import pairwise

import numpy as np

from viewer.analysis.sequence.levels import LEAST_CHANGE, Course, Trend, course_of, theil_sen
from viewer.analysis.sequence.part_times import part_times
from viewer.analysis.sequence.scales import positions
from viewer.analysis.sequence.stretches import LEAST_ON_A_SIDE
from viewer.arrays import Floats, Ints
from viewer.model.quantiles import exact_median
from viewer.model.trace import RunKind, Trace

# Operators with less of the time are noise.
_LEAST_PART = 0.01
# All operators change by one factor if those with so much of the time are within a part of it.
_NEARLY_ALL, _MOST_GROUPS, _NEAR = 0.9, 0.75, 0.25
_LEAST_NEAR = 0.05
# Inferences after the warm-up that it is compared with.
_COMPARED = 5
# Operators that change less than this part of the whole change are not named.
_NAMED_PART = 0.1


@dataclass(frozen=True, slots=True)
class Level:
    """Inferences between two level shifts.

    run: the first one, a position in `Trace.runs`; number: its number, from 1. count: how many.
    median: of their durations, in ticks. factor: to the first level.
    """

    run: int
    number: int
    count: int
    median: Fraction
    factor: float


@dataclass(frozen=True, slots=True)
class PartChange:
    """What a group of events does: its time at first and at last, and its slope per position."""

    group: int
    before: float
    after: float
    slope: float


@dataclass(frozen=True, slots=True)
class Change:
    """How the inferences of a phase change.

    runs: their positions in `Trace.runs`, in order of time, without warm-up. levels: at least one.
    trend: None without one; positions: how many it goes over. is_uniform: whether all groups change
    by one factor. parts: those that change, the largest change first. outside: the part of the
    change that is in no group, 0 if it is small. beyond: the ticks that all inferences take beyond
    the first level, or the start of the trend.
    """

    runs: tuple[int, ...]
    levels: tuple[Level, ...]
    trend: Trend | None
    positions: int
    is_uniform: bool
    parts: tuple[PartChange, ...]
    outside: float
    beyond: int

    @property
    def is_slower(self) -> bool:
        """Whether inferences become longer."""
        if self.trend is not None:
            return self.trend.slope > 0
        return self.levels[-1].factor > 1


def change_of(trace: Trace, group_of_key: Ints, runs: Sequence[int]) -> Change | None:
    """Return how some inferences of one phase change, None if they do not.

    runs: positions in `Trace.runs`, in order of time. group_of_key: the groups of events that are
    compared, -1 for others.
    """
    steady = _settled(trace, runs)
    lengths = np.array([trace.runs[at].end - trace.runs[at].start for at in steady], np.int64)
    place = _positions(trace, steady)
    course = course_of(lengths, place)
    if not course.changes:
        return None
    levels = _levels(trace, course, steady, lengths)
    levels = (replace(levels[0], run=runs[0], number=trace.runs[runs[0]].number), *levels[1:])
    counts = np.array([not trace.runs[at].warms_up for at in steady])
    parts, groups = part_times(trace, group_of_key, np.array(steady))
    if course.trend is not None:
        span = int(place.max())
        base = np.minimum(lengths, course.trend.start)
        beyond = int((lengths - base)[counts].sum())
        changed = [
            PartChange(int(group), 0.0, slope * span, slope)
            for group, column in zip(groups.tolist(), parts.T, strict=True)
            for slope in (theil_sen(place, column.astype(np.float64)),)
        ]
        whole = course.trend.slope * span
        usual = np.median(parts, axis=0).astype(np.float64)
        last = usual + np.array([part_change.after for part_change in changed])
    else:
        span = 0
        # By medians: single slow inferences are no part of it.
        first = levels[0].median
        beyond = int(
            sum((level.count * (level.median - first) for level in levels), start=Fraction())
        )
        usual, last = (
            np.median(parts[some], axis=0).astype(np.float64)
            for some in (slice(levels[0].count), slice(-levels[-1].count, None))
        )
        changed = [
            PartChange(int(group), before, after, 0.0)
            for group, before, after in zip(
                groups.tolist(), usual.tolist(), last.tolist(), strict=True
            )
        ]
        whole = float(levels[-1].median - levels[0].median)
    outside = whole - sum(part_change.after - part_change.before for part_change in changed)
    part_changes = [
        part_change
        for part_change in changed
        if (part_change.after - part_change.before) * np.sign(whole) > 0
    ]
    part_changes = [
        part_change
        for part_change in part_changes
        if abs(part_change.after - part_change.before) >= _NAMED_PART * abs(whole)
    ]
    part_changes.sort(key=lambda one: -abs(one.after - one.before))
    return Change(
        tuple(at for at in steady if not trace.runs[at].warms_up),
        levels,
        course.trend,
        span + 1,
        _is_uniform(usual, last),
        tuple(part_changes),
        outside if abs(outside) >= _NAMED_PART * abs(whole) else 0.0,
        max(beyond, 0),
    )


def _settled(trace: Trace, runs: Sequence[int]) -> list[int]:
    """Return the inferences after those that warm up and are slower than what follows.

    Which ones warm up is decided by their number alone; a level may be as short as what follows.
    """
    lengths = [trace.runs[run].end - trace.runs[run].start for run in runs]
    warm = next((i for i, at in enumerate(runs) if not trace.runs[at].warms_up), len(runs))
    following = lengths[warm : warm + _COMPARED] or [0]
    most = max(LEAST_CHANGE * float(exact_median(following)), max(following))
    first = warm
    while first and lengths[first - 1] <= most:
        first -= 1
    rest = (at for at in runs[warm:] if not trace.runs[at].warms_up)  # after later loads
    return [*runs[first:warm], *rest]


def _positions(trace: Trace, runs: Sequence[int]) -> Ints:
    """Return the place of each inference in its block; in the whole sequence if blocks are short.

    Blocks are those between inferences of other phases and methods of the process.
    """
    if not runs:
        return np.arange(0)
    process = trace.tracks[trace.runs[runs[0]].track].process
    every = [
        at
        for at, run in enumerate(trace.runs)
        if run.kind is RunKind.INFERENCE and trace.tracks[run.track].process == process
    ]
    every.sort(key=lambda at: trace.runs[at].start)
    found = positions(np.isin(every, runs))
    return found if found.max() + 1 >= 2 * LEAST_ON_A_SIDE else np.arange(len(runs))


def _levels(trace: Trace, course: Course, runs: Sequence[int], lengths: Ints) -> tuple[Level, ...]:
    edges = [*course.first, len(runs)]
    counts = np.array([not trace.runs[run].warms_up for run in runs])
    own = [lengths[a:b][counts[a:b]] for a, b in pairwise(edges)]  # as other figures
    medians = [exact_median(values.tolist()) for values in own]
    return tuple(
        Level(
            runs[at],
            trace.runs[runs[at]].number,
            edges[i + 1] - at,
            median,
            float(median / medians[0]),
        )
        for i, (at, median) in enumerate(zip(course.first, medians, strict=True))
    )


def _is_uniform(before: Floats, after: Floats) -> bool:
    """Whether groups with nearly all of the time change by one factor."""
    counts = before >= max(_LEAST_PART * before.sum(), 1)
    if counts.sum() < 2:
        return False
    factor = np.log(after[counts].sum() / before[counts].sum())
    own = np.log(np.maximum(after[counts], 1) / before[counts])
    near = np.abs(own - factor) <= max(_NEAR * abs(factor), _LEAST_NEAR)
    is_most = bool((before[counts] * near).sum() >= _NEARLY_ALL * before[counts].sum())
    return is_most and bool(near.mean() >= _MOST_GROUPS)
