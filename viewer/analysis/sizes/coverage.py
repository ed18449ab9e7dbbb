"""Assigns every byte of a file to one of the ranges that claim it, so that sizes add up exactly."""

from __future__ import annotations

import heapq
from collections.abc import Sequence
from itertools import pairwise

import numpy as np

from viewer.arrays import Ints


def assigned_bytes(
    start: Ints, size: Ints, priority: Sequence[int], total: int
) -> tuple[Ints, int]:
    """Return the bytes that each range gets, and those that no range claims.

    A byte that several ranges claim belongs to the one with the highest priority, then to the first
    one. total: bytes of the file; what is outside is left out. The results add up to it.
    """
    low = np.clip(start, 0, total)
    high = np.clip(start + np.maximum(size, 0), low, total)
    own = np.zeros(len(start), np.int64)
    order = np.argsort(low, kind="stable").tolist()
    starts, ends = low.tolist(), high.tolist()
    edges = np.unique(np.concatenate(([0, total], low, high))).tolist()
    unclaimed, following = 0, 0
    active: list[tuple[int, int]] = []  # (negative priority, range)
    for here, after in pairwise(edges):
        while following < len(order) and starts[order[following]] <= here:
            number = order[following]
            heapq.heappush(active, (-priority[number], number))
            following += 1
        while active and ends[active[0][1]] <= here:
            heapq.heappop(active)
        if active:
            own[active[0][1]] += after - here
        else:
            unclaimed += after - here
    return own, unclaimed
