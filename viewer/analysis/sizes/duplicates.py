"""Data that a program file has several times: parts with equal bytes, and what that costs.

Found by content, whatever the data is called. Export stores equal constants of a program once, and
so it does with named data; but not equal delegates, the constants inside them, and constants that
are also named data.
"""

from __future__ import annotations

from dataclasses import dataclass

from viewer.analysis.sizes.file_parts import FileParts
from viewer.analysis.sizes.stored_items import ItemKind
from viewer.codecs.equal_ranges import equal_ranges
from viewer.codecs.reading import Cancelled, never_cancelled

LEAST = 64  # bytes; equal scalars and small vectors are common and cost little
_STORED = (ItemKind.CONSTANT, ItemKind.STATE, ItemKind.NAMED_DATA, ItemKind.DELEGATE)


@dataclass(frozen=True, slots=True)
class Duplicate:
    """Parts with equal bytes, in the order of the file. size: bytes of one of them."""

    parts: tuple[int, ...]
    size: int

    @property
    def saved(self) -> int:
        """The bytes that the file would lose with one copy."""
        return (len(self.parts) - 1) * self.size


@dataclass(frozen=True, slots=True)
class Duplicates:
    """All groups, the most bytes first. unread: parts that could not be compared; why: the reason.

    Constants inside equal delegates count with these, not again.
    """

    groups: tuple[Duplicate, ...]
    unread: int = 0
    why: str = ""

    @property
    def saved(self) -> int:
        """The bytes of all copies after the first one."""
        return sum(group.saved for group in self.groups)


def duplicates(found: FileParts, cancelled: Cancelled = never_cancelled) -> Duplicates:
    """Read the file where parts have equal sizes, and return equal ones. Raises ReadCancelled."""
    parts = found.parts
    own = [
        i
        for i, part in enumerate(parts)
        if part.kind in _STORED and part.extent >= LEAST and _is_whole(found, i)
    ]
    ranges = [(parts[i].start, parts[i].extent) for i in own]
    try:
        equal = equal_ranges(found.executable.path, ranges, cancelled)
    except OSError as error:
        return Duplicates((), len(own), error.strerror or "the file cannot be read")
    copies = {
        own[i]
        for group in equal.groups
        for i in group[1:]
        if parts[own[i]].kind is ItemKind.DELEGATE
    }
    made = []
    for group in equal.groups:
        some = tuple(own[i] for i in group if parts[own[i]].inside not in copies)
        if len(some) > 1:
            made.append(Duplicate(some, parts[some[0]].extent))
    why = "the file has changed, or its parts overlap" if equal.unread else ""
    return Duplicates(tuple(sorted(made, key=lambda one: -one.saved)), equal.unread, why)


def _is_whole(found: FileParts, number: int) -> bool:
    """Whether no other part claims its bytes, except constants inside of a delegate."""
    part = found.parts[number]
    return part.size + sum(found.parts[i].size for i in found.inside(number)) == part.extent
