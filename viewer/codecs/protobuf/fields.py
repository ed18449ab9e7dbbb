"""Fields of many protobuf messages as numpy columns, and messages grouped by layout; for `reader`.

Messages of one layout have the same tags, number widths and lengths in the same order. Most
messages of a large file have one of a few layouts, because one place in a program wrote them. One
message of each kind is parsed in Python, with the messages in its fields (`Wanted.inside`).
Comparing whole words under a mask then finds all others with that layout. This takes a third of the
time of walking all messages in step (`reader`), which is left for the others.
"""

from __future__ import annotations

from collections.abc import Container, Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from viewer.arrays import Bools, Ints
from viewer.dataclasses import dataclass, field

Words = NDArray[np.uint64]

VARINT, FIXED64, LENGTH_DELIMITED, FIXED32 = 0, 1, 2, 5


def varint_at(data: bytes | memoryview, position: int) -> tuple[int, int]:
    """One varint and its width; width 0 if it exceeds ten bytes or the data ends inside it."""
    value = 0
    for k in range(min(10, len(data) - position)):
        byte = data[position + k]
        value |= (byte & 0x7F) << (7 * k)
        if byte < 0x80:
            return value & 0xFFFFFFFFFFFFFFFF, k + 1
    return 0, 0


def packed(bits: Words, size: int = 8) -> Words:
    """Join the low seven bits of up to eight bytes of each word, in place."""
    for mask, by in (
        (0x007F007F007F007F, 1),
        (0x00003FFF00003FFF, 2),
        (0x000000000FFFFFFF, 4),
    ):
        if by < size:
            low = np.uint64(mask)
            high = np.uint64((mask << (8 * by)) & 0xFFFFFFFFFFFFFFFF)
            upper = bits & high
            upper >>= np.uint64(by)
            bits &= low
            bits |= upper
    return bits


@dataclass(frozen=True, slots=True)
class Alike:
    """Messages of one layout, and the messages of numbers that each has in a field.

    owner: the index of each. inside: the messages in the field, in order: the numbers in them, by
    tag; none has a field twice.
    """

    owner: Ints
    inside: tuple[dict[int, Words], ...]


@dataclass(frozen=True, slots=True)
class Field:
    """All occurrences of one field: message, value and position of each.

    owner: index of the message; not sorted. value: the number, or the size in bytes of a
    length-delimited field. at: position of its first byte; for a number, any position in the
    message that is not before those of earlier fields. is_single: no message has the field twice,
    and the occurrences are in message order. inside: the fields of the messages in it, if they were
    read already; these are owned by its occurrences. alike: further occurrences, read layout by
    layout, if `Wanted.alike` asks for that.
    """

    owner: Ints
    value: Words
    at: Ints
    is_single: bool = False
    inside: Fields | None = None
    alike: tuple[Alike, ...] = ()

    @staticmethod
    def none() -> Field:
        """An empty field."""
        return Field(np.empty(0, np.int64), np.empty(0, np.uint64), np.empty(0, np.int64))

    def __len__(self) -> int:
        return len(self.owner)

    @property
    def end(self) -> Ints:
        """The end position of each occurrence; only for length-delimited fields."""
        return self.at + self.value.view(np.int64)

    def taken(self, which: Ints | Bools) -> Field:
        """A subset of the occurrences."""
        return Field(self.owner[which], self.value[which], self.at[which], False)

    def sorted(self) -> Field:
        """The occurrences in file order: by message, then by position."""
        if self.is_single or len(self.at) < 2 or (self.at[1:] >= self.at[:-1]).all():
            return self
        return self.taken(np.argsort(self.at, kind="stable"))


@dataclass(frozen=True, slots=True)
class Fields:
    """The fields of many messages by tag, `field << 3 | wire type`. damaged: message indices."""

    by_tag: dict[int, Field]
    damaged: Ints

    def get(self, field: int, wire_type: int) -> Field:
        """All occurrences of a field with one wire type. Other wire types are separate fields."""
        stored_field = self.by_tag.get(field << 3 | wire_type)
        return Field.none() if stored_field is None else stored_field


