"""How long inferences and their parts took next to a typical one, and what grows from step to step.

The facts that `viewer.analysis.sequence.phases` decides by.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from viewer.arrays import Bools, Floats, Ints, numbers_at
from viewer.model.queries import run_of_slices, self_times
from viewer.model.trace import Trace

APART = 1.5  # nothing is within this factor between two groups
# A part of all inferences that single slow ones do not reach.
LEAST = 4  # inferences, to compare any
LEAST_SHARE = 0.15
# Inputs of one size take times within this factor; single slow inferences do not.
ALIKE = 1.25
# More work makes an operator longer by at most so many times the factor of the others.
_SPREAD = 16.0
# In a slow start, factors of operators differ by more than this.
_EVEN = 2.5
# The share of an operator changes by less: in standard deviations, and of the logarithm of the
# factor of all.
_NOISE, _UNIFORM = 4.0, 0.03
# Operators with less time are noise.
_LEAST_PART = 0.01
# How much of the time, and how many of the operators, "nearly all" are. One of them may do the same
# work in all inferences, as that of the last token does; it may be the second largest.
_NEARLY_ALL, _MOST_OF_ALL, _NEARLY_ALL_OPERATORS = 0.75, 0.6, 0.85
_LEAST_EXCEPTED = 3
# A part of the time that grows with the position, by its rank correlation, and by that in standard
# deviations of random orders.
_GROWS, _LEAST_DEVIATIONS = 0.6, 3.5
# Of so few, one that grows with nearly each step: by chance, one in 2,000 does.
_GROWS_STEADILY, _FEWEST_STEADY = 0.9, 8
_LEAST_SEGMENT = 5
# Operators whose times vary by this factor among short inferences; the others have a part of the
# time that suffices.
_VARIES, FIXED = 1.4, 0.35


@dataclass(frozen=True, slots=True)
class Scales:
    """What phases are decided by.

    lengths: of the inferences. parts, usual: the time of the operators that count, per inference
    and in the typical one. scale: the median factor of the operators, per inference.
    """

    lengths: Floats
    parts: Floats
    usual: Floats
    scale: Floats

    @staticmethod
    def of(lengths: Ints, parts: Ints) -> Scales | None:
        short = lengths <= np.median(lengths)
        usual = np.median(parts[short], axis=0)
        counts = usual >= _LEAST_PART * np.median(lengths[short])
        if not counts.any():
            return None
        usual, own = usual[counts], parts[:, counts].astype(np.float64)
        # What differs among the shorter ones alone, as attention does, states no size of the work.
        low, high = np.quantile(own[short], [0.1, 0.9], axis=0)
        fixed = high <= _VARIES * np.maximum(low, 1)
        if usual[fixed].sum() < FIXED * usual.sum():
            fixed[:] = True
        scale = _weighted_quantile((own / usual)[:, fixed], usual[fixed], 1 - FIXED)
        return Scales(lengths.astype(np.float64), own, usual, np.maximum(scale, 1e-9))

    def nearly_all(self, some: Bools, least: float, *, by_time_alone: bool = False) -> bool:
        """Whether nearly all operators take a factor of the others' time in some inferences.

        By the median of these inferences. In a slow start, the smallest operators are slower by
        far than the largest: they wait for caches, and do not work more.
        """
        usual = np.maximum(np.median(self.parts[~some], axis=0), 1)
        factors = self.parts[some] / usual
        enough = factors >= least
        by_time = float(np.median((enough * usual).sum(axis=1) / usual.sum()))
        missing = float(np.median((~enough).sum(axis=1)))
        typical = np.median(factors, axis=0)
        spread = float(typical.max() / np.median(typical))
        columns = factors.shape[1]
        excepted = max((1 - _NEARLY_ALL_OPERATORS) * columns, columns >= _LEAST_EXCEPTED)
        is_most = by_time >= _MOST_OF_ALL and missing <= excepted
        return (is_most or (by_time_alone and by_time >= _NEARLY_ALL)) and spread <= _SPREAD

    def is_alike(self, some: Bools, most: float = APART) -> bool:
        """Whether some inferences are of one scale, as those of one input size are."""
        low, high = np.quantile(self.scale[some], [0.1, 0.9])
        shortest, longest = np.quantile(self.lengths[some], [0.1, 0.9])
        return bool(high <= most * low and longest <= APART * shortest)

    def repeats(self, some: Bools) -> bool:
        """Whether some inferences are several of one input size."""
        return bool(some.mean() >= LEAST_SHARE) and (
            int(some.sum()) >= LEAST and self.is_alike(some, ALIKE)
        )

    def is_even(self, some: Bools) -> bool:
        """Whether operators take about one factor in some inferences, but for a single one."""
        factors = np.sort(self.factors(some))
        has_same = len(factors) >= _LEAST_EXCEPTED and factors[0] < APART  # the same work in all
        return bool(factors[-1] <= _EVEN * factors[1 if has_same else 0])

    def is_uniform(self, some: Bools) -> bool:
        """Whether all operators take one factor in some inferences, as far as noise shows it."""
        part = np.log(np.maximum(self.parts, 1))
        part -= np.log(np.maximum(self.parts.sum(axis=1, keepdims=True), 1))
        inside, outside = part[some], part[~some]
        change = np.abs(np.median(inside, axis=0) - np.median(outside, axis=0))
        noise = inside.var(axis=0) / len(inside) + outside.var(axis=0) / len(outside)
        factor = np.log(self.times_longer(some))
        return bool((change <= np.maximum(_NOISE * np.sqrt(noise), _UNIFORM * factor)).all())

    def times_longer(self, some: Bools) -> float:
        """How many times as long as the typical other inference the shortest of some is."""
        return float(self.lengths[some].min() / np.median(self.lengths[~some]))

    def typically_longer(self, some: Bools) -> float:
        """How many times as long as the typical other inference the typical one of some is."""
        return float(np.median(self.lengths[some]) / np.median(self.lengths[~some]))

    def factors(self, some: Bools) -> Floats:
        """The factor of each operator in some inferences, to the others."""
        usual = np.maximum(np.median(self.parts[~some], axis=0), 1)
        found: Floats = np.median(self.parts[some], axis=0) / usual
        return found


def _weighted_quantile(values: Floats, weights: Floats, part: float) -> Floats:
    """The quantile of each row, by the weights of its columns."""
    order = np.argsort(values, axis=1)
    below = np.cumsum(weights[order], axis=1)
    at = (below >= part * weights.sum()).argmax(axis=1)
    rows = np.arange(len(values))
    found: Floats = values[rows, order[rows, at]]
    return found


def positions(some: Bools) -> Ints:
    """Return the place of each of some inferences in its block of neighbors, from 0."""
    at = np.flatnonzero(some)
    if not len(at):
        return at
    starts = np.concatenate([[True], np.diff(at) > 1])
    first = np.maximum.accumulate(np.where(starts, np.arange(len(at)), 0))
    return np.asarray(np.arange(len(at)) - first)


def grows_with_position(parts: Floats, some: Bools) -> bool:
    """Whether the part of the time of an operator grows within the blocks of some inferences."""
    place = positions(some)
    ends = np.append(np.flatnonzero(place == 0), len(place))
    own = parts[some] / np.maximum(parts[some].sum(axis=1, keepdims=True), 1)
    found, weight = [], []
    for lo, hi in zip(ends[:-1].tolist(), ends[1:].tolist(), strict=True):
        if hi - lo >= _LEAST_SEGMENT:
            pairs = zip(own[lo:hi].T, parts[some][lo:hi].T, strict=True)
            found.append([_growth(place[lo:hi], share, time) for share, time in pairs])
            weight.append(hi - lo - 1)
    if not found:
        return False
    best = float(np.average(found, axis=0, weights=weight).max())
    if best * np.sqrt(sum(weight)) >= _LEAST_DEVIATIONS:
        return best >= _GROWS
    return best >= _GROWS_STEADILY and sum(weight) >= _FEWEST_STEADY


def _growth(place: Ints, share: Floats, time: Floats) -> float:
    """Return how an operator's part of the time grows; 0 if it is the others that get shorter."""
    grows = rank_correlation(place, time) >= _GROWS / 2
    return rank_correlation(place, share) if grows else 0.0


