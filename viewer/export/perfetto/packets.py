"""What every packet of a Perfetto file needs: the frame, the sequence, the interned strings."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Any

import numpy as np
from perfetto.protos.perfetto.trace import perfetto_trace_pb2 as pb

from viewer.arrays import Ints
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

# One packet sequence holds everything, so that one table of strings serves all sources.
SEQUENCE = 1
TEXTS_AT_ONCE = 20_000
MANY = 5_000

_VALUES = "debug_annotation_string_values"
# Field numbers of Trace, TracePacket, InternedData and InternedString.
_PACKET, _INTERNED_DATA, _STRING_VALUES, _STR = 1, 12, 29, 2
_IID = tag(1, VARINT)


def field(number: int, body: bytes) -> bytes:
    """One length-delimited field of a message."""
    return tag(number, LENGTH_DELIMITED) + varint(len(body)) + body


def framed(packet: Any) -> bytes:
    """A TracePacket as the bytes that it is in a file."""
    return field(_PACKET, packet.SerializeToString())


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
    return field(_PACKET, packet.SerializeToString() + field(_INTERNED_DATA, entries))
