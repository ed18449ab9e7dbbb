"""Writes traces as one Perfetto file (.pftrace, or gzipped .pftrace.gz), every duration kept.

What becomes what:

* A process of a source is a Perfetto process, a track is a thread of it. Ids count up from 1 in
  display order (0 would be the idle process), and a process has the id of its first thread, so that
  trace_processor invents no unnamed main thread. Ranks say the same order to newer UIs.
* A process whose tracks are all units of an NPU ran no threads: it is a plain track with a plain
  track for each unit below it, in explicit order.
* Lane 0 of a thread is the thread itself. Thread descriptors cannot be merged, and a second thread
  would look like a thread that the device never had, so further lanes are plain tracks below the
  thread: trace_processor gives them the thread's name in SQL, and one merge key lets the UI draw
  all of them as one "(overlapping)" track. Of a plain track all lanes are siblings of one name.
* Times are ns from the earliest slice of all sources: the floor of each end by itself, which keeps
  nesting.
* A slice is a BEGIN and an END packet. The importer sorts by time and keeps the file's order among
  equals, so the file holds each lane in bracket order: parents open first and close last, an END
  comes before the BEGIN that follows it, and a zero-length slice is closed at once. It is no
  instant: those have no depth of their own among slices of one time.
* Flows: the BEGIN of the slice that gives a result has an id in `flow_ids`, the BEGIN of the one
  that takes it the same id in `terminating_flow_ids`; one id for each pair, counted in the order of
  the takers, after those that the input states itself. `perfetto_flows` says which there are.
* Counters of the units of an NPU are counter tracks of the process, with a unit. A value is written
  where it changes, at the floor of its tick; of a range, all values that hold in it and the change
  that ends the last of them.
* What all slices of one key share (operators, handles, source) is encoded once per key.
* The user's marks are slices and instants on the track "Marks", category MARK, argument `note`.
  Inferences that no slice of the file spans are slices on the track "Inferences", category
  INFERENCE, arguments `run` and `ticks`.
* Origin, clocks, hashes and file names are trace attributes and, for engines that do not know those
  yet, arguments of one instant per source on a track of its own (`perfetto_facts`).

Categories of a slice: the name of its `KeyKind` (OPERATOR_CALL, KERNEL, DELEGATE_EVENT, JOB ...),
none where the file gives it no identity; on tracks of an NPU's units or of its host then the name
of the `Unit`. Arguments of a slice, each only where it is known:

    start_ticks, dur_ticks  in ticks of the input, exact. Where a tick lasts 1 ns they are not
                            written: start_ticks is ts + origin_ns - offset_ns, dur_ticks is dur
    event                   the name in the input, where the slice is shown under another
    operator                array of texts: the edge dialect operators, in graph order
    debug_handles           array of ints (of texts beyond 64 bits)
    module                  module path
    source                  "file:line", several joined by "; "
    link_reason             how the operators were found, or why there are none
    estimate_ticks          what the compiler expected, in ticks of its clock ...
    estimate_ns             ... and in ns (double)
    identifier              the delegate debug identifier, int or text as logged
    instruction_id          of the runtime; of a JOB or ACTION its number
    location                MLIR location
    run                     the number of the inference it begins in, from 1
    derived                 true: the reader computed the slice, the input does not state it

and after them the input's own columns under their own names; one that is called like an argument
above is written as "column <name>". A trace that was read from such a file, or from one of another
tool with categories, is written as it came (`passthrough.py`). Texts are numbered in the order in
which slices use them, so that equal slices give equal bytes, whatever the tables of a reader.

Descriptors and facts are written here with the official protos, slices by `slices.py`,
counters by `counters.py`.
"""

from __future__ import annotations

import gzip
import os
import zlib
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import BinaryIO, cast

import numpy as np
from perfetto.protos.perfetto.trace import perfetto_trace_pb2 as pb

