"""Places delegate events that have their own clock inside their call, for drawing.

QNN logs start 0 and a number of cycles or microseconds; Vulkan's shaders have the times of the GPU,
which the runtime converts to ns. Such events are outside their DELEGATE_CALL, or their names
contain "(cycles)". The columns `native_start`, `native_dur` and `native_unit` keep the logged
values, and only these are used in figures. For drawing:

* A total ("QNN accelerator (execute) time (cycles)") spans what it sums up: it is the parent of the
  call's other events, not one more of them. Totals in several units are nested, the longest
  outermost, and units of time outside cycles.
* Vulkan's host events are inside their call and are not moved. Its shaders are placed inside
  "ETVK_COMPUTE_GRAPH_EXECUTE". Earlier versions have only "ETVK_EXECUTE", which is around all other
  host events in later ones.
* A value, such as "DSP:after_context_freed (bytes)", took no time: it is an instant at the start of
  its call, and changes no place of the others. `native_dur` is its amount.
* Other events follow each other in the order they were logged: on the scale of the total in their
  unit, else with the duration of their unit, and scaled down if there is too little room.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from viewer.arrays import Bools, Ints, flags_at, numbers_at, rows_of
from viewer.formats.executorch.etdump.events import ProfileEvents
from viewer.formats.executorch.etdump.nesting import CallTree
from viewer.model.native_units import (
    COUNTED,
    CYCLES,
    NS_PER,
    TICKS,
    is_value,
    possible_unit,
    stated_unit,
)
from viewer.model.queries import NATIVE_DURATION, NATIVE_START, NATIVE_UNIT
from viewer.model.trace import Column, KeyKind
from viewer.program.debug_handles import is_host_event, is_total, shader_of

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
            column = numbers_at(count, self.at, values)
            return column

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
