"""Views of the inferences of a trace, and which of these are of the same logged method.

Each view is a trace with the same keys, so links, colors and costs apply to it too. It leaves out
loads, slices outside inferences, events without a time, and flows between inferences; the mean has
no flows. The typical one and the mean also leave out inferences that warm up or did not finish.

The runtime logs no method, so inferences of one process and scope count as one method, unless
several methods with the same instructions were loaded (`Run.load`). Then what may be of several
methods is in no series: no median, warm-up or comparison mixes it with anything. Each phase of a
method is a series of its own.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Sequence
from enum import Enum
from fractions import Fraction
from itertools import islice
from typing import Any

import numpy as np
from numpy.typing import NDArray

from viewer.arrays import Bools, Codes, Ints, levels, lists_by_key, numbers_at
from viewer.dataclasses import dataclass, replace
from viewer.model.building.layout import is_by_start, rows_to_draw
from viewer.model.quantiles import exact_median
from viewer.model.queries import NATIVE_DURATION, counted_slices, ranks, run_of_slices, tree
from viewer.model.timing import Timing
from viewer.model.trace import (
    Column,
    Flows,
    KeyKind,
    Run,
    RunKind,
    Slices,
    Trace,
    Track,
    UntimedEvents,
)
from viewer.model.warm_up import counted_inferences, typical_inference, with_warm_up

Series = tuple[str, int, int, str]  # process, scope, `Run.part` and `Run.phase`


def series_of(trace: Trace, run: Run) -> Series:
    """Return what inferences of one phase share; that of one that may be of several is unique."""
    return trace.tracks[run.track].process, run.scope, run.part, run.phase


def of_series(trace: Trace, series: Series) -> Trace:
    """Return a view of a trace whose figures cover only the inferences of one series.

    Its slices, keys and runs are those of the trace, in their places.
    """
    runs = [
        replace(run, counts=series_of(trace, run) == series)
        if run.kind is RunKind.INFERENCE
        else run
        for run in trace.runs
    ]
    return replace(trace, runs=tuple(runs))


def only_inferences(trace: Trace) -> Trace:
    """Return a view of a trace whose figures cover nothing but its inferences.

    Without loads, and without what ran between inferences. Itself if there is nothing else.
    """
    view = replace(trace, only_inferences=True)
    for warm_up in (True, False):
        everything = counted_slices(trace, warm_up=warm_up)
        inside = counted_slices(view, warm_up=warm_up)
        if inside is None:
            continue
        left_out = ~inside if everything is None else inside != everything
        if left_out.any():
            return view
    return trace


def of_one_phase(runs: Sequence[Run]) -> list[Run]:
    """Return runs of which those of a scope are of one method and phase, as far as that is known.

    The one with most of them.
    """
    count = Counter((run.scope, run.part, run.phase) for run in runs)
    largest: dict[int, tuple[int, int, str]] = {}
    for load in count:
        most = largest.setdefault(load[0], load)
        if count[load] > count[most]:
            largest[load[0]] = load
    return [run for run in runs if (run.scope, run.part, run.phase) == largest[run.scope]]


@dataclass(frozen=True, slots=True)
class MethodTime:
    """How long an inference of one method takes.

    median: of the durations of `runs` inferences, in ticks. typical: the inference whose duration
    is the nearest to it. total: all durations together.
    """

    median: Fraction
    typical: Run
    runs: int
    total: int


def times_of_methods(trace: Trace, *, warm_up: bool = False) -> dict[Series, MethodTime]:
    """Return how long the inferences of each method take.

    warm_up: whether inferences that warm up count. Those that did not finish do not
    (`counted_inferences`).
    """
    of_method = lists_by_key(
        (series_of(trace, run), run) for run in counted_inferences(trace, warm_up=warm_up)
    )
    times = {}
    for method, runs in of_method.items():
        ticks = [run.end - run.start for run in runs]
        times[method] = MethodTime(
            exact_median(ticks), typical_inference(runs), len(runs), sum(ticks)
        )
    return times


def with_methods(trace: Trace, decided: Collection[int], undecided: Collection[int]) -> Trace:
    """Return a trace in which it is known of which scopes the runs are of one method.

    decided: scopes whose runs are. undecided: scopes whose runs may be of several methods. If
    several loads could be theirs and none is known to be, each of their runs is a series of its
    own.
    """
    unknown = set(undecided) if sum(run.kind is RunKind.LOAD for run in trace.runs) > 1 else set()
    unknown -= {run.scope for run in trace.runs if run.load}
    load_of = dict.fromkeys(decided, 0) | dict.fromkeys(unknown, -1)
    runs = [
        replace(run, load=load_of[run.scope])
        if run.kind is RunKind.INFERENCE and load_of.get(run.scope, run.load) != run.load
        else run
        for run in trace.runs
    ]
    if all(a is b for a, b in zip(runs, trace.runs, strict=True)):
        return trace
    return replace(trace, runs=with_warm_up(runs, [track.process for track in trace.tracks]))


# More rows cannot be read, and laying out more tracks takes seconds.
MOST_TRACKS = 1000


class Inferences(Enum):
    """How the inferences of profiles are displayed."""

    AS_RUN = "as they ran"
    ALIGNED = "aligned at their starts"
    TYPICAL = "their median"  # what sessions store, from when it was called so
    MEAN = "their mean"


def has_run_views(trace: Trace) -> bool:
    """Whether the trace has at least two inferences."""
    return next(islice(trace.inferences(), 1, None), None) is not None


def view_of(trace: Trace, inferences: Inferences) -> Trace:
    """A trace with its inferences as displayed; the trace itself if it has no such views."""
    views = {
        Inferences.ALIGNED: aligned_runs,
        Inferences.TYPICAL: typical_run,
        Inferences.MEAN: mean_run,
    }
    return views[inferences](trace) if inferences in views and has_run_views(trace) else trace


def aligned_runs(trace: Trace) -> Trace:
    """A trace with each inference on its own track, starting at time 0.

    Only the first `MOST_TRACKS` inferences are included. Nothing differs from the file but the
    tracks and the origin of times.
    """
    chosen = list(islice(trace.inferences(), MOST_TRACKS))
    return _aligned(trace, chosen, [run.label for run in chosen])


def typical_run(trace: Trace) -> Trace:
    """A trace with the typical inference of each method, starting at time 0.

    It is the one whose duration is the nearest to the median (`viewer.model.quantiles`): its times
    are those of the file, which the medians of all its slices together would not be.
    """
    of_methods = list(islice(times_of_methods(trace).values(), MOST_TRACKS))
    runs = [method_time.typical for method_time in of_methods]
    names = [
        ", ".join(
            filter(
                None,
                (
                    method_time.typical.label,
                    method_time.typical.phase,
                    f"typical of {method_time.runs}" if method_time.runs > 1 else "",
                ),
            )
        )
        for method_time in of_methods
    ]
    return _aligned(trace, runs, names)


def _aligned(trace: Trace, runs: Sequence[Run], names: Sequence[str]) -> Trace:
    """A trace with some inferences, each on its own track of a name, starting at time 0."""
    chosen = _Inferences(trace, runs)
    index = np.flatnonzero(chosen.number >= 0)
    number = chosen.number[index]
    run_start = np.array([run.start for run in runs], np.int64)[number]
    slices = trace.slices
    columns = {name: column.taken(index) for name, column in slices.columns.items()}
    shifted, placed = _laid_out(
        chosen,
        index,
        number,
        slices.start[index] - run_start,
        slices.end[index] - run_start,
        columns,
        None if slices.derived is None else slices.derived[index],
        None if slices.timing is None else slices.timing[index],
    )
    return replace(
        trace,
        tracks=_distinct([_named(trace, run, name) for run, name in zip(runs, names, strict=True)]),
        slices=shifted,
        flows=_within_runs(trace.flows, chosen.number, placed),
        runs=tuple(
            replace(run, track=i, start=0, end=run.end - run.start, all_tracks=False)
            for i, run in enumerate(runs)
        ),
        untimed=UntimedEvents.empty(),
        calls=None,
        lane_starts=_lane_starts(trace),
    )


def mean_run(trace: Trace) -> Trace:
    """A trace with one mean inference per kind of run in a scope, without those that warm up.

    Runs are of one kind if they have the same slices in the same order. The first `MOST_TRACKS`
    kinds are included; of steps that cover all tracks, only the most frequent one: the first step
    may log more than the others, and their times would be added up. Each slice extends from its
    mean start to its mean end. Means are floored to whole ticks, so a mean duration is exact to one
    tick, and slices that nest in all runs nest in the mean. All times have `Timing.DERIVED`;
    `Slices.derived` is that of the file. Arguments are kept where all runs agree; native durations
    are averaged.
    """
    inferences = _Inferences(trace, counted_inferences(trace, warm_up=False))
    kinds = inferences.kinds()[:MOST_TRACKS]
    if not kinds:
        return trace
    if kinds[0].members[0].all_tracks:
        kinds = [max(kinds, key=lambda kind: len(kind.members))]
    slices = trace.slices
    kinds_of_track = Counter(kind.members[0].track for kind in kinds)
    means: list[_Mean] = []
    tracks: list[Track] = []
    runs: list[Run] = []
    for number, kind in enumerate(kinds):
        first, count = kind.members[0], len(kind.members)
        run_start = np.array([run.start for run in kind.members], np.int64)[:, None]
        start = _mean(slices.start[kind.index] - run_start)
        end = _mean(slices.end[kind.index] - run_start)
        means.append(_Mean(kind.index, start, end, np.full(len(start), number)))
        duration = _mean(np.array([[run.end - run.start] for run in kind.members]))
        run = replace(
            first, track=number, start=0, end=int(duration[0]), count=count, all_tracks=False
        )
        if count > 1:
            tracks.append(_named(trace, first, f"mean of {count}"))
            runs.append(replace(run, number=1, name=first.series))
        else:
            # A kind with one run shows that run, not a mean.
            is_alone = kinds_of_track[first.track] == 1
            which = first.label
            track = trace.tracks[first.track]
            tracks.append(track if is_alone else _named(trace, first, which))
            runs.append(run)
    index = np.concatenate([part.index[0] for part in means])
    mean, _ = _laid_out(
        inferences,
        index,
        np.concatenate([part.track for part in means]),
        np.concatenate([part.start for part in means]),
        np.concatenate([part.end for part in means]),
        {name: _mean_column(name, column, means) for name, column in slices.columns.items()},
        None if slices.derived is None else slices.derived[index],
        np.full(len(index), Timing.DERIVED, np.uint8),
    )
    return replace(
        trace,
        tracks=_distinct(tracks),
        slices=mean,
        flows=Flows.none(),
        runs=tuple(runs),
        untimed=UntimedEvents.empty(),
        calls=None,
        lane_starts=_lane_starts(trace),
    )


def thread_of_rows(trace: Trace) -> tuple[Ints, int]:
    """The number of each row's thread, and how many threads a track has: 1 except in views.

    Thread n is on track n // threads. It is that of all lanes of its track, except in views that
    show several threads on a track (`Trace.lane_starts`).
    """
    slices, starts = trace.slices, trace.lane_starts or (0,)
    lane = slices.row_lane.astype(np.int64)
    thread = np.searchsorted(starts, lane, "right") - 1
    return slices.row_track.astype(np.int64) * len(starts) + thread, len(starts)


@dataclass(slots=True)
class _Kind:
    """Runs with the same slices. index: the slices of each run in preorder, shape (runs, n)."""

    members: list[Run]
    index: Ints


@dataclass(slots=True)
class _Mean:
    """The mean slices of one kind. index: the slices averaged, shape (runs, n)."""

    index: Ints
    start: Ints
    end: Ints
    track: Ints


class _Inferences:
    """Some inferences of a trace, and the position of each slice in them.

    number: index of the slice's run in `runs`, -1 if none. lane, depth: its position among the
    slices of that run alone. If the levels of a track contradict its times, its slices are nested
    by time, and a slice may be inside one of another run. The tracks of a run that covers all of
    them go to separate lanes, since a view has one track per run.
    """

    def __init__(self, trace: Trace, runs: Sequence[Run]) -> None:
        # By identity: a damaged file may have equal runs.
        number_of = {id(run): i for i, run in enumerate(trace.runs)}
        chosen = [number_of[id(run)] for run in runs]
        self.trace = trace
        self.runs = list(runs)
        # The last entry is for slices outside all runs.
        position = numbers_at(len(trace.runs) + 1, chosen, np.arange(len(chosen)), -1)
        slices = trace.slices
        self.number: Ints = position[run_of_slices(trace)]
        self.lane: Ints = _lane_of_rows(trace)[slices.rows()]
        shape = tree(slices)
        self.preorder = shape.index
        number = self.number[shape.index]
        depth = shape.depth.copy()
        for here in levels(shape.depth)[1:]:
            above = shape.parent[here]
            while (other := (above >= 0) & (number[above] != number[here])).any():
                above[other] = shape.parent[above[other]]
            depth[here] = np.where(above >= 0, depth[above] + 1, 0)
        self.depth = np.empty(len(slices), np.int64)
        self.depth[shape.index] = depth

    def kinds(self) -> list[_Kind]:
        """Group runs by series and by the sequence of (key, name, lane, depth) of their slices."""
        slices = self.trace.slices
        by_run = self.preorder[self.number[self.preorder] >= 0]
        by_run = by_run[np.argsort(self.number[by_run], kind="stable")]
        bounds = np.searchsorted(self.number[by_run], np.arange(len(self.runs) + 1))
        # The names of steps, which share one key, have numbers.
        is_scope = self.trace.keys.kind[slices.key] == KeyKind.FRAMEWORK
        name = np.where(is_scope, 0, slices.name)
        what = (slices.key, name, self.lane, self.depth)
        shape = np.stack([column[by_run] for column in what], axis=1)
        groups: dict[tuple[Series, bytes], list[int]] = {}
        for i, run in enumerate(self.runs):
            columns_of_run = shape[bounds[i] : bounds[i + 1]]
            if len(columns_of_run):
                kind = series_of(self.trace, run), columns_of_run.tobytes()
                groups.setdefault(kind, []).append(i)
        return [
            _Kind(
                [self.runs[i] for i in members],
                np.stack([by_run[bounds[i] : bounds[i + 1]] for i in members]),
            )
            for members in groups.values()
        ]


def _lane_starts(trace: Trace) -> tuple[int, ...]:
    """The first lane of each track, counted over all of them if runs cover all tracks."""
    slices = trace.slices
    if not any(run.all_tracks for run in trace.runs):
        return (0,)
    lanes = np.zeros(len(trace.tracks), np.int64)
    np.maximum.at(lanes, slices.row_track, slices.row_lane.astype(np.int64) + 1)
    return tuple((np.cumsum(lanes) - lanes).tolist())


def _lane_of_rows(trace: Trace) -> Ints:
    """The lane of each row; if runs cover all tracks, counted over all of them."""
    slices, starts = trace.slices, _lane_starts(trace)
    lane = slices.row_lane.astype(np.int64)
    return lane + np.array(starts)[slices.row_track] if len(starts) > 1 else lane


def _mean(values: NDArray[Any]) -> NDArray[Any]:
    """The mean over runs (axis 0); for integers, floored and exact however large their sum."""
    if values.dtype.kind == "f":
        return np.asarray(values.mean(axis=0))
    count = len(values)
    away = values - values[0]
    # Sum quotients and remainders separately: the sum of the values could overflow int64.
    mean: Ints = values[0] + (away // count).sum(axis=0) + (away % count).sum(axis=0) // count
    return mean


def _mean_column(name: str, column: Column, means: list[_Mean]) -> Column:
    """A column of mean slices: native durations averaged, other values null where runs differ."""
    averaged = name == NATIVE_DURATION and column.strings is None
    values, valid = [], []
    for part in means:
        of_run = column.values[part.index]
        is_valid = (
            np.ones(of_run.shape, np.bool_) if column.valid is None else column.valid[part.index]
        )
        if averaged:
            values.append(_mean(of_run))
            valid.append(is_valid.all(axis=0))
        else:
            values.append(of_run[0])
            valid.append((is_valid & (of_run == of_run[0])).all(axis=0))
    mask = np.concatenate(valid)
    return Column(np.concatenate(values), None if mask.all() else mask, column.strings, column.unit)


def _laid_out(
    inferences: _Inferences,
    index: Ints,
    track: Ints,
    start: Ints,
    end: Ints,
    columns: dict[str, Column],
    derived: Bools | None,
    timing: NDArray[np.uint8] | None = None,
) -> tuple[Slices, Ints]:
    """Rearrange some slices with new tracks and times; all arrays are parallel to `index`.

    Also returns which slice of the file each of the new slices is.
    """
    slices, lane, depth = inferences.trace.slices, inferences.lane[index], inferences.depth[index]
    lanes, depths = int(lane.max(initial=0)) + 1, int(depth.max(initial=0)) + 1
    preorder = np.lexsort((ranks(slices)[index], lane, track))
    rank = np.empty(len(index), np.uint32)
    rank[preorder] = np.arange(len(index), dtype=np.uint32)
    key = (track * lanes + lane) * depths + depth
    final = np.lexsort((rank, key))
    rows, first = np.unique(key[final], return_index=True)
    of_track = np.flatnonzero(np.diff(track[preorder])) + 1
    by_start = is_by_start(start[preorder], lane[preorder], depth[preorder], of_track)
    laid_out = Slices(
        start=start[final],
        end=end[final],
        name=slices.name[index][final],
        key=slices.key[index][final],
        source_row=slices.source_row[index][final],
        order=None if by_start else rank[final],
        row_ptr=np.append(first, len(final)).astype(np.int64),
        row_track=_codes(rows // (lanes * depths)),
        row_lane=_codes(rows // depths % lanes),
        row_depth=_codes(rows % depths),
        derived=None if derived is None else derived[final],
        columns={name: column.taken(final) for name, column in columns.items()},
        timing=None if timing is None else timing[final],
    )
    if slices.drawn_rows is not None and not any(run.all_tracks for run in inferences.trace.runs):
        # A track of a view is one of the file, so it rounds as that does.
        drawn_rows = rows_to_draw(laid_out, resolution=slices.drawn_rows.resolution)
        laid_out = replace(laid_out, drawn_rows=drawn_rows)
    return laid_out, index[final]


def _within_runs(flows: Flows, number: Ints, placed: Ints) -> Flows:
    """The flows between slices of one run, as those of a view.

    number: the run of every slice of the file, -1 if it is not in the view. placed: which slice of
    the file each slice of the view is.
    """
    in_view = numbers_at(len(number), placed, np.arange(len(placed)), -1)
    producer_run, used = number[flows.producer], number[flows.consumer]
    is_within = (producer_run >= 0) & (producer_run == used)
    return Flows(in_view[flows.producer[is_within]], in_view[flows.consumer[is_within]])


def _codes(values: Ints) -> Codes:
    return values.astype(np.uint32)


def _named(trace: Trace, run: Run, which: str) -> Track:
    """The track of a run, with a suffix: "Execute · run 2"."""
    track = trace.tracks[run.track]
    return replace(track, thread=f"{track.thread} · {which}")


def _distinct(tracks: list[Track]) -> tuple[Track, ...]:
    """The tracks, with a number appended to repeated names (kinds with the same number of runs)."""
    seen: Counter[Track] = Counter()
    distinct: list[Track] = []
    for track in tracks:
        seen[track] += 1
        is_first = seen[track] == 1
        distinct.append(
            track if is_first else replace(track, thread=f"{track.thread} ({seen[track]})")
        )
    return tuple(distinct)
