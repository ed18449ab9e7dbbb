"""The counter packets of a Perfetto file, encoded by columns; `perfetto_trace` says what they mean.

One packet for every change of a counter: its time, its track, its value. Nothing is thinned out,
since a counter holds no point at which its value stays the same.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from perfetto.protos.perfetto.trace import perfetto_trace_pb2 as pb

from viewer.export.perfetto_slices import (
    PACKET,
    SEQUENCE_ID,
    TIME,
    TRACK_EVENT,
    TRACK_UUID,
    Timestamps,
)
from viewer.export.perfetto_strings import clean
from viewer.export.protobuf_encoder import (
    FIXED64,
    LENGTH_DELIMITED,
    VARINT,
    Doubles,
    Joined,
    Message,
    Numbers,
    Piece,
    assemble,
    tag,
    varint,
)
from viewer.model.counters import Counter

if TYPE_CHECKING:
    from viewer.export.perfetto_trace import PerfettoSource

_COUNTER = tag(9, VARINT) + varint(pb.TrackEvent.TYPE_COUNTER)
_VALUE, _DOUBLE_VALUE = tag(30, VARINT), tag(44, FIXED64)
_KNOWN_UNITS = {
    "": pb.CounterDescriptor.UNIT_COUNT,
    "B": pb.CounterDescriptor.UNIT_SIZE_BYTES,
}


def counter_descriptor(counter: Counter, uuid: int, process: int, *, assumed: bool) -> Any:
    """The track of a counter below that of its process; rates of a guessed clock say so."""
    notes = [counter.note]
    if counter.per_tick and assumed:
        notes.append("the rate of the clock is assumed")
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
    """The changes of one counter, ready to be encoded a span at a time; `count` of them.

    With a window, in ns of the file, those whose values hold in it, and the change that ends the
    last of them.
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
            begun = int(np.searchsorted(ns, high))
            last = begun + 1 if begun and low < min(high, end) else first
            ns, value = ns[first:last], value[first:last]
        self.count = len(ns)
        self._ns = ns
        self._value = value
        self._track = _COUNTER + tag(TRACK_UUID, VARINT) + varint(uuid)

    def encoded(self, first: int, last: int) -> bytes:
        """The packets of changes first .. last-1."""
        value = self._value[first:last]
        piece: Piece
        if value.dtype.kind == "f":
            piece = Doubles(value, self._event(_DOUBLE_VALUE, 8))
        else:
            piece = Numbers(value, lambda size: self._event(_VALUE, size))
        packet = Joined(Numbers(self._ns[first:last], lambda size: TIME), piece)
        return assemble([(np.arange(len(value)), Message(PACKET, packet))])

    def _event(self, field: bytes, size: int) -> bytes:
        """What comes after the time, up to a value of so many bytes."""
        event = self._track + field
        return SEQUENCE_ID + tag(TRACK_EVENT, LENGTH_DELIMITED) + varint(len(event) + size) + event
