"""The graph widget: operators and groups as boxes in layers, with a line for each data flow.

A click selects a box. A double click, Enter or the sign at its left opens a group; the sign of an
open group, a double click on its head or Backspace closes it. A double click on an operator, or
Enter, centers a neighborhood on it; one on the ground fits the picture. The arrow keys move along
the edges. The map in the corner pans by dragging.
"""

from __future__ import annotations

import numpy as np
from PySide6.QtCore import QPointF, QRectF, QSizeF, Qt, Signal, Slot
from PySide6.QtGui import (
    QAccessible,
    QMouseEvent,
    QPainter,
    QPaintEvent,
    QResizeEvent,
)

from viewer.arrays import Floats, Ints
from viewer.gui.panels.graph.minimap import Minimap
from viewer.gui.panels.graph.painting import BADGE, GraphPainter
from viewer.gui.panels.graph.pan_zoom import ENTER, MARGIN, SIDES, PanZoomView
from viewer.gui.panels.graph.picture import GraphPicture
from viewer.gui.panels.graph.tips import edge_tip, node_tip
from viewer.gui.qt.accessibility import announce, has_role
from viewer.gui.qt.crash_report import guard
from viewer.gui.qt.theme.theme import Theme
from viewer.reports.compare_text import WORDS

_READABLE = 0.85  # the scale at which a node that was searched is shown, if it was smaller
_FITS_FROM = 0.7  # neighborhoods that need a smaller scale are shown in part, at `_READABLE`
_NEAR = 5.0  # px; the distance within which the mouse hits an edge
# The shapes, width to height, of which the nearest to that of the widget is laid out.
_SHAPES = (0.5, 0.8, 1.25, 2.0, 3.2)
_HYSTERESIS = 1.12
ACROSS_FROM = 3.2  # the shape from which producers are left of consumers


@has_role(QAccessible.Role.Graphic)
class GraphView(PanZoomView):
    """Draws a graph, and handles mouse and keys.

    `chosen(node)`: a click or an arrow key. `toggled(node)`: open or close a group.
    `walked(operator)`: center a neighborhood on it. `reshaped()`: `shape` has changed. current: the
    node for the keyboard, -1 for none. shape: the width to height that the picture should have.
    """

    KEYS = frozenset((*SIDES, *ENTER, Qt.Key.Key_Backspace, Qt.Key.Key_Space))
    chosen = Signal(int)
    toggled = Signal(int)
    walked = Signal(int)
    reshaped = Signal()

    def __init__(self, theme: Theme) -> None:
        super().__init__(theme)
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
        self.size_drawn, self.opacity = None if picture is None else picture.size, 1.0
        if picture is None:
            self.current, self.marked = -1, frozenset()
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
        picture, margin = self.picture, self._theme.px(MARGIN)
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

    def click(self, point: QPointF) -> None:
        node = self.node_at(point)
        if node >= 0:
            (self._toggle if self._is_on_badge(node, point) else self._choose)(node)

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

    def press_key(self, key: Qt.Key) -> None:
        picture, node = self.picture, self.current
        if picture is None:
            return
        if key in SIDES:
            self._step(*SIDES[key])
        elif node < 0:
            return
        elif key == Qt.Key.Key_Backspace:
            is_open = bool(picture.answer.layout.shown.is_frame[node])
            around = node if is_open else int(picture.tree.parent[node])
            if around > 0 and picture.answer.layout.shown.is_frame[around]:
                self.current = around
                self._toggle(around)
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

    @guard
    def paintEvent(self, event: QPaintEvent) -> None:
        painter = QPainter(self)
        self.paint_frame(painter, self.picture, self.marked, self._keyed, self.painter)
        painter.end()
        top_left = self.to_drawing(QPointF(0, 0))
        seen = QRectF(top_left, QSizeF(self.width(), self.height()) / self.scale)
        self.minimap.show_range(seen)

    @property
    def _keyed(self) -> int:
        """The current node if the keys act on it, else -1."""
        return self.current if self.hasFocus() else -1

    def paint_part(self, painter: QPainter, room: QRectF) -> None:
        if self.picture is not None:
            place = self._origin, self.scale, room
            self.painter.paint(painter, self.picture, *place, self.marked, current=self._keyed)

    def retheme(self) -> None:
        """Paint again after the theme changed."""
        self.painter = GraphPainter(self._theme)
        self.minimap.show_picture(self.picture, self.painter)
        self.update()


def _middles(picture: GraphPicture, nodes: Ints) -> Floats:
    rects = picture.rects[nodes]
    return np.asarray((rects[:, :2] + rects[:, 2:]) / 2)
