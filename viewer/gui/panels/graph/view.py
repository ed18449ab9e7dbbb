"""The drawing of the graph view: operators as boxes in layers, and lines for what they hand on.

It is painted by hand, for there are at most some hundred boxes: what is readable is drawn, and text
only where it can be read. A drag moves the picture and the wheel zooms towards the mouse. A click
chooses an operator, a double click or Enter walks to it; the arrow keys go along the lines.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from itertools import pairwise

import numpy as np
from PySide6.QtCore import (
    QBuffer,
    QEvent,
    QPoint,
    QPointF,
    QRect,
    QRectF,
    QSize,
    Qt,
    Signal,
)
from PySide6.QtGui import (
    QAccessible,
    QAccessibleAnnouncementEvent,
    QColor,
    QFontMetricsF,
    QHelpEvent,
    QImage,
    QKeyEvent,
    QMouseEvent,
    QPainter,
    QPainterPath,
    QPaintEvent,
    QPen,
    QPixmap,
    QPolygonF,
    QResizeEvent,
    QWheelEvent,
)
from PySide6.QtSvg import QSvgGenerator
from PySide6.QtWidgets import QApplication, QSizePolicy, QToolTip, QWidget

from viewer.analysis.flows.neighborhood import Neighborhood
from viewer.gui.panels.graph.facts import Fill, NoCostFill, NodeFacts
from viewer.gui.qt.accessibility import has_role
from viewer.gui.qt.crash_report import guard
from viewer.gui.qt.theme.theme import Theme
from viewer.gui.qt.wheel import ZOOM_PER_NOTCH, turn_of
from viewer.gui.qt.widgets.labels import tip
from viewer.render.graph.layout import GraphLayout
from viewer.render.palette import fills, label_colors

NODE_WIDTH, NODE_HEIGHT = 196, 52  # px of the design
LAYER_GAP, NODE_GAP = 40, 24
_READABLE = 0.62  # the scale from which all text is drawn; 12 px are 7.4 then
_NAMES = 0.42  # and the name alone
_FITS_FROM, _SHOWN_AT = 0.7, 0.85  # what fits at less is shown in part, and larger
_MOST_SCALE, _LEAST_SCALE = 3.0, 0.02
_MARGIN = 40
# Five layers of three nodes are as large in a room of this shape (width to height) either way:
# nodes are wide and low, so layers one below another need less room than one beside another.
_WIDE = 2.2
_NEAR = 6.0  # px within which the mouse is on a line
_KEY_STEP = 1.25
_LARGE = 8000  # px; a picture that is larger is copied as fine as on a plain screen
_SIDES = {
    Qt.Key.Key_Left: (-1, 0), Qt.Key.Key_Right: (1, 0),
    Qt.Key.Key_Up: (0, -1), Qt.Key.Key_Down: (0, 1),
}  # fmt: skip
_ZOOMS = {
    Qt.Key.Key_Plus: _KEY_STEP, Qt.Key.Key_Equal: _KEY_STEP, Qt.Key.Key_Minus: 1 / _KEY_STEP,
}  # fmt: skip
_ENTER = (Qt.Key.Key_Return, Qt.Key.Key_Enter)
_ELSEWHERE = Qt.KeyboardModifier.ControlModifier | Qt.KeyboardModifier.AltModifier


@dataclass(frozen=True, eq=False)
class GraphPicture:
    """What is drawn. nodes stand in the order of the neighborhood. seeds: the positions of those
    with a strong outline. focus: the position of the one that is shown where not all can be."""

    around: Neighborhood
    layout: GraphLayout
    nodes: tuple[NodeFacts, ...]
    across: bool
    seeds: frozenset[int] = frozenset()
    focus: int = 0
    paths: list[QPainterPath] = field(default_factory=list)


@has_role(QAccessible.Role.Graphic)
class GraphView(QWidget):
    """`chosen(operator)`: by a click or an arrow key. `walked(operator)`: by a double click or
    Enter. `turned`: the room became tall, or wide; `is_wide` says which. `asked_tip` is called
    with a node's position, or an edge's, for what its tooltip says."""

    chosen = Signal(int)
    walked = Signal(int)
    turned = Signal()

    def __init__(self, theme: Theme) -> None:
        super().__init__()
        self._theme = theme
        self.picture: GraphPicture | None = None
        self.marked: frozenset[int] = frozenset()  # operators that are selected
        self.opacity = 1.0
        self.scale = 1.0
        self._origin = QPointF(0, 0)  # where the picture's corner lies in the widget
        self._current = -1  # position of the node that keys go on from
        self._pressed: QPoint | None = None
        self._drags = False
        self._fits = True  # nobody has moved the picture since it was fitted
        self._wide = False
        self.node_tip: Callable[[int], str] = lambda position: ""
        self.edge_tip: Callable[[int], str] = lambda edge: ""
        self.setMouseTracking(True)
        self.setFocusPolicy(Qt.FocusPolicy.StrongFocus)
        self.setSizePolicy(QSizePolicy.Policy.Ignored, QSizePolicy.Policy.Ignored)
        self.setAccessibleName("Graph of operators")

    @property
    def is_wide(self) -> bool:
        """Whether producers are best drawn left of consumers, and not above them."""
        return self._wide

    @property
    def current(self) -> NodeFacts | None:
        """The node that the keyboard is at."""
        picture = self.picture
        return picture.nodes[self._current] if picture and self._current >= 0 else None

    def node_size(self) -> tuple[float, float]:
        """Width and height of a node, in px at a scale of 1."""
        return float(self._theme.px(NODE_WIDTH)), float(self._theme.px(NODE_HEIGHT))

    # -- what is shown ---------------------------------------------------------------------------

    def show_picture(self, picture: GraphPicture | None, *, stays: bool = False) -> None:
        """Show another picture, all of it as far as it can be read. stays: where it is now, since
        its nodes lie as before."""
        self.picture = picture
        self.opacity = 1.0
        self._current = -1
        if picture is not None:
            picture.paths[:] = [
                _curve(picture, edge) for edge in range(len(picture.layout.ptr) - 1)
            ]
            self._current = picture.focus if picture.nodes else -1
        if not stays:
            self.fit()
        self.update()

    def mark(self, operators: frozenset[int]) -> None:
        """Mark the operators that are selected."""
        if operators != self.marked:
            self.marked = operators
            picture = self.picture
            if picture is not None and len(operators) == 1:
                self._current = picture.around.position.get(next(iter(operators)), self._current)
            self.update()

    def accessible_value(self) -> str:
        """What a look at it tells: at which operator the keyboard is, and what it cost."""
        here = self.current
        return (
            ", ".join(text for text in (here.name, here.place, here.cost) if text) if here else ""
        )

    def _tell_current(self) -> None:
        if self.hasFocus() and QAccessible.isActive():
            said = QAccessibleAnnouncementEvent(self, self.accessible_value())
            QAccessible.updateAccessibility(said)

    def fit(self) -> None:
        """Show all of the picture; where that could not be read, the part around its seeds."""
        self._fit(readable=True)

    def fit_all(self) -> None:
        """Show all of the picture, however small."""
        self._fit(readable=False)

    def _fit(self, *, readable: bool) -> None:
        picture, margin = self.picture, self._theme.px(_MARGIN)
        if picture is None or not picture.nodes:
            return
        wide, high = max(picture.layout.width, 1.0), max(picture.layout.height, 1.0)
        room = max(self.width() - 2 * margin, 1), max(self.height() - 2 * margin, 1)
        self.scale = max(min(room[0] / wide, room[1] / high, 1.0), _LEAST_SCALE)
        middle = QPointF(wide / 2, high / 2)
        if readable and self.scale < _FITS_FROM:
            self.scale = _SHOWN_AT
            at = picture.focus
            middle = QPointF(float(picture.layout.x[at]), float(picture.layout.y[at]))
            # As much of it as there is room for: nothing is gained by empty space beside it.
            for size, extent, read, put in (
                (room[0], wide, middle.x, middle.setX), (room[1], high, middle.y, middle.setY),
            ):  # fmt: skip
                half = size / 2 / self.scale
                put(extent / 2 if extent <= 2 * half else min(max(read(), half), extent - half))
        self._origin = QPointF(self.width() / 2, self.height() / 2) - middle * self.scale
        self._fits = True
        self.update()

    def zoom(self, factor: float, at: QPointF | None = None) -> None:
        """Zoom, with one point of the widget staying where it is: the middle if none is given."""
        fixed = QPointF(self.width() / 2, self.height() / 2) if at is None else at
        scale = min(max(self.scale * factor, _LEAST_SCALE), _MOST_SCALE)
        self._origin = fixed - (fixed - self._origin) * (scale / self.scale)
        self.scale = scale
        self._fits = False
        self._keep_in_reach()
        self.update()

    def _move(self, by: QPointF) -> None:
        self._origin += by
        self._fits = False
        self._keep_in_reach()
        self.update()

    def _keep_in_reach(self) -> None:
        """Some of the picture always stays in view."""
        if self.picture is None:
            return
        keep = self._theme.px(60)
        wide = self.picture.layout.width * self.scale
        high = self.picture.layout.height * self.scale
        x = min(max(self._origin.x(), keep - wide), self.width() - keep)
        y = min(max(self._origin.y(), keep - high), self.height() - keep)
        self._origin = QPointF(x, y)

    def place_of(self, position: int) -> QRectF:
        """Where a node is drawn, in px of the widget."""
        assert self.picture is not None
        wide, high = self.node_size()
        layout = self.picture.layout
        middle = self._origin + QPointF(float(layout.x[position]), float(layout.y[position])) * (
            self.scale
        )
        size = QPointF(wide, high) * self.scale
        return QRectF(middle - size / 2, middle + size / 2)

    def node_at(self, at: QPointF) -> int:
        """The position of the node at a point of the widget, -1 for none."""
        picture = self.picture
        if picture is None or not picture.nodes:
            return -1
        wide, high = self.node_size()
        where = (at - self._origin) / self.scale
        hit = (np.abs(picture.layout.x - where.x()) <= wide / 2) & (
            np.abs(picture.layout.y - where.y()) <= high / 2
        )
        found = np.flatnonzero(hit)
        return int(found[0]) if len(found) else -1

    def edge_at(self, at: QPointF) -> int:
        """The edge whose line runs by a point of the widget, -1 for none."""
        if self.picture is None:
            return -1
        where, near = (at - self._origin) / self.scale, _NEAR / self.scale
        box = QRectF(where.x() - near, where.y() - near, 2 * near, 2 * near)
        for number, path in enumerate(self.picture.paths):
            if path.controlPointRect().adjusted(-near, -near, near, near).contains(where):
                # A line has no inside: it is closed by the way back.
                there = QPainterPath(path)
                there.connectPath(path.toReversed())
                if there.intersects(box):
                    return number
        return -1

    # -- mouse and keys --------------------------------------------------------------------------

    @guard
    def mousePressEvent(self, event: QMouseEvent) -> None:
        if event.button() in (Qt.MouseButton.LeftButton, Qt.MouseButton.MiddleButton):
            self._pressed, self._drags = event.position().toPoint(), False

    @guard
    def mouseMoveEvent(self, event: QMouseEvent) -> None:
        at = event.position().toPoint()
        if self._pressed is None:
            on = self.node_at(event.position()) >= 0
            self.setCursor(Qt.CursorShape.PointingHandCursor if on else Qt.CursorShape.ArrowCursor)
            return
        far = (at - self._pressed).manhattanLength() >= QApplication.startDragDistance()
        if self._drags or far:
            self._drags = True
            self.setCursor(Qt.CursorShape.ClosedHandCursor)
            self._move(QPointF(at - self._pressed))
            self._pressed = at

    @guard
    def mouseReleaseEvent(self, event: QMouseEvent) -> None:
        was_click = self._pressed is not None and not self._drags
        self._pressed, self._drags = None, False
        self.setCursor(Qt.CursorShape.ArrowCursor)
        position = self.node_at(event.position())
        if was_click and event.button() == Qt.MouseButton.LeftButton and position >= 0:
            self._choose(position)

    @guard
    def mouseDoubleClickEvent(self, event: QMouseEvent) -> None:
        position = self.node_at(event.position())
        self._pressed = None
        if position >= 0 and self.picture is not None:
            self.walked.emit(self.picture.nodes[position].operator)

    @guard
    def wheelEvent(self, event: QWheelEvent) -> None:
        turn = turn_of(event)
        if turn.is_sideways:
            self._move(QPointF(turn.right, 0))
        else:
            self.zoom(ZOOM_PER_NOTCH**turn.notches, event.position())
        event.accept()

    @guard(False)
    def event(self, event: QEvent) -> bool:
        """Its own keys are no commands while the keyboard is here; tell what is at the mouse."""
        asked = event.type() == QEvent.Type.ShortcutOverride and isinstance(event, QKeyEvent)
        if asked and self._is_own(event):  # type: ignore[arg-type]
            event.accept()
            return True
        if event.type() == QEvent.Type.ToolTip and isinstance(event, QHelpEvent):
            QToolTip.showText(event.globalPos(), tip(self.tip_at(QPointF(event.pos()))), self)
            return True
        return bool(super().event(event))

    def tip_at(self, at: QPointF) -> str:
        """What is said of a point, as plain text."""
        position = self.node_at(at)
        if position >= 0:
            return self.node_tip(position)
        edge = self.edge_at(at)
        return self.edge_tip(edge) if edge >= 0 else ""

    def _is_own(self, event: QKeyEvent) -> bool:
        key = Qt.Key(event.key())
        plain = not event.modifiers() & _ELSEWHERE
        return plain and (key in _SIDES or key in _ZOOMS or key in _ENTER or key in (
            Qt.Key.Key_0, Qt.Key.Key_F,
        ))  # fmt: skip

    @guard
    def keyPressEvent(self, event: QKeyEvent) -> None:
        key = Qt.Key(event.key())
        if not self._is_own(event):
            super().keyPressEvent(event)
        elif key in _SIDES:
            self._step(*_SIDES[key])
        elif key in _ZOOMS:
            self.zoom(_ZOOMS[key])
        elif key == Qt.Key.Key_0:
            self.zoom(1 / self.scale)
        elif key == Qt.Key.Key_F:
            self.fit_all()
        elif self.current is not None:
            self.walked.emit(self.current.operator)

    def _step(self, right: int, down: int) -> None:
        """Go to a producer or consumer of the current node, or to one beside it in its layer."""
        picture, at = self.picture, self._current
        if picture is None or at < 0:
            return
        along, beside = (right, down) if picture.across else (down, right)
        u, v = (
            (picture.layout.x, picture.layout.y)
            if picture.across
            else (picture.layout.y, picture.layout.x)
        )
        if along:
            found = picture.around.gives(at) if along > 0 else picture.around.takes(at)
        else:
            found = np.flatnonzero((np.abs(u - u[at]) < 1) & ((v - v[at]) * beside > 0))
        if len(found):
            nearest = found[np.argmin(np.abs(v[found] - v[at]) + np.abs(u[found] - u[at]))]
            self._choose(int(nearest))
            self._bring(int(nearest))

    def _choose(self, position: int) -> None:
        assert self.picture is not None
        self._current = position
        self.update()
        self._tell_current()
        self.chosen.emit(self.picture.nodes[position].operator)

    def _bring(self, position: int) -> None:
        """Move the picture as little as brings a node into view."""
        place = self.place_of(position).adjusted(-8, -8, 8, 8)
        room = QRectF(self.rect())
        by = QPointF(0, 0)
        if not room.contains(place):
            x = min(max(place.x(), 0), max(room.width() - place.width(), 0)) - place.x()
            y = min(max(place.y(), 0), max(room.height() - place.height(), 0)) - place.y()
            by = QPointF(x, y)
        if not by.isNull():
            self._move(by)

    @guard
    def resizeEvent(self, event: QResizeEvent) -> None:
        was = self._wide
        # Not back and forth while an edge is dragged.
        self._wide = self.width() > self.height() * _WIDE * (0.9 if was else 1.1)
        if self._fits:
            self.fit()
        if was != self._wide:
            self.turned.emit()

    @guard(QSize())
    def minimumSizeHint(self) -> QSize:
        return QSize(self._theme.px(160), self._theme.px(100))

    # -- painting --------------------------------------------------------------------------------

    def image(self) -> QImage:
        """All of the picture at a scale of 1, twice as fine as a plain screen."""
        size = self._whole_size()
        sharp = 2.0 if max(size.width(), size.height()) < _LARGE else 1.0
        made = QImage(size * sharp, QImage.Format.Format_RGB32)
        made.setDevicePixelRatio(sharp)
        painter = QPainter(made)
        self._paint_whole(painter, size)
        painter.end()
        return made

    def picture_bytes(self, *, svg: bool) -> bytes:
        """All of the picture as the bytes of an SVG or PNG file."""
        buffer = QBuffer()
        buffer.open(QBuffer.OpenModeFlag.WriteOnly)
        if svg:
            size = self._whole_size()
            made = QSvgGenerator()
            made.setOutputDevice(buffer)
            made.setSize(size)
            made.setViewBox(QRect(QPoint(0, 0), size))
            made.setTitle(self.accessibleName())
            made.setDescription(self.accessibleDescription())
            painter = QPainter(made)
            self._paint_whole(painter, size)
            painter.end()
        else:
            QPixmap.fromImage(self.image()).save(buffer, "PNG")
        return bytes(buffer.data().data())

    def _whole_size(self) -> QSize:
        assert self.picture is not None
        margin = 2 * self._theme.px(_MARGIN)
        layout = self.picture.layout
        return QSize(round(layout.width) + margin, round(layout.height) + margin)

    def _paint_whole(self, painter: QPainter, size: QSize) -> None:
        margin = self._theme.px(_MARGIN)
        kept = self._origin, self.scale
        self._origin, self.scale = QPointF(margin, margin), 1.0
        try:
            painter.fillRect(QRect(QPoint(0, 0), size), self._theme.color("canvas"))
            self._paint(painter, QRectF(0, 0, size.width(), size.height()))
        finally:
            self._origin, self.scale = kept

    @guard
    def paintEvent(self, event: QPaintEvent) -> None:
        painter = QPainter(self)
        painter.fillRect(self.rect(), self._theme.color("canvas"))
        painter.setOpacity(self.opacity)
        self._paint(painter, QRectF(self.rect()))
        painter.setOpacity(1.0)
        if self.hasFocus():
            painter.setPen(QPen(self._theme.color("accent"), 2))
            painter.setBrush(Qt.BrushStyle.NoBrush)
            painter.drawRect(self.rect().adjusted(1, 1, -1, -1))
        painter.end()

    def _paint(self, painter: QPainter, room: QRectF) -> None:
        picture = self.picture
        if picture is None:
            return
        painter.save()
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        painter.translate(self._origin)
        painter.scale(self.scale, self.scale)
        seen = QRectF((room.topLeft() - self._origin) / self.scale, room.size() / self.scale)
        marked = {picture.around.position.get(o, -1) for o in self.marked}
        self._paint_edges(painter, picture, seen, marked)
        for position in range(len(picture.nodes)):
            self._paint_node(painter, picture, position, seen, position in marked)
        painter.restore()

    def _paint_edges(
        self, painter: QPainter, picture: GraphPicture, seen: QRectF, marked: set[int]
    ) -> None:
        theme = self._theme
        thin, thick = max(1.2, 0.8 / self.scale), max(2.2, 1.6 / self.scale)
        around = picture.around
        ends = zip(around.producer.tolist(), around.consumer.tolist(), strict=True)
        strong = [a in marked or b in marked for a, b in ends]
        for wanted, token, width in ((False, "text3", thin), (True, "accent", thick)):
            pen = QPen(theme.color(token), width)
            pen.setCapStyle(Qt.PenCapStyle.FlatCap)
            for number, path in enumerate(picture.paths):
                if strong[number] is not wanted or path.isEmpty():
                    continue
                if path.controlPointRect().adjusted(-8, -8, 8, 8).intersects(seen):
                    painter.strokePath(path, pen)
                    self._paint_head(painter, picture, number, theme.color(token))

    def _paint_head(
        self, painter: QPainter, picture: GraphPicture, edge: int, color: QColor
    ) -> None:
        line = picture.layout.points[picture.layout.ptr[edge] : picture.layout.ptr[edge + 1]]
        (x, y), before = line[-1], line[-2]
        long, half = max(8.0, 5.0 / self.scale), max(4.0, 2.5 / self.scale)
        if picture.across:
            way = -1.0 if before[0] > x else 1.0  # an edge that closes a cycle runs back
            corners = [(x, y), (x - way * long, y - half), (x - way * long, y + half)]
        else:
            way = -1.0 if before[1] > y else 1.0
            corners = [(x, y), (x - half, y - way * long), (x + half, y - way * long)]
        painter.setPen(Qt.PenStyle.NoPen)
        painter.setBrush(color)
        painter.drawPolygon(QPolygonF([QPointF(*corner) for corner in corners]))

    def _paint_node(
        self, painter: QPainter, picture: GraphPicture, position: int, seen: QRectF, marked: bool
    ) -> None:
        theme, node = self._theme, picture.nodes[position]
        wide, high = self.node_size()
        x, y = float(picture.layout.x[position]), float(picture.layout.y[position])
        rect = QRectF(x - wide / 2, y - high / 2, wide, high)
        if not rect.adjusted(-40, -24, 40, 24).intersects(seen):
            return
        fill, text, dashed = self._colors(node.fill)
        pen = QPen(theme.color("text3" if isinstance(node.fill, NoCostFill) else "line"), 1.0)
        if dashed:
            pen.setStyle(Qt.PenStyle.DashLine)
        if position in picture.seeds:
            pen = QPen(theme.color("text1"), 3.0)
        painter.setPen(pen)
        painter.setBrush(fill)
        painter.drawRoundedRect(rect, 5, 5)
        if marked:
            painter.setBrush(Qt.BrushStyle.NoBrush)
            painter.setPen(QPen(theme.color("accent"), max(2.5, 2.0 / self.scale)))
            painter.drawRoundedRect(rect.adjusted(-4, -4, 4, 4), 7, 7)
        if node.tag:
            self._paint_tag(painter, rect, node.tag, text)
        if self.scale >= _NAMES:
            self._paint_texts(painter, rect, node, text)
        if self.scale >= _READABLE:
            self._paint_hidden(painter, rect, node, picture.across)

    def _colors(self, fill: Fill) -> tuple[QColor, QColor, bool]:
        """The fill of a node, the color of its text, and whether its outline is dashed."""
        theme = self._theme
        if isinstance(fill, NoCostFill):
            ground = "raised" if fill is NoCostFill.PLAIN else "panel"
            return theme.color(ground), theme.color("text1"), fill is NoCostFill.UNLINKED
        label = QColor.fromRgb(label_colors(theme.dark)[fill])
        return QColor.fromRgb(fills(theme.dark)[fill]), label, False

    def _paint_texts(self, painter: QPainter, rect: QRectF, node: NodeFacts, color: QColor) -> None:
        theme = self._theme
        painter.setPen(color)
        inset, lines = theme.px(9), rect.adjusted(0, theme.px(3), 0, -theme.px(3))
        rows = [(node.name, "section"), (node.place, "caption"), (node.cost, "caption")]
        rows = [row for row in rows if row[0]]
        if self.scale < _READABLE:
            rows = rows[:1]
        step = lines.height() / max(len(rows), 1)
        for number, (text, role) in enumerate(rows):
            painter.setFont(theme.font(role))  # type: ignore[arg-type]
            metrics = QFontMetricsF(painter.font())
            # The end of a module path tells more than its begin.
            side = Qt.TextElideMode.ElideLeft if text is node.place else Qt.TextElideMode.ElideRight
            shown = metrics.elidedText(text, side, rect.width() - 2 * inset)
            at = QRectF(
                rect.left() + inset, lines.top() + number * step, rect.width() - 2 * inset, step
            )
            painter.drawText(at, int(Qt.AlignmentFlag.AlignVCenter), shown)

    def _paint_tag(self, painter: QPainter, rect: QRectF, tag: str, stripe: QColor) -> None:
        """A double left edge, and above it the delegate's call by name."""
        theme = self._theme
        painter.setPen(Qt.PenStyle.NoPen)
        painter.setBrush(stripe)
        painter.drawRect(QRectF(rect.left() + 1, rect.top() + 5, 2, rect.height() - 10))
        painter.drawRect(QRectF(rect.left() + 5, rect.top() + 5, 1, rect.height() - 10))
        if self.scale < _READABLE:
            return
        painter.setFont(theme.font("zero_length"))
        metrics = QFontMetricsF(painter.font())
        shown = metrics.elidedText(tag, Qt.TextElideMode.ElideRight, rect.width() * 0.7)
        high = metrics.height()
        at = QRectF(rect.left() + 8, rect.top() - high, metrics.horizontalAdvance(shown) + 10, high)
        painter.setBrush(theme.color("frame"))
        painter.drawRoundedRect(at, 3, 3)
        painter.setPen(theme.color("frame_label"))
        painter.drawText(at, int(Qt.AlignmentFlag.AlignCenter), shown)

    def _paint_hidden(self, painter: QPainter, rect: QRectF, node: NodeFacts, across: bool) -> None:
        """How many neighbors are not shown, on a short dashed line at the side they are on."""
        theme = self._theme
        painter.setFont(theme.font("zero_length"))
        metrics = QFontMetricsF(painter.font())
        pen = QPen(theme.color("text2"), 1.2)
        for count, way in zip(node.hidden, (-1, 1), strict=True):
            if not count:
                continue
            text, high = f"+{count}", metrics.height()
            wide = metrics.horizontalAdvance(text) + 4
            pen.setStyle(Qt.PenStyle.DotLine)
            painter.setPen(pen)
            if across:
                x, y = rect.left() if way < 0 else rect.right(), rect.bottom() - 8
                painter.drawLine(QPointF(x, y), QPointF(x + way * 8, y))
                at = QRectF(x + 9 if way > 0 else x - 9 - wide, y - high / 2, wide, high)
            else:
                x, y = rect.right() - 14, rect.top() if way < 0 else rect.bottom()
                painter.drawLine(QPointF(x, y), QPointF(x, y + way * 6))
                at = QRectF(x - wide - 2, y if way > 0 else y - high, wide, high)
            painter.setPen(theme.color("text2"))
            painter.drawText(at, int(Qt.AlignmentFlag.AlignCenter), text)


def _curve(picture: GraphPicture, edge: int) -> QPainterPath:
    """The line of an edge, bent softly between its points."""
    layout = picture.layout
    line = layout.points[layout.ptr[edge] : layout.ptr[edge + 1]].tolist()
    path = QPainterPath()
    if not line:
        return path
    path.moveTo(*line[0])
    for (x0, y0), (x1, y1) in pairwise(line):
        if picture.across:
            middle = (x0 + x1) / 2
            path.cubicTo(middle, y0, middle, y1, x1, y1)
        else:
            middle = (y0 + y1) / 2
            path.cubicTo(x0, middle, x1, middle, x1, y1)
    return path
