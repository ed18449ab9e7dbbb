"""The flame graph widget: hover, click, zoom and keys over the boxes of a call tree.

Its root is at the top. A click chooses a node; a double click or Enter zooms to it, so that it
fills the width; Escape shows all again. Ctrl+wheel zooms toward the mouse, and dragging pans.
"""

from __future__ import annotations

from collections.abc import Callable

from PySide6.QtCore import QEvent, QPoint, QPointF, Qt, Signal
from PySide6.QtGui import (
    QAccessible,
    QAccessibleAnnouncementEvent,
    QContextMenuEvent,
    QHideEvent,
    QKeyEvent,
    QMouseEvent,
    QPainter,
    QPaintEvent,
    QResizeEvent,
    QWheelEvent,
)
from PySide6.QtWidgets import QAbstractScrollArea, QApplication, QFrame, QMenu

from viewer.gui.panels.calls.flame_painting import FlameFrame, FlamePainter
from viewer.gui.panels.calls.node_texts import NodeTexts
from viewer.gui.qt.accessibility import has_role
from viewer.gui.qt.crash_report import guard
from viewer.gui.qt.theme.theme import Theme
from viewer.gui.qt.wheel import ZOOM_PER_NOTCH, turn_of
from viewer.gui.qt.widgets.hover_tip import HoverTip
from viewer.render.canvas import Canvas
from viewer.render.raster import RowRaster

_KEY_STEP = 1.5
_BELOW = 4  # px, after the last row
_ROWS_AROUND = 2  # in view above a node that is zoomed to, if not all rows fit
_MOVES = (Qt.Key.Key_Left, Qt.Key.Key_Right, Qt.Key.Key_Up, Qt.Key.Key_Down)
_ENTER = (Qt.Key.Key_Return, Qt.Key.Key_Enter)
_ZOOMS = {
    Qt.Key.Key_Plus: _KEY_STEP, Qt.Key.Key_Equal: _KEY_STEP, Qt.Key.Key_Minus: 1 / _KEY_STEP,
}  # fmt: skip
_ELSEWHERE = Qt.KeyboardModifier.ControlModifier | Qt.KeyboardModifier.AltModifier


