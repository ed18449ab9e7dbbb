"""Places delegate events that have their own clock inside their call, for drawing.

QNN logs start 0 and a number of cycles or microseconds; Vulkan's shaders have the times of the GPU,
which the runtime converts to ns. Such events are outside their DELEGATE_CALL, or their names
contain "(cycles)". The columns `native_start`, `native_dur` and `native_unit` keep the logged
values, and only these are used in figures. For drawing:

* A total ("QNN accelerator (execute) time (cycles)") spans what it sums up: it is the parent of the
  call's other events. Totals in several units are nested, the longest outermost, and units of time
  outside cycles.
* Vulkan's host events are inside their call and are not moved. Its shaders are placed inside
  "ETVK_COMPUTE_GRAPH_EXECUTE". Earlier versions have only "ETVK_EXECUTE", which is around all other
  host events in later ones.
* A value, such as "DSP:after_context_freed (bytes)", took no time: it is an instant at the start of
  its call, and `native_dur` is its amount.
* Other events follow each other in the order they were logged: on the scale of the total in their
  unit, else with the duration of their unit, and scaled down if there is too little room.

On tile-based GPUs, the begin of every pass of a command buffer can be the tick at which the buffer
began, and each length is the time since then: that of the pass and of all before it. As times, they
would add up to many times the call (pytorch/executorch#21033). A pass then took from the end of the
pass before to its own end, and the column `cumulative_dur` keeps the logged length. A group of
events of one call is taken as such passes if

* they start at one tick, and at least three have a length; two, which may be a scope and its
  content, are enough for shaders, and in a file that has such passes;
* no other event of the call starts between their start and their last end: that would be the
  content of a scope;
* the tick is not 0 on another clock, which is no start but what QNN logs for all events.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from viewer.arrays import Bools, Ints, flags_at, numbers_at, rows_of
from viewer.dataclasses import dataclass, fields
from viewer.formats.executorch.etdump.events import CallTree, ProfileEvents
from viewer.model.queries import NATIVE_DURATION, NATIVE_START, NATIVE_UNIT
from viewer.model.timing import (
    COUNTED,
    CYCLES,
    NS_PER,
    TICKS,
    Timing,
    is_value,
    possible_unit,
    stated_unit,
)
from viewer.model.trace import Column, KeyKind
from viewer.program.debug_handles import is_host_event, is_of_whole_call, is_total, shader_of

# Units that are always known; a file may state more of them.
_UNITS = (CYCLES, TICKS, *NS_PER)
_CYCLES, _TICKS = range(len(COUNTED))
# Ticks of the ETDump (assumed to be ns) per unit. Cycles have no known duration, and are drawn as
# ticks if nothing else determines it.
_TICKS_PER_UNIT = np.array([1.0, 1.0, *map(float, NS_PER.values())])
_CONTAINERS = ("ETVK_EXECUTE", "ETVK_COMPUTE_GRAPH_EXECUTE")  # the last one in a call is used
# QNN's most detailed profile has four totals; a longer chain would only hide the events.
_MOST_TOTALS = 8


@dataclass(slots=True)
class Foreign:
    """The events on foreign clocks and their logged values, in parallel arrays.

    box: the event that each is placed in. unit: an index into `units`.
    """

    at: Ints
    box: Ints
    start: Ints
    length: Ints
    unit: Ints
    units: tuple[str, ...]

    @property
    def is_value(self) -> Bools:
        """Which of them hold a value instead of a time."""
        return np.array([is_value(unit) for unit in self.units])[self.unit]

    @property
    def timed(self) -> Ints:
        """The events that have a time, ascending."""
        return np.sort(self.at[~self.is_value])

    def columns(self, count: int) -> dict[str, Column]:
        """Columns for `count` events with the logged values; none if no event is foreign."""
        if not len(self.at):
            return {}
        is_foreign = flags_at(count, self.at)

        def spread(values: Ints) -> Ints:
            return numbers_at(count, self.at, values)

        units = spread(self.unit).astype(np.uint32)
        return {
            NATIVE_START: Column(spread(self.start), is_foreign),
            NATIVE_DURATION: Column(spread(self.length), is_foreign),
            NATIVE_UNIT: Column.of_codes(units, self.units, is_foreign),
        }


def find_foreign(events: ProfileEvents, kind: NDArray[np.uint8], parent: Ints) -> Foreign:
    """Find the events on foreign clocks; parent: index of each event's parent, -1 if none."""
    by_chain = np.where(events.chain < 0, KeyKind.FRAMEWORK, KeyKind.DELEGATE_CALL)
    is_candidate = (kind == KeyKind.DELEGATE_EVENT) & (parent >= 0) & (kind[parent] == by_chain)
    if not is_candidate.any():
        nothing = np.empty(0, np.int64)
        return Foreign(nothing, nothing, nothing, nothing, nothing, _UNITS)
    unit, units = _units(events)
    rows, box = _find(events, is_candidate, parent, unit, units)
    length = events.end[rows] - events.start[rows]
    return Foreign(rows, box, events.start[rows], length, unit[rows], units)


