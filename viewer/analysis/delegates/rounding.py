"""How much of a call's unattributed time can be due to rounding alone.

XNNPACK cuts the duration of each event to whole µs and puts its events one after another, from a
start that it measured. So each event loses less than 1 µs, half of that on average, and what they
lose adds up behind them: the time before the first event is not rounding.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from viewer.model.queries import children_of, parent_of
from viewer.model.timing import ROUNDING_TICKS, Timing
from viewer.model.trace import KeyKind, Trace


@dataclass(frozen=True, slots=True)
class RoundingLoss:
    """The most time that rounding can have taken from events, in ticks, and how many they are."""

    ticks: int
    events: int


def rounding_loss(trace: Trace, i: int) -> RoundingLoss | None:
    """Return what rounding can explain of the unattributed time of slice i.

    Slice i is a delegate call or an unattributed part of one; None for others, and if rounding
    explains nothing. The events are those before the part, or all of the call.
    """
    slices, kind = trace.slices, trace.keys.kind
    is_part = kind[slices.key[i]] == KeyKind.UNATTRIBUTED
    if slices.timing is None or not (is_part or kind[slices.key[i]] == KeyKind.DELEGATE_CALL):
        return None
    call = parent_of(slices, i) if is_part else i
    inner = children_of(slices, call) if call >= 0 else np.empty(0, np.int64)
    events = inner[(slices.timing[inner] & np.uint8(Timing.ROUNDED)) != 0]
    if not len(events):
        return None
    parts = inner[kind[slices.key[inner]] == KeyKind.UNATTRIBUTED]
    if is_part:
        parts = np.array([i])
        events = events[slices.end[events] <= slices.start[i]]
    after = parts[slices.start[parts] >= slices.end[events].min(initial=np.iinfo(np.int64).max)]
    unattributed = int((slices.end[after] - slices.start[after]).sum())
    ticks = min(ROUNDING_TICKS * len(events), unattributed)
    return RoundingLoss(ticks, len(events)) if ticks else None
