"""The change between two arms, row by row, tested over sessions.

A session counts once, with its median: between two recordings of one program the process, the
temperature and the placement of threads vary, and more inferences do not even them out.

* The effect is the difference of the mean log session medians, so it is a ratio, and swapping the
  arms only changes its sign.
* As all rows of a level share the device, their variances are moderated: each is the average of its
  own and of a prior that the variances of all rows state (Smyth 2004, limma), weighted by degrees
  of freedom, but never less than its own. On the 28 recorded sessions of tests/data/compare, 3 + 3
  sessions then find 74 % (portable) and 53 % (XNNPACK) of operators at +30 %, Welch's test 45 % and
  31 %; 7 + 7 find 94 % and 80 %. Without a change, 0 to 3 % of comparisons raise an alarm, 7 % for
  XNNPACK at 3 + 3.
* Over the rows of a level, the p-values are corrected by Benjamini and Hochberg.

The t distribution needs the regularized incomplete beta function, which numpy does not have: a
continued fraction (Lentz's method; Press et al., Numerical Recipes, 6.4).
"""

from __future__ import annotations

from collections.abc import Sequence
from math import lgamma, log
from statistics import NormalDist

import numpy as np

from viewer.arrays import Bools, Floats, Ints, numbers_at
from viewer.dataclasses import dataclass, replace

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
        probability: Floats = _incomplete_beta(n / 2, 0.5, n / (n + t * t))
    return probability


def two_sided_quantile(p: Floats | float, degrees: Floats) -> Floats:
    """Return the t whose two-sided probability is p.

    p: above 0 and below 1. Newton's method starts at the quantile of the normal distribution, which
    is closer to 0, and the probability is convex. So it comes closer with every step.
    """
    asked = np.broadcast_arrays(np.asarray(p, np.float64), np.asarray(degrees, np.float64))
    # Rows of a comparison have a few different degrees of freedom.
    distinct, of = np.unique(
        np.stack([array.ravel() for array in asked]), axis=1, return_inverse=True
    )
    wanted, n = distinct[0], np.minimum(distinct[1], _MOST_DEGREES)
    t = np.array([NormalDist().inv_cdf(1 - probability / 2) for probability in wanted.tolist()])
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
    point = np.where(is_upper, 1 - x, x)
    with np.errstate(divide="ignore"):
        logarithm = first * np.log(point) + second * np.log1p(-point)
    scale = _LOG_GAMMA(first + second) - _LOG_GAMMA(first) - _LOG_GAMMA(second)
    value = np.exp(logarithm + scale) / first * _fraction(first, second, point)
    probability: Floats = np.where(is_upper, 1 - value, value)
    return probability


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


ALPHA = 0.05
THRESHOLD = 0.05  # a change below 1.05 times is none, in either direction
LEAST_SESSIONS = 3  # of each arm, for a verdict
# A change of the stated size is found in 90 % of normal samples. Real sessions vary by more than
# that: on the recorded ones, it is found in 81 % to 87 %.
_POWER = 0.9
_LIMIT = log(1 + THRESHOLD)
# The variance of logs below which times are equal: rounding is 1e-15 of a log, a nanosecond of a
# second 1e-9.
_ROUNDING = 1e-18


@dataclass(frozen=True, slots=True)
class Changes:
    """What sessions say about each row; all arrays have one value per row.

    log_ratio: of the geometric mean of B to that of A; NaN if an arm has no time. low, high: its
    95 % interval; NaN with less than two sessions in an arm. p, q: of no change, and corrected over
    all tested rows; NaN if a row was not tested. detectable: the smallest change, as a ratio - 1,
    that these sessions would show; NaN if it was not tested. error, freedom: the standard error of
    log_ratio, and its degrees of freedom.
    """

    log_ratio: Floats
    low: Floats
    high: Floats
    p: Floats
    q: Floats
    detectable: Floats
    error: Floats
    freedom: Floats

    @property
    def is_tested(self) -> Bools:
        """Whether the row has enough sessions and is long enough to be tested."""
        is_tested: Bools = np.isfinite(self.q)
        return is_tested

    @property
    def is_changed(self) -> Bools:
        """Whether the row is proven to be slower or faster by more than the threshold."""
        with np.errstate(invalid="ignore"):
            is_changed: Bools = (self.q < ALPHA) & (np.abs(self.log_ratio) > _LIMIT)
        return is_changed

    @property
    def is_unchanged(self) -> Bools:
        """Whether the whole interval is inside the threshold."""
        with np.errstate(invalid="ignore"):
            is_unchanged: Bools = self.is_tested & (self.low > -_LIMIT) & (self.high < _LIMIT)
        return is_unchanged


