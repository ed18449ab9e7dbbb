"""Perfetto trace: the track events of a `.pftrace`, of whatever tool, and our own exports.

A file is a protobuf `Trace`: packets one after another, gzipped or not, whole or in
`compressed_packets`. Read are, of https://perfetto.dev/docs/reference/synthetic-track-event and
protos/perfetto/trace/track_event/*.proto:

* slices (BEGIN and END, instants as slices without a length, legacy events of the phases B, E, X,
  I), with names, categories and debug annotations, interned or not. A dictionary becomes one column
  a leaf ("args.size"), an array the text of its JSON;
* counters (int and double, unit, multiplier, incremental);
* tracks: a thread of its process; a plain track by its path below its process, or below its
  outermost track; slices of one track that overlap go to lanes;
* state of packet sequences: interned data, defaults, lost packets;
* clocks: times of a clock that a snapshot relates to the clock of the trace are converted.

* flows: from each event of an id to the next one in time, until one ends it.

Our own export of one file comes back with its ticks, clock, columns, lanes, counters, flows and
derived slices, the units of an NPU, the inferences that no slice spans, and identifiers as the
numbers or texts that they were; what it says of its origin is `Trace.provenance`. Exported again,
it is the same file byte by byte (tests/formats/perfetto/test_opscope_exports.py). Slices are called
as they are labeled in it, what was known of an operator stands in columns, and the user's marks
are slices of a track. One of several files keeps the common axis, in ns.

A begin without an end is a slice without length and is counted, since nothing says how long it
took. Packets of other data sources (ftrace, samples, logs) and legacy async events are passed over
and counted.
"""

from __future__ import annotations

from viewer.codecs.gzip_head import inflated_head
from viewer.codecs.reading import Cancelled, Progress
from viewer.formats import format_of
from viewer.model.trace import Trace

_VARINT_FIELDS = frozenset((3, 8, 10, 13, 41, 42, 58, 79, 87, 98))
_MOST_FIELD = 1000


def sniff(head: bytes) -> bool:
    """Whether the bytes, or what they unpack to, begin with packets of a Perfetto trace."""
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
    """The track events of a trace; see the module's text."""
    # The official protos take longer to load than most files; `sniff` does without them.
    from viewer.formats.perfetto.trace_reader import read_trace

    return read_trace(path, FORMAT.name, progress, cancelled)


def _is_packet(body: bytes, is_cut: bool) -> bool:
    """Whether these bytes are fields that a TracePacket may have, each of its own wire type."""
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
    """A number and the position after it; -1 if it does not end in time."""
    value = 0
    for k in range(10):
        if at + k >= len(data):
            break
        value |= (data[at + k] & 0x7F) << (7 * k)
        if data[at + k] < 0x80:
            return value, at + k + 1
    return -1, at


FORMAT = format_of("perfetto.reader")
