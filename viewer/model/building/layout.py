"""Arranges the slices of all tracks in rows: one row per track, lane and depth.

Tracks are independent. Large ones are laid out one by one, on two threads. Small ones that follow
each other are laid out together: a file can have as many tracks as slices, and numpy needs 100 µs
for a track of its own, however small.

A file may round the start and the duration of a slice, each to a multiple of its resolution. Their
sum is then at most one resolution after the rounded end, which is the start of the next slice or
the end of the caller. An overlap that long is not drawn; a longer one is real and keeps its lane.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from viewer.arrays import Codes, Ints, stable_order
from viewer.codecs import large_arrays
from viewer.dataclasses import dataclass
from viewer.model.building.chunks import distinct_codes, joined
from viewer.model.building.nesting import (
    MAX_DEPTH,
    Placed,
    apart,
    level_fault,
    place_by_time,
    place_flat,
    place_tracks,
)
from viewer.model.queries import on_two_threads
from viewer.model.trace import DrawnRows, Slices

NO_LEVEL = -1
_SHORT = 1 << 16
_SMALL = 512  # slices: sorting more of them takes longer than a track of its own
_TOGETHER = 1 << 16  # slices of small tracks that are laid out at once


@dataclass(frozen=True, slots=True)
class RowLayout:
    """The original index of each slice in row order, its rank in preorder, and the rows.

    order: None if `is_by_start` is true of all.
    """

    index: Ints
    order: Codes | None
    row_ptr: Ints
    row_track: Codes
    row_lane: Codes
    row_depth: Codes


def laid_out(
    track: Codes,
    tracks: int,
    flat: Collection[int],
    level: NDArray[np.int32],
    columns: Mapping[str, NDArray[Any]],
    step: Callable[[], None],
    faults: list[tuple[int, int]],
    *,
    with_index: bool,
    nested: bool = False,
) -> tuple[RowLayout, dict[str, NDArray[Any]]]:
    """The rows of all tracks, and the given columns in row order; `columns` has start and end.

    track, level: of each slice; NO_LEVEL where the file states none. flat: the tracks whose slices
    never nest. step: called for each part of the work. faults: gets the number of each track whose
    levels contradict its times, and the first slice of it that does. with_index: whether the index
    of the layout is needed; else it is empty. nested: the levels need no check.
    """
    by_track, ptr = _by_track(track, tracks)
    start, end = columns["start"], columns["end"]
    order = large_arrays.empty(len(track), np.uint32)
    # An array that is given twice is laid out once.
    once = {id(values): name for name, values in columns.items()}
    laid_columns = {
        name: large_arrays.empty(len(track), columns[name].dtype) for name in once.values()
    }
    index = large_arrays.empty(len(track) if with_index else 0, np.int64)
    are_by_start: list[bool] = []

    def lay(track_range: range) -> tuple[NDArray[Any], ...]:
        step()
        large_arrays.let_go()
        span = slice(int(ptr[track_range.start]), int(ptr[track_range.stop]))
        members = span if by_track is None else by_track[span]
        times = _taken(start, members), _taken(end, members)
        own_ptr = ptr[track_range.start : track_range.stop + 1] - span.start
        if track_range.start in flat:
            placed = place_flat(*times)
        else:
            own_faults = None if nested else faults
            placed = _place(*times, level[members], own_ptr, track_range, own_faults)
        by_row, rows = _rows_of(placed, own_ptr, track_range, span.start)
        in_order = times[0].take(placed.index)
        are_by_start.append(is_by_start(in_order, placed.lane, placed.depth, own_ptr))
        in_part = placed.index.take(by_row)
        in_file = in_part + members.start if isinstance(members, slice) else members.take(in_part)
        # Gather here, straight into the final arrays, while other tracks are being laid out:
        # joining ten million of each at the end takes 0.3 s. The times of a part are close
        # together, those of the file are not.
        for name, part in laid_columns.items():
            if name in ("start", "end"):
                times[name == "end"].take(in_part, out=part[span], mode="clip")
            else:
                columns[name].take(in_file, out=part[span], mode="clip")
        order[span] = by_row + span.start
        if with_index:
            index[span] = in_file
        return rows

    parts = _parts(np.diff(ptr), flat)
    sizes = [int(ptr[part.stop] - ptr[part.start]) for part in parts]
    rows = on_two_threads(lay, parts, sizes)
    row_ptr = np.concatenate([[0], *(part[0] for part in rows)]).astype(np.int64)
    of_rows = (joined([part[i] for part in rows], np.uint32) for i in (1, 2, 3))
    final = {name: laid_columns[once[id(values)]] for name, values in columns.items()}
    held = None if all(are_by_start) else order
    return RowLayout(index, held, row_ptr, *of_rows), final


def is_by_start(start: Ints, lane: Ints, depth: Ints, ptr: Ints) -> bool:
    """Return whether each lane of some slices in preorder is sorted by start, then depth.

    It is not if slices without a length are nested where the next slice outside of them starts.
    ptr: where each track starts.
    """
    index = np.flatnonzero(start[1:] <= start[:-1]) + 1
    is_same = (start[index] == start[index - 1]) & (depth[index] >= depth[index - 1])
    breaks = index[~is_same & (lane[index] == lane[index - 1])]
    return not len(breaks) or bool(np.isin(breaks, ptr).all())


def _taken(values: Ints, members: Ints | slice) -> Ints:
    return values[members] if isinstance(members, slice) else values.take(members)


def _by_track(track: Codes, tracks: int) -> tuple[Ints | None, Ints]:
    """The slices grouped by track in the order they were added, and where each track starts.

    The first is None if they were added in that order already, so that nothing has to be gathered.
    """
    # Radix sort is used for short codes: the fewer bytes, the faster.
    short = np.uint8 if tracks <= 1 << 8 else np.uint16 if tracks <= 1 << 16 else np.uint32
    of = track.astype(short)
    counts = np.zeros(tracks, np.int64)
    # bincount converts its input to int64; each part counts all tracks.
    size = max(_SHORT, tracks)
    for begin in range(0, len(of), size):
        counts += np.bincount(of[begin : begin + size], minlength=tracks)
    order = None if (track[1:] >= track[:-1]).all() else np.argsort(of, kind="stable")
    return order, np.concatenate([[0], np.cumsum(counts)])


def _parts(size: Ints, flat: Collection[int]) -> list[range]:
    """The tracks that are laid out together; `size` is the number of slices of each."""
    alone = size > _SMALL
    alone[list(flat)] = True
    parts: list[range] = []
    first, slices = 0, 0
    for t, (count, is_alone) in enumerate(zip(size.tolist(), alone.tolist(), strict=True)):
        if is_alone or slices + count > _TOGETHER:
            if first < t:
                parts.append(range(first, t))
            first, slices = t, 0
        if is_alone:
            parts.append(range(t, t + 1))
            first = t + 1
        else:
            slices += count
    if first < len(size):
        parts.append(range(first, len(size)))
    return parts


def _place(
    start: Ints,
    end: Ints,
    level: NDArray[np.int32],
    ptr: Ints,
    tracks: range,
    faults: list[tuple[int, int]] | None,
) -> Placed:
    """Preorder, lane and depth of the slices of some tracks, by their levels if these are usable.

    ptr: where each track starts in the arrays. faults: None if the levels need no check.
    """
    has_level = level != NO_LEVEL
    if faults is None and has_level.all() and int(level.max(initial=0)) < MAX_DEPTH:
        return _as_stated(level)
    faults = [] if faults is None else faults
    if not has_level.any():
        return place_by_time(start, end) if len(tracks) == 1 else place_tracks(start, end, ptr)
    outermost = ptr[:-1][np.diff(ptr) > 0]
    # In one pass if no track has a fault; else one by one, to know which ones do.
    has_roots = has_level.all() and len(tracks) > 1 and not level[outermost].any()
    if has_roots and level_fault(*apart(start, end, ptr), level) is None:
        return _as_stated(level)
    if len(tracks) == 1:
        fault = level_fault(start, end, level) if has_level.all() else -1
        if fault is None:
            return _as_stated(level)
        if has_level.all():
            faults.append((tracks.start, fault))
        return place_by_time(start, end)
    placed = []
    for i, t in enumerate(tracks):
        span = slice(int(ptr[i]), int(ptr[i + 1]))
        own_ptr = ptr[i : i + 2] - ptr[i]
        alone = _place(start[span], end[span], level[span], own_ptr, range(t, t + 1), faults)
        placed.append(Placed(alone.index + span.start, alone.lane, alone.depth))
    return Placed(
        *(np.concatenate([getattr(p, n) for p in placed]) for n in ("index", "lane", "depth"))
    )


def _as_stated(level: NDArray[np.int32]) -> Placed:
    return Placed(np.arange(len(level)), np.zeros(len(level), np.int64), level.astype(np.int64))


def _rows_of(
    placed: Placed, ptr: Ints, tracks: range, first: int
) -> tuple[Ints, tuple[NDArray[Any], ...]]:
    """Arrange the placed slices of some tracks in rows; `first` slices come before them.

    Returns the placed slices in row order, and row_ptr, row_track, row_lane, row_depth.
    """
    stride = int(placed.depth.max(initial=0)) + 1
    lanes = int(placed.lane.max(initial=0)) + 1
    key = placed.lane * stride + placed.depth
    if len(tracks) > 1:
        key += np.repeat(np.arange(len(tracks)) * (lanes * stride), np.diff(ptr))
    rows, code = distinct_codes(key, int(key.max(initial=0)) + 1)
    # From preorder to (row, start): in a row, preorder is already time order.
    by_row = stable_order(code)
    in_track, depth = np.divmod(rows, stride)
    which, lane = np.divmod(in_track, lanes)
    return by_row, (
        first + np.cumsum(np.bincount(code, minlength=len(rows))),
        (which + tracks.start).astype(np.uint32),
        lane.astype(np.uint32),
        depth.astype(np.uint32),
    )


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
