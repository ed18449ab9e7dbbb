"""Pixels of a canvas on the device of a painter: drawn as an image, or written into it.

A window's backing store is an image in memory on all desktop systems. Rows that are written into it
are not copied again: at 4K the copy of an image takes as long as filling it. Everything that a
painter would do to an image is checked before: its scale, its place, its clip, its opacity.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import cast

import numpy as np
from PySide6.QtCore import QRect
from PySide6.QtGui import QImage, QPainter, QRegion, QTransform

from viewer.render.canvas import Canvas
from viewer.render.palette import Pixels

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
