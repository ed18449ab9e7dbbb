"""Writes traces as one Perfetto file (.pftrace, or gzipped .pftrace.gz) with exact durations.

* A process of a source is a Perfetto process, a track is one of its threads. IDs count up from 1
  in display order (0 would be the idle process), and a process has the ID of its first thread, so
  that trace_processor does not create an unnamed main thread. Ranks give newer UIs the same order.
* A process whose tracks are all NPU units has no threads: it is a plain track with a plain track
  for each unit below it, in explicit order.
* Lane 0 of a thread is the thread itself. Thread descriptors cannot be merged, and a second thread
  would look like one that the device never had. So further lanes are plain tracks below the thread:
  trace_processor gives them the thread's name in SQL, and a shared merge key lets the UI draw all
  of them as one "(overlapping)" track. All lanes of a plain track are siblings with one name.
* Times are ns from the earliest slice or counter sample of all sources. Start and end are rounded
  down separately, which preserves nesting.
* A slice is a BEGIN and an END packet. The importer sorts by time and keeps the file's order among
  equal times, so the file has each lane in bracket order: parents open first and close last, an END
  precedes the BEGIN that follows it, and a zero-length slice is closed immediately. It is not an
  instant, because instants have no depth among slices of one time.
* Flows: the BEGIN of the producing slice has an ID in `flow_ids`, the BEGIN of the consuming slice
  has the same ID in `terminating_flow_ids`. Each pair has its own ID, numbered in order of the
  consumers, after the flows that the input itself contains.
* Counters of NPU units are counter tracks of the process, with a unit. A value is written where it
  changes, at its tick rounded down.
* The user's bookmarks are slices and instants on the track "Marks", category MARK, argument `note`.
  Inferences that no slice of the file spans are slices on the track "Inferences", category
  INFERENCE, arguments `run` and `ticks`.
* Origin, clocks, hashes and file names are trace attributes, `org.opscope.<name>` for the file or
  `org.opscope.source<n>.<name>` for its n-th trace. Engines before v58 ignore those. So they are
  also metadata as Chrome writes them, with the prefix "cr-" in `select * from metadata`.

Categories of a slice: the name of its `KeyKind` (OPERATOR_CALL, KERNEL, DELEGATE_EVENT, JOB ...),
none if the file gives it no identity; on tracks of an NPU's units or of its host also the name of
the `Unit`. Arguments of a slice, each only if known:

    start_ticks, dur_ticks  in ticks of the input, exact. Omitted if a tick is 1 ns: then
                            start_ticks is ts + origin_ns - offset_ns, dur_ticks is dur; and
                            for an event on a clock of its own, whose extent is for drawing
    event                   the name in the input, if the slice is shown under another
    label                   that other name, if slices are to keep the names of the input
    operator                array of strings: the edge dialect operators, in graph order
    debug_handles           array of ints (strings beyond 64 bits)
    module                  module path
    source                  "file:line", several joined by "; "
    link_reason             how the operators were found, or why there are none
    estimate_ticks          the compiler's estimate, in ticks of its clock ...
    estimate_ns             ... and in ns (double)
    identifier              the delegate debug identifier, int or text as logged
    instruction_id          of the runtime; for a JOB or ACTION its number
    location                MLIR location
    run                     the number of the inference in which it starts, from 1
    timing                  where the time comes from, unless it is simply measured: "placed",
                            "rounded", "estimated", "derived"; several are joined by ", "
    derived                 true: computed by the reader, not in the input

The input's own columns follow under their own names; a column with the name of an argument above is
written as "column <name>". A trace that was read from such a file, or from another tool's file with
categories, is written unchanged (`arguments.py`).
"""

from __future__ import annotations

import gzip  # noqa: TID251 - writes
import os
import re
import zlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import BinaryIO, cast

import numpy as np
from perfetto.protos.perfetto.trace import perfetto_trace_pb2 as pb

import viewer
from viewer.analysis.links.labels import run_slices
from viewer.codecs.atomic_file import WriteCancelled, replacing
from viewer.codecs.reading import Cancelled, Progress, never_cancelled, no_progress
from viewer.dataclasses import dataclass
from viewer.export.perfetto.packets import SEQUENCE, InternedStrings, clean, framed
from viewer.export.perfetto.slices import SlicePackets
from viewer.export.perfetto.source import (
    Facts,
    FlowEdges,
    PerfettoSource,
    TimesTooFarApart,
    TraceExtras,
)
from viewer.export.perfetto.tracks import (
    BookmarkSpan,
    CounterPackets,
    SpanPackets,
    TrackDescriptors,
)
from viewer.model.times import tick_to_ns
from viewer.model.timing import zeros_text
from viewer.model.trace import Trace
from viewer.model.trace_attributes import FIRST, PREFIX, first_ns, is_of_one_file, of_source

