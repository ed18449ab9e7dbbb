"""Which inferences are of the same logged method, and the typical one of each method.

The runtime logs no method, so inferences of one process and scope count as one method, unless
several methods with the same instructions were loaded (`Run.load`). Then only those that are known
to be of one of them count as a series. What may be of several methods is in no series: no median,
warm-up or comparison mixes it with anything. Each phase of a method is a series of its own.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction

from viewer.model.quantiles import exact_median
from viewer.model.queries import counted_slices
from viewer.model.trace import Run, RunKind, Trace
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
    of_method: dict[Series, list[Run]] = {}
    for run in counted_inferences(trace, warm_up=warm_up):
        of_method.setdefault(series_of(trace, run), []).append(run)
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
