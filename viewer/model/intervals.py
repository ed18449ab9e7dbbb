"""Union, difference and intersection of sets of time intervals, as int64 arrays.

Every function about sets takes and returns starts and ends of equal length. Touching intervals are
merged; empty ones are removed. All functions are linear after one sort.
"""

from __future__ import annotations

from fractions import Fraction
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from viewer.arrays import Bools, Ints

Intervals = tuple[Ints, Ints]
_IN_A, _IN_B, _IN_BOTH = 1, 2, 3
_SAFE = 1 << 62  # within int64, with room for a sum


def union(start: Ints, end: Ints) -> Intervals:
    """The smallest set of sorted, disjoint intervals that covers the same time."""
    keep = end > start
    if not keep.all():
        start, end = start[keep], end[keep]
    if (start[1:] > end[:-1]).all():
        return start, end
    if not (start[1:] >= start[:-1]).all():
        order = np.argsort(start, kind="stable")
        start, end = start[order], end[order]
    reach = np.maximum.accumulate(end)
    first = np.flatnonzero(np.append(True, start[1:] > reach[:-1]))
    return start[first], reach[np.append(first[1:] - 1, len(start) - 1)]


def length(start: Ints, end: Ints) -> int:
    """The total duration of the union."""
    starts, ends = union(start, end)
    return int((ends - starts).sum())


def durations(start: Ints | np.int64, end: Ints) -> NDArray[np.uint64]:
    """end - start as uint64, exact even if the difference overflows int64. end must be >= start."""
    # Arrays wrap around silently, scalars with a warning.
    with np.errstate(over="ignore"):
        exact: NDArray[np.uint64] = end.view(np.uint64) - start.view(np.uint64)
    return exact


def covered_until(united: Intervals, times: Ints) -> NDArray[np.uint64]:
    """How much time of a union is before each of some times."""
    starts, ends = united
    before = np.append(np.uint64(0), np.cumsum(durations(starts, ends)))
    started = np.searchsorted(starts, times)
    covered = before[started]
    index = np.flatnonzero(started)
    reach = ends[started[index] - 1]
    covered[index] -= durations(np.minimum(times[index], reach), reach)
    return covered


def clip(start: Ints, end: Ints, first: int, last: int) -> Intervals:
    """The parts inside [first, last]. Intervals outside are removed."""
    limits = np.iinfo(np.int64)
    first, last = max(first, limits.min), min(last, limits.max)
    start, end = np.maximum(start, np.int64(first)), np.minimum(end, np.int64(last))
    keep = end > start
    return start[keep], end[keep]


def subtract(a: Intervals, b: Intervals) -> Intervals:
    """The time in `a` that is not in `b`."""
    times, state = _both(a, b)
    return _pieces(times, state == _IN_A)


def subtract_each(a: Intervals, a_ptr: Ints, b: Intervals, b_ptr: Ints) -> list[Intervals]:
    """`subtract` for many pairs of sets at once: pair i has a[a_ptr[i]:a_ptr[i + 1]], same for b.

    A pair of its own takes 100 µs, so 10,000 tracks would take a second.
    """
    pairs = len(a_ptr) - 1
    # Where there is nothing to subtract from, there may be millions to subtract.
    has_any = np.diff(a_ptr) > 0
    if not has_any.all():
        mask = np.repeat(has_any, np.diff(b_ptr))
        b_ptr = np.append(0, np.cumsum(np.where(has_any, np.diff(b_ptr), 0)))
        b = b[0][mask], b[1][mask]
    times, rank = np.unique(np.concatenate([*a, *b]), return_inverse=True)
    # On one axis, one pair after another: ranks, as the times of all pairs could overflow int64.
    of = [np.repeat(np.arange(pairs), np.diff(ptr)) for ptr in (a_ptr, a_ptr, b_ptr, b_ptr)]
    rank += np.concatenate(of) * len(times)
    a_start, a_end, b_start, b_end = np.split(
        rank, np.cumsum([len(numbers) for numbers in of])[:-1]
    )
    start, end = subtract((a_start, a_end), (b_start, b_end))
    ptr = np.searchsorted(start, np.arange(1, pairs) * len(times))
    parts = (np.split(times[bound % max(len(times), 1)], ptr) for bound in (start, end))
    return list(zip(*parts, strict=True)) if pairs else []


