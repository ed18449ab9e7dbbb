"""Classifies the runs of an ETDump: loads, failed runs, durations and clocks.

An event block is one run, except for a load followed by steps in the same block: those are two.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from viewer.arrays import Bools, Ints, flags_at
from viewer.formats.executorch.etdump.events import Codes32, ProfileEvents, Runs
from viewer.model.names.executorch import EXECUTE, INIT, LOAD, STEP
from viewer.model.trace import KeyKind

LOADS = (INIT, LOAD)
# Every restart of the clock is a thread; beyond this number, runs share the last one.
MOST_CLOCKS = 1000
_INT64 = np.iinfo(np.int64)


def part_runs(events: ProfileEvents, loading: Bools) -> tuple[Codes32, Ints]:
    """Split blocks where instructions follow a load: the distinct parts and their first events.

    Sets `events.run` to twice the block's number, plus 1 for events after a load in it.
    `Method::step` opens no event block, so its events go to the block of the load before it.
    """
    load_rows = loading.nonzero()[0]
    last = np.full(int(events.run[-1]) + 1, len(events))
    last[events.run[load_rows]] = load_rows
    run = events.run * np.int32(2)
    if len(load_rows):
        after = np.arange(len(events)) > last[events.run]
        stepped = flags_at(len(last), events.run[after & (events.chain >= 0)])
        run += after & stepped[events.run]
    events.run = run
    first = np.flatnonzero(np.concatenate(([True], run[1:] != run[:-1])))
    return run[first], first


def loads(
    runs: Runs,
    parts: Codes32,
    first: Ints,
    events: ProfileEvents,
    kind: NDArray[np.uint8],
    loading: Bools,
) -> Bools:
    """Which parts of runs load a method instead of executing one.

    A run named "Default" without load scopes but with instructions is an execution: a program that
    opens no event block of its own logs this name.
    """
    working = (events.chain >= 0) & (kind != KeyKind.DELEGATE_EVENT)
    loads: Bools = np.logical_or.reduceat(loading, first)
    works = np.logical_or.reduceat(working, first)
    default = np.array([runs.names[run >> 1] == "Default" for run in parts.tolist()])
    return loads | (default & ~works)


def ends_of_runs(events: ProfileEvents) -> Bools:
    """Which events are Method::execute, which the runtime logs when a run completes."""
    return events.named(EXECUTE) & (events.chain < 0)


def failed_runs(
    events: ProfileEvents,
    kind: NDArray[np.uint8],
    first: Ints,
    is_load: Bools,
    loading: Bools,
    executes: Bools,
) -> Ints:
    """The positions of runs that started instructions but never completed.

    Empty for a file without any scopes of the runtime. Steps complete one by one and have no
    Method::execute. executes: `ends_of_runs`.
    """
    if not (executes.any() or loading.any()):
        return np.empty(0, np.int64)
    calls = (kind == KeyKind.OPERATOR_CALL) | (kind == KeyKind.DELEGATE_CALL)
    began = np.logical_or.reduceat(calls, first)
    ended = np.logical_or.reduceat(executes | events.named(STEP), first)
    return np.flatnonzero(began & ~ended & ~is_load)


def spans(events: ProfileEvents, first: Ints, count: Ints, executes: Bools) -> tuple[Ints, Ints]:
    """Start and end of every run.

    first, count: the first event of each, and how many it has. executes: `ends_of_runs`.
    If a run has a Method::execute, only that counts: times of other events may contradict it.
    """
    has_one = np.logical_or.reduceat(executes, first)
    counted = executes | (~has_one).repeat(count)
    run_start = np.minimum.reduceat(np.where(counted, events.start, _INT64.max), first)
    return run_start, np.maximum.reduceat(np.where(counted, events.end, _INT64.min), first)


def clocks(begin: Ints, finish: Ints) -> Ints:
    """How often the clock had restarted before each run, at most `MOST_CLOCKS` - 1 times.

    Runs never overlap, so the clock restarted if a run starts before an earlier one ended.
    """
    clock_of = np.zeros(len(begin), np.int64)
    clock, over = 0, int(_INT64.min)
    for i, (starts, ends) in enumerate(zip(begin.tolist(), finish.tolist(), strict=True)):
        if starts < over and clock < MOST_CLOCKS - 1:
            clock, over = clock + 1, ends
        over = max(over, ends)
        clock_of[i] = clock
    return clock_of
