"""The tracks of a Perfetto file, and what is on tracks without slices: counters and bookmarks.

`writer.py` documents processes, IDs, ranks and lanes. A counter has one packet for every change.
Nothing needs thinning out, since a counter has no points at which its value stays the same. Spans
and instants without a slice are few and written with the official protos.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import pairwise
from typing import Any

import numpy as np
from perfetto.protos.perfetto.trace import perfetto_trace_pb2 as pb

from viewer.analysis.memory.plan import planned_counters
from viewer.analysis.torq.unit_counters import unit_counters
from viewer.codecs.protobuf.writer import (
    FIXED64,
    LENGTH_DELIMITED,
    VARINT,
    repeated,
    tag,
    varint,
    varint_lengths,
)
from viewer.dataclasses import dataclass, field
from viewer.export.perfetto.packets import (
    PACKET,
    SEQUENCE,
    SEQUENCE_ID,
    TIME,
    TRACK_EVENT,
    TRACK_UUID,
    Timestamps,
    clean,
    framed,
)
from viewer.export.perfetto.source import PerfettoSource
from viewer.model.building.nesting import Placed, place_by_time
from viewer.model.times import RateOrigin
from viewer.model.trace import Unit
from viewer.model.trace_attributes import Counter

_COUNTER = tag(9, VARINT) + varint(pb.TrackEvent.TYPE_COUNTER)
_VALUE = tag(44, FIXED64)  # double_counter_value
_KNOWN_UNITS = {"": pb.CounterDescriptor.UNIT_COUNT, "B": pb.CounterDescriptor.UNIT_SIZE_BYTES}


def counter_descriptor(counter: Counter, uuid: int, process: int, *, assumed: bool) -> Any:
    """Return a counter's track below its process; a rate with an assumed clock says so."""
    notes = [counter.note]
    if counter.per_tick and assumed:
        notes.append("assumed clock rate")
    described = pb.CounterDescriptor(unit_name=counter.unit)
    if counter.unit in _KNOWN_UNITS:
        described = pb.CounterDescriptor(unit=_KNOWN_UNITS[counter.unit])
    note, name = "; ".join(filter(None, notes)) or None, clean(counter.name)
    return pb.TrackDescriptor(
        uuid=uuid, parent_uuid=process, name=name, description=note, counter=described
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


MARKS_TRACK, RUNS_TRACK = "Marks", "Inferences"
# Earlier exports have a track 1 of their own facts, which the reader leaves out by its name.
_FIRST_UUID = 2

_NO_UNITS = {Unit.NONE, Unit.HOST, Unit.HAL}
_EXPLICIT = pb.TrackDescriptor.EXPLICIT
_BY_KEY = pb.TrackDescriptor.SIBLING_MERGE_BEHAVIOR_BY_SIBLING_MERGE_KEY
_ALONE = pb.TrackDescriptor.SIBLING_MERGE_BEHAVIOR_NONE


class TrackDescriptors:
    """All tracks that packets refer to, and their descriptors.

    uuids: per source the uuid of each (track, lane). counters: per source its counters with their
    uuids. runs: per source the uuids of the lanes of its RUNS_TRACK; marks: those of MARKS_TRACK.
    """

    def __init__(
        self,
        sources: Sequence[PerfettoSource],
        order: Sequence[tuple[int, int]] = (),
        run_lanes: Sequence[int] = (),
        mark_lanes: int = 0,
    ) -> None:
        """run_lanes: the number of lanes for each source's runs; mark_lanes: for bookmarks."""
        self.descriptors: list[Any] = [
            pb.TrackDescriptor(
                uuid=0,
                process_ordering=pb.TrackDescriptor.PROCESS_ORDERING_EXPLICIT,
                thread_ordering=pb.TrackDescriptor.THREAD_ORDERING_EXPLICIT,
                child_ordering=_EXPLICIT,
            )
        ]
        self.uuids: list[dict[tuple[int, int], int]] = [{} for _ in sources]
        self.counters: list[list[tuple[Counter, int]]] = [[] for _ in sources]
        self.runs: list[list[int]] = [[] for _ in sources]
        self._sources = sources
        self._next = _FIRST_UUID
        self._tid = 0
        self._groups = 0
        self._parents: dict[tuple[int, int], int] = {}  # (source, track) -> uuid of its process
        plotted = [
            (*unit_counters(source.trace), *planned_counters(source.trace, source.ran))
            if source.counters
            else ()
            for source in sources
        ]
        lanes = [_lanes(source) for source in sources]
        for number, process, members in _in_order(sources, order):
            self._place(number, process, members, lanes[number], plotted[number])
        for number, count in enumerate(run_lanes):
            if count:
                run = next(sources[number].trace.inferences())
                parent = self._parents[number, run.track]
                self.runs[number] = self._plain(RUNS_TRACK, count, parent, 0)
        self.marks = self._plain(MARKS_TRACK, mark_lanes, 0, self._groups)

    def _uuid(self) -> int:
        self._next += 1
        return self._next - 1

    def _place(
        self,
        number: int,
        process: str,
        members: Sequence[int],
        lanes: list[int],
        counters: Sequence[Counter],
    ) -> None:
        source = self._sources[number]
        parent, pid = self._uuid(), self._tid + 1
        is_unit = all(source.trace.tracks[track].unit not in _NO_UNITS for track in members)
        group = pb.TrackDescriptor(uuid=parent, sibling_order_rank=self._groups)
        self._groups += 1
        if is_unit:
            group.name, group.child_ordering = clean(process), _EXPLICIT
            group.sibling_merge_behavior = _ALONE
        else:
            group.process.pid, group.process.process_name = pid, clean(process)
        self.descriptors.append(group)
        for rank, track in enumerate(members):
            name = clean(source.tracks[track].thread)
            if is_unit:
                track_uuids = self._plain(name, lanes[track] + 1, parent, rank)
            else:
                track_uuids = self._thread(name, lanes[track] + 1, pid, rank)
            self._parents[number, track] = parent
            for lane, uuid in enumerate(track_uuids):
                self.uuids[number][track, lane] = uuid
        processes = {source.trace.tracks[track].process for track in members}
        for counter in counters:
            if counter.process in processes:
                self._place_counter(number, counter, parent, len(members))

    def _thread(self, name: str, lanes: int, pid: int, rank: int) -> list[int]:
        self._tid += 1
        thread = self._uuid()
        described = pb.ThreadDescriptor(pid=pid, tid=self._tid, thread_name=name)
        self.descriptors.append(
            pb.TrackDescriptor(uuid=thread, thread=described, sibling_order_rank=rank)
        )
        further = [self._uuid() for _ in range(lanes - 1)]
        self.descriptors += [
            pb.TrackDescriptor(
                uuid=uuid, parent_uuid=thread, name=f"{name} (overlapping)",
                sibling_merge_behavior=_BY_KEY, sibling_merge_key_int=thread,
            )
            for uuid in further
        ]  # fmt: skip
        return [thread, *further]

    def _plain(self, name: str, lanes: int, parent: int, rank: int) -> list[int]:
        """Add a plain track; several lanes are siblings that the UI merges by their key."""
        uuids = [self._uuid() for _ in range(lanes)]
        for uuid in uuids:
            descriptor = pb.TrackDescriptor(uuid=uuid, name=name, sibling_order_rank=rank)
            if parent:
                descriptor.parent_uuid = parent
            descriptor.sibling_merge_behavior = _BY_KEY if lanes > 1 else _ALONE
            if lanes > 1:
                descriptor.sibling_merge_key_int = uuids[0]
            self.descriptors.append(descriptor)
        return uuids

    def _place_counter(self, number: int, counter: Counter, parent: int, tracks: int) -> None:
        assumed = self._sources[number].rate_origin is RateOrigin.ASSUMED
        placed = self.counters[number]
        placed.append((counter, self._uuid()))
        descriptor = counter_descriptor(counter, placed[-1][1], parent, assumed=assumed)
        descriptor.sibling_order_rank = tracks + len(placed)
        self.descriptors.append(descriptor)


def _lanes(source: PerfettoSource) -> list[int]:
    """Return the last lane of every track."""
    lanes = np.zeros(len(source.tracks), np.int64)
    slices = source.trace.slices
    np.maximum.at(lanes, slices.row_track.astype(np.int64), slices.row_lane.astype(np.int64))
    lane_list: list[int] = lanes.tolist()
    return lane_list


def _in_order(
    sources: Sequence[PerfettoSource], order: Sequence[tuple[int, int]]
) -> list[tuple[int, str, list[int]]]:
    """Return (source, process, its tracks) in display order."""
    every = [(n, track) for n, source in enumerate(sources) for track in range(len(source.tracks))]
    pairs = set(every)
    groups: dict[tuple[int, str], list[int]] = {}
    for number, track in dict.fromkeys((*(pair for pair in order if pair in pairs), *every)):
        process = sources[number].tracks[track].process
        groups.setdefault((number, process), []).append(track)
    return [(number, process, tracks) for (number, process), tracks in groups.items()]


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
            event = _event(pb.TrackEvent.TYPE_SLICE_BEGIN, uuids[lane], span)
            out.append(_packet(span.start, event))
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