from viewer.analysis.links.labels import run_slices
from viewer.codecs.atomic_file import WriteCancelled, replacing
from viewer.codecs.reading import Cancelled, Progress, never_cancelled, no_progress
from viewer.export.perfetto.bookmarks import BookmarkSpan, SpanPackets
from viewer.export.perfetto.counters import CounterPackets
from viewer.export.perfetto.metadata import LEFT_OUT, about, attributes, facts_of, flow_facts
from viewer.export.perfetto.packets import SEQUENCE, InternedStrings, framed
from viewer.export.perfetto.slices import SlicePackets
from viewer.export.perfetto.source import PerfettoSource, TimesTooFarApart, TraceExtras
from viewer.export.perfetto.tracks import TrackDescriptors
from viewer.model.provenance import first_ns, is_of_one_file
from viewer.model.times import tick_to_ns

SLICES_AT_ONCE = 25_000  # what is in work then stays in the processor's cache
CHANGES_AT_ONCE = 25_000  # of a counter
# To tell the size of a file, so many slices are encoded, from so many places of a source.
SAMPLED, PLACES = 40_000, 16

# A sequence of their own: on the events' sequence the last thread descriptor would be taken for the
# thread that writes the instants of ABOUT_TRACK.
_DESCRIPTORS = SEQUENCE + 1
_NOTHING = TraceExtras()


@dataclass(frozen=True, slots=True)
class FileSize:
    """What a file will hold and how large it will be, in bytes, as it is and gzipped.

    tracks: those that have a slice in it. over_edge: the slices that reach over an edge of the
    range. left_out: what of the flows is not written, in words. computed: slices that no input
    states.
    """

    slices: int
    tracks: int
    flows: int
    over_edge: int
    raw: int
    packed: int
    left_out: str = ""
    computed: int = 0


def export_perfetto(
    sources: Sequence[PerfettoSource],
    path: str | os.PathLike[str],
    *,
    ns_range: tuple[int, int] | None = None,
    beside: TraceExtras = _NOTHING,
    progress: Progress = no_progress,
    cancelled: Cancelled = never_cancelled,
) -> int:
    """Write a file, gzipped if its name ends in ".gz"; returns the number of slices written.

    See `write_perfetto`. On any error or cancel no new file is left and an old one is untouched.
    """

    def write(stream: BinaryIO) -> int:
        return write_perfetto(
            sources,
            stream,
            ns_range=ns_range,
            beside=beside,
            progress=progress,
            cancelled=cancelled,
        )

    with replacing(path) as file:
        if not os.fspath(path).lower().endswith(".gz"):
            return write(file)
        # No name and no time in the header: the same trace gives the same bytes.
        with gzip.GzipFile("", "wb", compresslevel=6, fileobj=file, mtime=0) as packed:
            return write(cast(BinaryIO, packed))


def write_perfetto(
    sources: Sequence[PerfettoSource],
    out: BinaryIO,
    *,
    ns_range: tuple[int, int] | None = None,
    beside: TraceExtras = _NOTHING,
    progress: Progress = no_progress,
    cancelled: Cancelled = never_cancelled,
) -> int:
    """Write the packets of a trace to a stream, a chunk at a time; returns the slices written.

    ns_range: keep only slices that share time with [start, end), on the common axis (ns with
    offsets, before the origin is taken off), and the slices around them; none is cut, and neither
    are the steps of counters. The origin is that of the whole sources, so that several ranges of
    one trace stay on one axis. Of a source that names its slices (`only`) these are written.
    progress(done, total) counts slices. Raises WriteCancelled, TimesTooFarApart, OSError.
    """
    file = _File(sources, beside, ns_range)
    out.write(file.head)
    total = sum(len(source.trace.slices) for source in sources)
    done = written = 0
    for source, part in zip(sources, file.parts(), strict=True):
        out.write(part.head)
        for chunks, at_once, counts in part.chunks():
            for first in range(0, chunks.count, at_once):
                if cancelled():
                    raise WriteCancelled
                last = min(first + at_once, chunks.count)
                out.write(chunks.encoded(first, last))
                if counts:
                    progress(min(done + last, total), total)
        done += len(source.trace.slices)
        written += part.slices.count
    progress(total, total)
    return written


