"""The inference that shows an arm best: the one whose parts all take about as long as usual.

The inference of median duration is no good choice. Where processes are interrupted, most inferences
have one call that takes much too long, and the median one has such a call too.
"""

from __future__ import annotations

import numpy as np

from viewer.analysis.comparison.arms import Arm, median_of_sessions
from viewer.analysis.comparison.sessions import MethodTimes, Session
from viewer.arrays import Floats
from viewer.model.quantiles import median
from viewer.model.trace import Run


def typical_run(arm: Arm, method: str = "") -> tuple[Session, Run] | None:
    """Return the session and the run; None for an arm without runs.

    Its parts, and the time between its calls, differ least from the medians of the arm, in sum.
    method: only runs of it, if it has any; else of the method that takes longest. An arm of files
    without methods has the run whose duration is nearest to the median.
    """
    usual = median_of_sessions(arm.medians([[i] for i in range(len(arm.parts))]))
    gap = _usual_gap(arm)
    of_methods: dict[str, float] = {}
    for session in arm.sessions:
        for times in session.methods:
            usual_ns = float(np.nansum(usual[[arm.number[part.id] for part in times.parts]]))
            of_methods[times.method] = max(of_methods.get(times.method, 0.0), usual_ns)
    if not of_methods:
        return _of_median_duration(arm)
    chosen = method if method in of_methods else max(of_methods, key=lambda name: of_methods[name])
    best: tuple[float, Session, Run] | None = None
    for session in arm.sessions:
        for times in session.methods:
            if times.method != chosen or not times.runs:
                continue
            wanted = usual[[arm.number[part.id] for part in times.parts]]
            ran = np.nan_to_num(times.ticks * session.ns_per_tick)
            distance = np.abs(ran - np.nan_to_num(wanted)).sum(axis=1)
            distance += np.abs(_gaps(session, times) - gap[chosen])
            nearest = int(np.argmin(distance))
            if best is None or distance[nearest] < best[0]:
                best = float(distance[nearest]), session, times.runs[nearest]
    return None if best is None else best[1:]


def _usual_gap(arm: Arm) -> dict[str, float]:
    """Method -> the median time of a run, in ns, in which no call runs."""
    gaps: dict[str, list[Floats]] = {}
    for session in arm.sessions:
        for times in session.methods:
            gaps.setdefault(times.method, []).append(_gaps(session, times))
    return {method: median(np.concatenate(method_gaps)) for method, method_gaps in gaps.items()}


def _gaps(session: Session, times: MethodTimes) -> Floats:
    """The time of each run in which no call runs, in ns."""
    is_call = np.array([part.id.event is None for part in times.parts], np.bool_)
    in_calls = np.nan_to_num(times.ticks[:, is_call]).sum(axis=1)
    durations = np.array([run.end - run.start for run in times.runs], np.float64)
    gaps: Floats = (durations - in_calls) * session.ns_per_tick
    return gaps


def _of_median_duration(arm: Arm) -> tuple[Session, Run] | None:
    every = [
        ((run.end - run.start) * session.ns_per_tick, session, run)
        for session in arm.sessions
        for run in session.runs
    ]
    if not every:
        return None
    middle = median([took for took, _, _ in every])
    return min(every, key=lambda candidate: (abs(candidate[0] - middle), candidate[0]))[1:]
