"""The measured times and plans of Torq actions and NSS jobs, from any kind of runtime profile.

The two actions that start an NSS job and wait for it are part of the job's row. Two profiles of one
compilation state the same locations, actions, NSS jobs and tasks of their slices. An action that
waits for an NSS job has the slices of the job, since the compiler estimates the job for it.

A plan is an estimate of `viewer.analysis.torq.estimates`, with the executions that it is compared
with.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from enum import IntEnum
from fractions import Fraction
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from viewer.analysis.links.mlir_locations import dispatch_of_scopes, other_compilations
from viewer.arrays import Floats, Ints, groups_of, joined, lists_by_key, numbers_at
from viewer.dataclasses import dataclass
from viewer.model.queries import numbers, units_of
from viewer.model.recorded_names import (
    ACTION,
    ACTION_ID,
    DISPATCH,
    JOB,
    JOB_ID,
    LOCATION,
    NSS_WAIT,
    OPERATIONS,
    TASK,
    TASK_ID,
)
from viewer.model.times import ClockRate, RateOrigin
from viewer.model.trace import Trace, Unit
from viewer.program.mlir.locations import PlaceRole, outline, parse_location
from viewer.program.program import Dispatch

# For debug info without a compile profile or a user's choice: 800 MHz.
ASSUMED_CYCLES = ClockRate("cycle", Fraction(5, 4), RateOrigin.ASSUMED)


def is_compiled(trace: Trace) -> bool:
    """Return whether a trace is a compiler estimate with action or task numbers."""
    columns = trace.slices.columns
    return trace.clock.unit == "cycle" and (ACTION_ID in columns or TASK_ID in columns)


_OTHER = "another compilation"


class MeasurementSource(IntEnum):
    """The kind of profile that a measurement comes from, most reliable first."""

    HOST = 0
    ANNOTATED = 1
    JOBS = 2


@dataclass(frozen=True, slots=True, eq=False)
class MeasuredAction:
    """One action, or one job with its actions, and the duration of each execution.

    dispatch: "" if neither the file nor debug info names it; with a suffix if the open debug info
    of that name is from another compilation. start_action, action: the actions that start a job and
    wait for it, None if unknown. location: MLIR text, "" if none. slices, ns: the slice and the
    duration of each execution, in order of start.
    """

    dispatch: str
    job: int | None
    start_action: int | None
    action: int | None
    name: str
    location: str
    slices: Ints
    ns: Floats


def source_of(trace: Trace) -> MeasurementSource | None:
    """Return what kind of measurement of actions or jobs a trace is, None if it is none."""
    columns = trace.slices.columns
    if trace.clock.unit == "cycle" or columns.keys().isdisjoint((ACTION_ID, JOB_ID)):
        return None
    if OPERATIONS in columns:
        return MeasurementSource.ANNOTATED
    return MeasurementSource.HOST if ACTION_ID in columns else MeasurementSource.JOBS


def several_dispatches(trace: Trace) -> str:
    """Return why the actions of an annotated profile are ambiguous; else "".

    It lists the executions of all dispatches without naming them. All of them number from 0, so if
    one number has two operations or two locations, they are from two dispatches.
    """
    if source_of(trace) is not MeasurementSource.ANNOTATED:
        return ""
    index, ids = numbers(trace, ACTION_ID)
    keys = trace.slices.key[index]
    for action, members in groups_of(ids):
        unique_keys = np.unique(keys[members]).tolist()
        if len(unique_keys) > 1:
            first, second = (
                f"{trace.strings[int(trace.keys.name[key])]} {trace.keys.location[key] or ''}"
                for key in unique_keys[:2]
            )
            return (
                "It has actions of several dispatches but does not name the dispatch: action "
                f"{action} is {first.rstrip()} and {second.rstrip()}"
            )
    return ""


def measured_actions(
    trace: Trace, dispatches: Sequence[Dispatch], ns_per_tick: Fraction
) -> list[MeasuredAction]:
    """Return everything that a runtime profile measured, jobs first; empty for other traces."""
    if source_of(trace) is None:
        return []
    slices = trace.slices
    unit = units_of(trace)
    jobs, job_ids = numbers(trace, JOB_ID, unit == Unit.NSS)
    actions, action_ids = numbers(trace, ACTION_ID, unit == Unit.HOST)
    dispatch_of_scope = dispatch_of_scopes(trace, dispatches)
    names = dispatch_names(trace, dispatches)
    by_profile = _actions_of_jobs(trace, jobs, job_ids, actions, action_ids)
    in_jobs: set[tuple[int, int | None]] = set()
    measured: list[MeasuredAction] = []

    def add(
        scope: int, job: int | None, first: int | None, last: int | None, members: Ints
    ) -> None:
        ns: Floats = (slices.end[members] - slices.start[members]) * np.float64(float(ns_per_tick))
        location = trace.keys.location[int(slices.key[members[0]])] or ""
        name = trace.name(int(members[0]))
        measured.append(MeasuredAction(names[scope], job, first, last, name, location, members, ns))

    for (scope, job), index in _by_scope(trace, jobs, job_ids):
        info = dispatch_of_scope[scope]
        start, wait = by_profile.get((scope, job), (None, None))
        if info is not None and job in info.jobs:
            start, wait = info.jobs[job].start_action, info.jobs[job].wait_action
        in_jobs |= {(scope, start), (scope, wait)}
        add(scope, job, start, wait, index)
    for (scope, action), index in _by_scope(trace, actions, action_ids):
        if (scope, action) not in in_jobs:
            add(scope, None, None, action, index)
    return measured


def dispatch_names(trace: Trace, dispatches: Sequence[Dispatch]) -> list[str]:
    """Return per scope of a runtime profile its dispatch, as in `MeasuredAction.dispatch`."""
    dispatch_of_scope = dispatch_of_scopes(trace, dispatches)
    others = other_compilations(trace, dispatches)
    names = [
        d.name if d else scope.name if DISPATCH in trace.slices.columns else ""
        for d, scope in zip(dispatch_of_scope, trace.scopes, strict=True)
    ]
    # There, equal numbers are other actions, which must not match the estimates of that name.
    return [f"{name} ({_OTHER})" if i in others else name for i, name in enumerate(names)]


def jobs_of_keys(trace: Trace, dispatches: Sequence[Dispatch]) -> dict[int, tuple[str, int]]:
    """Map each key to the (dispatch, number) of the only NSS job that its slices belong to.

    Empty for traces that are not runtime profiles.
    """
    if source_of(trace) is None:
        return {}
    index, ids = numbers(trace, JOB_ID, units_of(trace) == Unit.NSS)
    pairs = np.unique(np.stack([trace.slices.key[index].astype(np.int64), ids]), axis=1)
    keys, count = np.unique(pairs[0], return_counts=True)
    names, scope = dispatch_names(trace, dispatches), trace.keys.scope
    alone = np.isin(pairs[0], keys[count == 1])
    return {
        key: (names[int(scope[key])], job)
        for key, job in zip(*pairs[:, alone].tolist(), strict=True)
    }


def _by_scope(trace: Trace, index: Ints, ids: Ints) -> Iterator[tuple[tuple[int, int], Ints]]:
    """Yield slices grouped by scope and number, in order of start within each group."""
    slices = trace.slices
    in_time = np.argsort(slices.start[index], kind="stable")
    index, ids = index[in_time], ids[in_time]
    scope = trace.keys.scope[slices.key[index]].astype(np.int64)
    for of_scope, scope_rows in groups_of(scope):
        for number, members in groups_of(ids[scope_rows]):
            yield (of_scope, number), index[scope_rows[members]]


def _actions_of_jobs(
    trace: Trace, jobs: Ints, job_ids: Ints, actions: Ints, action_ids: Ints
) -> dict[tuple[int, int], tuple[int | None, int | None]]:
    """Map (scope, job) to the actions that start it and wait for it, None if unknown.

    An annotated profile names the job of each action. In a host profile, a job is in the row of its
    start, and the next wait of its dispatch belongs to it.
    """
    slices = trace.slices
    id_of = numbers_at(len(slices), actions, action_ids, -1)
    is_action = id_of >= 0
    of_jobs, ids = numbers(trace, JOB_ID, is_action)
    if len(of_jobs):
        return {
            place: (int(id_of[job_rows].min()), int(id_of[job_rows].max()))
            for place, job_rows in _by_scope(trace, of_jobs, ids)
        }
    row = slices.source_row.astype(np.int64)
    starts = dict(zip(row[actions].tolist(), action_ids.tolist(), strict=True))
    is_wait = np.array([text == NSS_WAIT for text in trace.strings], np.bool_)
    waits = actions[is_wait[slices.name[actions]]]
    waits = waits[np.argsort(row[waits], kind="stable")]
    waits_of = {
        scope: waits[members]
        for scope, members in groups_of(trace.keys.scope[slices.key[waits]].astype(int))
    }
    actions_of_job: dict[tuple[int, int], tuple[int | None, int | None]] = {}
    for (scope, job), index in _by_scope(trace, jobs, job_ids):
        start_row = int(row[index[0]])
        scope_waits = waits_of.get(scope, waits[:0])
        after = scope_waits[np.searchsorted(row[scope_waits], start_row) :][:1]
        actions_of_job[scope, job] = (
            starts.get(start_row),
            int(id_of[after[0]]) if len(after) else None,
        )
    return actions_of_job


Groups = list[tuple[str, ...]]


def states(trace: Trace, level: str) -> bool:
    """Return whether a trace may state identities of a level."""
    if level == LOCATION:
        return any(location is not None for location in trace.keys.location.tolist())
    return {ACTION: ACTION_ID, JOB: JOB_ID, TASK: TASK_ID}[level] in trace.slices.columns


def identified_slices(trace: Trace, level: str) -> tuple[Groups, Ints]:
    """Return the groups of a level, and the index of that of every slice; -1 for none (int64)."""
    group = np.full(len(trace.slices), -1, np.int64)
    if not states(trace, level):
        return [], group
    if level == LOCATION:
        return _locations(trace, group)
    of: dict[tuple[str, ...], int] = {}
    if level == TASK or source_of(trace) is None:
        column = TASK_ID if level == TASK else ACTION_ID if level == ACTION else JOB_ID
        index, ids = numbers(trace, column)
        distinct, code = np.unique(ids, return_inverse=True)
        group[index] = code.reshape(-1)
        return [(f"{level} {number}",) for number in distinct.tolist()], group
    if several_dispatches(trace):
        return [], group
    measured = measured_actions(trace, (), Fraction(1))
    several = len({action.dispatch for action in measured}) > 1
    for measured_action in measured:
        name = _name(measured_action, level)
        if name:
            key = (f"{measured_action.dispatch} · {name}" if several else name,)
            group[measured_action.slices] = of.setdefault(key, len(of))
    return list(of), group


def _locations(trace: Trace, group: Ints) -> tuple[Groups, Ints]:
    """Groups by the places of a location, without those that called them."""
    of: dict[tuple[str, ...], int] = {}
    of_text: dict[str, int] = {}
    of_key = np.full(len(trace.keys) + 1, -1, np.int64)
    for number, text in enumerate(trace.keys.location.tolist()):
        if text is None:
            continue
        if text not in of_text:
            of_text[text] = of.setdefault(_places(text), len(of))
        of_key[number] = of_text[text]
    group[:] = of_key[trace.slices.key]
    return list(of), group


def _places(text: str) -> tuple[str, ...]:
    positions = [
        place.position
        for place in outline(parse_location(text))
        if place.role is not PlaceRole.CALLER and place.position is not None
    ]
    places = {f"{os.path.basename(p.file)}:{p.line}:{p.col}" for p in positions}
    return tuple(sorted(places)) or ("(unknown location)",)


def _name(measured_action: MeasuredAction, level: str) -> str:
    if level != JOB and measured_action.action is not None:
        return f"action {measured_action.action}"
    return "" if measured_action.job is None else f"job {measured_action.job}"


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
    parts = lists_by_key(
        (executions.trace, (number, executions))
        for number, job in enumerate(jobs)
        for executions in job.executions
    )
    plans_of_track: dict[tuple[int, int], TrackPlans] = {}
    for trace, track_executions in parts.items():
        of_all = joined([executions for _, executions in track_executions])
        of_job = np.repeat(
            [number for number, _ in track_executions],
            [len(executions.start) for _, executions in track_executions],
        )
        for number in np.unique(of_all.track).tolist():
            here = np.flatnonzero(of_all.track == number)
            here = here[np.argsort(of_all.start[here], kind="stable")]
            plans_of_track[trace, number] = _plans(
                jobs, traces, (trace, number), of_all.start[here], of_all.end[here], of_job[here]
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
