"""A memory plan as pixels: boxes in bands, with time across and offsets upward.

A band is one memory, whose first byte is at the bottom. The picture has the number of a box in
every pixel, so one array gives the colors and what is below the mouse. The cost follows the pixels:
a box takes one operation on the lines that it covers. Small boxes are drawn last, so that large
ones never hide them, and a gap separates boxes that have room for it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from viewer.arrays import Ints
from viewer.render.axis.xmap import XMap

NONE = -1  # the number of pixels without a box
MOST_BOXES = 50_000
_GAP_FROM = 4  # pixels; smaller boxes have no gap
# Boxes of a sane plan do not overlap, so together they cover the canvas at most once.
_MOST_COVER = 8

BoxNumbers = NDArray[np.int32]


@dataclass(frozen=True, slots=True, eq=False)
class ArenaBoxes:
    """Boxes as parallel int64 arrays. start, end: on the axis. low, high: bytes in their band."""

    start: Ints
    end: Ints
    low: Ints
    high: Ints
    band: Ints

    def __len__(self) -> int:
        return len(self.start)


@dataclass(frozen=True, slots=True)
class ArenaBand:
    """One memory. size: in bytes. top, lines: its pixel lines on the canvas."""

    size: int
    top: int
    lines: int

    def line_of(self, byte: int) -> int:
        """Return the line above which a byte starts, counted from the top of the canvas."""
        share = min(max(byte, 0), self.size) / self.size if self.size else 0.0
        return self.top + self.lines - round(share * self.lines)


def place_bands(
    sizes: Sequence[int], top: int, bottom: int, gap: int, least: int
) -> list[ArenaBand]:
    """Return bands between two lines, from top to bottom, as high as their bytes.

    gap: lines above each. least: the lines that every band has; if they do not fit, bands end below
    the canvas.
    """
    room = max(bottom - top - (gap + least) * len(sizes), 0)
    whole = sum(sizes) or 1
    bands, at = [], top
    for size in sizes:
        lines = least + int(room * size / whole)
        bands.append(ArenaBand(size, at + gap, lines))
        at += gap + lines
    return bands


@dataclass(frozen=True, slots=True, eq=False)
class PlacedBoxes:
    """The boxes in view, as pixels of a canvas.

    number: of each. left, right, top, bottom: its columns and lines, right and bottom excluded, at
    least one of each; without gaps.
    """

    number: Ints
    left: Ints
    right: Ints
    top: Ints
    bottom: Ints

    def place_of(self, number: int) -> int:
        """Return the position of a box in these arrays, -1 if it is out of view."""
        at = int(np.searchsorted(self.number, number))
        return at if at < len(self.number) and self.number[at] == number else -1


def place_boxes(boxes: ArenaBoxes, bands: Sequence[ArenaBand], xmap: XMap) -> PlacedBoxes:
    """Return where the boxes in view are, in the order of their numbers."""
    shown = np.flatnonzero(
        (boxes.start < xmap.t1) & ((boxes.end > xmap.t0) | (boxes.start >= xmap.t0))
    )
    left = np.minimum(xmap.pixel_of(boxes.start[shown]), xmap.width - 1)
    right = np.maximum(xmap.pixel_of(boxes.end[shown]), left + 1)
    band = boxes.band[shown]
    size = np.array([max(one.size, 1) for one in bands], np.float64)[band]
    foot = np.array([one.top + one.lines for one in bands], np.int64)[band]
    lines = np.array([one.lines for one in bands], np.int64)[band]
    low, high = (
        np.rint(np.clip(edge[shown] / size, 0.0, 1.0) * lines).astype(np.int64)
        for edge in (boxes.low, boxes.high)
    )
    low = np.minimum(low, lines - 1)
    return PlacedBoxes(shown, left, right, foot - np.maximum(high, low + 1), foot - low)


def draw_boxes(placed: PlacedBoxes, columns: int, lines: int) -> BoxNumbers:
    """Return the number of the box in each pixel, `NONE` without one (lines, columns).

    Of too many boxes, the smallest are left out.
    """
    picture = np.full((lines, columns), NONE, np.int32)
    right = placed.right - (placed.right - placed.left >= _GAP_FROM)
    top = placed.top + (placed.bottom - placed.top >= _GAP_FROM)
    area = (right - placed.left) * (placed.bottom - top)
    order = np.argsort(-area, kind="stable")[:MOST_BOXES]
    order = order[np.cumsum(area[order]) <= _MOST_COVER * columns * lines]
    large = order[area[order] > 1]
    for number, x0, x1, y0, y1 in zip(
        placed.number[large].tolist(), placed.left[large].tolist(), right[large].tolist(),
        top[large].tolist(), placed.bottom[large].tolist(), strict=True,
    ):  # fmt: skip
        picture[max(y0, 0) : max(y1, 0), x0:x1] = number
    small = order[area[order] == 1]
    small = small[(top[small] >= 0) & (top[small] < lines)]
    picture[top[small], placed.left[small]] = placed.number[small]
    return picture
