"""How the inferences of a phase change over time, and which operators change: shifts and trends.

Two causes are kept apart: all operators change by one factor, as with another clock frequency, or
some operators do, such as attention, which grows with the position in a block of inferences of the
phase: after each prompt, it starts again.

Times are compared as logarithms, so a factor counts the same at every level, and single outliers
are cut to what their neighbors allow. A *level shift* is where the means on both sides differ most,
in standard deviations. It is proven by a permutation test: in random order, such a difference is
rarer than one in a thousand. Each side is searched again. Levels that return, as after a burst of
other work, differ little at any single place: then the two places with the most different times
between them are tested. A *trend* is a rank correlation with the position that random orders do not
reach; its slope is the median slope (Theil and Sen). The Bayesian information criterion decides
which of the two a sequence has. If what is left over depends on itself, as times of a device whose
temperature varies do, both must exceed the noise by more. Random orders have a fixed seed, so equal
files have equal answers.
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from itertools import pairwise

import numpy as np

from viewer.analysis.sequence.phases import part_times, positions, rank_correlation
from viewer.arrays import Floats, Ints
from viewer.dataclasses import dataclass, replace
from viewer.model.quantiles import exact_median
from viewer.model.trace import RunKind, Trace

LEAST_ON_A_SIDE = 8
ORDERS = 999  # random orders
SEED = 61
# Standard deviations from both neighbors. Noise that depends on the inferences before it looks like
# short stretches that differ less.
_LEAST_STRETCH = 2.5
_MOST_POSITIONS = 120  # more positions are grouped: all pairs of them are compared
_BATCH = 27  # random orders at once


def stretch(values: Floats, least: float) -> tuple[int, ...]:
    """Return the first positions of a stretch that differs from both sides, and of what follows."""
    count = len(values)
    if count < 3 * LEAST_ON_A_SIDE:
        return ()
    size = -(-count // _MOST_POSITIONS)
    grouped = values[: count // size * size].reshape(-1, size).mean(axis=1)
    first, after = _pairs(len(grouped), -(-LEAST_ON_A_SIDE // size))
    score = _stretch_scores(grouped[None], first, after)[0]
    best = int(np.argmax(score))
    start, end = (_refined(values, int(edge[best]) * size, size) for edge in (first, after))
    if min(start, end - start, count - end) < LEAST_ON_A_SIDE:
        return ()
    sides = np.split(values, [start, end])
    spread = float(np.median([side.std() for side in sides]))
    needed = max(np.log(least), _LEAST_STRETCH * spread)
    if min(abs(np.median(sides[1]) - np.median(side)) for side in (sides[0], sides[2])) < needed:
        return ()
    random = np.random.default_rng(SEED)
    for _ in range(ORDERS // _BATCH):
        orders = random.permuted(np.tile(grouped, (_BATCH, 1)), axis=1)
        if (_stretch_scores(orders, first, after).max(axis=1) >= score[best]).any():
            return ()
    return start, end


def _pairs(count: int, least: int) -> tuple[Ints, Ints]:
    """The first positions of all stretches, and of what follows, with so many on all sides."""
    first, after = np.triu_indices(count + 1, least)
    inside = (first >= least) & (after <= count - least)
    return first[inside], after[inside]


def _stretch_scores(rows: Floats, first: Ints, after: Ints) -> Floats:
    """The difference of means inside and outside each stretch, in standard deviations."""
    count = rows.shape[1]
    sums = np.pad(np.cumsum(rows - rows.mean(axis=1, keepdims=True), axis=1), ((0, 0), (1, 0)))
    inside, length = sums[:, after] - sums[:, first], after - first
    spread = np.maximum(rows.std(axis=1, keepdims=True), 1e-12)
    scores: Floats = np.abs(inside) / np.sqrt(length * (count - length) / count) / spread
    return scores


def _refined(values: Floats, edge: int, size: int) -> int:
    """Return the position near a group's edge after which values differ most."""
    if size == 1:
        return edge
    low = max(edge - 2 * size, 0)
    near = values[low : edge + 2 * size]
    places = np.arange(1, len(near))
    rest = [p * near[:p].var() + (len(near) - p) * near[p:].var() for p in places.tolist()]
    return low + int(places[np.argmin(rest)])


LEAST_CHANGE = 1.05  # a smaller factor is no finding, however certain
_CHANCE = 0.001  # none of them may reach it
# Of a trend, and of levels where noise depends on itself, in standard deviations.
_LEAST_DEVIATIONS = 4.0
# A correlation with the value before that is no chance, in standard deviations; at most so much.
_SIGNIFICANT, _MOST_DEPENDENT = 1.5, 0.8
_OUTLIER = 4.0  # standard deviations from the neighbors
_NEIGHBORS = 7
# More positions are grouped, so that random orders take milliseconds.
_MOST = 2000
_MOST_LEVELS = 24  # more are noise, or a course that levels do not describe
_MOST_PAIRS = 200_000


