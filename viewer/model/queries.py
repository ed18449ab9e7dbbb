"""Questions about a trace: the tree of its slices, self time, and what groups of slices cost.

All are array work on frozen columns and may run off the GUI thread. Times are ticks.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from viewer.arrays import Bools, Ints
from viewer.model import intervals
from viewer.model.executorch_names import EXECUTE
from viewer.model.trace import KeyKind, Run, Slices, Trace

NATIVE_START = "native_start"
NATIVE_DURATION = "native_dur"
NATIVE_UNIT = "native_unit"
# Up to so many rows, searching each is faster than looking at every slice of a track.
FEW_ROWS = 600


@dataclass(frozen=True, slots=True)
class Tree:
    """The slices of a trace in preorder, one lane after another.

    index: preorder position -> slice. depth: depth inside the lane, 0 where a lane begins. parent:
    preorder position of the parent, -1 for a root. All int64.
    """

    index: Ints
    depth: Ints
    parent: Ints


def tree(slices: Slices) -> Tree:
    """Rebuild the nesting from `order` and the depths; linear but for one search per depth."""
    n = len(slices)
    index = np.empty(n, np.int64)
    index[slices.order] = np.arange(n)
    row = slices.rows()[index]
    depth = slices.row_depth.astype(np.int64)[row]
    parent = np.full(n, -1, np.int64)
    above = np.flatnonzero(depth == 0)
    for level in range(1, int(depth.max(initial=0)) + 1):
        here = np.flatnonzero(depth == level)
        parent[here] = above[np.searchsorted(above, here) - 1]
        above = here
    return Tree(index, depth, parent)


def foreign(slices: Slices) -> Ints:
    """The slices that a clock of their own timed: drawn inside their call, never summed."""
    column = slices.columns.get(NATIVE_DURATION)
    if column is None:
        return np.empty(0, np.int64)
    return np.arange(len(slices)) if column.valid is None else np.flatnonzero(column.valid)


def units_of(trace: Trace) -> Ints:
    """The unit (`Unit`) of the track that each slice is on."""
    slices = trace.slices
    units = np.array([track.unit for track in trace.tracks], np.int64)
    found: Ints = units[slices.row_track[slices.rows()]]
    return found


def numbers(trace: Trace, column: str, of: Bools | None = None) -> tuple[Ints, Ints]:
    """The slices (of some) that have a number in a column, none below 0, and these numbers."""
    found = trace.slices.columns.get(column)
    if found is None or found.strings is not None:
        return np.empty(0, np.int64), np.empty(0, np.int64)
    has = found.values >= 0
    for also in (of, found.valid):
        has = has if also is None else has & also
    at = np.flatnonzero(has)
    return at, found.values[at].astype(np.int64)


def execute_keys(trace: Trace) -> Bools:
    """Per key whether its slices are a whole inference, Method::execute."""
    named = np.array([name == EXECUTE for name in trace.strings], np.bool_)
    found: Bools = (trace.keys.kind == KeyKind.FRAMEWORK) & named[trace.keys.name]
    return found


def run_of_slices(trace: Trace) -> Ints:
    """Per slice the position of its run in `trace.runs`, -1 outside all (int64).

    By the rows of the file where the file lists its events run by run, else by where a slice
    begins among the runs of its track.
    """
    slices, runs = trace.slices, trace.runs
    found = np.full(len(slices), -1)
    if runs and all(run.first_row >= 0 for run in runs):
        rows = np.array([run.first_row for run in runs])
        by_row = np.argsort(rows, kind="stable")
        at = np.searchsorted(rows[by_row], slices.source_row.astype(np.int64), "right") - 1
        return np.where(at >= 0, by_row[np.maximum(at, 0)], -1)
    for track in sorted({run.track for run in runs}):
        own = sorted((run.start, run.end, n) for n, run in enumerate(runs) if run.track == track)
        start, end, number = np.array(own).T
        for row in np.flatnonzero(slices.row_track == track).tolist():
            lo, hi = int(slices.row_ptr[row]), int(slices.row_ptr[row + 1])
            begins = slices.start[lo:hi]
            at = np.searchsorted(start, begins, "right") - 1
            inside = (at >= 0) & (begins <= end[np.maximum(at, 0)])
            found[lo:hi] = np.where(inside, number[np.maximum(at, 0)], -1)
    return found


def begins(trace: Trace, start: Ints, first: int | None, last: int | None) -> Bools:
    """Which starts are in [first, last), so that ranges side by side count nothing twice.

    What begins at the very end of the trace is in the range that ends there, and what begins where
    a range without a length is, is in it.
    """
    inside = np.ones(len(start), np.bool_)
    if first is not None:
        inside &= start >= first
    if last is not None:
        closed = last >= trace.end or first == last
        inside &= start <= last if closed else start < last
    return inside


def begin_in_run(trace: Trace, run: Run, some: Ints) -> Ints:
    """Of some slices those that begin in a run, on its track."""
    slices = trace.slices
    on_track = slices.tracks_of(some) == run.track
    inside: Ints = some[on_track & begins(trace, slices.start[some], run.start, run.end)]
    return inside


def self_time(slices: Slices) -> Ints:
    """Per slice its length less that of its children (int64).

    Foreign children cover nothing, nor do those that a reader derived: they are part of the rest.
    """
    shape = tree(slices)
    long = slices.end - slices.start
    covering = long.copy()
    covering[foreign(slices)] = 0
    if slices.derived is not None:
        covering[slices.derived] = 0
    inner = np.zeros(len(slices), np.int64)
    child = shape.parent >= 0
    np.add.at(inner, shape.index[shape.parent[child]], covering[shape.index[child]])
    return long - inner


def children_of(slices: Slices, i: int) -> Ints:
    """The children of slice i, by time; two searches in the next row, whatever the trace's size."""
    row = slices.row_of(i)
    track, lane, depth = (
        int(part[row]) for part in (slices.row_track, slices.row_lane, slices.row_depth)
    )
    below = np.flatnonzero(
        (slices.row_track == track) & (slices.row_lane == lane) & (slices.row_depth == depth + 1)
    )
    if len(below) == 0:
        return np.empty(0, np.int64)
    lo, hi = (int(x) for x in slices.row_ptr[below[0] : below[0] + 2])
    follows = i + 1 < int(slices.row_ptr[row + 1])
    stop = int(slices.order[i + 1]) if follows else np.iinfo(np.uint32).max
    rank = slices.order[lo:hi]
    first, last = np.searchsorted(rank, np.array([slices.order[i], stop], np.uint32))
    return np.arange(lo + first, lo + last)


