"""Queries about a trace: the tree of its slices, self time, and the cost of groups of slices.

All are array operations on frozen columns and may run off the GUI thread. Times are ticks. What is
computed track by track, such as the tree of calls, needs a dozen arrays per slice. Of ten million
slices at once, each comes from main memory; of a block, from the cache. That takes a third of the
time, and the blocks run on two threads, as numpy releases the GIL.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Sequence
from threading import Lock
from typing import TypeVar
from weakref import WeakKeyDictionary

import numpy as np

from viewer.arrays import Bools, Codes, Ints, levels, lists_by_key
from viewer.codecs import large_arrays
from viewer.dataclasses import dataclass
from viewer.model import intervals
from viewer.model.recorded_names import EXECUTE, MODEL_RUN
from viewer.model.trace import KeyKind, Run, Slices, Trace
from viewer.model.warm_up import counts_per_run

# Slices of a block, unless its only track has more: a dozen columns of them fit 16 MB.
BLOCK = 1 << 17
_MANY = 200_000  # slices from which starting threads pays off
# Two items of more slices than this are not worked on at once: each takes up to 150 bytes a slice
# meanwhile.
_HUGE = 1 << 22
_In = TypeVar("_In")
_Out = TypeVar("_Out")


@dataclass(frozen=True, slots=True)
class TrackBlock:
    """Some tracks that follow each other.

    span: their slices in the trace, and at the same time their ranks in preorder. slices: these as
    a trace of their own, with ranks from 0; its columns are views.
    """

    span: slice
    slices: Slices


def track_blocks(slices: Slices) -> list[TrackBlock]:
    """Return all slices in blocks of at least `BLOCK` slices, except the last one."""
    if len(slices) <= BLOCK:
        return [TrackBlock(slice(0, len(slices)), slices)]
    first_rows = np.flatnonzero(np.append(True, slices.row_track[1:] != slices.row_track[:-1]))
    rows, before = first_rows.tolist(), slices.row_ptr[first_rows].tolist()
    blocks, row, start = [], 0, 0
    for next_row, stop in zip(
        (*rows[1:], len(slices.row_track)), (*before[1:], len(slices)), strict=True
    ):
        if stop - start >= BLOCK or stop == len(slices):
            if stop > start:
                span = slice(start, stop)
                blocks.append(TrackBlock(span, _part(slices, span, slice(row, next_row))))
            row, start = next_row, stop
    return blocks


def _part(slices: Slices, span: slice, rows: slice) -> Slices:
    return Slices(
        start=slices.start[span],
        end=slices.end[span],
        name=slices.name[span],
        key=slices.key[span],
        source_row=slices.source_row[span],
        order=None if slices.order is None else slices.order[span] - np.uint32(span.start),
        row_ptr=slices.row_ptr[rows.start : rows.stop + 1] - span.start,
        row_track=slices.row_track[rows],
        row_lane=slices.row_lane[rows],
        row_depth=slices.row_depth[rows],
        derived=None if slices.derived is None else slices.derived[span],
        columns={name: column.taken(span) for name, column in slices.columns.items()},
        timing=None if slices.timing is None else slices.timing[span],
    )


def in_blocks(work: Callable[[TrackBlock], _Out], slices: Slices) -> list[_Out]:
    """Apply `work` to each block of tracks, in order."""
    blocks = track_blocks(slices)
    return on_two_threads(work, blocks, [len(block.slices) for block in blocks])


def on_two_threads(
    work: Callable[[_In], _Out], of: Sequence[_In], sizes: Sequence[int]
) -> list[_Out]:
    """Return what `work` makes of each item; on two threads if there are many slices in all.

    sizes: the slices of each item. The largest begin: otherwise a large last one would run alone.
    """
    if sum(sizes) < _MANY or len(of) < 2:
        return [work(block) for block in of]
    # Commands on small files do without it: it takes as long to import as they take to run.
    from concurrent.futures import ThreadPoolExecutor

    outputs: dict[int, _Out] = {}
    one_at_once = Lock()

    def keep(number: int) -> None:
        with one_at_once if sizes[number] > _HUGE else contextlib.nullcontext():
            outputs[number] = work(of[number])
        large_arrays.let_go()

    with ThreadPoolExecutor(2, "tracks") as pool:
        for _ in pool.map(keep, sorted(range(len(of)), key=lambda number: -sizes[number])):
            pass  # raises what `work` raised
    return [outputs[number] for number in range(len(of))]


NATIVE_START = "native_start"
NATIVE_DURATION = "native_dur"
NATIVE_UNIT = "native_unit"
# Up to this many rows, searching each is faster than scanning every slice of a track.
FEW_ROWS = 600
# Slices of a row from which rows are handled one by one.
_MANY_IN_ROW = 32


@dataclass(frozen=True, slots=True)
class Tree:
    """The slices of a trace in preorder, one lane after another.

    index: preorder position -> slice. depth: depth in the lane, 0 for the roots of a lane. parent:
    preorder position of the parent, -1 for a root. All int64.
    """

    index: Ints
    depth: Ints
    parent: Ints


def preorder(slices: Slices) -> Ints:
    """The slice at each rank in preorder, one lane after another."""
    index = np.empty(len(slices), np.int64)

    def arrange(block: TrackBlock) -> None:
        np.add(_preorder(block.slices), block.span.start, out=index[block.span])

    in_blocks(arrange, slices)
    return index


def ranks(slices: Slices) -> Codes:
    """The rank of each slice in preorder: `Slices.order`, whether or not it is held."""
    if slices.order is not None:
        return slices.order
    rank = np.empty(len(slices), np.uint32)

    def count(block: TrackBlock) -> None:
        span = block.span
        rank[span][_preorder(block.slices)] = np.arange(span.start, span.stop, dtype=np.uint32)

    in_blocks(count, slices)
    return rank


def _preorder(slices: Slices) -> Ints:
    """The slice at each rank of a block of tracks."""
    n = len(slices)
    if slices.order is not None:
        index = np.empty(n, np.int64)
        index[slices.order] = np.arange(n)
        return index
    if not slices.row_depth.any():
        return np.arange(n)
    track, lane = slices.row_track, slices.row_lane
    is_first = np.append(False, (track[1:] != track[:-1]) | (lane[1:] != lane[:-1]))
    return by_lane(slices.start, np.cumsum(is_first).repeat(np.diff(slices.row_ptr)))


def by_lane(start: Ints, lane: Ints) -> Ints:
    """What sorts slices by lane, then start; equal ones keep their order.

    lane: of each slice, ascending from 0. Slices in order of their rows come out in preorder unless
    `Slices.order` is held. A row is sorted already, which a merge sort makes use of.
    """
    lanes = int(lane[-1]) + 1 if len(lane) else 0
    if lanes <= 1:
        return np.argsort(start, kind="stable")
    first = int(start.min())
    span = int(start.max()) - first + 1
    if span * lanes >= 1 << 63:
        return np.lexsort((start, lane))
    return np.argsort(lane * span + (start - first), kind="stable")


def nesting(slices: Slices) -> Codes | Ints:
    """A column that is ascending in preorder of each lane, and places children in their parents.

    A slice is a child of the last one in the row above whose number is not higher. No number of a
    child is lower than its parent's, or as high as that of the slice after its parent.
    """
    return slices.start if slices.order is None else slices.order


def tree(slices: Slices) -> Tree:
    """Rebuild the nesting from preorder and the depths: linear, plus one search per depth."""
    blocks = track_blocks(slices)
    if len(blocks) == 1:
        return _tree(slices)
    index, depth, parent = (np.empty(len(slices), np.int64) for _ in range(3))

    def grow(block: TrackBlock) -> None:
        block_tree, span = _tree(block.slices), block.span
        np.add(block_tree.index, span.start, out=index[span])
        depth[span] = block_tree.depth
        # -1 stays: the roots of later blocks have no parent either.
        np.add(block_tree.parent, span.start * (block_tree.parent >= 0), out=parent[span])

    on_two_threads(grow, blocks, [len(block.slices) for block in blocks])
    return Tree(index, depth, parent)


def _tree(slices: Slices) -> Tree:
    """The tree of a block of tracks, whose ranks are 0 and up."""
    n = len(slices)
    index = _preorder(slices)
    depth = np.repeat(slices.row_depth.astype(np.int64), np.diff(slices.row_ptr)).take(index)
    parent = np.full(n, -1, np.int64)
    above = None
    for here in levels(depth):
        if above is not None:
            parent[here] = above[np.searchsorted(above, here) - 1]
        above = here
    return Tree(index, depth, parent)


def innermost_around(slices: Slices, mask: Bools) -> Ints:
    """Return per slice the innermost masked slice around it, which may be itself; else -1.

    mask: one value per slice.
    """
    shape = tree(slices)
    is_some = mask[shape.index]
    nearest = np.where(is_some, shape.index, -1)
    for level in levels(shape.depth)[1:]:
        inherits = level[~is_some[level]]
        nearest[inherits] = nearest[shape.parent[inherits]]
    around = np.empty(len(is_some), np.int64)
    around[shape.index] = nearest
    return around


def foreign(slices: Slices) -> Ints:
    """The slices timed by a separate clock: drawn inside their call, never included in sums."""
    column = slices.columns.get(NATIVE_DURATION)
    if column is None:
        return np.empty(0, np.int64)
    return np.arange(len(slices)) if column.valid is None else np.flatnonzero(column.valid)


def units_of(trace: Trace) -> Ints:
    """The unit (`Unit`) of each slice's track."""
    slices = trace.slices
    units = np.array([track.unit for track in trace.tracks], np.int64)
    slice_units: Ints = units[slices.row_track[slices.rows()]]
    return slice_units