def total(start: Ints, end: Ints) -> int:
    """The sum of all durations, exact even if it overflows int64."""
    each = durations(start, end)
    return (int((each >> np.uint64(32)).sum()) << 32) + int((each & np.uint64(2**32 - 1)).sum())


def intersect(a: Intervals, b: Intervals) -> Intervals:
    """The time in both `a` and `b`."""
    times, state = _both(a, b)
    return _pieces(times, state == _IN_BOTH)


def divided(a: Intervals, b: Intervals) -> tuple[Intervals, Intervals, Intervals]:
    """The time in `a` alone, in `b` alone, and in both."""
    times, state = _both(a, b)
    only_a, only_b, both = (_pieces(times, state == where) for where in (_IN_A, _IN_B, _IN_BOTH))
    return only_a, only_b, both


def _both(a: Intervals, b: Intervals) -> tuple[Ints, NDArray[np.int8]]:
    """All bounds in order, and in which sets the time from each to the next is: 0 or `_IN_*`."""
    a, b = union(*a), union(*b)
    times = np.concatenate([a[0], a[1], b[0], b[1]])
    order = np.argsort(times, kind="stable")
    change = np.array([_IN_A, -_IN_A, _IN_B, -_IN_B], np.int8)
    step = np.repeat(change, [len(a[0]), len(a[1]), len(b[0]), len(b[1])])
    return times[order], np.cumsum(step[order], dtype=np.int8)


def _pieces(times: Ints, inside: Bools) -> Intervals:
    """The union of the intervals between neighboring times that are marked as inside."""
    return union(times[:-1][inside[:-1]], times[1:][inside[:-1]])


def running_maximum(values: Ints, begins: Bools) -> Ints:
    """The running maximum within each part; `begins` is true where a part starts."""
    part = np.cumsum(begins) - 1
    least = int(values.min())
    span = int(values.max()) - least + 1
    if (int(part[-1]) + 1) * span < _SAFE:
        lift = part * span - least  # each part is above all parts before it
        reached: Ints = np.maximum.accumulate(values + lift) - lift
        return reached
    # The values are too far apart to be shifted within int64; their ranks are not.
    distinct, rank = np.unique(values, return_inverse=True)
    base = part * len(distinct)
    ranked: Ints = distinct[np.maximum.accumulate(base + rank.reshape(-1)) - base]
    return ranked


# Half of what fits int64, so that rounding in float64 does not matter: 146 years in ns, 53 days in
# ps. The slices of an hour on ten threads, each 50 calls deep, add up to 20 days.
MOST_SUM = 1 << 62


def sum_of_durations(start: Ints, end: Ints) -> float:
    """The sum of end - start in ticks, without a copy; the differences may exceed int64."""
    return float(end.sum(dtype=np.float64)) - float(start.sum(dtype=np.float64))


def fits(ticks: float, ns_per_tick: Fraction) -> bool:
    """Return whether a sum of durations fits, in ticks and in ns."""
    return ticks <= _most_ticks(ns_per_tick)


def too_long(start: Ints, end: Ints, ns_per_tick: Fraction) -> Ints:
    """The longest slices, ascending, without whose durations the sum of all others fits."""
    if fits(sum_of_durations(start, end), ns_per_tick):
        return np.empty(0, np.int64)
    ticks = end.astype(np.float64) - start.astype(np.float64)
    shortest_first = np.argsort(ticks, kind="stable")
    sums = np.cumsum(ticks[shortest_first])
    return np.sort(shortest_first[sums > _most_ticks(ns_per_tick)])


@lru_cache(8)
def _most_ticks(ns_per_tick: Fraction) -> float:
    return float(Fraction(MOST_SUM) / max(ns_per_tick, Fraction(1)))