class Columns:
    """Fields of many messages, one column per tag, or parts for tags that a message repeats."""

    def __init__(self, begin: Ints, repeated: Container[int]) -> None:
        self._begin = begin
        self._repeated = repeated
        self._sizes: dict[int, int] = {}
        self._single: dict[int, tuple[Words, Ints | None, list[Ints]]] = {}
        self._parts: dict[int, list[tuple[Ints, Words, Ints]]] = {}

    def put(self, tag: int, rows: Ints, value: Words | int, positions: Ints) -> Ints:
        """Add a field of some messages.

        Returns these rows again, or the places of its occurrences if a message repeats the field.
        """
        if tag in self._repeated:
            if isinstance(value, int):
                value = np.full(len(rows), value, np.uint64)
            self._parts.setdefault(tag, []).append((rows, value, positions))
            first = self._sizes.get(tag, 0)
            self._sizes[tag] = first + len(rows)
            return np.arange(first, first + len(rows))
        column = self._single.get(tag)
        if column is None:
            count = len(self._begin)
            places = np.empty(count, np.int64) if tag & 7 == LENGTH_DELIMITED else None
            column = self._single[tag] = np.empty(count, np.uint64), places, []
        column[0][rows] = value
        if column[1] is not None:
            column[1][rows] = positions
        column[2].append(rows)
        return rows

    def fields(self) -> dict[int, Field]:
        """The added fields by tag."""
        by_tag, everything = {}, np.arange(len(self._begin))
        for tag, (value, places, parts) in self._single.items():
            rows, positions = everything, self._begin if places is None else places
            if sum(map(len, parts)) < len(rows):
                has = np.zeros(len(rows), np.bool_)
                for part in parts:
                    has[part] = True
                rows = np.flatnonzero(has)
                value, positions = value[rows], positions[rows]
            by_tag[tag] = Field(rows, value, positions, True)
        return by_tag | {tag: joined(parts) for tag, parts in self._parts.items()}


def joined(parts: list[tuple[Ints, Words, Ints]]) -> Field:
    """One field from parts: the owners, values and positions of each."""
    if len(parts) == 1:
        rows, values, places = parts[0]
        return Field(rows, values, places, bool((rows[1:] > rows[:-1]).all()))
    owner, value, positions = zip(*parts, strict=True)
    return Field(np.concatenate(owner), np.concatenate(value), np.concatenate(positions))


FEWEST = 128  # messages of one length that are worth analyzing in Python
_LONGEST = 128
_FEW = 8  # messages of a known layout; fewer are walked with the others
_FEW_NEW = 64  # of one that is new
_MOST = 16  # layouts per length
_REST = 15  # blocks to skip after one in which layouts did not help
_SHARE = 16  # if a new layout covers less than 1/16 of the remaining rows, stop


@dataclass(frozen=True, slots=True)
class Wanted:
    """What to read of messages: the tags of fields, and of the messages in some of them.

    The tags of `inside` are wanted too. alike: those of them whose messages, where they are of
    numbers only, are read layout by layout (`fields.Alike`).
    """

    tags: Container[int]
    inside: Mapping[int, Wanted] = field(default_factory=dict)
    alike: Container[int] = ()


@dataclass(frozen=True, slots=True)
class LayoutField:
    """A field of a layout: its tag, and where its number or bytes start in the message.

    size: in bytes. inside: the fields of the message in it; None if that is not looked into.
    """

    tag: int
    begin: int
    size: int
    inside: tuple[LayoutField, ...] | None = None

    def has_numbers(self) -> bool:
        """Whether it has a message of numbers, none of them twice."""
        if self.inside is None:
            return False
        tags = {field.tag for field in self.inside}
        return len(tags) == len(self.inside) and all(tag & 7 != LENGTH_DELIMITED for tag in tags)


