"""Other views of a trace's inferences: all of them from one start, or one that is their mean.

Both are traces of their own over the same keys, so links, colours and costs hold for them as well.
Loads, what lies outside of inferences and
events without a time are not in them. A trace without two inferences has no
other view.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from viewer.model.queries import NATIVE_DURATION, run_of_slices, tree
from viewer.model.trace import (
    Bools,
    Codes,
    Column,
    Ints,
    Run,
    RunKind,
    Slices,
    Trace,
    Track,
    UntimedEvents,
)

# More rows than this are no picture any more, and as many tracks take seconds to lay out.
MOST_ALIGNED = 1000


def has_run_views(trace: Trace) -> bool:
    """Whether there is more than one inference to compare."""
    return sum(1 for _ in trace.inferences()) > 1


def aligned_runs(trace: Trace) -> Trace:
    """Every inference on a track of its own, from time 0; the first `MOST_ALIGNED` of them.

    Nothing but the origin of times and the tracks differs from the file.
    """
    runs = [run for run in trace.runs if run.kind is RunKind.INFERENCE][:MOST_ALIGNED]
    owner = _run_of_slice(trace, runs)
    index = np.flatnonzero(owner >= 0)
    owner = owner[index]
    begin = np.array([run.start for run in runs], np.int64)
    tracks = tuple(
        Track(trace.tracks[r.track].process, f"{trace.tracks[r.track].thread} · run {r.number}")
        for r in runs
    )
    slices = trace.slices
    shifted = _laid_out(
        slices, index, owner, slices.start[index] - begin[owner], slices.end[index] - begin[owner]
    )
    moved = tuple(
        replace(run, track=i, start=0, end=run.end - run.start) for i, run in enumerate(runs)
    )
    return replace(trace, tracks=tracks, slices=shifted, runs=moved, untimed=UntimedEvents.empty())


def mean_run(trace: Trace) -> Trace:
    """One inference for every kind of run of a track: each slice from its mean start to mean end.

    Runs are of one kind if they have the same slices in the same order. Means of ends are floored
    to whole ticks, so a mean length is exact to one tick; what nests in all runs nests in the mean.
    All slices are flagged as derived. Arguments are kept where all runs agree; native lengths are
    means as well.
    """
    runs = [run for run in trace.runs if run.kind is RunKind.INFERENCE]
    owner = _run_of_slice(trace, runs)
    kinds = _kinds(trace, runs, owner)
    slices = trace.slices
    parts: list[_Mean] = []
    tracks: list[Track] = []
    means: list[Run] = []
    for number, kind in enumerate(kinds):
        members = [runs[r] for r in kind.runs.tolist()]
        begin = np.array([run.start for run in members], np.int64)[:, None]
        start = _floor_mean(slices.start[kind.index] - begin)
        end = _floor_mean(slices.end[kind.index] - begin)
        parts.append(_Mean(kind.index, start, end, np.full(len(start), number)))
        track = trace.tracks[members[0].track]
        several = sum(runs[int(k.runs[0])].track == members[0].track for k in kinds) > 1
        which = f" · mean of {len(members)}" if several or len(members) > 1 else ""
        tracks.append(Track(track.process, f"{track.thread}{which}"))
        length = _floor_mean(np.array([[run.end - run.start] for run in members]))
        means.append(
            replace(
                members[0], number=1, track=number, start=0, end=int(length[0]), count=len(members)
            )
        )
    if not parts:
        return trace
    mean = _laid_out(
        slices,
        np.concatenate([part.index[0] for part in parts]),
        np.concatenate([part.owner for part in parts]),
        np.concatenate([part.start for part in parts]),
        np.concatenate([part.end for part in parts]),
        columns={n: _mean_column(n, c, parts) for n, c in slices.columns.items()},
        derived=np.ones(sum(len(part.owner) for part in parts), np.bool_),
    )
    return replace(
        trace,
        tracks=_distinct(tracks),
        slices=mean,
        runs=tuple(means),
        untimed=UntimedEvents.empty(),
    )


@dataclass(slots=True)
class _Kind:
    """Runs with the same slices: their numbers, and per run its slices in preorder (runs, n)."""

    runs: Ints
    index: Ints


@dataclass(slots=True)
class _Mean:
    """The mean slices of one kind: what they are means of (runs, n), and where they lie."""

    index: Ints
    start: Ints
    end: Ints
    owner: Ints


def _run_of_slice(trace: Trace, runs: list[Run]) -> Ints:
    """Per slice the position in `runs` of the one that it is of, -1 if of none."""
    position = {id(run): i for i, run in enumerate(runs)}
    of_run = np.array([*(position.get(id(run), -1) for run in trace.runs), -1], np.int64)
    return of_run[run_of_slices(trace)]


def _kinds(trace: Trace, runs: list[Run], owner: Ints) -> list[_Kind]:
    """Group the runs by track and by the sequence of (key, lane, depth) of their slices."""
    slices = trace.slices
    preorder = tree(slices).index
    preorder = preorder[owner[preorder] >= 0]
    by_run = preorder[np.argsort(owner[preorder], kind="stable")]
    bounds = np.searchsorted(owner[by_run], np.arange(len(runs) + 1))
    row = slices.rows()[by_run]
    shape = np.stack(
        [slices.key[by_run], slices.name[by_run], slices.row_lane[row], slices.row_depth[row]],
        axis=1,
    )
    groups: dict[tuple[int, bytes], list[int]] = {}
    for i, run in enumerate(runs):
        own = shape[bounds[i] : bounds[i + 1]]
        if len(own):
            groups.setdefault((run.track, own.tobytes()), []).append(i)
    return [
        _Kind(np.array(members), np.stack([by_run[bounds[i] : bounds[i + 1]] for i in members]))
        for members in groups.values()
    ]


def _floor_mean(values: Ints) -> Ints:
    """The mean over runs (axis 0) floored; exact, whatever the sum."""
    first = values[0]
    mean: Ints = first + (values - first).sum(axis=0) // len(values)
    return mean


def _mean_column(name: str, column: Column, parts: list[_Mean]) -> Column:
    """A column of mean slices: what all runs agree on, else null; native lengths averaged."""
    values, valid = [], []
    for part in parts:
        of_run = column.values[part.index]
        known = (
            np.ones(of_run.shape, np.bool_) if column.valid is None else column.valid[part.index]
        )
        if name == NATIVE_DURATION:
            values.append(_floor_mean(of_run))
            valid.append(known.all(axis=0))
        else:
            values.append(of_run[0])
            valid.append((known & (of_run == of_run[0])).all(axis=0))
    mask = np.concatenate(valid)
    return Column(np.concatenate(values), None if mask.all() else mask, column.strings, column.unit)


def _laid_out(
    slices: Slices,
    index: Ints,
    track: Ints,
    start: Ints,
    end: Ints,
    columns: dict[str, Column] | None = None,
    derived: Bools | None = None,
) -> Slices:
    """Some slices with new tracks and times, each in the lane and at the depth that it had.

    columns, derived: parallel to `index`; by default what the slices have.
    """
    row = slices.rows()[index]
    lane, depth = slices.row_lane[row].astype(np.int64), slices.row_depth[row].astype(np.int64)
    lanes, depths = int(lane.max(initial=0)) + 1, int(depth.max(initial=0)) + 1
    preorder = np.lexsort((slices.order[index], lane, track))
    rank = np.empty(len(index), np.uint32)
    rank[preorder] = np.arange(len(index), dtype=np.uint32)
    key = (track * lanes + lane) * depths + depth
    final = np.lexsort((rank, key))
    rows, first = np.unique(key[final], return_index=True)
    if columns is None:
        columns = {name: _taken(column, index) for name, column in slices.columns.items()}
    if derived is None and slices.derived is not None:
        derived = slices.derived[index]
    return Slices(
        start=start[final],
        end=end[final],
        name=slices.name[index][final],
        key=slices.key[index][final],
        source_row=slices.source_row[index][final],
        order=rank[final],
        row_ptr=np.append(first, len(final)).astype(np.int64),
        row_track=_codes(rows // (lanes * depths)),
        row_lane=_codes(rows // depths % lanes),
        row_depth=_codes(rows % depths),
        derived=None if derived is None else derived[final],
        columns={name: _taken(column, final) for name, column in columns.items()},
    )


def _taken(column: Column, index: Ints) -> Column:
    valid = None if column.valid is None else column.valid[index]
    return replace(column, values=column.values[index], valid=valid)


def _codes(values: Ints) -> Codes:
    return values.astype(np.uint32)


def _distinct(tracks: list[Track]) -> tuple[Track, ...]:
    """The tracks with a letter behind names that would be the same: kinds of equally many runs."""
    found: list[Track] = []
    for track in tracks:
        name, number = track, 1
        while name in found:
            number += 1
            name = replace(track, thread=f"{track.thread} ({number})")
        found.append(name)
    return tuple(found)
