"""Level shifts and trends of a sequence of times, with the tests that prove them.

Times are compared as logarithms, so a factor counts the same at every level, and single outliers
are cut to what their neighbors allow. A *level shift* is a place after which times are higher or
lower: the largest difference of means on both sides, in standard deviations. It is proven by a
permutation test: in the same times in random order, such a difference is rarer than one in a
thousand. Each side is searched again. Levels that return, as after a burst of other work, differ
little at any single place: then the two places with the most different times between them are
tested. A *trend* is a rank correlation with the position that random orders do not reach; its slope
is the median slope (Theil and Sen). Which of the two a sequence has is decided by what is left over
(the Bayesian information criterion). If that depends on itself, as times of a device whose
temperature varies do, random orders prove too little, and both must exceed the noise by more.

Random orders have a fixed seed, so equal files have equal answers.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from viewer.analysis.sequence.scales import rank_correlation
from viewer.analysis.sequence.stretches import LEAST_ON_A_SIDE, ORDERS, SEED, stretch
from viewer.arrays import Floats, Ints

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
