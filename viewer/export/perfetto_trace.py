"""Writes traces as one Perfetto file (.pftrace, or gzipped .pftrace.gz), every duration kept.

What becomes what:

* A process of a source is a Perfetto process, a track is a thread of it. Ids count up from 1 in
  display order (0 would be the idle process), and a process has the id of its first thread, so that
  trace_processor invents no unnamed main thread. Ranks say the same order to newer UIs.
* Lane 0 of a track is the thread itself. Thread descriptors cannot be merged, and a second thread
  would look like a thread that the device never had, so further lanes are plain tracks below the
  thread: trace_processor gives them the thread's name in SQL, and one merge key lets the UI draw
  all of them as one "(overlapping)" track.
* Times are ns from the earliest slice of all sources: the floor of each end by itself, which keeps
  nesting. The exact ticks stand beside them as arguments.
* A slice is a BEGIN and an END packet. The importer sorts by time and keeps the file's order among
  equals, so the file holds each lane in bracket order: parents open first and close last, an END
  comes before the BEGIN that follows it, and a zero-length slice is closed at once.
* Counters of the units of an NPU are counter tracks of the process, with a unit. A value is written
  where it changes, at the floor of its tick; of a range, all values that hold in it and the change
  that ends the last of them.
* What all slices of one key share (operators, handles, source) is encoded once per key.
* Origin, clocks and file names are trace attributes and, for engines that do not know those yet,
  arguments of one instant per source on a track of its own.

Descriptors and facts are written here with the official protos, slices by `perfetto_slices`,
counters by `perfetto_counters`.
"""

from __future__ import annotations

import gzip
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, BinaryIO, cast

import numpy as np
from perfetto.protos.perfetto.trace import perfetto_trace_pb2 as pb

import viewer
from viewer.export.atomic import (
    Cancelled,
    Progress,
    WriteCancelled,
    never_cancelled,
    no_progress,
    replacing,
)
from viewer.export.perfetto_counters import CounterPackets, counter_descriptor
from viewer.export.perfetto_slices import SlicePackets
from viewer.export.perfetto_strings import SEQUENCE, InternedStrings, clean, framed
from viewer.model.counters import Counter, unit_counters
from viewer.model.times import RateOrigin, tick_to_ns
from viewer.model.trace import Codes, Trace

SLICES_AT_ONCE = 25_000  # what is in work then stays in the processor's cache
CHANGES_AT_ONCE = 25_000  # of a counter
ABOUT_TRACK = "Opscope export"

_ABOUT_UUID = 1
# A sequence of their own: on the events' sequence the last thread descriptor would be taken for the
# thread that writes the instants of ABOUT_TRACK.
_DESCRIPTORS = SEQUENCE + 1


@dataclass(frozen=True, slots=True)
class ExportTrack:
    """The names that a track is shown under; a record may have named the method."""

    process: str
    thread: str


@dataclass(frozen=True, slots=True)
class KeyFacts:
    """What is known about each distinct key of a trace; every list is as long as `trace.keys`.

    correlation: slices with equal text get one colour ("forward/10": one operator), None for none.
    modules: module path; sources: "file:line"; reasons: how the link was made, "" for none.
    """

    correlation: Sequence[str | None]
    debug_handles: Sequence[tuple[int, ...]]
    operators: Sequence[tuple[str, ...]]
    modules: Sequence[str | None]
    sources: Sequence[str | None]
    reasons: Sequence[str]


@dataclass(frozen=True, slots=True)
class PerfettoSource:
    """One trace to write, with the clock, names and links of the moment.

    A time is floor(tick * ns_per_tick) + offset_ns. `tracks` is parallel to `trace.tracks`.
    `labels` (as long as the slices) indexes `label_strings`: the name to write where it is not the
    file's own, which then becomes the argument `event`. `rate_origin`: who says how long a tick is.
    `counters` asks for the counters of the units, worked out while writing.
    """

    trace: Trace
    ns_per_tick: Fraction
    tracks: Sequence[ExportTrack]
    offset_ns: int = 0
    rate_origin: RateOrigin = RateOrigin.STATED
    labels: Codes | None = None
    label_strings: Sequence[str] = ()
    facts: KeyFacts | None = None
    counters: bool = False

    @staticmethod
    def of(trace: Trace) -> PerfettoSource:
        """A trace by itself: its own names and clock, no links."""
        return PerfettoSource(
            trace=trace,
            ns_per_tick=trace.clock.ns_per_tick,
            tracks=tuple(ExportTrack(t.process, t.thread) for t in trace.tracks),
            rate_origin=RateOrigin.ASSUMED if trace.clock.assumed else RateOrigin.STATED,
        )


class TimesTooFarApart(ValueError):
    """The times of all sources span more than the 292 years that a Perfetto timestamp can."""


