"""The sides of ribbons on a strip, between their slices and the edge that faces the other strip.

They are lines of a device pixel, because a fill would change the colors of the slices behind it.
`ribbons` paints the parts on the band between the strips.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from itertools import pairwise
from typing import TYPE_CHECKING

import numpy as np

from viewer.arrays import Ints
from viewer.gui.qt.theme.theme import Theme
from viewer.gui.timeline.painting.ribbons import VERDICTS, Columns, are_drawn, edges_of
from viewer.gui.timeline.scene.scene import Scene
from viewer.render.axis.xmap import XMap
from viewer.render.canvas import Canvas
from viewer.render.layout import TimelineLayout
from viewer.render.palette import Pixels

if TYPE_CHECKING:
    from viewer.view.compared.changed_pairs import ChangedPairs, PairedSpans


@dataclass(frozen=True, eq=False, slots=True)
class _Seen:
    """What the tails of a frame depend on."""

    pairs: ChangedPairs
    layout: TimelineLayout
    scroll: int
    canvas: Canvas
    is_b: bool
    xmap: XMap
    colors: tuple[int, ...]  # of a faster and a slower one

    def has_rows_of(self, other: _Seen) -> bool:
        """Whether the tails have the same lengths: the rows are at the same lines."""
        return (
            self.pairs is other.pairs
            and self.layout is other.layout
            and (self.scroll, self.canvas, self.is_b) == (other.scroll, other.canvas, other.is_b)
        )


@dataclass(frozen=True, eq=False, slots=True)
class _Sides:
    """The sides in view as parallel columns, by length: canvas column, and color.

    lengths: lines from the edge, with the first and the last + 1 of the sides that are so long.
    """

    column: Columns
    color: Pixels
    lengths: list[tuple[int, int, int]]


_NO_SIDES = _Sides(np.empty(0, np.int64), np.empty(0, np.uint32), [])


class RibbonTails:
    """The tails of the ribbons in one strip."""

    def __init__(self, scene: Scene, theme: Theme) -> None:
        self._scene, self._theme = scene, theme
        # Whether ribbons end in this strip, which is then arm B, or start here; None without any.
        self.is_b: bool | None = None
        self._seen: _Seen | None = None
        self._lengths: Ints = np.empty(0, np.int64)  # of all tails, 0 or less if they are not shown
        self._by_length: Ints = np.empty(0, np.int64)  # the tails that are shown, shortest first
        self._sides = _NO_SIDES

    def stamp(self, image: Pixels, canvas: Canvas) -> None:
        """Draw tails into the device pixels of the rows, from the slices to the edge."""
        sides = self._of(canvas)
        for length, first, last in sides.lengths:
            part = image[:length] if self.is_b else image[len(image) - length :]
            part[:, sides.column[first:last]] = sides.color[first:last]

    def stamp_below(self, image: Pixels, canvas: Canvas) -> None:
        """Draw how the tails that leave the rows of arm A at the lower edge go on.

        image: what follows the rows, as wide as the canvas of the rows.
        """
        sides = self._of(canvas)
        image[:, sides.column] = sides.color

    def _of(self, canvas: Canvas) -> _Sides:
        """The sides on a canvas, kept for the edge below the rows."""
        scene, before = self._scene, self._seen
        pairs = scene.drawings.compared_marks.answer.pairs
        if pairs is None or self.is_b is None:
            return _NO_SIDES
        xmap = scene.xmap(canvas.columns)
        colors = tuple(self._theme.pixel(token) for token in VERDICTS)
        seen = _Seen(pairs, scene.layout, scene.scroll, canvas, self.is_b, xmap, colors)
        same_rows = before is not None and seen.has_rows_of(before)
        if not same_rows:
            self._lengths = _lengths(seen)
            # Ones of equal length stay in the order of their changes: the last one is on top.
            order = np.argsort(self._lengths, kind="stable")
            self._by_length = order[self._lengths[order] > 0]
        if before is None or not same_rows or (before.xmap, before.colors) != (xmap, colors):
            self._sides = self._in_view(seen)
        self._seen = seen
        return self._sides

    def _in_view(self, seen: _Seen) -> _Sides:
        pairs, canvas = seen.pairs, seen.canvas
        left, right = edges_of(pairs.arms[seen.is_b], self._scene, canvas)
        drawn = self._by_length[are_drawn(pairs, self._scene, canvas)[self._by_length]]
        column = np.empty(2 * len(drawn), np.int64)
        column[::2], column[1::2] = left[drawn], right[drawn] - 1
        in_view = ((column >= 0) & (column < canvas.columns)).nonzero()[0]
        of = drawn[in_view >> 1]
        length = self._lengths[of]
        changes = ((length[1:] != length[:-1]).nonzero()[0] + 1).tolist()
        bounds = [0, *changes, len(length)] if len(length) else []
        lengths = [(int(length[a]), a, b) for a, b in pairwise(bounds)]
        color: Pixels = np.array(seen.colors, np.uint32)[pairs.is_slower[of].view(np.uint8)]
        return _Sides(column[in_view], color, lengths)


def _lengths(seen: _Seen) -> Ints:
    """Return how many lines each tail is long: 0 or less if its slice is not in view."""
    arm, layout, canvas, is_b = seen.pairs.arms[seen.is_b], seen.layout, seen.canvas, seen.is_b
    rows, row = _rows_of(arm)
    band = np.array([layout.band_of(arm.trace, row) for row in rows], np.int64)
    y = layout.y[band] - seen.scroll + (0 if is_b else layout.height[band])
    line = np.array([canvas.device(px) for px in y.tolist()], np.int64)
    length = np.minimum(line if is_b else canvas.lines - line, canvas.lines)
    return np.where(band >= 0, length, 0)[row]


@lru_cache(maxsize=4)
def _rows_of(arm: PairedSpans) -> tuple[list[int], Ints]:
    """Return the rows of an arm, and the position in them of that of each span."""
    rows, row = np.unique(arm.row, return_inverse=True)
    return rows.tolist(), row
