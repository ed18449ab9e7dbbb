"""What every packet of a Perfetto file needs: the frame, the sequence, the interned strings."""

from __future__ import annotations

from typing import Any

from perfetto.protos.perfetto.trace import perfetto_trace_pb2 as pb

from viewer.export.protobuf_encoder import LENGTH_DELIMITED, tag, varint

# One packet sequence holds everything, so that one table of strings serves all sources.
SEQUENCE = 1
TEXTS_AT_ONCE = 20_000
_PACKET = 1  # the field of Trace


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
        self._new: list[tuple[str, int, str]] = []

    def _number(self, table: str, text: str) -> int:
        known = self._tables.setdefault(table, {})
        number = known.get(text)
        if number is None:
            number = known[text] = len(known) + 1
            self._new.append((table, number, clean(text)))
        return number

    def event_name(self, text: str) -> int:
        """The number of a slice name."""
        return self._number("event_names", text)

    def argument(self, name: str) -> int:
        """The number of an argument's name."""
        return self._number("debug_annotation_names", name)

    def value(self, text: str) -> int:
        """The number of an argument's text."""
        return self._number("debug_annotation_string_values", text)

    def correlation(self, text: str) -> int:
        """The number of a correlation id."""
        return self._number("correlation_id_str", text)

    def packets(self) -> bytes:
        """Packets with all strings added since the last call; they must precede their use."""
        out = []
        for first in range(0, len(self._new), TEXTS_AT_ONCE):
            packet = pb.TracePacket(
                trusted_packet_sequence_id=SEQUENCE,
                sequence_flags=pb.TracePacket.SEQ_NEEDS_INCREMENTAL_STATE,
            )
            for table, number, text in self._new[first : first + TEXTS_AT_ONCE]:
                entry = getattr(packet.interned_data, table).add(iid=number)
                if table in ("event_names", "debug_annotation_names"):
                    entry.name = text
                else:
                    entry.str = text.encode()
            out.append(framed(packet))
        self._new.clear()
        return b"".join(out)
