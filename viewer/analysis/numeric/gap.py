"""How far a tensor is from a reference: MSE, L1, SNR, cosine, and the largest error with its place.

MSE, L1 and SNR are those of ExecuTorch's `Inspector.calculate_numeric_gap`: in float64, NaN counts
as 0, and in a tensor with a NaN infinities count as the largest float. L1 is the sum of absolute
differences; SNR is 10 * log10(mean(reference²) / mean(difference²)).
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from viewer.arrays import Floats
from viewer.codecs.tensor_values import StoredTensor

_LARGEST = np.finfo(np.float64).max


@dataclass(frozen=True, slots=True)
class Gap:
    """The figures of a pair; None where they are not finite or not defined.

    snr: in dB, None if the tensors are equal. error: the noise in relation to the signal,
    sqrt(mean(difference²) / mean(reference²)). place: the index of the largest error, None if there
    is no error. nan, inf: how many values of the tensor and of the reference are.
    """

    count: int
    mse: float | None
    l1: float | None
    snr: float | None
    cosine: float | None
    error: float | None
    max_abs: float | None
    place: tuple[int, ...] | None
    nan: tuple[int, int]
    inf: tuple[int, int]

    @property
    def is_exact(self) -> bool:
        """Whether the tensors are equal, with NaN as 0."""
        return self.l1 == 0


@dataclass(slots=True)
class _Sums:
    """What the figures are made of. odd: values of each side that are NaN and infinite."""

    difference: float = 0.0
    squared: float = 0.0
    own: float = 0.0
    reference: float = 0.0
    product: float = 0.0
    largest: float = 0.0
    at: int = -1
    nan: tuple[int, int] = (0, 0)
    inf: tuple[int, int] = (0, 0)


def gap_of(tensor: StoredTensor, reference: StoredTensor) -> Gap:
    """Return how far a tensor is from a reference with as many values, in the same order."""
    sums = _sums(tensor, reference, (False, False))
    bounded = tuple(n > 0 and i > 0 for n, i in zip(sums.nan, sums.inf, strict=True))
    if any(bounded):
        sums = _sums(tensor, reference, (bounded[0], bounded[1]))
    count = tensor.count
    norms = math.sqrt(sums.own) * math.sqrt(sums.reference) if _is_finite(sums) else math.nan
    signal, noise = sums.reference / max(count, 1), sums.squared / max(count, 1)
    is_ratio = 0 < signal < math.inf and noise < math.inf
    return Gap(
        count=count,
        mse=_known(noise) if count else None,
        l1=_known(sums.difference) if count else None,
        snr=10 * (math.log10(signal) - math.log10(noise)) if is_ratio and noise > 0 else None,
        cosine=_known(sums.product / norms) if norms > 0 else None,
        error=math.sqrt(noise / signal) if is_ratio else None,
        max_abs=_known(sums.largest) if count else None,
        place=tensor.index(sums.at) if sums.at >= 0 else None,
        nan=sums.nan,
        inf=sums.inf,
    )


def _sums(tensor: StoredTensor, reference: StoredTensor, bounded: tuple[bool, bool]) -> _Sums:
    found, done = _Sums(), 0
    with np.errstate(over="ignore", invalid="ignore"):
        for x, y in zip(tensor.blocks(), reference.blocks(), strict=True):
            nan, inf = [], []
            for values, is_bounded in ((x, bounded[0]), (y, bounded[1])):
                is_nan = np.isnan(values)
                nan.append(int(is_nan.sum()))
                inf.append(int(np.isinf(values).sum()))
                values[is_nan] = 0.0
                if is_bounded:
                    np.clip(values, -_LARGEST, _LARGEST, out=values)
            found.nan = found.nan[0] + nan[0], found.nan[1] + nan[1]
            found.inf = found.inf[0] + inf[0], found.inf[1] + inf[1]
            difference = x - y
            found.squared += _dot(difference, difference)
            found.own += _dot(x, x)
            found.reference += _dot(y, y)
            found.product += _dot(x, y)
            np.abs(difference, out=difference)
            found.difference += float(difference.sum())
            difference[np.isnan(difference)] = 0.0  # infinite on both sides
            at = int(np.argmax(difference))
            if difference[at] > found.largest:
                found.largest, found.at = float(difference[at]), done + at
            done += len(x)
    return found


def _dot(x: Floats, y: Floats) -> float:
    # Pairwise sums: np.dot may use fewer digits on some machines.
    return float((x * y).sum())


def _is_finite(sums: _Sums) -> bool:
    return math.isfinite(sums.own) and math.isfinite(sums.reference)


def _known(value: float) -> float | None:
    return value if math.isfinite(value) else None