def compared(a: Floats, b: Floats, is_testable: Bools) -> Changes:
    """Compare the session medians of two arms, each of shape (sessions, rows).

    NaN or 0: the session does not have this row. is_testable: per row, False for those that must
    not be tested, which also do not count for the spread of the others.
    """
    mean_a, square_a, n_a = _moments(a)
    mean_b, square_b, n_b = _moments(b)
    degrees = n_a + n_b - 2
    enough = (n_a >= 2) & (n_b >= 2)
    with np.errstate(divide="ignore", invalid="ignore"):
        variances = np.where(enough, (square_a + square_b) / degrees, np.nan)
        tested = enough & is_testable & (np.minimum(n_a, n_b) >= LEAST_SESSIONS)
        variance, more = _moderated(variances, degrees, tested)
        # Sessions without any spread, such as copies of one, prove nothing.
        tested &= (variance > _ROUNDING) | (np.abs(mean_b - mean_a) < np.sqrt(_ROUNDING))
        error = np.sqrt(variance * (1 / n_a + 1 / n_b))
        freedom = np.where(enough, degrees + np.where(tested, more, 0), 1)
        effect = mean_b - mean_a
        t = np.where(error > 0, effect / error, np.where(effect == 0, 0, np.inf))
    half = two_sided_quantile(ALPHA, freedom) * error
    p = np.where(tested, two_sided(np.where(tested, t, 0), freedom), np.nan)
    return Changes(
        effect,
        effect - half,
        effect + half,
        p,
        _corrected(p),
        _detectable(error, freedom, tested, int(tested.sum())),
        error,
        freedom,
    )


def as_one_family(changes: Sequence[Changes]) -> list[Changes]:
    """Return changes of several comparisons, corrected over the tests of all of them."""
    if not changes:
        return []
    tests = sum(int(changes.is_tested.sum()) for changes in changes)
    q = _corrected(np.concatenate([changes.p for changes in changes]))
    own_q = np.split(q, np.cumsum([len(changes.p) for changes in changes])[:-1])
    return [
        replace(
            changes,
            q=q,
            detectable=_detectable(changes.error, changes.freedom, changes.is_tested, tests),
        )
        for changes, q in zip(changes, own_q, strict=True)
    ]


def distinct_times(a: Floats, b: Floats) -> tuple[Ints, Ints]:
    """Return sums with distinct times, ascending, and per sum the place of its equal among these.

    Sums that contain the same time, such as a module and the only one in it, are one test. a, b: of
    shape (sessions, sums); sums without any time in both arms have no place (-1).
    """
    times = np.ascontiguousarray(np.concatenate([a, b]).T)
    index = np.flatnonzero(np.isfinite(times).any(axis=1))
    places = np.full(len(times), -1)
    if not len(index):
        return index, places
    rows = times[index].view(np.dtype((np.void, times.dtype.itemsize * times.shape[1])))
    _, first, place = np.unique(rows.reshape(-1), return_index=True, return_inverse=True)
    order = np.argsort(first)
    rank = numbers_at(len(order), order, np.arange(len(order)))
    places[index] = rank[place.reshape(-1)]
    return index[first[order]], places


