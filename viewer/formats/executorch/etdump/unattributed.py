"""Finds the parts of DELEGATE_CALLs that their delegates' events do not cover.

XNNPACK, for example, starts its first event 0.24 to 11.8 µs after its call started, and leaves 28
to 83 % of the calls of small models uncovered. That time belongs to no operator, but is not lost:
it becomes separate slices named "unattributed", which are flagged as derived. If a call's events
have their own clock, or it has none but plain scopes, its coverage is unknown and it gets none.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from viewer.arrays import Bools, Ints
from viewer.formats.executorch.etdump.events import ProfileEvents
from viewer.formats.executorch.etdump.nesting import CallTree
from viewer.model.trace import KeyKind


@dataclass(slots=True)
class UnattributedParts:
    """Uncovered parts of calls, in parallel arrays.

    call: the event of the call. place: where the part is inserted among the events, which have the
    places 1, 3, 5, ... in preorder.
    """

    call: Ints
    start: Ints
    end: Ints
    place: Ints


def uncovered(
    events: ProfileEvents, kind: NDArray[np.uint8], tree: CallTree, foreign: Ints
) -> UnattributedParts:
    """Find the parts of calls that no event covers; parts without a duration are left out.

    foreign: the events with their own clock. An event within another one covers no more than that.
    """
    parent, order = tree.parent, tree.order
    is_own = (parent >= 0) & (kind[parent] == KeyKind.DELEGATE_CALL)
    is_own[foreign] = False
    has_own = np.zeros(len(events), np.bool_)
    has_own[parent[is_own & (kind == KeyKind.DELEGATE_EVENT)]] = True
    own = np.flatnonzero(is_own & has_own[parent] & ~tree.within)
    if not len(own):
        return UnattributedParts(own, own, own, own)
    # Events are in completion order, so those of one call are sorted by end.
    own = own[np.argsort(parent[own], kind="stable")]
    call, is_first = parent[own], np.append(True, np.diff(parent[own]) != 0)
    is_last = np.append(is_first[1:], True)
    start = np.clip(events.start[own], events.start[call], events.end[call])
    end = np.clip(events.end[own], start, events.end[call])
    covered_to = _running_max(end, is_first)
    next_start = -_running_max(-start[::-1], is_last[::-1])[::-1]
    before = np.where(is_first, events.start[call], np.append(0, covered_to[:-1]))
    position = np.empty(len(order), np.int64)
    position[order] = np.arange(len(order))
    inside = np.bincount(parent[parent >= 0], minlength=len(order))
    found = UnattributedParts(
        np.concatenate([call, call[is_last]]),
        np.concatenate([before, covered_to[is_last]]),
        np.concatenate([next_start, events.end[call[is_last]]]),
        np.concatenate([2 * position[own], 2 * (position + inside)[call[is_last]] + 2]),
    )
    keep = np.flatnonzero(found.end > found.start)
    return UnattributedParts(
        found.call[keep], found.start[keep], found.end[keep], found.place[keep]
    )


def _running_max(values: Ints, is_first: Bools) -> Ints:
    """The running maximum, restarted at the first value of every group."""
    group = np.cumsum(is_first) - 1
    distinct, rank = np.unique(values, return_inverse=True)
    # Lift the ranks of each group above those of all earlier groups.
    lifted = np.maximum.accumulate(rank + group * len(distinct))
    result: Ints = distinct[lifted - group * len(distinct)]
    return result
