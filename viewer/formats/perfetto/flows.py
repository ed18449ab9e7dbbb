"""Reads the flows of a Perfetto file: events with the same id, connected in time order.

An id connects each of its events to the next one. A terminating event ends the flow; later events
with that id start a new one. Ids are in `flow_ids` and `terminating_flow_ids`; older files use
other field numbers, or a `bind_id` with a direction. Each edge of an id without a direction leads
from the slice that starts first.
"""

from __future__ import annotations

import numpy as np

from viewer.arrays import Bools, Ints
from viewer.codecs.protobuf.fields import FIXED64, VARINT, Fields, Words
from viewer.formats.event_pairs import FlowEvents

# Field numbers of TrackEvent, and whether the flow ends there.
_FIELDS = ((36, VARINT, False), (47, FIXED64, False), (42, VARINT, True), (48, FIXED64, True))


class FlowIds:
    """Collects the flow ids of events."""

    def __init__(self) -> None:
        self._events: list[Ints] = []
        self._ids: list[Ints] = []
        # whether it gives, takes and closes the flow, and states a direction
        self._does: list[Bools] = []

    def add(self, fields: Fields, event: Ints) -> None:
        """Add the ids of some events; event: the number of each, -1 if it is left out."""
        for number, wire, ends in _FIELDS:
            field = fields.get(number, wire)
            if len(field):
                does = np.array([not ends, True, ends, False])
                self._put(event[field.owner], field.value, np.tile(does, (len(field), 1)))

    def add_bound(self, event: Ints, ids: Words, gives: Bools, takes: Bools) -> None:
        """Add events with a `bind_id`."""
        no, yes = np.zeros(len(ids), np.bool_), np.ones(len(ids), np.bool_)
        self._put(event, ids, np.stack([gives, takes, no, yes], axis=1))

    def _put(self, event: Ints, ids: Words, does: Bools) -> None:
        self._events.append(event)
        self._ids.append(ids.view(np.int64))
        self._does.append(does)

    def times(self, time: Ints) -> Ints:
        """The times of the events, given those of all."""
        if not self._events:
            return np.empty(0, np.int64)
        event = np.concatenate(self._events)
        return np.where(event >= 0, time[event], 0) if len(time) else np.zeros(len(event), np.int64)

    def edges(self, slice_of: Ints, start: Ints, times: Ints) -> tuple[tuple[Ints, Ints], int]:
        """Producers and consumers in order of the ids, and the number of unconnected events.

        slice_of: the slice of every event, -1 if none. start: the start of every slice. times: see
        the method.
        """
        none: Ints = np.empty(0, np.int64)
        if not self._events or not len(slice_of):
            return (none, none), sum(map(len, self._events))
        event, ids = np.concatenate(self._events), np.concatenate(self._ids)
        does = np.concatenate(self._does)
        # If an event ends a flow and starts another with the same id, the end comes first.
        order = np.lexsort((~does[:, 2], event))
        event, ids, does, times = event[order], ids[order], does[order], times[order]
        slice_index = np.where(event >= 0, slice_of[event], -1).astype(np.int64)
        _, flow = np.unique(ids.view(np.uint64), return_inverse=True)
        giver, taker, lone = FlowEvents(slice_index, times, flow.reshape(-1), *does.T[:3]).edges()
        producer, consumer = slice_index[giver], slice_index[taker]
        turned = ~does[taker, 3] & (start[producer] > start[consumer])
        return (
            np.where(turned, consumer, producer),
            np.where(turned, producer, consumer),
        ), len(lone)
