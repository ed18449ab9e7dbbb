"""Basics of all packets in a Perfetto file: framing, sequence, times, nesting, strings."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray
from perfetto.protos.perfetto.trace import perfetto_trace_pb2 as pb

from viewer.arrays import Codes, Ints
from viewer.codecs.protobuf.writer import (
    LENGTH_DELIMITED,
    VARINT,
    Blobs,
    Joined,
    Message,
    Picked,
    Varints,
    assemble,
    tag,
    varint,
)
from viewer.export.perfetto.source import PerfettoSource
from viewer.model.times import tick_to_ns, ticks_to_ns
from viewer.model.trace import Column

# All packets are on one sequence, so that one table of strings serves all sources.
SEQUENCE = 1
TEXTS_AT_ONCE = 20_000
MANY = 5_000

_VALUES = "debug_annotation_string_values"
_AT_ONCE = 1 << 18  # slices whose codes are processed at once

# Field numbers of Trace, TracePacket, TrackEvent, InternedData and InternedString.
PACKET = 1
TRACK_EVENT, TRACK_UUID = 11, 11
_INTERNED_DATA, _STRING_VALUES, _STR = 12, 29, 2

TIME = tag(8, VARINT)
SEQUENCE_ID = tag(10, VARINT) + varint(SEQUENCE)
FLAGS = tag(13, VARINT) + varint(pb.TracePacket.SEQ_NEEDS_INCREMENTAL_STATE)
_IID = tag(1, VARINT)


def field(number: int, body: bytes) -> bytes:
    """Return one length-delimited field of a message."""
    return tag(number, LENGTH_DELIMITED) + varint(len(body)) + body


def framed(packet: Any) -> bytes:
    """Return a TracePacket as its bytes in a file."""
    return field(PACKET, packet.SerializeToString())


def clean(text: str) -> str:
    """Return a text without lone surrogates (from non-UTF-8 names), which protobuf rejects."""
    return text if text.isascii() else text.encode("utf-8", "replace").decode()


class InternedStrings:
    """The interned-string tables of the sequence; new entries are written by `packets`."""

    def __init__(self) -> None:
        self._tables: dict[str, dict[str, int]] = {}
        self._next: Counter[str] = Counter()
        self._new: list[tuple[str, int, str]] = []
        self._many: list[tuple[int, Sequence[str]]] = []  # (first number, texts) of each block

    def _number(self, table: str, text: str) -> int:
        number_of_text = self._tables.setdefault(table, {})
        number = number_of_text.get(text)
        if number is None:
            number = number_of_text[text] = self._take(table, 1)
            self._new.append((table, number, clean(text)))
        return number

    def _take(self, table: str, count: int) -> int:
        self._next[table] += count
        return self._next[table] - count + 1

    def event_name(self, text: str) -> int:
        return self._number("event_names", text)

    def category(self, text: str) -> int:
        return self._number("event_categories", text)

    def argument(self, name: str) -> int:
        return self._number("debug_annotation_names", name)

    def value(self, text: str) -> int:
        return self._number(_VALUES, text)

    def values(self, texts: Sequence[str]) -> Ints:
        """Return the numbers of distinct texts.

        If there are many, they are not looked up in the table: writing a few twice is cheaper.
        """
        if len(texts) < MANY:
            return np.array([self.value(text) for text in texts], np.int64)
        first = self._take(_VALUES, len(texts))
        self._many.append((first, texts))
        return np.arange(first, first + len(texts))

    def correlation(self, text: str) -> int:
        return self._number("correlation_id_str", text)

    def packets(self) -> bytes:
        """Return packets with all strings added since the last call.

        They must precede the packets that use the strings.
        """
        out = []
        # Table by table, so that packet boundaries do not depend on the order of requests.
        self._new.sort(key=lambda entry: entry[0])
        for first in range(0, len(self._new), TEXTS_AT_ONCE):
            packet = pb.TracePacket(
                trusted_packet_sequence_id=SEQUENCE,
                sequence_flags=pb.TracePacket.SEQ_NEEDS_INCREMENTAL_STATE,
            )
            for table, number, text in self._new[first : first + TEXTS_AT_ONCE]:
                entry = getattr(packet.interned_data, table).add(iid=number)
                if table in ("event_names", "event_categories", "debug_annotation_names"):
                    entry.name = text
                else:
                    entry.str = text.encode()
            out.append(framed(packet))
        for number, texts in self._many:
            for first in range(0, len(texts), TEXTS_AT_ONCE):
                out.append(_many_values(number + first, texts[first : first + TEXTS_AT_ONCE]))
        self._new.clear()
        self._many.clear()
        return b"".join(out)


def _many_values(number: int, texts: Sequence[str]) -> bytes:
    """Return a packet of values, numbered from `number` on."""
    codes = np.arange(len(texts))
    entry = Joined(
        Varints(codes + number, lambda size: _IID),
        Message(_STR, Picked(Blobs.of_texts(texts), codes)),
    )
    entries = assemble([(codes, Message(_STRING_VALUES, entry))])
    packet = pb.TracePacket(
        trusted_packet_sequence_id=SEQUENCE,
        sequence_flags=pb.TracePacket.SEQ_NEEDS_INCREMENTAL_STATE,
    )
    return field(PACKET, packet.SerializeToString() + field(_INTERNED_DATA, entries))


def in_order_of_use(rows: Codes, size: int, codes_of: Callable[[Codes], NDArray[Any]]) -> list[int]:
    """Return the codes in 0 .. size-1 that slices have, by the first slice with each.

    Texts are numbered in this order, whatever the order of a reader's tables, so equal slices give
    equal bytes. codes_of: returns the codes of some slices in order; it may skip slices.
    """
    first = np.full(size, len(rows))
    for start in reversed(range(0, len(rows), _AT_ONCE)):
        codes = codes_of(rows[start : start + _AT_ONCE])
        # With duplicate indexes the last assignment wins: that is the first slice.
        first[codes[::-1]] = np.arange(start + len(codes) - 1, start - 1, -1)
    used = np.flatnonzero(first < len(rows))
    in_order: list[int] = used[np.argsort(first[used])].tolist()
    return in_order


def with_value(codes: Codes, column: Column) -> Codes:
    """Return those of some slices that have a value in a column, in order."""
    return codes if column.valid is None else codes[column.valid[codes]]


class BracketOrder:
    """The positions of every slice's BEGIN and END in the file, from preorder depths alone.

    After BEGIN i come the ENDs of the slices at depth[i], depth[i] - 1, ... down to the depth of
    slice i + 1: `closes[i]` of them. The m-th END at a depth ends the m-th slice of that depth.
    `depth` covers whole lanes one after another, each starting at depth 0.
    """

    def __init__(self, depth: NDArray[Any]) -> None:
        n = len(depth)
        depth = depth.astype(np.int16)  # at most 500 levels; numpy sorts 16-bit integers by radix
        self.closes = depth + np.int16(1)
        self.closes[:-1] -= depth[1:]
        self.ends_before: Ints = np.zeros(n + 1, np.int64)
        np.cumsum(self.closes, out=self.ends_before[1:])
        nth = np.arange(n) - np.repeat(self.ends_before[:-1], self.closes)
        end_depth = (np.repeat(depth, self.closes) - nth).astype(np.int16)
        self.owner: Codes = np.empty(n, np.uint32)
        self.owner[np.argsort(end_depth, kind="stable")] = np.argsort(depth, kind="stable")

    def part(self, first: int, last: int) -> tuple[Ints, Ints, Codes]:
        """Return the positions of BEGINs first .. last-1, of their ENDs, and the ENDs' owners.

        The ENDs are those among and directly after these BEGINs.
        """
        m = np.arange(self.ends_before[first], self.ends_before[last])
        i = np.arange(first, last)
        origin = first + self.ends_before[first]
        begins = i + self.ends_before[first:last] - origin
        ends = m + np.repeat(i, self.closes[first:last]) + 1 - origin
        return begins, ends, self.owner[m]

    def after_subtree(self) -> Ints:
        """Return for every slice the preorder number after its last descendant."""
        n = len(self.owner)
        after = np.empty(n, np.int64)
        after[self.owner] = np.repeat(np.arange(n), self.closes) + 1
        return after


class Timestamps:
    """Converts ticks of a source to ns relative to the file's origin, rounding down."""

    def __init__(self, source: PerfettoSource, origin: int) -> None:
        ratio = self._ratio = source.ns_per_tick
        # Subtracting a multiple of the denominator before rounding down does not change the result;
        # the remainder is small and cannot overflow.
        self._base = source.trace.start // ratio.denominator * ratio.denominator
        self._shift = tick_to_ns(self._base, ratio) + source.offset_ns - origin

    def __call__(self, ticks: Ints) -> Ints:
        """Return the ns of ticks between the start and the end of the trace."""
        # Modular arithmetic on purpose: the base may be below int64, the differences never are.
        rest = (ticks.view(np.uint64) - np.uint64(self._base % 2**64)).view(np.int64)
        return ticks_to_ns(rest, self._ratio) + np.int64(self._shift)
