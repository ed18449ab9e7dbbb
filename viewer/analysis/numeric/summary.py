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
        own = values[is_finite]
        missing = int(np.isnan(values).sum())
        nan, inf = nan + missing, inf + len(values) - len(own) - missing
        zeros += len(own) - int(np.count_nonzero(own))
        finite += len(own)
        if len(own):
            low, high = min(low, float(own.min())), max(high, float(own.max()))
            with np.errstate(over="ignore", invalid="ignore"):
                total += float(own.sum())
            share += float((own / tensor.count).sum())
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
        own = values[np.isfinite(values)]
        with np.errstate(over="ignore"):
            variance += float(np.square(own - mean).sum())
        bins += _in_bins(own, low, high, len(bins))
    return variance / finite, tuple(bins.tolist())


def histogram_of(tensor: StoredTensor, low: float, high: float, bins: int) -> Ints:
    """Return how many finite values are in each of some bins of equal width from low to high."""
    found = np.zeros(bins, np.int64)
    for values in tensor.blocks():
        own = values[(values >= low) & (values <= high)]
        found += _in_bins(own, low, high, bins)
    return found


def _in_bins(own: Floats, low: float, high: float, bins: int) -> Ints:
    """How many values, all from low to high, are in each bin."""
    # Halves: the width of the range may exceed the largest float.
    place = (own / 2 - low / 2) / (high / 2 - low / 2) * bins if high > low else own * 0
    found: Ints = np.bincount(np.minimum(place.astype(np.int64), bins - 1), minlength=bins)
    return found


def _known(value: float) -> float | None:
    return float(value) if np.isfinite(value) else None
