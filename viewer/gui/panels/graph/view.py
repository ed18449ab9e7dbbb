"""The graph widget: operators and groups as boxes in layers, with a line for each data flow.

A click selects a box. A double click, Enter or the sign at its left opens a group; the sign of an
open group, a double click on its head or Backspace closes it. A double click on an operator, or
Enter, centers a neighborhood on it; one on the ground fits the picture.
"""

from __future__ import annotations

import numpy as np
from PySide6.QtCore import QEvent, QPoint, QPointF, QRect, QRectF, QSize, QSizeF, Qt, Signal, Slot
from PySide6.QtGui import (
    QAccessible,
    QHelpEvent,
    QKeyEvent,
    QMouseEvent,
    QPainter,
    QPaintEvent,
    QPen,
    QPixmap,
    QRegion,
    QResizeEvent,
    QWheelEvent,
)
from PySide6.QtWidgets import QApplication, QSizePolicy, QToolTip, QWidget

from viewer.arrays import Floats, Ints
from viewer.gui.panels.graph.painting import BADGE, GraphPainter, GraphPicture
from viewer.gui.panels.graph.question import edge_tip, node_tip
from viewer.gui.qt.accessibility import OF_COMMANDS, announce, claims_key, has_role
from viewer.gui.qt.canvases import ZOOM_PER_NOTCH, turn_of
from viewer.gui.qt.crash_report import guard
from viewer.gui.qt.theme.theme import Theme
from viewer.gui.qt.widgets.labels import tip
from viewer.reports.compare_text import WORDS

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


_LEAST_SCALE, _MOST_SCALE = 0.004, 3.0
_MARGIN = 16  # px around a fitted picture
_REACH = 60  # px of the picture that stay in view
_READABLE = 0.85  # the scale at which a node that was searched is shown, if it was smaller
_FITS_FROM = 0.7  # neighborhoods that need a smaller scale are shown in part, at `_READABLE`
_NEAR = 5.0  # px; the distance within which the mouse hits an edge
# The shapes, width to height, of which the nearest to that of the widget is laid out.
_SHAPES = (0.5, 0.8, 1.25, 2.0, 3.2)
_HYSTERESIS = 1.12
ACROSS_FROM = 3.2  # the shape from which producers are left of consumers
_AROUND = 24  # px repainted around what comes into view: rings and texts reach over edges
_SAME_PLACE = 0.01  # px
_STEP = 1.25
_ZOOMS = {Qt.Key.Key_Plus: _STEP, Qt.Key.Key_Equal: _STEP, Qt.Key.Key_Minus: 1 / _STEP}
_SIDES = {
    Qt.Key.Key_Left: (-1, 0), Qt.Key.Key_Right: (1, 0),
    Qt.Key.Key_Up: (0, -1), Qt.Key.Key_Down: (0, 1),
}  # fmt: skip
# Those that are not shortcuts of the window while the graph has the focus.
_KEYS = frozenset((
    *_ZOOMS, *_SIDES, Qt.Key.Key_Return, Qt.Key.Key_Enter, Qt.Key.Key_Space, Qt.Key.Key_Backspace,
    Qt.Key.Key_0, Qt.Key.Key_F,
))  # fmt: skip


