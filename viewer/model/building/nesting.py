"""Computes preorder, lane and depth of a track's slices from their intervals alone.

A lane is a properly nested subset of a track. Slices that overlap without nesting go to the first
lane where they fit. A slice with no duration is a leaf of the innermost slice around it.
"""

from __future__ import annotations

import heapq

import numpy as np
from numpy.typing import NDArray

from viewer.arrays import Bools, Ints, levels
from viewer.dataclasses import dataclass

# trace_processor does not close slices beyond 512 levels.
MAX_DEPTH = 500
NESTING_LANES = 64
_CHAINED_LANES = 8
_MANY_CROSS = 6  # more than 1/6 of the slices end within the next one: trying all takes less time
_LONG = 64  # slices of a segment: more of them in step would be many steps for few segments
_FEW = 32  # segments below which a vectorized step does not pay off
_LITTLE = 4  # if a lane takes less than 1/4 of the rest, continue slice by slice
_NEVER, _ALWAYS = np.iinfo(np.int64).min, np.iinfo(np.int64).max


@dataclass(slots=True)
class Placed:
    """The slices of one track in preorder, with lane and depth."""

    index: Ints
    lane: Ints
    depth: Ints


def level_fault(start: Ints, end: Ints, level: NDArray[np.int32]) -> int | None:
    """The first position that violates preorder, nesting or the depth limit, or None."""
    if level[0] != 0:
        return 0
    bad = (level[1:] - level[:-1] > 1) | (start[1:] < start[:-1])
    if bad.any():
        return int(np.flatnonzero(bad)[0]) + 1
    deepest = int(level.max())
    if deepest >= MAX_DEPTH or int(level.min()) < 0:
        return int(np.argmax(level))
    positions = above_end = np.empty(0, np.int64)
    for depth in range(deepest + 1):
        above, positions = positions, (level == depth).nonzero()[0]
        own_end = end[positions]
        overlap = start[positions[1:]] < own_end[:-1]
        if overlap.any():
            return int(positions[1:][overlap][0])
        if depth:
            outside = own_end > above_end[above.searchsorted(positions) - 1]
            if outside.any():
                return int(positions[outside][0])
        above_end = own_end
    return None


def place_by_time(start: Ints, end: Ints) -> Placed:
    """Compute preorder, lane and depth from the intervals alone."""
    long = np.flatnonzero(end > start)
    long = _by_start_then_longest(start, end, long)
    s, e = start[long], end[long]
    # Sorted by start, ends are nearly in order: a merge sort takes a quarter of quicksort's time.
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
    # At the same time: ended slices are closed, then zero-duration slices come before slices that
    # start, and among those the outer ones first.
    preorder = np.lexsort((depth, end[index] > start[index], start[index], lane))
    return Placed(index[preorder], lane[preorder], depth[preorder])


def place_tracks(start: Ints, end: Ints, ptr: Ints) -> Placed:
    """Place many tracks at once as `place_by_time` places each; one track after another.

    Track t has the slices ptr[t] to ptr[t + 1].
    """
    count = np.diff(ptr)
    track = np.repeat(np.arange(len(count)), count)
    placed = place_by_time(*apart(start, end, ptr))
    by_track = np.argsort(track[placed.index], kind="stable")
    index, lane, depth = (part[by_track] for part in (placed.index, placed.lane, placed.depth))
    # The extra lanes beyond the searched ones are numbered over all tracks.
    for t in np.unique(track[lane >= NESTING_LANES]).tolist():
        span = slice(int(ptr[t]), int(ptr[t + 1]))
        alone = place_by_time(start[span], end[span])
        index[span], lane[span], depth[span] = alone.index + span.start, alone.lane, alone.depth
    return Placed(index, lane, depth)


