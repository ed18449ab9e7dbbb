"""Finds byte ranges of a file with equal contents, reading as little of it as possible.

Ranges of equal size are first compared by samples of their bytes, which tell nearly all different
ones apart; the rest is compared by digests of all bytes. The file is read, not mapped: a file that
shrinks while it is mapped would end the process.
"""

from __future__ import annotations

import hashlib
from collections.abc import Hashable, Iterable, Sequence
from dataclasses import dataclass
from typing import BinaryIO

from viewer.codecs.reading import Cancelled, never_cancelled, stop_if

_SAMPLE = 512  # bytes at the start, in the middle and at the end
_AT_ONCE = 1 << 20
Range = tuple[int, int]  # start, size


@dataclass(frozen=True, slots=True)
class EqualRanges:
    """groups: indexes of ranges with equal bytes, at least two each.

    unread: how many ranges were not compared: the file has become shorter, or they overlap so that
    all of them have more than twice the bytes of the file.
    """

    groups: tuple[tuple[int, ...], ...]
    unread: int = 0


def equal_ranges(
    path: str, ranges: Sequence[Range], cancelled: Cancelled = never_cancelled
) -> EqualRanges:
    """Return which ranges have equal bytes. Raises OSError and ReadCancelled."""
    same_size = _groups((size, i) for i, (_, size) in enumerate(ranges))
    if not same_size:
        return EqualRanges(())
    with open(path, "rb") as file:
        reader = _Reader(file, cancelled)
        alike: list[list[int]] = []
        for group in same_size:
            alike += _groups((reader.sample(*ranges[i]), i) for i in group)
        equal: list[list[int]] = []
        for group in alike:
            if ranges[group[0]][1] <= 3 * _SAMPLE:  # a sample is all of it
                equal.append([i for i in group if not reader.is_short(*ranges[i])])
            else:
                equal += _groups((reader.digest(*ranges[i]), i) for i in group)
    return EqualRanges(tuple(tuple(each) for each in sorted(equal) if len(each) > 1), reader.unread)


def _groups(keyed: Iterable[tuple[Hashable, int]]) -> list[list[int]]:
    """Those with equal keys, at least two each, in order; keys that are None are left out."""
    by_key: dict[Hashable, list[int]] = {}
    for key, i in keyed:
        if key is not None:
            by_key.setdefault(key, []).append(i)
    return [group for group in by_key.values() if len(group) > 1]


class _Reader:
    """Reads ranges of one file, at most twice its bytes."""

    def __init__(self, file: BinaryIO, cancelled: Cancelled) -> None:
        self._file = file
        self._cancelled = cancelled
        self._end = file.seek(0, 2)
        self._left = 2 * self._end
        self.unread = 0

    def is_short(self, start: int, size: int) -> bool:
        """Whether the file ends before a range does."""
        return start + size > self._end

    def sample(self, start: int, size: int) -> bytes | None:
        """Some bytes of a range, all of a short one; None if the file ends before."""
        if self.is_short(start, size):
            self.unread += 1
            return None
        stop_if(self._cancelled)
        if size <= 3 * _SAMPLE:
            return self._bytes(start, size)
        places = (start, start + (size - _SAMPLE) // 2, start + size - _SAMPLE)
        return b"".join(self._bytes(place, _SAMPLE) for place in places)

    def digest(self, start: int, size: int) -> bytes | None:
        """The SHA-256 of a range; None if too much was read already."""
        self._left -= size
        if self._left < 0:
            self.unread += 1
            return None
        digest = hashlib.sha256()
        for position in range(start, start + size, _AT_ONCE):
            stop_if(self._cancelled)
            digest.update(self._bytes(position, min(_AT_ONCE, start + size - position)))
        return digest.digest()

    def _bytes(self, start: int, size: int) -> bytes:
        self._file.seek(start)
        return self._file.read(size)