def numbers(trace: Trace, column: str, of: Bools | None = None) -> tuple[Ints, Ints]:
    """The slices (only those in `of`) with a number of 0 to 2**63 in a column, and it as int64."""
    stored = trace.slices.columns.get(column)
    if stored is None or stored.strings is not None:
        return np.empty(0, np.int64), np.empty(0, np.int64)
    has = (stored.values >= 0) & (stored.values < 2.0**63)  # a hostile file may have 1e38
    for mask in (of, stored.valid):
        has = has if mask is None else has & mask
    index = np.flatnonzero(has)
    return index, stored.values[index].astype(np.int64)


def execute_keys(trace: Trace) -> Bools:
    """Which keys are a whole inference that the runtime timed (Method::execute, model_run)."""
    is_execute: Bools = trace.keys.kind == KeyKind.FRAMEWORK
    # Only of scopes: every selection asks, and there can be a million names.
    index = np.flatnonzero(is_execute)
    names = trace.keys.name[index].tolist()
    is_execute[index] = [trace.strings[name] in (EXECUTE, MODEL_RUN) for name in names]
    return is_execute


def run_of_slices(trace: Trace) -> Ints:
    """The index in `trace.runs` of each slice's run, -1 if none (int64).

    If the file lists its events run by run, its rows decide. Otherwise a slice belongs to the run
    of its track, or of all tracks, in which it starts.
    """
    slices, runs = trace.slices, trace.runs
    run_numbers = np.full(len(slices), -1)
    if runs and all(run.first_row >= 0 for run in runs):
        rows = np.array([run.first_row for run in runs])
        by_row = np.argsort(rows, kind="stable")
        place = np.searchsorted(rows[by_row], slices.source_row.astype(np.int64), "right") - 1
        return np.where(place >= 0, by_row[np.maximum(place, 0)], -1)
    if any(run.all_tracks for run in runs):
        return trace.runs_at(slices.start, range(len(runs)))
    of_tracks = lists_by_key((run.track, number) for number, run in enumerate(runs))
    for track, numbers_on_track in of_tracks.items():
        rows = np.flatnonzero(slices.row_track == track)
        if len(rows):
            span = slice(int(slices.row_ptr[rows[0]]), int(slices.row_ptr[rows[-1] + 1]))
            run_numbers[span] = trace.runs_at(slices.start[span], numbers_on_track)
    return run_numbers


