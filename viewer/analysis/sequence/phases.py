"""Phases: inferences of one method that do different work, such as prefill and decode.

Times alone decide, with one fact of the program: whether its input sizes can vary. Each inference
has a *scale* (`viewer.analysis.sequence.scales`): how many times as long as in the shorter half of
the inferences operators with a third of the time took. One that grows alone does not change it.
Scales form groups if nothing is within a factor of 1.5 between them. A group is a phase only if its
order in time shows different work:

* it starts the sequence, and an operator grows in the others, as attention does in decode; or it is
  so much longer that no warm-up explains it: nearly all operators at least 2 times, evenly, the
  inference at least 7 times, and what follows does not settle step by step;
* or it alternates with the others, in short blocks, and is a good part of all inferences;
* or input sizes are dynamic, and it is in long blocks at least 2 times the others. If all operators
  take exactly one factor, as with another frequency, it must be 3.5.

Everything else (a slow start, single slow inferences, a device that slows down) is no phase. With
static input sizes there are none at all.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from viewer.analysis.sequence.scales import (
    ALIKE,
    APART,
    FIXED,
    LEAST,
    LEAST_SHARE,
    Scales,
    grows_with_position,
)
from viewer.arrays import Bools, Floats, Ints

# Different work: scales of a phase that could also be a slow start, without and with evidence that
# input sizes vary.
LEAST_SCALE, LEAST_WHOLE = 2.0, 3.0
LEAST_RARE = 4.0  # single slow inferences of many are less
LEAST_SCALE_DYNAMIC, LEAST_WHOLE_DYNAMIC = 1.6, 2.0
LEAST_ALONE = 7.0  # of one block at the start, if nothing grows
LEAST_UNIFORM = 3.5  # of long blocks whose operators take one factor, as with another frequency
# A device changes its level for longer than this; inputs vary faster.
LONG_BLOCK = 8
# Blocks of an input size, and inferences after a slow start, to compare.
LEAST_REPEATED, LEAST_OTHERS = 3, 8
LEAST_RETURNED = 2  # of blocks that are no single inferences, and together a good part
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
    times = Scales.of(lengths, parts)
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
    is_growing = grows_with_position(times.parts, label == 0)
    label = _with_short_chunks(times, label) if is_growing else _nearest_size(times, label)
    first = [int(np.argmax(label == own)) for own in range(int(label.max()) + 1)]
    order = np.argsort(first)
    rank = np.empty(len(order), np.int64)
    rank[order] = np.arange(len(order))
    of = rank[label]
    names = tuple(f"phase {number + 1}" for number in range(len(order)))
    if len(names) == 2 and _is_prefill(of, label, times):
        names = (PREFILL, DECODE)
    return Phases(of, names, _evidence(times, label, is_dynamic))


def _with_short_chunks(times: Scales, label: Ints) -> Ints:
    """Return labels in which the last chunk of a prompt, of few tokens, is with the others.

    By the operators that take longest in prompts: those do the work of the tokens.
    """
    factors = times.factors(label > 0)
    most = factors >= 0.5 * factors.max()
    usual = np.maximum(np.median(times.parts[label == 0], axis=0), 1)
    scale = np.median(times.parts[:, most] / usual[most], axis=1)
    is_known = bool(np.quantile(scale[label == 0], 0.9) < ALIKE)
    return np.where((label == 0) & (scale >= APART), 1, label) if is_known else label


def _nearest_size(times: Scales, label: Ints) -> Ints:
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


def _is_other_work(times: Scales, high: Bools, is_dynamic: bool | None) -> bool:
    """Whether the order of the longer inferences shows that they do more work."""
    starts, longer = bool(high[0]), times.times_longer(high)
    if starts and 2 * high.sum() <= len(high) and grows_with_position(times.parts, ~high):
        # The attention of a short prompt may take as long as that of a late step, and operators
        # of the last token do the same work.
        part = float(times.usual[times.factors(high) >= LEAST_SCALE_DYNAMIC].sum())
        return part >= FIXED * float(times.usual.sum())
    if len(_blocks(high)) == 1:
        return _is_one_block(times, high, is_dynamic)
    is_short = _is_short(high)
    if not is_short and not _is_short(~high):  # as a device that slows and recovers
        return bool(is_dynamic) and _is_long_block(times, high)
    if not times.nearly_all(high, LEAST_SCALE_DYNAMIC, by_time_alone=starts and is_dynamic is True):
        return False
    few = high if 2 * high.sum() <= len(high) else ~high
    many = _blocks(~few)
    own = _blocks(few)
    is_part = bool(few.mean() >= LEAST_SHARE)
    returns = own.min() > 1 and few.mean() >= 2 * LEAST_SHARE and times.is_alike(few, ALIKE)
    repeats = len(own) >= (LEAST_RETURNED if returns else LEAST_REPEATED) and _is_short(few)
    repeats = repeats and bool(2 * many.max() <= many.sum())  # as one level is not
    if repeats and (is_part or starts) and times.is_alike(few, APART if is_part else ALIKE):
        return True
    least = LEAST_WHOLE_DYNAMIC if is_dynamic else LEAST_WHOLE
    goes_on = len(own) >= LEAST_REPEATED or bool(high[LONG_BLOCK:].any())  # as no slow start
    goes_on = goes_on or len(high) <= LONG_BLOCK
    if not starts or not is_short or few is not high or not goes_on:
        return False
    return (
        longer >= least
        if is_part
        else longer >= LEAST_SCALE and times.typically_longer(high) >= LEAST_RARE
    )


def _is_one_block(times: Scales, high: Bools, is_dynamic: bool | None) -> bool:
    """Whether one block of longer inferences does more work."""
    count = int(high.sum())
    if not high[0] or count >= LONG_BLOCK:
        is_later = count > 1 and int(np.argmax(high)) >= LEAST
        return bool(is_dynamic) and (bool(high[0]) or is_later) and _is_long_block(times, high)
    if _settles(times, count) or not times.is_even(high):
        return False
    enough = len(times.usual) > 1 and (~high).sum() >= LEAST_OTHERS
    return (
        enough and times.times_longer(high) >= LEAST_ALONE and times.nearly_all(high, LEAST_SCALE)
    )


def _is_long_block(times: Scales, high: Bools) -> bool:
    """Whether long blocks do more work: a device that slows down takes one factor, and less."""
    least = LEAST_UNIFORM if times.is_uniform(high) else LEAST_SCALE
    edges = np.flatnonzero(np.diff(high.astype(np.int8))).tolist()
    sides = [
        [
            float(np.median(times.lengths[part]))
            for part in (slice(max(first, 0), at), slice(at, last))
        ]
        for at, first, last in ((e + 1, e + 1 - LONG_BLOCK, e + 1 + LONG_BLOCK) for e in edges)
    ]
    is_far = all(max(side) >= least * min(side) for side in sides)
    return is_far and times.nearly_all(high, LEAST_SCALE_DYNAMIC)


def _settles(times: Scales, count: int) -> bool:
    """Whether the long inferences at the start become shorter step by step, as while warming up."""
    excess = times.scale / np.median(times.scale) - 1
    if excess[0] <= 0:
        return False
    is_less = bool(_LEAST_KEPT * excess[0] <= excess[1] <= _MOST_KEPT * excess[0])
    rest = float(excess[count : count + _FOLLOWING].max())
    return is_less or rest >= max(_LEAST_REST, _PART_OF_FIRST * float(excess[0]))


def _is_prefill(of: Ints, label: Ints, times: Scales) -> bool:
    """Whether few long inferences are each followed by several short ones that grow."""
    long = label == 1
    shape = bool(long[0]) and long.sum() < (~long).sum() and np.median(_blocks(long)) < LONG_BLOCK
    return bool(shape) and bool(grows_with_position(times.parts, of == 1))


def _evidence(times: Scales, label: Ints, is_dynamic: bool | None) -> str:
    """Return what shows that the inferences do different work."""
    long = label > 0
    factors = times.factors(long)
    low, high = float(factors.min()), float(factors.max())
    span = f"{low:.1f}" if f"{low:.1f}" == f"{high:.1f}" else f"{low:.1f} to {high:.1f}"
    sizes = (
        "input sizes are dynamic" if is_dynamic else "no file shows whether input sizes are dynamic"
    )
    return f"operators take {span} times as long in the longer inferences; {sizes}"