def apart(start: Ints, end: Ints, ptr: Ints) -> tuple[Ints, Ints]:
    """The times of many tracks on one axis, one track after another; only their order stays.

    Track t has the slices ptr[t] to ptr[t + 1].
    """
    count = np.diff(ptr)
    # Ranks instead of times: a range of 2**62 ticks for each track would overflow int64.
    rank = np.unique(np.concatenate([start, end]), return_inverse=True)[1]
    rank += np.tile(np.repeat(np.arange(len(count)) * len(rank), count), 2)
    return rank[: len(start)], rank[len(start) :]


def _by_start_then_longest(start: Ints, end: Ints, of: Ints) -> Ints:
    """Sort slices by start, then longest first.

    Most files are in time order already and few slices start together, so only those are sorted by
    two keys.
    """
    begins = start[of]
    if (begins[1:] < begins[:-1]).any():
        by_start = np.argsort(begins, kind="stable")
        of, begins = of[by_start], begins[by_start]
    same = begins[1:] == begins[:-1]
    if same.any():
        tied = np.append(False, same) | np.append(same, False)
        tied_index = of[tied]
        of = of.copy()
        of[tied] = tied_index[np.lexsort((-end[tied_index], start[tied_index]))]
    return of


def place_flat(start: Ints, end: Ints) -> Placed:
    """Put every slice at depth 0 in the first free lane; a lane is free from its last end on."""
    index = np.lexsort((end, start))
    s, e = start[index], end[index]
    lane = np.zeros(len(index), np.int64)
    # Sorted by start, a lane takes the first slice, then the first one that starts after its end,
    # and so on. The rest is for the next lane. After `_CHAINED_LANES` lanes, slices are placed one
    # by one.
    rest, number = np.arange(len(index)), 0
    while len(rest) and number < _CHAINED_LANES:
        taken = _chain(s[rest], e[rest])
        lane[rest[taken]] = number
        rest, number = rest[~taken], number + 1
    lane[rest] = number + _lanes_one_by_one(s[rest], e[rest])
    by_lane = np.argsort(lane, kind="stable")
    return Placed(index[by_lane], lane[by_lane], np.zeros(len(index), np.int64))


def _chain(start: Ints, end: Ints) -> Bools:
    """Which slices, sorted by start, one lane takes if it always takes the next that fits."""
    after = np.searchsorted(start, end)
    # A slice with no duration ends where it starts and must not follow itself.
    after = np.maximum(after, np.arange(1, len(start) + 1))
    taken = np.zeros(len(start), np.bool_)
    if (after == np.arange(1, len(start) + 1)).all():
        taken[:] = True
        return taken
    following, chain, i = after.tolist(), [], 0
    while i < len(following):
        chain.append(i)
        i = following[i]
    taken[chain] = True
    return taken


def _lanes_one_by_one(start: Ints, end: Ints) -> Ints:
    """The lowest free lane for each of many slices sorted by start."""
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
    if int(depth.min()) < 0:
        return False
    above = above_end = np.empty(0, np.int64)
    for level, positions in enumerate(levels(depth)):
        own_end = end.take(positions)
        if (start.take(positions[1:]) < own_end[:-1]).any():
            return False
        if level:
            where = np.searchsorted(above, positions) - 1
            if (where < 0).any() or (own_end > above_end.take(where)).any():
                return False
        above, above_end = positions, own_end
    return True


