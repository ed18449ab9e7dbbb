"""The runs of an ETDump: which load a method, which failed, how long they last, on which clock.

An event block is one run, but for a load that steps follow in the same block: those are two.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from viewer.arrays import Bools, Ints
from viewer.formats.executorch.etdump.events import Codes32, ProfileEvents, Runs
from viewer.model.executorch_names import EXECUTE, INIT, LOAD, STEP
from viewer.model.trace import KeyKind

LOADS = (INIT, LOAD)
# Every restart of the clock is a thread; beyond so many, runs share the last one.
MOST_CLOCKS = 1000
_INT64 = np.iinfo(np.int64)


def part_runs(events: ProfileEvents, loading: Bools) -> tuple[Codes32, Ints]:
    """Cut blocks in two where instructions follow a load: the parts, and where each begins.

    Makes `events.run` twice the block's number, plus 1 for what follows a load in it, and gives the
    distinct ones. `Method::step` opens no event block, so its events land in that of the load
    before it.
    """
    at = np.flatnonzero(loading)
    last = np.full(int(events.run[-1]) + 1, len(events))
    last[events.run[at]] = at
    after = np.arange(len(events)) > last[events.run]
    stepped = np.zeros(len(last), np.bool_)
    stepped[events.run[after & (events.chain >= 0)]] = True
    events.run = events.run * np.int32(2) + (after & stepped[events.run])
    return np.unique(events.run, return_index=True)


def loads(
    runs: Runs,
    parts: Codes32,
    first: Ints,
    events: ProfileEvents,
    kind: NDArray[np.uint8],
    loading: Bools,
) -> Bools:
    """Which of the parts of runs load a method instead of executing one.

    A run "Default" without load scopes but with instructions is an execution: so it is named when
    a program logs without opening an event block of its own.
    """
    working = (events.chain >= 0) & (kind != KeyKind.DELEGATE_EVENT)
    loads: Bools = np.logical_or.reduceat(loading, first)
    works = np.logical_or.reduceat(working, first)
    default = np.array([runs.names[run >> 1] == "Default" for run in parts.tolist()])
    return loads | (default & ~works)


def ends_of_runs(events: ProfileEvents) -> Bools:
    """Which events are a Method::execute, which the runtime logs when a run came to its end."""
    return events.named(EXECUTE) & (events.chain < 0)


def failed_runs(
    events: ProfileEvents, kind: NDArray[np.uint8], first: Ints, is_load: Bools, loading: Bools
) -> Ints:
    """The runs that began with instructions and never came to their end, by their positions.

    None in a file that logs no scopes of the runtime at all. Steps end one by one and have no
    Method::execute.
    """
    executes = ends_of_runs(events)
    if not (executes.any() or loading.any()):
        return np.empty(0, np.int64)
    began = np.logical_or.reduceat(kind == KeyKind.OPERATOR_CALL, first)
    ended = np.logical_or.reduceat(executes | events.named(STEP), first)
    return np.flatnonzero(began & ~ended & ~is_load)


def spans(events: ProfileEvents, first: Ints) -> tuple[Ints, Ints]:
    """Begin and end of every run; `first`: where the events of each begin.

    A run is as long as its Method::execute: a counter that wrapped inside it stretches others.
    """
    executes = ends_of_runs(events)
    has_one = np.logical_or.reduceat(executes, first)
    count = np.diff(np.append(first, len(events)))
    counted = executes | np.repeat(~has_one, count)
    begin = np.minimum.reduceat(np.where(counted, events.start, _INT64.max), first)
    return begin, np.maximum.reduceat(np.where(counted, events.end, _INT64.min), first)


def clocks(begin: Ints, finish: Ints) -> Ints:
    """How often the clock had started again before each run, at most `MOST_CLOCKS` - 1 times.

    Runs never overlap, so one that begins before an earlier one was over tells so.
    """
    found = np.zeros(len(begin), np.int64)
    clock, over = 0, int(_INT64.min)
    for i, (starts, ends) in enumerate(zip(begin.tolist(), finish.tolist(), strict=True)):
        if starts < over and clock < MOST_CLOCKS - 1:
            clock, over = clock + 1, ends
        over = max(over, ends)
        found[i] = clock
    return found
