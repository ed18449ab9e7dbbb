"""Pixels of a canvas on the device of a painter: drawn as an image, or written into it.

A window's backing store is an image in memory on all desktop systems. Rows that are written into it
are not copied again: at 4K the copy of an image takes as long as filling it. Everything that a
painter would do to an image is checked before: its scale, its place, its clip, its opacity.
"""

from __future__ import annotations

import numpy as np
from PySide6.QtCore import QRect
from PySide6.QtGui import QImage, QPainter, QTransform

from viewer.render.canvas import Canvas
from viewer.render.palette import Pixels

# An opaque 0xffRRGGBB means the same in both.
_FORMATS = QImage.Format.Format_RGB32, QImage.Format.Format_ARGB32_Premultiplied


def pixels_under(painter: QPainter, canvas: Canvas) -> Pixels | None:
    """Return the pixels of a canvas on the device of a painter; None if it has to draw an image.

    They are those of the device itself, which may free them as soon as the painter ends: let go of
    the array before.
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
    if not clip.isEmpty() and not (clip.rectCount() == 1 and clip.boundingRect().contains(room)):
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


def _room(transform: QTransform, canvas: Canvas) -> QRect | None:
    """Return where a canvas is on a device; None if its pixels are not those of the device."""
    scale, left, top = canvas.ratio, transform.dx(), transform.dy()
    if (transform.m11(), transform.m12(), transform.m21(), transform.m22()) != (scale, 0, 0, scale):
        return None
    if not left.is_integer() or not top.is_integer():
        return None
    return QRect(int(left), int(top), canvas.columns, canvas.lines)
