"""Where the times of delegate events come from: not all of them are measured.

XNNPACK logs durations alone, in whole µs. Its profiler puts the events of a call one after another,
from a start that it measured, so their starts are placed and their durations rounded
(backends/xnnpack/runtime/profiling/XNNProfiler.cpp). Core ML states no times per operation: its
delegate divides the time of a prediction by the estimated costs of the operations, which it logs as
metadata. Events on a clock of their own need no mark here, since their native columns tell.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from viewer.arrays import Bools, Ints
from viewer.formats.executorch.etdump.events import ProfileEvents
from viewer.formats.executorch.etdump.metadata import values_of
from viewer.model.names.executorch import xnnpack_operator
from viewer.model.timing import ROUNDING_TICKS, Timing
from viewer.model.trace import KeyKind

_COST = "estimatedCost"


def event_timing(events: ProfileEvents, kind: NDArray[np.uint8], parent: Ints) -> NDArray[np.uint8]:
    """The `Timing` of every event; parent: index of each event's parent, -1 if none."""
    found = np.zeros(len(events), np.uint8)
    is_delegate = kind == KeyKind.DELEGATE_EVENT
    named = [xnnpack_operator(text) is not None for text in events.texts]
    if any(named):
        own = is_delegate & np.array([*named, False])[events.text] & (events.number == -1)
        own &= (parent >= 0) & (kind[parent] == KeyKind.DELEGATE_CALL)
        found[own] = Timing.PLACED
        found[own & _in_whole_us(events, own, parent)] |= np.uint8(Timing.ROUNDED)
    costed = [_states_cost(raw) for raw in events.metadatas]
    if any(costed):
        found[is_delegate & np.array([*costed, False])[events.metadata]] |= np.uint8(
            Timing.ESTIMATED
        )
    return found


def _in_whole_us(events: ProfileEvents, own: Bools, parent: Ints) -> Bools:
    """Which of XNNPACK's events are in a call whose events are all whole µs.

    That is, durations, and starts counted from the first of them. One that is not shows that the
    ticks are not ns, or that a later XNNPACK measures finer; then nothing is known of rounding.
    """
    at = np.flatnonzero(own)
    call = parent[at]
    first = np.full(len(events), np.iinfo(np.int64).max)
    np.minimum.at(first, call, events.start[at])
    length, since = events.end[at] - events.start[at], events.start[at] - first[call]
    is_odd = (length % ROUNDING_TICKS != 0) | (since % ROUNDING_TICKS != 0)
    has_odd = np.zeros(len(events), np.bool_)
    has_odd[call[is_odd]] = True
    found: Bools = own & (parent >= 0) & ~has_odd[parent]
    return found


def _states_cost(metadata: bytes) -> bool:
    """Whether metadata is a JSON object with the estimated cost of an operation."""
    # The search is fast, and false for the metadata of all other delegates.
    return f'"{_COST}"'.encode() in metadata and _COST in (values_of(metadata) or {})
