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
from viewer.analysis.sequence.phases import APART, LEAST, LEAST_SHARE, phases_of
from viewer.arrays import Ints
from viewer.model.inferences.logged_methods import Series, series_of
from viewer.model.trace import KeyKind, RunKind, Trace
from viewer.model.warm_up import with_warm_up

# A scope -> whether its input sizes can vary, None if no file shows it.
IsDynamic = Callable[[int], bool | None]
ChosenPhases = Mapping[tuple[int, int], str]  # scope and number of an inference -> its phase


def with_phases(trace: Trace, is_dynamic: IsDynamic, chosen: ChosenPhases) -> Trace:
    """Return the trace whose inferences have phases; the trace itself if none changes.

    chosen: "" for an inference that the user put into no phase.
    """
    phase: dict[int, str] = {}
    for value in _sequences(trace).values():
        if any((trace.runs[at].scope, trace.runs[at].number) in chosen for at in value):
            for at in value:
                run = trace.runs[at]
                phase[at] = chosen.get((run.scope, run.number), "")
            continue
        is_stated = any(trace.runs[at].phase for at in value)
        if not is_stated and (found := phases_in(trace, value, is_dynamic)):
            phase.update(found[0])
    if all(phase.get(at, run.phase) == run.phase for at, run in enumerate(trace.runs)):
        return trace
    runs = [replace(run, phase=phase.get(at, run.phase)) for at, run in enumerate(trace.runs)]
    return replace(trace, runs=with_warm_up(runs, [track.process for track in trace.tracks]))


def phases_in(
    trace: Trace, own: list[int], is_dynamic: IsDynamic
) -> tuple[dict[int, str], str] | None:
    """Return the phase of each inference of a sequence, and the evidence; None without phases."""
    runs = [trace.runs[at] for at in own]
    lengths = np.array([run.end - run.start for run in runs], np.int64)
    if not _may_differ(lengths):
        return None
    dynamic = is_dynamic(runs[0].scope)
    if dynamic is False:
        return None
    parts, _ = part_times(trace, timed_keys(trace), np.array(own))
    phases = phases_of(lengths, parts, dynamic)
    if phases is None:
        return None
    return {at: phases.names[of] for at, of in zip(own, phases.of, strict=True)}, phases.evidence


def evidence_of(trace: Trace, is_dynamic: IsDynamic) -> list[str]:
    """Return why the inferences of each method have phases; not of those that a file states."""
    found = (phases_in(trace, value, is_dynamic) for value in _sequences(trace).values())
    return [
        evidence
        for phases, evidence in filter(None, found)
        if all(trace.runs[at].phase == phase for at, phase in phases.items())
        and not any(trace.runs[phase].tokens for phase in phases)
    ]


def timed_keys(trace: Trace) -> Ints:
    """Return each key as its own group, -1 for scopes of a runtime: they are no operators."""
    number = np.arange(len(trace.keys))
    return np.where(trace.keys.kind == KeyKind.FRAMEWORK, -1, number)


def _sequences(trace: Trace) -> dict[Series, list[int]]:
    """Return the inferences of each method that can have phases, in order of time."""
    found: dict[Series, list[int]] = {}
    for at in sorted(range(len(trace.runs)), key=lambda at: trace.runs[at].start):
        run = trace.runs[at]
        is_one = run.kind is RunKind.INFERENCE and run.finished and run.count == 1
        if is_one and run.part >= 0 and not run.all_tracks:
            found.setdefault(series_of(trace, replace(run, phase="")), []).append(at)
    return {
        series: own
        for series, own in found.items()
        if len(own) >= LEAST and all(_follows(trace, a, b) for a, b in pairwise(own))
    }


def _follows(trace: Trace, first: int, second: int) -> bool:
    """Whether an inference starts after another one has ended; files may list them next to it."""
    return trace.runs[first].end <= trace.runs[second].start


def _may_differ(lengths: Ints) -> bool:
    """Whether durations alone rule phases out, which spares reading the times of operators."""
    short = np.quantile(lengths, 0.25)
    is_long = lengths >= APART * max(short, 1)
    return bool(is_long[0] or is_long[-2:].all() or is_long.mean() >= LEAST_SHARE)
