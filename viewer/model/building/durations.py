"""Durations that cannot be added up: their sum must fit int64, in ticks and in nanoseconds."""

from __future__ import annotations

from fractions import Fraction
from functools import lru_cache

import numpy as np

from viewer.arrays import Ints

# Half of what fits int64, so that rounding in float64 does not matter: 146 years in ns, 53 days in
# ps. The slices of an hour on ten threads, each 50 calls deep, add up to 20 days.
MOST = 1 << 62


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
    durations = end.astype(np.float64) - start.astype(np.float64)
    shortest_first = np.argsort(durations, kind="stable")
    sums = np.cumsum(durations[shortest_first])
    return np.sort(shortest_first[sums > _most_ticks(ns_per_tick)])


@lru_cache(8)
def _most_ticks(ns_per_tick: Fraction) -> float:
    return float(Fraction(MOST) / max(ns_per_tick, Fraction(1)))
