"""Where the slices of one track go: preorder, lane and depth, from their intervals alone.

A lane is a properly nested sub-sequence of a track. Slices that overlap without nesting are put
into lanes first-fit; a slice without a length is a leaf of the innermost slice around it.
"""

from __future__ import annotations

import heapq
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from viewer.arrays import Bools, Ints

# trace_processor leaves slices open beyond 512 levels.
MAX_DEPTH = 500
NESTING_LANES = 64
_CHAINED_LANES = 8
_LITTLE = 4  # times as much is left
_FEW = 32  # stretches of slices for which a step of all together does not pay


@dataclass(slots=True)
class Placed:
    """One track laid out: its slices in preorder with lane and depth."""

    index: Ints
    lane: Ints
    depth: Ints


def level_fault(start: Ints, end: Ints, level: NDArray[np.int32]) -> int | None:
    """The first position that breaks preorder, nesting or the limit of depth; None if none does."""
    if level[0] != 0:
        return 0
    steps = np.diff(level)
    bad = (steps > 1) | (np.diff(start) < 0)
    if bad.any():
        return int(np.flatnonzero(bad)[0]) + 1
    if int(level.max()) >= MAX_DEPTH or int(level.min()) < 0:
        return int(np.argmax(level))
    positions: Ints = np.empty(0, np.int64)
    for depth in range(int(level.max()) + 1):
        above, positions = positions, np.flatnonzero(level == depth)
        overlap = start[positions][1:] < end[positions][:-1]
        if overlap.any():
            return int(positions[1:][overlap][0])
        if depth:
            parent = above[np.searchsorted(above, positions) - 1]
            outside = end[positions] > end[parent]
            if outside.any():
                return int(positions[outside][0])
    return None


def place_by_time(start: Ints, end: Ints) -> Placed:
    """Preorder, lane and depth from the intervals alone."""
    long = np.flatnonzero(end > start)
    long = _by_start_then_longest(start, end, long)
    s, e = start[long], end[long]
    # By start the ends are nearly in order: what merges runs takes a quarter of quicksort's time.
    ends = np.sort(e, kind="stable")
    depth = np.arange(len(long)) - np.searchsorted(ends, s, side="right")
    lane = np.zeros(len(long), np.int64)
    if not _is_nested(s, e, depth):
        lane, depth = _first_fit(s, e)
    if len(long) == len(start) and not lane.any():
        return Placed(long, lane, depth)

    zero = np.flatnonzero(end == start)
    base = lane == 0
    opened = np.searchsorted(s[base], start[zero], side="left")
    closed = np.searchsorted(np.sort(e[base]), start[zero], side="right")
    index = np.concatenate([zero, long])
    lane = np.concatenate([np.zeros(len(zero), np.int64), lane])
    depth = np.concatenate([opened - closed, depth])
    # At one start time: what ended is closed, points come before the slices that begin, and of
    # those the outer ones first.
    preorder = np.lexsort((depth, end[index] > start[index], start[index], lane))
    return Placed(index[preorder], lane[preorder], depth[preorder])


def _by_start_then_longest(start: Ints, end: Ints, of: Ints) -> Ints:
    """Some slices by start, the longest first. Most files are in order of time already, and few
    slices start together: only those are sorted by two keys."""
    begins = start[of]
    if (begins[1:] < begins[:-1]).any():
        by_start = np.argsort(begins, kind="stable")
        of, begins = of[by_start], begins[by_start]
    same = begins[1:] == begins[:-1]
    if same.any():
        tied = np.append(False, same) | np.append(same, False)
        at = of[tied]
        of = of.copy()
        of[tied] = at[np.lexsort((-end[at], start[at]))]
    return of


def place_flat(start: Ints, end: Ints) -> Placed:
    """Every slice at depth 0, in the first lane that is free; a lane is free from an end on."""
    index = np.lexsort((end, start))
    s, e = start[index], end[index]
    lane = np.zeros(len(index), np.int64)
    # Sorted by start, a lane takes the first slice, then the first one that begins after that has
    # ended, and so on; what is left is for the next lane. Those that need many lanes go one by one.
    rest, number = np.arange(len(index)), 0
    while len(rest) and number < _CHAINED_LANES:
        taken = _chain(s[rest], e[rest])
        lane[rest[taken]] = number
        rest, number = rest[~taken], number + 1
    lane[rest] = number + _lanes_one_by_one(s[rest], e[rest])
    by_lane = np.argsort(lane, kind="stable")
    return Placed(index[by_lane], lane[by_lane], np.zeros(len(index), np.int64))


def _chain(start: Ints, end: Ints) -> Bools:
    """Which slices, sorted by start, one lane takes that takes each as soon as it is free."""
    after = np.searchsorted(start, end)
    # One without a length ends where it begins, and must not be followed by itself.
    after = np.maximum(after, np.arange(1, len(start) + 1))
    taken = np.zeros(len(start), np.bool_)
    if (after == np.arange(1, len(start) + 1)).all():
        taken[:] = True
        return taken
    following, found, i = after.tolist(), [], 0
    while i < len(following):
        found.append(i)
        i = following[i]
    taken[found] = True
    return taken


