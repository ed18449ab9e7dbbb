"""Builds the tree of an ETDump's events from the order in which they completed.

An event is written when it completes, so its contents come before it: the parent of an event is the
next one of a lower rank in its run. Ranks: framework scope 0, instruction 1, kernel or delegate
event 2. A run that was cut off lacks some events; their children move up. If several threads
logged, the next call may belong to another thread: a delegate's event is nested only in a call of
its own instruction.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from viewer.arrays import Bools, Ints
from viewer.formats.executorch.etdump.events import Codes32, ProfileEvents
from viewer.model.trace import KeyKind


def nest(events: ProfileEvents, kind: NDArray[np.uint8]) -> tuple[Codes32, Ints, Ints]:
    """The depth of every event, their preorder, and the index of each one's parent (-1 if none)."""
    n, run = len(events), events.run
    rank = np.ones(n, np.int32)
    rank[(kind == KeyKind.KERNEL) | (kind == KeyKind.DELEGATE_EVENT)] = 2
    loose = np.flatnonzero((kind == KeyKind.FRAMEWORK) | (kind == KeyKind.PLAIN))
    instruction = rank == 1
    instruction[loose] = False
    call = next_in_run(instruction, run)[loose]
    inside = (call >= 0) & (events.start[call] <= events.start[loose])
    rank[loose[inside]] = 2
    scopes = loose[~inside & (kind[loose] == KeyKind.FRAMEWORK)]
    for level in (0, 1):
        is_inside = _lies_in_later(events.start[scopes], run[scopes])
        rank[scopes[~is_inside]] = level
        scopes = scopes[is_inside]
    rank[scopes] = 2

    outer = next_in_run(rank == 0, run)
    outer[rank == 0] = -1
    above = next_in_run(rank <= 1, run)
    above[rank < 2] = -1
    in_instruction = (above >= 0) & (rank[above] == 1)
    depth = (outer >= 0).astype(np.int32) + in_instruction
    # In completion order, a subtree ends with its root. In preorder, the root moves to the start of
    # its subtree, after its ancestors.
    subtree_start = np.arange(n)
    for level in (0, 1):
        own = np.flatnonzero(rank == level)
        ends = np.flatnonzero(rank <= level)
        before = np.searchsorted(ends, own) - 1
        subtree_start[own] = np.where(before >= 0, ends[before] + 1, 0)
    subtree_start = np.maximum(subtree_start, np.searchsorted(run, run))
    order = np.empty(n, np.int64)
    order[subtree_start + depth] = np.arange(n)
    parent = np.where(above >= 0, above, outer)
    mismatched = in_instruction & (kind == KeyKind.DELEGATE_EVENT) & (events.chain >= 0)
    mismatched &= events.instruction != events.instruction[above]
    at = np.flatnonzero(mismatched)
    if len(at):
        own = _own_calls(events, kind, at)
        parent[at] = np.where(own >= 0, own, outer[at])
    return depth, order, parent


def _own_calls(events: ProfileEvents, kind: NDArray[np.uint8], at: Ints) -> Ints:
    """For events whose next call has another instruction: the call that contains them.

    That is the next call of their instruction in the same run, if it had started by then: one of
    another thread. -1 if their call was not logged.
    """
    calls = np.flatnonzero(kind == KeyKind.DELEGATE_CALL)
    place = events.instruction.astype(np.int64) * len(events) + np.arange(len(events))
    calls = calls[np.argsort(place[calls])]
    found: Ints = np.append(calls, -1)[np.searchsorted(place[calls], place[at])]
    is_own = (found >= 0) & (events.run[found] == events.run[at])
    is_own &= events.instruction[found] == events.instruction[at]
    is_own &= events.start[found] <= events.start[at]
    return np.where(is_own, found, -1)


def next_in_run(marked: Bools, run: Codes32) -> Ints:
    """The index of the next marked event in the same run, -1 if none."""
    at = np.flatnonzero(marked)
    if not len(at):
        return np.full(len(run), -1)
    found: Ints = np.append(at, -1)[np.searchsorted(at, np.arange(len(run)), side="right")]
    return np.where((found >= 0) & (run[found] == run), found, -1)


def _lies_in_later(start: Ints, run: Codes32) -> Bools:
    """Which scopes, in completion order, started no earlier than a later scope of their run."""
    # The rank keeps runs separate, so that the minimum over everything that follows is the run's
    # own.
    rank = np.unique(start, return_inverse=True)[1] + run.astype(np.int64) * (len(start) + 1)
    later = np.minimum.accumulate(rank[::-1])[::-1]
    is_inside: Bools = np.append(later[1:] <= rank[:-1], False)[: len(start)]
    return is_inside
