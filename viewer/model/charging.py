"""Charges every instant of a trace to a group of slices, and adds the time of groups up.

An instant belongs to the innermost slice that has a group, so nothing is counted twice.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar

import numpy as np

from viewer.arrays import Bools, Ints, levels
from viewer.model.queries import (
    Tree,
    counted_slices,
    foreign,
    is_whole,
    starts_between,
    tree,
)
from viewer.model.trace import Slices, Trace
from viewer.model.track_blocks import TrackBlock, in_blocks

_Out = TypeVar("_Out")


@dataclass(frozen=True, slots=True)
class Segments:
    """Time charged to groups: disjoint within a lane, sorted by (track, start).

    Parallel int64 arrays. Every instant belongs to the innermost slice that has a group, so no time
    is counted twice and the parts add up to the total.
    """

    track: Ints
    start: Ints
    end: Ints
    group: Ints
    lanes: bool  # whether any track has several lanes, so that groups need a union
    # Which of them `counted_slices` includes, with and without the warm-up; None: all.
    counted: Bools | None = None
    steady: Bools | None = None

    def taken(self, index: Ints | Bools | slice, group: Ints | None = None) -> Segments:
        """Some of the segments in their order, with new groups (one per segment) if given."""
        return Segments(
            self.track[index],
            self.start[index],
            self.end[index],
            self.group[index] if group is None else group,
            self.lanes,
            None if self.counted is None else self.counted[index],
            None if self.steady is None else self.steady[index],
        )

    def of_whole_trace(self, *, warm_up: bool) -> Segments:
        """Those that figures of the whole trace count; `warm_up` as in `counted_slices`."""
        counts = self.counted if warm_up else self.steady
        return self if counts is None else self.taken(counts)


def charge(trace: Trace, group_of_key: Ints) -> Segments:
    """Charge every instant to the group of the innermost slice whose key has one (>= 0).

    Foreign slices are timed by another clock and charge nothing.
    """
    return _joined(_of_blocks(trace, group_of_key, _charge))


def _joined(parts: Sequence[Segments]) -> Segments:
    """The segments of blocks of tracks as one."""
    if not parts:
        none = np.empty(0, np.int64)
        return Segments(none, none, none, none, False)
    if len(parts) == 1:
        return parts[0]

    def joined(name: str) -> Any:
        column = [getattr(part, name) for part in parts]
        return None if column[0] is None else np.concatenate(column)

    return Segments(
        joined("track"),
        joined("start"),
        joined("end"),
        joined("group"),
        any(part.lanes for part in parts),
        joined("counted"),
        joined("steady"),
    )


def total_charged(trace: Trace, group_of_key: Ints, groups: int, *, warm_up: bool) -> Ints:
    """Ticks of the whole trace charged to each group: `total_per_group` of `charge`.

    Of tracks without lanes, this is the self time of slices, in a third of the time. No more than
    the segments of two blocks of tracks are held: of ten million slices, all take 500 MB.
    """

    def of_block(block: _Block) -> Ints:
        if (block.slices.row_lane > 0).any():
            return total_per_group(_charge(block), groups, warm_up=warm_up)
        return _self_times(block, groups, warm_up=warm_up)

    total = np.zeros(groups, np.int64)
    for part in _of_blocks(trace, group_of_key, of_block):
        total += part
    return total


def _of_blocks(trace: Trace, group_of_key: Ints, then: Callable[[_Block], _Out]) -> list[_Out]:
    """What a function returns for each block of tracks; [] if nothing is charged."""
    slices = trace.slices
    if not len(slices) or not (group_of_key >= 0).any():
        return []
    counts = counted_slices(trace), counted_slices(trace, warm_up=False)
    native = np.zeros(len(slices), np.bool_)
    native[foreign(slices)] = True

    def of_block(block: TrackBlock) -> _Out:
        span = block.span
        own_counts = (None if one is None else one[span] for one in counts)
        return then(_Block(block.slices, group_of_key, native[span], *own_counts))

    return in_blocks(of_block, slices)


@dataclass(frozen=True, slots=True)
class _Block:
    """A block of tracks that is charged: columns per slice, but for the groups of keys.

    native: the foreign ones. counted, steady: as in `Segments`.
    """

    slices: Slices
    group_of_key: Ints
    native: Bools
    counted: Bools | None
    steady: Bools | None


class _Owners:
    """The group that the time of each slice of a block is charged to, in preorder: `group`.

    It is that of the slice, or of the nearest one around it that has one; -1 if there is none.
    """

    def __init__(self, block: _Block) -> None:
        self.shape = tree(block.slices)
        self._below_roots = levels(self.shape.depth)[1:]
        own = block.group_of_key[block.slices.key]
        self._is_bare = (own < 0)[self.shape.index]
        self.group = np.where(block.native, -1, own)[self.shape.index]
        if (self.group < 0).any():
            for level in self._below_roots:
                here = level[self.group[level] < 0]
                self.group[here] = self.group[self.shape.parent[here]]

    def counts(self, counted: Bools | None) -> Bools | None:
        """Return in preorder which slices count, given this per slice; None: all do."""
        if counted is None:
            return None
        found: Bools = counted[self.shape.index]
        for level in self._below_roots:
            here = level[self._is_bare[level]]  # as the slice that it is charged to
            found[here] &= found[self.shape.parent[here]]
        return found


def _self_times(block: _Block, groups: int, *, warm_up: bool) -> Ints:
    """Ticks of the slices of each group without those of the slices inside them."""
    owners = _Owners(block)
    parent, group = owners.shape.parent, owners.group
    own = (block.slices.end - block.slices.start)[owners.shape.index]
    inner = np.flatnonzero(parent >= 0)
    np.subtract.at(own, parent[inner], own[inner])
    counts = owners.counts(block.counted if warm_up else block.steady)
    charged = np.flatnonzero(group >= 0 if counts is None else (group >= 0) & counts)
    total = np.zeros(groups, np.int64)
    np.add.at(total, group[charged], own[charged])
    return total


def _charge(block: _Block) -> Segments:
    """As `charge`, for a block of tracks."""
    slices, owners = block.slices, _Owners(block)
    shape, group = owners.shape, owners.group
    index, parent = shape.index, shape.parent
    begin, end = event_positions(shape)
    n = len(group)
    time, owner = np.empty(2 * n, np.int64), np.empty(2 * n, np.int64)
    time[begin], time[end] = slices.start[index], slices.end[index]
    owner[begin] = group
    owner[end] = np.where(parent >= 0, group[parent], -1)
    keep = np.flatnonzero((owner[:-1] >= 0) & (time[1:] > time[:-1]))
    # The events of a lane are together, and twice as many as its slices.
    at, on = time[keep], slices.row_track[slices.rows()[index[keep >> 1]]].astype(np.int64)
    # Without lanes they are usually sorted already; sorting 20 million takes 3 s.
    if ((on[1:] < on[:-1]) | ((on[1:] == on[:-1]) & (at[1:] < at[:-1]))).any():
        order = np.lexsort((at, on))
        keep, on = keep[order], on[order]

    def of_segments(counts: Bools | None) -> Bools | None:
        if counts is None:
            return None
        of_event = np.empty(2 * n, np.bool_)
        of_event[begin] = counts
        of_event[end] = counts[np.maximum(parent, 0)]
        return of_event[keep]

    return Segments(
        on,
        time[keep],
        time[keep + 1],
        owner[keep],
        bool((slices.row_lane > 0).any()),
        *(of_segments(owners.counts(one)) for one in (block.counted, block.steady)),
    )


def event_positions(shape: Tree) -> tuple[Ints, Ints]:
    """The positions of each slice's start and end in the sequence of all start and end events.

    Slice i of a lane in preorder, at depth d, starts after i - d ends. It ends just before the next
    slice of depth <= d starts. So ends come before starts of the same time, and parents start
    first.
    """
    n = len(shape.index)
    follower = np.full(n, n, np.int64)
    for level, here in enumerate(levels(shape.depth)):
        stops = np.append(here[1:], n)
        follower[here] = np.minimum(stops, follower[shape.parent[here]]) if level else stops
    return np.arange(n) * 2 - shape.depth, 2 * follower - 1 - shape.depth


def total_per_group(
    segments: Segments,
    groups: int,
    first: int | None = None,
    last: int | None = None,
    track: int | None = None,
    *,
    warm_up: bool = True,
) -> Ints:
    """Ticks charged to each group inside [first, last], on one track or on all.

    Overlapping lanes of a track count once. Without a range, only what `counted_slices` includes.
    """
    if track is not None:
        lo, hi = (int(i) for i in np.searchsorted(segments.track, np.array([track, track + 1])))
        segments = segments.taken(slice(lo, hi))
    if is_whole(first, last):
        segments = segments.of_whole_trace(warm_up=warm_up)
    start, end = segments.start, segments.end
    if first is not None:
        start = np.maximum(start, first)
    if last is not None:
        end = np.minimum(end, last)
    total = np.zeros(groups, np.int64)
    if not segments.lanes or not len(start):
        np.add.at(total, segments.group, np.maximum(end - start, 0))
        return total
    part = segments.track * groups + segments.group
    order = np.lexsort((start, part))
    order = order[end[order] > start[order]]
    if len(order):
        covered = _newly_covered(part[order], start[order], end[order])
        np.add.at(total, segments.group[order], covered)
    return total


def _newly_covered(part: Ints, start: Ints, end: Ints) -> Ints:
    """The duration of each interval not covered by earlier intervals of its part.

    The intervals must be sorted by part and start. The running maximum of ends is computed per part
    on ranks, with each part's ranks above those of the part before, because shifting the ticks
    themselves could overflow int64.
    """
    begins = np.append(True, part[1:] != part[:-1])
    ends, rank = np.unique(end, return_inverse=True)
    base = (np.cumsum(begins) - 1) * len(ends)
    reach = ends[np.maximum.accumulate(base + rank) - base]
    before = np.where(begins, start, np.append(start[:1], reach[:-1]))
    return np.maximum(end - np.maximum(start, before), 0)


def sum_per_key(
    trace: Trace,
    first: int | None = None,
    last: int | None = None,
    track: int | None = None,
    *,
    warm_up: bool = True,
) -> tuple[Ints, Ints]:
    """The number of slices per key that start in [first, last), and their total time in it.

    `starts_between` defines which slices start in the range. track: count only this track. Without
    a range, only what `counted_slices` includes.
    """
    slices = trace.slices
    start, end = slices.start, slices.end
    inside = starts_between(trace, start, first, last)
    if track is not None:
        on_track = (slices.row_track == track)[slices.rows()]
        inside &= on_track
        end = np.where(on_track, end, start)
    counted = counted_slices(trace, warm_up=warm_up) if is_whole(first, last) else None
    if counted is not None:
        inside &= counted
        end = np.where(counted, end, start)
    if first is not None:
        start, end = np.maximum(start, first), np.maximum(end, first)
    if last is not None:
        start, end = np.minimum(start, last), np.minimum(end, last)
    long = end - start
    long[foreign(slices)] = 0
    total = np.zeros(len(trace.keys), np.int64)
    np.add.at(total, slices.key, long)
    return np.bincount(slices.key[inside], minlength=len(trace.keys)).astype(np.int64), total
