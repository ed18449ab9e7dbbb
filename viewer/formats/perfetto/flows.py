"""Reads the flow arrows of a Perfetto file: events with the same id, connected in time order.

An id connects each of its events to the next one. A terminating event ends the flow; later events
with that id start a new one. Ids are in `flow_ids` and `terminating_flow_ids`; older files use
other field numbers.
"""

from __future__ import annotations

import numpy as np

from viewer.arrays import Bools, Ints
from viewer.codecs.protobuf.reader import Fields
from viewer.codecs.protobuf.wire import FIXED64, VARINT

# Field numbers of TrackEvent, and whether the flow ends there.
_FIELDS = ((36, VARINT, False), (47, FIXED64, False), (42, VARINT, True), (48, FIXED64, True))


class FlowEvents:
    """Collects the flow ids of events."""

    def __init__(self) -> None:
        self._events: list[Ints] = []
        self._ids: list[Ints] = []
        self._ends: list[Bools] = []

    def add(self, fields: Fields, event: Ints) -> None:
        """Add the ids of some events; event: the number of each, -1 if it is left out."""
        for number, wire, ends in _FIELDS:
            found = fields.get(number, wire)
            if len(found):
                self._events.append(event[found.owner])
                self._ids.append(found.value.view(np.int64))
                self._ends.append(np.full(len(found), ends))

    def edges(self, slice_of: Ints, start: Ints) -> tuple[tuple[Ints, Ints], int]:
        """Producers and consumers in order of the ids, and the number of unconnected events.

        slice_of: the slice of every event, -1 if none. start: the start of every slice.
        """
        none: Ints = np.empty(0, np.int64)
        if not self._events:
            return (none, none), 0
        event, ids = np.concatenate(self._events), np.concatenate(self._ids)
        ends = np.concatenate(self._ends)
        at = np.where(event >= 0, slice_of[event], -1)
        known = at >= 0
        lone = int(np.isin(ids, ids[known], invert=True).sum())
        at, ids, ends, event = at[known], ids[known], ends[known], event[known]
        # If an event ends a flow and starts another with the same id, the end comes first.
        order = np.lexsort((~ends, event, start[at], ids.view(np.uint64)))
        at, ids, ends = at[order], ids[order], ends[order]
        leads = (ids[1:] == ids[:-1]) & ~ends[:-1] & (at[1:] != at[:-1])
        alone = ~(np.append(False, leads) | np.append(leads, False))
        return (at[:-1][leads], at[1:][leads]), lone + int(alone.sum())