# The bit of `viewer.model.timing.Timing.UNFINISHED`.
WITHOUT_END = 32


def unfinished(slices: Slices) -> Bools | None:
    """Which slices have no end, so that they lasted at least to where they are drawn; None if none.

    Their durations are in no mean and no total of a whole trace.
    """
    if slices.timing is None:
        return None
    is_open: Bools = slices.timing & np.uint8(WITHOUT_END) > 0
    return is_open if is_open.any() else None


_counted: WeakKeyDictionary[Trace, dict[bool, Bools | None]] = WeakKeyDictionary()


def counted_slices(trace: Trace, *, warm_up: bool = True) -> Bools | None:
    """Which slices figures of the whole trace count.

    Not those without an end, and not those of an inference that is left out.

    On tracks without runs, such as those of a worker thread or an NPU, these are the slices that
    start while such an inference runs and no counted one does.

    warm_up: whether inferences that warm up count. None if all slices count, which is nearly always
    so with warm-up. Every sum over a whole trace asks this function; figures of one inference, or
    of a range, count everything in it. `viewer.model.warm_up.counts_per_run` decides.
    """
    cached = _counted.setdefault(trace, {})
    if not warm_up and not any(run.warms_up for run in trace.runs):
        return counted_slices(trace)
    if warm_up not in cached:
        counts = counts_per_run(trace, warm_up=warm_up)
        is_every = all(counts) and not trace.only_inferences
        is_counted = None if is_every else _of_runs(trace, np.array(counts, np.bool_))
        is_open = unfinished(trace.slices)
        if is_open is not None:
            is_counted = ~is_open if is_counted is None else is_counted & ~is_open
        cached[warm_up] = is_counted
    return cached[warm_up]


