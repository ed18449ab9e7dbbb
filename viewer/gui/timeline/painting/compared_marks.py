"""Stamps the marks of a comparison into a frame; the cost depends on pixels only.

A changed slice has a bar in the color of its verdict: below it in arm A, and above it in arm B, so
that the bars of a pair face each other. A slice that only one arm has is hatched.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from viewer.arrays import Bools
from viewer.gui.qt.theme.theme import Theme
from viewer.gui.timeline.scene.compared_marks import FASTER, SLOWER
from viewer.gui.timeline.scene.scene import Scene
from viewer.render.axis.xmap import XMap
from viewer.render.canvas import Canvas
from viewer.render.layout import SLICE_TOP, BandKind
from viewer.render.palette import Pixels, mixed_pixels
from viewer.render.raster import RowRaster

BAR = 3  # px
_STRIPE, _PERIOD = 2, 7  # px across a line of the hatch, and from one to the next
STRENGTH_DARK = 0.25  # of the lines: labels keep a contrast of 4 on every slice color
_OPAQUE = 0xFF000000
_COLOR = 0x3F


def stamp_compared(
    image: Pixels,
    scene: Scene,
    section: tuple[int, int],
    canvas: Canvas,
    xmap: XMap,
    theme: Theme,
) -> None:
    """Draw bars and hatches into device pixels.

    `section` is the range of canvas lines, in logical pixels, that the image covers.
    """
    marks = scene.drawings.compared_marks.found.of
    if not marks:
        return
    layout, scroll = scene.layout, scene.scroll + section[0]
    bands = layout.bands_between(scroll, scene.scroll + section[1])
    bands = bands[layout.kind[bands] == BandKind.ROW]
    colors = np.zeros(_COLOR + 1, np.uint32)
    colors[[SLOWER, FASTER]] = [theme.color(c).rgb() | _OPAQUE for c in ("slower", "faster")]
    ground = theme.color("canvas").rgb() | _OPAQUE
    # Labels on slices are dark in both themes: dark lines must not hide them.
    strength = STRENGTH_DARK if theme.dark else 1.0
    for trace in scene.group.traces:
        if trace not in marks:
            continue
        own, on_trace = marks[trace], xmap.on(scene.rasters[trace].shown.axis)
        visible = bands[layout.trace[bands] == trace]
        y0 = layout.y[visible] - scroll
        y1 = y0 + layout.height[visible]
        rows: list[int] = layout.row[visible].tolist()
        if own.alone is not None:
            cells = _cells(own.alone, rows, on_trace) != 0
            ends = y0 + SLICE_TOP + layout.slice_height[visible]
            for top, bottom, covered in zip(y0.tolist(), ends.tolist(), cells, strict=True):
                if covered.any():
                    lines = canvas.device(top + SLICE_TOP), canvas.device(bottom)
                    _hatch(image, covered, lines, canvas, ground, strength)
        if own.bars is not None:
            cells = _cells(own.bars, rows, on_trace)
            for top, bottom, of_row in zip(y0.tolist(), y1.tolist(), cells, strict=True):
                covered = of_row != 0
                if covered.any():
                    first = top if own.is_b else bottom - BAR
                    lines = canvas.device(first), canvas.device(first + BAR)
                    part = image[max(lines[0], 0) : max(lines[1], 0)]
                    part[:, covered] = colors[of_row[covered] & _COLOR]


def _cells(raster: RowRaster, rows: list[int], xmap: XMap) -> NDArray[np.uint16]:
    """The cells of some rows; those without slices of the raster cost nothing."""
    cells = np.zeros((len(rows), xmap.width), np.uint16)
    filled = np.diff(raster.drawn.row_ptr)
    some = [i for i, row in enumerate(rows) if filled[row]]
    if some:
        cells[some] = raster.draw([rows[i] for i in some], xmap)
    return cells


def _hatch(
    image: Pixels,
    covered: Bools,
    lines: tuple[int, int],
    canvas: Canvas,
    ground: int,
    strength: float,
) -> None:
    """Draw lines at 45 degrees over the covered columns, on some lines of the image."""
    part = image[max(lines[0], 0) : max(lines[1], 0)]
    stripe, period = canvas.device(_STRIPE), canvas.device(_PERIOD)
    columns = np.flatnonzero(covered)
    along = columns[None, :] + (max(lines[0], 0) - lines[0] + np.arange(len(part)))[:, None]
    row, column = np.nonzero(along % period < stripe)
    at = row, columns[column]
    part[at] = mixed_pixels(part[at], ground, strength)
