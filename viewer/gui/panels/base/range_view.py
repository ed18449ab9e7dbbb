"""Pictures of boxes along an axis: hover, click, zoom, keys, menu and tips. Subclasses say of what.

A box is a node, a tensor, a bar, or a point of a chart. A `BoxView` has one numpy array with the
box in every pixel. The picture with its labels is kept while the mouse moves; only the rings are
painted again.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, ClassVar

import numpy as np
from PySide6.QtCore import QEvent, QPoint, QPointF, QRectF, Qt, Signal
from PySide6.QtGui import (
    QColor,
    QContextMenuEvent,
    QHideEvent,
    QImage,
    QKeyEvent,
    QMouseEvent,
    QPainter,
    QPaintEvent,
    QPen,
    QWheelEvent,
)
from PySide6.QtWidgets import QAbstractScrollArea, QApplication, QFrame, QMenu

from viewer.gui.qt.accessibility import OF_COMMANDS, announce, claims_key
from viewer.gui.qt.canvases import ZOOM_PER_NOTCH, HoverTip, WheelTurn, turn_of
from viewer.gui.qt.clipboard import (
    can_save,
    copy_picture,
    painted_image,
    png_bytes,
    save_picture,
    svg_bytes,
)
from viewer.gui.qt.crash_report import guard
from viewer.gui.qt.theme.theme import Theme
from viewer.gui.qt.widgets.label_text import LabelCache
from viewer.render.box_pictures import NONE, BoxNumbers, PlacedBoxes
from viewer.render.layout import Canvas
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
    """Paint as much of a name as fits, and a number in the color `ink` behind it, if it fits."""
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


NO_BOX = -1
MOST_RINGS = 400
_KEY_STEP = 1.5
_SHARP = 2  # pixels of an exported picture per px
_MOVES = (Qt.Key.Key_Left, Qt.Key.Key_Right, Qt.Key.Key_Up, Qt.Key.Key_Down)
_ENTER = (Qt.Key.Key_Return, Qt.Key.Key_Enter)
_ZOOMS = {
    Qt.Key.Key_Plus: _KEY_STEP, Qt.Key.Key_Equal: _KEY_STEP, Qt.Key.Key_Minus: 1 / _KEY_STEP,
}  # fmt: skip

if TYPE_CHECKING:
    ScrollArea = QAbstractScrollArea
else:
    ScrollArea = object  # charts are scroll areas of pyqtgraph


class RangeView(ScrollArea):
    """Boxes with numbers, -1 for none, over a range of an axis that starts at 0.

    `chosen(box)`: a click or an arrow key. `range_changed()`: it was zoomed or panned.
    `menu_offered(menu)`: its context menu is about to open.
    """

    chosen = Signal(int)
    range_changed = Signal()
    menu_offered = Signal(QMenu)
    LEAST_SPAN = 1  # of the range
    LEAST_RING = 4  # px
    STEPS: ClassVar = {Qt.Key.Key_Left: -1, Qt.Key.Key_Right: 1}  # of keys, by boxes

    def _set_up(self, theme: Theme, name: str) -> None:
        """Prepare a widget that was just made. name: the accessible name."""
        self._theme = theme
        self.tip = HoverTip(self, theme)
        self._hovered = self._chosen = NO_BOX
        self._range = (0, 1)
        self._pressed: QPointF | None = None
        self._drags = False
        self.setMouseTracking(True)
        self.setFocusPolicy(Qt.FocusPolicy.StrongFocus)
        self.setFrameShape(QFrame.Shape.NoFrame)
        self.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        self.setVerticalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        self.setAccessibleName(name)

    # -- what a box is ---------------------------------------------------------------------------

    @property
    def _length(self) -> int:
        """The length of the axis, at least 1."""
        return 1

    @property
    def _current(self) -> int:
        """The box where arrow keys start."""
        return self._chosen

    @property
    def _count(self) -> int:
        """The number of boxes that the keys `STEPS` walk along."""
        return self._length

    @property
    def _is_filled(self) -> bool:
        """Whether there is anything to show."""
        raise NotImplementedError

    @property
    def _first(self) -> int:
        """The box that they begin with."""
        return 0

    def _rings(self) -> Iterable[tuple[Sequence[int], int]]:
        """Return the boxes with rings, and how wide these are."""
        return ([self._hovered], 1), ([self._current], 2)

    def zoom_to(self, box: int) -> None:
        """Let a box fill the width, or most of it."""
        raise NotImplementedError

    def lines(self, box: int) -> Sequence[str]:
        """Return the lines about a box, the first one as a title."""
        raise NotImplementedError

    def _lines_beside(self, point: QPointF) -> Sequence[str]:
        """The lines of the tip at a point without a box."""
        return ()

    def _mark_chosen(self, box: int) -> None:
        """Highlight the box that was chosen."""
        self._chosen = box
        self.viewport().update()

    def _next(self, key: Qt.Key) -> int:
        """Return the box next to the current one in the direction of an arrow key, -1 for none."""
        if key not in self.STEPS:
            return NO_BOX
        beside = self._current + self.STEPS[key] if self._current >= 0 else self._first
        return beside if 0 <= beside < self._count else NO_BOX

    def _scroll(self, turn: WheelTurn) -> bool:
        """Scroll by a turn of the wheel; False if it has no meaning here."""
        return False

    def _range_moves(self) -> None:
        """Follow a range that is about to change, other than by `zoom_to`."""

    def _box_of_menu(self, at: QPointF | None) -> int:
        """Choose and return the box whose menu opens at a point, -1 for none; None: by a key."""
        box = self._current if at is None else self.box_at(at)
        if box >= 0:
            self._choose(box)
        return box

    def _add_actions(self, menu: QMenu, box: int) -> None:
        """Add what can be done with a box to its menu."""

    @property
    def _takes_escape(self) -> bool:
        """Whether Escape has a meaning."""
        return not self.shows_all

    def _escape(self) -> None:
        self.show_all()

    def accessible_value(self) -> str:
        """Return the text for screen readers: the facts of the current box."""
        return ", ".join(self.lines(self._current)) if self._current >= 0 else ""

    def redraw(self) -> None:
        """Draw the picture anew, before it is painted next."""
        raise NotImplementedError

    # -- places ----------------------------------------------------------------------------------

    def box_at(self, point: QPointF) -> int:
        """Return the box at a point of the canvas, -1 for none."""
        raise NotImplementedError

    def room(self, box: int) -> QRectF | None:
        """Return the visible part of a box in px, None if it is out of view."""
        raise NotImplementedError

    @property
    def _sides(self) -> tuple[float, float]:
        """The left and right edges of the axis in px."""
        return 0.0, max(self.viewport().width(), 1)

    def center_of(self, box: int) -> QPoint:
        """Return the middle of the visible part of a box, in px of the canvas."""
        room = self.room(box) if self._is_filled else None
        return QPoint() if room is None else room.center().toPoint()

    def _paint_rings(self, painter: QPainter) -> None:
        for boxes, width in self._rings():
            for room in map(self.room, boxes[:MOST_RINGS]):
                if room is not None:
                    room.setWidth(max(room.width(), self.LEAST_RING))
                    room.setHeight(max(room.height(), self.LEAST_RING))
                    paint_ring(painter, room, width, self._theme)

    def _show_anew(self, *, stays: bool) -> None:
        """Show other boxes. stays: whether what is in view and below the mouse does."""
        if not stays:
            self._hovered = self._chosen = NO_BOX
            self._range = 0, self._length
            self.tip.show_lines((), QPoint())
        self._changed()

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

    def zoom(self, factor: float, x: float | None = None, y: float | None = None) -> None:
        """Zoom and keep one x of the canvas in place, or its center."""
        left, right = self._sides
        part = 0.5 if x is None else min(max((x - left) / (right - left), 0.0), 1.0)
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

    def take_range(self, other: RangeView) -> None:
        """Show the range of another view of the same axis."""
        if self._range != other._range and self._length == other._length:
            self._range_moves()
            self._range = other._range
            self._changed()

    def _pan(self, pixels: float, down: float = 0.0) -> None:
        t0, t1 = self._range
        left, right = self._sides
        self._show_from(t0 - round(pixels * (t1 - t0) / (right - left)), t1 - t0)

    def _changed(self) -> None:
        self.redraw()
        self.range_changed.emit()

    # -- mouse -----------------------------------------------------------------------------------

    def _point(self, point: QPointF | None) -> None:
        """Show the tip and the ring of the box at a point; None: the mouse left."""
        box = NO_BOX if point is None else self.box_at(point)
        if point is None or not self._is_filled:
            lines: Sequence[str] = ()
        else:
            lines = self.lines(box) if box >= 0 else self._lines_beside(point)
        self.tip.show_lines(lines, QPoint() if point is None else point.toPoint())
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
            self._pan(moved.x(), moved.y())
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
            self.zoom(ZOOM_PER_NOTCH**turn.notches, *event.position().toTuple())
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
        point = event.pos()
        box = self._box_of_menu(QPointF(point) if by_mouse else None)
        menu = QMenu(self)
        menu.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        if box >= 0:
            self._add_actions(menu, box)
            point = point if by_mouse else self.center_of(box)
        if not self.shows_all:
            menu.addAction("Reset zoom", self.show_all)
        self.menu_offered.emit(menu)
        menu.addSeparator()
        menu.addAction("Copy picture", self.copy_picture)
        if can_save(self):
            menu.addAction("Save picture…", lambda: save_picture(self, self.picture_bytes))
        self._point(None)
        menu.popup(self.viewport().mapToGlobal(point))

    def _paint_picture(self, painter: QPainter) -> None:
        self.viewport().render(painter, QPoint())

    def copy_picture(self) -> None:
        """Copy what is in view."""
        image = painted_image(self.viewport().size(), _SHARP, self._paint_picture)
        copy_picture(self, image, f"a picture: {self.accessibleName()}")

    def picture_bytes(self, suffix: str) -> bytes:
        """Return what is in view as the bytes of a file: ".png" or ".svg"."""
        size = self.viewport().size()
        if suffix == ".svg":
            return svg_bytes(size, self.accessibleName(), "", self._paint_picture)
        return png_bytes(painted_image(size, _SHARP, self._paint_picture))

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
        if event.modifiers() & OF_COMMANDS or not self._is_filled:
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
            box = self._next(key)
            if box >= 0:
                self._choose(box)
                if self.room(box) is None:
                    self.show_all()
        elif self._current >= 0:
            self.zoom_to(self._current)


_NO_BOXES = PlacedBoxes(*[np.empty(0, np.int64)] * 5)
_NO_NUMBERS: BoxNumbers = np.empty((0, 0), np.int32)


class BoxView(RangeView, QAbstractScrollArea):
    """Boxes in device pixels, painted on the viewport."""

    def __init__(self, theme: Theme, name: str) -> None:
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
        if not self._is_filled:
            return NONE
        canvas, numbers = self._prepared()[0], self._numbers
        x, y = int(canvas.column(point.x())), int(canvas.column(point.y()))
        lines, columns = numbers.shape
        return int(numbers[y, x]) if 0 <= x < columns and 0 <= y < lines else NONE

    def room(self, box: int) -> QRectF | None:
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
