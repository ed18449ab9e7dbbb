"""Levels that return, as in a burst of slow inferences: a stretch that differs from both sides.

Such levels differ little at any single place. So the two places with the most different times
between them are tested: random orders of the same times must not reach their difference.
"""

from __future__ import annotations

import numpy as np

from viewer.arrays import Floats, Ints

LEAST_ON_A_SIDE = 8
ORDERS = 999  # random orders
SEED = 61
# Standard deviations from both neighbors. Noise that depends on the inferences before it looks like
# short stretches that differ less.
_LEAST_STRETCH = 2.5
_MOST = 120  # more positions are grouped: all pairs of them are compared
_BATCH = 27  # random orders at once


def stretch(values: Floats, least: float) -> tuple[int, ...]:
    """Return the first positions of a stretch that differs from both sides, and of what follows."""
    count = len(values)
    if count < 3 * LEAST_ON_A_SIDE:
        return ()
    size = -(-count // _MOST)
    grouped = values[: count // size * size].reshape(-1, size).mean(axis=1)
    first, after = _pairs(len(grouped), -(-LEAST_ON_A_SIDE // size))
    score = _stretch_scores(grouped[None], first, after)[0]
    best = int(np.argmax(score))
    start, end = (_refined(values, int(edge[best]) * size, size) for edge in (first, after))
    if min(start, end - start, count - end) < LEAST_ON_A_SIDE:
        return ()
    sides = np.split(values, [start, end])
    spread = float(np.median([side.std() for side in sides]))
    needed = max(np.log(least), _LEAST_STRETCH * spread)
    if min(abs(np.median(sides[1]) - np.median(side)) for side in (sides[0], sides[2])) < needed:
        return ()
    random = np.random.default_rng(SEED)
    for _ in range(ORDERS // _BATCH):
        orders = random.permuted(np.tile(grouped, (_BATCH, 1)), axis=1)
        if (_stretch_scores(orders, first, after).max(axis=1) >= score[best]).any():
            return ()
    return start, end


def _pairs(count: int, least: int) -> tuple[Ints, Ints]:
    """The first positions of all stretches, and of what follows, with so many on all sides."""
    first, after = np.triu_indices(count + 1, least)
    inside = (first >= least) & (after <= count - least)
    return first[inside], after[inside]


def _stretch_scores(rows: Floats, first: Ints, after: Ints) -> Floats:
    """The difference of means inside and outside each stretch, in standard deviations."""
    count = rows.shape[1]
    sums = np.pad(np.cumsum(rows - rows.mean(axis=1, keepdims=True), axis=1), ((0, 0), (1, 0)))
    inside, length = sums[:, after] - sums[:, first], after - first
    spread = np.maximum(rows.std(axis=1, keepdims=True), 1e-12)
    scores: Floats = np.abs(inside) / np.sqrt(length * (count - length) / count) / spread
    return scores


def _refined(values: Floats, edge: int, size: int) -> int:
    """Return the position near a group's edge after which values differ most."""
    if size == 1:
        return edge
    low = max(edge - 2 * size, 0)
    near = values[low : edge + 2 * size]
    places = np.arange(1, len(near))
    rest = [p * near[:p].var() + (len(near) - p) * near[p:].var() for p in places.tolist()]
    return low + int(places[np.argmin(rest)])