def export_perfetto(
    sources: Sequence[PerfettoSource],
    path: str | os.PathLike[str],
    *,
    ns_range: tuple[int, int] | None = None,
    progress: Progress = no_progress,
    cancelled: Cancelled = never_cancelled,
) -> int:
    """Write a file, gzipped if its name ends in ".gz"; returns the number of slices written.

    See `write_perfetto`. On any error or cancel no new file is left and an old one is untouched.
    """
    with replacing(path) as file:
        if not os.fspath(path).lower().endswith(".gz"):
            return write_perfetto(
                sources, file, ns_range=ns_range, progress=progress, cancelled=cancelled
            )
        # No name and no time in the header: the same trace gives the same bytes.
        with gzip.GzipFile("", "wb", compresslevel=6, fileobj=file, mtime=0) as packed:
            stream = cast(BinaryIO, packed)
            return write_perfetto(
                sources, stream, ns_range=ns_range, progress=progress, cancelled=cancelled
            )


def write_perfetto(
    sources: Sequence[PerfettoSource],
    out: BinaryIO,
    *,
    ns_range: tuple[int, int] | None = None,
    progress: Progress = no_progress,
    cancelled: Cancelled = never_cancelled,
) -> int:
    """Write the packets of a trace to a stream, a chunk at a time; returns the slices written.

    ns_range: keep only slices that share time with [start, end), on the common axis (ns with
    offsets, before the origin is taken off), and the slices around them; none is cut, and neither
    are the steps of counters. The origin is that of the whole sources, so that several ranges of
    one trace stay on one axis.
    progress(done, total) counts slices. Raises WriteCancelled, TimesTooFarApart, OSError.
    """
    spans = [_span(source) for source in sources]
    origin = min((span[0] for span in spans if span), default=0)
    if max((span[1] for span in spans if span), default=0) - origin >= 2**63:
        raise TimesTooFarApart("the times of these files are more than 292 years apart")
    window = None if ns_range is None else (ns_range[0] - origin, ns_range[1] - origin)

    strings = InternedStrings()
    layout = _Layout(sources)
    out.write(_first_packets(sources, origin, layout))
    total = sum(len(source.trace.slices) for source in sources)
    done = written = 0
    for number, source in enumerate(sources):
        packets = SlicePackets(source, origin, window, layout.uuids[number], strings)
        out.write(_about(source, origin, packets.first_ns))
        out.write(strings.packets())
        for first in range(0, packets.count, SLICES_AT_ONCE):
            if cancelled():
                raise WriteCancelled
            out.write(packets.encoded(first, min(first + SLICES_AT_ONCE, packets.count)))
            progress(min(done + first + SLICES_AT_ONCE, total), total)
        for counter, uuid in layout.counters[number]:
            changes = CounterPackets(source, counter, origin, window, uuid)
            for first in range(0, changes.count, CHANGES_AT_ONCE):
                if cancelled():
                    raise WriteCancelled
                out.write(changes.encoded(first, min(first + CHANGES_AT_ONCE, changes.count)))
        done += len(source.trace.slices)
        written += packets.count
    progress(total, total)
    return written


def _span(source: PerfettoSource) -> tuple[int, int] | None:
    """Earliest and latest ns of a source on the common axis, in unbounded integers."""
    trace = source.trace
    if not len(trace.slices):
        return None
    if trace.end - trace.start >= 2**63:
        raise TimesTooFarApart(f"the ticks of {trace.path} span more than 63 bits")
    first = tick_to_ns(trace.start, source.ns_per_tick) + source.offset_ns
    return first, tick_to_ns(trace.end, source.ns_per_tick) + source.offset_ns


# -- descriptors and facts about the file ------------------------------------------------------


