"""Rows of a frame as pixels, and those of the last frame, which are not drawn again.

A row has the same pixels as long as its trace, colors, columns and times are the same. That is so
when a view scrolls up or down, and when it is painted again because the mouse moved.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Hashable
from dataclasses import dataclass
from typing import TypeVar

import numpy as np

from viewer.arrays import Ints
from viewer.render.lod import Cells
from viewer.render.palette import Pixels

Rows = TypeVar("Rows", Pixels, Cells)


@dataclass(frozen=True, slots=True)
class FrameRows:
    """Rows of a trace.

    rows: their numbers in the trace. pixels: a line with the colors of each body, then one of each
    edge, then one of the ground between rows. marks: of each of the trace's marks, the positions
    of the rows that have slices of it, and their cells.
    """

    rows: Ints
    pixels: Pixels
    marks: list[tuple[Ints, Cells]]

    def joined(self, others: FrameRows, rows: Ints) -> FrameRows:
        """Return some of these rows and of others, by their numbers."""
        own, more = len(self.rows), len(others.rows)
        at = _places(np.append(self.rows, others.rows), rows)
        is_own = at < own
        body = np.where(is_own, at, at + own + 1)
        line = body + np.where(is_own, own, more)
        pixels = _picked(self.pixels, others.pixels, np.concatenate([body, line, [2 * own]]))
        marks = []
        for (kept, cells), (added, added_cells) in zip(self.marks, others.marks, strict=True):
            marked = np.append(self.rows[kept], others.rows[added])
            position = np.flatnonzero(np.isin(rows, marked))
            marks.append((position, _picked(cells, added_cells, _places(marked, rows[position]))))
        return FrameRows(rows, pixels, marks)


class KeptRows:
    """The rows of the last frame, by the number of their trace: no more than a frame shows."""

    def __init__(self) -> None:
        self._last: dict[int, tuple[Hashable, FrameRows]] = {}

    def rows(
        self, trace: int, inputs: Hashable, rows: Ints, draw: Callable[[Ints], FrameRows]
    ) -> FrameRows:
        """Return rows of a trace, drawing those that the last frame did not have.

        inputs: everything that their pixels depend on.
        """
        before, last = self._last.get(trace, (None, None))
        if last is None or before != inputs:
            found = draw(rows)
        elif np.array_equal(last.rows, rows):
            return last
        else:
            found = last.joined(draw(rows[~np.isin(rows, last.rows)]), rows)
        self._last[trace] = inputs, found
        return found

    def keep_only(self, traces: Collection[int]) -> None:
        """Drop the rows of all other traces."""
        self._last = {trace: kept for trace, kept in self._last.items() if trace in traces}


def _places(have: Ints, wanted: Ints) -> Ints:
    """Where numbers are in a list that has all of them."""
    order = np.argsort(have, kind="stable")
    places: Ints = order[np.searchsorted(have, wanted, sorter=order)]
    return places


def _picked(first: Rows, second: Rows, at: Ints) -> Rows:
    """Rows of two arrays, by their places in both together; without joining these before."""
    own = at < len(first)
    picked = np.empty((len(at), first.shape[1]), first.dtype)
    picked[own] = first[at[own]]
    picked[~own] = second[at[~own] - len(first)]
    return picked
