"""Encodes small numbers of spans and instants: bookmarks, and inferences without a slice.

They are written with the official protos. Overlapping spans go to separate lanes, like slices; a
moment is an instant on the first lane.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from perfetto.protos.perfetto.trace import perfetto_trace_pb2 as pb

from viewer.export.perfetto.packets import SEQUENCE, clean, framed
from viewer.model.building.nesting import Placed, place_by_time

UNNAMED = "(unnamed)"


@dataclass(frozen=True, slots=True)
class BookmarkSpan:
    """A span in ns of the file; a moment if both times are equal."""

    start: int
    end: int
    name: str
    category: str
    arguments: Mapping[str, int | str] = field(default_factory=dict)


class SpanPackets:
    """The spans and moments of one track; `lanes` is the number of lanes that it needs."""

    def __init__(self, spans: Sequence[BookmarkSpan]) -> None:
        self._moments = [span for span in spans if span.start == span.end]
        self._spans = [span for span in spans if span.start != span.end]
        start = np.array([span.start for span in self._spans], np.int64)
        end = np.array([span.end for span in self._spans], np.int64)
        self._placed: Placed = place_by_time(start, end)
        self.lanes = int(self._placed.lane.max(initial=0)) + 1 if spans else 0

    def encoded(self, uuids: Sequence[int]) -> bytes:
        """Return all packets, lane by lane in bracket order; uuids: those of the lanes."""
        out: list[bytes] = []
        for span in sorted(self._moments, key=lambda s: s.start):
            event = _event(pb.TrackEvent.TYPE_INSTANT, uuids[0], span)
            out.append(_packet(span.start, event))
        open_spans: list[tuple[int, BookmarkSpan]] = []  # (lane, span), innermost last

        def close(lane: int, depth: int) -> None:
            while open_spans and (open_spans[-1][0] != lane or len(open_spans) > depth):
                ended, span = open_spans.pop()
                event = pb.TrackEvent(type=pb.TrackEvent.TYPE_SLICE_END, track_uuid=uuids[ended])
                out.append(_packet(span.end, event))

        placed = self._placed
        columns = (placed.index.tolist(), placed.lane.tolist(), placed.depth.tolist())
        for index, lane, depth in zip(*columns, strict=True):
            close(lane, depth)
            span = self._spans[index]
            out.append(
                _packet(span.start, _event(pb.TrackEvent.TYPE_SLICE_BEGIN, uuids[lane], span))
            )
            open_spans.append((lane, span))
        close(-1, 0)
        return b"".join(out)


def _event(type: Any, uuid: int, span: BookmarkSpan) -> Any:
    event = pb.TrackEvent(
        type=type, track_uuid=uuid, name=clean(span.name) or UNNAMED, categories=[span.category]
    )
    for name, value in span.arguments.items():
        if isinstance(value, int):
            event.debug_annotations.add(name=name, int_value=value)
        else:
            event.debug_annotations.add(name=name, string_value=clean(value))
    return event


def _packet(time: int, event: Any) -> bytes:
    packet = pb.TracePacket(timestamp=time, trusted_packet_sequence_id=SEQUENCE, track_event=event)
    return framed(packet)
