"""Phases: inferences of one method that do different work, such as prefill and decode.

Times alone decide, with one fact of the program: whether its input sizes can vary. Each inference
has a *scale*: how many times as long its operators took as in the shorter half of the inferences,
the median of the operators by time. An operator that grows alone does not change it. Scales form
groups if nothing is within a factor of 1.5 between them. A group is a phase only if its order in
time shows different work:

* it starts the sequence, and an operator grows in the others, as attention does in decode; or it is
  so much longer that no warm-up explains it: nearly all operators at least 2 times, evenly, the
  inference at least 3 times (less if input sizes are dynamic), and what follows does not settle
  step by step;
* or it alternates with the others, in short blocks, and is a good part of all inferences;
* or input sizes are dynamic, and it is in long blocks far from the others.

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
LEAST_RARE = 4.0  # single slow inferences of many are less
LEAST_SCALE_DYNAMIC, LEAST_WHOLE_DYNAMIC, LEAST_BLOCK_DYNAMIC = 1.6, 2.0, 2.5
# A device changes its level for longer than this; inputs vary faster.
LONG_BLOCK = 8
# A part of all inferences that single slow ones do not reach.
LEAST_SHARE = 0.15
# Blocks of an input size, and inferences after a slow start, to compare.
LEAST_REPEATED, LEAST_OTHERS = 3, 8
# More work makes an operator longer by at most so many times the factor of the others.
SPREAD = 16.0
# In a slow start, factors of operators differ by more than this.
EVEN = 2.5
# Inputs of one size take times within this factor; single slow inferences do not.
ALIKE = 1.25
# Operators with less time are noise.
_LEAST_PART = 0.01
# How much of the time, and how many of the operators, "nearly all" are. One of them may do the same
# work in all inferences, as that of the last token does; it may be the second largest.
_NEARLY_ALL, _MOST_OF_ALL, _NEARLY_ALL_OPERATORS = 0.75, 0.6, 0.85
_LEAST_EXCEPTED = 3
# A part of the time that grows with the position, by its rank correlation, and by that in standard
# deviations of random orders.
_GROWS, _LEAST_DEVIATIONS = 0.6, 3.5
_LEAST_SEGMENT = 5
# Operators whose times vary by this factor among short inferences; the others have a part of the
# time that suffices.
_VARIES, _FIXED = 1.4, 0.35
# While an inference settles, so much of its excess remains in the next one.
_LEAST_KEPT, _MOST_KEPT = 0.15, 0.9
# It has not settled if the next ones exceed the median by so much, and by this part of its excess.
_FOLLOWING, _LEAST_REST, _PART_OF_FIRST = 3, 0.25, 0.08

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
            # Larger ones are apart from these only if each size repeats; prompts are of any length.
            if not all(times.repeats(one) for one in (group == low, group > low)):
                break
    if not label.any():
        return None
    label = _nearest_size(times, label)
    first = [int(np.argmax(label == own)) for own in range(int(label.max()) + 1)]
    order = np.argsort(first)
    rank = np.empty(len(order), np.int64)
    rank[order] = np.arange(len(order))
    of = rank[label]
    names = tuple(f"phase {number + 1}" for number in range(len(order)))
    if len(names) == 2 and _is_prefill(of, label, times):
        names = (PREFILL, DECODE)
    return Phases(of, names, _evidence(times, label, is_dynamic))


def _nearest_size(times: _Times, label: Ints) -> Ints:
    """Return labels of the first inferences by size, if every size repeats.

    A slow start makes inferences longer, so that they are between two sizes.
    """
    sizes = range(int(label.max()) + 1)
    later = np.arange(len(label)) >= LONG_BLOCK
    of = [(label == size) & later for size in sizes]
    if not all(times.repeats(some) and some.sum() >= LONG_BLOCK for some in of):
        return label
    middle = np.array([np.median(times.scale[some]) for some in of])
    found = np.searchsorted(middle, ALIKE * times.scale, side="right") - 1
    return np.where(later, label, np.maximum(found, 0))


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
        # What differs among the shorter ones alone, as attention does, states no size of the work.
        low, high = np.quantile(own[short], [0.1, 0.9], axis=0)
        fixed = high <= _VARIES * np.maximum(low, 1)
        if usual[fixed].sum() < _FIXED * usual.sum():
            fixed[:] = True
        scale = _weighted_quantile((own / usual)[:, fixed], usual[fixed], 0.5)
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
        missing = float(np.median((~enough).sum(axis=1)))
        typical = np.median(factors, axis=0)
        spread = float(typical.max() / np.median(typical))
        columns = factors.shape[1]
        excepted = max((1 - _NEARLY_ALL_OPERATORS) * columns, columns >= _LEAST_EXCEPTED)
        is_most = by_time_alone or missing <= excepted
        least_time = _NEARLY_ALL if by_time_alone else _MOST_OF_ALL
        return by_time >= least_time and is_most and spread <= SPREAD

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
        return bool(factors[-1] <= EVEN * factors[1 if has_same else 0])

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
    return [float(np.sqrt(ordered[gap] * ordered[gap + 1])) for gap in gaps]


def _blocks(some: Bools) -> Ints:
    """Return the lengths of the blocks of neighbors that are all of some inferences."""
    edges = np.flatnonzero(np.diff(np.concatenate([[False], some, [False]]).astype(np.int8)))
    return np.asarray(edges[1::2] - edges[::2])


def _is_short(some: Bools) -> bool:
    """Whether most of some inferences are in short blocks; single ones elsewhere count as one."""
    blocks = _blocks(some)
    return bool(2 * blocks[blocks < LONG_BLOCK].sum() > blocks.sum())


def _is_other_work(times: _Times, high: Bools, is_dynamic: bool | None) -> bool:
    """Whether the order of the longer inferences shows that they do more work."""
    starts, longer = bool(high[0]), times.times_longer(high)
    if starts and 2 * high.sum() <= len(high) and grows_with_position(times.parts, ~high):
        # The attention of a short prompt may take as long as that of a late step, and operators
        # of the last token do the same work.
        part = float(times.usual[times.factors(high) >= LEAST_SCALE_DYNAMIC].sum())
        return part >= _FIXED * float(times.usual.sum())
    if len(_blocks(high)) == 1:
        return _is_one_block(times, high, is_dynamic)
    is_short = _is_short(high)
    if not is_short and not _is_short(~high):  # as a device that slows and recovers
        is_far = longer >= LEAST_BLOCK_DYNAMIC
        return bool(is_dynamic) and is_far and times.nearly_all(high, LEAST_SCALE)
    if not times.nearly_all(high, LEAST_SCALE_DYNAMIC, by_time_alone=starts and is_dynamic is True):
        return False
    few = high if 2 * high.sum() <= len(high) else ~high
    many = _blocks(~few)
    repeats = len(_blocks(few)) >= LEAST_REPEATED and _is_short(few)
    repeats = repeats and bool(2 * many.max() <= many.sum())  # as one level is not
    is_part = bool(few.mean() >= LEAST_SHARE)
    if repeats and (is_part or starts) and times.is_alike(few, APART if is_part else ALIKE):
        return True
    least = LEAST_WHOLE_DYNAMIC if is_dynamic else LEAST_WHOLE
    least = least if is_part else LEAST_RARE
    return starts and is_short and few is high and longer >= least


def _is_one_block(times: _Times, high: Bools, is_dynamic: bool | None) -> bool:
    """Whether one block of longer inferences does more work."""
    count, longer = int(high.sum()), times.times_longer(high)
    if bool(high[0]) and count < LONG_BLOCK:
        if _settles(times, count) or not times.is_even(high):
            return False
        if is_dynamic:
            is_far = longer >= LEAST_WHOLE_DYNAMIC
            return is_far and times.nearly_all(high, LEAST_SCALE_DYNAMIC)
        enough = len(times.usual) > 1 and (~high).sum() >= LEAST_OTHERS
        return enough and longer >= LEAST_WHOLE and times.nearly_all(high, LEAST_SCALE)
    is_far = longer >= LEAST_BLOCK_DYNAMIC
    return is_far and bool(is_dynamic) and count > 1 and times.nearly_all(high, LEAST_SCALE)


def _settles(times: _Times, count: int) -> bool:
    """Whether the long inferences at the start become shorter step by step, as while warming up."""
    excess = times.scale / np.median(times.scale) - 1
    if excess[0] <= 0:
        return False
    is_less = bool(_LEAST_KEPT * excess[0] <= excess[1] <= _MOST_KEPT * excess[0])
    rest = float(excess[count : count + _FOLLOWING].max())
    return is_less or rest >= max(_LEAST_REST, _PART_OF_FIRST * float(excess[0]))


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
    """Whether the part of the time of an operator grows within the blocks of some inferences."""
    place = positions(some)
    ends = np.append(np.flatnonzero(place == 0), len(place))
    own = parts[some] / np.maximum(parts[some].sum(axis=1, keepdims=True), 1)
    found, weight = [], []
    for lo, hi in zip(ends[:-1].tolist(), ends[1:].tolist(), strict=True):
        if hi - lo >= _LEAST_SEGMENT:
            columns = own[lo:hi].T
            found.append([rank_correlation(place[lo:hi], column) for column in columns])
            weight.append(hi - lo - 1)
    if not found:
        return False
    best = float(np.average(found, axis=0, weights=weight).max())
    return best >= _GROWS and best * np.sqrt(sum(weight)) >= _LEAST_DEVIATIONS


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
