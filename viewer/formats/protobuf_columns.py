"""Many protobuf messages at once, as numpy columns: the mirror of `export.protobuf_encoder`.

`Block` holds bytes. `Block.records` finds where the messages of a repeated field begin, and
`Block.fields` walks many messages in step: one round reads the next field of every message that has
one more, so the cost is per field of the longest message and not per message. Nothing is known of a
schema here; wire format: https://protobuf.dev/programming-guides/encoding/

Every length is checked against the end of its message before it is followed. A message that is
damaged ends where the damage is, and is reported by its number.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Container
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from viewer.model.trace import Bools, Ints

Words = NDArray[np.uint64]

VARINT, FIXED64, LENGTH_DELIMITED, FIXED32 = 0, 1, 2, 5
PADDING = 24  # bytes behind a block, so that a word can be read at its last byte

_MSB = np.uint64(0x8080808080808080)
_ONES = np.uint64(0x0101010101010101)
_LOW7 = np.uint64(0x7F7F7F7F7F7F7F7F)
_FEW = 48  # messages that go one by one: a round over fewer costs more than they do
_TAG = 1 << 3 | LENGTH_DELIMITED


@dataclass(frozen=True, slots=True)
class Field:
    """All occurrences of one field: in which message, its number or its length, and where.

    owner: the message, in no order but that of the fields in it. value: the number, or for a
    length-delimited field the bytes in it. at: position of the number or of the first such byte.
    """

    owner: Ints
    value: Words
    at: Ints

    @staticmethod
    def none() -> Field:
        """No occurrence."""
        return Field(np.empty(0, np.int64), np.empty(0, np.uint64), np.empty(0, np.int64))

    def __len__(self) -> int:
        return len(self.owner)

    @property
    def end(self) -> Ints:
        """The position after each, if they are length-delimited."""
        return self.at + self.value.view(np.int64)

    def taken(self, which: Ints | Bools) -> Field:
        """Some of the occurrences."""
        return Field(self.owner[which], self.value[which], self.at[which])

    def sorted(self) -> Field:
        """In the order of the messages, and in each in the order of the file."""
        if len(self.at) < 2 or (self.at[1:] >= self.at[:-1]).all():
            return self
        return self.taken(np.argsort(self.at, kind="stable"))


@dataclass(frozen=True, slots=True)
class Fields:
    """The fields of many messages by tag, `field << 3 | wire type`; damaged: such messages."""

    by_tag: dict[int, Field]
    damaged: Ints

    def get(self, field: int, wire_type: int) -> Field:
        """All occurrences of a field of one wire type; others of that number are another field."""
        found = self.by_tag.get(field << 3 | wire_type)
        return Field.none() if found is None else found


def padded(data: bytes | bytearray | memoryview) -> NDArray[np.uint8]:
    """Bytes with room behind them, as a Block wants them."""
    out = np.zeros(len(data) + PADDING, np.uint8)
    out[: len(data)] = np.frombuffer(data, np.uint8)
    return out


def signed(values: Words) -> Ints:
    """Varints of an int64 or int32 field."""
    return values.view(np.int64)


class Block:
    """Bytes with `PADDING` behind them."""

    def __init__(self, data: NDArray[np.uint8]) -> None:
        self.size = len(data) - PADDING
        self.data = data
        # One word at every byte; numpy copies what is not aligned.
        self._words: Words = np.ndarray((len(data) - 7,), "<u8", data.data, strides=(1,))

    # -- where messages are ----------------------------------------------------------------------

    def records(self, first: int = 0) -> tuple[Ints, Ints, int]:
        """Begin and end of the bodies of field 1 of a message that begins at `first`, and where
        the search ended: the end of the block, the begin of one that is cut off, or damage.

        Other fields are passed over.
        """
        data, size = self.data.data, self.size
        # What may be a message: it begins with the tag, and another one or the end comes after it.
        tags = np.flatnonzero(self.data[: max(size - 1, 0)] == _TAG)
        length, width = self._varints(tags + 1)
        fits = (width > 0) & (length <= np.uint64(size))
        tags, length, width = tags[fits], length[fits], width[fits]
        ends = tags + 1 + width + length.view(np.int64)
        followed = ends <= size
        followed[followed] = (self.data[ends[followed]] == _TAG) | (ends[followed] == size)
        tags, ends, width = tags[followed], ends[followed], width[followed]
        number = np.full(size + 1, -1, np.int32)
        number[tags] = np.arange(len(tags), dtype=np.int32)
        # Nearly all of them are messages, each of which ends where the next one begins: only at
        # the others must be asked where to go on.
        breaks = np.flatnonzero(number[ends] != np.arange(1, len(tags) + 1))
        stops, goals = breaks.tolist(), ends[breaks].tolist()
        runs: list[tuple[int, int]] = []
        alone: list[int] = []
        at, which = first, 0
        while at < size:
            here = int(number[at])
            if here >= 0:
                which = bisect_left(stops, here, which)
                runs.append((here, stops[which] + 1))
                at = goals[which]
                continue
            end = _after_field(data, at, size)
            if end < 0:
                break
            if data[at] == _TAG:
                alone.append(at)
            at = end
        chosen = np.zeros(len(tags), np.bool_)
        for begin, end in runs:
            chosen[begin:end] = True
        begins, stop = (tags + 1 + width)[chosen], ends[chosen]
        if alone:
            more = np.array(alone, np.int64)
            length, width = self._varints(more + 1)
            more += 1 + width
            order = np.argsort(joined := np.concatenate([begins, more]), kind="stable")
            stop = np.concatenate([stop, more + length.view(np.int64)])[order]
            begins = joined[order]
        return begins, stop, at

    def cut_off(self) -> tuple[int, int]:
        """Begin and end of the body of a message of field 1 at byte 0; 0, 0 if there is none."""
        length, width = _varint_at(self.data.data, 1)
        if not self.size or self.data[0] != _TAG or not width:
            return 0, 0
        return 1 + width, 1 + width + length

    # -- what is in them -------------------------------------------------------------------------

    def fields(self, begin: Ints, end: Ints, wanted: Container[int]) -> Fields:
        """The fields of messages that lie at begin .. end, of the wanted tags only."""
        found: dict[int, list[tuple[Ints, Words, Ints]]] = {}
        damaged: list[Ints] = []
        live = np.flatnonzero(end > begin)
        at, stop = begin[live], end[live]
        while len(live) > _FEW:
            word = self._words[at]
            tag, tag_width = word & np.uint64(0xFF), 1
            if ((word & np.uint64(0x80)) != 0).any():
                tag, widths = _from_word(word)
                value, width = self._varints(at + widths)
                head: Ints | int = widths
                bad = (widths == 0) | (tag > np.uint64(0xFFFFFFFF))
            else:
                value, width = _from_word(word >> np.uint64(8))
                if (width == 0).any() or int(width.max()) > 7:
                    far = np.flatnonzero((width == 0) | (width > 7))
                    value[far], width[far] = self._varints(at[far] + 1)
                head = tag_width
                bad = None
            first = tag[0]
            payload = at + head
            if (tag == first).all():
                wire = int(first) & 7
                if wire == VARINT:
                    after = payload + width
                elif wire == LENGTH_DELIMITED:
                    payload = payload + width
                    after = payload + np.minimum(value, np.uint64(1 << 62)).view(np.int64)
                elif wire == FIXED64:
                    value, after = self._words[payload], payload + 8
                elif wire == FIXED32:
                    value = self._words[payload] & np.uint64(0xFFFFFFFF)
                    after = payload + 4
                else:
                    after = np.full(len(at), -1, np.int64)
                    width = np.zeros(len(at), np.int64)
                wrong = (after > stop) | (after < 0)
                if wire in (VARINT, LENGTH_DELIMITED):
                    wrong |= width == 0
                if bad is not None:
                    wrong |= bad
                if int(first) >> 3 == 0:
                    wrong[:] = True
                if int(first) in wanted:
                    item = (live, value, payload)
                    if wrong.any():
                        item = (live[~wrong], value[~wrong], payload[~wrong])
                    found.setdefault(int(first), []).append(item)
            else:
                wire_type = tag & np.uint64(7)
                is_long = wire_type == np.uint64(LENGTH_DELIMITED)
                after = payload + width
                limited = np.minimum(value, np.uint64(1 << 62)).view(np.int64)
                payload = np.where(is_long, after, payload)
                after = np.where(is_long, after + limited, after)
                wrong = width == 0
                for fixed, size in ((FIXED64, 8), (FIXED32, 4)):
                    rows = np.flatnonzero(wire_type == np.uint64(fixed))
                    if len(rows):
                        value[rows] = self._words[payload[rows]]
                        after[rows] = payload[rows] + size
                        wrong[rows] = False
                        if size == 4:
                            value[rows] &= np.uint64(0xFFFFFFFF)
                wrong |= (
                    (after > stop)
                    | (wire_type == np.uint64(3))
                    | (wire_type == np.uint64(4))
                    | (wire_type > np.uint64(5))
                    | (tag < np.uint64(8))
                )
                if bad is not None:
                    wrong |= bad
                short = np.where(wrong, np.uint64(0), np.minimum(tag, np.uint64(0xFFFF)))
                for number in np.flatnonzero(np.bincount(short.view(np.int64))).tolist():
                    if number in wanted:
                        rows = np.flatnonzero(short == np.uint64(number))
                        found.setdefault(number, []).append(
                            (live[rows], value[rows], payload[rows])
                        )
            going = after < stop
            if wrong.any():
                damaged.append(live[wrong])
                going &= ~wrong
            if going.all():
                at = after
            else:
                live, at, stop = live[going], after[going], stop[going]
        if len(live):
            damaged.append(self._one_by_one(live, at, stop, wanted, found))
        return Fields(
            {tag: _joined(parts) for tag, parts in found.items()},
            np.concatenate(damaged) if damaged else np.empty(0, np.int64),
        )

    def _one_by_one(
        self,
        live: Ints,
        at: Ints,
        stop: Ints,
        wanted: Container[int],
        found: dict[int, list[tuple[Ints, Words, Ints]]],
    ) -> Ints:
        """The rest of a few messages; adds to `found`, gives those that are damaged."""
        data = self.data.data
        parts: dict[int, tuple[list[int], list[int], list[int]]] = {}
        damaged = []
        for owner, here, end in zip(live.tolist(), at.tolist(), stop.tolist(), strict=True):
            while here < end:
                tag, width = _varint_at(data, here)
                here += width
                wire = tag & 7
                value, width = 0, 8 if wire == FIXED64 else 4
                if wire in (VARINT, LENGTH_DELIMITED):
                    value, width = _varint_at(data, here)
                payload = here + width if wire == LENGTH_DELIMITED else here
                after = here + width + (value if wire == LENGTH_DELIMITED else 0)
                if not 8 <= tag <= 0xFFFFFFFF or not width or wire in (3, 4, 6, 7) or after > end:
                    damaged.append(owner)
                    break
                if tag in wanted:
                    if wire in (FIXED64, FIXED32):
                        value = int.from_bytes(data[here:after], "little")
                    owners, values, places = parts.setdefault(tag, ([], [], []))
                    owners.append(owner)
                    values.append(value)
                    places.append(payload)
                here = after
        for tag, (owners, values, places) in parts.items():
            where = np.array(owners, np.int64), np.array(places, np.int64)
            found.setdefault(tag, []).append((where[0], np.array(values, np.uint64), where[1]))
        return np.array(damaged, np.int64)

    def _varints(self, at: Ints) -> tuple[Words, Ints]:
        """Varints at positions in the block and their widths; width 0 where there is none."""
        value, width = _from_word(self._words[at])
        if len(width) and int(width.min()) == 0:
            far = np.flatnonzero(width == 0)
            # Nine or ten bytes: 56 bits stand in the first eight.
            more = self._words[at[far] + 8]
            ninth, tenth = more & np.uint64(0x7F), (more >> np.uint64(8)) & np.uint64(1)
            is_nine = (more & np.uint64(0x80)) == 0
            is_ten = ~is_nine & ((more & np.uint64(0x8000)) == 0)
            low = _packed(self._words[at[far]] & _LOW7)
            value[far] = (
                low
                | ninth << np.uint64(56)
                | np.where(is_ten, tenth, np.uint64(0)) << np.uint64(63)
            )
            width[far] = np.where(is_nine, 9, np.where(is_ten, 10, 0))
        return value, width

    def varint_lists(self, spans: Field) -> tuple[Ints, Words]:
        """The numbers of packed lists: the owner of each, and the number."""
        owners: list[int] = []
        values: list[int] = []
        data = self.data.data
        for owner, here, end in zip(
            spans.owner.tolist(), spans.at.tolist(), spans.end.tolist(), strict=True
        ):
            while here < end:
                value, width = _varint_at(data, here)
                if not width:
                    break
                owners.append(owner)
                values.append(value)
                here += width
        return np.array(owners, np.int64), np.array(values, np.uint64)


def _joined(parts: list[tuple[Ints, Words, Ints]]) -> Field:
    if len(parts) == 1:
        return Field(*parts[0])
    owner, value, at = zip(*parts, strict=True)
    return Field(np.concatenate(owner), np.concatenate(value), np.concatenate(at))


def _from_word(word: Words) -> tuple[Words, Ints]:
    """The varint that begins each word and its width; width 0 where it does not end in the word.

    The lowest byte without its top bit ends it.
    """
    ends = ~word & _MSB
    if (ends & np.uint64(0x80)).all():
        return word & np.uint64(0x7F), np.ones(len(word), np.int64)
    below = (ends & (~ends + np.uint64(1))) - np.uint64(1)
    width = (((below & _ONES) * _ONES) >> np.uint64(56)).view(np.int64)
    value = _packed(word & below & _LOW7)
    missing = ends == 0
    if missing.any():
        width[missing] = 0
    return value, width


def _packed(bits: Words) -> Words:
    """Eight times seven bits of a word side by side."""
    for mask, by in (
        (0x007F007F007F007F, 1),
        (0x00003FFF00003FFF, 2),
        (0x000000000FFFFFFF, 4),
    ):
        low = np.uint64(mask)
        high = np.uint64((mask << (8 * by)) & 0xFFFFFFFFFFFFFFFF)
        bits = (bits & low) | ((bits & high) >> np.uint64(by))
    return bits


def _varint_at(data: bytes | memoryview, at: int) -> tuple[int, int]:
    """One varint and its width; width 0 if it has more than ten bytes or the data ends before."""
    value = 0
    for k in range(min(10, len(data) - at)):
        byte = data[at + k]
        value |= (byte & 0x7F) << (7 * k)
        if byte < 0x80:
            return value & 0xFFFFFFFFFFFFFFFF, k + 1
    return 0, 0


def _after_field(data: bytes | memoryview, at: int, size: int) -> int:
    """Where a field other than the wanted one ends; -1 if it is damaged or cut off."""
    tag, width = _varint_at(data, at)
    wire = tag & 7
    at += width
    if not width or tag < 8:
        return -1
    value, more = 0, 8 if wire == FIXED64 else 4
    if wire in (VARINT, LENGTH_DELIMITED):
        value, more = _varint_at(data, at)
        if not more:
            return -1
    elif wire not in (FIXED64, FIXED32):
        return -1
    at += more + (value if wire == LENGTH_DELIMITED else 0)
    return at if at <= size else -1