@has_role(QAccessible.Role.Graphic)
class FlameView(QAbstractScrollArea):
    """Shows the nodes of one answer.

    `chosen(node)`: a click or an arrow key. `range_changed()`: it was zoomed or panned.
    `left()`: Escape was pressed while all is shown; `takes_escape` says whether that has a meaning.
    `menu_of(menu, node)`: the context menu of a node is about to open, before `menu_offered(menu)`.
    """

    chosen = Signal(int)
    range_changed = Signal()
    left = Signal()
    menu_of = Signal(QMenu, int)
    menu_offered = Signal(QMenu)

    def __init__(self, theme: Theme) -> None:
        super().__init__()
        self._theme = theme
        self._painter = FlamePainter(theme)
        self.tip = HoverTip(self, theme)
        self.opacity = 1.0
        self.takes_escape: Callable[[], bool] = lambda: False
        self.marked = -1  # the selected node
        self._hovered = -1
        self._zoomed = -1  # the node that fills the width
        self._texts: NodeTexts | None = None
        self._hits: RowRaster | None = None
        self._range = (0, 1)
        self._pressed: QPointF | None = None
        self._drags = False
        self.setMouseTracking(True)
        self.setFocusPolicy(Qt.FocusPolicy.StrongFocus)
        self.setFrameShape(QFrame.Shape.NoFrame)
        self.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        self.setAccessibleName("Flame graph")
        self.setMinimumSize(theme.px(120), theme.px(40))
        self.verticalScrollBar().valueChanged.connect(self.viewport().update)

    # -- contents --------------------------------------------------------------------------------

    def show_texts(self, texts: NodeTexts | None, zoomed: int = -1) -> None:
        """Show the nodes of another answer. zoomed: the node to zoom to, -1 for all of them."""
        self._texts, self._hits = texts, None
        self.marked = self._hovered = -1
        self.tip.show_lines((), QPoint())
        if texts is None:
            self._painter.forget()
        self._zoomed = zoomed
        self._range = self._whole if zoomed < 0 else self._around(zoomed)
        self._fit_scroll_bar()
        self._changed()

    def show_hits(self, hits: RowRaster | None) -> None:
        """Paint only the boxes that a search found in full; None: all."""
        self._hits = hits
        self.viewport().update()

    def mark(self, node: int) -> None:
        """Highlight a node and bring it into view; -1 for none."""
        if node == self.marked:
            return
        self.marked = node
        if node >= 0:
            self._bring(node)
        self.viewport().update()

    def retheme(self) -> None:
        """Paint anew after the theme changed."""
        self._painter.retheme()
        self.viewport().update()

    def accessible_value(self) -> str:
        """Return the text for screen readers: the figures of the selected node."""
        if self._texts is None or self.marked < 0:
            return ""
        return ", ".join(self._texts.lines(self.marked))

    @property
    def content_height(self) -> int:
        """The height of all rows in px."""
        rows = 0 if self._texts is None else self._texts.answer.layout.rows
        return rows * self._painter.row + _BELOW

    @property
    def _canvas(self) -> Canvas:
        """The size of the canvas."""
        port = self.viewport()
        return Canvas(max(port.width(), 1), port.height(), port.devicePixelRatioF())

    @property
    def _frame(self) -> FlameFrame | None:
        if self._texts is None or not self._texts.answer.whole:
            return None
        depth = self._texts.answer.table.depth
        inside_from = int(depth[self._zoomed]) if self._zoomed >= 0 else 0
        scroll = self.verticalScrollBar().value()
        return FlameFrame(self._texts, *self._range, scroll, inside_from, self._hits)

    # -- range -----------------------------------------------------------------------------------

    @property
    def _whole(self) -> tuple[int, int]:
        return 0, max(self._texts.answer.whole, 1) if self._texts is not None else 1

    def _around(self, node: int) -> tuple[int, int]:
        assert self._texts is not None
        return self._texts.answer.layout.around(node)

    @property
    def zoomed(self) -> int:
        """The node that fills the width, -1 for none."""
        return self._zoomed

    @property
    def shows_all(self) -> bool:
        """Whether the whole graph is shown."""
        return self._range == self._whole

    def zoom_to(self, node: int) -> None:
        """Let a node fill the width; those around it are rows above it, the nearest in view."""
        self._zoomed = node
        self._range = self._around(node)
        row = int(self._texts.answer.table.depth[node]) if self._texts is not None else 0
        self.verticalScrollBar().setValue(max(row - _ROWS_AROUND, 0) * self._painter.row)
        self._changed()

    def show_all(self) -> None:
        """Show the whole graph again."""
        self._zoomed = -1
        self._range = self._whole
        self._changed()

    def zoom(self, factor: float, x: float | None = None) -> None:
        """Zoom and keep one x of the canvas in place, or its center."""
        frame = self._frame
        if frame is None:
            return
        part = 0.5 if x is None else min(max(x / self._canvas.width, 0.0), 1.0)
        t0, t1 = self._range
        span = min(max(round((t1 - t0) / factor), 1), self._whole[1])
        self._show_from(round(t0 + (t1 - t0 - span) * part), span)

    def _pan(self, pixels: float) -> None:
        t0, t1 = self._range
        self._show_from(t0 - round(pixels * (t1 - t0) / self._canvas.width), t1 - t0)

    def _show_from(self, t0: int, span: int) -> None:
        t0 = min(max(t0, 0), self._whole[1] - span)
        if (t0, t0 + span) != self._range:
            self._zoomed = -1
            self._range = t0, t0 + span
            self._changed()

    def _changed(self) -> None:
        self.viewport().update()
        self.range_changed.emit()

    def _bring(self, node: int) -> None:
        """Scroll to a node, and show all if it is left or right of the range."""
        assert self._texts is not None
        answer = self._texts.answer
        start, end = int(answer.layout.start[node]), int(answer.layout.end[node])
        if end < self._range[0] or start > self._range[1]:
            self.show_all()
        bar, row = self.verticalScrollBar(), self._painter.row
        top = int(answer.table.depth[node]) * row
        if top < bar.value():
            bar.setValue(top)
        elif top + row > bar.value() + self.viewport().height():
            hidden = top + row - self.viewport().height()
            bar.setValue(-(-hidden // row) * row)

    def _fit_scroll_bar(self) -> None:
        height = self.viewport().height()
        bar = self.verticalScrollBar()
        bar.setRange(0, max(self.content_height - height, 0))
        bar.setPageStep(height)
        bar.setSingleStep(self._painter.row)

    @guard
    def resizeEvent(self, event: QResizeEvent) -> None:
        self._fit_scroll_bar()

    # -- mouse -----------------------------------------------------------------------------------

    def node_at(self, at: QPointF) -> int:
        """Return the node whose box is at a point of the canvas, -1 for none."""
        frame, canvas = self._frame, self._canvas
        if frame is None:
            return -1
        answer = frame.texts.answer
        row = int(at.y() + frame.scroll) // self._painter.row
        if not 0 <= row < answer.layout.rows:
            return -1
        place = answer.raster.hit(row, canvas.column(at.x()), frame.xmap(canvas))
        return int(answer.layout.order[place]) if place >= 0 else -1

    def center_of(self, node: int) -> QPoint:
        """Return the middle of the visible part of a box, in px of the canvas."""
        frame = self._frame
        box = None if frame is None else self._painter.box(frame, self._canvas, node)
        return QPoint() if box is None else box.center().toPoint()

    def _point(self, at: QPointF | None) -> None:
        """Show the tip and the ring of the node at a point; None: the mouse left."""
        node = -1 if at is None else self.node_at(at)
        lines = self._texts.lines(node) if node >= 0 and self._texts is not None else ()
        self.tip.show_lines(lines, QPoint() if at is None else at.toPoint())
        if node != self._hovered:
            self._hovered = node
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
        node = self.node_at(event.position())
        if was_click and event.button() == Qt.MouseButton.LeftButton and node >= 0:
            self._choose(node)

    @guard
    def mouseDoubleClickEvent(self, event: QMouseEvent) -> None:
        self._pressed = None
        node = self.node_at(event.position())
        if node >= 0 and event.button() == Qt.MouseButton.LeftButton:
            self.zoom_to(node)

    @guard
    def wheelEvent(self, event: QWheelEvent) -> None:
        turn = turn_of(event)
        sideways = event.modifiers() & Qt.KeyboardModifier.ShiftModifier
        if event.modifiers() & Qt.KeyboardModifier.ControlModifier:
            self.zoom(ZOOM_PER_NOTCH**turn.notches, event.position().x())
        elif sideways or turn.is_sideways:
            self._pan(turn.along)
        else:
            bar = self.verticalScrollBar()
            bar.setValue(bar.value() - round(turn.down))
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
        node = self.node_at(QPointF(event.pos())) if by_mouse else self.marked
        menu = QMenu(self)
        menu.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        at = event.pos()
        if node >= 0:
            self._choose(node)
            self.menu_of.emit(menu, node)
            at = at if by_mouse else self.center_of(node)
        if not self.shows_all:
            menu.addAction("Reset zoom", self.show_all)
        self.menu_offered.emit(menu)
        self._point(None)
        menu.popup(self.viewport().mapToGlobal(at))

    # -- keys ------------------------------------------------------------------------------------

    @guard(False)
    def event(self, event: QEvent) -> bool:
        """Handle the graph's own keys before shortcuts."""
        is_shortcut = event.type() == QEvent.Type.ShortcutOverride and isinstance(event, QKeyEvent)
        if is_shortcut and self._is_own(event):  # type: ignore[arg-type]
            event.accept()
            return True
        return bool(super().event(event))

    def _is_own(self, event: QKeyEvent) -> bool:
        key = Qt.Key(event.key())
        if event.modifiers() & _ELSEWHERE or self._texts is None:
            return False
        if key == Qt.Key.Key_Escape:
            return not self.shows_all or self.takes_escape()
        return key in _MOVES or key in _ENTER or key in _ZOOMS or key == Qt.Key.Key_0

    @guard
    def keyPressEvent(self, event: QKeyEvent) -> None:
        key = Qt.Key(event.key())
        if not self._is_own(event):
            event.ignore()
        elif key == Qt.Key.Key_Escape and self.shows_all:
            self.left.emit()
        elif key in (Qt.Key.Key_Escape, Qt.Key.Key_0):
            self.show_all()
        elif key in _ZOOMS:
            self.zoom(_ZOOMS[key])
        elif key in _MOVES:
            self._step(key)
        elif self.marked >= 0:
            self.zoom_to(self.marked)

    def _step(self, key: Qt.Key) -> None:
        """Choose the node around the current one, its widest child, or a neighbor in its row."""
        assert self._texts is not None
        answer, node = self._texts.answer, self.marked
        table, layout = answer.table, answer.layout
        if not len(table):
            return
        found = -1
        if node < 0:
            found = 0
        elif key == Qt.Key.Key_Up:
            found = int(table.parent[node])
        elif key == Qt.Key.Key_Down:
            found = node + 1 if int(table.size[node]) > 1 else -1
        else:
            row, place = int(table.depth[node]), int(layout.place[node])
            is_right = key == Qt.Key.Key_Right
            first, last = (place + 1, int(layout.row_ptr[row + 1]))
            if not is_right:
                first, last = int(layout.row_ptr[row]), place
            side = layout.order[first:last]
            wide = side[layout.end[side] > layout.start[side]]
            if len(wide):
                found = int(wide[0 if is_right else -1])
        if found >= 0:
            self._choose(found)

    def _choose(self, node: int) -> None:
        self.mark(node)
        if self.hasFocus() and QAccessible.isActive():
            event = QAccessibleAnnouncementEvent(self, self.accessible_value())
            QAccessible.updateAccessibility(event)
        self.chosen.emit(node)

    # -- painting --------------------------------------------------------------------------------

    @guard
    def paintEvent(self, event: QPaintEvent) -> None:
        painter, frame, canvas = QPainter(self.viewport()), self._frame, self._canvas
        painter.fillRect(self.viewport().rect(), self._theme.color("canvas"))
        painter.setOpacity(self.opacity)
        if frame is not None and canvas.height > 0:
            self._painter.paint(painter, frame, canvas)
            for node, hover in ((self._hovered, True), (self.marked, False)):
                if node >= 0 and (not hover or node != self.marked):
                    self._painter.paint_ring(painter, frame, canvas, node, hover=hover)
        painter.end()