class _Layout:
    """Process and thread ids, a uuid per lane, `uuids[source][track, lane]`, and per counter."""

    def __init__(self, sources: Sequence[PerfettoSource]) -> None:
        self.descriptors: list[Any] = [
            pb.TrackDescriptor(
                uuid=0,
                process_ordering=pb.TrackDescriptor.PROCESS_ORDERING_EXPLICIT,
                thread_ordering=pb.TrackDescriptor.THREAD_ORDERING_EXPLICIT,
            ),
            pb.TrackDescriptor(uuid=_ABOUT_UUID, name=ABOUT_TRACK),
        ]
        self.uuids: list[dict[tuple[int, int], int]] = []
        self.counters: list[list[tuple[Counter, int]]] = []
        self._next = _ABOUT_UUID + 1
        self._tid = 0
        self._processes = 0
        for source in sources:
            self.uuids.append(self._place(source))

    def _uuid(self) -> int:
        self._next += 1
        return self._next - 1

    def _place(self, source: PerfettoSource) -> dict[tuple[int, int], int]:
        slices = source.trace.slices
        lanes = np.zeros(len(source.tracks), np.int64)
        np.maximum.at(lanes, slices.row_track.astype(np.int64), slices.row_lane.astype(np.int64))
        by_process: dict[str, list[int]] = {}
        for number, track in enumerate(source.tracks):
            by_process.setdefault(track.process, []).append(number)
        uuids: dict[tuple[int, int], int] = {}
        uuid_of: dict[str, int] = {}
        for process, members in by_process.items():
            pid = self._tid + 1
            uuid_of[process] = self._uuid()
            self.descriptors.append(
                pb.TrackDescriptor(
                    uuid=uuid_of[process],
                    process=pb.ProcessDescriptor(pid=pid, process_name=clean(process)),
                    sibling_order_rank=self._processes,
                )
            )
            self._processes += 1
            for rank, number in enumerate(members):
                self._tid += 1
                name = clean(source.tracks[number].thread)
                thread = uuids[number, 0] = self._uuid()
                self.descriptors.append(
                    pb.TrackDescriptor(
                        uuid=thread,
                        thread=pb.ThreadDescriptor(pid=pid, tid=self._tid, thread_name=name),
                        sibling_order_rank=rank,
                    )
                )
                for lane in range(1, int(lanes[number]) + 1):
                    uuids[number, lane] = self._uuid()
                    self.descriptors.append(
                        pb.TrackDescriptor(
                            uuid=uuids[number, lane],
                            parent_uuid=thread,
                            name=f"{name} (overlapping)",
                            sibling_merge_behavior=(
                                pb.TrackDescriptor.SIBLING_MERGE_BEHAVIOR_BY_SIBLING_MERGE_KEY
                            ),
                            sibling_merge_key_int=thread,
                        )
                    )
        self._place_counters(source, uuid_of)
        return uuids

    def _place_counters(self, source: PerfettoSource, uuid_of: Mapping[str, int]) -> None:
        placed: list[tuple[Counter, int]] = []
        self.counters.append(placed)
        if not source.counters:
            return
        shown = {
            track.process: named.process
            for track, named in zip(source.trace.tracks, source.tracks, strict=True)
        }
        for counter in unit_counters(source.trace):
            placed.append((counter, self._uuid()))
            self.descriptors.append(
                counter_descriptor(
                    counter,
                    placed[-1][1],
                    uuid_of[shown[counter.process]],
                    assumed=source.rate_origin is RateOrigin.ASSUMED,
                )
            )


def _first_packets(sources: Sequence[PerfettoSource], origin: int, layout: _Layout) -> bytes:
    first = pb.TracePacket(
        trusted_packet_sequence_id=SEQUENCE,
        sequence_flags=pb.TracePacket.SEQ_INCREMENTAL_STATE_CLEARED
        | pb.TracePacket.SEQ_NEEDS_INCREMENTAL_STATE,
    )
    facts = pb.TracePacket(trusted_packet_sequence_id=SEQUENCE)
    for number, source in enumerate(sources, 1):
        for name, value in _facts(source, origin).items():
            shared = name in ("tool", "origin_ns")
            if shared and number > 1:
                continue
            place = name if shared else f"source{number}.{name}"
            attribute = facts.trace_attributes.attribute.add(key=f"org.opscope.{place}")
            if isinstance(value, int):
                attribute.long_value = value
            else:
                attribute.string_value = value
    packets = [first, *([facts] if sources else [])]
    for descriptor in layout.descriptors:
        packets.append(
            pb.TracePacket(trusted_packet_sequence_id=_DESCRIPTORS, track_descriptor=descriptor)
        )
    return b"".join(map(framed, packets))


def _facts(source: PerfettoSource, origin: int) -> dict[str, int | str]:
    """What a reader must know to get back from this file's ns to the input's ticks."""
    trace = source.trace
    facts: dict[str, int | str] = {
        "tool": f"Opscope {viewer.__version__}",
        "origin_ns": origin,
        "file": os.path.basename(trace.path),
        "format": trace.format,
        "generation": trace.generation,
        "clock_unit": trace.clock.unit,
        "clock_domain": trace.clock.domain,
        "clock_rate": str(source.rate_origin),
        "ns_per_tick": str(source.ns_per_tick),
        "offset_ns": source.offset_ns,
    }
    for name, column in trace.slices.columns.items():
        if column.unit:
            facts[f"unit_of_{name}"] = column.unit
    # Ints beyond 64 bits (an origin that no clock has) have no field: they go as text.
    return {
        clean(name): value
        if isinstance(value, int) and -(2**63) <= value < 2**63
        else clean(str(value))
        for name, value in facts.items()
    }


def _about(source: PerfettoSource, origin: int, first_ns: int) -> bytes:
    """The instant that carries the facts of one source; it stands at its first slice."""
    event = pb.TrackEvent(type=pb.TrackEvent.TYPE_INSTANT, track_uuid=_ABOUT_UUID, name=ABOUT_TRACK)
    for name, value in _facts(source, origin).items():
        if isinstance(value, int):
            event.debug_annotations.add(name=name, int_value=value)
        else:
            event.debug_annotations.add(name=name, string_value=value)
    return framed(
        pb.TracePacket(timestamp=first_ns, trusted_packet_sequence_id=SEQUENCE, track_event=event)
    )
