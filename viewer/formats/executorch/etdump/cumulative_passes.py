"""Finds passes of a GPU whose logged lengths are cumulative, and what each of them took.

On tile-based GPUs, the begin of every pass of a command buffer can be the tick at which the buffer
began. Then the passes of a call all start at one tick, and each length is the time since then: that
of the pass and of all before it. As times, they would be nested in each other, or add up to many
times the call (pytorch/executorch#21033).

A pass then took from the end of the pass before to its own end. Both are measured, so the passes
are put one after another, and the column `cumulative_dur` keeps the logged length. A group of
events of one call is taken as such passes if

* they start at one tick, and at least three have a length; two, which may be a scope and its
  content, are enough for shaders, and in a file that has such passes;
* no other event of the call starts between their start and their last end: that would be the
  content of a scope;
* the tick is not 0 on another clock, which is no start but what QNN logs for all events.
"""

from __future__ import annotations

from dataclasses import dataclass, fields

import numpy as np
from numpy.typing import NDArray

from viewer.arrays import Ints, flags_at, numbers_at
from viewer.formats.executorch.etdump.events import ProfileEvents
from viewer.formats.executorch.etdump.foreign_clocks import Foreign
from viewer.model.timing import Timing
from viewer.model.trace import Column, KeyKind
from viewer.program.debug_handles import is_of_whole_call, shader_of

CUMULATIVE = "cumulative_dur"
PROBLEM = (
    "passes of one call that start at one tick: their lengths are cumulative, and each is shown "
    "with the difference to the one before"
)
_LEAST = 3  # events that prove it


@dataclass(slots=True)
class Passes:
    """The passes with cumulative lengths, in the order in which they ran, call by call."""

    at: Ints
    length: Ints

    def columns(self, count: int) -> dict[str, Column]:
        """The column with the logged lengths, for `count` events; none if there are no passes."""
        if not len(self.at):
            return {}
        values, valid = np.zeros(count, np.int64), np.zeros(count, np.bool_)
        values[self.at], valid[self.at] = self.length, True
        return {CUMULATIVE: Column(values, valid)}


def undo_cumulative(
    events: ProfileEvents,
    kind: NDArray[np.uint8],
    parent: Ints,
    foreign: Foreign,
    timing: NDArray[np.uint8],
) -> Passes:
    """Find passes with cumulative lengths, and give each its own.

    parent: index of each event's parent, -1 if none. Changes the order of the passes of a call in
    `events` to that in which they ran, whatever the order of the log; their starts, those and the
    lengths in `foreign`, and `timing`.
    """
    rows = _passes(events, kind, parent, foreign)
    passes = Passes(rows, events.end[rows] - events.start[rows])
    if not len(rows):
        return passes
    call, start = parent[rows], events.start[rows]
    is_next = np.append(False, (call[1:] == call[:-1]) & (start[1:] == start[:-1]))
    # They have no contents, so they can change places among each other.
    places = rows[np.lexsort((rows, np.cumsum(~is_next)))]
    for field in fields(events):
        values = getattr(events, field.name)
        if isinstance(values, np.ndarray):
            values[places] = values[rows]
    passes.at = places
    timing[places] |= np.uint8(Timing.DERIVED)
    events.start[places[is_next]] = events.end[places[:-1][is_next[1:]]]
    unit = numbers_at(len(events), foreign.at, foreign.unit)
    unit[places] = unit[rows]
    foreign.unit = unit[foreign.at]
    index = np.flatnonzero(np.isin(foreign.at, places))
    moved = foreign.at[index]
    foreign.start[index] = events.start[moved]
    foreign.length[index] = events.end[moved] - events.start[moved]
    return passes


def _passes(events: ProfileEvents, kind: NDArray[np.uint8], parent: Ints, foreign: Foreign) -> Ints:
    """The events with cumulative lengths, by call, start and end."""
    mine = (kind == KeyKind.DELEGATE_EVENT) & (parent >= 0)
    mine &= ~np.array([*map(is_of_whole_call, events.texts), False])[events.text]
    is_foreign = flags_at(len(events), foreign.at)
    mine[foreign.at[foreign.is_value]] = False
    mine &= ~(is_foreign & (events.start == 0))
    rows = np.flatnonzero(mine)
    # By call, clock and start; longest last.
    rows = rows[np.lexsort((events.end[rows], events.start[rows], is_foreign[rows], parent[rows]))]
    if len(rows) < 2:
        return rows[:0]
    call, clock, start, end = parent[rows], is_foreign[rows], events.start[rows], events.end[rows]
    is_new = (np.diff(call) != 0) | (clock[1:] != clock[:-1]) | (np.diff(start) != 0)
    first = np.flatnonzero(np.append(True, is_new))
    timed = np.add.reduceat((end > start).astype(np.int64), first)
    if not (timed >= 2).any():
        return rows[:0]
    last = np.append(first[1:], len(rows)) - 1
    shortest = np.minimum.reduceat(np.where(end > start, end, end.max()), first)
    followed = np.append(
        (call[first[1:]] == call[first[:-1]])
        & (clock[first[1:]] == clock[first[:-1]])
        & (start[first[1:]] < end[last[:-1]]),
        False,
    )
    shader = np.array([*(shader_of(text) is not None for text in events.texts), False])
    is_shader = np.logical_and.reduceat(shader[events.text[rows]], first)
    may_be = (timed >= 2) & (end[last] > shortest) & ~followed
    certain = may_be & (is_shader | (timed >= _LEAST))
    chosen = may_be if certain.any() else certain
    pass_rows: Ints = rows[np.repeat(chosen, last - first + 1)]
    return pass_rows
