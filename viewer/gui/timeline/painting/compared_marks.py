"""Stamps the marks of a comparison into a frame; the cost depends on pixels only.

A changed slice has a bar in the color of its verdict: below it in arm A, and above it in arm B, so
that the bars of a pair face each other. A slice that only one arm has is hatched.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from viewer.arrays import Ints
from viewer.gui.qt.theme.theme import Theme
from viewer.gui.timeline.scene.compared_marks import FASTER, SLOWER
from viewer.gui.timeline.scene.scene import Scene
from viewer.render.canvas import Canvas
from viewer.render.frames.frame import MarkedRows
from viewer.render.layout import SLICE_TOP
from viewer.render.palette import Pixels, mixed_pixels

BAR = 3  # px
_STRIPE, _PERIOD = 2, 7  # px across a line of the hatch, and from one to the next
STRENGTH_DARK = 0.25  # of the lines: labels keep a contrast of 4 on every slice color
_OPAQUE = 0xFF000000
_COLOR = 0x3F


def stamp_compared(
    image: Pixels,
    scene: Scene,
    top: int,
    canvas: Canvas,
    drawn: Mapping[int, MarkedRows],
    theme: Theme,
) -> None:
    """Draw bars and hatches into device pixels.

    top: the canvas line, in logical pixels, at which the image begins. drawn: the cells of the
    marks of each trace, as the frame has drawn them.
    """
    if not drawn:
        return
    layout, scroll = scene.layout, scene.scroll + top
    colors = np.zeros(_COLOR + 1, np.uint32)
    colors[[SLOWER, FASTER]] = [theme.color(c).rgb() | _OPAQUE for c in ("slower", "faster")]
    ground = theme.color("canvas").rgb() | _OPAQUE
    # Labels on slices are dark in both themes: dark lines must not hide them.
    strength = STRENGTH_DARK if theme.dark else 1.0
    for trace, rows in drawn.items():
        marks = scene.drawings.compared_marks.found.of[trace]
        y0 = layout.y[rows.bands] - scroll
        y1 = y0 + layout.height[rows.bands]
        ends = y0 + SLICE_TOP + layout.slice_height[rows.bands]
        for raster, cells in zip(marks.rasters, rows.cells, strict=True):
            bars, covered = colors.take(cells & _COLOR), cells != 0
            for row in np.flatnonzero(np.diff(raster.drawn.row_ptr)[layout.row[rows.bands]]):
                if raster is marks.alone:
                    lines = canvas.device(int(y0[row]) + SLICE_TOP), canvas.device(int(ends[row]))
                    _hatch(image, np.flatnonzero(covered[row]), lines, canvas, ground, strength)
                else:
                    first = int(y0[row] if marks.is_b else y1[row] - BAR)
                    lines = canvas.device(first), canvas.device(first + BAR)
                    part = image[max(lines[0], 0) : max(lines[1], 0)]
                    np.copyto(part, bars[row], where=covered[row])


def _hatch(
    image: Pixels,
    columns: Ints,
    lines: tuple[int, int],
    canvas: Canvas,
    ground: int,
    strength: float,
) -> None:
    """Draw lines at 45 degrees over some columns, on some lines of the image."""
    part = image[max(lines[0], 0) : max(lines[1], 0)]
    stripe, period = canvas.device(_STRIPE), canvas.device(_PERIOD)
    along = columns[None, :] + (max(lines[0], 0) - lines[0] + np.arange(len(part)))[:, None]
    row, column = np.nonzero(along % period < stripe)
    at = row, columns[column]
    part[at] = mixed_pixels(part[at], ground, strength)
