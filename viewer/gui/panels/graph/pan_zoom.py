"""A drawing that is dragged, zoomed and fitted, and the pixels of its latest frame."""

from __future__ import annotations

from PySide6.QtCore import QEvent, QPoint, QPointF, QRect, QRectF, QSize, QSizeF, Qt
from PySide6.QtGui import (
    QHelpEvent,
    QKeyEvent,
    QMouseEvent,
    QPainter,
    QPen,
    QPixmap,
    QRegion,
    QWheelEvent,
)
from PySide6.QtWidgets import QApplication, QSizePolicy, QToolTip, QWidget

from viewer.gui.qt.accessibility import claims_key
from viewer.gui.qt.crash_report import guard
from viewer.gui.qt.theme.theme import Theme
from viewer.gui.qt.wheel import ZOOM_PER_NOTCH, turn_of
from viewer.gui.qt.widgets.labels import tip

_LEAST_SCALE, _MOST_SCALE = 0.004, 3.0
_KEY_STEP = 1.25
MARGIN = 16  # px around a fitted drawing
_REACH = 60  # px of the drawing that stay in view
ZOOMS = {
    Qt.Key.Key_Plus: _KEY_STEP, Qt.Key.Key_Equal: _KEY_STEP, Qt.Key.Key_Minus: 1 / _KEY_STEP,
}  # fmt: skip
SIDES = {
    Qt.Key.Key_Left: (-1, 0), Qt.Key.Key_Right: (1, 0),
    Qt.Key.Key_Up: (0, -1), Qt.Key.Key_Down: (0, 1),
}  # fmt: skip
ENTER = (Qt.Key.Key_Return, Qt.Key.Key_Enter)
_AROUND = 24  # px repainted around what comes into view: rings and texts reach over edges
_SAME_PLACE = 0.01  # px
_ELSEWHERE = Qt.KeyboardModifier.ControlModifier | Qt.KeyboardModifier.AltModifier


