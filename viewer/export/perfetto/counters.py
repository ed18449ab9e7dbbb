"""The counter packets of a Perfetto file, encoded by columns; `writer.py` documents them.

One packet for every change of a counter: its time, its track, its value. Nothing needs thinning
out, since a counter has no points at which its value stays the same.
"""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import numpy as np
from perfetto.protos.perfetto.trace import perfetto_trace_pb2 as pb

from viewer.codecs.protobuf.writer import (
    FIXED64,
    LENGTH_DELIMITED,
    VARINT,
    repeated,
    tag,
    varint,
    varint_lengths,
)
from viewer.export.perfetto.packets import (
    PACKET,
    SEQUENCE_ID,
    TIME,
    TRACK_EVENT,
    TRACK_UUID,
    Timestamps,
    clean,
)
from viewer.export.perfetto.source import PerfettoSource
from viewer.model.counter import Counter

_COUNTER = tag(9, VARINT) + varint(pb.TrackEvent.TYPE_COUNTER)
_VALUE = tag(44, FIXED64)  # double_counter_value
_KNOWN_UNITS = {
    "": pb.CounterDescriptor.UNIT_COUNT,
    "B": pb.CounterDescriptor.UNIT_SIZE_BYTES,
}


def counter_descriptor(counter: Counter, uuid: int, process: int, *, assumed: bool) -> Any:
    """Return a counter's track below its process; a rate with an assumed clock says so."""
    notes = [counter.note]
    if counter.per_tick and assumed:
        notes.append("assumed clock rate")
    described = pb.CounterDescriptor(unit_name=counter.unit)
    if counter.unit in _KNOWN_UNITS:
        described = pb.CounterDescriptor(unit=_KNOWN_UNITS[counter.unit])
    return pb.TrackDescriptor(
        uuid=uuid,
        parent_uuid=process,
        name=clean(counter.name),
        description="; ".join(filter(None, notes)) or None,
        counter=described,
    )


class CounterPackets:
    """The changes of one counter, to be encoded in chunks; `count` is their number.

    With a window, in ns of the file: the changes whose values apply in it, and the change that ends
    the last of them.
    """

    def __init__(
        self,
        source: PerfettoSource,
        counter: Counter,
        origin: int,
        window: tuple[int, int] | None,
        uuid: int,
    ) -> None:
        value = counter.value
        if counter.per_tick:
            value = value * counter.scale(source.ns_per_tick)
        to_ns = Timestamps(source, origin)
        ns = to_ns(counter.tick)
        if window is not None:
            end = int(to_ns(np.array([source.trace.end]))[0])
            low, high = (min(max(t, -(2**63)), 2**63 - 1) for t in window)
            first = max(int(np.searchsorted(ns, low, side="right")) - 1, 0)
            started = int(np.searchsorted(ns, high))
            last = started + 1 if started and low < min(high, end) else first
            ns, value = ns[first:last], value[first:last]
        self.count = len(ns)
        self._ns = ns
        # Stored as double, as in the engine. So all packets have one length, except for their
        # times.
        self._value = value.astype(np.float64)
        event = _COUNTER + tag(TRACK_UUID, VARINT) + varint(uuid) + _VALUE
        announced = tag(TRACK_EVENT, LENGTH_DELIMITED) + varint(len(event) + 8)
        self._before_value = SEQUENCE_ID + announced + event

    def encoded(self, first: int, last: int) -> bytes:
        """Return the packets of changes first .. last-1."""
        ns, value = self._ns[first:last], self._value[first:last]
        # Times ascend, so times with equal varint lengths are adjacent.
        steps = np.searchsorted(varint_lengths(ns.view(np.uint64)), np.arange(1, 12)).tolist()
        return b"".join(
            repeated(self._head(size), ns[i:j], size, self._before_value, value[i:j])
            for size, (i, j) in enumerate(pairwise(steps), 1)
            if j > i
        )

    def _head(self, size: int) -> bytes:
        """Return the bytes before a time that is `size` bytes long."""
        length = len(TIME) + size + len(self._before_value) + 8
        return tag(PACKET, LENGTH_DELIMITED) + varint(length) + TIME
