"""Sets of time: union, intersection and difference of intervals as int64 arrays.

Every function takes and gives starts and ends of equal length. Touching intervals join; empty ones
vanish. All are linear after one sort.
"""

from __future__ import annotations

import numpy as np

from viewer.model.trace import Bools, Ints

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


def clip(start: Ints, end: Ints, first: int, last: int) -> Intervals:
    """The parts inside [first, last]; intervals outside become empty and are dropped."""
    limits = np.iinfo(np.int64)
    first, last = max(first, limits.min), min(last, limits.max)
    start, end = np.maximum(start, np.int64(first)), np.minimum(end, np.int64(last))
    keep = end > start
    return start[keep], end[keep]


def subtract(a: Intervals, b: Intervals) -> Intervals:
    """The time of a union that lies outside another."""
    times, in_a, in_b = _steps(a, b)
    return _where(times, in_a & ~in_b)


def intersect(a: Intervals, b: Intervals) -> Intervals:
    """The time that two unions share."""
    times, in_a, in_b = _steps(a, b)
    return _where(times, in_a & in_b)


def _steps(a: Intervals, b: Intervals) -> tuple[Ints, Bools, Bools]:
    """All ends of two unions in order, and whether each union covers the time that follows."""
    a, b = union(*a), union(*b)
    times = np.concatenate([*a, *b])
    step_a, step_b = (np.repeat(np.array([1, -1], np.int8), len(x[0])) for x in (a, b))
    order = np.argsort(times, kind="stable")
    in_a = np.cumsum(np.concatenate([step_a, np.zeros_like(step_b)])[order]) > 0
    in_b = np.cumsum(np.concatenate([np.zeros_like(step_a), step_b])[order]) > 0
    return times[order], in_a, in_b


def _where(times: Ints, inside: Bools) -> Intervals:
    return union(times[:-1][inside[:-1]], times[1:][inside[:-1]])
