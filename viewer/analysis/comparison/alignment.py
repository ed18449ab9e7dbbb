"""Aligns two sequences in order so that the sum of the scores of all pairs is as large as possible.

If several alignments are best, the pairs come as early in both sequences as possible: of three
equal calls and four equal calls, the first three are paired.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from typing import TypeVar

import numpy as np

from viewer.arrays import Floats

T = TypeVar("T")

# The table of scores has one entry per pair of items, and takes 0.5 s for a million. Beyond this
# many, only equal items are paired, by their number among the equal ones.
_LARGEST = 1_000_000


def aligned(
    a: Sequence[T], b: Sequence[T], score: Callable[[T, T], float], equal: Callable[[T], Hashable]
) -> list[tuple[int, int]]:
    """Return the pairs of indexes, ascending.

    score: of a pair, at least 0; a pair with 0 is not made. equal: items with the same value have
    the highest score; common items at the start and at the end are paired without a table.
    """
    first = 0
    keys_a, keys_b = [equal(x) for x in a], [equal(x) for x in b]
    shorter = min(len(a), len(b))
    while first < shorter and keys_a[first] == keys_b[first]:
        first += 1
    last = 0
    # Of unequal numbers of equal items, the first ones are paired, so the end must not take any.
    if len(a) == len(b):
        while last < shorter - first and keys_a[-1 - last] == keys_b[-1 - last]:
            last += 1
    end_a, end_b = len(a) - last, len(b) - last
    middle_a, middle_b = a[first:end_a], b[first:end_b]
    if len(middle_a) * len(middle_b) <= _LARGEST:
        middle = _best(middle_a, middle_b, score)
    else:
        middle = _by_number(keys_a[first:end_a], keys_b[first:end_b])
    return [
        *((i, i) for i in range(first)),
        *((i + first, j + first) for i, j in middle),
        *((end_a + i, end_b + i) for i in range(last)),
    ]


def _best(a: Sequence[T], b: Sequence[T], score: Callable[[T, T], float]) -> list[tuple[int, int]]:
    if not a or not b:
        return []
    scores = np.array([[score(x, y) for y in b] for x in a], np.float64)
    rest = np.zeros((len(a) + 1, len(b) + 1))  # the best sum of what follows
    for i in range(len(a) - 1, -1, -1):
        paired = np.where(scores[i] > 0, scores[i] + rest[i + 1, 1:], -np.inf)
        best = np.maximum(paired, rest[i + 1, :-1])
        # Not pairing b[j] takes the best of those behind it.
        rest[i, :-1] = np.maximum.accumulate(best[::-1])[::-1]
    return _traced(scores, rest)


def _traced(scores: Floats, rest: Floats) -> list[tuple[int, int]]:
    found, i, j = [], 0, 0
    while i < scores.shape[0] and j < scores.shape[1]:
        if scores[i, j] > 0 and scores[i, j] + rest[i + 1, j + 1] >= rest[i, j]:
            found.append((i, j))
            i, j = i + 1, j + 1
        elif rest[i, j + 1] >= rest[i, j]:
            j += 1
        else:
            i += 1
    return found


def _by_number(a: Sequence[Hashable], b: Sequence[Hashable]) -> list[tuple[int, int]]:
    """Pairs of equal items with the same number among these; those that cross others are left."""
    places: dict[Hashable, list[int]] = {}
    for j, key in enumerate(b):
        places.setdefault(key, []).append(j)
    used: dict[Hashable, int] = {}
    found, last = [], -1
    for i, key in enumerate(a):
        nth = used.get(key, 0)
        used[key] = nth + 1
        own = places.get(key, [])
        if nth < len(own) and own[nth] > last:
            last = own[nth]
            found.append((i, last))
    return found
