"""Charges the time of slices to groups, and adds the time of groups up.

The time of a slice without its children goes to the innermost slice around it, or itself, that has
a group. Its two figures are the same where no lanes of a thread overlap:

    self    the durations of a group's slices less nested slices of other groups. Slices that
            overlap without nesting take nothing from one another.
    wall    each instant of a thread once: of lanes, to the slice that started last. So the wall
            times of all groups and the time in no group are the busy time of all threads.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TypeVar

import numpy as np

from viewer.arrays import Bools, Ints, counts_of, flags_at, joined, levels, parts_of
from viewer.dataclasses import dataclass, replace
from viewer.model import intervals
from viewer.model.queries import (
    NATIVE_DURATION,
    TrackBlock,
    Tree,
    counted_slices,
    foreign,
    in_blocks,
    is_whole,
    self_time,
    self_times,
    starts_between,
    tree,
)
from viewer.model.trace import Slices, Trace

_Out = TypeVar("_Out")


@dataclass(frozen=True, slots=True)
class Segments:
    """Time charged to groups: disjoint within a lane, sorted by (track, start).

    Parallel int64 arrays. Every instant of a lane belongs to the innermost slice that has a group.
    """

    track: Ints
    start: Ints
    end: Ints
    group: Ints
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
            None if self.counted is None else self.counted[index],
            None if self.steady is None else self.steady[index],
        )

    def of_whole_trace(self, *, warm_up: bool) -> Segments:
        """Those that figures of the whole trace count; `warm_up` as in `counted_slices`."""
        counts = self.counted if warm_up else self.steady
        return self if counts is None else self.taken(counts)


@dataclass(frozen=True, slots=True)
class Charged:
    """The time of groups: what self figures add up, and what wall figures do.

    of_lanes: disjoint within a lane. of_threads: disjoint on each thread; the same object if no
    lanes overlap.
    """

    of_lanes: Segments
    of_threads: Segments

    def per_group(
        self,
        groups: int,
        first: int | None = None,
        last: int | None = None,
        track: int | None = None,
        *,
        warm_up: bool = True,
    ) -> tuple[Ints, Ints]:
        """Return the self and the wall ticks of each group; arguments as in `total_per_group`."""
        own = total_per_group(self.of_lanes, groups, first, last, track, warm_up=warm_up)
        if self.of_threads is self.of_lanes:
            return own, own
        return own, total_per_group(self.of_threads, groups, first, last, track, warm_up=warm_up)


def charge(trace: Trace, group_of_key: Ints, scopes: Ints | None = None) -> Charged:
    """Charge the time of slices to the group of the innermost slice whose key has one (>= 0).

    Foreign slices are timed by another clock and charge nothing. scopes: slices that have no wall
    time of their own; it is that of what is around them, if anything is.
    """
    parts = _of_blocks(trace, group_of_key, scopes, _charge)
    of_lanes = _joined([part.of_lanes for part in parts])
    if all(part.of_threads is part.of_lanes for part in parts):
        return Charged(of_lanes, of_lanes)
    return Charged(of_lanes, _joined([part.of_threads for part in parts]))


def charge_slices(trace: Trace, counts: Bools, scopes: Ints | None = None) -> Charged:
    """Charge time as `charge` does, to the numbers of slices; counts: per slice whether it has any.

    Two slices of one key can differ in what they cover.
    """
    return charge_groups(trace, np.where(counts, np.arange(len(counts)), -1), scopes)


def charge_groups(trace: Trace, group_of_slice: Ints, scopes: Ints | None = None) -> Charged:
    """Charge time as `charge` does, where slices of one key can be in several groups."""
    numbers = np.arange(len(trace.slices), dtype=np.uint32)
    keys = replace(trace.slices, key=numbers)
    return charge(replace(trace, slices=keys), group_of_slice, scopes)


def _joined(parts: Sequence[Segments]) -> Segments:
    """The segments of blocks of tracks as one."""
    if not parts:
        none = np.empty(0, np.int64)
        return Segments(none, none, none, none)
    return parts[0] if len(parts) == 1 else joined(parts)


def total_charged(
    trace: Trace,
    group_of_key: Ints,
    groups: int,
    scopes: Ints | None = None,
    *,
    warm_up: bool,
) -> tuple[Ints, Ints]:
    """Self and wall ticks of the whole trace charged to each group: `charge(...).per_group`.

    Where no lanes overlap, this takes a third of the time. No more than the segments of two blocks
    of tracks are held: of ten million slices, all take 500 MB.
    """

    has_scopes = scopes is not None and len(scopes) > 0
    if not has_scopes and not (trace.slices.row_lane > 0).any():
        self_ticks = total_self(trace, group_of_key, groups, warm_up=warm_up)
        return self_ticks, self_ticks

    def of_block(block: _Block) -> tuple[Ints, Ints]:
        owners = _Owners(block)
        own = _self_times(block, owners, groups, warm_up=warm_up)
        if not block.has_lanes and not block.has_scopes:
            return own, own
        block, owners = _without_scopes(block, owners)
        if block.has_lanes:
            return own, total_per_group(_of_threads(block, owners), groups, warm_up=warm_up)
        return own, _self_times(block, owners, groups, warm_up=warm_up)

    own, wall = np.zeros((2, groups), np.int64)
    for own_part, wall_part in _of_blocks(trace, group_of_key, scopes, of_block):
        own += own_part
        wall += wall_part
    return own, wall


def total_self(trace: Trace, group_of_key: Ints, groups: int, *, warm_up: bool) -> Ints:
    """The self ticks of `total_charged` alone."""

    def of_block(block: _Block) -> Ints:
        return _self_times(block, _Owners(block), groups, warm_up=warm_up)

    if charges_itself(trace, group_of_key):
        return ticks_per_group(trace, self_times(trace), group_of_key, groups, warm_up=warm_up)
    total = np.zeros(groups, np.int64)
    for part in _of_blocks(trace, group_of_key, None, of_block):
        total += part
    return total


def charges_itself(trace: Trace, group_of_key: Ints) -> bool:
    """Whether all slices have a group, which their self time is charged to as it is."""
    slices = trace.slices
    if NATIVE_DURATION in slices.columns or slices.derived is not None:
        return False
    bare = group_of_key < 0
    return not (bare.any() and bare[slices.key].any())


def ticks_per_group(
    trace: Trace, ticks: Ints, group_of_key: Ints, groups: int, *, warm_up: bool
) -> Ints:
    """Add up the ticks of the slices of each group that figures of the whole trace count."""
    counted = counted_slices(trace, warm_up=warm_up)
    total = np.zeros(groups, np.int64)
    for part in parts_of(len(ticks)):
        charged = ticks[part] if counted is None else np.where(counted[part], ticks[part], 0)
        np.add.at(total, group_of_key[trace.slices.key[part]], charged)
    return total


def wall_of_slices(trace: Trace, counts: Bools, scopes: Ints, *, warm_up: bool) -> Ints:
    """The wall ticks of the whole trace that are charged to each slice itself.

    The arguments are those of `charge_slices`. No more than the segments of two blocks of tracks
    are held. Not to be changed: it is `self_times` where all slices count and no lanes overlap.
    """
    slices, counted = trace.slices, counted_slices(trace, warm_up=warm_up)
    native = flags_at(len(slices), foreign(slices))
    is_charged, is_scope = counts & ~native, np.zeros(len(slices), np.bool_)
    is_scope[scopes] = True
    has_lanes = bool((slices.row_lane > 0).any())
    if counted is None and not has_lanes and not len(scopes) and is_charged.all():
        return self_times(trace)
    ticks = np.zeros(len(slices), np.int64)

    def add(block: TrackBlock) -> None:
        span = block.span
        counted_here = None if counted is None else counted[span]
        group = np.where(is_charged[span], np.arange(len(block.slices)), -1)
        charged_block = _Block(
            block.slices, group, native[span], is_scope[span], trace.lane_starts,
            counted_here, counted_here,
        )  # fmt: skip
        if charged_block.has_lanes or charged_block.has_scopes or not is_charged[span].all():
            segments = _charge(charged_block).of_threads.of_whole_trace(warm_up=warm_up)
            np.add.at(ticks[span], segments.group, segments.end - segments.start)
        else:
            is_counted = True if counted_here is None else counted_here
            np.copyto(ticks[span], self_time(block.slices), where=is_counted)

    in_blocks(add, slices)
    return ticks


def _of_blocks(
    trace: Trace, group_of_key: Ints, scopes: Ints | None, then: Callable[[_Block], _Out]
) -> list[_Out]:
    """What a function returns for each block of tracks; [] if nothing is charged."""
    slices = trace.slices
    if not len(slices) or not (group_of_key >= 0).any():
        return []
    counts = counted_slices(trace), counted_slices(trace, warm_up=False)
    native, is_scope = np.zeros((2, len(slices)), np.bool_)
    native[foreign(slices)] = True
    if scopes is not None:
        is_scope[scopes] = True

    def of_block(block: TrackBlock) -> _Out:
        span = block.span
        own_counts = (None if one is None else one[span] for one in counts)
        group = group_of_key[block.slices.key]
        group[native[span]] = -1
        return then(
            _Block(
                block.slices, group, native[span], is_scope[span], trace.lane_starts, *own_counts
            )
        )

    return in_blocks(of_block, slices)


@dataclass(frozen=True, slots=True)
class _Block:
    """A block of tracks that is charged: columns per slice.

    group: -1 for none. native: the foreign ones. is_scope: those without wall time of their own.
    lane_starts: as in `Trace`. counted, steady: as in `Segments`.
    """

    slices: Slices
    group: Ints
    native: Bools
    is_scope: Bools
    lane_starts: tuple[int, ...]
    counted: Bools | None
    steady: Bools | None

    @property
    def has_lanes(self) -> bool:
        """Whether any track has several lanes."""
        return bool((self.slices.row_lane > 0).any())

    @property
    def has_scopes(self) -> bool:
        """Whether any slice is a scope."""
        return bool(self.is_scope.any())


class _Owners:
    """The slice that the time of each slice of a block is charged to, in preorder.

    It is the slice itself, or the nearest one around it that has a group. place: its place in
    preorder; group: its group, -1 if there is none.
    """

    def __init__(self, block: _Block) -> None:
        self.shape = tree(block.slices)
        self._below_roots = levels(self.shape.depth)[1:]
        self.group = block.group[self.shape.index]
        self._is_bare = self.group < 0
        self.place = np.arange(len(self.group))
        if self._is_bare.any():
            for level in self._below_roots:
                here = level[self._is_bare[level]]
                self.place[here] = self.place[self.shape.parent[here]]
            self.group = self.group[self.place]

    def counts(self, counted: Bools | None) -> Bools | None:
        """Return in preorder which slices count, given this per slice; None: all do."""
        if counted is None:
            return None
        found: Bools = counted[self.shape.index]
        for level in self._below_roots:
            here = level[self._is_bare[level]]  # as the slice that it is charged to
            found[here] &= found[self.shape.parent[here]]
        return found


def _self_times(block: _Block, owners: _Owners, groups: int, *, warm_up: bool) -> Ints:
    """Ticks of the slices of each group without those of the slices inside them."""
    parent, group = owners.shape.parent, owners.group
    long = block.slices.end - block.slices.start
    long[block.native] = 0
    own = long[owners.shape.index]
    inner = np.flatnonzero(parent >= 0)
    np.subtract.at(own, parent[inner], long[owners.shape.index[inner]])
    counts = owners.counts(block.counted if warm_up else block.steady)
    charged = np.flatnonzero(group >= 0 if counts is None else (group >= 0) & counts)
    total = np.zeros(groups, np.int64)
    np.add.at(total, group[charged], own[charged])
    return total


def _charge(block: _Block) -> Charged:
    """As `charge`, for a block of tracks."""
    owners = _Owners(block)
    of_lanes, _ = _of_lanes(block, owners)
    if not block.has_lanes and not block.has_scopes:
        return Charged(of_lanes, of_lanes)
    return Charged(of_lanes, _of_threads(*_without_scopes(block, owners)))


def _without_scopes(block: _Block, owners: _Owners) -> tuple[_Block, _Owners]:
    """A block in which scopes have no group, and its owners: those of its wall time."""
    if not block.has_scopes:
        return block, owners
    bare = replace(block, group=np.where(block.is_scope, -1, block.group))
    return bare, _Owners(bare)


def _of_threads(block: _Block, owners: _Owners) -> Segments:
    """The time of a block of tracks, disjoint on each thread."""
    slices, starts = block.slices, block.lane_starts or (0,)
    segments, owner = _of_lanes(block, owners)
    over = _overlaps(segments)
    if not over.any():
        return segments
    parted, owner = segments.taken(over), owner[over]
    row_lane = slices.row_lane[slices.rows()[owner]].astype(np.int64)
    thread = parted.track * len(starts) + np.searchsorted(starts, row_lane, "right") - 1
    last = _started_last(thread, parted.start, parted.end, slices.start[owner], slices.end[owner])
    parted = replace(parted.taken(last.index), start=last.start, end=last.end)
    found = _joined([segments.taken(~over), parted])
    return found.taken(np.lexsort((found.start, found.track)))


@dataclass(frozen=True, slots=True, eq=False)
class _Disjoint:
    """Parts of intervals, disjoint on each thread and sorted by (thread, start).

    index: the interval that each is a part of. start, end: in ticks. All int64.
    """

    index: Ints
    start: Ints
    end: Ints


def _started_last(
    thread: Ints, start: Ints, end: Ints, slice_start: Ints, slice_end: Ints
) -> _Disjoint:
    """Return the parts of intervals in which their slice is the one that started last.

    The arrays have one value per interval. slice_start, slice_end: of the slice that it is a part
    of. Of slices that start together, the shorter one counts.
    """
    count = len(start)
    by_rank = np.lexsort((-slice_end, slice_start))
    rank = np.empty(count, np.int64)
    rank[by_rank] = np.arange(count)
    times, threads = np.concatenate([start, end]), np.concatenate([thread, thread])
    order = np.lexsort((times, threads))
    times, threads = times[order], threads[order]
    is_new = np.append(True, (times[1:] != times[:-1]) | (threads[1:] != threads[:-1]))
    place = np.empty(2 * count, np.int64)
    place[order] = np.cumsum(is_new) - 1
    times = times[is_new]
    best = _highest(place[:count], place[count:], rank, len(times))[:-1]
    busy = np.flatnonzero(best >= 0)
    return _Disjoint(by_rank[best[busy]], times[busy], times[busy + 1])


def _highest(first: Ints, last: Ints, value: Ints, count: int) -> Ints:
    """Return for each of `count` places the highest value whose range [first, last) has it, or -1.

    A range is the union of two blocks whose length is a power of two. From the longest blocks to
    the shortest, each hands its value to its halves: n log n steps, all on arrays.
    """
    level = np.frexp((last - first).astype(np.float64))[1] - 1
    best = np.full(count, -1)
    for step in range(int(level.max(initial=0)), -1, -1):
        own = np.flatnonzero(level == step)
        np.maximum.at(best, first[own], value[own])
        np.maximum.at(best, last[own] - (1 << step), value[own])
        if step:
            half = 1 << (step - 1)
            halves = best.copy()
            np.maximum(halves[half:], best[:-half], out=halves[half:])
            best = halves
    return best


def _overlaps(segments: Segments) -> Bools:
    """Which segments overlap another one of their track; they are sorted by track and start."""
    track, start, end = segments.track, segments.start, segments.end
    if not len(track):
        return np.empty(0, np.bool_)
    # A group of segments begins with one that no earlier one reaches.
    begins = start >= _reach_before(track, start, end)
    group = np.cumsum(begins) - 1
    found: Bools = np.bincount(group)[group] > 1
    return found


def _of_lanes(block: _Block, owners: _Owners) -> tuple[Segments, Ints]:
    """The time of a block of tracks, disjoint in each lane, and the slice each is charged to."""
    slices, shape, group = block.slices, owners.shape, owners.group
    index, parent = shape.index, shape.parent
    begin, end = event_positions(shape)
    n = len(group)
    time, owner = np.empty(2 * n, np.int64), np.empty(2 * n, np.int64)
    time[begin], time[end] = slices.start[index], slices.end[index]
    owner[begin] = owners.place
    owner[end] = np.where(parent >= 0, owners.place[parent], -1)
    group_of = np.append(group, -1)[owner]
    keep = np.flatnonzero((group_of[:-1] >= 0) & (time[1:] > time[:-1]))
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

    segments = Segments(
        on,
        time[keep],
        time[keep + 1],
        group_of[keep],
        *(of_segments(owners.counts(one)) for one in (block.counted, block.steady)),
    )
    return segments, index[owner[keep]]


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

    Without a range, only what `counted_slices` includes.
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
    np.add.at(total, segments.group, np.maximum(end - start, 0))
    return total


def covered_per_group(start: Ints, end: Ints, group: Ints, groups: int) -> Ints:
    """Ticks in which any interval of a group is active; those of one group may overlap."""
    total = np.zeros(groups, np.int64)
    order = np.lexsort((start, group))
    order = order[end[order] > start[order]]
    if len(order):
        group, start, end = group[order], start[order], end[order]
        covered = np.maximum(end - np.maximum(start, _reach_before(group, start, end)), 0)
        np.add.at(total, group, covered)
    return total


def _reach_before(part: Ints, start: Ints, end: Ints) -> Ints:
    """The latest end of the earlier intervals of its part; the start of the first of a part.

    The intervals must be sorted by part and start.
    """
    begins = np.append(True, part[1:] != part[:-1])
    reach = intervals.running_maximum(end, begins)
    return np.where(begins, start, np.append(start[:1], reach[:-1]))


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
    counted = counted_slices(trace, warm_up=warm_up) if is_whole(first, last) else None
    timed = np.ones(len(slices), np.bool_)
    if track is not None:
        timed &= (slices.row_track == track)[slices.rows()]
    if counted is not None:
        timed &= counted
    inside = starts_between(trace, slices.start, first, last) & timed
    timed[foreign(slices)] = False
    total = np.zeros(len(trace.keys), np.int64)
    for part in parts_of(len(slices)):
        start, end = slices.start[part], slices.end[part]
        if first is not None:
            start, end = np.maximum(start, first), np.maximum(end, first)
        if last is not None:
            start, end = np.minimum(start, last), np.minimum(end, last)
        np.add.at(total, slices.key[part], (end - start) * timed[part])
    return counts_of(slices.key, len(trace.keys), inside), total
