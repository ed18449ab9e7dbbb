"""A picture of boxes along an axis: hover, click, zoom and keys. Subclasses say what a box is.

A click chooses a box; a double click or Enter zooms to it; Escape shows all again. Ctrl+wheel zooms
toward the mouse, and dragging pans.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import fields
from typing import TYPE_CHECKING, Generic, TypeVar

import numpy as np
from numpy.typing import NDArray
from PySide6.QtCore import QEvent, QPoint, QPointF, QRectF, Qt, Signal
from PySide6.QtGui import (
    QContextMenuEvent,
    QHideEvent,
    QImage,
    QKeyEvent,
    QMouseEvent,
    QPainter,
    QPaintEvent,
    QPen,
    QPixmap,
    QWheelEvent,
)
from PySide6.QtWidgets import QAbstractScrollArea, QApplication, QFrame, QMenu

from viewer.gui.qt.accessibility import announce, claims_key
from viewer.gui.qt.crash_report import guard
from viewer.gui.qt.theme.theme import Theme
from viewer.gui.qt.wheel import ZOOM_PER_NOTCH, WheelTurn, turn_of
from viewer.gui.qt.widgets.hover_tip import HoverTip
from viewer.gui.qt.widgets.label_text import LabelCache
from viewer.render.canvas import Canvas

if TYPE_CHECKING:
    from _typeshed import DataclassInstance

Frame = TypeVar("Frame", bound="DataclassInstance")

MOST_RINGS = 400
_KEY_STEP = 1.5
_MOVES = (Qt.Key.Key_Left, Qt.Key.Key_Right, Qt.Key.Key_Up, Qt.Key.Key_Down)
_ENTER = (Qt.Key.Key_Return, Qt.Key.Key_Enter)
_ZOOMS = {
    Qt.Key.Key_Plus: _KEY_STEP, Qt.Key.Key_Equal: _KEY_STEP, Qt.Key.Key_Minus: 1 / _KEY_STEP,
}  # fmt: skip
_ELSEWHERE = Qt.KeyboardModifier.ControlModifier | Qt.KeyboardModifier.AltModifier


class BoxView(QAbstractScrollArea):
    """Boxes with numbers, -1 for none, over a range of an axis that starts at 0.

    `chosen(box)`: a click or an arrow key. `range_changed()`: it was zoomed or panned.
    `menu_offered(menu)`: its context menu is about to open.
    """

    chosen = Signal(int)
    range_changed = Signal()
    menu_offered = Signal(QMenu)
    LEAST_SPAN = 1  # of the range

    def __init__(self, theme: Theme, name: str) -> None:
        """name: the accessible name."""
        super().__init__()
        self._theme = theme
        self.tip = HoverTip(self, theme)
        self.opacity = 1.0
        self._hovered = -1
        self._range = (0, 1)
        self._pressed: QPointF | None = None
        self._drags = False
        self.setMouseTracking(True)
        self.setFocusPolicy(Qt.FocusPolicy.StrongFocus)
        self.setFrameShape(QFrame.Shape.NoFrame)
        self.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        self.setAccessibleName(name)

    # -- what a box is ---------------------------------------------------------------------------

    @property
    def _length(self) -> int:
        """The length of the axis, at least 1."""
        raise NotImplementedError

    @property
    def _current(self) -> int:
        """The box where arrow keys start."""
        raise NotImplementedError

    @property
    def _is_filled(self) -> bool:
        """Whether there is anything to show."""
        raise NotImplementedError

    def box_at(self, at: QPointF) -> int:
        """Return the box at a point of the canvas."""
        raise NotImplementedError

    def center_of(self, box: int) -> QPoint:
        """Return the middle of the visible part of a box, in px of the canvas."""
        raise NotImplementedError

    def zoom_to(self, box: int) -> None:
        """Let a box fill the width, or most of it."""
        raise NotImplementedError

    def accessible_value(self) -> str:
        """Return the text for screen readers: the facts of the current box."""
        raise NotImplementedError

    def _lines_at(self, at: QPointF, box: int) -> Sequence[str]:
        """The lines of the tip at a point, and on a box if there is one."""
        raise NotImplementedError

    def _mark_chosen(self, box: int) -> None:
        """Highlight the box that was chosen."""
        raise NotImplementedError

    def _step(self, key: Qt.Key) -> None:
        """Choose the box next to the current one."""
        raise NotImplementedError

    def _scroll(self, turn: WheelTurn) -> bool:
        """Scroll by a turn of the wheel; False if it has no meaning here."""
        return False

    def _range_moves(self) -> None:
        """Follow a range that is about to change, other than by `zoom_to`."""

    def _add_actions(self, menu: QMenu, box: int) -> None:
        """Add what can be done with a box to its menu."""

    @property
    def _takes_escape(self) -> bool:
        """Whether Escape has a meaning."""
        return not self.shows_all

    def _escape(self) -> None:
        """Act on Escape."""
        self.show_all()

    # -- range -----------------------------------------------------------------------------------

    @property
    def shows_all(self) -> bool:
        """Whether the whole axis is shown."""
        return self._range == (0, self._length)

    def show_all(self) -> None:
        """Show the whole axis again."""
        self._range_moves()
        self._range = 0, self._length
        self._changed()

    def zoom(self, factor: float, x: float | None = None) -> None:
        """Zoom and keep one x of the canvas in place, or its center."""
        part = 0.5 if x is None else min(max(x / self._width, 0.0), 1.0)
        t0, t1 = self._range
        span = round((t1 - t0) / factor)
        if factor < 1:
            span = max(span, t1 - t0 + 1)
        span = min(max(span, self.LEAST_SPAN), self._length)
        self._show_from(round(t0 + (t1 - t0 - span) * part), span)

    def _show_from(self, t0: int, span: int) -> None:
        span = min(max(span, self.LEAST_SPAN), self._length)
        t0 = min(max(t0, 0), self._length - span)
        if (t0, t0 + span) != self._range:
            self._range_moves()
            self._range = t0, t0 + span
            self._changed()

    def _pan(self, pixels: float) -> None:
        t0, t1 = self._range
        self._show_from(t0 - round(pixels * (t1 - t0) / self._width), t1 - t0)

    @property
    def _width(self) -> int:
        return max(self.viewport().width(), 1)

    def _changed(self) -> None:
        self.viewport().update()
        self.range_changed.emit()

    # -- mouse -----------------------------------------------------------------------------------

    def _point(self, at: QPointF | None) -> None:
        """Show the tip and the ring of the box at a point; None: the mouse left."""
        box = -1 if at is None else self.box_at(at)
        lines = () if at is None else self._lines_at(at, box)
        self.tip.show_lines(lines, QPoint() if at is None else at.toPoint())
        if box != self._hovered:
            self._hovered = box
            self.viewport().update()

    @guard
    def mousePressEvent(self, event: QMouseEvent) -> None:
        if event.button() == Qt.MouseButton.LeftButton:
            self._pressed, self._drags = event.position(), False

    @guard
    def mouseMoveEvent(self, event: QMouseEvent) -> None:
        if self._pressed is None:
            self._point(event.position())
            return
        moved = event.position() - self._pressed
        if self._drags or moved.manhattanLength() >= QApplication.startDragDistance():
            self._drags = True
            self._point(None)
            self._pan(moved.x())
            self._pressed = event.position()

    @guard
    def mouseReleaseEvent(self, event: QMouseEvent) -> None:
        was_click = self._pressed is not None and not self._drags
        self._pressed, self._drags = None, False
        box = self.box_at(event.position())
        if was_click and event.button() == Qt.MouseButton.LeftButton and box >= 0:
            self._choose(box)

    @guard
    def mouseDoubleClickEvent(self, event: QMouseEvent) -> None:
        self._pressed = None
        box = self.box_at(event.position())
        if box >= 0 and event.button() == Qt.MouseButton.LeftButton:
            self.zoom_to(box)

    @guard
    def wheelEvent(self, event: QWheelEvent) -> None:
        turn = turn_of(event)
        if event.modifiers() & Qt.KeyboardModifier.ControlModifier:
            self.zoom(ZOOM_PER_NOTCH**turn.notches, event.position().x())
        elif event.modifiers() & Qt.KeyboardModifier.ShiftModifier or turn.is_sideways:
            self._pan(turn.along)
        elif not self._scroll(turn):
            event.ignore()
            return
        self._point(event.position())
        event.accept()

    @guard(False)
    def viewportEvent(self, event: QEvent) -> bool:
        if event.type() == QEvent.Type.Leave:
            self._point(None)
        return bool(super().viewportEvent(event))

    @guard
    def hideEvent(self, event: QHideEvent) -> None:
        self._point(None)  # the tip belongs to the window

    @guard
    def contextMenuEvent(self, event: QContextMenuEvent) -> None:
        by_mouse = event.reason() == QContextMenuEvent.Reason.Mouse
        at = event.pos()
        box = self.box_at(QPointF(at)) if by_mouse else self._current
        menu = QMenu(self)
        menu.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        if box >= 0:
            self._choose(box)
            self._add_actions(menu, box)
            at = at if by_mouse else self.center_of(box)
        if not self.shows_all:
            menu.addAction("Reset zoom", self.show_all)
        self.menu_offered.emit(menu)
        self._point(None)
        menu.popup(self.viewport().mapToGlobal(at))

    def _choose(self, box: int) -> None:
        self._mark_chosen(box)
        announce(self, self.accessible_value)
        self.chosen.emit(box)

    # -- keys ------------------------------------------------------------------------------------

    @guard(False)
    def event(self, event: QEvent) -> bool:
        """Handle the picture's own keys before shortcuts."""
        return claims_key(event, self._is_own) or bool(super().event(event))

    def _is_own(self, event: QKeyEvent) -> bool:
        key = Qt.Key(event.key())
        if event.modifiers() & _ELSEWHERE or not self._is_filled:
            return False
        if key == Qt.Key.Key_Escape:
            return self._takes_escape
        return key in _MOVES or key in _ENTER or key in _ZOOMS or key == Qt.Key.Key_0

    @guard
    def keyPressEvent(self, event: QKeyEvent) -> None:
        key = Qt.Key(event.key())
        if not self._is_own(event):
            event.ignore()
        elif key == Qt.Key.Key_Escape:
            self._escape()
        elif key == Qt.Key.Key_0:
            self.show_all()
        elif key in _ZOOMS:
            self.zoom(_ZOOMS[key])
        elif key in _MOVES:
            self._step(key)
        elif self._current >= 0:
            self.zoom_to(self._current)