@dataclass(frozen=True, slots=True)
class Trend:
    """A trend: start is the time at position 0, slope is per position."""

    start: float
    slope: float


@dataclass(frozen=True, slots=True)
class Course:
    """How a sequence of times changes.

    first: the position of the first value of each level; (0,) if there is only one. trend: without
    level shifts, or in addition to them if steps are seen once the trend is taken away.
    """

    first: tuple[int, ...] = (0,)
    trend: Trend | None = None

    @property
    def changes(self) -> bool:
        """Whether there is more than one level, or a trend."""
        return len(self.first) > 1 or self.trend is not None


def course_of(times: Ints | Floats, position: Ints) -> Course:
    """Return how times in their order change.

    position: what a trend is a function of: the place of each in the sequence, or in its block.
    """
    if len(times) < 2 * LEAST_ON_A_SIDE or times.min() <= 0:
        return Course()
    values = _without_outliers(np.log(np.asarray(times, np.float64)))
    first = _levels(values)
    trend = _trend(values, position)
    if trend is None:
        return Course(first)
    along = np.log(np.maximum(trend.start + trend.slope * position, 1e-9))
    if len(first) > 1 and _criterion(values - _means(values, first), len(first)) <= _criterion(
        values - along, 1
    ):
        return Course(first)
    # Steps that a trend does not explain; what is left of its own form is less than this.
    rest = _levels(values - along, least=2 * LEAST_CHANGE - 1)
    return Course(rest, trend)


def _without_outliers(values: Floats) -> Floats:
    """Cut values to a few standard deviations from the median of their neighbors."""
    half = _NEIGHBORS // 2
    padded = np.pad(values, half, mode="reflect")
    near = np.median(np.lib.stride_tricks.sliding_window_view(padded, _NEIGHBORS), axis=1)
    away = values - near
    most = _OUTLIER * max(1.4826 * float(np.median(np.abs(away))), 1e-4)
    found: Floats = near + np.clip(away, -most, most)
    return found


def _levels(values: Floats, least: float = LEAST_CHANGE) -> tuple[int, ...]:
    """Return the first position of each level."""
    firsts = {0}
    open_spans = [(0, len(values))]
    while open_spans and len(firsts) < _MOST_LEVELS:
        lo, hi = open_spans.pop(0)
        at = _shift(values[lo:hi], least)
        places = () if at is None else (at,)
        if edges := [lo + at for at in places or stretch(values[lo:hi], least)]:
            firsts.update(edges)
            open_spans += pairwise([lo, *edges, hi])
    return _independent(values, _distinct(values, sorted(firsts), least))


def _independent(values: Floats, firsts: tuple[int, ...]) -> tuple[int, ...]:
    """Return the levels, without a boundary that noise explains whose values depend on each other.

    As times of a device whose temperature varies do: random orders vary less than these.
    """
    while len(firsts) > 1:
        rest = values - _means(values, firsts)
        factor = dependence(rest)
        if factor == 1:
            break
        edges = [*firsts, len(values)]
        sizes = np.diff(edges)
        means = np.array([values[a:b].mean() for a, b in pairwise(edges)])
        noise = max(float(rest.std()), 1e-12) * factor * np.sqrt(1 / sizes[1:] + 1 / sizes[:-1])
        scores = np.abs(np.diff(means)) / noise
        weakest = int(np.argmin(scores))
        if scores[weakest] >= _LEAST_DEVIATIONS:
            break
        firsts = (*firsts[: weakest + 1], *firsts[weakest + 2 :])
    return firsts


def _distinct(values: Floats, firsts: list[int], least: float) -> tuple[int, ...]:
    """Return the levels, without a boundary whose neighbors do not differ by the least factor."""
    while len(firsts) > 1:
        edges = [*firsts, len(values)]
        middle = [float(np.median(values[a:b])) for a, b in pairwise(edges)]
        steps = [abs(b - a) for a, b in pairwise(middle)]
        smallest = int(np.argmin(steps))
        if steps[smallest] >= np.log(least):
            break
        del firsts[smallest + 1]
    return tuple(firsts)