def _of_runs(trace: Trace, counts: Bools) -> Bools:
    """Which slices belong to a run that counts, or, unless only inferences do, to none."""
    slices, runs, is_only = trace.slices, trace.runs, trace.only_inferences
    run = run_of_slices(trace)
    if is_only and any(member.first_row < 0 for member in runs):
        # What begins as an inference ends is after it.
        ends = np.array([member.end for member in runs], np.int64)
        run[(run >= 0) & (slices.start >= ends[run]) & (slices.end > slices.start)] = -1
    # The last entry is for slices outside all runs.
    is_counted: Bools = np.append(counts, not is_only)[run]
    if all(run.first_row >= 0 for run in runs):
        return is_counted
    spans = np.array([(run.start, run.end) for run in runs], np.int64)
    # What another track does meanwhile is no part of a load.
    is_apart = np.array([run.is_apart for run in runs])
    left_out = intervals.subtract(
        intervals.union(*spans[~counts & ~is_apart].T), intervals.union(*spans[counts].T)
    )
    if is_only:
        left_out = intervals.union(*spans[counts].T)  # the contrary: where slices count
    has_runs = np.full(len(trace.tracks), any(run.all_tracks for run in runs))
    has_runs[[run.track for run in runs]] = True
    other = np.flatnonzero(~has_runs[slices.row_track[slices.rows()]])
    place = np.searchsorted(left_out[0], slices.start[other], "right") - 1
    inside = (place >= 0) & (slices.start[other] < np.append(left_out[1], 0)[place])
    is_counted[other] = inside if is_only else is_counted[other] & ~inside
    return is_counted


def is_whole(first: int | None, last: int | None) -> bool:
    """Whether a range is the whole trace, so that `counted_slices` decides what counts."""
    return first is None and last is None


def starts_between(trace: Trace, start: Ints, first: int | None, last: int | None) -> Bools:
    """Which starts are in [first, last), so that adjacent ranges count no slice twice.

    If a range ends at the end of the trace, or has no duration, its end is included.
    """
    inside = np.ones(len(start), np.bool_)
    if first is not None:
        inside &= start >= first
    if last is not None:
        closed = last >= trace.end or first == last
        inside &= start <= last if closed else start < last
    return inside


