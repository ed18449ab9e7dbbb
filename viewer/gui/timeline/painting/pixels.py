"""Pixels of a frame on the device of a painter, and what is stamped into them.

A window's backing store is an image in memory on all desktop systems. Rows that are written into it
are not copied again: at 4K the copy of an image takes as long as filling it. Everything that a
painter would do to an image is checked before: its scale, its place, its clip, its opacity.

A ring is drawn inside its slice with a line of canvas color between ring and fill, which makes it
visible on every color. Zero-length slices get a diamond. The lower right corner of a slice is cut
off if memory was allocated after it and before the next event of its block: when exactly is not
logged. A slice that changed has a bar below it in arm A, and above it in arm B, so that the bars of
a pair face each other. A slice that only one arm has is hatched.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import cast

import numpy as np
from PySide6.QtCore import QRect
from PySide6.QtGui import QImage, QPainter, QRegion, QTransform

from viewer.arrays import Bools, Ints
from viewer.gui.qt.theme.theme import Theme
from viewer.gui.timeline.scene.scene import Scene
from viewer.gui.timeline.scene.trace_rasters import FASTER, SLOWER
from viewer.render.frame import MarkedRows, stamp_diamonds
from viewer.render.layout import SLICE_TOP, BandKind, Canvas
from viewer.render.palette import Pixels, mixed_pixels
from viewer.render.time_axis import XMap

# An opaque 0xffRRGGBB means the same in both.
_FORMATS = QImage.Format.Format_RGB32, QImage.Format.Format_ARGB32_Premultiplied


def pixels_under(painter: QPainter, canvas: Canvas, region: QRegion | None = None) -> Pixels | None:
    """Return the pixels of a canvas on the device of a painter; None if it has to draw an image.

    region: the part of the canvas to write into, by default all. The pixels are those of the device
    itself, which may free them as soon as the painter ends: let go of the array before.
    """
    engine = painter.paintEngine()
    device = engine.paintDevice()
    if not isinstance(device, QImage) or device.format() not in _FORMATS:
        return None
    plain = QPainter.CompositionMode.CompositionMode_SourceOver
    if painter.hasClipping() or painter.opacity() != 1 or painter.compositionMode() != plain:
        return None
    room = _room(painter.deviceTransform(), canvas)
    clip, stride = engine.systemClip(), device.bytesPerLine()
    if room is None or not device.rect().contains(room) or stride % 4:
        return None
    # Qt paints only what is not covered by another widget, and has to be painted again.
    written = QRegion(room)
    if region is not None:
        written = QRegion()
        for part in _rects(region):
            written += _on_device(part, canvas.ratio).translated(room.topLeft())
    if not clip.isEmpty() and not written.subtracted(clip).isEmpty():
        return None
    # A painter that began on an image is its only owner: this makes no copy of it.
    lines: Pixels = np.frombuffer(device.bits(), np.uint32).reshape(-1, stride // 4)
    return lines[room.top() : room.bottom() + 1, room.left() : room.right() + 1]


def draw_pixels(painter: QPainter, image: Pixels, canvas: Canvas) -> None:
    """Draw pixels of a canvas at its upper left corner."""
    drawn = QImage(
        image.data, canvas.columns, canvas.lines, canvas.columns * 4, QImage.Format.Format_RGB32
    )
    drawn.setDevicePixelRatio(canvas.ratio)
    painter.drawImage(0, 0, drawn)


def draw_parts(painter: QPainter, image: QImage, canvas: Canvas, region: QRegion) -> None:
    """Draw parts of an image of a canvas, at the same places; its ratio is a whole number.

    image: 32 bits each, without transparent ones. A part alone is faster than a clipped copy of all
    of it, and faster still where it is written into the device.
    """
    parts = _rects(region & QRect(0, 0, canvas.width, canvas.height))
    pixels = pixels_under(painter, canvas, region)
    if pixels is None:
        for part in parts:
            painter.drawImage(part, image, _on_device(part, canvas.ratio))
        return
    lines: Pixels = np.frombuffer(image.constBits(), np.uint32).reshape(image.height(), -1)
    for part in parts:
        room = _on_device(part, canvas.ratio)
        rows, columns = slice(room.top(), room.bottom() + 1), slice(room.left(), room.right() + 1)
        pixels[rows, columns] = lines[rows, columns]


def _rects(region: QRegion) -> Iterable[QRect]:
    return cast(Iterable[QRect], region)


def _on_device(part: QRect, ratio: float) -> QRect:
    """Return the device pixels of a part of a canvas; the ratio is a whole number."""
    return QRect(part.topLeft() * int(ratio), part.size() * int(ratio))


def _room(transform: QTransform, canvas: Canvas) -> QRect | None:
    """Return where a canvas is on a device; None if its pixels are not those of the device."""
    scale, left, top = canvas.ratio, transform.dx(), transform.dy()
    if (transform.m11(), transform.m12(), transform.m21(), transform.m22()) != (scale, 0, 0, scale):
        return None
    if not left.is_integer() or not top.is_integer():
        return None
    return QRect(int(left), int(top), canvas.columns, canvas.lines)


_RING = 2  # px
_REACH = 4  # half the height of a selected diamond, px

ALLOCATION_CORNER = 7  # px, the legs of the triangle

CHANGE_BAR = 3  # px
_HATCH_STRIPE, _HATCH_PERIOD = 2, 7  # px across a line of the hatch, and from one to the next
HATCH_STRENGTH_DARK = 0.25  # of the lines: labels keep a contrast of 4 on every slice color
_COLOR = 0x3F


def stamp_selected(
    image: Pixels,
    scene: Scene,
    section: tuple[int, int],
    canvas: Canvas,
    xmap: XMap,
    theme: Theme,
) -> None:
    """Draw rings into the device pixels of a section, if several slices are selected."""
    chosen = scene.drawings.selected_rasters.rasters
    if not chosen:
        return
    layout, scroll = scene.layout, scene.scroll + section[0]
    ring = theme.pixel("ring")
    ground = theme.pixel("canvas")
    bands = layout.bands_between(scroll, scene.scroll + section[1]).tolist()
    for trace, raster in chosen.items():
        trace_xmap = xmap.on(scene.rasters[trace].open_trace.axis)
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
    inside = covered.copy()
    for _ in range(thick):
        # Runs that continue beyond the canvas have no edge there.
        left = np.concatenate([inside[:1], inside[:-1]])
        right = np.concatenate([inside[1:], inside[-1:]])
        inside = inside & left & right
    return covered & ~inside


def stamp_allocations(
    image: Pixels,
    scene: Scene,
    section: tuple[int, int],
    canvas: Canvas,
    xmap: XMap,
    theme: Theme,
) -> None:
    """Draw corners into the device pixels of a section, which is in logical pixels."""
    layout, scroll = scene.layout, scene.scroll + section[0]
    color, edge = (theme.pixel(token) for token in ("text1", "canvas"))
    for number in scene.group.traces:
        open_trace = scene.rasters[number].open_trace
        marks = open_trace.facts.allocations
        if not len(marks.slice):
            continue
        slices, on_trace = open_trace.trace.slices, xmap.on(open_trace.axis)
        bands = layout.bands_between(scroll, scene.scroll + section[1])
        bands = bands[(layout.kind[bands] == BandKind.ROW) & (layout.trace[bands] == number)]
        for band in bands.tolist():
            row = int(layout.row[band])
            bounds = slices.rows_drawn.row_ptr[[row, row + 1]]
            if slices.drawn_rows is None:
                first, last = np.searchsorted(marks.slice, bounds).tolist()
                marked = marks.slice[first:last]
            else:
                in_row = slices.drawn_between(*bounds.tolist())
                marked = in_row[np.isin(in_row, marks.slice)]
            # Ascending, as slices of a row do not overlap.
            end = slices.end[marked]
            seen = slice(*np.searchsorted(end, on_trace.times).tolist())
            columns = np.unique(on_trace.end_pixel_of(end[seen]))
            bottom = int(layout.y[band]) - scroll + SLICE_TOP + int(layout.slice_height[band])
            y, size = canvas.device(bottom), canvas.device(ALLOCATION_CORNER)
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
            moved = columns - left
            image[y, moved[(moved >= 0) & (moved < width)]] = edge if left == size - up else color


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
    strength = HATCH_STRENGTH_DARK if theme.dark else 1.0
    for trace, of_trace in drawn.items():
        marks = scene.drawings.compared_marks.answer.of[trace]
        for raster, marked in zip(marks.rasters, of_trace, strict=True):
            bars, covered = colors.take(marked.cells & _COLOR), marked.cells != 0
            for band, color, columns in zip(marked.bands.tolist(), bars, covered, strict=True):
                first = int(layout.y[band]) - scroll
                if raster is marks.alone:
                    first += SLICE_TOP
                    lines = _device_lines(first, int(layout.slice_height[band]), canvas)
                    _hatch(image, np.flatnonzero(columns), lines, canvas, ground, strength)
                else:
                    first += 0 if marks.is_b else int(layout.height[band]) - CHANGE_BAR
                    top, bottom = _device_lines(first, CHANGE_BAR, canvas)
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
    stripe, period = canvas.device(_HATCH_STRIPE), canvas.device(_HATCH_PERIOD)
    along = columns[None, :] + (max(lines[0], 0) - lines[0] + np.arange(len(part)))[:, None]
    row, column = np.nonzero(along % period < stripe)
    pixels = row, columns[column]
    part[pixels] = mixed_pixels(part[pixels], ground, strength)
