"""Fields of many protobuf messages as numpy columns; `reader` fills them."""

from __future__ import annotations

from collections.abc import Container
from dataclasses import dataclass

import numpy as np

from viewer.arrays import Bools, Ints
from viewer.codecs.protobuf.wire import LENGTH_DELIMITED, Words


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