def self_time_of(slices: Slices, i: int) -> int:
    """What `self_time` says of one slice, without looking at the others."""
    children = children_of(slices, i)
    native = slices.columns.get(NATIVE_DURATION)
    if native is not None:
        children = children[:0] if native.valid is None else children[~native.valid[children]]
    if slices.derived is not None:
        children = children[~slices.derived[children]]
    inner = slices.end[children] - slices.start[children]
    return int(slices.end[i] - slices.start[i]) - int(inner.sum())


def unattributed_time(trace: Trace) -> tuple[int, int]:
    """Ticks of delegate calls that none of their events covers, and ticks of the calls asked.

    Those are the calls that log events on the clock of the dump.
    """
    slices, kind = trace.slices, trace.keys.kind
    if not (kind == KeyKind.DELEGATE_CALL).any():
        return 0, 0
    shape = tree(slices)
    own = kind[slices.key[shape.index]]
    told = own == KeyKind.DELEGATE_EVENT
    told[np.isin(shape.index, foreign(slices))] = False
    # Only what lies in its call counts, also where a damaged file is nested by time.
    in_call = (shape.parent >= 0) & (own[shape.parent] == KeyKind.DELEGATE_CALL)
    part = np.flatnonzero(in_call & (own == KeyKind.UNATTRIBUTED))
    calls = np.unique(shape.parent[in_call & (told | (own == KeyKind.UNATTRIBUTED))])
    long = (slices.end - slices.start)[shape.index]
    return int(long[part].sum()), int(long[calls].sum())


def slices_within(slices: Slices, track: int, first: int, last: int) -> Ints:
    """The slices of a track that touch [first, last), ascending.

    Rows hold no overlaps, so each is two searches; where a track has very many rows (a million
    slices of one time have one each) all its slices are asked at once. Slices without a length
    count where they begin.
    """
    limits = np.iinfo(np.int64)
    lo, hi = (np.int64(min(max(t, limits.min), limits.max)) for t in (first, last))
    rows = np.flatnonzero(slices.row_track == track)
    if len(rows) > FEW_ROWS:
        span = slice(int(slices.row_ptr[rows[0]]), int(slices.row_ptr[rows[-1] + 1]))
        start, end = slices.start[span], slices.end[span]
        touched = np.flatnonzero((start < hi) & ((end > lo) | (start >= lo)))
        return np.asarray(touched + span.start, np.int64)
    found = [np.empty(0, np.int64)]
    for row in rows.tolist():
        begin, stop = (int(at) for at in slices.row_ptr[row : row + 2])
        starts = slices.start[begin:stop]
        begins = int(np.searchsorted(slices.end[begin:stop], lo, side="right"))
        begins = min(begins, int(np.searchsorted(starts, lo)))
        found.append(np.arange(begin + begins, begin + int(np.searchsorted(starts, hi))))
    return np.concatenate(found)


