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
_COLOR = 0x3F


def stamp_compared(
    image: Pixels,
    scene: Scene,
    top: int,
    canvas: Canvas,
    drawn: Mapping[int, list[MarkedRows]],
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
    colors[[SLOWER, FASTER]] = [theme.pixel(token) for token in ("slower", "faster")]
    ground = theme.pixel("canvas")
    # Labels on slices are dark in both themes: dark lines must not hide them.
    strength = STRENGTH_DARK if theme.dark else 1.0
    for trace, of_trace in drawn.items():
        marks = scene.drawings.compared_marks.found.of[trace]
        for raster, marked in zip(marks.rasters, of_trace, strict=True):
            bars, covered = colors.take(marked.cells & _COLOR), marked.cells != 0
            for band, color, columns in zip(marked.bands.tolist(), bars, covered, strict=True):
                first = int(layout.y[band]) - scroll
                if raster is marks.alone:
                    first += SLICE_TOP
                    lines = _device_lines(first, int(layout.slice_height[band]), canvas)
                    _hatch(image, np.flatnonzero(columns), lines, canvas, ground, strength)
                else:
                    first += 0 if marks.is_b else int(layout.height[band]) - BAR
                    top, bottom = _device_lines(first, BAR, canvas)
                    np.copyto(image[max(top, 0) : max(bottom, 0)], color, where=columns)


def _device_lines(first: int, height: int, canvas: Canvas) -> tuple[int, int]:
    """Return where some logical lines begin and end in device pixels."""
    return canvas.device(first), canvas.device(first + height)


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
