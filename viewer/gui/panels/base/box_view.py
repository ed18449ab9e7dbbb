"""A picture of boxes in numpy: one array has the box in every pixel. Subclasses say what a box is.

The picture with its labels is kept while the mouse moves; only the rings are painted again.
"""

from __future__ import annotations

import numpy as np
from PySide6.QtCore import QPointF, QRectF
from PySide6.QtGui import QImage, QPainter, QPaintEvent
from PySide6.QtWidgets import QAbstractScrollArea

from viewer.gui.panels.base.box_painting import image_of
from viewer.gui.panels.base.range_view import RangeView
from viewer.gui.qt.crash_report import guard
from viewer.gui.qt.theme.theme import Theme
from viewer.gui.qt.widgets.label_text import LabelCache
from viewer.render.boxes.raster import NONE, BoxNumbers, PlacedBoxes
from viewer.render.canvas import Canvas
from viewer.render.palette import Pixels

_NO_BOXES = PlacedBoxes(*[np.empty(0, np.int64)] * 5)
_NO_NUMBERS: BoxNumbers = np.empty((0, 0), np.int32)


class BoxView(RangeView, QAbstractScrollArea):
    """Boxes in device pixels, painted on the viewport."""

    def __init__(self, theme: Theme, name: str) -> None:
        """name: the accessible name."""
        super().__init__()
        self._set_up(theme, name)
        self.opacity = 1.0
        self._boxes = _NO_BOXES  # in device pixels
        self._numbers = _NO_NUMBERS  # of boxes, per pixel
        self._pixels: Pixels = np.empty((0, 0), np.uint32)
        self._stale, self._drawn = True, (Canvas(1, 1), QImage())
        self.labels = LabelCache(theme.font("label"))

    def _draw(self, canvas: Canvas) -> Pixels:
        """Place the boxes, as `_boxes` and `_numbers`, and return their pixels."""
        raise NotImplementedError

    def _paint_over(self, painter: QPainter, canvas: Canvas) -> None:
        """Paint what is over the boxes, such as labels."""

    def box_at(self, point: QPointF) -> int:
        """Return the box at a point of the canvas, -1 for none."""
        if not self._is_filled:
            return NONE
        canvas, numbers = self._prepared()[0], self._numbers
        x, y = int(canvas.column(point.x())), int(canvas.column(point.y()))
        lines, columns = numbers.shape
        return int(numbers[y, x]) if 0 <= x < columns and 0 <= y < lines else NONE

    def room(self, box: int) -> QRectF | None:
        """Return the visible part of a box in px, None if it is out of view."""
        ratio = self._prepared()[0].ratio
        place = self._boxes.place_of(box)
        if place < 0:
            return None
        edges = (self._boxes.left, self._boxes.top, self._boxes.right, self._boxes.bottom)
        left, top, right, bottom = (int(edge[place]) / ratio for edge in edges)
        return QRectF(left, top, right - left, bottom - top)

    def _prepared(self) -> tuple[Canvas, QImage]:
        """Return the canvas and its picture, drawn anew if it has changed."""
        port = self.viewport()
        canvas = Canvas(max(port.width(), 1), max(port.height(), 1), port.devicePixelRatioF())
        if self._stale or self._drawn[0] != canvas:
            self._stale = False
            self._drawn = canvas, QImage()  # what is painted over it asks for places
            self._pixels = self._draw(canvas)
            self._drawn = canvas, image_of(self._pixels, canvas)
            painter = QPainter(self._drawn[1])
            self._paint_over(painter, canvas)
            painter.end()
        return self._drawn

    def redraw(self) -> None:
        """Draw the picture anew, before it is painted next."""
        self._stale = True
        self.viewport().update()

    def retheme(self) -> None:
        """Use the fonts and colors of the theme, which has changed."""
        self.labels = LabelCache(self._theme.font("label"))
        self.redraw()

    def _show_anew(self, *, stays: bool) -> None:
        if not self._is_filled:
            self._boxes, self._numbers = _NO_BOXES, _NO_NUMBERS  # maybe of a closed file
        super()._show_anew(stays=stays)

    @guard
    def paintEvent(self, event: QPaintEvent) -> None:
        painter = QPainter(self.viewport())
        painter.fillRect(self.viewport().rect(), self._theme.color("canvas"))
        painter.setOpacity(self.opacity)
        if self._is_filled:
            painter.drawImage(0, 0, self._prepared()[1])
            self._paint_rings(painter)
        painter.end()