def _lanes_one_by_one(start: Ints, end: Ints) -> Ints:
    """The lowest lane that is free, for each of many slices sorted by start."""
    lane = np.zeros(len(start), np.int64)
    busy: list[tuple[int, int]] = []
    free: list[int] = []
    for i, (begin, stop) in enumerate(zip(start.tolist(), end.tolist(), strict=True)):
        while busy and busy[0][0] <= begin:
            heapq.heappush(free, heapq.heappop(busy)[1])
        lane[i] = heapq.heappop(free) if free else len(busy)
        heapq.heappush(busy, (stop, int(lane[i])))
    return lane


def _is_nested(start: Ints, end: Ints, depth: Ints) -> bool:
    if len(start) == 0:
        return True
    if int(depth.max()) >= MAX_DEPTH:
        return False
    above: Ints = np.empty(0, np.int64)
    for level in range(int(depth.max()) + 1):
        positions = np.flatnonzero(depth == level)
        if (start[positions][1:] < end[positions][:-1]).any():
            return False
        if level:
            where = np.searchsorted(above, positions) - 1
            if (where < 0).any() or (end[positions] > end[above[where]]).any():
                return False
        above = positions
    return True


def _first_fit(start: Ints, end: Ints) -> tuple[Ints, Ints]:
    """Lane and depth of slices sorted by (start, -end): the first lane in which each one nests.

    Lane by lane, as what a lane takes does not depend on the next ones. Where a lane has taken
    little, much overlaps: then slice by slice, which does not look at the others for each lane.
    """
    lane = np.empty(len(start), np.int64)
    depth = np.zeros(len(start), np.int64)
    rest, number = np.arange(len(start)), 0
    while len(rest) and number < NESTING_LANES:
        level = _nested_in_one(start[rest], end[rest])
        taken = level >= 0
        lane[rest[taken]], depth[rest[taken]] = number, level[taken]
        number += 1
        is_little = np.count_nonzero(taken) * _LITTLE < len(rest)
        rest = rest[~taken]
        if is_little:
            break
    lane[rest], depth[rest] = _slice_by_slice(start[rest], end[rest], number)
    return lane, depth


def _slice_by_slice(start: Ints, end: Ints, first: int) -> tuple[Ints, Ints]:
    """The same for lanes from `first` on.

    Only `NESTING_LANES` lanes are searched; what fits in none of them goes flat into the further
    lane that has been free for longest. So time grows with n log n, not with slices times lanes.
    """
    lane = np.empty(len(start), np.int64)
    depth = np.zeros(len(start), np.int64)
    open_ends: list[list[int]] = []
    flat: list[tuple[int, int]] = []  # (end, lane) of the further lanes, a heap
    for i, (s, e) in enumerate(zip(start.tolist(), end.tolist(), strict=True)):
        number = -1
        for number, stack in enumerate(open_ends):  # noqa: B007 (it is used after the loop)
            while stack and stack[-1] <= s:
                stack.pop()
            if not stack or (stack[-1] >= e and len(stack) < MAX_DEPTH):
                break
        else:
            if first + len(open_ends) == NESTING_LANES:
                is_free = bool(flat) and flat[0][0] <= s
                lane[i] = flat[0][1] if is_free else NESTING_LANES + len(flat)
                (heapq.heapreplace if is_free else heapq.heappush)(flat, (e, int(lane[i])))
                continue
            number, stack = len(open_ends), []
            open_ends.append(stack)
        lane[i], depth[i] = first + number, len(stack)
        stack.append(e)
    return lane, depth


def _nested_in_one(start: Ints, end: Ints) -> Ints:
    """The depth of each slice in a lane that takes whatever nests in what it took before; -1 of
    those that do not.

    Where nothing is open all begins anew, so what lies between two such places is worked out beside
    the others, in step: the first slice of each, the second of each, and so on. Long ones, of which
    there are few, go slice by slice.
    """
    level = np.full(len(start), -1, np.int64)
    first = np.flatnonzero(np.append(True, start[1:] >= np.maximum.accumulate(end)[:-1]))
    size = np.diff(np.append(first, len(start)))
    by_size = np.argsort(-size, kind="stable")
    first, size = first[by_size], size[by_size]
    left = len(first)
    stack = np.empty((left, 1), np.int64)
    opened = np.zeros(left, np.int64)
    step = 0
    while True:
        left = int(np.searchsorted(-size[:left], -step, side="left"))
        if left < _FEW:
            break
        at, everyone = first[:left] + step, np.arange(left)
        begin, stop, opened = start[at], end[at], opened[:left]
        top = stack[everyone, opened - 1]
        while (ended := (opened > 0) & (top <= begin)).any():
            opened = opened - ended
            top = stack[everyone, opened - 1]
        fits = ((opened == 0) | (top >= stop)) & (opened < MAX_DEPTH)
        level[at[fits]] = opened[fits]
        if int(opened.max()) == stack.shape[1]:
            # Of those that go on alone, so this is never more than twice the slices.
            grown = np.empty((left, 2 * stack.shape[1]), np.int64)
            grown[:, : stack.shape[1]] = stack[:left]
            stack = grown
        stack[everyone[fits], opened[fits]] = stop[fits]
        opened = opened + fits
        step += 1
    for i in range(left):
        here = slice(int(first[i]) + step, int(first[i] + size[i]))
        ends = stack[i, : opened[i]].tolist()
        found = []
        for s, e in zip(start[here].tolist(), end[here].tolist(), strict=True):
            while ends and ends[-1] <= s:
                ends.pop()
            if not ends or (ends[-1] >= e and len(ends) < MAX_DEPTH):
                found.append(len(ends))
                ends.append(e)
            else:
                found.append(-1)
        level[here] = found
    return level