def size_of_perfetto(
    sources: Sequence[PerfettoSource],
    *,
    ns_range: tuple[int, int] | None = None,
    beside: TraceExtras = _NOTHING,
) -> FileSize:
    """What `write_perfetto` would write. Raises TimesTooFarApart.

    Small files are encoded whole, of large ones a sample of each source's slices is: 40 000, which
    takes some 20 ms, beside what all slices share.
    """
    file = _File(sources, beside, ns_range)
    sizes = _Sizes()
    sizes.add(file.head)
    slices = tracks = flows = over_edge = computed = 0
    left_out = []
    for part in file.parts():
        sizes.add(part.head)
        for chunks, _, _ in part.chunks():
            sizes.sample(chunks)
        slices += part.slices.count
        computed += part.slices.computed
        tracks += part.slices.tracks
        flows += part.slices.flows_written
        over_edge += part.slices.over_edge
        left_out.append(str(part.flow_facts.get(LEFT_OUT, "")))
    said = "; ".join(dict.fromkeys(filter(None, left_out)))
    return FileSize(
        slices, tracks, flows, over_edge, round(sizes.raw), round(sizes.packed), said, computed
    )


class _Sizes:
    """Adds up bytes, as they are and gzipped, told from samples where there are many."""

    def __init__(self) -> None:
        self.raw = self.packed = 0.0

    def add(self, data: bytes, times: float = 1.0) -> None:
        """Bytes that stand for so many times as many."""
        self.raw += times * len(data)
        self.packed += times * len(zlib.compress(data, 6))

    def sample(self, chunks: SlicePackets | CounterPackets) -> None:
        """All packets of a source, or those at some places of it."""
        count = chunks.count
        if count <= SAMPLED:
            if count:
                self.add(chunks.encoded(0, count))
            return
        each = SAMPLED // PLACES
        places = np.linspace(0, count - each, PLACES).astype(np.int64).tolist()
        data = b"".join(chunks.encoded(first, first + each) for first in places)
        self.add(data, count / (each * PLACES))


@dataclass(frozen=True, slots=True)
class _Part:
    """One source, ready: what comes before its slices, and all that is encoded by chunks."""

    head: bytes
    slices: SlicePackets
    flow_facts: dict[str, int | str]
    counters: Callable[[], Iterator[CounterPackets]]

    def chunks(self) -> Iterator[tuple[SlicePackets | CounterPackets, int, bool]]:
        """What is encoded, how much of it at once, and whether it counts as progress."""
        yield self.slices, SLICES_AT_ONCE, True
        for counter in self.counters():
            yield counter, CHANGES_AT_ONCE, False


