"""Drawings as images, and as the bytes of PNG and SVG files; usable in any thread.

QSvgGenerator writes control characters as they are. XML forbids them, so no browser would open the
picture of a file with such a name in it: `well_formed` replaces them.
"""

from __future__ import annotations

import re
from collections.abc import Callable

from PySide6.QtCore import QBuffer, QPoint, QRect, QSize
from PySide6.QtGui import QImage, QPainter
from PySide6.QtSvg import QSvgGenerator

Paint = Callable[[QPainter], None]

# C0 without tab and line ends; U+FFFE and U+FFFF. In UTF-8, no other character has these bytes.
_FORBIDDEN = re.compile(rb"[\x00-\x08\x0b\x0c\x0e-\x1f]|\xef\xbf[\xbe\xbf]")
_REPLACEMENT = "\ufffd".encode()


def well_formed(svg: bytes) -> bytes:
    """Return an SVG file in UTF-8 with U+FFFD in place of characters that XML forbids."""
    return _FORBIDDEN.sub(_REPLACEMENT, svg)


def painted_image(size: QSize, sharp: float, paint: Paint) -> QImage:
    """Return an image of a size in points. sharp: pixels per point."""
    image = QImage(size * sharp, QImage.Format.Format_RGB32)
    image.setDevicePixelRatio(sharp)
    painter = QPainter(image)
    paint(painter)
    painter.end()
    return image


def svg_bytes(size: QSize, title: str, description: str, paint: Paint) -> bytes:
    """Return a drawing as the bytes of an SVG file."""
    buffer = QBuffer()
    buffer.open(QBuffer.OpenModeFlag.WriteOnly)
    svg = QSvgGenerator()
    svg.setOutputDevice(buffer)
    svg.setSize(size)
    svg.setViewBox(QRect(QPoint(0, 0), size))
    svg.setTitle(title)
    svg.setDescription(description)
    painter = QPainter(svg)
    paint(painter)
    painter.end()
    return well_formed(bytes(buffer.data().data()))


def png_bytes(image: QImage) -> bytes:
    """Return an image as the bytes of a PNG file."""
    buffer = QBuffer()
    buffer.open(QBuffer.OpenModeFlag.WriteOnly)
    image.save(buffer, "PNG")  # type: ignore[call-overload]
    return bytes(buffer.data().data())
