"""The table of calls: a tree with columns that fit its width, rows opened lazily, and copying."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np
from PySide6.QtCore import QModelIndex, QObject, QPoint, QRect, QSize, Qt, Signal, Slot
from PySide6.QtGui import QKeyEvent, QPainter, QPaintEvent, QResizeEvent
from PySide6.QtWidgets import QHeaderView, QMenu, QStyle, QStyledItemDelegate, QStyleOptionViewItem

from viewer.gui.panels.base.slice_facts import MISSING
from viewer.gui.panels.base.swatches import (
    SWATCH,
    paint_share,
    paint_swatch,
    share_color,
    slice_color,
)
from viewer.gui.panels.calls.shown_calls import Matches
from viewer.gui.panels.calls.texts import CallColumn, CallTexts, ChangeTexts, NodeTexts
from viewer.gui.panels.calls.tree_model import CallModel
from viewer.gui.qt.clipboard import CopyFormat
from viewer.gui.qt.crash_report import guard
from viewer.gui.qt.theme.theme import Theme
from viewer.gui.qt.widgets.change_cells import paint_difference, paint_ratio
from viewer.gui.qt.widgets.elided_text import elided_text
from viewer.gui.qt.widgets.table_model import LEFT, RIGHT, Index
from viewer.gui.qt.widgets.tables import (
    ROW_HEIGHT,
    QuietTree,
    add_copying,
    copy_tsv,
    offer_markdown,
    paint_faint,
    pop_up,
    select_row,
    set_up_sorting,
)
from viewer.gui.qt.widgets.time_cells import paint_time
from viewer.model.times import counted

MOST_COPIED = 2000  # rows
_MOST_OPENED = 1000  # rows that one command or search opens: opening so many takes 20 ms
_LEAST_NAME = 220  # px; the minimum width of the names
_INDENT = 12  # px per level; call trees are deep
# Columns that are hidden if room is short, in this order.
_DISPENSABLE = (
    CallColumn.MEAN,
    CallColumn.COUNT,
    CallColumn.SELF,
    CallColumn.B,
    CallColumn.A,
)

_OF_CHANGES = (CallColumn.CHANGE, CallColumn.RATIO)


class CallDelegate(QStyledItemDelegate):
    """Paints the cells; `fractions` has the columns with fractions of a ns."""

    def __init__(self, model: CallModel, theme: Theme, parent: QObject) -> None:
        super().__init__(parent)
        self._model = model
        self._theme = theme
        self.fractions: frozenset[CallColumn] = frozenset()

    @guard(QSize())
    def sizeHint(self, option: QStyleOptionViewItem, index: Index) -> QSize:
        return QSize(self._theme.px(60), self._theme.px(ROW_HEIGHT))

    @guard
    def paint(self, painter: QPainter, option: QStyleOptionViewItem, index: Index) -> None:
        theme, rect = self._theme, option.rect
        texts, node = self._model.texts, self._model.node(index)
        if texts is None:
            return
        column, text = self._model.columns[index.column()], str(index.data())
        painter.save()
        painter.setClipRect(rect)
        selected = option.state & QStyle.StateFlag.State_Selected
        if option.state & QStyle.StateFlag.State_MouseOver and not selected:
            painter.fillRect(rect, theme.color("hover"))
        painter.setFont(theme.font("cell"))
        if node >= 0 and column in (CallColumn.TOTAL, CallColumn.SELF):
            self._share(painter, rect, node, column)
        quiet = node < 0 or text == MISSING or self._model.is_around(node)
        painter.setPen(theme.color("text2" if quiet else "text1"))
        if column is CallColumn.CALL:
            self._name(painter, rect, node, text)
        elif node >= 0 and isinstance(texts, ChangeTexts) and column in _OF_CHANGES:
            self._change(painter, rect, texts, node, column)
        else:
            inside = rect.adjusted(theme.px(6), 0, -theme.px(6), 0)
            if column.is_time:
                paint_time(painter, inside, text, fractions=column in self.fractions)
            else:
                painter.drawText(inside, int(RIGHT), text)
        painter.restore()

    def _change(
        self, painter: QPainter, rect: QRect, texts: ChangeTexts, node: int, column: CallColumn
    ) -> None:
        text, verdict = texts.cell(node, column), texts.verdict(node)
        if column is CallColumn.RATIO:
            paint_ratio(painter, rect, text, verdict, self._theme)
            return
        share = None if text == MISSING else texts.bar(node)
        paint_difference(painter, rect, text, share, verdict, self._theme)

    def _share(self, painter: QPainter, rect: QRect, node: int, column: CallColumn) -> None:
        """Paint a share as a bar: of the total in gray, of self time in the color of the node."""
        theme, texts = self._theme, self._model.texts
        assert isinstance(texts, CallTexts)
        answer = texts.answer
        if column is CallColumn.TOTAL:
            share = texts.share(int(answer.table.total[node]))
            paint_share(painter, rect, share, theme.color("slab"), theme)
            return
        own = share_color(slice_color(int(answer.color[node]), theme), theme)
        paint_share(painter, rect, texts.share(int(answer.table.self_ticks[node])), own, theme)

    def _name(self, painter: QPainter, rect: QRect, node: int, text: str) -> None:
        theme, texts = self._theme, self._model.texts
        assert texts is not None
        left, side = rect.left() + theme.px(2), theme.px(SWATCH)
        if node >= 0:
            top = rect.center().y() - side / 2 + 1
            paint_swatch(painter, left, top, (int(texts.answer.color[node]),), theme)
        left += side + theme.px(8)
        room = QRect(left, rect.top(), max(rect.right() - theme.px(8) - left, 0), rect.height())
        shown = elided_text(painter.fontMetrics(), text, Qt.TextElideMode.ElideRight, room.width())
        painter.drawText(room, int(LEFT), shown)


class CallView(QuietTree):
    """The tree widget.

    `chosen(node)`: a click or an arrow key. `entered_row(node)`: a double click or Enter.
    `menu_of(menu, node)`: the context menu of a node is about to open.
    """

    chosen = Signal(int)
    entered_row = Signal(int)
    menu_of = Signal(QMenu, int)

    def __init__(self, model: CallModel, theme: Theme) -> None:
        super().__init__("Calls")
        self._model = model
        self._theme = theme
        self._open: set[int] = set()
        self.opacity = 1.0
        self.setModel(model)
        self._delegate = CallDelegate(model, theme, self)
        self.setItemDelegate(self._delegate)
        self.setIndentation(theme.px(_INDENT))
        self.setUniformRowHeights(True)
        self.setMouseTracking(True)
        self.setExpandsOnDoubleClick(False)
        self._columns: tuple[CallColumn, ...] = ()
        self._size_columns()
        set_up_sorting(self, theme)
        self.clicked.connect(self.choose)
        self.doubleClicked.connect(self._enter)
        self.expanded.connect(self._opened)
        self.collapsed.connect(self._closed)
        add_copying(self, self.copy, self._menu)

    # -- contents --------------------------------------------------------------------------------

    def show_texts(self, texts: NodeTexts | None) -> None:
        """Replace the rows, all closed."""
        self._open.clear()
        self._model.show(texts)
        if texts is not None:
            self._delegate.fractions = frozenset(filter(texts.has_fractions, texts.columns))
        if self._columns != self._model.columns:
            self._size_columns()
            self.fit_columns()

    def _size_columns(self) -> None:
        """Give the columns their widths; those of changes differ from those of costs."""
        self._columns = self._model.columns
        header, mode = self.header(), QHeaderView.ResizeMode
        for i, column in enumerate(self._columns):
            header.setSectionResizeMode(i, mode.Interactive if column.width else mode.Stretch)
            if column.width:
                header.resizeSection(i, self._theme.px(column.width))
        header.setSortIndicator(-1, Qt.SortOrder.DescendingOrder)

    @property
    def open_nodes(self) -> frozenset[int]:
        """The nodes whose children are listed."""
        return frozenset(self._open)

    def open_rows(self, nodes: Iterable[int]) -> None:
        """Open the rows of some nodes, each after those around it, in one layout."""
        self.scheduleDelayedItemsLayout()
        for node in nodes:
            self.expand(self._model.index_of(node))
        self.executeDelayedItemsLayout()

    def open_first(self) -> None:
        """Open the first root and its first children, down to the first one with several."""
        nodes, around = list[int](), -1
        while len(below := self._model.listed_below(around)) == 1 or (around < 0 and len(below)):
            around = int(below[0])
            nodes.append(around)
        self.open_rows(nodes)

    def show_matches(self, texts: NodeTexts, matches: Matches) -> None:
        """Show only what a search found and what is around it, opened up to a limit."""
        self._open.clear()
        self._model.show(texts, matches)
        around = np.flatnonzero(matches.around & ~matches.found)
        self.open_rows(around[:_MOST_OPENED].tolist())

    def open_all(self, node: int) -> None:
        """Open a node and all below it, level by level, up to a limit; of -1 all."""
        todo = [node]
        for above in todo:  # the loop appends to it
            if len(todo) > _MOST_OPENED:
                break
            todo += self._model.listed_below(above).tolist()
        self.open_rows(one for one in todo[:_MOST_OPENED] if one >= 0)

    @Slot(QModelIndex)
    def _opened(self, index: QModelIndex) -> None:
        self._open.add(self._model.node(index))

    @Slot(QModelIndex)
    def _closed(self, index: QModelIndex) -> None:
        self._open.discard(self._model.node(index))

    def _close_all(self) -> None:
        self.collapseAll()
        self._open.clear()

    def fit_columns(self) -> None:
        """Show the columns as far as there is room."""
        width = _LEAST_NAME + sum(column.width for column in self._columns)
        hidden = set[CallColumn]()
        for column in (one for one in _DISPENSABLE if one in self._columns):
            if self._theme.px(width) > self.viewport().width():
                hidden.add(column)
                width -= column.width
        for i, column in enumerate(self._columns):
            self.setColumnHidden(i, column in hidden)

    @property
    def shown_columns(self) -> list[CallColumn]:
        """The visible columns."""
        return [column for i, column in enumerate(self._columns) if not self.isColumnHidden(i)]

    @guard
    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        self.fit_columns()

    def mark(self, node: int) -> None:
        """Highlight the row of a node, open those around it and scroll to it; -1 for none."""
        if self.marked == node:
            return
        texts = self._model.texts
        if node < 0 or texts is None:
            self.selectionModel().clear()
            return
        around, above = list[int](), int(texts.answer.table.parent[node])
        while above >= 0:
            around.append(above)
            above = int(texts.answer.table.parent[above])
        for one in (*reversed(around), node):
            index = self._model.index_of(one)
            if index.isValid() and self._model.node(index) != one:
                self._model.show_more(index, one)
        closed = [one for one in reversed(around) if one not in self._open]
        if closed:
            self.open_rows(closed)
        index = self._model.index_of(node)
        if index.isValid():
            select_row(self, index)
            self.scrollTo(index)
        else:
            self.selectionModel().clear()

    @property
    def marked(self) -> int:
        """The node of the only highlighted row, -1 for none or several."""
        rows = self.selectionModel().selectedRows()
        return self._model.node(rows[0]) if len(rows) == 1 else -1

    # -- mouse and keys --------------------------------------------------------------------------

    @Slot(QModelIndex)
    def choose(self, index: QModelIndex) -> None:
        """Emit `chosen` for a row, unless several are selected; list more for "12 more"."""
        node = self._model.node(index)
        if node < 0:
            self._model.show_more(index)
        elif len(self.selectionModel().selectedRows()) <= 1:
            self.chosen.emit(node)

    @Slot(QModelIndex)
    def _enter(self, index: QModelIndex) -> None:
        node = self._model.node(index)
        if node >= 0:
            self.entered_row.emit(node)

    @guard
    def keyPressEvent(self, event: QKeyEvent) -> None:
        before = self._model.node(self.currentIndex())
        if event.key() in (Qt.Key.Key_Return, Qt.Key.Key_Enter):
            if before >= 0:
                self.entered_row.emit(before)
            else:
                self._model.show_more(self.currentIndex())
            return
        if event.key() == Qt.Key.Key_Asterisk and before >= 0:
            self.open_all(before)
            return
        super().keyPressEvent(event)
        now = self._model.node(self.currentIndex())
        if now not in (before, -1) and len(self.selectionModel().selectedRows()) <= 1:
            self.chosen.emit(now)

    # -- copying ---------------------------------------------------------------------------------

    def listed_nodes(self) -> list[int]:
        """Return the listed nodes from top to bottom, with the children of open rows."""
        listed, todo = list[int](), self._model.listed_below(-1).tolist()[::-1]
        while todo and len(listed) <= MOST_COPIED:
            node = todo.pop()
            listed.append(node)
            if node in self._open:
                todo += self._model.listed_below(node).tolist()[::-1]
        return listed

    def copy(self, form: CopyFormat = CopyFormat.TEXT) -> None:
        """Copy the selected rows, or all open rows if none is selected."""
        marked = {self._model.node(index) for index in self.selectionModel().selectedRows()}
        listed = self.listed_nodes()
        self.copy_nodes([node for node in listed if node in marked] or listed, form)

    def copy_all(self, form: CopyFormat = CopyFormat.TEXT) -> None:
        """Copy all open rows, in the order shown."""
        self.copy_nodes(self.listed_nodes(), form)

    def copy_nodes(self, nodes: Sequence[int], form: CopyFormat = CopyFormat.TEXT) -> None:
        """Copy the rows of some nodes, at most `MOST_COPIED`."""
        texts = self._model.texts
        if texts is None or not nodes:
            return
        text = texts.tsv(nodes[:MOST_COPIED], self.shown_columns)
        if len(nodes) > MOST_COPIED:
            text += f"Only the first {counted(MOST_COPIED, 'row')} are copied\n"
        copy_tsv(self, text, form)

    @Slot(QPoint)
    def _menu(self, at: QPoint) -> None:
        menu, index = QMenu(self), self.indexAt(at)
        node = self._model.node(index if index.isValid() else self.currentIndex())
        if node >= 0:
            self.menu_of.emit(menu, node)
            menu.addSeparator()
        count = len(self.selectionModel().selectedRows())
        rows = menu.addAction(
            "Copy row" if count < 2 else f"Copy {count} rows", lambda: self.copy()
        )
        rows.setEnabled(count > 0)
        menu.addAction("Copy open rows as TSV", lambda: self.copy_all())
        offer_markdown(menu, "Copy open rows as TSV", self.copy_all)
        menu.addSeparator()
        menu.addAction("Expand all", lambda: self.open_all(node))
        menu.addAction("Collapse all", self._close_all)
        pop_up(menu, self, at)

    # -- painting --------------------------------------------------------------------------------

    @guard
    def drawRow(self, painter: QPainter, options: QStyleOptionViewItem, index: Index) -> None:
        if self.selectionModel().isRowSelected(index.row(), index.parent()):
            painter.fillRect(options.rect, self._theme.color("selection"))
        super().drawRow(painter, options, index)

    @guard
    def paintEvent(self, event: QPaintEvent) -> None:
        super().paintEvent(event)
        paint_faint(self, event, self.opacity, self._theme)
