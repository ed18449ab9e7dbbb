"""Statistics of grouped values: count, percentiles, average, extremes and total per group.

Percentiles are those of `viewer.model.quantiles`. Every number is bit for bit what
numpy computes for the group alone: groups of equal size are stacked and passed to numpy together,
so no sum changes its order. There are at most about sqrt(2 n) different sizes, so there are few
numpy calls however many groups there are.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from viewer.arrays import Floats, Ints, stable_order
from viewer.model import quantiles

_INT64_SPAN = float(1 << 63)


@dataclass(frozen=True, slots=True, eq=False)
class Statistics:
    """One entry per group; all numbers are 0 for a group without values.

    p10, p50, p90, avg: float64 in the unit of the values. min, max, total: the dtype of the values,
    so whole ticks stay whole.
    """

    count: Ints
    p10: Floats
    p50: Floats
    p90: Floats
    avg: Floats
    min: NDArray[Any]
    max: NDArray[Any]
    total: NDArray[Any]


def grouped(values: NDArray[Any], groups: Ints, count: int) -> Statistics:
    """The statistics of `values` per group; `groups` (parallel) has numbers 0 .. count - 1.

    Values are int64 or float64. Integers whose sum could overflow int64 are converted to float64.
    """
    size = np.bincount(groups, minlength=count).astype(np.int64)
    if values.dtype.kind != "f" and _may_overflow(values, size):
        values = values.astype(np.float64)
    ordered = values[stable_order(groups)]
    first = np.cumsum(size) - size
    percentiles = np.zeros((3, count))
    avg = np.zeros(count)
    least, most, total = np.zeros((3, count), values.dtype)
    for length in np.unique(size[size > 0]).tolist():
        rows = np.flatnonzero(size == length)
        block = ordered[first[rows, None] + np.arange(length)]
        if length == 1:
            value = block[:, 0]
            percentiles[:, rows] = avg[rows] = least[rows] = most[rows] = total[rows] = value
            continue
        percentiles[:, rows] = quantiles.percentiles(block, (10, 50, 90))
        avg[rows] = block.mean(axis=1)
        least[rows], most[rows] = block.min(axis=1), block.max(axis=1)
        total[rows] = block.sum(axis=1)
    p10, p50, p90 = percentiles
    return Statistics(size, p10, p50, p90, avg, least, most, total)


def _may_overflow(values: NDArray[Any], size: Ints) -> bool:
    largest = max(abs(float(values.max(initial=0))), abs(float(values.min(initial=0))))
    return largest * float(size.max(initial=0)) >= _INT64_SPAN