@has_role(QAccessible.Role.Graphic)
class GraphView(QWidget):
    """Draws a graph, and handles mouse and keys.

    `chosen(node)`: a click or an arrow key. `toggled(node)`: open or close a group.
    `walked(operator)`: center a neighborhood on it. `reshaped()`: `shape` has changed. current: the
    node for the keyboard, -1 for none. shape: the width to height that the picture should have.
    """

    chosen = Signal(int)
    toggled = Signal(int)
    walked = Signal(int)
    reshaped = Signal()

    def __init__(self, theme: Theme) -> None:
        super().__init__()
        self._theme = theme
        self.opacity = self.scale = 1.0
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
        self.picture: GraphPicture | None = None
        self.marked: frozenset[int] = frozenset()  # visible nodes with selected operators
        self.current = -1
        self._anchor: tuple[int, QPointF] | None = None
        self.shape = _SHAPES[2]
        self.painter = GraphPainter(theme)
        self.minimap = Minimap(theme, self)
        self.minimap.dragged.connect(self._show_middle)
        self.setAccessibleName("Graph of operators")

    # -- contents --------------------------------------------------------------------------------

    def show_picture(self, picture: GraphPicture | None, *, fits: bool = False) -> None:
        """Show another picture. fits: fit it; else what was toggled stays where it is."""
        before, self.picture = self.picture, picture
        self.opacity = 1.0
        if picture is None:
            self.current, self.marked = -1, frozenset()
            self._pixels, self._pixels_of = None, ()
            self.painter.forget()
        elif before is None or fits or (self._fits and before.size != picture.size):
            if before is None or before.tree is not picture.tree:
                self.current = -1
            self.fit()
        elif self._anchor is not None:
            node, corner = self._anchor
            place = picture.rect(picture.visible_of(node)).topLeft()
            self._origin = corner - place * self.scale
        self._anchor = None
        if picture is not None:
            if fits and picture.focus >= 0:
                self.current = picture.focus
            elif self.current >= 0:
                self.current = picture.visible_of(self.current)
        self.minimap.show_picture(picture, self.painter)
        self.update()

    def mark(self, nodes: frozenset[int], *, moves: bool) -> None:
        """Highlight visible nodes with selected operators. moves: the keys act on a single one."""
        if nodes != self.marked:
            self.marked = nodes
            self.update()
        if moves and len(nodes) == 1 and self.current not in nodes:
            self.current = next(iter(nodes))
            self.update()

    def reveal(self, node: int, *, readable: bool = False) -> None:
        """Bring a node into view. readable: in the middle, and large enough to read."""
        picture = self.picture
        node = -1 if picture is None else picture.visible_of(node)
        if picture is None or node < 0:
            return
        if readable:
            self.current = node
            rect = picture.rect(node)
            fitting = min(self.width() / (rect.width() + 40), self.height() / (rect.height() + 40))
            scale = max(self.scale, min(_READABLE, fitting))
            middle = rect.center()
            if rect.width() * scale > self.width() or rect.height() * scale > self.height():
                middle = QPointF(middle.x(), rect.top() + self.height() / 2 / scale - 20)
            self.center_on(middle, scale)
            self._fits = False
        elif not QRectF(self.rect()).intersects(self.place_of(node)):
            self.bring(self.place_of(node))

    def accessible_value(self) -> str:
        """Return the text for screen readers: the current node and its figure."""
        picture, node = self.picture, self.current
        if picture is None or node not in picture.looks:
            return ""
        look = picture.looks[node]
        state = ""
        if picture.tree.is_group[node]:
            state = "closed" if picture.answer.layout.shown.is_box[node] else "open"
        verdict = "" if look.verdict is None else WORDS[look.verdict]
        return ", ".join(filter(None, (look.name, look.detail, look.figure, verdict, state)))

    def fit(self) -> None:
        """Show the whole picture, or of a neighborhood that is too small to read a part of it."""
        self.fit_all()
        picture, margin = self.picture, self._theme.px(_MARGIN)
        if picture is None or picture.focus < 0 or self.scale >= _FITS_FROM:
            return
        # Show as much around the focus as fits, without empty space next to the picture.
        middle, place = picture.rect(picture.focus).center(), []
        for room, extent, wanted in (
            (self.width(), picture.size.width(), middle.x()),
            (self.height(), picture.size.height(), middle.y()),
        ):
            half = max(room - 2 * margin, 1) / 2 / _READABLE
            is_small = extent <= 2 * half
            place.append(extent / 2 if is_small else min(max(wanted, half), extent - half))
        self.center_on(QPointF(*place), _READABLE)

    @Slot(QPointF)
    def _show_middle(self, middle: QPointF) -> None:
        self.center_on(middle, self.scale)
        self.move_drawing(QPointF(0, 0))

    # -- scale and place ---------------------------------------------------------------------------

    def to_widget(self, x: float, y: float) -> QPointF:
        """Convert a point of the drawing to px of the widget."""
        return self._origin + QPointF(x, y) * self.scale

    def to_drawing(self, point: QPointF) -> QPointF:
        """Convert a point of the widget to the point of the drawing below it."""
        return (point - self._origin) / self.scale

    def fit_all(self) -> None:
        """Show the whole drawing, however small."""
        if self.picture is None:
            return
        size, margin = self.picture.size, 2 * self._theme.px(_MARGIN)
        wide = max(self.width() - margin, 1) / max(size.width(), 1.0)
        high = max(self.height() - margin, 1) / max(size.height(), 1.0)
        scale = max(min(wide, high, 1.0), _LEAST_SCALE)
        self.center_on(QPointF(size.width() / 2, size.height() / 2), scale)
        self._fits = True

    def center_on(self, middle: QPointF, scale: float) -> None:
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
        self._origin += by
        self._fits = False
        if self.picture is not None:
            size = self.picture.size
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

    # -- what is where ---------------------------------------------------------------------------

    def place_of(self, node: int) -> QRectF:
        """Return the rectangle of a visible node, in px of the widget."""
        assert self.picture is not None
        rect = self.picture.rect(node)
        return QRectF(self.to_widget(rect.left(), rect.top()), rect.size() * self.scale)

    def badge_of(self, node: int) -> QRectF:
        """Return the sign that opens or closes a group, in px of the widget."""
        assert self.picture is not None
        place, scale = self.place_of(node), self.scale
        is_box = bool(self.picture.answer.layout.shown.is_box[node])
        head = place.height() if is_box else self.picture.head * scale
        left = place.left() + (8 if is_box else 7) * scale
        side = BADGE * scale
        return QRectF(left, place.top() + (head - side) / 2, side, side)

    def node_at(self, point: QPointF) -> int:
        """Return the box below a point of the widget, or the frame with its head there; else -1."""
        return -1 if self.picture is None else self.picture.node_at(self.to_drawing(point))

    def tip_at(self, point: QPointF) -> str:
        picture, node = self.picture, self.node_at(point)
        if picture is None:
            return ""
        if node >= 0:
            return node_tip(picture.answer, node)
        edge = picture.edge_at(self.to_drawing(point), _NEAR / self.scale)
        return edge_tip(picture.answer, edge) if edge >= 0 else ""

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
        node = self.node_at(event.position())
        if was_click and event.button() == Qt.MouseButton.LeftButton and node >= 0:
            is_sign = self._is_on_badge(node, event.position())
            (self._toggle if is_sign else self._choose)(node)

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
        return Qt.Key(event.key()) in _KEYS and not event.modifiers() & OF_COMMANDS

    @guard
    def keyPressEvent(self, event: QKeyEvent) -> None:
        key, picture, node = Qt.Key(event.key()), self.picture, self.current
        if not self._handles(event):
            super().keyPressEvent(event)
        elif key in _ZOOMS:
            self.zoom(_ZOOMS[key])
        elif key == Qt.Key.Key_0:
            self.zoom(1 / self.scale)
        elif key == Qt.Key.Key_F:
            self.fit_all()
        elif picture is None:
            return
        elif key in _SIDES:
            self._step(*_SIDES[key])
        elif node >= 0 and key == Qt.Key.Key_Backspace:
            shown_groups = picture.answer.layout.shown
            around = node if shown_groups.is_frame[node] else int(picture.tree.parent[node])
            if around > 0 and shown_groups.is_frame[around]:
                self.current = around
                self._toggle(around)
        elif node >= 0:
            self._open(node)

    @guard(QSize())
    def minimumSizeHint(self) -> QSize:
        return QSize(self._theme.px(160), self._theme.px(100))

    def _is_on_badge(self, node: int, point: QPointF) -> bool:
        assert self.picture is not None
        has_badge = node > 0 and bool(self.picture.tree.is_group[node])
        return has_badge and self.badge_of(node).adjusted(-3, -3, 3, 3).contains(point)

    @guard
    def mouseDoubleClickEvent(self, event: QMouseEvent) -> None:
        self._pressed = None
        point = event.position()
        node = self.node_at(point)
        if self.picture is None:
            return
        if node < 0:
            self.fit_all()
        elif self._is_on_badge(node, point):
            self._toggle(node)  # the second of two fast clicks on the sign
        else:
            self._open(node)

    def _open(self, node: int) -> None:
        """Open or close a group, or show the neighborhood of an operator."""
        assert self.picture is not None
        if self.picture.tree.is_group[node]:
            if node:
                self._toggle(node)
        else:
            self.walked.emit(int(self.picture.tree.operator[node]))

    def _toggle(self, node: int) -> None:
        """Open or close a group, which stays where it is when the next picture comes."""
        self._fits = False
        self._anchor = node, self.place_of(node).topLeft()
        self.toggled.emit(node)

    def _choose(self, node: int) -> None:
        self.current = node
        self.update()
        announce(self, self.accessible_value)
        self.chosen.emit(node)

    def _step(self, right: int, down: int) -> None:
        """Move along an edge, or to the nearest box at a side."""
        picture, node = self.picture, self.current
        if picture is None:
            return
        boxes, forward = picture.boxes, right if picture.across else down
        if node < 0:
            boxes = boxes[:1]
        elif forward and not picture.answer.layout.shown.is_frame[node]:
            boxes = picture.next_to(node, forward=forward > 0)
        else:
            middles = _middles(picture, boxes)
            x, y = _middles(picture, np.array([node]))[0].tolist()
            aside, below = middles[:, 0] - x, middles[:, 1] - y
            along = aside * right + below * down
            boxes = boxes[(along > 1) & (np.abs(aside * down + below * right) <= along)]
        if len(boxes):
            x, y = _middles(picture, np.array([max(node, 0)]))[0].tolist()
            distance = np.abs(_middles(picture, boxes) - [x, y]).sum(axis=1)
            nearest = int(boxes[np.argmin(distance)])
            self._choose(nearest)
            self.bring(self.place_of(nearest))

    @guard
    def resizeEvent(self, event: QResizeEvent) -> None:
        self.minimap.place()
        if self._fits:
            self.fit()
        wanted = self.width() / max(self.height(), 1)
        nearest = min(_SHAPES, key=lambda shape: abs(np.log(wanted / shape)))
        before, after = (abs(np.log(wanted / shape)) for shape in (self.shape, nearest))
        if nearest != self.shape and before > after * _HYSTERESIS:
            self.shape = nearest
            self.reshaped.emit()

    # -- painting --------------------------------------------------------------------------------

    @guard
    def paintEvent(self, event: QPaintEvent) -> None:
        painter = QPainter(self)
        if self.opacity < 1:
            painter.fillRect(self.rect(), self._theme.color("canvas"))
        painter.setOpacity(self.opacity)
        painter.drawPixmap(0, 0, self._frame())
        painter.setOpacity(1.0)
        if self.hasFocus():
            painter.setPen(QPen(self._theme.color("accent"), 2))
            painter.setBrush(Qt.BrushStyle.NoBrush)
            painter.drawRect(self.rect().adjusted(1, 1, -1, -1))
        painter.end()
        seen = QSizeF(self.width(), self.height()) / self.scale
        self.minimap.show_range(QRectF(self.to_drawing(QPointF(0, 0)), seen))

    def _frame(self) -> QPixmap:
        """Return the pixels of the widget; after a pan, only what comes into view is painted."""
        current = self.current if self.hasFocus() else -1
        look = self.picture, self.marked, current, self.painter, self.scale
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
            if self.picture is not None:
                place = self._origin, self.scale, room
                self.painter.paint(painter, self.picture, *place, self.marked, current=current)
        painter.end()
        return pixels

    def retheme(self) -> None:
        self.painter = GraphPainter(self._theme)
        self.minimap.show_picture(self.picture, self.painter)
        self.update()


def _middles(picture: GraphPicture, nodes: Ints) -> Floats:
    rects = picture.rects[nodes]
    return np.asarray((rects[:, :2] + rects[:, 2:]) / 2)
