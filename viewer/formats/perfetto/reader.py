"""Reads Perfetto traces: the track events of a `.pftrace` from any tool, and Opscope exports.

A file is a protobuf `Trace`: a sequence of packets, optionally gzipped, or compressed in
`compressed_packets`. Supported, from https://perfetto.dev/docs/reference/synthetic-track-event and
protos/perfetto/trace/track_event/*.proto:

* slices (BEGIN and END, instants as slices without duration, legacy events of phases B, E, X, I),
  with names, categories and debug annotations, interned or not. A dictionary becomes one column per
  leaf ("args.size"), an array becomes JSON text;
* legacy async slices (b, e, n and the older S, T, p, F), matched by id, category or name, and
  scope (`legacy_events`);
* counters (int and double, unit, multiplier, incremental, of thread times and instructions), also
  as further values of any event;
* tracks: a thread in its process (`processes`); other tracks by their path below their process or
  below their outermost track; overlapping slices of one track go to lanes (`tracks`);
* state of packet sequences: interned data, defaults, lost packets;
* clocks: times are converted if a snapshot relates their clock to that of the trace;
* samples of stacks (`perf_samples`); of Android and Linux atrace (`atrace`), threads on CPUs and
  their states (`ftrace`), stages of GPUs (`gpu_stages`), names of processes and packages;
* flows: from each event of an id to the next one in time, until an event ends it; from `bind_id`
  with a direction, and from legacy events of phases s, t and f.

An Opscope export of one file is restored (`opscope_exports`); exported again, it is byte for byte
the same. Slices have their exported labels as names, operator information is in columns, and the
user's bookmarks are slices of a track. An export of several files, or with tracks of queries, keeps
the common axis, in ns, and which slices are derived.

A damaged packet costs that packet, at most one more (`damage`). A begin without an end is counted,
and becomes a slice to the last time of its process, which lasts at least so long. All else is
skipped and counted. A trace without anything that is shown is refused.
"""

from __future__ import annotations

from viewer.codecs.reading import Cancelled, Progress
from viewer.codecs.unpacking import inflated_head
from viewer.formats import format_of
from viewer.formats.perfetto.damage import packet_at
from viewer.model.trace import Trace

_FEW = 3  # packets that are looked at

_OF_TEXTS = bytes(range(32, 127)) + b"\t\r\n"  # packets have other bytes, too


def sniff(head: bytes) -> bool:
    """Whether the bytes, decompressed if necessary, start with packets of a Perfetto trace.

    Also if the first ones are damaged: then three others must follow, of which the first has what
    most packets have.
    """
    data = inflated_head(head) or head
    if len(data) < 3 or not data.translate(None, _OF_TEXTS):
        return False
    if _packets_at(data, 0):
        return True
    position = data.find(b"\n", 1)
    while position > 0:
        if packet_at(data, position, len(data))[1] and _packets_at(data, position) == _FEW:
            return True
        position = data.find(b"\n", position + 1)
    return False


def _packets_at(data: bytes, position: int) -> int:
    """How many packets start at a position, at most a few; 0 if anything else follows."""
    count = 0
    while position < len(data) and count < _FEW:
        position, _ = packet_at(data, position, len(data))
        if position < 0:
            return 0
        count += 1
    return count


def read(path: str, progress: Progress, cancelled: Cancelled) -> Trace:
    """Read the track events of a trace; see the module docstring."""
    # Loading the official protos takes longer than reading most files; `sniff` does not need them.
    from viewer.formats.perfetto.trace_reader import read_trace

    return read_trace(path, FORMAT.name, progress, cancelled)


FORMAT = format_of("perfetto.reader")