class PanZoomView(QWidget):
    """Drag pans, the wheel zooms toward the mouse. A subclass draws, and says what is where.

    size_drawn: the size of the drawing at a scale of 1, None without one. scale, opacity: of the
    drawing.
    """

    # Keys besides those of the base that are not shortcuts of the window while this has the focus.
    KEYS: frozenset[Qt.Key] = frozenset()

    def __init__(self, theme: Theme) -> None:
        super().__init__()
        self._theme = theme
        self.opacity = self.scale = 1.0
        self.size_drawn: QSizeF | None = None
        self._origin = QPointF(0, 0)  # the drawing's upper left corner, in the widget
        self._pressed: QPoint | None = None
        self._drags = False
        self._fits = True  # the user has not moved the drawing since it was fitted
        self._pixels: QPixmap | None = None  # of the latest frame
        self._pixels_of: tuple[object, ...] = ()
        self._pixels_origin = QPointF()
        self.setMouseTracking(True)
        self.setFocusPolicy(Qt.FocusPolicy.StrongFocus)
        self.setSizePolicy(QSizePolicy.Policy.Ignored, QSizePolicy.Policy.Ignored)

    # -- what a subclass says --------------------------------------------------------------------

    def node_at(self, point: QPointF) -> int:
        """Return the node below a point of the widget that can be clicked, -1 for none."""
        raise NotImplementedError

    def click(self, point: QPointF) -> None:
        """Handle a click of the left button."""
        raise NotImplementedError

    def tip_at(self, point: QPointF) -> str:
        """Return the tooltip at a point, as plain text."""
        raise NotImplementedError

    def press_key(self, key: Qt.Key) -> None:
        """Handle one of the `KEYS`."""
        raise NotImplementedError

    def paint_part(self, painter: QPainter, room: QRectF) -> None:
        """Paint a part of the widget."""
        raise NotImplementedError

    # -- places ----------------------------------------------------------------------------------

    def to_widget(self, x: float, y: float) -> QPointF:
        """Convert a point of the drawing to px of the widget."""
        return self._origin + QPointF(x, y) * self.scale

    def to_drawing(self, point: QPointF) -> QPointF:
        """Convert a point of the widget to the point of the drawing below it."""
        return (point - self._origin) / self.scale

    def fit_all(self) -> None:
        """Show the whole drawing, however small."""
        size, margin = self.size_drawn, 2 * self._theme.px(MARGIN)
        if size is None:
            return
        wide = max(self.width() - margin, 1) / max(size.width(), 1.0)
        high = max(self.height() - margin, 1) / max(size.height(), 1.0)
        scale = max(min(wide, high, 1.0), _LEAST_SCALE)
        self.center_on(QPointF(size.width() / 2, size.height() / 2), scale)
        self._fits = True

    def center_on(self, middle: QPointF, scale: float) -> None:
        """Show a point of the drawing in the middle."""
        self.scale = scale
        self._origin = QPointF(self.width() / 2, self.height() / 2) - middle * scale
        self.update()

    def zoom(self, factor: float, fixed: QPointF | None = None) -> None:
        """Zoom and keep a point of the widget in place: `fixed`, or the center."""
        fixed = QPointF(self.width() / 2, self.height() / 2) if fixed is None else fixed
        scale = min(max(self.scale * factor, _LEAST_SCALE), _MOST_SCALE)
        self._origin = fixed - (fixed - self._origin) * (scale / self.scale)
        self.scale = scale
        self.move_drawing(QPointF(0, 0))

    def move_drawing(self, by: QPointF) -> None:
        """Pan by some px."""
        self._origin += by
        self._fits = False
        size = self.size_drawn
        if size is not None:
            margin = self._theme.px(_REACH)
            width, height = size.width() * self.scale, size.height() * self.scale
            x = min(max(self._origin.x(), margin - width), self.width() - margin)
            y = min(max(self._origin.y(), margin - height), self.height() - margin)
            self._origin = QPointF(x, y)
        self.update()

    def bring(self, place: QRectF) -> None:
        """Pan as little as possible to bring a rectangle of the widget into view."""
        place = place.adjusted(-8, -8, 8, 8)
        room = QRectF(self.rect())
        if room.contains(place):
            return
        x = min(max(place.x(), 0), max(room.width() - place.width(), 0)) - place.x()
        y = min(max(place.y(), 0), max(room.height() - place.height(), 0)) - place.y()
        if x or y:
            self.move_drawing(QPointF(x, y))

    # -- mouse and keys --------------------------------------------------------------------------

    @guard
    def mousePressEvent(self, event: QMouseEvent) -> None:
        if event.button() in (Qt.MouseButton.LeftButton, Qt.MouseButton.MiddleButton):
            self._pressed, self._drags = event.position().toPoint(), False

    @guard
    def mouseMoveEvent(self, event: QMouseEvent) -> None:
        mouse = event.position().toPoint()
        if self._pressed is None:
            is_on = self.node_at(event.position()) >= 0
            shapes = Qt.CursorShape.ArrowCursor, Qt.CursorShape.PointingHandCursor
            self.setCursor(shapes[is_on])
            return
        far = (mouse - self._pressed).manhattanLength() >= QApplication.startDragDistance()
        if self._drags or far:
            self._drags = True
            self.setCursor(Qt.CursorShape.ClosedHandCursor)
            self.move_drawing(QPointF(mouse - self._pressed))
            self._pressed = mouse

    @guard
    def mouseReleaseEvent(self, event: QMouseEvent) -> None:
        was_click = self._pressed is not None and not self._drags
        self._pressed, self._drags = None, False
        self.setCursor(Qt.CursorShape.ArrowCursor)
        if was_click and event.button() == Qt.MouseButton.LeftButton:
            self.click(event.position())

    @guard
    def wheelEvent(self, event: QWheelEvent) -> None:
        turn = turn_of(event)
        if turn.is_sideways:
            self.move_drawing(QPointF(turn.right, 0))
        else:
            self.zoom(ZOOM_PER_NOTCH**turn.notches, event.position())
        event.accept()

    @guard(False)
    def event(self, event: QEvent) -> bool:
        """Handle the graph's own keys before shortcuts, and show tooltips."""
        if claims_key(event, self._handles):
            return True
        if event.type() == QEvent.Type.ToolTip and isinstance(event, QHelpEvent):
            QToolTip.showText(event.globalPos(), tip(self.tip_at(QPointF(event.pos()))), self)
            return True
        return bool(super().event(event))

    def _handles(self, event: QKeyEvent) -> bool:
        key = Qt.Key(event.key())
        is_key = key in ZOOMS or key in (Qt.Key.Key_0, Qt.Key.Key_F) or key in self.KEYS
        return is_key and not event.modifiers() & _ELSEWHERE

    @guard
    def keyPressEvent(self, event: QKeyEvent) -> None:
        key = Qt.Key(event.key())
        if not self._handles(event):
            super().keyPressEvent(event)
        elif key in self.KEYS:
            self.press_key(key)
        elif key in ZOOMS:
            self.zoom(ZOOMS[key])
        elif key == Qt.Key.Key_0:
            self.zoom(1 / self.scale)
        else:
            self.fit_all()

    @guard(QSize())
    def minimumSizeHint(self) -> QSize:
        return QSize(self._theme.px(160), self._theme.px(100))

    # -- painting --------------------------------------------------------------------------------

    def paint_frame(self, painter: QPainter, *look: object) -> None:
        """Paint the drawing, of the latest frame what is the same, and the focus.

        look: what determines the pixels besides the place and the scale.
        """
        if self.opacity < 1:
            painter.fillRect(self.rect(), self._theme.color("canvas"))
        painter.setOpacity(self.opacity)
        painter.drawPixmap(0, 0, self._frame((*look, self.scale)))
        painter.setOpacity(1.0)
        if self.hasFocus():
            painter.setPen(QPen(self._theme.color("accent"), 2))
            painter.setBrush(Qt.BrushStyle.NoBrush)
            painter.drawRect(self.rect().adjusted(1, 1, -1, -1))

    def _frame(self, look: tuple[object, ...]) -> QPixmap:
        """Return the pixels of the widget; after a pan, only what comes into view is painted."""
        ratio, before = self.devicePixelRatioF(), self._pixels
        size = self.size() * ratio
        shift = (self._origin - self._pixels_origin) * ratio
        x, y = round(shift.x()), round(shift.y())
        is_whole = abs(shift.x() - x) < _SAME_PLACE and abs(shift.y() - y) < _SAME_PLACE
        is_same = len(look) == len(self._pixels_of) and all(
            new is old or new == old for new, old in zip(look, self._pixels_of, strict=True)
        )
        exposed = QRegion(QRect(QPoint(0, 0), size))
        pixels = before if before is not None and before.size() == size else QPixmap(size)
        if pixels is before and is_same and is_whole and abs(x) < size.width() and (
            abs(y) < size.height()
        ):  # fmt: skip
            exposed = QRegion()
            if x or y:
                before.scroll(x, y, before.rect(), exposed)
        pixels.setDevicePixelRatio(ratio)
        self._pixels, self._pixels_of, self._pixels_origin = pixels, look, QPointF(self._origin)
        if exposed.isEmpty():
            return pixels
        painter = QPainter(pixels)
        for part in exposed:  # type: ignore[attr-defined]  # PySide6's stub lacks it
            room = QRectF(
                part.x() / ratio, part.y() / ratio, part.width() / ratio, part.height() / ratio
            )
            room.adjust(-_AROUND, -_AROUND, _AROUND, _AROUND)
            room = room.intersected(QRectF(self.rect()))
            painter.setClipRect(room)
            painter.fillRect(room, self._theme.color("canvas"))
            self.paint_part(painter, room)
        painter.end()
        return pixels
