"""Allocations that an ETDump logged, by the slice that each of them follows.

The file states the order of its events but no time for allocations. So all that is known is the
last slice of their block that was logged before them.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from viewer.arrays import Ints
from viewer.dataclasses import dataclass
from viewer.model.text import bytes_text
from viewer.model.times import counted
from viewer.model.trace import Trace, UntimedKind

_MOST_NAMED = 3


@dataclass(frozen=True, eq=False, slots=True)
class LoggedAllocations:
    """Allocations by the slice that they follow, as parallel columns.

    slice: distinct slices, ascending, so that those of a row are next to one another in order of
    time (int64). count: how many allocations follow each. size: their bytes (float64, because a
    damaged file can state more than int64 holds).
    """

    slice: Ints
    count: Ints
    size: NDArray[np.float64]


def logged_allocations(trace: Trace) -> LoggedAllocations:
    """Return the allocations of a trace, without those before the first slice of their block."""
    events = trace.untimed
    rows = np.flatnonzero((events.kind == UntimedKind.ALLOCATION) & (events.after >= 0))
    slices, inverse = np.unique(events.after[rows].astype(np.int64), return_inverse=True)
    weights = events.size.values[rows].astype(np.float64)
    size = np.bincount(inverse, weights, len(slices)).astype(np.float64)
    return LoggedAllocations(slices, np.bincount(inverse, minlength=len(slices)), size)


def allocation_text(trace: Trace, index: int) -> str:
    """Return what was allocated after a slice: "1.2 kB in 3 allocations: method"; "" if nothing."""
    events = trace.untimed
    is_own = (events.kind == UntimedKind.ALLOCATION) & (events.after == index)
    rows = np.flatnonzero(is_own).tolist()
    if not rows:
        return ""
    size = sum(int(events.size.values[i]) for i in rows)
    names = dict.fromkeys(str(events.name.value(i)) for i in rows)
    more = ", …" if len(names) > _MOST_NAMED else ""
    which = ", ".join(list(names)[:_MOST_NAMED]) + more
    return f"{bytes_text(size)} in {counted(len(rows), 'allocation')}: {which}"