LEFT_OUT, _FLOWS = "flows_left_out", "flows"
_INPUT = re.compile(r"input\d+\.file")


def inputs_of(trace: Trace) -> int:
    """Return the number of ETRecords and texts behind an Opscope export, besides its profile."""
    if not is_of_one_file(trace.provenance):
        return 0
    return sum(bool(_INPUT.fullmatch(name)) for name in trace.provenance)


def facts_of(
    origin: int, facts: Facts, sources: Sequence[PerfettoSource]
) -> tuple[dict[str, int | str], list[dict[str, int | str]]]:
    """Return the metadata of a file and of each source; `facts` is known only to the caller.

    If the only source is an Opscope export, its metadata is carried over unless `facts` has a newer
    value; "whole trace" refers to what that export contained.
    """
    of_file: dict[str, int | str] = {"tool": f"Opscope {viewer.__version__}", "origin_ns": origin}
    of_sources = [_source_facts(source) for source in sources]
    if len(sources) == 1 and is_of_one_file(stated := sources[0].trace.provenance):
        of_file |= {k: v for k, v in stated.items() if k not in of_file and not k.startswith(FIRST)}
        if facts.get("range") == "whole trace":
            facts = {name: value for name, value in facts.items() if name not in stated}
        if first_ns(stated) == origin - sources[0].offset_ns:  # only their difference matters
            of_file["origin_ns"] = stated.get("origin_ns", 0)
            of_sources[0]["offset_ns"] = stated.get(f"{FIRST}offset_ns", 0)
    return _storable({**of_file, **facts}), of_sources


def _source_facts(source: PerfettoSource) -> dict[str, int | str]:
    """Return what is needed to convert this file's ns back to the input's ticks."""
    trace = source.trace
    clock: dict[str, int | str] = {
        "clock_unit": trace.clock.unit,
        "clock_domain": trace.clock.domain,
        "clock_rate": str(source.rate_origin),
        "ns_per_tick": str(source.ns_per_tick),
        "offset_ns": source.offset_ns,
    }
    if trace.clock.zeros:
        clock["clock_zeros"] = zeros_text(trace.clock.zeros)
    if is_of_one_file(trace.provenance):
        carried = of_source(trace.provenance)
        for name in (LEFT_OUT, _FLOWS):  # `flow_facts` adds them
            carried.pop(name, None)
        if source.ns_per_tick == trace.clock.ns_per_tick:
            clock.pop("clock_rate")
        return _storable({**carried, **clock, **source.placement})
    facts: dict[str, int | str] = {
        "file": os.path.basename(trace.path),
        "format": trace.format,
        "generation": trace.generation,
        **clock,
        **source.placement,
        **source.input,
    }
    if len(trace.untimed):
        facts["events_without_time"] = f"{len(trace.untimed)} are not included"
    for name, column in trace.slices.columns.items():
        if column.unit:
            facts[f"unit_of_{name}"] = column.unit
    return _storable(facts)


def flow_facts(source: PerfettoSource, edges: FlowEdges, written: int) -> dict[str, int | str]:
    """Return the number of flows of a source, and a text on those that are not in the file."""
    facts: dict[str, int | str] = {_FLOWS: written}
    left_out = []
    if earlier := source.trace.provenance.get(f"{FIRST}{LEFT_OUT}"):
        left_out.append(str(earlier))
    if edges.asked < edges.of:
        left_out.append(
            f"only the first {edges.asked} of {edges.of} slices were searched for inputs"
        )
    if written < len(edges.producer):
        left_out.append(
            f"{len(edges.producer) - written} lead to an earlier slice with the same start"
        )
    if left_out:
        facts[LEFT_OUT] = "; ".join(left_out)
    return facts


def _storable(facts: Mapping[str, int | str]) -> dict[str, int | str]:
    """Return facts with ints beyond 64 bits as text, since they have no field."""
    return {
        clean(name): value
        if isinstance(value, int) and -(2**63) <= value < 2**63
        else clean(str(value))
        for name, value in facts.items()
    }


def metadata_packets(facts: Facts, of_sources: Mapping[int, Facts]) -> bytes:
    """Return packets with facts about the file, and about sources by their numbers from 1."""
    named = {f"{PREFIX}{name}": value for name, value in facts.items()}
    for number, source_facts in of_sources.items():
        named |= {f"{PREFIX}source{number}.{name}": value for name, value in source_facts.items()}
    ours = pb.TracePacket(trusted_packet_sequence_id=SEQUENCE)
    older = pb.TracePacket(trusted_packet_sequence_id=SEQUENCE)
    for name, value in named.items():
        attribute = ours.trace_attributes.attribute.add(key=name)
        entry = older.chrome_events.metadata.add(name=name)
        if isinstance(value, int):
            attribute.long_value = entry.int_value = value
        else:
            attribute.string_value = entry.string_value = value
    return framed(ours) + framed(older)


