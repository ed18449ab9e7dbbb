"""Aligns two sequences in order: the most pairs of equal items, or those with the highest score.

If several alignments are best, the pairs come as early in both sequences as possible: of three
equal calls and four equal calls, the first three are paired.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable, Hashable, Sequence
from itertools import pairwise

import numpy as np

from viewer.arrays import Ints

Pairs = list[tuple[int, int]]

# The table has one entry per pair of items. Beyond this many, items are paired by their number
# among the equal ones.
_LARGEST = 4_000_000


def best_alignment(score: Callable[[int], Ints], rows: int, columns: int) -> Pairs:
    """Return the pairs in order with the highest sum of scores, as indexes, ascending.

    score: of a row with every column, 0 for what may not be paired.
    """
    # Of the table of the best sums of what follows, only some rows are kept; those between are
    # computed again on the way back.
    step = max(int(rows**0.5), 1)
    last = np.zeros(columns + 1, np.int64)
    checkpoints = {rows: last}
    for i in range(rows - 1, -1, -1):
        last = _row(score(i), last)
        if i % step == 0:
            checkpoints[i] = last
    pairs: Pairs = []
    i = j = 0
    while i < rows and j < columns:
        end = min(i - i % step + step, rows)
        block = [checkpoints[end]]
        for row in range(end - 1, i - 1, -1):
            block.append(_row(score(row), block[-1]))
        block.reverse()
        for best, below in pairwise(block):
            scores = score(i)
            while j < columns and best[j] == best[j + 1] and best[j] != scores[j] + below[j + 1]:
                j += 1
            if j < columns and scores[j] and best[j] == scores[j] + below[j + 1]:
                pairs.append((i, j))
                j += 1
            i += 1
    return pairs


def _row(score: Ints, below: Ints) -> Ints:
    """The best sums of what follows a place of a row, from those of the row below it."""
    best = np.append(np.maximum(score + below[1:], below[:-1]), 0)
    maxima: Ints = np.maximum.accumulate(best[::-1])[::-1]
    return maxima


def aligned(a: Sequence[Hashable], b: Sequence[Hashable]) -> Pairs:
    """Return the most pairs of equal items in order, as indexes, ascending."""
    first = 0
    shorter = min(len(a), len(b))
    while first < shorter and a[first] == b[first]:
        first += 1
    last = 0
    # Of unequal numbers of equal items, the first ones are paired, so the end must not take any.
    if len(a) == len(b):
        while last < shorter - first and a[-1 - last] == b[-1 - last]:
            last += 1
    end_a, end_b = len(a) - last, len(b) - last
    x, y = a[first:end_a], b[first:end_b]
    middle = _best(x, y) if len(x) * len(y) <= _LARGEST else _by_number(x, y)
    return [
        *((i, i) for i in range(first)),
        *((i + first, j + first) for i, j in middle),
        *((end_a + i, end_b + i) for i in range(last)),
    ]


def ascending(pairs: Sequence[tuple[int, int]]) -> Pairs:
    """The most of some pairs, sorted by their first index, of which none cross."""
    ends: list[int] = []  # the least last index of every length
    of_length: list[int] = []
    before = [-1] * len(pairs)
    for number, (_, j) in enumerate(pairs):
        length = bisect_left(ends, j)
        ends[length:] = [j, *ends[length + 1 :]]
        of_length[length:] = [number, *of_length[length + 1 :]]
        before[number] = of_length[length - 1] if length else -1
    chain, number = [], of_length[-1] if of_length else -1
    while number >= 0:
        chain.append(pairs[number])
        number = before[number]
    return chain[::-1]


def _best(a: Sequence[Hashable], b: Sequence[Hashable]) -> Pairs:
    if not a or not b:
        return []
    number: dict[Hashable, int] = {}
    codes_a, codes_b = (
        np.array([number.setdefault(key, len(number)) for key in keys]) for keys in (a, b)
    )
    rest = np.zeros((len(a) + 1, len(b) + 1), np.int32)  # the most pairs of what follows
    for i in range(len(a) - 1, -1, -1):
        paired = np.where(codes_b == codes_a[i], 1 + rest[i + 1, 1:], 0)
        best = np.maximum(paired, rest[i + 1, :-1])
        # Not pairing b[j] takes the best of those behind it.
        rest[i, :-1] = np.maximum.accumulate(best[::-1])[::-1]
    pairs, i, j = [], 0, 0
    while i < len(a) and j < len(b):
        if codes_a[i] == codes_b[j] and 1 + rest[i + 1, j + 1] >= rest[i, j]:
            pairs.append((i, j))
            i, j = i + 1, j + 1
        elif rest[i, j + 1] >= rest[i, j]:
            j += 1
        else:
            i += 1
    return pairs


def _by_number(a: Sequence[Hashable], b: Sequence[Hashable]) -> Pairs:
    """Pairs of equal items with the same number among these; those that cross others are left."""
    places: dict[Hashable, list[int]] = {}
    for j, key in enumerate(b):
        places.setdefault(key, []).append(j)
    used: dict[Hashable, int] = {}
    pairs, last = [], -1
    for i, key in enumerate(a):
        nth = used.get(key, 0)
        used[key] = nth + 1
        positions = places.get(key, [])
        if nth < len(positions) and positions[nth] > last:
            last = positions[nth]
            pairs.append((i, last))
    return pairs