def starts_in_run(trace: Trace, run: Run, index: Ints) -> Ints:
    """The slices among `index` that start in a run, on its track or, if it covers all, on any."""
    slices = trace.slices
    on_track = (slices.tracks_of(index) == run.track) | run.all_tracks
    inside: Ints = index[on_track & starts_between(trace, slices.start[index], run.start, run.end)]
    return inside


def self_time(slices: Slices) -> Ints:
    """The self time of each slice: its duration minus that of its children (int64).

    Children that are foreign or derived cover no time: their time stays in the parent's self time.
    `self_times` keeps it with the trace. A block of tracks at a time, and nothing per slice but the
    result: of ten million slices, 0.15 s.
    """
    self_ticks: Ints = large_arrays.empty(len(slices), np.int64)
    np.subtract(slices.end, slices.start, out=self_ticks)

    def subtract(block: TrackBlock) -> None:
        is_by_rows = len(block.slices) >= _MANY_IN_ROW * len(block.slices.row_track)
        subtract_children = _subtract_by_rows if is_by_rows else _subtract_by_tree
        subtract_children(block.slices, self_ticks[block.span])

    in_blocks(subtract, slices)
    return self_ticks


def _covering(slices: Slices, children: Ints | slice) -> Ints:
    """How much some slices cover of those around them."""
    covering: Ints = slices.end[children] - slices.start[children]
    native = slices.columns.get(NATIVE_DURATION)
    if native is not None:
        covering[slice(None) if native.valid is None else native.valid[children]] = 0
    if slices.derived is not None:
        covering[slices.derived[children]] = 0
    return covering


def _subtract_by_rows(slices: Slices, self_ticks: Ints) -> None:
    """Subtract the durations of children, which follow each other in the row below."""
    place, row_ptr = nesting(slices), slices.row_ptr.tolist()
    track, lane, depth = slices.row_track, slices.row_lane, slices.row_depth
    is_parent = (track[1:] == track[:-1]) & (lane[1:] == lane[:-1]) & (depth[1:] == depth[:-1] + 1)
    for row in np.flatnonzero(is_parent).tolist():
        first, below, end = row_ptr[row : row + 3]
        sums = np.zeros(end - below + 1, np.int64)
        np.cumsum(_covering(slices, slice(below, end)), out=sums[1:])
        before = sums[np.searchsorted(place[below:end], place[first:below])]
        self_ticks[first:below] -= np.diff(before, append=sums[-1])


def _subtract_by_tree(slices: Slices, self_ticks: Ints) -> None:
    """The same where rows are too short to be handled one by one."""
    shape = _tree(slices)
    inner = np.flatnonzero(shape.parent >= 0)
    covering = _covering(slices, shape.index[inner])
    np.subtract.at(self_ticks, shape.index[shape.parent[inner]], covering)


_self_times: WeakKeyDictionary[Trace, Ints] = WeakKeyDictionary()
_timing = Lock()


def self_times(trace: Trace) -> Ints:
    """The `self_time` of each slice, computed once and kept with the trace; not to be changed."""
    with _timing:
        if trace not in _self_times:
            _self_times[trace] = self_time(trace.slices)
            _self_times[trace].flags.writeable = False
        return _self_times[trace]


def children_of(slices: Slices, i: int) -> Ints:
    """The children of slice i by time. Two searches in the next row, whatever the trace's size."""
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
    place = nesting(slices)
    stop = min(i + 2, int(slices.row_ptr[row + 1]))
    bounds = np.searchsorted(place[lo:hi], place[i:stop]).tolist()
    first, last = bounds if len(bounds) == 2 else (bounds[0], hi - lo)
    return np.arange(lo + first, lo + last)


