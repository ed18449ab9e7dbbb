"""A memory plan as pixels: boxes in bands, with time across and offsets upward.

A band is one memory, whose first byte is at the bottom. A gap separates boxes with room for it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from viewer.arrays import Ints
from viewer.render.axis.xmap import XMap
from viewer.render.boxes.raster import BoxNumbers, PlacedBoxes, draw_numbers

_GAP_FROM = 4  # pixels; smaller boxes have no gap
# Boxes of a sane plan do not overlap, so together they cover the canvas at most once.
_MOST_COVER = 8


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
    bands, band_top = [], top
    for size in sizes:
        lines = least + int(room * size / whole)
        bands.append(ArenaBand(size, band_top + gap, lines))
        band_top += gap + lines
    return bands


def place_boxes(boxes: ArenaBoxes, bands: Sequence[ArenaBand], xmap: XMap) -> PlacedBoxes:
    """Return where the boxes in view are: each has a pixel at least, and none has a gap."""
    drawn = np.flatnonzero(
        (boxes.start < xmap.t1) & ((boxes.end > xmap.t0) | (boxes.start >= xmap.t0))
    )
    left = np.minimum(xmap.pixel_of(boxes.start[drawn]), xmap.width - 1)
    right = np.maximum(xmap.pixel_of(boxes.end[drawn]), left + 1)
    band = boxes.band[drawn]
    size = np.array([max(arena_band.size, 1) for arena_band in bands], np.float64)[band]
    foot = np.array([arena_band.top + arena_band.lines for arena_band in bands], np.int64)[band]
    lines = np.array([arena_band.lines for arena_band in bands], np.int64)[band]
    low, high = (
        np.rint(np.clip(edge[drawn] / size, 0.0, 1.0) * lines).astype(np.int64)
        for edge in (boxes.low, boxes.high)
    )
    low = np.minimum(low, lines - 1)
    return PlacedBoxes(drawn, left, right, foot - np.maximum(high, low + 1), foot - low)


def draw_boxes(placed: PlacedBoxes, columns: int, lines: int) -> BoxNumbers:
    """Return the number of the box in each pixel; boxes with room for it leave a gap."""
    right = placed.right - (placed.right - placed.left >= _GAP_FROM)
    top = placed.top + (placed.bottom - placed.top >= _GAP_FROM)
    inner = replace(placed, right=right, top=top)
    return draw_numbers(inner, columns, lines, _MOST_COVER)
