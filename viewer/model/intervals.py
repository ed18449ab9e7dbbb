"""Sets of time: union and difference of intervals as int64 arrays.

Every function takes and gives starts and ends of equal length. Touching intervals join; empty ones
vanish. All are linear after one sort.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from viewer.model.trace import Ints

Intervals = tuple[Ints, Ints]


def union(start: Ints, end: Ints) -> Intervals:
    """The smallest sorted, disjoint intervals that cover the same time."""
    keep = end > start
    start, end = start[keep], end[keep]
    if len(start) == 0:
        return start, end
    order = np.argsort(start, kind="stable")
    start, end = start[order], end[order]
    reach = np.maximum.accumulate(end)
    first = np.append(True, start[1:] > reach[:-1])
    last = np.append(np.flatnonzero(first)[1:] - 1, len(start) - 1)
    return start[first], reach[last]


def length(start: Ints, end: Ints) -> int:
    """The total length of the union."""
    starts, ends = union(start, end)
    return int((ends - starts).sum())


def durations(start: Ints | np.int64, end: Ints) -> NDArray[np.uint64]:
    """end - start of each for end >= start, also where the difference does not fit int64."""
    exact: NDArray[np.uint64] = end.view(np.uint64) - start.view(np.uint64)
    return exact


def covered_until(united: Intervals, times: Ints) -> NDArray[np.uint64]:
    """How much of a union lies before each of some times."""
    starts, ends = united
    before = np.append(np.uint64(0), np.cumsum(durations(starts, ends)))
    begun = np.searchsorted(starts, times)
    covered = before[begun]
    some = np.flatnonzero(begun)
    reach = ends[begun[some] - 1]
    covered[some] -= durations(np.minimum(times[some], reach), reach)
    return covered


def clip(start: Ints, end: Ints, first: int, last: int) -> Intervals:
    """The parts inside [first, last]; intervals outside become empty and are dropped."""
    limits = np.iinfo(np.int64)
    first, last = max(first, limits.min), min(last, limits.max)
    start, end = np.maximum(start, np.int64(first)), np.minimum(end, np.int64(last))
    keep = end > start
    return start[keep], end[keep]


def subtract(a: Intervals, b: Intervals) -> Intervals:
    """The time of a union that lies outside another."""
    a, b = union(*a), union(*b)
    times = np.concatenate([a[0], a[1], b[0], b[1]])
    if len(times) == 0:
        return times, times
    in_a = np.concatenate([np.ones(len(a[0])), -np.ones(len(a[1])), np.zeros(2 * len(b[0]))])
    in_b = np.concatenate([np.zeros(2 * len(a[0])), np.ones(len(b[0])), -np.ones(len(b[1]))])
    order = np.argsort(times, kind="stable")
    times = times[order]
    inside = (np.cumsum(in_a[order]) > 0) & (np.cumsum(in_b[order]) <= 0)
    return union(times[:-1][inside[:-1]], times[1:][inside[:-1]])
