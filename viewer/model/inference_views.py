"""Other views of a trace's inferences: all of them from one start, or one that is their mean.

Both are traces of their own over the same keys, so links, colors and costs hold for them as well.
Loads, what lies outside of inferences and events without a time are not in them. A trace without
two inferences has no other view.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, replace
from enum import Enum
from itertools import islice
from typing import Any

import numpy as np
from numpy.typing import NDArray

from viewer.arrays import Bools, Codes, Ints
from viewer.model.queries import NATIVE_DURATION, run_of_slices, tree
from viewer.model.trace import Column, Run, RunKind, Slices, Trace, Track, UntimedEvents

# More rows than this are no picture any more, and as many tracks take seconds to lay out.
MOST_TRACKS = 1000


class Inferences(Enum):
    """How the inferences of profiles are shown."""

    AS_RUN = "as they ran"
    ALIGNED = "aligned at their starts"
    MEAN = "their mean"


def has_run_views(trace: Trace) -> bool:
    """Whether there is more than one inference to compare."""
    return next(islice(trace.inferences(), 1, None), None) is not None


def aligned_runs(trace: Trace) -> Trace:
    """Every inference on a track of its own, from time 0; the first `MOST_TRACKS` of them.

    Nothing but the origin of times and the tracks differs from the file.
    """
    own = _Inferences(trace, MOST_TRACKS)
    index = np.flatnonzero(own.number >= 0)
    number = own.number[index]
    begin = np.array([run.start for run in own.runs], np.int64)[number]
    slices = trace.slices
    columns = {name: column.taken(index) for name, column in slices.columns.items()}
    shifted = _laid_out(
        own,
        index,
        number,
        slices.start[index] - begin,
        slices.end[index] - begin,
        columns,
        None if slices.derived is None else slices.derived[index],
    )
    return replace(
        trace,
        tracks=tuple(_named(trace, run, f"run {run.number}") for run in own.runs),
        slices=shifted,
        runs=tuple(
            replace(run, track=i, start=0, end=run.end - run.start)
            for i, run in enumerate(own.runs)
        ),
        untimed=UntimedEvents.empty(),
    )


def mean_run(trace: Trace) -> Trace:
    """One inference for every kind of run of a scope: each slice from its mean start to mean end.

    Runs are of one kind if they have the same slices in the same order; the first `MOST_TRACKS`
    kinds are taken. Means of times are floored to whole ticks, so a mean length is exact to one
    tick; what nests in all runs nests in the mean. All slices are flagged as derived. Arguments are
    kept where all runs agree; native lengths are means as well.
    """
    own = _Inferences(trace)
    kinds = own.kinds()[:MOST_TRACKS]
    if not kinds:
        return trace
    slices = trace.slices
    kinds_of_track = Counter(kind.members[0].track for kind in kinds)
    means: list[_Mean] = []
    tracks: list[Track] = []
    runs: list[Run] = []
    for number, kind in enumerate(kinds):
        first, count = kind.members[0], len(kind.members)
        begin = np.array([run.start for run in kind.members], np.int64)[:, None]
        start = _mean(slices.start[kind.index] - begin)
        end = _mean(slices.end[kind.index] - begin)
        means.append(_Mean(kind.index, start, end, np.full(len(start), number)))
        length = _mean(np.array([[run.end - run.start] for run in kind.members]))
        run = replace(first, track=number, start=0, end=int(length[0]), count=count)
        if count > 1:
            tracks.append(_named(trace, first, f"mean of {count}"))
            runs.append(replace(run, number=1))
        else:
            # The only one of its kind is itself, not a mean.
            is_alone = kinds_of_track[first.track] == 1
            which = f"run {first.number}"
            track = trace.tracks[first.track]
            tracks.append(track if is_alone else _named(trace, first, which))
            runs.append(run)
    mean = _laid_out(
        own,
        np.concatenate([part.index[0] for part in means]),
        np.concatenate([part.track for part in means]),
        np.concatenate([part.start for part in means]),
        np.concatenate([part.end for part in means]),
        {name: _mean_column(name, column, means) for name, column in slices.columns.items()},
        np.ones(sum(len(part.track) for part in means), np.bool_),
    )
    return replace(
        trace,
        tracks=_distinct(tracks),
        slices=mean,
        runs=tuple(runs),
        untimed=UntimedEvents.empty(),
    )


@dataclass(slots=True)
class _Kind:
    """Runs with the same slices, and per run its slices in preorder (runs, n)."""

    members: list[Run]
    index: Ints


@dataclass(slots=True)
class _Mean:
    """The mean slices of one kind: what they are means of (runs, n), and where they lie."""

    index: Ints
    start: Ints
    end: Ints
    track: Ints


class _Inferences:
    """The inferences of a trace and, per slice, where it is in them.

    number: position in `runs` of the one that it is of, -1 if of none. lane, depth: its place among
    the slices of that run alone. Slices that were nested by time, since their levels contradict it,
    may lie inside one of another run.
    """

    def __init__(self, trace: Trace, most: int | None = None) -> None:
        inferences = (i for i, run in enumerate(trace.runs) if run.kind is RunKind.INFERENCE)
        chosen = list(islice(inferences, most))
        self.trace = trace
        self.runs = [trace.runs[i] for i in chosen]
        position = np.full(len(trace.runs) + 1, -1)  # the last one is for slices outside all runs
        position[chosen] = np.arange(len(chosen))
        slices = trace.slices
        self.number: Ints = position[run_of_slices(trace)]
        self.lane: Ints = slices.row_lane.astype(np.int64)[slices.rows()]
        shape = tree(slices)
        self.preorder = shape.index
        number = self.number[shape.index]
        depth = shape.depth.copy()
        for level in range(1, int(depth.max(initial=0)) + 1):
            here = np.flatnonzero(shape.depth == level)
            above = shape.parent[here]
            while (other := (above >= 0) & (number[above] != number[here])).any():
                above[other] = shape.parent[above[other]]
            depth[here] = np.where(above >= 0, depth[above] + 1, 0)
        self.depth = np.empty(len(slices), np.int64)
        self.depth[shape.index] = depth

    def kinds(self) -> list[_Kind]:
        """The runs by scope and by the sequence of (key, name, lane, depth) of their slices."""
        slices = self.trace.slices
        by_run = self.preorder[self.number[self.preorder] >= 0]
        by_run = by_run[np.argsort(self.number[by_run], kind="stable")]
        bounds = np.searchsorted(self.number[by_run], np.arange(len(self.runs) + 1))
        what = (slices.key, slices.name, self.lane, self.depth)
        shape = np.stack([column[by_run] for column in what], axis=1)
        groups: dict[tuple[str, int, bytes], list[int]] = {}
        for i, run in enumerate(self.runs):
            own = shape[bounds[i] : bounds[i + 1]]
            if len(own):
                process = self.trace.tracks[run.track].process
                groups.setdefault((process, run.scope, own.tobytes()), []).append(i)
        return [
            _Kind(
                [self.runs[i] for i in members],
                np.stack([by_run[bounds[i] : bounds[i + 1]] for i in members]),
            )
            for members in groups.values()
        ]


def _mean(values: NDArray[Any]) -> NDArray[Any]:
    """The mean over runs (axis 0); of integers floored, and exact whatever their sum."""
    if values.dtype.kind == "f":
        return np.asarray(values.mean(axis=0))
    count = len(values)
    away = values - values[0]
    # In parts, whose sums stay as small as the mean: the sum of the whole may leave int64.
    mean: Ints = values[0] + (away // count).sum(axis=0) + (away % count).sum(axis=0) // count
    return mean


def _mean_column(name: str, column: Column, means: list[_Mean]) -> Column:
    """A column of mean slices: what all runs agree on, else null; native lengths averaged."""
    averaged = name == NATIVE_DURATION and column.strings is None
    values, valid = [], []
    for part in means:
        of_run = column.values[part.index]
        known = (
            np.ones(of_run.shape, np.bool_) if column.valid is None else column.valid[part.index]
        )
        if averaged:
            values.append(_mean(of_run))
            valid.append(known.all(axis=0))
        else:
            values.append(of_run[0])
            valid.append((known & (of_run == of_run[0])).all(axis=0))
    mask = np.concatenate(valid)
    return Column(np.concatenate(values), None if mask.all() else mask, column.strings, column.unit)


def _laid_out(
    own: _Inferences,
    index: Ints,
    track: Ints,
    start: Ints,
    end: Ints,
    columns: dict[str, Column],
    derived: Bools | None,
) -> Slices:
    """Some slices with new tracks and times; all arrays are parallel to `index`."""
    slices, lane, depth = own.trace.slices, own.lane[index], own.depth[index]
    lanes, depths = int(lane.max(initial=0)) + 1, int(depth.max(initial=0)) + 1
    preorder = np.lexsort((slices.order[index], lane, track))
    rank = np.empty(len(index), np.uint32)
    rank[preorder] = np.arange(len(index), dtype=np.uint32)
    key = (track * lanes + lane) * depths + depth
    final = np.lexsort((rank, key))
    rows, first = np.unique(key[final], return_index=True)
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
        columns={name: column.taken(final) for name, column in columns.items()},
    )


def _codes(values: Ints) -> Codes:
    return values.astype(np.uint32)


def _named(trace: Trace, run: Run, which: str) -> Track:
    """The track of a run, as that of some of its runs: "Execute · run 2"."""
    track = trace.tracks[run.track]
    return replace(track, thread=f"{track.thread} · {which}")


def _distinct(tracks: list[Track]) -> tuple[Track, ...]:
    """The tracks with a number behind names that would be the same: kinds of equally many runs."""
    seen: Counter[Track] = Counter()
    found: list[Track] = []
    for track in tracks:
        seen[track] += 1
        is_first = seen[track] == 1
        found.append(
            track if is_first else replace(track, thread=f"{track.thread} ({seen[track]})")
        )
    return tuple(found)
