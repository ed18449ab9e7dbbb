"""A small map of the whole picture in the corner of its view, with the visible part as a frame."""

from __future__ import annotations

from PySide6.QtCore import QPoint, QPointF, QRect, QRectF, QSizeF, Qt, Signal
from PySide6.QtGui import QMouseEvent, QPainter, QPaintEvent, QPen, QPixmap, QWheelEvent
from PySide6.QtWidgets import QWidget

from viewer.gui.panels.graph.painting import GraphPainter
from viewer.gui.panels.graph.picture import GraphPicture
from viewer.gui.qt.crash_report import guard
from viewer.gui.qt.theme.theme import Theme

_MOST = 170, 120  # px
_LEAST = 40  # px
_ASIDE, _INSET = 8, 5  # px: from the corner, and inside the border
_SHARE = 0.3  # of the view's width and height at most


class Minimap(QWidget):
    """The map; hidden while the whole picture is in view.

    `dragged(middle)`: show this point of the picture in the middle.
    """

    dragged = Signal(QPointF)

    def __init__(self, theme: Theme, view: QWidget) -> None:
        super().__init__(view)
        self._theme = theme
        self._picture: GraphPicture | None = None
        self._painter: GraphPainter | None = None
        self._pixmap: QPixmap | None = None
        self._scale = 1.0
        self._seen = QRectF()
        self._grip = QPointF()  # from the mouse to the middle of the visible part
        self.setAccessibleName("Map of the graph")
        self.setCursor(Qt.CursorShape.OpenHandCursor)
        self.hide()

    @property
    def seen(self) -> QRectF:
        """The frame around the visible part, in px of the map."""
        return QRectF(self._corner() + self._seen.topLeft() * self._scale,
                      self._seen.size() * self._scale)  # fmt: skip

    def show_picture(self, picture: GraphPicture | None, painter: GraphPainter) -> None:
        """Show another picture."""
        self._picture, self._painter, self._pixmap = picture, painter, None
        self.place()

    def place(self) -> None:
        """Take the size of the picture, in the corner of the view."""
        picture, view = self._picture, self.parentWidget()
        if picture is None or view is None:
            self.hide()
            return
        px, before = self._theme.px, (self._scale, self.size())
        inset, aside = QSizeF(2, 2) * px(_INSET), px(_ASIDE)
        room = QSizeF(view.size() * _SHARE).boundedTo(QSizeF(*map(px, _MOST))) - inset
        whole = picture.size.expandedTo(QSizeF(1, 1))
        self._scale = min(room.width() / whole.width(), room.height() / whole.height())
        if self._scale <= 0:
            return
        size = (whole * self._scale + inset).expandedTo(QSizeF(1, 1) * px(_LEAST)).toSize()
        self.setGeometry(QRect(QPoint(view.width() - size.width() - aside,
                                      view.height() - size.height() - aside), size))  # fmt: skip
        if before != (self._scale, size):
            self._pixmap = None
        self.show_range(self._seen)

    def show_range(self, seen: QRectF) -> None:
        """Show which part of the picture is visible."""
        if self._picture is None or seen.isEmpty():
            return
        self.setVisible(not seen.contains(QRectF(QPointF(0, 0), self._picture.size)))
        if seen != self._seen:
            self._seen = QRectF(seen)
            self.update()

    def _corner(self) -> QPointF:
        """Return where the picture begins, so that it is in the middle of the map."""
        assert self._picture is not None
        rest = QSizeF(self.size()) - self._picture.size * self._scale
        return QPointF(rest.width() / 2, rest.height() / 2)

    @guard
    def paintEvent(self, event: QPaintEvent) -> None:
        theme, picture = self._theme, self._picture
        if picture is None or self._painter is None:
            return
        if self._pixmap is None:
            ratio = self.devicePixelRatioF()
            self._pixmap = QPixmap(self.size() * ratio)
            self._pixmap.setDevicePixelRatio(ratio)
            self._pixmap.fill(theme.color("canvas"))
            inner = QPainter(self._pixmap)
            self._painter.paint_map(inner, picture, self._corner(), self._scale)
            inner.end()
        painter = QPainter(self)
        painter.drawPixmap(0, 0, self._pixmap)
        painter.setPen(QPen(theme.color("line"), 1))
        painter.drawRect(QRectF(self.rect()).adjusted(0.5, 0.5, -0.5, -0.5))
        room = QRectF(self.rect()).adjusted(1.5, 1.5, -1.5, -1.5)
        seen = self.seen.intersected(room)
        painter.setPen(QPen(theme.color("accent"), 1.5))
        painter.setBrush(theme.color("accent", 0.12))
        painter.drawRect(seen)
        painter.end()

    @guard
    def mousePressEvent(self, event: QMouseEvent) -> None:
        if event.button() != Qt.MouseButton.LeftButton or self._picture is None:
            return
        mouse, seen = event.position(), self.seen
        self._grip = seen.center() - mouse if seen.contains(mouse) else QPointF(0, 0)
        self.setCursor(Qt.CursorShape.ClosedHandCursor)
        self._drag(mouse)

    @guard
    def mouseMoveEvent(self, event: QMouseEvent) -> None:
        if event.buttons() & Qt.MouseButton.LeftButton and self._picture is not None:
            self._drag(event.position())

    @guard
    def mouseReleaseEvent(self, event: QMouseEvent) -> None:
        self.setCursor(Qt.CursorShape.OpenHandCursor)

    @guard
    def mouseDoubleClickEvent(self, event: QMouseEvent) -> None:
        self.mousePressEvent(event)

    @guard
    def wheelEvent(self, event: QWheelEvent) -> None:
        event.accept()  # the view would zoom toward a point that is not below the mouse

    def _drag(self, mouse: QPointF) -> None:
        self.dragged.emit((mouse + self._grip - self._corner()) / self._scale)