def _moments(times: Floats) -> tuple[Floats, Floats, Floats]:
    """The mean of the logs per row, the sum of squares around it, and how many there are."""
    with np.errstate(divide="ignore", invalid="ignore"):
        logs = np.where(times > 0, np.log(times), np.nan)
    is_known = np.isfinite(logs)
    count = is_known.sum(axis=0).astype(np.float64)
    values = np.where(is_known, logs, 0)
    with np.errstate(divide="ignore", invalid="ignore"):
        mean = values.sum(axis=0) / count
    around = np.where(is_known, values - mean, 0)
    return np.where(count > 0, mean, np.nan), (around * around).sum(axis=0), count


def _moderated(variances: Floats, degrees: Floats, tested: Bools) -> tuple[Floats, float]:
    """Variances moderated by those of all tested rows, and the degrees of freedom of the prior."""
    used = tested & (variances > _ROUNDING)
    if used.sum() < 3:
        return variances, 0.0
    half = degrees[used] / 2
    # The logs of sample variances have this mean and spread around that of the true ones.
    shifted = np.log(variances[used]) - _digamma(half) + np.log(half)
    spread = float(shifted.var(ddof=1) - _trigamma(half).mean())
    if spread <= 0:  # all rows vary alike
        prior, more = float(np.exp(shifted.mean())), 1e6
    else:
        half_more = _inverse_trigamma(spread)
        more = 2 * half_more
        argument = np.array([half_more])
        prior = float(np.exp(shifted.mean() + _digamma(argument)[0] - log(half_more)))
    pooled = (more * prior + degrees * variances) / (more + degrees)
    return np.where(tested, np.maximum(pooled, variances), variances), more


def _corrected(p: Floats) -> Floats:
    """Benjamini and Hochberg's q-values, over the values that are not NaN."""
    q = np.full(p.shape, np.nan)
    index = np.flatnonzero(np.isfinite(p))
    order = index[np.argsort(p[index], kind="stable")]
    scaled = p[order] * len(order) / np.arange(1, len(order) + 1)
    q[order] = np.minimum(np.minimum.accumulate(scaled[::-1])[::-1], 1)
    return q


def _detectable(error: Floats, freedom: Floats, tested: Bools, tests: int) -> Floats:
    """The change that is found with a probability of `_POWER` if only one row changed.

    tests: of the whole family.
    """
    missed = two_sided_quantile(2 * (1 - _POWER), freedom)
    significant = two_sided_quantile(ALPHA / max(tests, 1), freedom)
    needed = np.maximum(significant + missed, _LIMIT / np.maximum(error, 1e-300) + missed) * error
    with np.errstate(over="ignore"):
        return np.where(tested, np.expm1(needed), np.nan)


def _digamma(x: Floats) -> Floats:
    """The logarithmic derivative of the gamma function, for x > 0."""
    total = np.zeros(x.shape)
    x = x.astype(np.float64).copy()
    while (x < 8).any():
        small = x < 8
        total[small] -= 1 / x[small]
        x[small] += 1
    square = 1 / (x * x)
    series = square * (1 / 12 - square * (1 / 120 - square * (1 / 252 - square / 240)))
    return total + np.log(x) - 0.5 / x - series


def _trigamma(x: Floats) -> Floats:
    """The derivative of `_digamma`, for x > 0."""
    total = np.zeros(x.shape)
    x = x.astype(np.float64).copy()
    while (x < 8).any():
        small = x < 8
        total[small] += 1 / (x[small] * x[small])
        x[small] += 1
    square = 1 / (x * x)
    series = square * (1 / 6 - square * (1 / 30 - square * (1 / 42 - square / 30)))
    return total + (1 + 0.5 / x + series) / x


def _inverse_trigamma(value: float) -> float:
    """The x whose `_trigamma` is the value, which falls from infinity to 0."""
    low, high = 1e-8, 1e8
    for _ in range(200):
        middle = (low * high) ** 0.5
        if _trigamma(np.array([middle]))[0] > value:
            low = middle
        else:
            high = middle
    return float((low * high) ** 0.5)
