"""The only pyqtgraph item of the timeline, which covers the view and paints entire frames."""

from __future__ import annotations

import pyqtgraph as pg
from PySide6.QtCore import QRectF
from PySide6.QtGui import QPainter
from PySide6.QtWidgets import QStyleOptionGraphicsItem, QWidget

from viewer.gui.qt.crash_report import guard
from viewer.gui.timeline.painting.frame import FramePainter, Overlay
from viewer.render.canvas import Canvas


class RowsItem(pg.GraphicsObject):  # type: ignore[misc]
    """Paints all visible rows in device pixels, so that the view's transform never blurs them."""

    def __init__(self, painter: FramePainter, overlay: Overlay) -> None:
        super().__init__()
        self._frames = painter
        self._overlay = overlay

    @guard(QRectF())
    def boundingRect(self) -> QRectF:
        """The entire area that the view can show."""
        rect: QRectF = self.viewRect()
        return rect

    @guard
    def paint(
        self, painter: QPainter, option: QStyleOptionGraphicsItem, widget: QWidget | None = None
    ) -> None:
        """Paint one frame."""
        if widget is None:
            return
        painter.save()
        painter.resetTransform()
        canvas = Canvas(widget.width(), widget.height(), widget.devicePixelRatioF())
        self._frames.paint(painter, canvas, self._overlay)
        painter.restore()
