"""Slices cut at the edges of a range: their durations, self time and outermost ones.

Everything is exact array code in ticks on an ascending array of slice numbers ("index"). The cost
is about linear in the length of the index, whatever the size of the trace. Only the part of a slice
inside the range counts.
"""

from __future__ import annotations

from itertools import pairwise
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from viewer.arrays import Bools, Codes, Ints, parts_of, stable_order
from viewer.model.intervals import running_maximum
from viewer.model.queries import by_lane, foreign, nesting
from viewer.model.trace import Slices
from viewer.model.track_blocks import BLOCK, TrackBlock, on_two_threads, track_blocks

_Some = TypeVar("_Some", bound=NDArray[np.integer[Any]])
_FEW = 8  # times as many slices as are requested


def clipped(
    slices: Slices, index: Ints | Codes | slice, first: int | None, last: int | None
) -> tuple[Ints, Ints]:
    """Return start and end of some slices, clipped to [first, last]; None is no limit.

    A slice outside gets zero length at the edge.
    """
    start, end = slices.start[index], slices.end[index]
    if first is None and last is None:
        return start, end
    limits = np.iinfo(np.int64)
    lo = np.int64(limits.min if first is None else min(max(first, limits.min), limits.max))
    hi = np.int64(limits.max if last is None else min(max(last, limits.min), limits.max))
    return np.clip(start, lo, hi), np.clip(end, lo, hi)


def inclusive(
    slices: Slices,
    index: Ints | Codes,
    group: Ints | Codes,
    count: int,
    first: int | None,
    last: int | None,
) -> Ints:
    """Return per group the durations of some slices within a range; group: parallel to the index.

    count: how many groups there are.
    """
    total = np.zeros(count, np.int64)
    for part in parts_of(len(index)):
        start, end = clipped(slices, index[part], first, last)
        np.add.at(total, group[part], end - start)
    return total


def those_in(mask: Bools | None, index: _Some, group: _Some) -> tuple[_Some, _Some]:
    """Return those of some slices that are in a mask of all, and their groups; None: all."""
    if mask is None:
        return index, group
    inside = mask[index]
    return index[inside], group[inside]


def cut_count(slices: Slices, index: Ints, first: int | None, last: int | None) -> int:
    """Return how many of some slices cross an edge of the range."""
    start, end = slices.start[index], slices.end[index]
    over = np.zeros(len(index), np.bool_)
    if first is not None:
        over |= start < first
    if last is not None:
        over |= end > last
    return int(over.sum())


def self_time_within(
    slices: Slices, index: Ints, first: int | None = None, last: int | None = None
) -> Ints:
    """Return per slice its time in the range minus that of its children there (int64).

    All children count, whether or not they are in the index, except foreign and derived ones, as in
    `viewer.model.queries.self_time`.
    """
    start, end = clipped(slices, index, first, last)
    self_ticks = end - start
    native = foreign(slices)
    bounds = np.searchsorted(index, slices.row_ptr)
    for row in np.flatnonzero(np.diff(bounds)).tolist():
        below = row + 1
        if below >= len(slices.row_track) or not _is_below(slices, row, below):
            continue
        here = slice(int(bounds[row]), int(bounds[row + 1]))
        self_ticks[here] -= _children(slices, index[here], row, below, native, first, last)
    return self_ticks


def _is_below(slices: Slices, row: int, below: int) -> bool:
    """Return whether row `below` contains the children of row `row`."""
    same_lane = (
        slices.row_track[row] == slices.row_track[below]
        and slices.row_lane[row] == slices.row_lane[below]
    )
    return bool(same_lane and int(slices.row_depth[row]) + 1 == int(slices.row_depth[below]))


def _children(
    slices: Slices,
    index: Ints,
    row: int,
    below: int,
    native: Ints,
    first: int | None,
    last: int | None,
) -> Ints:
    """Return per slice of a row how much its children in the row below cover in the range."""
    place = nesting(slices)
    lo, hi = int(slices.row_ptr[below]), int(slices.row_ptr[below + 1])
    inner = place[lo:hi]
    first_child = np.searchsorted(inner, place[index])
    after_last = np.full(len(index), hi - lo)
    follows = index + 1 < int(slices.row_ptr[row + 1])
    after_last[follows] = np.searchsorted(inner, place[index[follows] + 1])
    # A row may have millions of slices; only those from the first to the last child are read.
    from_, to = int(first_child.min()), int(after_last.max())
    numbers = np.arange(lo + from_, lo + to)
    starts, ends = clipped(slices, numbers, first, last)
    covering = ends - starts
    inside = native[slice(*np.searchsorted(native, np.array([lo + from_, lo + to])).tolist())]
    covering[inside - lo - from_] = 0
    if slices.derived is not None:
        covering[slices.derived[numbers]] = 0
    before = np.concatenate([np.zeros(1, np.int64), np.cumsum(covering)])
    covered: Ints = before[after_last - from_] - before[first_child - from_]
    return covered


def outermost(slices: Slices, index: Ints, group: Ints) -> Bools:
    """Return per slice whether it is inside no other slice of its group and lane.

    group: parallel to the index. A kernel inside its call, or a nested call of a recursion, is part
    of the outer slice.
    """
    if len(index) <= BLOCK:
        return _outermost(slices, index, group)
    blocks = track_blocks(slices)
    bounds = np.searchsorted(index, [block.span.stop for block in blocks]).tolist()
    parts = [slice(*ends) for ends in pairwise((0, *bounds))]

    def of_block(block_part: tuple[TrackBlock, slice]) -> Bools:
        block, part = block_part
        return _outermost(block.slices, index[part] - block.span.start, group[part])

    sizes = [part.stop - part.start for part in parts]
    return np.concatenate(on_two_threads(of_block, list(zip(blocks, parts, strict=True)), sizes))


def _outermost(slices: Slices, index: Ints, group: Ints) -> Bools:
    if not len(index):
        return np.empty(0, np.bool_)
    row = np.searchsorted(slices.row_ptr, index, side="right") - 1
    place = slices.row_track.astype(np.int64) << 32 | slices.row_lane
    if len(index) < len(place):  # a trace can have a million lanes, and a selection one slice
        lane = np.unique(place[row], return_inverse=True)[1].reshape(-1)
    else:
        lane = np.unique(place, return_inverse=True)[1].reshape(-1)[row]
    part = lane * (int(group.max()) + 1) + group
    order = _in_preorder(slices, index, lane)
    order = order[stable_order(part[order])]
    part, start, end = part[order], slices.start[index][order], slices.end[index][order]
    is_first = np.append(True, part[1:] != part[:-1])
    reach = running_maximum(end, is_first)
    outer = np.empty(len(index), np.bool_)
    outer[order] = is_first | (start >= np.append(start[:1], reach[:-1]))
    return outer


def _in_preorder(slices: Slices, index: Ints, lane: Ints) -> Ints:
    """Return the positions of some slices in preorder; lane: the lane of each, ascending."""
    if slices.order is None:
        return by_lane(slices.start[index], lane)
    if len(index) * _FEW < len(slices):
        return stable_order(slices.order[index])
    # A place for each rank takes a third of the time of sorting them.
    position = np.full(len(slices), -1)
    position[slices.order[index]] = np.arange(len(index))
    return position[position >= 0] if len(index) < len(slices) else position
