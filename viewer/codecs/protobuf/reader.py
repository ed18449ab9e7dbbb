"""Reads many protobuf messages at once as numpy columns; the counterpart of `writer`.

Many messages are walked in step: one round reads the next field of every message that has one, so
the cost is per field of the longest message and not per message. This module knows no schema. Every
length is checked against the end of its message before it is followed. A damaged message ends where
the damage is, and is reported. Format: https://protobuf.dev/programming-guides/encoding/
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Container

import numpy as np
from numpy.typing import NDArray

from viewer.arrays import Ints
from viewer.codecs.protobuf.fields import (
    FIXED32,
    FIXED64,
    LENGTH_DELIMITED,
    VARINT,
    Alike,
    Columns,
    Field,
    Fields,
    LayoutField,
    MessageGroup,
    MessageLayouts,
    Wanted,
    Words,
    joined,
    packed,
    varint_at,
)
from viewer.dataclasses import replace

PADDING = 24  # bytes after a block, so that a word can be read at its last byte

_MSB = np.uint64(0x8080808080808080)
_ONES = np.uint64(0x0101010101010101)
_LOW7 = np.uint64(0x7F7F7F7F7F7F7F7F)
_FEW = 48  # messages that are read one by one: a round over fewer costs more
_TAG = 1 << 3 | LENGTH_DELIMITED


def padded(data: bytes | bytearray | memoryview) -> NDArray[np.uint8]:
    """Copy bytes to an array with `PADDING` at the end, as `PaddedBytes` requires."""
    out = np.zeros(len(data) + PADDING, np.uint8)
    out[: len(data)] = np.frombuffer(data, np.uint8)
    return out


def signed(values: Words) -> Ints:
    """Varints of an int64 or int32 field as signed numbers."""
    return values.view(np.int64)


class PaddedBytes:
    """Bytes followed by `PADDING` more."""

    def __init__(self, data: NDArray[np.uint8]) -> None:
        self.size = len(data) - PADDING
        self.data = data
        # One word at every byte position; numpy copies unaligned words.
        self._runs: _Runs | None = None
        self._words: Words = np.ndarray((len(data) - 7,), "<u8", data.data, strides=(1,))

    # -- finding messages ------------------------------------------------------------------------

    def records(self, first: int = 0) -> tuple[Ints, Ints, int]:
        """Find the messages of field 1 one after another from `first` on: (starts, ends, stop).

        `stop` is the end of the block, or where anything else starts: an incomplete message,
        another field, or damage. Calling it again from another place costs little.
        """
        if self._runs is None:
            self._runs = _Runs(*self._candidates())
        runs, data, size = self._runs, self.data.data, self.size
        begins: list[Ints] = []
        ends: list[Ints] = []
        position, which, here = first, 0, _place(runs.tags, first)
        while position < size:
            if here >= 0:
                which = bisect_left(runs.last, here, which)
                run = slice(here, runs.last[which] + 1)
                begins.append(runs.begins[run])
                ends.append(runs.ends[run])
                position, here = runs.after[which], runs.heads[which]
                continue
            # Others are followed by what is no message, or not by two.
            end = _after_message(data, position, size)
            if end < 0:
                break
            begins.append(np.array([position + 1 + varint_at(data, position + 1)[1]]))
            ends.append(np.array([end]))
            position, here = end, _place(runs.tags, end)
        return _joined(begins), _joined(ends), position

    def _candidates(self) -> tuple[Ints, Ints, Ints]:
        """Possible messages: positions of their tags, starts of their bodies, and ends.

        Each must be followed by the end of the block, or by another such message for which the same
        holds. Without the second check, a tenth of the bytes that look like the tag would pass.
        """
        size = self.size
        tags = np.flatnonzero(self.data[: max(size - 1, 0)] == _TAG)
        length, width = self.data[tags + 1].astype(np.int64), np.ones(len(tags), np.int64)
        long = np.flatnonzero(length > 0x7F)
        if len(long):
            value, width[long] = self._varints(tags[long] + 1)
            length[long] = np.minimum(value, np.uint64(size + 1)).view(np.int64)
        begins = tags + 1
        begins += width
        ends = begins + length
        good = (width > 0) & (ends <= size)
        if not good.all():
            tags, begins, ends = tags[good], begins[good], ends[good]
        more = self.data[np.minimum(ends + 1, size)].astype(np.int64)
        far = np.minimum(ends + 2 + more, size)
        good = (self.data[far] == _TAG) | (more > 0x7F) | (far == size)
        good &= self.data[ends] == _TAG
        good |= ends == size
        return tags[good], begins[good], ends[good]

    # -- reading fields --------------------------------------------------------------------------

    def fields(self, begin: Ints, end: Ints, wanted: Container[int]) -> Fields:
        """The fields of the messages at begin .. end, only those with wanted tags."""
        return self._walked(begin, end, wanted, None)

    def fields_alike(self, begin: Ints, end: Ints, layouts: MessageLayouts) -> Fields:
        """The fields of many messages, of which most have one of a few layouts.

        Those that `layouts.wanted` names, also of messages in them (`Field.inside`).
        """
        alike, left = layouts.group(self.data, begin, end)
        if not alike and layouts.outer is not None:
            return self.fields_alike(begin, end, layouts.outer)
        rest = self._walked(begin, end, layouts.wanted.tags, left)
        if not alike:
            return rest
        parts = [
            (message_group, message_group.layout.fields, message_group.rows)
            for message_group in alike
        ]
        return self._in_columns(begin, parts, rest, layouts.wanted)

    def _in_columns(
        self,
        begin: Ints,
        parts: list[tuple[MessageGroup, tuple[LayoutField, ...], Ints]],
        rest: Fields,
        wanted: Wanted,
    ) -> Fields:
        """Columns of the messages at `begin`, from those of groups and the rest.

        parts: messages of one layout, their fields there, and their rows.
        """
        repeated = {tag for tag, field in rest.by_tag.items() if not field.is_single}
        alike: dict[int, list[Alike]] = {}
        others = []
        for message_group, fields, rows in parts:
            for tag in _alike_tags(fields, wanted):
                inside = [
                    self._numbers(layout_field, message_group)
                    for layout_field in fields
                    if layout_field.tag == tag
                ]
                alike.setdefault(tag, []).append(Alike(rows, tuple(inside)))
                fields = tuple(field for field in fields if field.tag != tag)
            tags = [field.tag for field in fields]
            repeated.update(tag for tag in tags if tags.count(tag) > 1)
            others.append((message_group, fields, rows))
        columns = Columns(begin, repeated)
        inner: dict[int, list[tuple[MessageGroup, tuple[LayoutField, ...] | None, Ints]]] = {}
        for message_group, fields, rows in others:
            for field in fields:
                if field.tag in wanted.tags:
                    value, positions = self._values_of(field, message_group)
                    place = columns.put(field.tag, rows, value, positions)
                    if field.tag in wanted.inside:
                        inner.setdefault(field.tag, []).append((message_group, field.inside, place))
        for tag, rest_field in rest.by_tag.items():
            if len(rest_field):
                place = columns.put(tag, rest_field.owner, rest_field.value, rest_field.at)
                if tag in inner:
                    inner[tag].append((parts[0][0], None, place))
        by_tag = columns.fields()
        for tag, of in inner.items():
            count = 0 if tag in repeated else len(begin)
            by_tag[tag] = self._looked_into(by_tag[tag], count, of, wanted.inside[tag])
        for tag, groups in alike.items():
            by_tag[tag] = replace(by_tag.get(tag, Field.none()), alike=tuple(groups))
        return Fields(by_tag, rest.damaged)

    def _numbers(self, field: LayoutField, message_group: MessageGroup) -> dict[int, Words]:
        """The numbers of the message in a field, by tag."""
        by_tag = {}
        for layout_field in field.inside or ():
            value, _ = self._values_of(layout_field, message_group)
            assert not isinstance(value, int)
            by_tag[layout_field.tag] = value
        return by_tag

    def _values_of(
        self, field: LayoutField, message_group: MessageGroup
    ) -> tuple[Words | int, Ints]:
        """The values of a field in messages of one layout, and their positions."""
        positions, wire = message_group.at, field.tag & 7
        if wire == LENGTH_DELIMITED:
            return field.size, positions + field.begin
        if wire == VARINT:
            number = message_group.number(field.begin, field.size)
            return self._varints(positions + field.begin)[
                0
            ] if number is None else number, positions
        word = self._words[positions + field.begin]
        return word if wire == FIXED64 else word & np.uint64(0xFFFFFFFF), positions

    def _looked_into(
        self,
        field: Field,
        messages: int,
        parts: list[tuple[MessageGroup, tuple[LayoutField, ...] | None, Ints]],
        wanted: Wanted,
    ) -> Field:
        """A field with the fields of the messages in it.

        parts: groups of occurrences, their fields if the layout has them, and their places: among
        the messages around them, or among the occurrences if `messages`, the number of the former,
        is 0.
        """
        rank: Ints | None = None
        if len(field) < messages:
            rank = np.empty(messages, np.int64)
            rank[field.owner] = np.arange(len(field))
        grouped, others = [], []
        for message_group, fields, place in parts:
            rows = place if rank is None else rank[place]
            if fields is None:
                others.append(rows)
            else:
                grouped.append((message_group, fields, rows))
        left = np.sort(np.concatenate(others)) if others else np.empty(0, np.int64)
        left = left[field.value[left] > 0]
        rest = self._walked(field.at, field.end, wanted.tags, left)
        return replace(field, inside=self._in_columns(field.at, grouped, rest, wanted))

    def _walked(
        self, begin: Ints, end: Ints, wanted: Container[int], messages: Ints | None
    ) -> Fields:
        """The fields of some messages (None: all). Each round reads one field per message."""
        parts_by_tag: dict[int, list[tuple[Ints, Words, Ints]]] = {}
        damaged: list[Ints] = []
        live = np.flatnonzero(end > begin) if messages is None else messages
        positions, stop = begin[live], end[live]
        while len(live) > _FEW:
            word = self._words[positions]
            tag, tag_width = word & np.uint64(0xFF), 1
            if ((word & np.uint64(0x80)) != 0).any():
                tag, widths = _from_word(word)
                value, width = self._varints(positions + widths)
                head: Ints | int = widths
                bad = (widths == 0) | (tag > np.uint64(0xFFFFFFFF))
            else:
                value, width = _from_word(word >> np.uint64(8))
                if (width == 0).any() or int(width.max()) > 7:
                    far = np.flatnonzero((width == 0) | (width > 7))
                    value[far], width[far] = self._varints(positions[far] + 1)
                head = tag_width
                bad = None
            first = tag[0]
            payload = positions + head
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
                    after = np.full(len(positions), -1, np.int64)
                    width = np.zeros(len(positions), np.int64)
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
                    parts_by_tag.setdefault(int(first), []).append(item)
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
                        parts_by_tag.setdefault(number, []).append(
                            (live[rows], value[rows], payload[rows])
                        )
            unfinished = after < stop
            if wrong.any():
                damaged.append(live[wrong])
                unfinished &= ~wrong
            if unfinished.all():
                positions = after
            else:
                live, positions, stop = live[unfinished], after[unfinished], stop[unfinished]
        if len(live):
            damaged.append(self._one_by_one(live, positions, stop, wanted, parts_by_tag))
        return Fields(
            {tag: joined(parts) for tag, parts in parts_by_tag.items()},
            np.concatenate(damaged) if damaged else np.empty(0, np.int64),
        )

    def _one_by_one(
        self,
        live: Ints,
        positions: Ints,
        stop: Ints,
        wanted: Container[int],
        parts_by_tag: dict[int, list[tuple[Ints, Words, Ints]]],
    ) -> Ints:
        """Read the rest of a few messages into `parts_by_tag`; the indices of damaged ones."""
        data = self.data.data
        parts: dict[int, tuple[list[int], list[int], list[int]]] = {}
        damaged = []
        for owner, here, end in zip(live.tolist(), positions.tolist(), stop.tolist(), strict=True):
            while here < end:
                tag, width = varint_at(data, here)
                here += width
                wire = tag & 7
                value, width = 0, 8 if wire == FIXED64 else 4
                if wire in (VARINT, LENGTH_DELIMITED):
                    value, width = varint_at(data, here)
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
            parts_by_tag.setdefault(tag, []).append(
                (where[0], np.array(values, np.uint64), where[1])
            )
        return np.array(damaged, np.int64)

    def _varints(self, positions: Ints) -> tuple[Words, Ints]:
        """Varints at positions in the block and their widths; width 0 where invalid."""
        value, width = _from_word(self._words[positions])
        if len(width) and int(width.min()) == 0:
            far = np.flatnonzero(width == 0)
            # Nine or ten bytes: the first eight hold 56 bits.
            more = self._words[positions[far] + 8]
            ninth, tenth = more & np.uint64(0x7F), (more >> np.uint64(8)) & np.uint64(1)
            is_nine = (more & np.uint64(0x80)) == 0
            is_ten = ~is_nine & ((more & np.uint64(0x8000)) == 0)
            low = packed(self._words[positions[far]] & _LOW7)
            value[far] = (
                low
                | ninth << np.uint64(56)
                | np.where(is_ten, tenth, np.uint64(0)) << np.uint64(63)
            )
            width[far] = np.where(is_nine, 9, np.where(is_ten, 10, 0))
        return value, width

    def varint_lists(self, spans: Field) -> tuple[Ints, Words]:
        """The numbers of packed lists: the owner and value of each."""
        owners: list[int] = []
        values: list[int] = []
        data = self.data.data
        for owner, here, end in zip(
            spans.owner.tolist(), spans.at.tolist(), spans.end.tolist(), strict=True
        ):
            while here < end:
                value, width = varint_at(data, here)
                if not width:
                    break
                owners.append(owner)
                values.append(value)
                here += width
        return np.array(owners, np.int64), np.array(values, np.uint64)


def _alike_tags(fields: tuple[LayoutField, ...], wanted: Wanted) -> set[int]:
    """The tags of which all messages in a layout can be read as `Alike`."""
    tags = {field.tag for field in fields if field.tag in wanted.alike}
    return tags - {field.tag for field in fields if not field.has_numbers()}


class _Runs:
    """Possible messages of a block, many of which end where the next one starts.

    tags, begins, ends: as of `PaddedBytes._candidates`. Of each run of such messages: the last one,
    the position after it, and the message there, -1 if there is none.
    """

    def __init__(self, tags: Ints, begins: Ints, ends: Ints) -> None:
        self.tags, self.begins, self.ends = tags, begins, ends
        last = np.flatnonzero(np.append(ends[:-1] != tags[1:], True)) if len(tags) else tags
        after = ends[last]
        heads = np.searchsorted(tags, after)
        heads = np.where(np.append(tags, -1)[heads] == after, heads, -1)
        self.last: list[int] = last.tolist()
        self.after: list[int] = after.tolist()
        self.heads: list[int] = heads.tolist()


def _place(numbers: Ints, number: int) -> int:
    """The index of a number in an ascending array, or -1."""
    index = int(np.searchsorted(numbers, number))
    return index if index < len(numbers) and numbers[index] == number else -1


def _joined(parts: list[Ints]) -> Ints:
    return parts[0] if len(parts) == 1 else np.concatenate([np.empty(0, np.int64), *parts])


def _from_word(word: Words) -> tuple[Words, Ints]:
    """The varint at the start of each word and its width; width 0 if it does not end in the word.

    The first byte whose top bit is clear ends it.
    """
    ends = ~word & _MSB
    if (ends & np.uint64(0x80)).all():
        return word & np.uint64(0x7F), np.ones(len(word), np.int64)
    below = (ends & (~ends + np.uint64(1))) - np.uint64(1)
    width = (((below & _ONES) * _ONES) >> np.uint64(56)).view(np.int64)
    value = packed(word & below & _LOW7)
    missing = ends == 0
    if missing.any():
        width[missing] = 0
    return value, width


def _after_message(data: bytes | memoryview, position: int, size: int) -> int:
    """The end of a message of field 1; -1 if there is none at a position, or it is incomplete."""
    length, width = varint_at(data, position + 1)
    end = position + 1 + width + length
    return end if data[position] == _TAG and width and end <= size else -1
