"""Some slices of a trace, cut at the edges of a range: their lengths, self time and outermost ones.

All are exact array work in ticks on a column of ascending slice numbers ("index"), and cost about
as much as there are numbers in it, whatever the size of the trace. A slice that reaches over an
edge counts with the part inside.
"""

from __future__ import annotations

import numpy as np

from viewer.arrays import Bools, Ints
from viewer.model.queries import foreign
from viewer.model.trace import Slices

_SAFE = 1 << 62


def clipped(slices: Slices, index: Ints, first: int | None, last: int | None) -> tuple[Ints, Ints]:
    """Start and end of some slices, inside [first, last]; None is no edge.

    A slice outside becomes one without a length at the edge.
    """
    start, end = slices.start[index], slices.end[index]
    limits = np.iinfo(np.int64)
    lo = np.int64(limits.min if first is None else min(max(first, limits.min), limits.max))
    hi = np.int64(limits.max if last is None else min(max(last, limits.min), limits.max))
    return np.clip(start, lo, hi), np.clip(end, lo, hi)


def cut_count(slices: Slices, index: Ints, first: int | None, last: int | None) -> int:
    """How many of some slices reach over an edge of the range."""
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
    """Per slice its length inside the range less that of its children there (int64).

    All children count, whether they are among the given slices or not; but foreign ones cover
    nothing, nor do those that a reader derived, as in `viewer.model.queries.self_time`.
    """
    start, end = clipped(slices, index, first, last)
    own = end - start
    native = foreign(slices)
    bounds = np.searchsorted(index, slices.row_ptr)
    for row in np.flatnonzero(np.diff(bounds)).tolist():
        below = row + 1
        if below >= len(slices.row_track) or not _is_below(slices, row, below):
            continue
        here = slice(int(bounds[row]), int(bounds[row + 1]))
        own[here] -= _children(slices, index[here], row, below, native, first, last)
    return own


def _is_below(slices: Slices, row: int, below: int) -> bool:
    """Whether a row holds the children of another."""
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
    """Per slice of a row how much its children in the row below cover inside the range."""
    stop = int(slices.row_ptr[row + 1])
    after = np.full(len(index), np.iinfo(np.uint32).max, np.uint32)
    follows = index + 1 < stop
    after[follows] = slices.order[index[follows] + 1]
    lo, hi = int(slices.row_ptr[below]), int(slices.row_ptr[below + 1])
    rank = slices.order[lo:hi]
    begin = np.searchsorted(rank, slices.order[index])
    end = np.searchsorted(rank, after)
    # Of a row of millions only those from the first to the last child are looked at.
    from_, to = int(begin.min()), int(end.max())
    numbers = np.arange(lo + from_, lo + to)
    starts, ends = clipped(slices, numbers, first, last)
    covering = ends - starts
    inside = native[slice(*np.searchsorted(native, np.array([lo + from_, lo + to])).tolist())]
    covering[inside - lo - from_] = 0
    if slices.derived is not None:
        covering[slices.derived[numbers]] = 0
    before = np.concatenate([np.zeros(1, np.int64), np.cumsum(covering)])
    covered: Ints = before[end - from_] - before[begin - from_]
    return covered


def outermost(slices: Slices, index: Ints, group: Ints) -> Bools:
    """Per slice whether it lies in no other one of its group (parallel to the index) and lane.

    A kernel in its call, or an inner step of a recursion, is a part of what it lies in.
    """
    if not len(index):
        return np.empty(0, np.bool_)
    row = np.searchsorted(slices.row_ptr, index, side="right") - 1
    place = slices.row_track.astype(np.int64) << 32 | slices.row_lane
    lane = np.unique(place, return_inverse=True)[1].reshape(-1)[row]
    part = lane * (int(group.max()) + 1) + group
    order = np.lexsort((slices.order[index], part))
    part, start, end = part[order], slices.start[index][order], slices.end[index][order]
    begins = np.append(True, part[1:] != part[:-1])
    reach = _running_maximum(end, begins)
    outer = np.empty(len(index), np.bool_)
    outer[order] = begins | (start >= np.append(start[:1], reach[:-1]))
    return outer


def _running_maximum(values: Ints, begins: Bools) -> Ints:
    """The greatest value so far in each part; `begins` is true where a part begins."""
    part = np.cumsum(begins) - 1
    least = int(values.min())
    span = int(values.max()) - least + 1
    if (int(part[-1]) + 1) * span < _SAFE:
        lift = part * span - least  # each part stands above all before it
        reached: Ints = np.maximum.accumulate(values + lift) - lift
        return reached
    # Times so far apart that they cannot be lifted within int64: their ranks can.
    known, rank = np.unique(values, return_inverse=True)
    base = part * len(known)
    ranked: Ints = known[np.maximum.accumulate(base + rank.reshape(-1)) - base]
    return ranked
