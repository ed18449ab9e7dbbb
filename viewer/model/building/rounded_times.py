"""Rows without the overlaps that are due to rounding alone.

A file rounds the start and the duration of a slice, each to a multiple of its resolution. Their sum
is then at most one resolution after the rounded end, which is the start of the next slice or the
end of the caller. An overlap that long is taken as none; a longer one is real and keeps its lane.
"""

from __future__ import annotations

from collections.abc import Collection

import numpy as np

from viewer.arrays import Ints, stable_order
from viewer.model.building.nesting import Placed, place_by_time, place_flat
from viewer.model.trace import DrawnRows, Slices

_MOST_TRIED = 64  # slices that begin, or end, within one resolution of the end of another
_LARGEST = 10**9  # ticks


def resolution_of(slices: Slices) -> int:
    """The resolution of a file in ticks: the largest power of ten that divides all its times."""
    step = _LARGEST
    for times in (slices.start, slices.end):
        while step > 1 and (times % step).any():
            step //= 10
    return step


def rows_to_draw(
    slices: Slices, flat: Collection[int] = (), resolution: int = 0
) -> DrawnRows | None:
    """The rows of a file that rounds starts and durations; None if they are those of the lanes.

    flat: the tracks whose slices never nest. resolution: that of the times unless given.
    """
    tracks = np.unique(slices.row_track[slices.row_lane > 0]).tolist()
    if not tracks:
        return None
    resolution = resolution or resolution_of(slices)
    first_row = np.searchsorted(slices.row_track, np.append(tracks, len(slices.row_track)))
    index = np.arange(len(slices), dtype=np.uint32)
    parts = [[column[:0]] for column in _columns(slices)]
    done = 0
    for track, row in zip(tracks, first_row.tolist(), strict=False):
        end_row = int(np.searchsorted(slices.row_track, track, side="right"))
        span = slice(int(slices.row_ptr[row]), int(slices.row_ptr[end_row]))
        start, end = slices.start[span], slices.end[span]
        cut = without_rounding(start, end, resolution)
        if (cut == end).all():
            continue
        placed = (place_flat if track in flat else place_by_time)(start, cut)
        before = (
            slices.row_lane[row:end_row]
            .astype(np.int64)
            .repeat(np.diff(slices.row_ptr[row : end_row + 1]))
        )
        if np.count_nonzero(placed.lane) > np.count_nonzero(before):
            continue
        for part, column in zip(parts, _columns(slices), strict=True):
            part.append(column[done:row])
        order, rows = _rows(placed, track)
        index[span] = order + span.start
        for part, column in zip(parts, rows, strict=True):
            part.append(column)
        done = end_row
    if not done:
        return None
    for part, column in zip(parts, _columns(slices), strict=True):
        part.append(column[done:])
    size, row_track, row_lane, row_depth = (np.concatenate(part) for part in parts)
    position = np.empty(len(slices), np.uint32)
    position[index] = np.arange(len(slices), dtype=np.uint32)
    row_ptr = np.append(0, np.cumsum(size)).astype(np.int64)
    return DrawnRows(
        resolution,
        index,
        position,
        row_ptr,
        row_track.astype(np.uint32),
        row_lane.astype(np.uint32),
        row_depth.astype(np.uint32),
    )


def _columns(slices: Slices) -> tuple[Ints, ...]:
    """The size, track, lane and depth of each row."""
    columns = np.diff(slices.row_ptr), slices.row_track, slices.row_lane, slices.row_depth
    return tuple(column.astype(np.int64) for column in columns)


def _rows(placed: Placed, track: int) -> tuple[Ints, tuple[Ints, ...]]:
    """The slices of a track in the order of its rows, and the columns of these."""
    stride = int(placed.depth.max(initial=0)) + 1
    rows, code = np.unique(placed.lane * stride + placed.depth, return_inverse=True)
    order: Ints = placed.index[stable_order(code)]
    lane, depth = np.divmod(rows, stride)
    return order, (np.bincount(code, minlength=len(rows)), np.full(len(rows), track), lane, depth)


def without_rounding(start: Ints, end: Ints, resolution: int) -> Ints:
    """The ends of slices, without overlaps of at most a resolution; each stays after its start."""
    cut = end.copy()
    long = np.flatnonzero(end > start)
    long = long[np.lexsort((-end[long], start[long]))]
    s, e = start[long], end[long].copy()
    # The next slice: it starts in the last resolution of this one, and ends later.
    first = np.searchsorted(s, np.maximum(e - resolution, s + 1))
    _trim(e, s, e.copy(), first, np.searchsorted(s, e))
    # The caller: it started before, and ends in the last resolution of this one.
    by_end = np.argsort(e, kind="stable")
    ends = e[by_end]
    first = np.searchsorted(ends, np.maximum(e - resolution, s + 1))
    _trim(e, ends, -s[by_end], first, np.searchsorted(ends, e), -s)
    cut[long] = e
    return cut


def _trim(
    end: Ints,
    times: Ints,
    values: Ints,
    first: Ints,
    last: Ints,
    least: Ints | None = None,
) -> None:
    """Set each end to the first of `times` in [first, last) with a value above `least`.

    least: per slice, by default its end.
    """
    least = end.copy() if least is None else least
    tried = np.flatnonzero(first < last)
    for step in range(_MOST_TRIED):
        if not len(tried):
            return
        candidate = first[tried] + step
        hit = values[candidate] > least[tried]
        end[tried[hit]] = times[candidate[hit]]
        rest = tried[~hit]
        tried = rest[first[rest] + step + 1 < last[rest]]