@dataclass(frozen=True, slots=True, eq=False)
class MessageLayout:
    """What is the same in all messages of one layout.

    mask, bits: for each 8-byte word, the bits that identify the layout, and their values.
    """

    mask: tuple[np.uint64, ...]
    bits: tuple[np.uint64, ...]
    fields: tuple[LayoutField, ...]

    @staticmethod
    def of(message: bytes, wanted: Wanted) -> MessageLayout | None:
        """The layout of a message; None if it is damaged or has groups."""
        mask = bytearray(-(-len(message) // 8) * 8)
        fields = _fields_of(message, 0, len(message), wanted, mask)
        if fields is None:
            return None
        padded = message.ljust(len(mask), b"\0")
        masks = np.frombuffer(bytes(mask), "<u8")
        return MessageLayout(tuple(masks), tuple(np.frombuffer(padded, "<u8") & masks), fields)

    def is_of(self, words: list[Words]) -> Bools:
        """Which of some messages of the same length have this layout."""
        same = np.ones(len(words[0]), np.bool_)
        for word, mask, bits in zip(words, self.mask, self.bits, strict=True):
            if mask:
                same &= (word & mask) == bits
        return same


class MessageLayouts:
    """The layouts found in messages of one type, kept from block to block."""

    def __init__(self, wanted: Wanted) -> None:
        self.wanted = wanted
        # For messages whose contents are too different; each of them may be alike on its own.
        self.outer = MessageLayouts(Wanted(wanted.tags)) if wanted.inside else None
        self._known: dict[int, list[MessageLayout]] = {}
        self._rest = 0  # blocks left for which layouts are not tried

    def group(
        self, data: NDArray[np.uint8], begin: Ints, end: Ints
    ) -> tuple[list[MessageGroup], Ints | None]:
        """Group messages at begin .. end by layout; also returns the remaining rows (None: all).

        The messages of one layout keep their order.
        """
        if len(begin) < FEWEST or self._rest:
            self._rest = max(self._rest - 1, 0)
            return [], None
        length = np.minimum(end - begin, _LONGEST + 1)
        message_groups: list[MessageGroup] = []
        left = []
        for size, count in enumerate(np.bincount(length, minlength=1).tolist()):
            if not count:
                continue
            rows = np.flatnonzero(length == size)
            least = _FEW if self._known.get(size) else FEWEST
            if count >= least and 0 < size <= _LONGEST:
                rows = self._of_length(data, begin, rows, size, message_groups)
            if size:
                left.append(rows)
        if 2 * sum(len(alike.rows) for alike in message_groups) < len(begin):
            # The others would take as many rounds again: not worth it, and probably not for the
            # next blocks.
            self._rest = _REST
            return [], None
        return message_groups, np.sort(np.concatenate(left)) if left else np.empty(0, np.int64)

    def _of_length(
        self, data: NDArray[np.uint8], begin: Ints, rows: Ints, size: int, out: list[MessageGroup]
    ) -> Ints:
        """Group the messages of one length into `out`; returns the remaining rows."""
        message_layouts = self._known.setdefault(size, [])
        begins = begin[rows]
        # Read all bytes of a message at once: numpy takes 4 ns for one unaligned word, and 6 ns for
        # 64 bytes.
        item = np.dtype(f"V{-(-size // 8) * 8}")
        window: NDArray[Any] = np.ndarray(
            (len(data) - item.itemsize + 1,), item, data.data, strides=(1,)
        )
        each = list(window[begins].view("<u8").reshape(len(begins), -1).T)
        untried, used, rare = list(message_layouts), list[MessageLayout](), list[MessageLayout]()
        while len(rows):
            is_new = not untried
            if is_new:
                if len(rows) < FEWEST or len(used) >= _MOST:
                    break
                first = int(begins[len(begins) // 2])
                layout = MessageLayout.of(data[first : first + size].tobytes(), self.wanted)
                if layout is None:
                    break
            else:
                layout = untried.pop(0)
            same = layout.is_of(each)
            count = int(np.count_nonzero(same))
            if count == len(rows):
                out.append(MessageGroup(layout, rows, begins, each))
                rows = rows[:0]
                used.append(layout)
            elif count >= (_FEW_NEW if is_new else _FEW):
                used.append(layout)
                matching = [word.compress(same) for word in each]
                out.append(
                    MessageGroup(layout, rows.compress(same), begins.compress(same), matching)
                )
                other = ~same
                too_few = is_new and count * _SHARE < len(rows)
                rows, begins = rows.compress(other), begins.compress(other)
                each = [word.compress(other) for word in each]
                if too_few:
                    break
            elif is_new:
                break
            else:
                rare.append(layout)
        message_layouts[:] = (used + untried + rare)[:_MOST]
        return rows


@dataclass(frozen=True, slots=True, eq=False)
class MessageGroup:
    """Messages of one layout: their rows, their start positions, and their bytes as words."""

    layout: MessageLayout
    rows: Ints
    at: Ints
    words: list[Words]

    def number(self, begin: int, size: int) -> Words | None:
        """The varints of `size` bytes at offset `begin`; None if they are longer than a word."""
        if size > 8:
            return None
        which, shift = begin >> 3, (begin & 7) << 3
        word = self.words[which]
        if shift:
            word = word >> np.uint64(shift)
            if shift + 8 * size > 64:
                word |= self.words[which + 1] << np.uint64(64 - shift)
        word = word & np.uint64(0x7F7F7F7F7F7F7F7F >> 8 * (8 - size))
        return packed(word, size)


def _fields_of(
    message: bytes, position: int, end: int, wanted: Wanted, mask: bytearray
) -> tuple[LayoutField, ...] | None:
    """The fields between two positions; None if they are damaged or have groups.

    Sets the bits of `mask` that identify the layout.
    """
    fields = []
    while position < end:
        tag, width = varint_at(message, position)
        if not width or not 8 <= tag <= 0xFFFFFFFF:
            return None
        begin, wire = position + width, tag & 7
        value, width = 0, 8 if wire == FIXED64 else 4
        if wire in (VARINT, LENGTH_DELIMITED):
            value, width = varint_at(message, begin)
            if not width:
                return None
        elif wire not in (FIXED64, FIXED32):
            return None
        after = begin + width
        mask[position:begin] = b"\xff" * (begin - position)
        inside = None
        if wire == VARINT:
            mask[begin:after] = b"\x80" * (after - begin)
        elif wire == LENGTH_DELIMITED:
            mask[begin:after] = b"\xff" * (after - begin)
            begin, after = after, after + value
        if after > end:
            return None
        if tag in wanted.inside and wire == LENGTH_DELIMITED:
            # a damaged one is left to those who read its bytes
            inner_mask = bytearray(len(mask))
            inside = _fields_of(message, begin, after, wanted.inside[tag], inner_mask)
            if inside is not None:
                mask[begin:after] = inner_mask[begin:after]
        fields.append(LayoutField(tag, begin, after - begin, inside))
        position = after
    return tuple(fields)
