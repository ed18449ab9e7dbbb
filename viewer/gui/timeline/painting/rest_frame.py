"""The last frame without the mouse, so that a move of the mouse repaints only what it changes.

The frame is painted once more when the mouse moves for the first time after a change. From then on,
each move copies the places that the mouse leaves from it, and paints what it adds to new ones. All
that a whole repaint shows is the same: the mouse adds its own over the rest.
"""

from __future__ import annotations

from collections.abc import Hashable

from PySide6.QtGui import QImage, QPainter, QRegion

from viewer.gui.timeline.painting.device_pixels import draw_parts
from viewer.gui.timeline.painting.frame import FramePainter, Overlay
from viewer.render.canvas import Canvas


class RestFrame:
    """Paints frames of a painter, whole or only where the mouse changes them."""

    def __init__(self, frames: FramePainter) -> None:
        self._frames = frames
        self._image = QImage()
        self._is_valid = False
        self._rest: Hashable = None  # what the last frame was painted with
        self._canvas: Canvas | None = None
        self._painted = QRegion()  # where the mouse is painted

    def changes(self, canvas: Canvas, overlay: Overlay) -> QRegion | None:
        """Where a frame with another overlay differs from the last one; None for everywhere."""
        # Where device pixels are no whole part of logical ones, an image would be blurred.
        is_sharp = canvas.ratio.is_integer()
        if not is_sharp or self._canvas != canvas or self._rest != self._frames.rest_of(overlay):
            return None
        return self._painted.united(self._frames.places_of(canvas, overlay))

    def forget(self) -> None:
        """Paint the whole frame the next time: something else than the mouse changed."""
        self._canvas = None

    def paint(
        self, painter: QPainter, canvas: Canvas, overlay: Overlay, region: QRegion | None = None
    ) -> None:
        """Paint a frame: whole, or only a region of it, outside of which the painter is clipped."""
        frames = self._frames
        if region is None or self.changes(canvas, overlay) is None:
            self._is_valid = False
            frames.paint_rest(painter, canvas, overlay)
            self._canvas, self._rest = canvas, frames.rest_of(overlay)
        else:
            if not self._is_valid:
                self._keep(canvas, overlay)
            draw_parts(painter, self._image, canvas, region)
        frames.paint_mouse(painter, canvas, overlay)
        self._painted = frames.places_of(canvas, overlay)

    def _keep(self, canvas: Canvas, overlay: Overlay) -> None:
        """Paint the frame without the mouse into an image."""
        if (self._image.width(), self._image.height()) != (canvas.columns, canvas.lines):
            self._image = QImage(canvas.columns, canvas.lines, QImage.Format.Format_RGB32)
        self._image.setDevicePixelRatio(canvas.ratio)
        painter = QPainter(self._image)
        try:
            self._frames.paint_rest(painter, canvas, overlay)
        finally:
            painter.end()
        self._is_valid = True