def place_foreign(events: ProfileEvents, foreign: Foreign, tree: CallTree) -> None:
    """Place the events on foreign clocks inside their calls.

    Changes their `events.start` and `events.end`, and the depths and preorder of `tree`.
    """
    if not len(foreign.at):
        return
    order = tree.order
    place = np.empty(len(order), np.int64)
    place[order] = np.arange(len(order))
    within = np.zeros(len(order), np.int64)
    # Moved events come directly after the event that contains them: values, then times by rank.
    is_value = foreign.is_value
    values, times = rows_of(foreign, is_value), rows_of(foreign, ~is_value)
    if len(values.at):
        events.start[values.at] = events.end[values.at] = events.start[values.box]
        tree.depth[values.at] = tree.depth[values.box] + 1
        place[values.at], within[values.at] = place[values.box], 1 + np.arange(len(values.at))
    if len(times.at):
        rows, box = times.at, times.box
        total = np.array([*(is_total(t) for t in events.texts), False])[events.text[rows]]
        rank, level, total = _arrange(times, total, box)
        _lay_out(events, times, box, rank, level, total)
        tree.depth[rows] = tree.depth[box] + 1 + level
        place[rows], within[rows] = place[box], 1 + len(values.at) + rank
    tree.order = np.lexsort((within, place))


def _find(
    events: ProfileEvents, mine: Bools, parent: Ints, unit: Ints, units: tuple[str, ...]
) -> tuple[Ints, Ints]:
    """The events on foreign clocks, ascending, and the event that each is placed in."""
    outside = (events.start < events.start[parent]) | (events.end > events.end[parent])
    value = mine & np.array([is_value(unit) for unit in units])[unit]
    # A stated unit with the start 0 is no time of the ETDump, even in a call that starts at 0.
    counted = (unit == _CYCLES) | ((unit != _TICKS) & (events.start == 0))
    stray = flags_at(len(events), parent[mine & ~value & (outside | counted)])
    rows = np.flatnonzero(value)
    if not stray.any():
        return rows, parent[rows]
    in_stray = mine & ~value & stray[parent]
    # An event inside such a call may be there by chance, unless it is known to be a host event.
    # Only a call with a container has those.
    host = np.array([*(is_host_event(t) for t in events.texts), False])[events.text]
    box_of = np.arange(len(events))
    for name in _CONTAINERS:
        container = np.array([*(t == name for t in events.texts), False])[events.text]
        boxes = np.flatnonzero(in_stray & container & ~outside)
        box_of[parent[boxes]] = boxes
    stays = in_stray & host & ~outside & (box_of[parent] != parent)
    rows = np.flatnonzero(value | (in_stray & ~stays))
    return rows, np.where(value[rows], parent[rows], box_of[parent[rows]])