def parent_of(slices: Slices, i: int) -> int:
    """The parent of slice i, -1 for the root of a lane. One search, whatever the trace's size."""
    row = slices.row_of(i)
    track, lane, depth = (
        int(part[row]) for part in (slices.row_track, slices.row_lane, slices.row_depth)
    )
    above = np.flatnonzero(
        (slices.row_track == track) & (slices.row_lane == lane) & (slices.row_depth == depth - 1)
    )
    if depth == 0 or not len(above):
        return -1
    lo, hi = (int(x) for x in slices.row_ptr[above[0] : above[0] + 2])
    place = nesting(slices)
    return lo + int(np.searchsorted(place[lo:hi], place[i], side="right")) - 1


def self_time_of(slices: Slices, i: int) -> int:
    """The `self_time` of one slice, without computing the others."""
    children = children_of(slices, i)
    native = slices.columns.get(NATIVE_DURATION)
    if native is not None:
        children = children[:0] if native.valid is None else children[~native.valid[children]]
    if slices.derived is not None:
        children = children[~slices.derived[children]]
    inner = slices.end[children] - slices.start[children]
    return int(slices.end[i] - slices.start[i]) - int(inner.sum())


def unattributed_time(trace: Trace) -> tuple[int, int]:
    """Unattributed ticks of delegate calls, and the total ticks of the calls examined.

    The calls examined are those that log events on the clock of the ETDump.
    """
    slices, kind = trace.slices, trace.keys.kind
    if not (kind == KeyKind.DELEGATE_CALL).any():
        return 0, 0
    shape, counted = tree(slices), counted_slices(trace)
    kind_of_slice = kind[slices.key[shape.index]]
    is_event = kind_of_slice == KeyKind.DELEGATE_EVENT
    is_event[np.isin(shape.index, foreign(slices))] = False
    counts = True if counted is None else counted[shape.index]
    # Only events nested directly in a call count, also if a damaged file is nested by time.
    in_call = (shape.parent >= 0) & (kind_of_slice[shape.parent] == KeyKind.DELEGATE_CALL) & counts
    part = np.flatnonzero(in_call & (kind_of_slice == KeyKind.UNATTRIBUTED))
    calls = np.unique(shape.parent[in_call & (is_event | (kind_of_slice == KeyKind.UNATTRIBUTED))])
    long = (slices.end - slices.start)[shape.index]
    return int(long[part].sum()), int(long[calls].sum())


def slices_within(slices: Slices, track: int, first: int, last: int) -> Ints:
    """The slices of a track that touch [first, last), ascending.

    Slices in a row do not overlap, so each row takes two searches. If a track has very many rows (a
    million slices at one time have one row each), all its slices are scanned at once. A slice with
    no duration counts at its start.
    """
    limits = np.iinfo(np.int64)
    lo, hi = (np.int64(min(max(t, limits.min), limits.max)) for t in (first, last))
    rows = np.flatnonzero(slices.row_track == track)
    if len(rows) > FEW_ROWS:
        span = slice(int(slices.row_ptr[rows[0]]), int(slices.row_ptr[rows[-1] + 1]))
        start, end = slices.start[span], slices.end[span]
        touched = np.flatnonzero((start < hi) & ((end > lo) | (start >= lo)))
        return np.asarray(touched + span.start, np.int64)
    slice_ranges = [np.empty(0, np.int64)]
    for row in rows.tolist():
        row_start, stop = (int(bound) for bound in slices.row_ptr[row : row + 2])
        starts = slices.start[row_start:stop]
        first_hit = int(np.searchsorted(slices.end[row_start:stop], lo, side="right"))
        first_hit = min(first_hit, int(np.searchsorted(starts, lo)))
        slice_ranges.append(
            np.arange(row_start + first_hit, row_start + int(np.searchsorted(starts, hi)))
        )
    return np.concatenate(slice_ranges)


def busy_time(slices: Slices, track: int, first: int, last: int) -> int:
    """The ticks of [first, last) in which a track has an outermost slice on any lane."""
    within = slices_within(slices, track, first, last)
    row = np.searchsorted(slices.row_ptr, within, side="right") - 1
    outer = within[slices.row_depth[row] == 0]
    native = np.setdiff1d(outer, foreign(slices), assume_unique=True)
    return intervals.length(*intervals.clip(slices.start[native], slices.end[native], first, last))
