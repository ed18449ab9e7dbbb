"""The trace whose inferences have phases, by their times or as the user chose them.

Inferences of one method (`viewer.model.inferences.logged_methods`) in order of time are what
`viewer.analysis.sequence.phases` decides on. The result has `Run.phase`, so that whatever goes by
series, such as the warm-up and medians, goes by phase.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from itertools import pairwise

import numpy as np

from viewer.analysis.sequence.part_times import part_times
from viewer.analysis.sequence.phases import phases_of
from viewer.analysis.sequence.scales import APART, LEAST, LEAST_SHARE
from viewer.arrays import Ints
from viewer.model.inferences.logged_methods import Series, series_of
from viewer.model.trace import KeyKind, Run, RunKind, Trace
from viewer.model.warm_up import with_warm_up

# A scope -> whether its input sizes can vary, None if no file shows it.
IsDynamic = Callable[[int], bool | None]
ChosenPhases = Mapping[tuple[int, int], str]  # scope and number of an inference -> its phase


def with_phases(trace: Trace, is_dynamic: IsDynamic, chosen: ChosenPhases) -> Trace:
    """Return the trace whose inferences have phases; the trace itself if none changes.

    chosen: "" for an inference that the user put into no phase.
    """
    phase: dict[int, str] = {}
    for members in _methods(trace).values():
        if any((trace.runs[at].scope, trace.runs[at].number) in chosen for at in members):
            for at in members:
                run = trace.runs[at]
                phase[at] = chosen.get((run.scope, run.number), "")
            continue
        is_stated = any(trace.runs[at].phase for at in members)
        if not is_stated and (decided := _phases_in(trace, members, is_dynamic)):
            phase.update(decided[0])
    if all(phase.get(at, run.phase) == run.phase for at, run in enumerate(trace.runs)):
        return trace
    runs = [replace(run, phase=phase.get(at, run.phase)) for at, run in enumerate(trace.runs)]
    return replace(trace, runs=with_warm_up(runs, [track.process for track in trace.tracks]))


def _phases_in(
    trace: Trace, method: list[int], is_dynamic: IsDynamic
) -> tuple[dict[int, str], str] | None:
    """Return the phase of each inference of a method, and the evidence; None without phases."""
    members = _comparable(trace, method)
    runs = [trace.runs[at] for at in members]
    lengths = np.array([run.end - run.start for run in runs], np.int64)
    if len(members) < LEAST or not _may_differ(lengths):
        return None
    dynamic = is_dynamic(runs[0].scope)
    if dynamic is False:
        return None
    parts, _ = part_times(trace, timed_keys(trace), np.array(members))
    phases = phases_of(lengths, parts, dynamic)
    if phases is None:
        return None
    return {
        at: phases.names[of] for at, of in zip(members, phases.of, strict=True)
    }, phases.evidence


def evidence_of(trace: Trace, is_dynamic: IsDynamic) -> list[str]:
    """Return why the inferences of each method have phases; not of those that a file states."""
    decided = (_phases_in(trace, members, is_dynamic) for members in _methods(trace).values())
    return [
        evidence
        for phases, evidence in filter(None, decided)
        if all(trace.runs[at].phase == phase for at, phase in phases.items())
        and not any(trace.runs[phase].tokens for phase in phases)
    ]


def timed_keys(trace: Trace) -> Ints:
    """Return each key as its own group, -1 for scopes of a runtime: they are no operators."""
    number = np.arange(len(trace.keys))
    return np.where(trace.keys.kind == KeyKind.FRAMEWORK, -1, number)


def _methods(trace: Trace) -> dict[Series, list[int]]:
    """Return the inferences of each method in order of time."""
    members: dict[Series, list[int]] = {}
    for i in sorted(range(len(trace.runs)), key=lambda i: trace.runs[i].start):
        run = trace.runs[i]
        if run.kind is RunKind.INFERENCE:
            members.setdefault(series_of(trace, replace(run, phase="")), []).append(i)
    return members


def _comparable(trace: Trace, method: list[int]) -> list[int]:
    """Return the inferences of a method whose times state phases; [] if some overlap."""
    members = [i for i in method if _is_comparable(trace.runs[i])]
    return members if all(_follows(trace, a, b) for a, b in pairwise(members)) else []


def _is_comparable(run: Run) -> bool:
    return run.finished and run.count == 1 and run.part >= 0 and not run.all_tracks


def _follows(trace: Trace, first: int, second: int) -> bool:
    """Whether an inference starts after another one has ended; files may list them next to it."""
    return trace.runs[first].end <= trace.runs[second].start


def _may_differ(lengths: Ints) -> bool:
    """Whether durations alone rule phases out, which spares reading the times of operators."""
    short = np.quantile(lengths, 0.25)
    is_long = lengths >= APART * max(short, 1)
    return bool(is_long[0] or is_long[-2:].all() or is_long.mean() >= LEAST_SHARE)