def _units(events: ProfileEvents) -> tuple[Ints, tuple[str, ...]]:
    """The unit of every event as an index into the units of the file, and these."""
    units_of = ["ns" if shader_of(text) else stated_unit(text) for text in events.texts]
    # QNN writes the unit of each value into its name: there, an unknown one is a unit too.
    guess = any(unit in (CYCLES, "us") or is_value(unit or TICKS) for unit in units_of)
    texts = events.texts if guess else []
    may = [
        unit or possible_unit(text) for unit, text in zip(units_of, texts, strict=False)
    ] or units_of
    units = list(dict.fromkeys((*_UNITS, *filter(None, may))))
    numbers = {unit: number for number, unit in enumerate(units)}
    stated = np.array([*(numbers[unit or TICKS] for unit in units_of), _TICKS])
    possible = np.array([*(numbers[unit or TICKS] for unit in may), _TICKS])
    return np.where(events.start == 0, possible[events.text], stated[events.text]), tuple(units)


def _arrange(foreign: Foreign, total: Bools, box: Ints) -> tuple[Ints, Ints, Bools]:
    """The rank of every event in its box, its level there, and which events are used as totals.

    Totals come first, each one level below the one before. The other events are below all totals.
    """
    ticks = foreign.length * _TICKS_PER_UNIT[foreign.unit]
    # By box, totals first, units of time before cycles, longest first; then in logged order.
    by = np.lexsort((np.where(total, -ticks, 0), total & (foreign.unit == _CYCLES), ~total, box))
    rank = np.empty(len(box), np.int64)
    rank[by] = np.arange(len(box)) - np.searchsorted(box[by], box[by])
    total = total & (rank < _MOST_TOTALS)
    _, number = np.unique(box, return_inverse=True)
    totals = np.bincount(number, weights=total).astype(np.int64)[number]
    return rank, np.where(total, rank, totals), total


def _lay_out(
    events: ProfileEvents, foreign: Foreign, box: Ints, rank: Ints, level: Ints, total: Bools
) -> None:
    """Move the events into their boxes."""
    boxes, number = np.unique(box, return_inverse=True)
    origin = events.start[boxes]
    room = np.maximum(events.end[boxes] - origin, 0)
    scale = np.tile(_TICKS_PER_UNIT, (len(boxes), 1))
    start, end = origin[number], origin[number]
    for k in range(int(level[total].max(initial=-1)) + 1):
        here = np.flatnonzero(total & (level == k))
        g, unit, length = number[here], foreign.unit[here], foreign.length[here]
        duration = np.where(unit == _CYCLES, room[g], length * scale[g, unit])
        # Full rooms stay exact: beyond 2^53, the float of a room may be larger than the room.
        less = duration < room[g]
        room[g[less]] = duration[less].astype(np.int64)
        scale[g, unit] = room[g] / np.maximum(length, 1)
        end[here] = origin[g] + room[g]
    rest = np.flatnonzero(~total)
    rest = rest[np.lexsort((rank[rest], number[rest]))]
    if len(rest):
        g = number[rest]
        # Limited, so that no sum overflows.
        duration = np.minimum(
            foreign.length[rest] * scale[g, foreign.unit[rest]], (1 << 62) / len(box)
        )
        length = np.maximum(duration, 0).astype(np.int64)
        done = np.cumsum(length)
        first = np.searchsorted(g, g)
        done -= (done - length)[first]
        sums = np.bincount(g, weights=length, minlength=len(boxes))
        shrink = np.minimum(room / np.maximum(sums, 1), 1.0)[g]

        def placed(ticks: Ints) -> Ints:
            scaled = np.where(shrink < 1, (ticks * shrink).astype(np.int64), ticks)
            moved: Ints = origin[g] + np.minimum(scaled, room[g])
            return moved

        start[rest], end[rest] = placed(done - length), placed(done)
    events.start[foreign.at], events.end[foreign.at] = start, end


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