SLICES_AT_ONCE = 25_000  # the working set then fits the processor's cache
CHANGES_AT_ONCE = 25_000  # per counter
# To estimate the size of a file, encode this many slices, from this many places of a source.
SAMPLED, PLACES = 40_000, 16

# A separate sequence: on the events' sequence, trace_processor would assign events of plain tracks
# to the thread of the last descriptor.
_DESCRIPTORS = SEQUENCE + 1
_NOTHING = TraceExtras()


@dataclass(frozen=True, slots=True)
class FileSize:
    """The contents of a file and its size in bytes, raw and gzipped.

    tracks: those with a slice in it. over_edge: slices that cross an edge of the range. left_out: a
    text on flows that are not written. computed: derived slices, which are in no input.
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
    trace_extras: TraceExtras = _NOTHING,
    progress: Progress = no_progress,
    cancelled: Cancelled = never_cancelled,
) -> int:
    """Write a file, gzipped if its name ends in ".gz"; returns the number of slices written.

    See `write_perfetto`. On error or cancellation no new file is left, and an old one stays
    unchanged.
    """

    def write(stream: BinaryIO) -> int:
        return write_perfetto(
            sources,
            stream,
            ns_range=ns_range,
            trace_extras=trace_extras,
            progress=progress,
            cancelled=cancelled,
        )

    with replacing(path) as file:
        if not os.fspath(path).lower().endswith(".gz"):
            return write(file)
        # No name and no time in the header, so that the same trace gives the same bytes.
        with gzip.GzipFile("", "wb", compresslevel=6, fileobj=file, mtime=0) as packed:
            return write(cast(BinaryIO, packed))


def write_perfetto(
    sources: Sequence[PerfettoSource],
    out: BinaryIO,
    *,
    ns_range: tuple[int, int] | None = None,
    trace_extras: TraceExtras = _NOTHING,
    progress: Progress = no_progress,
    cancelled: Cancelled = never_cancelled,
) -> int:
    """Write the packets of a trace to a stream in chunks; returns the number of slices written.

    ns_range: keep only slices that overlap [start, end) on the common axis (ns with offsets, before
    subtracting the origin), and their ancestors. Neither slices nor counter steps are cut. The
    origin is that of the whole sources, so that several ranges of one trace share an axis. If a
    source has `only`, exactly those slices are written; if it has a range of its own, that one
    applies to it, but not to bookmarks. progress(done, total) counts slices. Raises
    WriteCancelled, TimesTooFarApart, OSError.
    """
    file = _File(sources, trace_extras, ns_range)
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
    trace_extras: TraceExtras = _NOTHING,
) -> FileSize:
    """Estimate what `write_perfetto` would write. Raises TimesTooFarApart.

    Small files are encoded completely; for large ones a sample of 40,000 slices per source, which
    takes about 20 ms, in addition to the shared data.
    """
    file = _File(sources, trace_extras, ns_range)
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
    notes = "; ".join(dict.fromkeys(filter(None, left_out)))
    return FileSize(
        slices, tracks, flows, over_edge, round(sizes.raw), round(sizes.packed), notes, computed
    )


class _Sizes:
    """Sums up bytes, raw and gzipped, extrapolated from samples if there are many."""

    def __init__(self) -> None:
        self.raw = self.packed = 0.0

    def add(self, data: bytes, times: float = 1.0) -> None:
        """Add data that represents `times` as many bytes."""
        self.raw += times * len(data)
        self.packed += times * len(zlib.compress(data, 6))

    def sample(self, chunks: SlicePackets | CounterPackets) -> None:
        """Add all packets of a source, or a sample from several places."""
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
    """One source, ready to write: the packets before its slices, and what is encoded in chunks."""

    head: bytes
    slices: SlicePackets
    flow_facts: dict[str, int | str]
    counters: Callable[[], Iterator[CounterPackets]]

    def chunks(self) -> Iterator[tuple[SlicePackets | CounterPackets, int, bool]]:
        """Yield (what to encode, how much at once, whether it counts as progress)."""
        yield self.slices, SLICES_AT_ONCE, True
        for counter in self.counters():
            yield counter, CHANGES_AT_ONCE, False


class _File:
    """A file before it is written: `head`, then `parts`.

    Parts are created one at a time, since each takes memory in proportion to its slices.
    """

    def __init__(
        self,
        sources: Sequence[PerfettoSource],
        trace_extras: TraceExtras,
        ns_range: tuple[int, int] | None,
    ) -> None:
        self._sources = sources
        runs = [_runs(source) for source in sources]
        marks = [
            BookmarkSpan(m.start_ns, m.end_ns, m.name, "MARK", {"note": m.note} if m.note else {})
            for m in trace_extras.bookmarks
        ]
        spans = [span for source in sources if (span := source.span())]
        spans += [
            (span.start, span.end) for bookmark_spans in (*runs, marks) for span in bookmark_spans
        ]
        spans += [span for source in sources for span in source.counter_spans()]
        self._origin = origin = min(
            (first for first, _ in [*spans, *_stated_axis(sources)]), default=0
        )
        if max((last for _, last in spans), default=0) - origin >= 2**63:
            raise TimesTooFarApart("the times of these files are more than 292 years apart")
        self._windows = [_from(origin, source.ns_range or ns_range) for source in sources]
        self._runs = [
            SpanPackets(_placed(bookmark_spans, origin, window))
            for bookmark_spans, window in zip(runs, self._windows, strict=True)
        ]
        drawn = SpanPackets(_placed(marks, origin, _from(origin, ns_range)))
        self._layout = TrackDescriptors(
            sources, trace_extras.order, [packets.lanes for packets in self._runs], drawn.lanes
        )
        self._strings = InternedStrings()
        self._facts, self._source_facts = facts_of(origin, trace_extras.facts, sources)
        self.head = self._first_packets() + drawn.encoded(self._layout.marks)

    def _first_packets(self) -> bytes:
        first = pb.TracePacket(
            trusted_packet_sequence_id=SEQUENCE,
            sequence_flags=pb.TracePacket.SEQ_INCREMENTAL_STATE_CLEARED
            | pb.TracePacket.SEQ_NEEDS_INCREMENTAL_STATE,
        )
        out = [framed(first)]
        if self._sources:
            out.append(metadata_packets(self._facts, dict(enumerate(self._source_facts, 1))))
        for descriptor in self._layout.descriptors:
            packet = pb.TracePacket(
                trusted_packet_sequence_id=_DESCRIPTORS, track_descriptor=descriptor
            )
            out.append(framed(packet))
        return b"".join(out)

    def parts(self) -> Iterator[_Part]:
        """Yield the sources in order."""
        layout, origin, flow_id = self._layout, self._origin, 1
        for number, (source, window) in enumerate(zip(self._sources, self._windows, strict=True)):
            slices = SlicePackets(
                source, origin, window, layout.uuids[number], self._strings, flow_id
            )
            flow_id += slices.flows_written
            flows = (
                {}
                if source.flows is None
                else flow_facts(source, slices.flows, slices.flows_written)
            )
            head = metadata_packets({}, {number + 1: flows}) if flows else b""
            head += self._strings.packets()
            head += self._runs[number].encoded(layout.runs[number])

            def counters(
                source: PerfettoSource = source,
                number: int = number,
                window: tuple[int, int] | None = window,
            ) -> Iterator[CounterPackets]:
                for counter, uuid in layout.counters[number]:
                    yield CounterPackets(source, counter, origin, window, uuid)

            yield _Part(head, slices, flows, counters)


def _from(origin: int, ns_range: tuple[int, int] | None) -> tuple[int, int] | None:
    """Return a range of the common axis in ns of the file."""
    return None if ns_range is None else (ns_range[0] - origin, ns_range[1] - origin)


def _stated_axis(sources: Sequence[PerfettoSource]) -> list[tuple[int, int]]:
    """Return the axis origin of an Opscope export that is exported again alone and unchanged.

    It may contain only a part of a trace, whose times must not shift.
    """
    if len(sources) != 1 or sources[0].ns_per_tick != sources[0].trace.clock.ns_per_tick:
        return []
    stated = sources[0].trace.provenance
    first = first_ns(stated) if is_of_one_file(stated) else None
    return [] if first is None else [(first + sources[0].offset_ns, first + sources[0].offset_ns)]


def _runs(source: PerfettoSource) -> list[BookmarkSpan]:
    """Return the inferences that no slice spans, in ns of the common axis."""
    trace = source.trace
    spanned = {id(run) for run in run_slices(trace)[0]}
    return [
        BookmarkSpan(
            tick_to_ns(run.start, source.ns_per_tick) + source.offset_ns,
            tick_to_ns(run.end, source.ns_per_tick) + source.offset_ns,
            f"{run.name} · {run.label}",
            "INFERENCE",
            {"run": run.number, "ticks": f"{run.start} to {run.end}"},
        )
        for run in trace.inferences()
        if id(run) not in spanned
    ]


def _placed(
    spans: Sequence[BookmarkSpan], origin: int, window: tuple[int, int] | None
) -> list[BookmarkSpan]:
    """Return the spans that overlap a window, in ns of the file; none is cut."""
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
