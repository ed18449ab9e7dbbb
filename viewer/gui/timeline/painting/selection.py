"""Stamps rings around several selected slices into a frame; the cost depends on pixels only.

A ring is drawn inside its slice with a line of canvas color between ring and fill, which makes it
visible on every color. Slices that share pixels get a single ring. Zero-length slices get a diamond
in the ring color that is larger than normal ones.
"""

from __future__ import annotations

import numpy as np

from viewer.arrays import Bools
from viewer.gui.qt.theme.theme import Theme
from viewer.gui.timeline.scene.scene import Scene
from viewer.render.axis.xmap import XMap
from viewer.render.canvas import Canvas
from viewer.render.frames.diamonds import stamp_diamonds
from viewer.render.layout import SLICE_TOP, BandKind
from viewer.render.palette import Pixels

_RING = 2  # px
_REACH = 4  # half the height of a selected diamond, px


def stamp_selected(
    image: Pixels,
    scene: Scene,
    section: tuple[int, int],
    canvas: Canvas,
    xmap: XMap,
    theme: Theme,
) -> None:
    """Draw rings into device pixels if several slices are selected.

    `section` is the range of canvas lines, in logical pixels, that the image covers.
    """
    chosen = scene.drawings.selected_rasters.rasters
    if not chosen:
        return
    layout, scroll = scene.layout, scene.scroll + section[0]
    ring = theme.pixel("ring")
    ground = theme.pixel("canvas")
    bands = layout.bands_between(scroll, scene.scroll + section[1]).tolist()
    for trace, raster in chosen.items():
        trace_xmap = xmap.on(scene.rasters[trace].shown.axis)
        visible = [band for band in bands if layout.trace[band] == trace and layout.row[band] >= 0]
        rows = [band for band in visible if layout.kind[band] == BandKind.ROW]
        cells = raster.draw([int(layout.row[band]) for band in rows], trace_xmap) != 0
        for band, covered in zip(rows, cells, strict=True):
            if covered.any():
                top = int(layout.y[band]) + SLICE_TOP - scroll
                y0 = canvas.device(top)
                y1 = canvas.device(top + int(layout.slice_height[band]))
                _stamp_row(image, covered, y0, y1, canvas.device(_RING), ring, ground)
        for band in (band for band in visible if layout.kind[band] == BandKind.STRIP):
            marks = raster.zero_marks(int(layout.row[band]), trace_xmap)
            middle = int(layout.y[band]) - scroll + int(layout.height[band]) // 2
            stamp_diamonds(image, marks.x, canvas.device(middle), canvas.device(_REACH), ring)


def _stamp_row(
    image: Pixels, covered: Bools, y0: int, y1: int, thick: int, ring: int, ground: int
) -> None:
    """Draw rings around the covered columns of one row, on lines [y0, y1) of the image."""
    around = _edges(covered, thick)
    inner = _edges(covered & ~around, 1)
    height = len(image)
    body = slice(max(y0 + thick, 0), max(min(y1 - thick, height), 0))
    image[body, inner] = ground
    for y in (y0 + thick, y1 - thick - 1):
        if 0 <= y < height:
            image[y, covered & ~around] = ground
    image[body, around] = ring
    for lines in ((y0, y0 + thick), (y1 - thick, y1)):
        image[max(lines[0], 0) : max(min(lines[1], height), 0), covered] = ring


def _edges(covered: Bools, thick: int) -> Bools:
    """The outermost `thick` columns of every run of covered columns."""
    inside = covered.copy()
    for _ in range(thick):
        # Runs that continue beyond the canvas have no edge there.
        left = np.concatenate([inside[:1], inside[:-1]])
        right = np.concatenate([inside[1:], inside[-1:]])
        inside = inside & left & right
    return covered & ~inside