def busy_time(slices: Slices, track: int, first: int, last: int) -> int:
    """The ticks of [first, last) in which a track has an outermost slice, lanes united."""
    within = slices_within(slices, track, first, last)
    row = np.searchsorted(slices.row_ptr, within, side="right") - 1
    outer = within[slices.row_depth[row] == 0]
    own = np.setdiff1d(outer, foreign(slices), assume_unique=True)
    return intervals.length(*intervals.clip(slices.start[own], slices.end[own], first, last))


@dataclass(frozen=True, slots=True)
class Segments:
    """Time charged to groups: disjoint within a lane, sorted by (track, start).

    Parallel int64 arrays. Every instant belongs to the innermost slice that has a group, so nothing
    is ever counted twice and the parts add up to the whole.
    """

    track: Ints
    start: Ints
    end: Ints
    group: Ints
    lanes: bool  # whether any track has more than one lane, so that groups must be united


def charge(trace: Trace, group_of_key: Ints) -> Segments:
    """Charge every instant to the group of the innermost slice whose key has one (>= 0).

    Foreign slices have no extent of their own and charge nothing.
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
    track = np.empty(2 * n, np.int64)
    track[begin] = track[end] = slices.row_track[slices.rows()[shape.index]]
    keep = (
        np.flatnonzero((owner[:-1] >= 0) & (time[1:] > time[:-1])) if n else np.empty(0, np.int64)
    )
    order = np.lexsort((time[keep], track[keep]))
    keep = keep[order]
    return Segments(
        track[keep], time[keep], time[keep + 1], owner[keep], bool((slices.row_lane > 0).any())
    )


def event_positions(shape: Tree) -> tuple[Ints, Ints]:
    """Where each slice begins and ends in the sequence of all begin and end events, in preorder.

    A slice at depth d that is number i in its lane begins after i - d ends; it ends just before the
    next slice of depth <= d begins. So ends come before begins of the same time, parents first.
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
) -> Ints:
    """Ticks charged to each group inside [first, last], on one track or on all.

    Overlapping lanes of a track are united.
    """
    if track is not None:
        lo, hi = (int(i) for i in np.searchsorted(segments.track, np.array([track, track + 1])))
        segments = replace(
            segments,
            track=segments.track[lo:hi],
            start=segments.start[lo:hi],
            end=segments.end[lo:hi],
            group=segments.group[lo:hi],
        )
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
    """Per interval its length less what earlier ones of its part cover; sorted by part and start.

    How far a part reaches is a running maximum; it is taken of ranks, below those of the next part,
    as ends of ticks cannot be shifted apart within int64.
    """
    begins = np.append(True, part[1:] != part[:-1])
    ends, rank = np.unique(end, return_inverse=True)
    base = (np.cumsum(begins) - 1) * len(ends)
    reach = ends[np.maximum.accumulate(base + rank) - base]
    before = np.where(begins, start, np.append(start[:1], reach[:-1]))
    return np.maximum(end - np.maximum(start, before), 0)


def sum_per_key(
    trace: Trace, first: int | None = None, last: int | None = None, track: int | None = None
) -> tuple[Ints, Ints]:
    """Per key the number of its slices that begin in [first, last), and how long it runs there.

    Which of them begin there is as `begins` has it.

    track: count this track alone.
    """
    slices = trace.slices
    start, end = slices.start, slices.end
    inside = begins(trace, start, first, last)
    if track is not None:
        on_track = (slices.row_track == track)[slices.rows()]
        inside &= on_track
        end = np.where(on_track, end, start)
    if first is not None:
        start, end = np.maximum(start, first), np.maximum(end, first)
    if last is not None:
        start, end = np.minimum(start, last), np.minimum(end, last)
    long = end - start
    long[foreign(slices)] = 0
    total = np.zeros(len(trace.keys), np.int64)
    np.add.at(total, slices.key, long)
    return np.bincount(slices.key[inside], minlength=len(trace.keys)).astype(np.int64), total
