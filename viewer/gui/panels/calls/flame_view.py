"""The flame graph widget: the boxes of a call tree, with the root at the top.

A click chooses a node; a double click or Enter zooms to it, so that it fills the width; Escape
shows all again. Ctrl+wheel zooms toward the mouse, and dragging pans.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence

from PySide6.QtCore import QPoint, QPointF, Qt, Signal
from PySide6.QtGui import QAccessible, QResizeEvent
from PySide6.QtWidgets import QMenu

from viewer.gui.panels.base.box_view import PaintedBoxView
from viewer.gui.panels.calls.flame_painting import FlameFrame, FlamePainter
from viewer.gui.panels.calls.texts import NodeTexts
from viewer.gui.qt.accessibility import has_role
from viewer.gui.qt.crash_report import guard
from viewer.gui.qt.theme.theme import Theme
from viewer.gui.qt.wheel import WheelTurn
from viewer.render.raster import RowRaster

_BELOW = 4  # px, after the last row
_ROWS_AROUND = 2  # in view above a node that is zoomed to, if not all rows fit


@has_role(QAccessible.Role.Graphic)
class FlameView(PaintedBoxView[FlameFrame]):
    """Shows the nodes of one answer.

    `left()`: Escape was pressed while all is shown; `takes_escape` says whether that has a meaning.
    `menu_of(menu, node)`: the context menu of a node is about to open, before `menu_offered(menu)`.
    """

    _painter: FlamePainter
    left = Signal()
    menu_of = Signal(QMenu, int)

    def __init__(self, theme: Theme) -> None:
        super().__init__(theme, "Flame graph")
        self._painter = FlamePainter(theme)
        self.takes_escape: Callable[[], bool] = lambda: False
        self.marked = -1  # the selected node
        self._zoomed = -1  # the node that fills the width
        self._texts: NodeTexts | None = None
        self._hits: RowRaster | None = None
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
        self._range = (0, self._length) if zoomed < 0 else self._around(zoomed)
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
    def _frame(self) -> FlameFrame | None:
        if self._texts is None or not self._texts.answer.whole:
            return None
        depth = self._texts.answer.table.depth
        inside_from = int(depth[self._zoomed]) if self._zoomed >= 0 else 0
        scroll = self.verticalScrollBar().value()
        return FlameFrame(self._texts, *self._range, scroll, inside_from, self._hits)

    # -- range -----------------------------------------------------------------------------------

    @property
    def _length(self) -> int:
        return max(self._texts.answer.whole, 1) if self._texts is not None else 1

    def _around(self, node: int) -> tuple[int, int]:
        assert self._texts is not None
        return self._texts.answer.layout.around(node)

    @property
    def zoomed(self) -> int:
        """The node that fills the width, -1 for none."""
        return self._zoomed

    def zoom_to(self, box: int) -> None:
        """Let a node fill the width; those around it are rows above it, the nearest in view."""
        self._zoomed = box
        self._range = self._around(box)
        row = int(self._texts.answer.table.depth[box]) if self._texts is not None else 0
        self.verticalScrollBar().setValue(max(row - _ROWS_AROUND, 0) * self._painter.row)
        self._changed()

    def _range_moves(self) -> None:
        self._zoomed = -1

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

    def box_at(self, at: QPointF) -> int:
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

    def _lines_at(self, at: QPointF, box: int) -> Sequence[str]:
        return self._texts.lines(box) if box >= 0 and self._texts is not None else ()

    def _mark_chosen(self, box: int) -> None:
        self.mark(box)

    def _scroll(self, turn: WheelTurn) -> bool:
        bar = self.verticalScrollBar()
        bar.setValue(bar.value() - round(turn.down))
        return True

    def _add_actions(self, menu: QMenu, box: int) -> None:
        self.menu_of.emit(menu, box)

    # -- keys ------------------------------------------------------------------------------------

    @property
    def _current(self) -> int:
        return self.marked

    @property
    def _is_filled(self) -> bool:
        return self._texts is not None

    @property
    def _takes_escape(self) -> bool:
        return not self.shows_all or self.takes_escape()

    def _escape(self) -> None:
        if self.shows_all:
            self.left.emit()
        else:
            self.show_all()

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

    # -- painting --------------------------------------------------------------------------------

    def _rings(self, frame: FlameFrame) -> Iterable[tuple[Sequence[int], int]]:
        for node, width in ((self._hovered, 1), (self.marked, 2)):
            if node >= 0 and (width > 1 or node != self.marked):
                yield (node,), width
