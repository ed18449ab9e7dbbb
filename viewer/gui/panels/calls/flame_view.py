"""The flame graph widget: the boxes of a call tree, with the root at the top.

The cost of a frame depends on the pixels, not on the nodes: `RowRaster` draws the rows, and a label
needs `LABEL_WIDTH` px.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence

import numpy as np
from PySide6.QtCore import QPointF, QRectF, Qt, Signal
from PySide6.QtGui import QAccessible, QColor, QPainter, QResizeEvent
from PySide6.QtWidgets import QMenu

from viewer.arrays import Bools, Ints
from viewer.gui.panels.base.range_view import BoxView, paint_label
from viewer.gui.panels.calls.change_legend import paint_hatching
from viewer.gui.panels.calls.texts import NodeTexts
from viewer.gui.qt.accessibility import has_role
from viewer.gui.qt.canvases import WheelTurn
from viewer.gui.qt.crash_report import guard
from viewer.gui.qt.theme.theme import Theme
from viewer.render.flame_graph.boxes import flame_bands
from viewer.render.frame import Backdrop, RasterSource, draw_frame
from viewer.render.layout import SLICE_TOP, Canvas
from viewer.render.palette import UNLINKED, Emphasis, Pixels, canvas_rgb, cell_colors, label_colors
from viewer.render.raster import LABEL_WIDTH, RowRaster
from viewer.render.time_axis import Axis, XMap

ROW = 18  # px
_INSET = 5  # px, from the side of a box to its label
_MARK_GAP = 3  # px, from the mark of a change to the name
_LEAST_NUMBER = 24  # px; less has no time behind a name
_NARROWEST = 4  # px; the ring of a narrower box is this wide
_NO_GRID: Ints = np.empty(0, np.int64)
_BELOW = 4  # px, after the last row
_ROWS_AROUND = 2  # in view above a node that is zoomed to, if not all rows fit


@has_role(QAccessible.Role.Graphic)
class FlameView(BoxView):
    """Shows the nodes of one answer.

    `left()`: Escape was pressed while all is shown; `takes_escape` says whether that has a meaning.
    `menu_of(menu, node)`: the context menu of a node is about to open, before `menu_offered(menu)`.
    """

    LEAST_RING = 0  # boxes are wide enough
    left = Signal()
    menu_of = Signal(QMenu, int)

    def __init__(self, theme: Theme) -> None:
        super().__init__(theme, "Flame graph")
        self.takes_escape: Callable[[], bool] = lambda: False
        self.marked = -1  # the selected node
        self._zoomed = -1  # the node that fills the width
        self._texts: NodeTexts | None = None
        self._hits: RowRaster | None = None
        self.setMinimumSize(theme.px(120), theme.px(40))
        self.setVerticalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAsNeeded)
        self.verticalScrollBar().valueChanged.connect(self.redraw)

    # -- contents --------------------------------------------------------------------------------

    def show_texts(self, texts: NodeTexts | None, zoomed: int = -1) -> None:
        """Show the nodes of another answer. zoomed: the node to zoom to, -1 for all of them."""
        self._texts, self._hits, self._zoomed = texts, None, zoomed
        self.marked = -1
        self._fit_scroll_bar()
        self._show_anew(stays=False)
        if zoomed >= 0:
            self._range = self._around(zoomed)
            self._changed()

    def show_hits(self, hits: RowRaster | None) -> None:
        """Paint only the boxes that a search found in full; None: all."""
        self._hits = hits
        self.redraw()

    def mark(self, node: int) -> None:
        """Highlight a node and bring it into view; -1 for none."""
        if node == self.marked:
            return
        self.marked = node
        if node >= 0:
            self._bring(node)
        self.viewport().update()

    @property
    def content_height(self) -> int:
        """The height of all rows in px."""
        rows = 0 if self._texts is None else self._texts.answer.layout.rows
        return rows * self.row + _BELOW

    @property
    def row(self) -> int:
        """The height of a row in px."""
        return self._theme.px(ROW)

    @property
    def _scrolled(self) -> int:
        """The px above the upper edge."""
        return self.verticalScrollBar().value()

    @property
    def _inside_from(self) -> int:
        """The rows above this one are around the node that is zoomed to, and painted faint."""
        if self._texts is None or self._zoomed < 0:
            return 0
        return int(self._texts.answer.table.depth[self._zoomed])

    def _xmap(self, canvas: Canvas) -> XMap:
        return XMap(*self._range, canvas.columns)

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
        self.verticalScrollBar().setValue(max(row - _ROWS_AROUND, 0) * self.row)
        self._changed()

    def _range_moves(self) -> None:
        self._zoomed = -1

    def _bring(self, node: int) -> None:
        """Scroll to a node, and show all if it is left or right of the range."""
        assert self._texts is not None
        answer = self._texts.answer
        start, end = answer.layout.edges(node)
        if end < self._range[0] or start > self._range[1]:
            self.show_all()
        bar, row = self.verticalScrollBar(), self.row
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
        bar.setSingleStep(self.row)

    @guard
    def resizeEvent(self, event: QResizeEvent) -> None:
        self._fit_scroll_bar()

    # -- mouse -----------------------------------------------------------------------------------

    def box_at(self, point: QPointF) -> int:
        if self._texts is None or not self._is_filled:
            return -1
        answer, canvas = self._texts.answer, self._prepared()[0]
        row = int(point.y() + self._scrolled) // self.row
        if not 0 <= row < answer.layout.rows:
            return -1
        place = answer.raster.hit(row, canvas.column(point.x()), self._xmap(canvas))
        return int(answer.layout.order[place]) if place >= 0 else -1

    def room(self, box: int) -> QRectF | None:
        assert self._texts is not None
        answer, (t0, t1), canvas = self._texts.answer, self._range, self._prepared()[0]
        start, end = answer.layout.edges(box)
        if end < t0 or start > t1 or (end == t0 and start < end):
            return None
        edges = self._xmap(canvas).pixel_of(np.array([start, end])) / canvas.ratio
        left, right = float(edges[0]), float(edges[1])
        right = min(max(right - 1 / canvas.ratio, left + _NARROWEST), canvas.width)
        left = min(left, right - _NARROWEST)
        top = int(answer.table.depth[box]) * self.row - self._scrolled + SLICE_TOP
        return QRectF(left, top, right - left, self.row - SLICE_TOP)

    def lines(self, box: int) -> Sequence[str]:
        return self._texts.lines(box) if self._texts is not None else ()

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
        return self._texts is not None and self._texts.answer.whole > 0

    @property
    def _takes_escape(self) -> bool:
        return not self.shows_all or self.takes_escape()

    def _escape(self) -> None:
        if self.shows_all:
            self.left.emit()
        else:
            self.show_all()

    def _next(self, key: Qt.Key) -> int:
        """Return the node around the current one, its widest child, or a neighbor in its row."""
        assert self._texts is not None
        answer, node = self._texts.answer, self.marked
        table, layout = answer.table, answer.layout
        if node < 0:
            return 0 if len(table) else -1
        if key == Qt.Key.Key_Up:
            return table.parent_of(node)
        if key == Qt.Key.Key_Down:
            return node + 1 if len(table.levels.below(node)) else -1
        place, row = table.levels.place(node), table.levels.span(int(table.depth[node]))
        is_right = key == Qt.Key.Key_Right
        first, last = (place + 1, row.stop) if is_right else (row.start, place)
        wide = layout.order[first:last][layout.right[first:last] > layout.left[first:last]]
        return int(wide[0 if is_right else -1]) if len(wide) else -1

    # -- painting --------------------------------------------------------------------------------

    def _rings(self) -> Iterable[tuple[Sequence[int], int]]:
        for node, width in ((self._hovered, 1), (self.marked, 2)):
            if node >= 0 and (width > 1 or node != self.marked):
                yield (node,), width

    def _emphases(self) -> tuple[Emphasis, Emphasis]:
        """Return how bright boxes around the node that is zoomed to are, and all others."""
        if self._hits is not None:
            return Emphasis.UNMATCHED, Emphasis.UNMATCHED
        return Emphasis.DIMMED, Emphasis.FULL

    def _draw(self, canvas: Canvas) -> Pixels:
        assert self._texts is not None
        answer, dark, hits = self._texts.answer, self._theme.dark, self._hits
        ground = canvas_rgb(dark) | 0xFF000000
        bright = None if hits is None else cell_colors(dark)
        sources = [
            RasterSource(answer.raster, Axis(), cell_colors(dark, emphasis), hits, bright)
            for emphasis in self._emphases()
        ]
        bands = flame_bands(answer.layout.rows, self.row, self._inside_from)
        shape = canvas.lines, canvas.columns
        out = self._pixels if self._pixels.shape == shape else np.empty(shape, np.uint32)
        backdrop = Backdrop(ground, ground, _NO_GRID)
        return draw_frame(
            bands, self._scrolled, canvas.height, self._xmap(canvas), sources, backdrop, out,
            canvas.ratio,
        ).image  # fmt: skip

    def _paint_over(self, painter: QPainter, canvas: Canvas) -> None:
        assert self._texts is not None
        texts, labels, row_height = self._texts, self.labels, self.row
        answer = texts.answer
        first = self._scrolled // row_height
        last = min((self._scrolled + canvas.height) // row_height + 1, answer.layout.rows)
        wide = answer.raster.labels(
            range(first, last), self._xmap(canvas), canvas.device(LABEL_WIDTH)
        )
        nodes = answer.layout.order[wide.slice]
        around, inside, hit = (
            [QColor.fromRgb(ink) for ink in label_colors(self._theme.dark, emphasis)]
            for emphasis in (*self._emphases(), Emphasis.FULL)
        )
        painter.setFont(labels.font)
        for position, node, x0, x1, color, is_hit in zip(
            wide.position.tolist(), nodes.tolist(), (wide.x0 / canvas.ratio).tolist(),
            ((wide.x1 - 1) / canvas.ratio).tolist(), answer.color[nodes].tolist(),
            self._are_hits(wide.slice).tolist(), strict=True,
        ):  # fmt: skip
            top = (first + position) * row_height - self._scrolled + SLICE_TOP
            high = row_height - SLICE_TOP
            if texts.hatches and color == UNLINKED:
                paint_hatching(painter, QRectF(x0, top, x1 - x0, high), self._theme)
            is_around = first + position < self._inside_from
            painter.setPen((hit if is_hit else around if is_around else inside)[color])
            place = QPointF(x0 + _INSET, top + (high - labels.line_height) / 2)
            self._paint_label(painter, node, place, x1 - x0 - 2 * _INSET)

    def _paint_label(self, painter: QPainter, node: int, place: QPointF, room: float) -> None:
        """Paint as much of mark, name and time of a node as fits into some px."""
        assert self._texts is not None
        texts, labels = self._texts, self.labels
        mark = texts.mark(node)
        if mark and labels.width(mark) <= room:
            painter.drawText(place + QPointF(0, labels.ascent), mark)
            used = labels.width(mark) + _MARK_GAP
            place, room = place + QPointF(used, 0), room - used
        time = texts.box(node) if room >= 2 * _LEAST_NUMBER else ""
        paint_label(painter, labels, place, room, texts.name(node), time)

    def _are_hits(self, places: Ints) -> Bools:
        """Return per place whether a search found its box."""
        hits = None if self._hits is None else self._hits.drawn.index
        if hits is None or not len(hits):
            return np.zeros(len(places), np.bool_)
        near = np.minimum(np.searchsorted(hits, places), len(hits) - 1)
        return np.asarray(hits[near] == places)
