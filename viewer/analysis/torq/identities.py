"""What Torq profiles state about their slices: locations, actions, NSS jobs and tasks.

Two profiles of one compilation have the same, whatever wrote them. An action that waits for an NSS
job has the slices of the job, since the compiler estimates the job for it.
"""

from __future__ import annotations

import os
from fractions import Fraction

import numpy as np

from viewer.analysis.torq.measured_actions import (
    MeasuredAction,
    measured_actions,
    several_dispatches,
    source_of,
)
from viewer.arrays import Ints
from viewer.model.names.torq import ACTION_ID, JOB_ID, TASK_ID
from viewer.model.queries import numbers
from viewer.model.trace import Trace
from viewer.program.mlir.locations import PlaceRole, outline, parse_location

LOCATION, ACTION, JOB, TASK = "location", "action", "job", "task"
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
        at, ids = numbers(trace, column)
        distinct, code = np.unique(ids, return_inverse=True)
        group[at] = code.reshape(-1)
        return [(f"{level} {number}",) for number in distinct.tolist()], group
    if several_dispatches(trace):
        return [], group
    measured = measured_actions(trace, (), Fraction(1))
    several = len({one.dispatch for one in measured}) > 1
    for one in measured:
        name = _name(one, level)
        if name:
            key = (f"{one.dispatch} · {name}" if several else name,)
            group[one.slices] = of.setdefault(key, len(of))
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
    lines = [one for one in outline(parse_location(text)) if one.role is not PlaceRole.CALLER]
    places = {
        f"{os.path.basename(one.position.file)}:{one.position.line}:{one.position.col}"
        for one in lines
        if one.position is not None
    }
    return tuple(sorted(places)) or ("(unknown location)",)


def _name(one: MeasuredAction, level: str) -> str:
    if level == JOB:
        return "" if one.job is None else f"job {one.job}"
    return f"job {one.job}" if one.action is None else f"action {one.action}"
