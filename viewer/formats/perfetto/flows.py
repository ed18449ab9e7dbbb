"""The flow arrows of a Perfetto file: events with one id follow one another in time.

An id leads from each of its events to the next one; at a terminating one it ends, and what comes
after begins anew. Ids stand in `flow_ids` and `terminating_flow_ids`, of older files in fields of
other numbers.
"""

from __future__ import annotations

import numpy as np

from viewer.arrays import Bools, Ints
from viewer.codecs.protobuf.reader import Fields
from viewer.codecs.protobuf.wire import FIXED64, VARINT

# Field numbers of TrackEvent, with whether the flow ends there.
_FIELDS = ((36, VARINT, False), (47, FIXED64, False), (42, VARINT, True), (48, FIXED64, True))


class FlowEvents:
    """Collects which events have which ids."""

    def __init__(self) -> None:
        self._events: list[Ints] = []
        self._ids: list[Ints] = []
        self._ends: list[Bools] = []

    def add(self, fields: Fields, event: Ints) -> None:
        """Take in the ids of some events; event: the number of each, -1 where it is left out."""
        for number, wire, ends in _FIELDS:
            found = fields.get(number, wire)
            if len(found):
                self._events.append(event[found.owner])
                self._ids.append(found.value.view(np.int64))
                self._ends.append(np.full(len(found), ends))

    def edges(self, slice_of: Ints, start: Ints) -> tuple[tuple[Ints, Ints], int]:
        """From which slices to which, in the order of the ids; and how many lead nowhere.

        slice_of: of every event its slice, -1 for none; start: of every slice.
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
        # Of an event that ends a flow and begins another of the same id, the end comes first.
        order = np.lexsort((~ends, event, start[at], ids.view(np.uint64)))
        at, ids, ends = at[order], ids[order], ends[order]
        leads = (ids[1:] == ids[:-1]) & ~ends[:-1] & (at[1:] != at[:-1])
        alone = ~(np.append(False, leads) | np.append(leads, False))
        return (at[:-1][leads], at[1:][leads]), lone + int(alone.sum())