class _File:
    """A file before it is written: `head`, then `parts`, one after another as they are asked for,
    since each takes memory in proportion to its slices."""

    def __init__(
        self,
        sources: Sequence[PerfettoSource],
        beside: TraceExtras,
        ns_range: tuple[int, int] | None,
    ) -> None:
        self._sources = sources
        runs = [_runs(source) for source in sources]
        marks = [
            BookmarkSpan(m.start_ns, m.end_ns, m.name, "MARK", {"note": m.note} if m.note else {})
            for m in beside.marks
        ]
        spans = [span for source in sources if (span := source.span())]
        spans += [(span.start, span.end) for some in (*runs, marks) for span in some]
        self._origin = origin = min(
            (first for first, _ in [*spans, *_stated_axis(sources)]), default=0
        )
        if max((last for _, last in spans), default=0) - origin >= 2**63:
            raise TimesTooFarApart("the times of these files are more than 292 years apart")
        self._window = None if ns_range is None else (ns_range[0] - origin, ns_range[1] - origin)
        self._runs = [SpanPackets(_placed(some, origin, self._window)) for some in runs]
        drawn = SpanPackets(_placed(marks, origin, self._window))
        self._layout = TrackDescriptors(
            sources, beside.order, [packets.lanes for packets in self._runs], drawn.lanes
        )
        self._strings = InternedStrings()
        self._facts, self._source_facts = facts_of(origin, beside.facts, sources)
        self.head = self._first_packets() + drawn.encoded(self._layout.marks)

    def _first_packets(self) -> bytes:
        first = pb.TracePacket(
            trusted_packet_sequence_id=SEQUENCE,
            sequence_flags=pb.TracePacket.SEQ_INCREMENTAL_STATE_CLEARED
            | pb.TracePacket.SEQ_NEEDS_INCREMENTAL_STATE,
        )
        out = [framed(first)]
        if self._sources:
            out.append(attributes(self._facts, self._source_facts))
        for descriptor in self._layout.descriptors:
            packet = pb.TracePacket(
                trusted_packet_sequence_id=_DESCRIPTORS, track_descriptor=descriptor
            )
            out.append(framed(packet))
        return b"".join(out)

    def parts(self) -> Iterator[_Part]:
        """The sources in their order."""
        layout, origin, window, flow_id = self._layout, self._origin, self._window, 1
        for number, source in enumerate(self._sources):
            slices = SlicePackets(
                source, origin, window, layout.uuids[number], self._strings, flow_id
            )
            flow_id += slices.flows_written
            flows = (
                {}
                if source.flows is None
                else flow_facts(source, slices.flows, slices.flows_written)
            )
            facts = {**self._facts, **self._source_facts[number], **flows}
            head = about(facts, slices.first_ns) + self._strings.packets()
            head += self._runs[number].encoded(layout.runs[number])

            def counters(
                source: PerfettoSource = source, number: int = number
            ) -> Iterator[CounterPackets]:
                for counter, uuid in layout.counters[number]:
                    yield CounterPackets(source, counter, origin, window, uuid)

            yield _Part(head, slices, flows, counters)


def _stated_axis(sources: Sequence[PerfettoSource]) -> list[tuple[int, int]]:
    """Where the axis of an export of ours began that is exported again, by itself and as it came:
    it may hold a part of a trace, whose times stay."""
    if len(sources) != 1 or sources[0].ns_per_tick != sources[0].trace.clock.ns_per_tick:
        return []
    stated = sources[0].trace.provenance
    first = first_ns(stated) if is_of_one_file(stated) else None
    return [] if first is None else [(first + sources[0].offset_ns, first + sources[0].offset_ns)]


def _runs(source: PerfettoSource) -> list[BookmarkSpan]:
    """The inferences that no slice spans, in ns of the common axis."""
    trace = source.trace
    spanned = {id(run) for run in run_slices(trace)[0]}
    return [
        BookmarkSpan(
            tick_to_ns(run.start, source.ns_per_tick) + source.offset_ns,
            tick_to_ns(run.end, source.ns_per_tick) + source.offset_ns,
            f"{run.name} · run {run.number}",
            "INFERENCE",
            {"run": run.number, "ticks": f"{run.start} to {run.end}"},
        )
        for run in trace.inferences()
        if id(run) not in spanned
    ]


def _placed(
    spans: Sequence[BookmarkSpan], origin: int, window: tuple[int, int] | None
) -> list[BookmarkSpan]:
    """Those that share time with a window, in ns of the file; none is cut."""
    moved = [
        BookmarkSpan(s.start - origin, s.end - origin, s.name, s.category, s.arguments)
        for s in spans
    ]
    if window is None:
        return moved
    first, last = window
    return [
        span
        for span in moved
        if span.start < last and (span.end > first or span.start == span.end >= first)
    ]
