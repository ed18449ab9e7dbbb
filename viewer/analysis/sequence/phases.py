"""Phases: inferences of one method that do different work, such as prefill and decode.

Times alone decide, with one fact of the program: whether its input sizes can vary. Each inference
has a *scale*: how many times as long its operators took as in the shorter half of the inferences,
the median of the operators by time. An operator that grows alone does not change it. Scales form
groups if nothing is within a factor of 1.5 between them. A group is a phase only if its order in
time shows different work:

* it starts the sequence, and returns or is so much longer that no warm-up explains it: nearly all
  operators at least 2 times, the inference at least 3 times (less if input sizes are dynamic);
* or it alternates with the others, in short blocks, and is a good part of all inferences;
* or input sizes are dynamic, and it is one long block far from the others.

Everything else (a slow start, single slow inferences, a device that slows down) is no phase. With
static input sizes there are none at all.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from viewer.arrays import Bools, Floats, Ints

LEAST = 4  # inferences, to compare any
APART = 1.5  # nothing is within this factor between two groups
# Different work: scales of a phase that could also be a slow start, without and with evidence that
# input sizes vary.
LEAST_SCALE, LEAST_WHOLE = 2.0, 3.0
LEAST_SCALE_DYNAMIC, LEAST_WHOLE_DYNAMIC, LEAST_BLOCK_DYNAMIC = 1.6, 2.0, 2.5
# A device changes its level for longer than this; inputs vary faster.
LONG_BLOCK = 8
# A part of all inferences that single slow ones do not reach.
LEAST_SHARE = 0.15
# Blocks of an input size, and inferences after a slow start, to compare.
LEAST_REPEATED, LEAST_OTHERS = 3, 8
# More work makes an operator longer by at most so many times the factor of the others.
SPREAD = 16.0
# Operators with less time are noise.
_LEAST_PART = 0.01
# How much of the time, and how many of the operators, "nearly all" are. One of them may do the same
# work in all inferences, as that of the last token does.
_NEARLY_ALL, _NEARLY_ALL_OPERATORS = 0.75, 0.85
# Time that grows with the position, by its rank correlation.
_GROWS = 0.8
_LEAST_SEGMENT = 5

PREFILL, DECODE = "prefill", "decode"


@dataclass(frozen=True, slots=True)
class Phases:
    """The phases of the inferences of one method.

    of: the phase of each inference, an index into `names`; phases are in order of their first
    inference. evidence: why these are phases, for people.
    """

    of: Ints
    names: tuple[str, ...]
    evidence: str


def phases_of(lengths: Ints, parts: Ints, is_dynamic: bool | None) -> Phases | None:
    """Return the phases of inferences in order of time; None if they are of one.

    parts: the time of each operator (or other group of events) in each, as of `part_times`.
    is_dynamic: whether the input sizes can vary, None if no file shows it.
    """
    count = len(lengths)
    if count < LEAST or is_dynamic is False or not parts.shape[1] or int(lengths.min()) <= 0:
        return None
    times = _Times.of(lengths, parts)
    if times is None:
        return None
    splits = _splits(times.scale)
    if not splits:
        return None
    group = np.searchsorted(np.array(splits), times.scale)
    # Only groups that are different work stay apart; the lowest one is what others differ from.
    label = np.zeros(count, np.int64)
    for low in range(1, len(splits) + 1):
        high = group >= low
        if _is_other_work(times, high, is_dynamic):
            label[high] = label.max() + 1
            # Larger ones are apart from these only if neither are single inferences.
            if min((group == low).mean(), (group > low).mean()) < LEAST_SHARE:
                break
    if not label.any():
        return None
    first = [int(np.argmax(label == own)) for own in range(int(label.max()) + 1)]
    order = np.argsort(first)
    rank = np.empty(len(order), np.int64)
    rank[order] = np.arange(len(order))
    of = rank[label]
    names = tuple(f"phase {number + 1}" for number in range(len(order)))
    if len(names) == 2 and _is_prefill(of, label, times):
        names = (PREFILL, DECODE)
    return Phases(of, names, _evidence(times, label, is_dynamic))


@dataclass(frozen=True, slots=True)
class _Times:
    """What phases are decided by.

    lengths: of the inferences. parts, usual: the time of the operators that count, per inference
    and in the typical one. scale: the median factor of the operators, per inference.
    """

    lengths: Floats
    parts: Floats
    usual: Floats
    scale: Floats

    @staticmethod
    def of(lengths: Ints, parts: Ints) -> _Times | None:
        short = lengths <= np.median(lengths)
        usual = np.median(parts[short], axis=0)
        counts = usual >= _LEAST_PART * np.median(lengths[short])
        if not counts.any():
            return None
        usual, own = usual[counts], parts[:, counts].astype(np.float64)
        scale = _weighted_quantile(own / usual, usual, 0.5)
        return _Times(lengths.astype(np.float64), own, usual, np.maximum(scale, 1e-9))

    def nearly_all(self, some: Bools, least: float, *, by_time_alone: bool = False) -> bool:
        """Whether nearly all operators take a factor of the others' time in some inferences.

        By the median of these inferences. In a slow start, the smallest operators are slower by
        far than the largest: they wait for caches, and do not work more.
        """
        usual = np.maximum(np.median(self.parts[~some], axis=0), 1)
        factors = self.parts[some] / usual
        enough = factors >= least
        by_time = float(np.median((enough * usual).sum(axis=1) / usual.sum()))
        by_number = float(np.median(enough.mean(axis=1)))
        typical = np.median(factors, axis=0)
        spread = float(typical.max() / np.median(typical))
        is_most = by_time_alone or by_number >= _NEARLY_ALL_OPERATORS
        return by_time >= _NEARLY_ALL and is_most and spread <= SPREAD

    def is_alike(self, some: Bools) -> bool:
        """Whether some inferences are of one scale, as those of one input size are."""
        low, high = np.quantile(self.scale[some], [0.1, 0.9])
        return bool(high <= APART * low)

    def times_longer(self, some: Bools) -> float:
        """How many times as long as the typical other inference the shortest of some is."""
        return float(self.lengths[some].min() / np.median(self.lengths[~some]))

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


def _splits(scale: Floats) -> list[float]:
    """Return the scales at which groups are separated, ascending."""
    ordered = np.sort(scale)
    gaps = np.flatnonzero(ordered[1:] >= APART * ordered[:-1])
    return [float(np.sqrt(ordered[at] * ordered[at + 1])) for at in gaps]


def _blocks(some: Bools) -> Ints:
    """Return the lengths of the blocks of neighbors that are all of some inferences."""
    edges = np.flatnonzero(np.diff(np.concatenate([[False], some, [False]]).astype(np.int8)))
    return np.asarray(edges[1::2] - edges[::2])


def _is_other_work(times: _Times, high: Bools, is_dynamic: bool | None) -> bool:
    """Whether the order of the longer inferences shows that they do more work."""
    blocks, others = _blocks(high), _blocks(~high)
    if len(blocks) == 1:
        return _is_one_block(times, high, is_dynamic)
    is_short = np.median(blocks) < LONG_BLOCK
    if not is_short and np.median(others) >= LONG_BLOCK:  # as a device that slows and recovers
        return bool(is_dynamic) and times.nearly_all(high, LEAST_SCALE_DYNAMIC)
    if bool(high[0]) and is_short and 2 * high.sum() <= len(high):
        # The attention of a short prompt may take as long as that of a late step.
        return times.nearly_all(high, LEAST_SCALE_DYNAMIC, by_time_alone=is_dynamic is True)
    few = high if 2 * high.sum() <= len(high) else ~high
    is_part = bool(few.mean() >= LEAST_SHARE) and len(_blocks(few)) >= LEAST_REPEATED
    return is_part and times.nearly_all(high, LEAST_SCALE_DYNAMIC) and times.is_alike(few)


def _is_one_block(times: _Times, high: Bools, is_dynamic: bool | None) -> bool:
    """Whether one block of longer inferences does more work."""
    count, longer = int(high.sum()), times.times_longer(high)
    if bool(high[0]) and count < LONG_BLOCK:
        if _settles(times, high):
            return False
        if is_dynamic:
            is_far = longer >= LEAST_WHOLE_DYNAMIC
            return is_far and times.nearly_all(high, LEAST_SCALE_DYNAMIC)
        enough = len(times.usual) > 1 and (~high).sum() >= LEAST_OTHERS
        return enough and longer >= LEAST_WHOLE and times.nearly_all(high, LEAST_SCALE)
    is_far = longer >= LEAST_BLOCK_DYNAMIC
    return is_far and bool(is_dynamic) and count > 1 and times.nearly_all(high, LEAST_SCALE)


def _settles(times: _Times, high: Bools) -> bool:
    """Whether the long inferences at the start become shorter one by one, as while warming up."""
    scale = times.scale[high]
    return len(scale) > 1 and bool((scale[1:] * 1.15 < scale[:-1]).all())


def _is_prefill(of: Ints, label: Ints, times: _Times) -> bool:
    """Whether few long inferences are each followed by several short ones that grow."""
    long = label == 1
    shape = bool(long[0]) and long.sum() < (~long).sum() and np.median(_blocks(long)) < LONG_BLOCK
    return bool(shape) and bool(grows_with_position(times.parts, of == 1))


def positions(some: Bools) -> Ints:
    """Return the place of each of some inferences in its block of neighbors, from 0."""
    at = np.flatnonzero(some)
    if not len(at):
        return at
    starts = np.concatenate([[True], np.diff(at) > 1])
    first = np.maximum.accumulate(np.where(starts, np.arange(len(at)), 0))
    return np.asarray(np.arange(len(at)) - first)


def grows_with_position(parts: Floats, some: Bools) -> bool:
    """Whether the time of an operator grows within most blocks of some inferences."""
    place = positions(some)
    ends = np.append(np.flatnonzero(place == 0), len(place))
    own, columns = parts[some], parts.shape[1]
    found = [
        [rank_correlation(place[lo:hi], own[lo:hi, column]) for column in range(columns)]
        for lo, hi in zip(ends[:-1].tolist(), ends[1:].tolist(), strict=True)
        if hi - lo >= _LEAST_SEGMENT
    ]
    return bool(found) and float(np.median(found, axis=0).max()) >= _GROWS


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


def _evidence(times: _Times, label: Ints, is_dynamic: bool | None) -> str:
    """Return what shows that the inferences do different work."""
    long = label > 0
    factors = times.factors(long)
    low, high = float(factors.min()), float(factors.max())
    span = f"{low:.1f}" if f"{low:.1f}" == f"{high:.1f}" else f"{low:.1f} to {high:.1f}"
    sizes = (
        "input sizes are dynamic" if is_dynamic else "no file shows whether input sizes are dynamic"
    )
    return f"operators take {span} times as long in the longer inferences; {sizes}"
