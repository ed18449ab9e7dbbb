"""Builds the tree of an ETDump's events from the order in which they completed.

An event is written when it completes, so its contents come before it: the parent of an event is the
next one of a lower rank in its run. Ranks: framework scope 0, instruction 1, kernel or delegate
event 2. A run that was cut off lacks some events; their children move up. If several threads
logged, the next call may belong to another thread: a delegate's event is nested only in a call of
its own instruction.

What is inside an instruction has no ranks. It follows one another, as kernels and the operators of
XNNPACK do, or some of it is the scope of the rest: "VGF_EXECUTE" of "VGF_COPY_INPUTS". Where times
overlap, `nest_inside` makes it as deep as they show.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from viewer.arrays import Bools, Ints, flags_at
from viewer.formats.executorch.etdump.events import Codes32, ProfileEvents
from viewer.model.trace import KeyKind

# The rank that events of a kind have; -1 if it depends on the events around them.
_RANK_OF = np.ones(len(KeyKind), np.int32)
_RANK_OF[[KeyKind.KERNEL, KeyKind.DELEGATE_EVENT]] = 2
_RANK_OF[[KeyKind.FRAMEWORK, KeyKind.PLAIN]] = -1


@dataclass(slots=True)
class CallTree:
    """How events nest; every array but `order` has one value per event.

    order: the events in preorder. parent: index of the framework scope or instruction that an event
    is in, -1 if none. innermost: whether it has rank 2. within: whether another innermost event is
    around it; its parent is still the instruction.
    """

    depth: Codes32
    order: Ints
    parent: Ints
    innermost: Bools
    within: Bools


def nest(events: ProfileEvents, kind: NDArray[np.uint8]) -> CallTree:
    """The tree by ranks alone, where no innermost event is within another."""
    n, run = len(events), events.run
    rank = _RANK_OF[kind]
    loose = (rank < 0).nonzero()[0]
    call = next_in_run(rank == 1, run)[loose]
    inside = (call >= 0) & (events.start[call] <= events.start[loose])
    is_scope = ~inside & (kind[loose] == KeyKind.FRAMEWORK)
    rank[loose] = np.where(inside, np.int32(2), np.int32(1))
    scopes = loose[is_scope]
    for level in (0, 1):
        if not len(scopes):
            break
        is_inside = _lies_in_later(events.start[scopes], run[scopes])
        rank[scopes[~is_inside]] = level
        scopes = scopes[is_inside]
    rank[scopes] = 2

    is_outermost, is_innermost = rank == 0, rank == 2
    outer = next_in_run(is_outermost, run)
    outer[is_outermost] = -1
    above = next_in_run(~is_innermost, run)
    above[~is_innermost] = -1
    in_instruction = (above >= 0) & (rank[above] == 1)
    depth = (outer >= 0).astype(np.int32) + in_instruction
    # In completion order, a subtree ends with its root. In preorder, the root moves to the start of
    # its subtree, after its ancestors.
    places = np.arange(n)
    subtree_start = places.copy()
    for level in (0, 1):
        ends = (rank <= level).nonzero()[0]
        is_level = rank[ends] == level
        starts = np.zeros(len(ends), np.int64)
        starts[1:] = ends[:-1] + 1
        subtree_start[ends[is_level]] = starts[is_level]
    subtree_start = np.maximum(subtree_start, run.searchsorted(run))
    order = np.empty(n, np.int64)
    order[subtree_start + depth] = places
    parent = np.where(above >= 0, above, outer)
    mismatched = in_instruction & (kind == KeyKind.DELEGATE_EVENT) & (events.chain >= 0)
    mismatched &= events.instruction != events.instruction[above]
    if mismatched.any():
        rows = np.flatnonzero(mismatched)
        calls = _own_calls(events, kind, rows)
        parent[rows] = np.where(calls >= 0, calls, outer[rows])
    return CallTree(depth, order, parent, is_innermost, np.zeros(n, np.bool_))


def nest_inside(events: ProfileEvents, tree: CallTree, apart: Ints) -> None:
    """Nest the innermost events of an instruction in each other where their times overlap.

    apart: the events on other clocks, whose times show nothing. Changes `tree`. Events that lie
    across each other, or that are not in the order of their ends, keep their places.
    """
    is_inner = tree.innermost & (tree.parent >= 0)
    is_inner[apart] = False
    rows = is_inner.nonzero()[0]
    rows = rows[tree.parent[rows].argsort(kind="stable")]
    of, start, end = tree.parent[rows], events.start[rows], events.end[rows]
    same = of[1:] == of[:-1]
    overlaps = same & (start[1:] < end[:-1])
    if not overlaps.any():  # most files: nothing more to compute
        return
    is_nested = flags_at(len(events), of[1:][overlaps])
    is_nested[of[1:][same & (end[1:] < end[:-1])]] = False
    here = np.flatnonzero(is_nested[of])
    rows, of, start, end = rows[here], of[here], start[here], end[here]
    if not len(rows):
        return
    first = _first_inside(of, start, end)
    # An event is within those after it whose first content is not after it.
    level = np.cumsum(np.bincount(first, minlength=len(rows))) - np.arange(1, len(rows) + 1)
    by = np.lexsort((level, first))
    is_across = (of[by][1:] == of[by][:-1]) & (start[by][1:] < start[by][:-1])
    is_nested[of[by][1:][is_across]] = False
    by = by[is_nested[of[by]]]
    sorted_rows = np.sort(by)
    # They have no contents of a higher rank, so they can change places among each other.
    place = np.empty(len(events), np.int64)
    place[tree.order] = np.arange(len(events))
    places = place[rows[sorted_rows]]
    tree.order[places[np.lexsort((places, of[sorted_rows]))]] = rows[by]
    tree.depth[rows] += np.where(is_nested[of], level, 0).astype(np.int32)
    tree.within[rows] = is_nested[of] & (level > 0)


def _first_inside(of: Ints, start: Ints, end: Ints) -> Ints:
    """The position of the first event inside each, its own if none is.

    of: the group of each, ascending; within a group, ends ascend. An event without a duration is
    not inside one that starts where it is: it comes before that.
    """
    times = np.sort(np.concatenate([start, end]))
    # Lift the times of each group above those of all earlier groups.
    lift = np.cumsum(np.append(0, of[1:] != of[:-1])) * len(times)
    ends = np.searchsorted(times, end) + lift
    starts = np.searchsorted(times, start) + lift
    first: Ints = np.minimum(np.searchsorted(ends, starts, side="right"), np.arange(len(of)))
    return first


def _own_calls(events: ProfileEvents, kind: NDArray[np.uint8], rows: Ints) -> Ints:
    """For events whose next call has another instruction: the call that contains them.

    That is the next call of their instruction in the same run, if it had started by then: one of
    another thread. -1 if their call was not logged.
    """
    calls = np.flatnonzero(kind == KeyKind.DELEGATE_CALL)
    place = events.instruction.astype(np.int64) * len(events) + np.arange(len(events))
    calls = calls[np.argsort(place[calls])]
    call_rows: Ints = np.append(calls, -1)[np.searchsorted(place[calls], place[rows])]
    is_own = (call_rows >= 0) & (events.run[call_rows] == events.run[rows])
    is_own &= events.instruction[call_rows] == events.instruction[rows]
    is_own &= events.start[call_rows] <= events.start[rows]
    return np.where(is_own, call_rows, -1)


def next_in_run(marked: Bools, run: Codes32) -> Ints:
    """The index of the next marked event in the same run, -1 if none."""
    marked_rows = marked.nonzero()[0]
    next_rows = np.full(len(run), -1)
    if not len(marked_rows):
        return next_rows
    # from each event to the next marked one; after the last one there is none
    until = int(marked_rows[-1])
    following = marked_rows[marked_rows.searchsorted(np.arange(until), side="right")]
    next_rows[:until] = np.where(run[following] == run[:until], following, -1)
    return next_rows


def _lies_in_later(start: Ints, run: Codes32) -> Bools:
    """Which scopes, in completion order, started no earlier than a later scope of their run."""
    if not (run[1:] == run[:-1]).any():
        return np.zeros(len(start), np.bool_)  # most runs have one
    # The rank keeps runs separate, so that the minimum over everything that follows is the run's
    # own.
    rank = np.unique(start, return_inverse=True)[1] + run.astype(np.int64) * (len(start) + 1)
    later = np.minimum.accumulate(rank[::-1])[::-1]
    is_inside: Bools = np.append(later[1:] <= rank[:-1], False)[: len(start)]
    return is_inside
