"""Stamps marks of logged allocations into a frame; the cost depends on pixels only.

The lower right corner of a slice is cut off if memory was allocated after it and before the next
event of its block. When exactly is not logged.
"""

from __future__ import annotations

import numpy as np

from viewer.arrays import Ints
from viewer.gui.qt.theme.theme import Theme
from viewer.gui.timeline.scene.scene import Scene
from viewer.render.axis.xmap import XMap
from viewer.render.canvas import Canvas
from viewer.render.layout import SLICE_TOP, BandKind
from viewer.render.palette import Pixels

CORNER = 7  # px, the legs of the triangle


def stamp_allocations(
    image: Pixels,
    scene: Scene,
    section: tuple[int, int],
    canvas: Canvas,
    xmap: XMap,
    theme: Theme,
) -> None:
    """Draw corners into device pixels.

    `section` is the range of canvas lines, in logical pixels, that the image covers.
    """
    layout, scroll = scene.layout, scene.scroll + section[0]
    color, edge = (theme.pixel(token) for token in ("text1", "canvas"))
    for number in scene.group.traces:
        shown = scene.rasters[number].shown
        marks = shown.facts.allocations
        if not len(marks.slice):
            continue
        slices, on_trace = shown.trace.slices, xmap.on(shown.axis)
        bands = layout.bands_between(scroll, scene.scroll + section[1])
        bands = bands[(layout.kind[bands] == BandKind.ROW) & (layout.trace[bands] == number)]
        for band in bands.tolist():
            row = int(layout.row[band])
            bounds = slices.row_ptr[[row, row + 1]]
            first, last = np.searchsorted(marks.slice, bounds).tolist()
            # Ascending, as slices of a row do not overlap.
            end = slices.end[marks.slice[first:last]]
            seen = slice(*np.searchsorted(end, on_trace.times).tolist())
            columns = np.unique(on_trace.end_pixel_of(end[seen]))
            bottom = int(layout.y[band]) - scroll + SLICE_TOP + int(layout.slice_height[band])
            y, size = canvas.device(bottom), canvas.device(CORNER)
            _stamp_corners(image, columns, y, size, color, edge)


def _stamp_corners(
    image: Pixels, columns: Ints, bottom: int, size: int, color: int, edge: int
) -> None:
    """Fill the corner left of each column and above a line, with an edge towards the slice."""
    lines, width = image.shape
    for up in range(size):
        y = bottom - 1 - up
        if not 0 <= y < lines:
            continue
        for left in range(1, size - up + 1):
            at = columns - left
            image[y, at[(at >= 0) & (at < width)]] = edge if left == size - up else color
