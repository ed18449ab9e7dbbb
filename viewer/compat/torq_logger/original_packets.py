"""The packets of Torq's own perfetto_logger, in its order, including its bugs.

A process or thread is described on first use, with uuids 1, 2, 3 ...; a slice is a BEGIN and an END
packet that both have the name, in the order of the rows, not of the times. So where slices of one
thread overlap, Perfetto pairs them incorrectly. `TimeChartView` is the writer without this bug.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, BinaryIO

from perfetto.protos.perfetto.trace import perfetto_trace_pb2 as pb

from viewer.export.perfetto.packets import SEQUENCE, clean, framed


class OriginalPackets:
    """Writes packets to a stream immediately."""

    def __init__(self, out: BinaryIO) -> None:
        self._out = out
        self._uuids: dict[tuple[str, str], int] = {}

    def process(self, name: str) -> int:
        """Return the uuid of a process, also used as its pid; written when new."""
        return self._described(
            (name, ""),
            lambda uuid: pb.TrackDescriptor(
                uuid=uuid,
                process=pb.ProcessDescriptor(pid=uuid, process_name=clean(name)),
                child_ordering=pb.TrackDescriptor.LEXICOGRAPHIC,
            ),
        )

    def thread(self, process: str, name: str) -> int:
        """Return the uuid of a thread, also used as its tid; written when new."""
        pid = self.process(process)
        return self._described(
            (process, f"thread {name}"),
            lambda uuid: pb.TrackDescriptor(
                uuid=uuid, thread=pb.ThreadDescriptor(pid=pid, tid=uuid, thread_name=clean(name))
            ),
        )

    def slice(
        self, process: str, thread: str, name: str, start: int, end: int, overview: bool = False
    ) -> None:
        """Write a BEGIN and an END, in ns from 0 to 2^64 - 1."""
        track = self.thread(process, thread)
        for type, time in (
            (pb.TrackEvent.TYPE_SLICE_BEGIN, start),
            (pb.TrackEvent.TYPE_SLICE_END, end),
        ):
            packet = pb.TracePacket(timestamp=time, trusted_packet_sequence_id=SEQUENCE)
            event = packet.track_event
            event.type, event.track_uuid, event.name = type, track, clean(name)
            if overview:
                event.categories.append("overview")
            self._out.write(framed(packet))

    def _described(self, key: tuple[str, str], describe: Callable[[int], Any]) -> int:
        uuid = self._uuids.get(key)
        if uuid is None:
            uuid = self._uuids[key] = len(self._uuids) + 1
            self._out.write(framed(pb.TracePacket(track_descriptor=describe(uuid))))
        return uuid
