"""What a picture of limited size shows of many slices: the longest ones exactly, groups of others.

A group is one or more neighbors on a row that are too short to be drawn alone. It never reaches
over a slice that is drawn exactly, and its figures are exact: its first start, its last end, how
many slices it has, and how long they last together. Nothing is done per slice but array operations.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from viewer.arrays import Bools, Ints
from viewer.model.intervals import durations
from viewer.render.lod import Lengths, weights_of
from viewer.render.palette import Palette

GROUP = -1  # in `Boxes.slice`
_LONGEST_CELL = 63  # as a power of two, of uint64 ticks


@dataclass(frozen=True, slots=True, eq=False)
class Boxes:
    """Slices and groups of slices, sorted by (row, start), as columns of equal length.

    row: as given. start, end: ticks. slice: the number of the slice, `GROUP` for several. count:
    the slices in it. busy: how many ticks they last together (uint64). color: palette index, for a
    group that of its longest slice.
    """

    row: Ints
    start: Ints
    end: Ints
    slice: Ints
    count: Ints
    busy: Lengths
    color: Palette

    def __len__(self) -> int:
        return len(self.row)

    @property
    def is_group(self) -> Bools:
        """Which boxes are groups of several slices."""
        found: Bools = self.slice == GROUP
        return found

    @property
    def exact_count(self) -> int:
        """How many slices are drawn exactly."""
        return int((self.slice != GROUP).sum())

    @property
    def slice_count(self) -> int:
        """How many slices there are, in groups too."""
        return int(self.count.sum())

    @staticmethod
    def joined(parts: list[Boxes]) -> Boxes:
        """Return the boxes of several parts, one part after the other."""
        if not parts:
            none = np.empty(0, np.int64)
            return Boxes(
                none, none, none, none, none, none.astype(np.uint64), none.astype(np.uint8)
            )
        return Boxes(
            np.concatenate([part.row for part in parts]),
            np.concatenate([part.start for part in parts]),
            np.concatenate([part.end for part in parts]),
            np.concatenate([part.slice for part in parts]),
            np.concatenate([part.count for part in parts]),
            np.concatenate([part.busy for part in parts]),
            np.concatenate([part.color for part in parts]),
        )


def boxes_of(
    slices: tuple[Ints, Ints],
    row: Ints,
    number: Ints,
    color: Palette,
    *,
    most: int,
    most_groups: int,
    least_cell: int = 1,
    focus: Bools | None = None,
) -> Boxes:
    """Return at most about `most + most_groups` boxes for some slices.

    slices: the starts and ends of the slices, in ticks, sorted by (row, start); those of a row do
    not overlap. row, number, color: of each. The `most` longest are exact; if several are equally
    long, those that are spread evenly. Others are grouped by cells of time, which are at least
    `least_cell` ticks and as long as needed for `most_groups`. focus: of some slices, a quarter of
    `most` more are exact, the longest of them.
    """
    start, end = slices
    if not len(start):
        return Boxes.joined([])
    length = durations(start, end)
    is_exact = _longest(length, most)
    if focus is not None:
        own = np.flatnonzero(focus & ~is_exact)
        is_exact[own[_longest(length[own], most // 4)]] = True
    first, is_group = _runs(start, row, is_exact, most_groups, int(end.max()), least_cell)
    last = np.append(first[1:], len(start)) - 1
    count = last - first + 1
    weight = np.maximum.reduceat(weights_of(start, end, color), first)
    group = is_group & (count > 1)
    return Boxes(
        row[first].astype(np.int64),
        start[first],
        end[last],
        np.where(group, GROUP, number[first]).astype(np.int64),
        count.astype(np.int64),
        np.add.reduceat(length, first),
        (weight & np.uint32(0xFF)).astype(np.uint8),
    )


def _longest(length: NDArray[np.uint64], most: int) -> Bools:
    """Return which slices are the `most` longest; of equally long ones, evenly spread ones."""
    if len(length) <= most:
        return np.ones(len(length), np.bool_)
    if most <= 0:
        return np.zeros(len(length), np.bool_)
    limit = np.partition(length, len(length) - most)[len(length) - most]
    found: Bools = length > limit
    equal = np.flatnonzero(length == limit)
    wanted = most - int(found.sum())
    found[equal[np.arange(wanted) * len(equal) // wanted]] = True
    return found


def _runs(
    start: Ints, row: Ints, is_exact: Bools, most: int, end: int, least_cell: int
) -> tuple[Ints, Bools]:
    """Return the first slice of each box, and whether it is one of the others.

    most: of the boxes of others, unless exact slices and rows divide them into more.
    """
    row_changes = np.flatnonzero(np.diff(row) != 0) + 1
    others = np.flatnonzero(~is_exact)
    is_first = is_exact.copy()
    is_first[0] = True
    is_first[row_changes] = True
    after = np.flatnonzero(is_exact) + 1
    is_first[after[after < len(start)]] = True
    origin = start.min()
    elapsed = durations(origin, start[others])
    span = max(end - int(origin), 1)
    follows = np.flatnonzero(~is_first[others])  # may join the one before
    begun = len(others) - len(follows)

    def splits(shift: int) -> Ints:
        cell = elapsed >> np.uint64(shift)
        return np.asarray(follows[cell[follows] != cell[follows - 1]])

    # Cells of 2**shift ticks: the shortest ones with few enough boxes, found by bisection.
    low, high = max(least_cell.bit_length() - 1, 0), max(span.bit_length(), 1)
    while low < high:
        middle = (low + high) // 2
        if begun + len(splits(middle)) <= most:
            high = middle
        else:
            low = middle + 1
    split = splits(min(low, _LONGEST_CELL))
    is_first[others[split]] = True
    first = np.flatnonzero(is_first)
    return first, ~is_exact[first]
