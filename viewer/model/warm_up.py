"""Which inferences warm up: the first ones after a load, whose times are not typical.

Caches, allocators and delegates settle in them. Figures per inference (costs of operators and
modules, medians, findings) leave them out unless the user includes them; statistics of slices keep
them. No other module decides which inferences warm up, and which count.
"""

from __future__ import annotations

from collections.abc import Sequence

from viewer.dataclasses import replace
from viewer.model.quantiles import typical
from viewer.model.times import counted
from viewer.model.trace import Run, RunKind, Trace
from viewer.model.trace_attributes import WorkUnit

MOST = 3  # inferences that warm up after one load
_PART = 4  # at most one in so many warms up, so few inferences keep most of their figures


def with_warm_up(runs: Sequence[Run], processes: Sequence[str]) -> tuple[Run, ...]:
    """Return runs that state whether they warm up.

    In every phase of every series (process, scope and `Run.part`), these are the first
    min(3, n // 4) of each n inferences that follow a load, in order of time. A load belongs to the
    series of the next inference, since methods may be loaded one by one. An inference that did not
    finish neither counts nor warms up. If a file is a part of another one, its first inference is
    not number 1 (or is a later step), and no load precedes it: then none warms up.

    processes: the process of every track.
    """
    groups: dict[tuple[tuple[str, int, int], int, str], list[int]] = {}
    loads: dict[tuple[str, int, int], int] = {}
    loaded: set[str] = set()  # processes with a load since the last inference
    first: dict[tuple[str, int, int], Run] = {}
    for index in sorted(range(len(runs)), key=lambda i: runs[i].start):
        run, process = runs[index], processes[runs[index].track]
        if run.kind is RunKind.LOAD:
            loaded.add(process)
            continue
        series = process, run.scope, run.part
        if process in loaded:
            loaded.remove(process)
            loads[series] = loads.get(series, 0) + 1
        if run.finished:
            first.setdefault(series, run)
            groups.setdefault((series, loads.get(series, 0), run.phase), []).append(index)
    warm: set[int] = set()
    for (series, load, _), members in groups.items():
        if load or (first[series].number == 1 and not first[series].is_later_step):
            warm.update(members[: min(MOST, len(members) // _PART)])
    return tuple(
        run if run.warms_up is (number in warm) else replace(run, warms_up=number in warm)
        for number, run in enumerate(runs)
    )


def warm_up_inferences(trace: Trace) -> list[Run]:
    return [run for run in trace.runs if run.warms_up]


def counts_per_run(trace: Trace, *, warm_up: bool) -> list[bool]:
    """Return per run whether figures over a whole trace cover it.

    Loads count, unless they are apart from the inferences (`Run.is_apart`) or figures cover only
    these (`Trace.only_inferences`).

    Inferences that did not finish do not, unless none finished, because then there is nothing else
    to show. warm_up: whether those that warm up count. In a view of one series, others do not.
    """
    any_finished = next(trace.finished_inferences(), None) is not None
    return [
        not run.is_apart and not trace.only_inferences
        if run.kind is RunKind.LOAD
        else run.counts and (run.finished or not any_finished) and (warm_up or not run.warms_up)
        for run in trace.runs
    ]


def counted_inferences(trace: Trace, *, warm_up: bool = True) -> list[Run]:
    """Return the inferences that figures over a whole trace cover (`counts_per_run`)."""
    counts = counts_per_run(trace, warm_up=warm_up)
    return [
        run
        for run, is_counted in zip(trace.runs, counts, strict=True)
        if is_counted and run.kind is RunKind.INFERENCE
    ]


def typical_inference(runs: Sequence[Run]) -> Run:
    """Return the run whose duration is the nearest to the median (`quantiles.typical`)."""
    return runs[typical([run.end - run.start for run in runs])]


def included_text(count: int, left_out: int, unit: WorkUnit) -> str:
    """Return what figures per inference cover: "9 inferences (3 warm-ups left out)"."""
    text = unit.counted(count)
    return f"{text} ({counted(left_out, 'warm-up')} left out)" if left_out else text