def _first_fit(start: Ints, end: Ints) -> tuple[Ints, Ints]:
    """The first lane in which each slice nests, and its depth; slices sorted by (start, -end).

    Lane by lane, because a lane does not depend on later ones. If a lane takes few slices, many of
    them overlap; then the rest is placed slice by slice, which does not rescan the rest for each
    lane.
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
    """Like `_first_fit`, for lanes from `first` on.

    Only `NESTING_LANES` lanes are searched. A slice that fits in none of them goes flat into the
    extra lane that has been free longest. So time grows with n log n, not with slices times lanes.
    """
    lane = np.empty(len(start), np.int64)
    depth = np.zeros(len(start), np.int64)
    open_ends: list[list[int]] = []
    flat: list[tuple[int, int]] = []  # (end, lane) of the extra lanes, a heap
    # The first and last end among the innermost open slices of all lanes. A slice that starts
    # before the first and ends after the last fits in no lane: looking into 64 lanes for each of a
    # million such slices takes 5 s.
    first_end, last_end = _NEVER, _NEVER
    for i, (s, e) in enumerate(zip(start.tolist(), end.tolist(), strict=True)):
        number = NESTING_LANES
        if s >= first_end or e <= last_end:
            for number, stack in enumerate(open_ends, first):  # noqa: B007 (used after the loop)
                while stack and stack[-1] <= s:
                    stack.pop()
                if not stack or (stack[-1] >= e and len(stack) < MAX_DEPTH):
                    break
            else:
                number, stack = first + len(open_ends), []
                if number < NESTING_LANES:
                    open_ends.append(stack)
        if number == NESTING_LANES:
            is_free = bool(flat) and flat[0][0] <= s
            lane[i] = flat[0][1] if is_free else NESTING_LANES + len(flat)
            (heapq.heapreplace if is_free else heapq.heappush)(flat, (e, int(lane[i])))
        else:
            lane[i], depth[i] = number, len(stack)
            stack.append(e)
        if first + len(open_ends) == NESTING_LANES and (number < NESTING_LANES or s >= first_end):
            ends = [stack[-1] for stack in open_ends if stack]
            is_full = len(ends) == len(open_ends)
            first_end = min(ends, default=_ALWAYS) if is_full else _NEVER
            last_end = max(ends, default=_NEVER) if is_full else _NEVER
    return lane, depth


def _nested_in_one(start: Ints, end: Ints) -> Ints:
    """The depth of each slice in one lane, -1 if it does not nest in what the lane already has.

    Every slice ends after its start. Where no slice is open, nesting starts over. The segments
    between such places are independent.
    """
    first = np.flatnonzero(np.append(True, start[1:] >= np.maximum.accumulate(end)[:-1]))
    size = np.diff(np.append(first, len(start)))
    is_long = size > _LONG
    level = _nested_in_step(start, end, first[~is_long], size[~is_long])
    if is_long.any():
        mask = np.repeat(is_long, size)
        level[mask] = _nested_by_crossings(start[mask], end[mask])
    return level


def _nested_in_step(start: Ints, end: Ints, first: Ints, size: Ints) -> Ints:
    """The depth of each slice of some segments, -1 if it does not nest, and for other slices.

    The first slice of each segment is processed, then the second of each, and so on. The last few
    segments are finished slice by slice.
    """
    level = np.full(len(start), -1, np.int64)
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
        index, everyone = first[:left] + step, np.arange(left)
        begin, stop, opened = start[index], end[index], opened[:left]
        top = stack[everyone, opened - 1]
        while (ended := (opened > 0) & (top <= begin)).any():
            opened = opened - ended
            top = stack[everyone, opened - 1]
        fits = ((opened == 0) | (top >= stop)) & (opened < MAX_DEPTH)
        level[index[fits]] = opened[fits]
        if int(opened.max()) == stack.shape[1]:
            # Only for the segments that continue, so it never exceeds twice the slices.
            grown = np.empty((left, 2 * stack.shape[1]), np.int64)
            grown[:, : stack.shape[1]] = stack[:left]
            stack = grown
        stack[everyone[fits], opened[fits]] = stop[fits]
        opened = opened + fits
        step += 1
    for i in range(left):
        here = slice(int(first[i]) + step, int(first[i] + size[i]))
        level[here] = _nested_one_by_one(start[here], end[here], stack[i, : opened[i]].tolist())
    return level


def _nested_by_crossings(start: Ints, end: Ints) -> Ints:
    """The depth of each slice, -1 if it does not nest.

    A slice can only fail to nest if an earlier one ends within it. In most files few slices have
    such an earlier one: these are tried one by one, and all others are in the lane anyway.
    """
    before, after = end[:-1], end[1:]
    if np.count_nonzero((start[1:] < before) & (before < after)) * _MANY_CROSS > len(start):
        return _nested_one_by_one(start, end, [])
    by_end = np.argsort(end, kind="stable")
    ended = np.searchsorted(end[by_end], start, side="right")  # slices that end before each starts
    crosses = _ends_inside(end, by_end, ended)
    taken = ~crosses
    level = _depth_among(taken, by_end, ended)
    tried = np.flatnonzero(crosses)
    if len(tried):
        inner = _innermost_end(taken, level, tried, end)
        fit_list = []
        open_ends: list[int] = []
        for s, e, limit in zip(
            start[tried].tolist(), end[tried].tolist(), inner.tolist(), strict=True
        ):
            while open_ends and open_ends[-1] <= s:
                open_ends.pop()
            fits = e <= limit and (not open_ends or open_ends[-1] >= e)
            if fits:
                open_ends.append(e)
            fit_list.append(fits)
        taken[tried] = fit_list
        level = _depth_among(taken, by_end, ended)
    if int(level.max(initial=0, where=taken)) >= MAX_DEPTH:
        return _nested_one_by_one(start, end, [])
    level[~taken] = -1
    return level


def _ends_inside(end: Ints, by_end: Ints, ended: Ints) -> Bools:
    """Whether an earlier slice ends inside of each, before its end.

    Those that end inside of a slice follow one another in order of their ends. The first of them in
    order of time comes from tables of the least of 1, 2, 4, ... neighbors.
    """
    in_order = end[by_end]
    is_first = np.append(True, in_order[1:] != in_order[:-1])
    sooner = np.empty(len(end), np.int64)  # how many end before each ends
    sooner[by_end] = np.maximum.accumulate(np.where(is_first, np.arange(len(end)), 0))
    is_crossed = np.zeros(len(end), np.bool_)
    asked = np.flatnonzero(sooner > ended)
    low, high = ended[asked], sooner[asked]
    power = np.frexp(high - low)[1] - 1  # of the longest table that is not too long
    by_power = np.argsort(power, kind="stable")
    asked, low, high, power = asked[by_power], low[by_power], high[by_power], power[by_power]
    power_ptr = np.searchsorted(power, np.arange(int(power.max(initial=-1)) + 2))
    least = by_end.astype(np.int32)
    for k in range(len(power_ptr) - 1):
        span = slice(int(power_ptr[k]), int(power_ptr[k + 1]))
        first = np.minimum(least[low[span]], least[high[span] - (1 << k)])
        is_crossed[asked[span]] = first < asked[span]
        least = np.minimum(least[: -(1 << k)], least[1 << k :])
    return is_crossed


def _depth_among(taken: Bools, by_end: Ints, ended: Ints) -> Ints:
    """How many of some slices are open where each slice starts; earlier ones, which all nest."""
    closed = np.append(0, np.cumsum(taken[by_end]))
    return np.cumsum(taken) - taken - closed[ended]


def _innermost_end(taken: Bools, level: Ints, of: Ints, end: Ints) -> Ints:
    """The end of the innermost of some slices that are open where each of `of` starts."""
    among = np.flatnonzero(taken)
    among = among[np.argsort(level[among], kind="stable")]
    keys = level[among] * len(taken) + among
    position = np.searchsorted(keys, (level[of] - 1) * len(taken) + of) - 1
    return np.where(
        level[of] > 0, end[among[np.maximum(position, 0)]] if len(among) else 0, _ALWAYS
    )


def _nested_one_by_one(start: Ints, end: Ints, ends: list[int]) -> Ints:
    """Like the others, for few slices, or if many do not nest or some nest too deep.

    ends: the ends of the open slices, outermost first.
    """
    depths = []
    for s, e in zip(start.tolist(), end.tolist(), strict=True):
        while ends and ends[-1] <= s:
            ends.pop()
        if not ends or (ends[-1] >= e and len(ends) < MAX_DEPTH):
            depths.append(len(ends))
            ends.append(e)
        else:
            depths.append(-1)
    return np.array(depths, np.int64)