def rank_correlation(first: Floats | Ints, second: Floats | Ints) -> float:
    """Return Spearman's rank correlation, -1 to 1; 0 if all of one are equal."""
    ranked = [_ranks(np.asarray(values, np.float64)) for values in (first, second)]
    a, b = (values - values.mean() for values in ranked)
    size = float(np.sqrt((a * a).sum() * (b * b).sum()))
    return float((a * b).sum()) / size if size else 0.0


def _ranks(values: Floats) -> Floats:
    """The ranks of values, equal ones with the mean of theirs."""
    _, which, counts = np.unique(values, return_inverse=True, return_counts=True)
    last = np.cumsum(counts)
    found: Floats = (last - (counts - 1) / 2)[which]
    return found


MOST_GROUPS = 64  # the groups with most time; the others change no decision


def part_times(trace: Trace, group_of_key: Ints, runs: Ints) -> tuple[Ints, Ints]:
    """Return the self ticks of the groups with most time in some runs, and which groups they are.

    group_of_key: -1 for keys that do not count. runs: positions in `Trace.runs`. The result has a
    row per run and a column per group, the one with most time first.
    """
    # The last entry is for slices outside all runs.
    place = numbers_at(len(trace.runs) + 1, runs, np.arange(len(runs)), -1)
    row = place[run_of_slices(trace)]
    group = group_of_key[trace.slices.key]
    index = np.flatnonzero((row >= 0) & (group >= 0))
    ticks = self_times(trace)[index]
    groups = int(group_of_key.max(initial=-1)) + 1
    total = np.zeros(groups, np.int64)
    np.add.at(total, group[index], ticks)
    order = np.argsort(-total, kind="stable")[:MOST_GROUPS]
    order = order[total[order] > 0]
    column = numbers_at(groups, order, np.arange(len(order)), -1)
    of = column[group[index]]
    listed = of >= 0
    times = np.zeros((len(runs), len(order)), np.int64)
    np.add.at(times, (row[index][listed], of[listed]), ticks[listed])
    return times, order
