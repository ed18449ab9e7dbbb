"""What pictures of boxes paint alike: pixels as an image, labels, and rings around boxes."""

from __future__ import annotations

from PySide6.QtCore import QPointF, QRectF, Qt
from PySide6.QtGui import QColor, QImage, QPainter, QPen

from viewer.gui.qt.theme.theme import Theme
from viewer.gui.qt.widgets.label_text import LabelCache
from viewer.render.canvas import Canvas
from viewer.render.palette import Pixels

_NUMBER_GAP = 6  # px, from a name to the number behind it


def image_of(pixels: Pixels, canvas: Canvas) -> QImage:
    """Return the device pixels of a canvas as an image, which must not outlive them."""
    image = QImage(
        pixels.data, canvas.columns, canvas.lines, canvas.columns * 4, QImage.Format.Format_RGB32
    )
    image.setDevicePixelRatio(canvas.ratio)
    return image


def paint_label(
    painter: QPainter,
    labels: LabelCache,
    place: QPointF,
    room: float,
    name: str,
    number: str,
    ink: QColor | None = None,
) -> None:
    """Paint as much of a name as fits into some px, and a number behind it if it fits whole.

    ink: of the number, None for that of the name.
    """
    text = labels.fit(name, room)
    if text is None:
        return
    painter.drawStaticText(place, text)
    used = labels.width(text.text()) + _NUMBER_GAP
    if labels.width(number) <= room - used and (whole := labels.fit(number, room)):
        if ink is not None:
            painter.setPen(ink)
        painter.drawStaticText(place + QPointF(used, 0), whole)


def paint_ring(painter: QPainter, box: QRectF, width: int, theme: Theme) -> None:
    """Paint a ring inside a box: of 2 px if it is selected, of 1 px otherwise."""
    painter.setBrush(Qt.BrushStyle.NoBrush)
    if width > 1:
        # A line of the canvas between ring and fill, which makes it visible on every color.
        painter.setPen(QPen(theme.color("canvas"), 1))
        painter.drawRect(box.adjusted(2.5, 2.5, -2.5, -2.5))
    pen = QPen(theme.color("ring"), width)
    pen.setJoinStyle(Qt.PenJoinStyle.MiterJoin)
    painter.setPen(pen)
    half = width / 2
    painter.drawRect(box.adjusted(half, half, -half, -half))
