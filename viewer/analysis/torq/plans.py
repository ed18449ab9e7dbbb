"""The plan of each measured NSS job: where it runs in the profiles, and what the compiler expected.

A plan is the estimate of `viewer.analysis.torq.estimates`, with the executions that it is compared
with. `plans_of_tracks` arranges all plans by the tracks of the measured jobs, for drawing.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from viewer.arrays import Ints
from viewer.model.times import ClockRate
from viewer.model.trace import Trace, Unit


@dataclass(frozen=True, slots=True, eq=False)
class Executions:
    """The executions of one job in one profile, in order of start.

    trace: the profile's position among the compared ones. track, start, end: per execution, in
    ticks of that profile.
    """

    trace: int
    track: Ints
    start: Ints
    end: Ints


@dataclass(frozen=True, slots=True)
class ProfileSlices:
    """The slices of a job in a compile profile.

    trace: the profile's position among the compared ones. start: its first tick. rows: the rows
    that they are on, ascending. Between the start and the end of the job, these rows have no other
    slices.
    """

    trace: int
    start: int
    rows: tuple[int, ...]


@dataclass(frozen=True, slots=True, eq=False)
class PlannedJob:
    """One NSS job that has both an estimate and measured executions.

    dispatch: "" if no file names it. name: "job 0". label: its operators, else what the compiler
    calls it. cycles, ns: the estimate, at `rate`. source: the file that it comes from. profile: the
    slices of the job in a compile profile that has the same estimate; None without one.
    """

    dispatch: str
    name: str
    label: str
    cycles: int
    ns: float
    rate: ClockRate
    source: str
    profile: ProfileSlices | None
    executions: tuple[Executions, ...]


@dataclass(frozen=True, eq=False)
class TrackPlans:
    """The plans of all executions on one track of measured jobs, in order of start.

    start, end: of each execution, in ticks of the trace. job: its index in `jobs`. lanes: the units
    of the compile profiles that work in the plans. lanes_of: per job, the lane of each row in
    `ProfileSlices.rows`.
    """

    trace: int
    track: int
    start: Ints
    end: Ints
    job: Ints
    jobs: tuple[PlannedJob, ...]
    lanes: tuple[Unit, ...]
    lanes_of: tuple[tuple[int, ...], ...]

    @cached_property
    def ns_of_jobs(self) -> NDArray[np.float64]:
        """The estimate of each job in ns."""
        return np.array([job.ns for job in self.jobs])


def executions_of(trace: Trace, number: int, index: Ints) -> Executions:
    """Return some slices of a trace, in order of start, as executions of one job."""
    slices = trace.slices
    track = slices.tracks_of(index).astype(np.int64)
    return Executions(number, track, slices.start[index], slices.end[index])


def profile_slices(trace: Trace, number: int, index: Ints) -> ProfileSlices | None:
    """Return the slices of one job in a compile profile.

    None if other slices overlap them in time on their rows: drawn from the rows, they would be part
    of the plan.
    """
    slices = trace.slices
    start, end = int(slices.start[index].min()), int(slices.end[index].max())
    rows = np.unique(np.searchsorted(slices.row_ptr, index, side="right") - 1).tolist()
    within = 0
    for row in rows:
        row_slices = slice(int(slices.row_ptr[row]), int(slices.row_ptr[row + 1]))
        overlaps = (slices.start[row_slices] < end) & (slices.end[row_slices] > start)
        within += int((overlaps & (slices.end[row_slices] > slices.start[row_slices])).sum())
    if within != int((slices.end[index] > slices.start[index]).sum()):
        return None
    return ProfileSlices(number, start, tuple(rows))


def plans_of_tracks(
    jobs: Sequence[PlannedJob], traces: Sequence[Trace]
) -> dict[tuple[int, int], TrackPlans]:
    """Return the plans on each track of measured jobs, by (trace, track).

    traces: the compared ones, in the same order.
    """
    parts: dict[int, list[tuple[int, Executions]]] = {}
    for number, job in enumerate(jobs):
        for executions in job.executions:
            parts.setdefault(executions.trace, []).append((number, executions))
    plans_of_track: dict[tuple[int, int], TrackPlans] = {}
    for trace, track_executions in parts.items():
        track = np.concatenate([executions.track for _, executions in track_executions])
        start = np.concatenate([executions.start for _, executions in track_executions])
        end = np.concatenate([executions.end for _, executions in track_executions])
        of_job = np.repeat(
            [number for number, _ in track_executions],
            [len(executions.start) for _, executions in track_executions],
        )
        for number in np.unique(track).tolist():
            here = np.flatnonzero(track == number)
            here = here[np.argsort(start[here], kind="stable")]
            plans_of_track[trace, number] = _plans(
                jobs, traces, (trace, number), start[here], end[here], of_job[here]
            )
    return plans_of_track


def _plans(
    jobs: Sequence[PlannedJob],
    traces: Sequence[Trace],
    part: tuple[int, int],
    start: Ints,
    end: Ints,
    job: Ints,
) -> TrackPlans:
    """Return the plans of one track; job: the index in `jobs` of each execution."""
    used, index = np.unique(job, return_inverse=True)
    track_jobs = tuple(jobs[number] for number in used.tolist())
    # Rows of one unit share a lane in all plans, even if several profiles are open.
    names = [
        [_row_name(traces[job.profile.trace], row) for row in job.profile.rows]
        if job.profile is not None
        else []
        for job in track_jobs
    ]
    order = sorted({name for of_job in names for name in of_job})
    lane = {name: number for number, name in enumerate(order)}
    return TrackPlans(
        *part,
        start,
        end,
        index.astype(np.int64),
        track_jobs,
        tuple(Unit(unit) for unit, *_ in order),
        tuple(tuple(lane[name] for name in of_job) for of_job in names),
    )


def _row_name(trace: Trace, row: int) -> tuple[int, str, int, int]:
    """Return what identifies a row in any compile profile: its unit, track, lane and depth."""
    slices = trace.slices
    track = trace.tracks[int(slices.row_track[row])]
    return int(track.unit), track.thread, int(slices.row_lane[row]), int(slices.row_depth[row])
