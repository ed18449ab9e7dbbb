"""Charges every instant of a trace to a group of slices, and adds the time of groups up.

An instant belongs to the innermost slice that has a group, so nothing is counted twice.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from viewer.arrays import Bools, Ints
from viewer.model.queries import (
    Tree,
    counted_slices,
    foreign,
    is_whole,
    starts_between,
    tree,
)
from viewer.model.trace import Trace


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
    slices = trace.slices
    if not (group_of_key >= 0).any():
        none = np.empty(0, np.int64)
        return Segments(none, none, none, none, False)
    shape = tree(slices)
    group = group_of_key[slices.key] if len(slices) else np.empty(0, np.int64)
    group[foreign(slices)] = -1
    group = group[shape.index]
    parent, depth = shape.parent, shape.depth
    for level in range(1, int(depth.max(initial=0)) + 1):
        here = np.flatnonzero((depth == level) & (group < 0))
        group[here] = group[parent[here]]
    begin, end = event_positions(shape)
    n = len(group)
    time = np.empty(2 * n, np.int64)
    owner = np.empty(2 * n, np.int64)
    time[begin], time[end] = slices.start[shape.index], slices.end[shape.index]
    owner[begin] = group
    owner[end] = np.where(parent >= 0, group[np.maximum(parent, 0)], -1)
    keep = (
        np.flatnonzero((owner[:-1] >= 0) & (time[1:] > time[:-1])) if n else np.empty(0, np.int64)
    )
    # The events of a lane are together, and twice as many as its slices.
    at, on = time[keep], slices.row_track[slices.rows()[shape.index[keep >> 1]]].astype(np.int64)
    # Without lanes they are usually sorted already; sorting 20 million takes 3 s.
    if ((on[1:] < on[:-1]) | ((on[1:] == on[:-1]) & (at[1:] < at[:-1]))).any():
        order = np.lexsort((at, on))
        keep, on = keep[order], on[order]

    def kept(counts: Bools | None) -> Bools | None:
        if counts is None:
            return None
        counts, bare = counts[shape.index], (group_of_key < 0)[slices.key][shape.index]
        for level in range(1, int(depth.max(initial=0)) + 1):
            here = np.flatnonzero((depth == level) & bare)  # as the slice that it is charged to
            counts[here] &= counts[parent[here]]
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
        kept(counted_slices(trace)),
        kept(counted_slices(trace, warm_up=False)),
    )


def event_positions(shape: Tree) -> tuple[Ints, Ints]:
    """The positions of each slice's start and end in the sequence of all start and end events.

    Slice i of a lane in preorder, at depth d, starts after i - d ends. It ends just before the next
    slice of depth <= d starts. So ends come before starts of the same time, and parents start
    first.
    """
    n = len(shape.index)
    depth = shape.depth
    follower = np.full(n, n, np.int64)
    for level in range(int(depth.max(initial=-1)) + 1):
        here = np.flatnonzero(depth == level)
        stops = np.append(here[1:], n) if len(here) else here
        outer = follower[shape.parent[here]] if level else n
        follower[here] = np.minimum(stops, outer)
    return np.arange(n) * 2 - depth, 2 * follower - 1 - depth


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
