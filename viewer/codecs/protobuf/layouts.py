"""Groups protobuf messages by layout: the same tags, number widths and lengths in the same order.

Most messages of a large file have one of a few layouts, because one place in a program wrote them.
One message of each kind is parsed in Python, with the messages in its fields (`Wanted.inside`).
Comparing whole words under a mask then finds all others with that layout, and their fields are at
known positions. This takes a third of the time of walking all messages in step (`reader`), which is
left for the others.
"""

from __future__ import annotations

from collections.abc import Container, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from viewer.arrays import Bools, Ints
from viewer.codecs.protobuf.wire import (
    FIXED32,
    FIXED64,
    LENGTH_DELIMITED,
    VARINT,
    Words,
    packed,
    varint_at,
)

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
