"""Medians and percentiles: every one that is printed comes from here.

The *median* of two middle values is halfway between them, as `statistics.median` and DuckDB's
`median` have it. A percentile is interpolated between its two neighbors (numpy's "linear", DuckDB's
`quantile_cont`). Where one value has to stand for all, such as an inference to show, it is the
*typical* one, the nearest to the median: of two, the shorter one, which is rarely the one that
warms up. Equal values keep their order.

Of groups, every number is bit for bit what numpy computes for the group alone: groups of equal size
are stacked, so no sum changes its order. There are at most about sqrt(2 n) different sizes, so
there are few numpy calls however many groups there are.
"""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from viewer.arrays import Codes, Floats, Ints, counts_of, stable_order
from viewer.dataclasses import dataclass

_EXACT = 1 << 53  # float64 holds all whole numbers up to it


def exact_median(values: Sequence[int]) -> Fraction:
    """The median of whole numbers, exactly: a whole number or half of one.

    Raises ValueError if there are none.
    """
    if not values:
        raise ValueError("no values have no median")
    ordered = sorted(values)
    middle = len(ordered) // 2
    return Fraction(ordered[middle] + ordered[-1 - middle], 2)


def typical(values: Sequence[int]) -> int:
    """The place of the value that is the nearest to the median. Raises IndexError without any."""
    return sorted(range(len(values)), key=values.__getitem__)[(len(values) - 1) // 2]


def median(values: Sequence[float] | NDArray[Any]) -> float:
    """The median of some numbers, as float64; NaN if there are none."""
    return float(medians(np.asarray(values)[None])[0])


def medians(values: NDArray[Any], axis: int = -1) -> Floats:
    """The medians along an axis, NaN without values; values that are NaN do not count."""
    if values.dtype.kind != "f":
        middle: Floats = percentiles(values, (50,), axis)[0]
        return middle
    if not values.shape[axis]:
        return np.full(np.delete(values.shape, axis), np.nan)
    if not np.isnan(values).any():
        return np.asarray(np.median(values, axis=axis), np.float64)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RuntimeWarning)  # a row without values
        return np.asarray(np.nanmedian(values, axis=axis), np.float64)


def medians_of_groups(group: Ints, values: Floats, count: int) -> Floats:
    """The median of the values of each group 0 .. count - 1, NaN for a group without any.

    group: parallel to the values.
    """
    middle = np.full(count, np.nan)
    order = np.lexsort((values, group))
    used, first, many = np.unique(group[order], return_index=True, return_counts=True)
    ordered = values[order]
    middle[used] = (ordered[first + (many - 1) // 2] + ordered[first + many // 2]) / 2
    return middle


def percentiles(values: NDArray[Any], wanted: Sequence[float], axis: int = -1) -> Floats:
    """Percentiles along an axis, of shape (wanted, ...); NaN without values.

    Whole numbers beyond 2^53, which float64 does not hold, are interpolated exactly.
    """
    values = np.moveaxis(values, axis, -1)
    if not values.shape[-1]:
        return np.full((len(wanted), *values.shape[:-1]), np.nan)
    is_whole = values.dtype.kind != "f" and values.size
    if is_whole and max(abs(int(values.max())), abs(int(values.min()))) > _EXACT:
        return _of_large(values, wanted)
    return np.asarray(np.percentile(values, wanted, axis=-1), np.float64)


def _of_large(values: NDArray[np.integer], wanted: Sequence[float]) -> Floats:
    ordered = np.sort(values, axis=-1).reshape(-1, values.shape[-1])
    quantiles = np.empty((len(wanted), len(ordered)))
    for row, row_values in enumerate(ordered.tolist()):
        for number, percent in enumerate(wanted):
            place = Fraction(percent) * (len(row_values) - 1) / 100
            low = place.numerator // place.denominator
            high = min(low + 1, len(row_values) - 1)
            quantiles[number, row] = float(
                row_values[low] + (row_values[high] - row_values[low]) * (place - low)
            )
    return quantiles.reshape(len(wanted), *values.shape[:-1])


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


def grouped(values: NDArray[Any], groups: Ints | Codes, count: int) -> Statistics:
    """The statistics of `values` per group; `groups` (parallel) has numbers 0 .. count - 1.

    Values are int64 or float64. Integers whose sum could overflow int64 are converted to float64.
    """
    size = counts_of(groups, count)
    if values.dtype.kind != "f" and _may_overflow(values, size):
        values = values.astype(np.float64)
    ordered = values[stable_order(groups)]
    first = np.cumsum(size) - size
    ranked = np.zeros((3, count))
    avg = np.zeros(count)
    least, most, total = np.zeros((3, count), values.dtype)
    for length in np.unique(size[size > 0]).tolist():
        rows = np.flatnonzero(size == length)
        block = ordered[first[rows, None] + np.arange(length)]
        if length == 1:
            value = block[:, 0]
            ranked[:, rows] = avg[rows] = least[rows] = most[rows] = total[rows] = value
            continue
        ranked[:, rows] = percentiles(block, (10, 50, 90))
        avg[rows] = block.mean(axis=1)
        least[rows], most[rows] = block.min(axis=1), block.max(axis=1)
        total[rows] = block.sum(axis=1)
    p10, p50, p90 = ranked
    return Statistics(size, p10, p50, p90, avg, least, most, total)


def _may_overflow(values: NDArray[Any], size: Ints) -> bool:
    largest = max(abs(float(values.max(initial=0))), abs(float(values.min(initial=0))))
    return largest * float(size.max(initial=0)) >= _INT64_SPAN
