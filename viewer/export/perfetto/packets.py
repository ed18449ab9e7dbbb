"""What all packets of a Perfetto file share: frame, sequence, times, nesting, interned strings."""

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

# One packet sequence holds everything, so that one table of strings serves all sources.
SEQUENCE = 1
TEXTS_AT_ONCE = 20_000
MANY = 5_000

_VALUES = "debug_annotation_string_values"
_AT_ONCE = 1 << 18  # slices whose codes are looked through at once

# Field numbers of Trace, TracePacket, TrackEvent, InternedData and InternedString.
PACKET = 1
TRACK_EVENT, TRACK_UUID = 11, 11
_INTERNED_DATA, _STRING_VALUES, _STR = 12, 29, 2

TIME = tag(8, VARINT)
SEQUENCE_ID = tag(10, VARINT) + varint(SEQUENCE)
FLAGS = tag(13, VARINT) + varint(pb.TracePacket.SEQ_NEEDS_INCREMENTAL_STATE)
_IID = tag(1, VARINT)


def field(number: int, body: bytes) -> bytes:
    """One length-delimited field of a message."""
    return tag(number, LENGTH_DELIMITED) + varint(len(body)) + body


def framed(packet: Any) -> bytes:
    """A TracePacket as the bytes that it is in a file."""
    return field(PACKET, packet.SerializeToString())


def clean(text: str) -> str:
    """A name that is not UTF-8 arrives with lone surrogates, which protobuf refuses."""
    return text if text.isascii() else text.encode("utf-8", "replace").decode()


class InternedStrings:
    """The tables of interned strings of the sequence; new entries wait for `packets`."""

    def __init__(self) -> None:
        self._tables: dict[str, dict[str, int]] = {}
        self._next: Counter[str] = Counter()
        self._new: list[tuple[str, int, str]] = []
        self._many: list[tuple[int, Sequence[str]]] = []  # first number of each block of values

    def _number(self, table: str, text: str) -> int:
        known = self._tables.setdefault(table, {})
        number = known.get(text)
        if number is None:
            number = known[text] = self._take(table, 1)
            self._new.append((table, number, clean(text)))
        return number

    def _take(self, table: str, count: int) -> int:
        self._next[table] += count
        return self._next[table] - count + 1

    def event_name(self, text: str) -> int:
        """The number of a slice name."""
        return self._number("event_names", text)

    def category(self, text: str) -> int:
        """The number of a category."""
        return self._number("event_categories", text)

    def argument(self, name: str) -> int:
        """The number of an argument's name."""
        return self._number("debug_annotation_names", name)

    def value(self, text: str) -> int:
        """The number of an argument's text."""
        return self._number(_VALUES, text)

    def values(self, texts: Sequence[str]) -> Ints:
        """The numbers of distinct texts.

        Where they are many, none is looked for among the others: to write a few twice costs less.
        """
        if len(texts) < MANY:
            return np.array([self.value(text) for text in texts], np.int64)
        first = self._take(_VALUES, len(texts))
        self._many.append((first, texts))
        return np.arange(first, first + len(texts))

    def correlation(self, text: str) -> int:
        """The number of a correlation id."""
        return self._number("correlation_id_str", text)

    def packets(self) -> bytes:
        """Packets with all strings added since the last call; they must precede their use."""
        out = []
        # Table by table, so that where a packet ends does not depend on who asked for which first.
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
    """A packet of values with the numbers from `number` on."""
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


def in_order_of_use(own: Codes, size: int, codes_of: Callable[[Codes], NDArray[Any]]) -> list[int]:
    """The codes 0 .. size-1 that slices have, by the first slice that has each.

    Texts are numbered in this order, whatever the order of a reader's tables: so the same slices
    give the same bytes. codes_of: those of some slices, in their order; some may have none.
    """
    first = np.full(size, len(own))
    for begin in reversed(range(0, len(own), _AT_ONCE)):
        codes = codes_of(own[begin : begin + _AT_ONCE])
        # Of equal indexes the last assignment stays: that of the first slice.
        first[codes[::-1]] = np.arange(begin + len(codes) - 1, begin - 1, -1)
    used = np.flatnonzero(first < len(own))
    found: list[int] = used[np.argsort(first[used])].tolist()
    return found


def with_value(own: Codes, column: Column) -> Codes:
    """Those of some slices that have a value in a column, in their order."""
    return own if column.valid is None else own[column.valid[own]]


class BracketOrder:
    """Where the BEGIN and the END of every slice stand in the file, from preorder depths alone.

    After BEGIN i come the ENDs of the slices at depth[i], depth[i] - 1, ... down to the depth of
    slice i + 1: `closes[i]` of them. The m-th END at a depth ends the m-th slice of that depth.
    `depth` covers whole lanes one after another, each beginning at depth 0.
    """

    def __init__(self, depth: NDArray[Any]) -> None:
        n = len(depth)
        depth = depth.astype(np.int16)  # at most 500 levels; 16 bits are sorted by radix
        self.closes = depth + np.int16(1)
        self.closes[:-1] -= depth[1:]
        self.ends_before: Ints = np.zeros(n + 1, np.int64)
        np.cumsum(self.closes, out=self.ends_before[1:])
        nth = np.arange(n) - np.repeat(self.ends_before[:-1], self.closes)
        end_depth = (np.repeat(depth, self.closes) - nth).astype(np.int16)
        self.owner: Codes = np.empty(n, np.uint32)
        self.owner[np.argsort(end_depth, kind="stable")] = np.argsort(depth, kind="stable")

    def part(self, first: int, last: int) -> tuple[Ints, Ints, Codes]:
        """Positions of BEGINs first .. last-1, of the ENDs among and after them, whose ENDs."""
        m = np.arange(self.ends_before[first], self.ends_before[last])
        i = np.arange(first, last)
        origin = first + self.ends_before[first]
        begins = i + self.ends_before[first:last] - origin
        ends = m + np.repeat(i, self.closes[first:last]) + 1 - origin
        return begins, ends, self.owner[m]

    def after_subtree(self) -> Ints:
        """For every slice the preorder number after its last descendant."""
        n = len(self.owner)
        after = np.empty(n, np.int64)
        after[self.owner] = np.repeat(np.arange(n), self.closes) + 1
        return after


class Timestamps:
    """Turns ticks of a source into the ns of a file: the floor, from the file's origin on."""

    def __init__(self, source: PerfettoSource, origin: int) -> None:
        ratio = self._ratio = source.ns_per_tick
        # A multiple of the denominator can be taken off before flooring without changing a result;
        # what is left is small and cannot overflow.
        self._base = source.trace.start // ratio.denominator * ratio.denominator
        self._shift = tick_to_ns(self._base, ratio) + source.offset_ns - origin

    def __call__(self, ticks: Ints) -> Ints:
        """The ns of ticks between the start and the end of the trace."""
        # Modular on purpose: the base may lie below int64, the differences never do.
        rest = (ticks.view(np.uint64) - np.uint64(self._base % 2**64)).view(np.int64)
        return ticks_to_ns(rest, self._ratio) + np.int64(self._shift)
