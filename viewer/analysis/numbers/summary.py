"""A tensor in a few numbers: its range, mean, standard deviation, histogram, and what is no number.

Two passes over its blocks: the memory does not depend on its size.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from viewer.arrays import Floats, Ints
from viewer.codecs.tensor_values import StoredTensor

BINS = 20


@dataclass(frozen=True, slots=True)
class Summary:
    """The figures of a tensor. min, max, mean, sd: of its finite values, None without any.

    sd: the standard deviation of the values themselves (population). nan, inf, zeros: how many
    values are. histogram: the finite values in `BINS` bins of equal width from min to max; empty
    without any, one bin if all are equal.
    """

    count: int
    min: float | None
    max: float | None
    mean: float | None
    sd: float | None
    nan: int
    inf: int
    zeros: int
    histogram: tuple[int, ...]


def summary_of(tensor: StoredTensor) -> Summary:
    """Return the figures of a tensor."""
    nan = inf = zeros = finite = 0
    low, high, total, share = np.inf, -np.inf, 0.0, 0.0
    for values in tensor.blocks():
        is_finite = np.isfinite(values)
        finite_values = values[is_finite]
        missing = int(np.isnan(values).sum())
        nan, inf = nan + missing, inf + len(values) - len(finite_values) - missing
        zeros += len(finite_values) - int(np.count_nonzero(finite_values))
        finite += len(finite_values)
        if len(finite_values):
            low, high = min(low, float(finite_values.min())), max(high, float(finite_values.max()))
            with np.errstate(over="ignore", invalid="ignore"):
                total += float(finite_values.sum())
            share += float((finite_values / tensor.count).sum())
    if not finite:
        return Summary(tensor.count, None, None, None, None, nan, inf, zeros, ())
    # The sum of large values may exceed the largest float.
    mean = total / finite if np.isfinite(total) else share * (tensor.count / finite)
    mean = min(max(mean, low), high)
    variance, histogram = _spread(tensor, mean, low, high, finite)
    return Summary(
        tensor.count, low, high, mean, _known(np.sqrt(variance)), nan, inf, zeros, histogram
    )


def _spread(
    tensor: StoredTensor, mean: float, low: float, high: float, finite: int
) -> tuple[float, tuple[int, ...]]:
    """The variance and the histogram of the finite values."""
    variance, bins = 0.0, np.zeros(BINS if high > low else 1, np.int64)
    for values in tensor.blocks():
        finite_values = values[np.isfinite(values)]
        with np.errstate(over="ignore"):
            variance += float(np.square(finite_values - mean).sum())
        bins += _in_bins(finite_values, low, high, len(bins))
    return variance / finite, tuple(bins.tolist())


def histogram_of(tensor: StoredTensor, low: float, high: float, bins: int) -> Ints:
    """Return how many finite values are in each of some bins of equal width from low to high."""
    counts = np.zeros(bins, np.int64)
    for values in tensor.blocks():
        inside = values[(values >= low) & (values <= high)]
        counts += _in_bins(inside, low, high, bins)
    return counts


def _in_bins(values: Floats, low: float, high: float, bins: int) -> Ints:
    """How many values, all from low to high, are in each bin."""
    # Halves: the width of the range may exceed the largest float.
    place = (values / 2 - low / 2) / (high / 2 - low / 2) * bins if high > low else values * 0
    counts: Ints = np.bincount(np.minimum(place.astype(np.int64), bins - 1), minlength=bins)
    return counts


def _known(value: float) -> float | None:
    return float(value) if np.isfinite(value) else None
