"""Probabilities and quantiles of the t distribution, for arrays.

They need the regularized incomplete beta function, which numpy does not have. It is evaluated as a
continued fraction (Lentz's method; Press et al., Numerical Recipes, 6.4).
"""

from __future__ import annotations

from math import lgamma
from statistics import NormalDist

import numpy as np

from viewer.arrays import Floats

# The fraction converges in about sqrt(degrees of freedom) steps; beyond this many degrees, the
# quantiles are those of the normal distribution to 4 digits.
_MOST_DEGREES = 1e4
_MOST_STEPS = 5_000
_CLOSE = 1e-14
_TINY = 1e-300
_LOG_GAMMA = np.vectorize(lgamma, otypes=[np.float64])
_CLOSE_ENOUGH = 1e-9


def two_sided(t: Floats, degrees: Floats) -> Floats:
    """Return the probability of a value at least as far from 0 as t, on either side.

    degrees: degrees of freedom, above 0; they may be fractions or infinite.
    """
    n = np.minimum(np.asarray(degrees, np.float64), _MOST_DEGREES)
    t = np.abs(np.asarray(t, np.float64))
    with np.errstate(over="ignore"):
        found: Floats = _incomplete_beta(n / 2, 0.5, n / (n + t * t))
    return found


def two_sided_quantile(p: Floats | float, degrees: Floats) -> Floats:
    """Return the t whose two-sided probability is p.

    p: above 0 and below 1. Newton's method starts at the quantile of the normal distribution, which
    is closer to 0, and the probability is convex. So it comes closer with every step.
    """
    asked = np.broadcast_arrays(np.asarray(p, np.float64), np.asarray(degrees, np.float64))
    # Rows of a comparison have a few different degrees of freedom.
    distinct, of = np.unique(np.stack([one.ravel() for one in asked]), axis=1, return_inverse=True)
    wanted, n = distinct[0], np.minimum(distinct[1], _MOST_DEGREES)
    t = np.array([NormalDist().inv_cdf(1 - one / 2) for one in wanted.tolist()])
    scale = np.exp(_LOG_GAMMA((n + 1) / 2) - _LOG_GAMMA(n / 2)) / np.sqrt(n * np.pi)
    for _ in range(_MOST_STEPS):
        density = scale * (1 + t * t / n) ** (-(n + 1) / 2)
        more = (two_sided(t, n) - wanted) / (2 * density)
        t = t + more
        if (more <= _CLOSE_ENOUGH * t).all():
            break
    return t[of.ravel()].reshape(asked[0].shape)


def _incomplete_beta(a: Floats, b: float, x: Floats) -> Floats:
    a, bs, x = np.broadcast_arrays(a, np.asarray(b, np.float64), x)
    # The fraction converges fast on one side of the mean; the other is its complement.
    is_upper = x > (a + 1) / (a + bs + 2)
    first, second = np.where(is_upper, bs, a), np.where(is_upper, a, bs)
    at = np.where(is_upper, 1 - x, x)
    with np.errstate(divide="ignore"):
        logarithm = first * np.log(at) + second * np.log1p(-at)
    scale = _LOG_GAMMA(first + second) - _LOG_GAMMA(first) - _LOG_GAMMA(second)
    value = np.exp(logarithm + scale) / first * _fraction(first, second, at)
    found: Floats = np.where(is_upper, 1 - value, value)
    return found


def _fraction(a: Floats, b: Floats, x: Floats) -> Floats:
    above = np.ones(x.shape)
    below = 1 / _not_zero(1 - (a + b) * x / (a + 1))
    value = below.copy()
    for step in range(1, _MOST_STEPS):
        twice = 2 * step
        even = step * (b - step) * x / ((a + twice - 1) * (a + twice))
        odd = -(a + step) * (a + b + step) * x / ((a + twice) * (a + twice + 1))
        for term in (even, odd):
            below = 1 / _not_zero(1 + term * below)
            above = _not_zero(1 + term / above)
            value *= above * below
        if np.all(np.abs(above * below - 1) < _CLOSE):
            break
    return value


def _not_zero(values: Floats) -> Floats:
    return np.where(np.abs(values) < _TINY, _TINY, values)