class BoxPainter(Generic[Frame]):
    """Paints the frames of one widget, and keeps the last picture.

    A frame has all that is shown: numbers, and objects that are compared by identity.
    """

    LEAST_RING = 4  # px
    _key: tuple[object, ...]
    _frame: Frame | None

    def __init__(self, theme: Theme) -> None:
        self._theme = theme
        self.forget()
        self.retheme()

    def retheme(self) -> None:
        """Update fonts and colors after the theme changed."""
        self._labels = LabelCache(self._theme.font("label"))
        self._key = ()

    def forget(self) -> None:
        """Release the last frame: it may have the last reference to a closed file."""
        self._key, self._frame = (), None
        self._pixmap = QPixmap()
        self._numbers: NDArray[np.int32] = np.empty((0, 0), np.int32)  # of boxes, per pixel

    def box(self, frame: Frame, canvas: Canvas, box: int) -> QRectF | None:
        """Return the visible part of a box in px, None if it is out of view."""
        raise NotImplementedError

    def _place(self, frame: Frame, canvas: Canvas) -> None:
        """Lay out the boxes of a frame."""

    def _image(self, frame: Frame, canvas: Canvas) -> QImage:
        """Draw the boxes that were laid out."""
        raise NotImplementedError

    def _paint_over(self, painter: QPainter, frame: Frame, canvas: Canvas) -> None:
        """Paint what is over the boxes, such as labels."""
        raise NotImplementedError

    def prepare(self, frame: Frame, canvas: Canvas) -> None:
        """Lay out and draw a frame, unless it is the last one."""
        values = [getattr(frame, field.name) for field in fields(frame)]
        key = (*(v if isinstance(v, (int, tuple)) else id(v) for v in values), canvas,
               self._theme.dark)  # fmt: skip
        if key == self._key:
            return
        # The frame is kept too: an id is that of one object only as long as this exists.
        self._key, self._frame = key, frame
        self._place(frame, canvas)
        self._pixmap = QPixmap.fromImage(self._image(frame, canvas))
        painter = QPainter(self._pixmap)
        self._paint_over(painter, frame, canvas)
        painter.end()

    def paint(self, painter: QPainter, frame: Frame, canvas: Canvas) -> None:
        """Paint a frame on a canvas."""
        self.prepare(frame, canvas)
        painter.drawPixmap(0, 0, self._pixmap)

    def number_at(self, frame: Frame, canvas: Canvas, at: QPointF) -> int:
        """Return the box at a point, -1 for none."""
        self.prepare(frame, canvas)
        x, y = int(canvas.column(at.x())), int(canvas.column(at.y()))
        lines, columns = self._numbers.shape
        return int(self._numbers[y, x]) if 0 <= x < columns and 0 <= y < lines else -1

    def paint_rings(
        self, painter: QPainter, frame: Frame, canvas: Canvas, boxes: Sequence[int], width: int
    ) -> None:
        """Paint rings around boxes: of 2 px if they are selected, of 1 px if they are related."""
        for number in boxes[:MOST_RINGS]:
            box = self.box(frame, canvas, number)
            if box is not None:
                box.setWidth(max(box.width(), self.LEAST_RING))
                box.setHeight(max(box.height(), self.LEAST_RING))
                paint_ring(painter, box, width, self._theme)


