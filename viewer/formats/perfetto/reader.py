"""Reads Perfetto traces: the track events of a `.pftrace` from any tool, and Opscope exports.

A file is a protobuf `Trace`: a sequence of packets, optionally gzipped, or compressed in
`compressed_packets`. Supported, from https://perfetto.dev/docs/reference/synthetic-track-event and
protos/perfetto/trace/track_event/*.proto:

* slices (BEGIN and END, instants as slices without duration, legacy events of phases B, E, X, I),
  with names, categories and debug annotations, interned or not. A dictionary becomes one column per
  leaf ("args.size"), an array becomes JSON text;
* legacy async slices (b, e, n and the older S, T, p, F), matched by id, category or name, and
  scope; see `viewer.formats.perfetto.legacy_events`;
* counters (int and double, unit, multiplier, incremental, of thread times and instructions), also
  as further values of any event;
* tracks: a thread in its process; other tracks by their path below their process or below their
  outermost track; overlapping slices of one track go to lanes. Processes and threads are told apart
  by their uuids, so a pid that is used again is another process; see
  `viewer.formats.perfetto.processes`. The order is that of `viewer.formats.perfetto.track_order`;
* state of packet sequences: interned data, defaults, lost packets;
* clocks: times are converted if a snapshot relates their clock to that of the trace;
* Android and Linux: slices, async slices and counters of atrace (`atrace`), threads on CPUs and
  their states (`sched`), stages of GPUs (`gpu_stages`), names of processes and packages;
* flows: from each event of an id to the next one in time, until an event ends it; from `bind_id`
  with a direction, and from legacy events of phases s, t and f.

An Opscope export of one file is restored with its ticks, clock, columns, lanes, counters, flows and
derived slices, NPU units, inferences that no slice spans, and identifiers as int or str;
`Trace.provenance` has its metadata. Exported again, the file is byte for byte the same
(tests/formats/perfetto/test_opscope_exports.py). Slices have their exported labels as names,
operator information is in columns, and the user's bookmarks are slices of a track. An export of
several files keeps the common axis, in ns.

A begin without an end is counted and becomes a slice without duration, because its duration is
unknown. Packets of other data sources (samples, logs), other ftrace events, fields and types of
events that are not read, and times relative to others are skipped and counted. A trace without
anything that is shown is refused.
"""

from __future__ import annotations

from viewer.codecs.gzip_head import inflated_head
from viewer.codecs.reading import Cancelled, Progress
from viewer.formats import format_of
from viewer.model.trace import Trace

_VARINT_FIELDS = frozenset((3, 8, 10, 13, 41, 42, 58, 79, 87, 98))
_MOST_FIELD = 1000


def sniff(head: bytes) -> bool:
    """Whether the bytes, decompressed if necessary, start with packets of a Perfetto trace."""
    data = inflated_head(head) or head
    at = packets = 0
    while at < len(data) and packets < 3:
        if data[at] != 0x0A:
            return False
        length, at = _varint(data, at + 1)
        if length < 0 or not _is_packet(data[at : at + length], at + length > len(data)):
            return False
        at += length
        packets += 1
    return packets > 0 and len(data) > 2


def read(path: str, progress: Progress, cancelled: Cancelled) -> Trace:
    """Read the track events of a trace; see the module docstring."""
    # Loading the official protos takes longer than reading most files; `sniff` does not need them.
    from viewer.formats.perfetto.trace_reader import read_trace

    return read_trace(path, FORMAT.name, progress, cancelled)


def _is_packet(body: bytes, is_cut: bool) -> bool:
    """Whether these bytes are possible fields of a TracePacket, each with its wire type."""
    at = 0
    while at < len(body):
        tag, at = _varint(body, at)
        if tag < 0:
            return is_cut
        field, wire = tag >> 3, tag & 7
        if not 1 <= field <= _MOST_FIELD or wire != (0 if field in _VARINT_FIELDS else 2):
            return False
        value, at = _varint(body, at)
        if value < 0:
            return is_cut
        at += value if wire == 2 else 0
    return at == len(body) or is_cut


def _varint(data: bytes, at: int) -> tuple[int, int]:
    """A varint and the position after it; -1 if it does not end in the data."""
    value = 0
    for k in range(10):
        if at + k >= len(data):
            break
        value |= (data[at + k] & 0x7F) << (7 * k)
        if data[at + k] < 0x80:
            return value, at + k + 1
    return -1, at


FORMAT = format_of("perfetto.reader")