def _shift(values: Floats, least: float) -> int | None:
    """Return the position after which values differ most, if that is proven."""
    count = len(values)
    if count < 2 * LEAST_ON_A_SIDE:
        return None
    score = _scores(values[None])[0]
    at = int(np.argmax(score)) + LEAST_ON_A_SIDE
    if _smallest_difference(values[:at], values[at:]) < np.log(least):
        return None
    grouped = values
    if count > _MOST:
        # Of blocks of neighbors, random orders differ more than of single ones: the test is strict.
        size = -(-count // _MOST)
        grouped = values[: count // size * size].reshape(-1, size).mean(axis=1)
        score = _scores(grouped[None])[0]
    random = np.random.default_rng(SEED)
    # Eight and eight values in the same two halves as the order of time are no other order.
    best, higher = float(score.max()) * (1 + 1e-9), 0
    for _ in range(10):
        orders = random.permuted(np.tile(grouped, (-(-ORDERS // 10), 1)), axis=1)
        higher += int((_scores(orders).max(axis=1) > best).sum())
        if higher > _CHANCE * ORDERS:
            return None
    return at


def _smallest_difference(before: Floats, after: Floats) -> float:
    """Return by how much two levels differ, also next to where they meet: a slow start does not."""
    whole = np.median(after) - np.median(before)
    near = np.median(after[: (len(after) + 1) // 2]) - np.median(before[len(before) // 2 :])
    return float(min(abs(whole), abs(near))) if whole * near > 0 else 0.0


def _scores(rows: Floats) -> Floats:
    """The difference of means on both sides of each position, in standard deviations."""
    count = rows.shape[1]
    left = np.arange(LEAST_ON_A_SIDE, count - LEAST_ON_A_SIDE + 1)
    sums = np.cumsum(rows, axis=1)
    total, below = sums[:, -1:], sums[:, left - 1]
    difference = np.abs(below / left - (total - below) / (count - left))
    spread = np.maximum(rows.std(axis=1, keepdims=True), 1e-12)
    found: Floats = difference / spread * np.sqrt(left * (count - left) / count)
    return found


def dependence(rest: Floats) -> float:
    """Return how many times as much means of noise vary as those of independent values.

    rest: what levels or a trend leave over. 1 unless values depend on those before them.
    """
    size = float((rest * rest).sum())
    correlation = float((rest[1:] * rest[:-1]).sum()) / size if size else 0.0
    if correlation * np.sqrt(len(rest)) < _SIGNIFICANT:
        return 1.0
    correlation = min(correlation, _MOST_DEPENDENT)
    return float(np.sqrt((1 + correlation) / (1 - correlation)))


def _trend(values: Floats, position: Ints) -> Trend | None:
    """Return the trend of logarithms of times, in times, if it is proven."""
    if int(position.max()) + 1 < 2 * LEAST_ON_A_SIDE:
        return None
    correlation = rank_correlation(position, values)
    if abs(correlation) * np.sqrt(len(values) - 1) < _LEAST_DEVIATIONS:  # of random orders
        return None
    times = np.exp(values)
    slope = theil_sen(position, times)
    start = float(np.median(times - slope * position))
    end = start + slope * int(position.max())
    if start <= 0 or end <= 0 or max(start, end) < LEAST_CHANGE * min(start, end):
        return None
    rest = values - np.log(np.maximum(start + slope * position, 1e-9))
    if abs(correlation) * np.sqrt(len(values) - 1) < _LEAST_DEVIATIONS * dependence(rest):
        return None
    return Trend(start, slope)


def theil_sen(position: Ints, times: Floats) -> float:
    """Return the median slope of pairs of values."""
    count = len(times)
    if count * (count - 1) // 2 <= _MOST_PAIRS:
        first, second = np.triu_indices(count, 1)
    else:
        random = np.random.default_rng(SEED)
        first, second = random.integers(0, count, (2, _MOST_PAIRS))
    apart = position[second] - position[first]
    known = apart != 0
    rise = times[second[known]] - times[first[known]]
    return float(np.median(rise / apart[known])) if known.any() else 0.0


def _means(values: Floats, first: tuple[int, ...]) -> Floats:
    edges = [*first, len(values)]
    means = [values[a:b].mean() for a, b in pairwise(edges)]
    return np.repeat(means, np.diff(edges))


def _criterion(rest: Floats, parameters: int) -> float:
    """The Bayesian information criterion: smaller is better."""
    count = len(rest)
    spread = max(float((rest * rest).mean()), 1e-12)
    return count * float(np.log(spread)) + 2 * parameters * float(np.log(count))


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
    levels = _levels_of_course(trace, course, steady, lengths)
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
        part
        for part in changed
        if (part.after - part.before) * np.sign(whole) > 0
        and abs(part.after - part.before) >= _NAMED_PART * abs(whole)
    ]
    part_changes.sort(key=lambda part: -abs(part.after - part.before))
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


def _levels_of_course(
    trace: Trace, course: Course, runs: Sequence[int], lengths: Ints
) -> tuple[Level, ...]:
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
