"""Finds the packets of a Perfetto file, also after damage.

Where no packet starts, or one has fields that no packet has, its length is wrong or its start is
damaged. From there, the next position counts at which a packet with known fields starts and another
one follows, or the data ends. What is between them is one damaged packet. A packet that is too long
takes in the next ones, which look like its field 1: a packet has one kind of data, and these would
be more. So those are looked into, too. The work is bounded: at most `MOST_CHECKS` positions of a
file are looked at, with at most `_MOST_FIELDS` fields each.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

import numpy as np

from viewer.arrays import Ints
from viewer.codecs.protobuf.fields import LENGTH_DELIMITED, VARINT, Fields, varint_at
from viewer.codecs.protobuf.reader import PaddedBytes
from viewer.dataclasses import dataclass

DAMAGED = "damaged packets: left out"
REST_LOST = "invalid or truncated packet: the rest of the file is lost"
MOST_PACKET = 1 << 26
MOST_CHECKS = 1 << 18
_MOST_FIELDS = 64
_NEWEST, _MOST_FIELD = 138, 1000  # numbers that are known, and those that may come
_TAG = 1 << 3 | LENGTH_DELIMITED
# Fields of TracePacket: numbers, those that are beside its data, and those that nearly each has.
_NUMBERS = frozenset((3, 8, 10, 13, 41, 42, 58, 79, 87, 98))
_BESIDE = _NUMBERS | {12, 59}
_MARKS = frozenset((8, 10))
_AT_ONCE = 1 << 14  # bytes in which positions are looked for
_TAIL = 64  # bytes at the end of a block in which the start of a packet may not be recognized

Problem = Callable[[str, int, str], None]


@dataclass(frozen=True, slots=True)
class Spans:
    """Packets of a block: where the body of each begins and ends.

    starts: where each starts, or for packets one after another where the first one starts.
    """

    begin: Ints
    end: Ints
    starts: Ints | int = 0

    def __len__(self) -> int:
        return len(self.begin)

    @property
    def start(self) -> Ints:
        """Where each packet starts."""
        if isinstance(self.starts, int):
            return np.append(self.starts, self.end)[: len(self.end)]
        return self.starts

    def start_of(self, packet: int) -> int:
        """Where one packet starts."""
        if not isinstance(self.starts, int):
            return int(self.starts[packet])
        return int(self.end[packet - 1]) if packet else self.starts

    def part(self, first: int, last: int) -> Spans:
        """The packets first .. last-1."""
        starts = self.starts
        if not isinstance(starts, int):
            starts = starts[first:last]
        elif first < len(self):
            starts = self.start_of(first)
        return Spans(self.begin[first:last], self.end[first:last], starts)

    @staticmethod
    def joined(parts: list[Spans]) -> Spans:
        """The packets of several parts."""
        if len(parts) == 1:
            return parts[0]
        begin, end, start = zip(
            *((part.begin, part.end, part.start) for part in parts), strict=True
        )
        return Spans(np.concatenate(begin), np.concatenate(end), np.concatenate(start))

    @staticmethod
    def of(packets: list[tuple[int, int, int]]) -> Spans:
        """A list of packets: start, begin and end of each."""
        table = np.array(packets, np.int64).reshape(-1, 3)
        return Spans(table[:, 1], table[:, 2], table[:, 0])


def may_be(tag: int) -> bool:
    """Whether a packet may have a field with a tag: its number, and its type."""
    number, wire = tag >> 3, tag & 7
    if number > _NEWEST:
        return number <= _MOST_FIELD and wire in (VARINT, LENGTH_DELIMITED)
    return number > 0 and wire == (VARINT if number in _NUMBERS else LENGTH_DELIMITED)


def packet_at(data: bytes | memoryview, position: int, limit: int) -> tuple[int, bool]:
    """The end of the packet that may start at a position, and whether it has what most have.

    -1 if none can start there. An end beyond the limit is that of a packet whose fields up to there
    are possible.
    """
    length, width = varint_at(data, position + 1)
    if data[position] != _TAG or (not width and position + 11 <= limit) or length > MOST_PACKET:
        return -1, False
    here = position + 1 + width
    end = here + length
    if not width or here > limit:
        return limit + 1, False
    stop = min(end, limit)
    has_data = is_marked = False
    for _ in range(_MOST_FIELDS):
        if here >= stop:
            break
        tag, width = varint_at(data, here)
        number, wire = tag >> 3, tag & 7
        value, more = varint_at(data, here + width)
        if here + width + more > limit or (not width and here + 10 > limit):
            return (end, is_marked) if end > limit else (-1, False)
        if not width or not more or not may_be(tag):
            return -1, False
        if number not in _BESIDE:
            if has_data:
                return -1, False
            has_data = True
        is_marked |= number in _MARKS or number > 15
        here += width + more + (value if wire == LENGTH_DELIMITED else 0)
        if here > end:
            return -1, False
    return end, is_marked


# Whether a byte may be the first one of a packet with fields.
_FIRST = np.array([byte >= 0x80 or may_be(byte) for byte in range(256)])


class PacketFinder:
    """Finds the packets of one file, or of one compressed packet, block by block."""

    def __init__(self, problem: Problem, checks: Checks, *, is_partial: bool = False) -> None:
        """is_partial: the file is cut on purpose, so that its end is no damage."""
        self._problem, self._checks, self._is_partial = problem, checks, is_partial
        self._lost = -1  # where damage starts after which no packet is found yet
        self._is_zero = False  # there are only zeros since then, as at the end of some files

    def packets(self, block: PaddedBytes, place: int, *, is_last: bool) -> tuple[Spans, int]:
        """The packets of a block, and where what is not read yet starts. place: of its first byte.

        is_last: no more bytes follow.
        """
        data, size, parts, position = block.data.data, block.size, list[Spans](), 0
        if self._lost >= 0:
            self._is_zero &= not block.data[:size].any()
            if self._is_zero:
                return Spans.of([]), size
            position = self._next(block, 0, size, is_last=is_last)
            if position < 0:
                if is_last:
                    self._problem(REST_LOST, 1, f"byte {self._lost}")
                return Spans.of([]), size if is_last else max(size - _TAIL, 0)
            self._problem(DAMAGED, 1, f"byte {self._lost} to {place + position}")
            self._lost = -1
        while True:
            spans, stop = self._chain(block, position)
            if stop < size and not is_last and not block.data[stop:size].any():
                self._lost, self._is_zero = place + stop, True
                return Spans.joined([*parts, spans]), size
            is_end = stop == size or self._is_at_end(block, stop, is_last)
            good, damage = _without_impossible(data, spans, stop, size)
            if is_end and damage == stop:
                parts.append(spans)
                break
            self._checks.take(len(spans) - len(good))
            # The last packet may have taken in the start of the next one.
            before = good.start_of(len(good) - 1) if len(good) else damage
            position = self._next(block, before + 1, size, is_last=is_last)
            if is_end and not 0 <= position < stop:
                parts.append(spans)  # it is damaged in itself
                break
            if 0 <= position < damage:
                good, damage = good.part(0, len(good) - 1), before
            parts.append(good)
            if position < 0 and is_last:
                if not self._is_partial or packet_at(data, damage, size)[0] <= size:
                    self._problem(REST_LOST, 1, f"byte {place + damage}")
                stop = size
                break
            if position < 0:
                self._lost, stop = place + damage, max(damage + 1, size - _TAIL)
                break
            self._problem(DAMAGED, 1, f"byte {place + damage} to {place + position}")
        return Spans.joined(parts), stop

    def _is_at_end(self, block: PaddedBytes, stop: int, is_last: bool) -> bool:
        """Whether a block ends as it may: in the middle of a packet, or in zeros of the file."""
        data, size = block.data.data, block.size
        if is_last and not block.data[stop:size].any():
            return True
        if is_last and not self._is_partial:
            return False
        return packet_at(data, stop, size)[0] > size

    @staticmethod
    def _chain(block: PaddedBytes, position: int) -> tuple[Spans, int]:
        """The packets from a position on, and where they end."""
        begin, end, stop = block.records(position)
        return Spans(begin, end, position), stop

    def _next(self, block: PaddedBytes, first: int, limit: int, *, is_last: bool) -> int:
        """The first position from which packets go on, -1 if there is none before the limit."""
        data = block.data.data
        for start in _starts(block, first, limit):
            if not self._checks.take():
                return -1
            end, is_marked = packet_at(data, start, limit)
            if not is_marked or (end > limit and is_last):
                continue
            if end >= limit or packet_at(data, end, limit)[0] > 0:
                return start
        return -1

    # -- packets that took in others -------------------------------------------------------------

    def looked_into(
        self, block: PaddedBytes, spans: Spans, fields: Fields, place: int
    ) -> Spans | None:
        """The packets, with those in place of them that impossible ones took in; None if none did.

        fields: of the packets.
        """
        strange = _strange(fields, len(spans))
        if not len(strange):
            return None
        parts, done, is_changed = list[Spans](), 0, False
        edges = np.flatnonzero(np.append(True, np.diff(strange) > 1))
        for first, last in zip(strange[edges], strange[np.append(edges[1:], 0) - 1], strict=True):
            start, end = spans.start_of(int(first)), int(spans.end[last])
            inside = self._inside(block, start + 1, end)
            if inside:
                self._problem(DAMAGED, 1, f"byte {place + start}")
                parts += [spans.part(done, int(first)), Spans.of(inside)]
                done, is_changed = int(last) + 1, True
        return Spans.joined([*parts, spans.part(done, len(spans))]) if is_changed else None

    def _inside(self, block: PaddedBytes, first: int, limit: int) -> list[tuple[int, int, int]]:
        data, packets = block.data.data, list[tuple[int, int, int]]()
        while (position := self._next(block, first, limit, is_last=True)) >= 0:
            while position < limit and 0 < (end := packet_at(data, position, limit)[0]) <= limit:
                packets.append((position, position + 1 + varint_at(data, position + 1)[1], end))
                position = end
            first = position + 1
        return packets


class Checks:
    """How many positions of a file may still be looked at."""

    def __init__(self) -> None:
        self._left = MOST_CHECKS

    def take(self, count: int = 1) -> bool:
        """Whether some more may be."""
        self._left -= count
        return self._left >= 0


def _without_impossible(
    data: bytes | memoryview, spans: Spans, stop: int, size: int
) -> tuple[Spans, int]:
    """Packets without the impossible ones at their end, and the start of the damage."""

    def is_possible(packet: int) -> bool:
        return packet_at(data, spans.start_of(packet), size)[0] == int(spans.end[packet])

    count, step = len(spans), 1
    while count and not is_possible(count - 1):
        count, step = max(count - step, 0), 2 * step
    while count < len(spans) and is_possible(count):
        count += 1
    return spans.part(0, count), spans.start_of(count) if count < len(spans) else stop


def _starts(block: PaddedBytes, first: int, limit: int) -> Iterator[int]:
    """The positions at which a packet may start whose first field fits into it."""
    for begin in range(first, limit, _AT_ONCE):
        positions = begin + np.flatnonzero(block.data[begin : min(begin + _AT_ONCE, limit)] == _TAG)
        length, tag, inner = (block.data[positions + k].astype(np.int16) for k in (1, 2, 3))
        is_short = (length < 0x80) & (tag < 0x80) & ((tag & 7) == LENGTH_DELIMITED)
        fits = ~is_short | (inner >= 0x80) | (inner + 2 <= length)
        yield from positions[fits & ((length >= 0x80) | _FIRST[tag])].tolist()


def _strange(fields: Fields, count: int) -> Ints:
    """The packets that are damaged, have a field of a wrong type, or several kinds of data."""
    strange = [fields.damaged]
    data: list[Ints] = []
    for tag, field in fields.by_tag.items():
        number = tag >> 3
        if not may_be(tag):
            strange.append(field.owner)
        elif number not in _BESIDE:
            data.append(field.owner)
            if not field.is_single:
                strange.append(np.flatnonzero(np.bincount(field.owner, minlength=count) > 1))
    if len(data) > 1:
        kinds = np.zeros(count, np.int8)
        for owner in data:
            kinds[owner] += 1
        strange.append(np.flatnonzero(kinds > 1))
    return np.unique(np.concatenate(strange)) if any(map(len, strange)) else strange[0]