class PaintedBoxView(BoxView, Generic[Frame]):
    """Boxes that a `BoxPainter` paints."""

    _painter: BoxPainter[Frame]

    @property
    def _frame(self) -> Frame | None:
        """What is shown, None for nothing."""
        raise NotImplementedError

    def _rings(self, frame: Frame) -> Iterable[tuple[Sequence[int], int]]:
        """The boxes with rings, and how wide these are."""
        raise NotImplementedError

    @property
    def _canvas(self) -> Canvas:
        port = self.viewport()
        return Canvas(max(port.width(), 1), max(port.height(), 1), port.devicePixelRatioF())

    def retheme(self) -> None:
        """Paint anew after the theme changed."""
        self._painter.retheme()
        self.viewport().update()

    def box_at(self, at: QPointF) -> int:
        frame = self._frame
        return -1 if frame is None else self._painter.number_at(frame, self._canvas, at)

    def center_of(self, box: int) -> QPoint:
        frame = self._frame
        room = None if frame is None else self._painter.box(frame, self._canvas, box)
        return QPoint() if room is None else room.center().toPoint()

    @guard
    def paintEvent(self, event: QPaintEvent) -> None:
        painter, frame, canvas = QPainter(self.viewport()), self._frame, self._canvas
        painter.fillRect(self.viewport().rect(), self._theme.color("canvas"))
        painter.setOpacity(self.opacity)
        if frame is not None:
            self._painter.paint(painter, frame, canvas)
            for boxes, width in self._rings(frame):
                self._painter.paint_rings(painter, frame, canvas, boxes, width)
        painter.end()


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


def image_of(pixels: NDArray[np.uint32], canvas: Canvas) -> QImage:
    """Return the device pixels of a canvas as an image of their own."""
    image = QImage(
        pixels.data, canvas.columns, canvas.lines, canvas.columns * 4, QImage.Format.Format_RGB32
    ).copy()
    image.setDevicePixelRatio(canvas.ratio)
    return image
