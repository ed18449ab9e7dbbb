"""What the actions and NSS jobs of a Torq dispatch took, out of a runtime profile of any sort.

An NSS job is measured from the begin of the action that starts it to the end of the action that
waits for it, on its own track "NSS jobs"; the two actions are told with it and not a second time.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from enum import IntEnum
from fractions import Fraction

import numpy as np

from viewer.analysis.links.debug_info_locations import dispatch_of_scopes, other_compilations
from viewer.arrays import Floats, Ints
from viewer.model.queries import numbers, units_of
from viewer.model.torq_names import ACTION_ID, DISPATCH, JOB_ID, NSS_WAIT, OPERATIONS
from viewer.model.trace import Trace, Unit
from viewer.program.torq.dispatch import Dispatch

_OTHER = "another compilation"


class MeasurementSource(IntEnum):
    """Which sort of profile a measurement is from, the most telling first."""

    HOST = 0
    ANNOTATED = 1
    JOBS = 2


@dataclass(frozen=True, slots=True, eq=False)
class MeasuredAction:
    """One action, or one job with its actions, and how long each of its executions took.

    dispatch: "" where the file names none and no debug info tells; with a remark where debug info
    of its name is open that is of another compilation. start_action, action: of a job those that
    start it and wait for it, None if not known. location: MLIR text, "" if none. ns: in the order
    in which the executions began.
    """

    dispatch: str
    job: int | None
    start_action: int | None
    action: int | None
    name: str
    location: str
    ns: Floats


def source_of(trace: Trace) -> MeasurementSource | None:
    """Which sort of measurement of actions or jobs a trace is; None if it is none."""
    columns = trace.slices.columns
    if trace.clock.unit == "cycle" or columns.keys().isdisjoint((ACTION_ID, JOB_ID)):
        return None
    if OPERATIONS in columns:
        return MeasurementSource.ANNOTATED
    return MeasurementSource.HOST if ACTION_ID in columns else MeasurementSource.JOBS


def several_dispatches(trace: Trace) -> str:
    """Why the actions of an annotated profile cannot be told apart; else "".

    It lists the executions of all dispatches and names none. All number from 0, so one number that
    stands for two operations, or for two places, is of two dispatches.
    """
    if source_of(trace) is not MeasurementSource.ANNOTATED:
        return ""
    at, ids = numbers(trace, ACTION_ID)
    keys = trace.slices.key[at]
    for action, own in groups(ids):
        found = np.unique(keys[own]).tolist()
        if len(found) > 1:
            first, second = (
                f"{trace.strings[int(trace.keys.name[key])]} {trace.keys.location[key] or ''}"
                for key in found[:2]
            )
            return (
                "It has actions of several dispatches and does not say which are whose: action "
                f"{action} is {first.rstrip()} and {second.rstrip()}"
            )
    return ""


def measured_actions(
    trace: Trace, dispatches: Sequence[Dispatch], ns_per_tick: Fraction
) -> list[MeasuredAction]:
    """Everything that a runtime profile measured, jobs first; empty for other traces."""
    if source_of(trace) is None:
        return []
    slices = trace.slices
    unit = units_of(trace)
    jobs, job_ids = numbers(trace, JOB_ID, unit == Unit.NSS)
    actions, action_ids = numbers(trace, ACTION_ID, unit == Unit.HOST)
    known = dispatch_of_scopes(trace, dispatches)
    names = dispatch_names(trace, dispatches)
    by_profile = _actions_of_jobs(trace, jobs, job_ids, actions, action_ids)
    told: set[tuple[int, int | None]] = set()
    found: list[MeasuredAction] = []

    def add(scope: int, job: int | None, first: int | None, last: int | None, at: Ints) -> None:
        ns: Floats = (slices.end[at] - slices.start[at]) * np.float64(float(ns_per_tick))
        location = trace.keys.location[int(slices.key[at[0]])] or ""
        name = trace.name(int(at[0]))
        found.append(MeasuredAction(names[scope], job, first, last, name, location, ns))

    for (scope, job), at in _by_scope(trace, jobs, job_ids):
        info = known[scope]
        start, wait = by_profile.get((scope, job), (None, None))
        if info is not None and job in info.jobs:
            start, wait = info.jobs[job].start_action, info.jobs[job].wait_action
        told |= {(scope, start), (scope, wait)}
        add(scope, job, start, wait, at)
    for (scope, action), at in _by_scope(trace, actions, action_ids):
        if (scope, action) not in told:
            add(scope, None, None, action, at)
    return found


def dispatch_names(trace: Trace, dispatches: Sequence[Dispatch]) -> list[str]:
    """Per scope of a runtime profile the dispatch that its actions are of, as in
    `MeasuredAction.dispatch`."""
    known = dispatch_of_scopes(trace, dispatches)
    others = other_compilations(trace, dispatches)
    names = [
        d.name if d else scope.name if DISPATCH in trace.slices.columns else ""
        for d, scope in zip(known, trace.scopes, strict=True)
    ]
    # Equal numbers mean other actions there: they must not meet the estimates of that name.
    return [f"{name} ({_OTHER})" if i in others else name for i, name in enumerate(names)]


def jobs_of_keys(trace: Trace, dispatches: Sequence[Dispatch]) -> dict[int, tuple[str, int]]:
    """Key -> (dispatch, number) of the NSS job that all slices of that key are; empty for traces
    that are no runtime profile."""
    if source_of(trace) is None:
        return {}
    at, ids = numbers(trace, JOB_ID, units_of(trace) == Unit.NSS)
    pairs = np.unique(np.stack([trace.slices.key[at].astype(np.int64), ids]), axis=1)
    keys, count = np.unique(pairs[0], return_counts=True)
    names, scope = dispatch_names(trace, dispatches), trace.keys.scope
    alone = np.isin(pairs[0], keys[count == 1])
    return {
        key: (names[int(scope[key])], job)
        for key, job in zip(*pairs[:, alone].tolist(), strict=True)
    }


def groups(values: Ints) -> Iterator[tuple[int, Ints]]:
    """The distinct values and at which positions each stands, in order of both."""
    order = np.argsort(values, kind="stable")
    distinct, first = np.unique(values[order], return_index=True)
    yield from zip(distinct.tolist(), np.split(order, first[1:]), strict=False)


def _by_scope(trace: Trace, at: Ints, ids: Ints) -> Iterator[tuple[tuple[int, int], Ints]]:
    """Some slices by their scope and number, those of one by the time of their begin."""
    slices = trace.slices
    in_time = np.argsort(slices.start[at], kind="stable")
    at, ids = at[in_time], ids[in_time]
    scope = trace.keys.scope[slices.key[at]].astype(np.int64)
    for of_scope, own in groups(scope):
        for number, members in groups(ids[own]):
            yield (of_scope, number), at[own[members]]


def _actions_of_jobs(
    trace: Trace, jobs: Ints, job_ids: Ints, actions: Ints, action_ids: Ints
) -> dict[tuple[int, int], tuple[int | None, int | None]]:
    """(scope, job) -> the actions that start it and wait for it, as far as the profile tells.

    An annotated profile says of each action which job it is of. In a host profile a job stands in
    the row of its start, and the next wait of its dispatch is its own.
    """
    slices = trace.slices
    id_of = np.full(len(slices), -1, np.int64)
    id_of[actions] = action_ids
    is_action = id_of >= 0
    of_jobs, ids = numbers(trace, JOB_ID, is_action)
    if len(of_jobs):
        return {
            place: (int(id_of[at].min()), int(id_of[at].max()))
            for place, at in _by_scope(trace, of_jobs, ids)
        }
    row = slices.source_row.astype(np.int64)
    starts = dict(zip(row[actions].tolist(), action_ids.tolist(), strict=True))
    is_wait = np.array([text == NSS_WAIT for text in trace.strings], np.bool_)
    waits = actions[is_wait[slices.name[actions]]]
    waits = waits[np.argsort(row[waits], kind="stable")]
    waits_of = {
        scope: waits[own] for scope, own in groups(trace.keys.scope[slices.key[waits]].astype(int))
    }
    found: dict[tuple[int, int], tuple[int | None, int | None]] = {}
    for (scope, job), at in _by_scope(trace, jobs, job_ids):
        begin = int(row[at[0]])
        own = waits_of.get(scope, waits[:0])
        after = own[np.searchsorted(row[own], begin) :][:1]
        found[scope, job] = starts.get(begin), int(id_of[after[0]]) if len(after) else None
    return found
