"""One view for all trees: columns that fit its width, open rows, and copying.

Open rows are remembered by their keys. Many rows are expanded before the view lays them out: one by
one, a thousand take seconds.
"""

from __future__ import annotations

import sys
from collections.abc import Collection, Hashable, Iterable, Sequence
from typing import Generic

from PySide6.QtCore import QModelIndex, QPoint, QSignalBlocker, Qt, Signal, Slot
from PySide6.QtGui import QFontMetrics, QKeyEvent, QPainter, QPaintEvent, QResizeEvent
from PySide6.QtWidgets import QHeaderView, QMenu, QStyleOptionViewItem

from viewer.gui.qt.clipboard import CopyFormat
from viewer.gui.qt.crash_report import guard
from viewer.gui.qt.theme.theme import Theme
from viewer.gui.qt.widgets.table_model import Index
from viewer.gui.qt.widgets.tables import (
    QuietTree,
    add_copying,
    copy_tsv,
    offer_rows,
    paint_faint,
    pop_up,
    select_row,
    set_up_sorting,
)
from viewer.gui.qt.widgets.tree_model import Rows, TreeColumn, TreeModel
from viewer.model.times import counted

_LEAST_NAMES = 0.4  # of the width: names need it more than the last figures do
_TITLE_INSET = 22  # px, around a title with the mark of its order
ENTER = (Qt.Key.Key_Return, Qt.Key.Key_Enter)


class TreeView(QuietTree, Generic[Rows]):
    """A tree widget.

    `chosen(node)`: a click or an arrow key. `entered_row(node)`: a double click or Enter.
    `menu_of(menu, node)`: the context menu of a node is about to open. most_opened: how many rows
    one command opens; most_copied: how many are copied.
    """

    chosen = Signal(int)
    entered_row = Signal(int)
    menu_of = Signal(QMenu, int)
    most_opened = sys.maxsize
    most_copied = 2000  # writing that many takes 50 ms

    def __init__(
        self, model: TreeModel[Rows], name: str, theme: Theme, indent: int, least: int
    ) -> None:
        """indent: per level, in px. least: the minimum width of the stretched column, in px."""
        super().__init__(name)
        self._model = model
        self._theme = theme
        self._least = least
        self._open: dict[Hashable, None] = {}
        self._top = 0  # where it is scrolled to
        self._columns: tuple[TreeColumn, ...] = ()
        self.opacity = 1.0
        self.setModel(model)
        self.setIndentation(theme.px(indent))
        self.setUniformRowHeights(True)
        self.setMouseTracking(True)
        set_up_sorting(self, theme)
        self.clicked.connect(self.choose)
        self.doubleClicked.connect(self._enter)
        self.expanded.connect(self._opened)
        self.collapsed.connect(self._closed)
        add_copying(self, self.copy, self._menu)

    # -- columns ---------------------------------------------------------------------------------

    def hidden(self) -> Collection[TreeColumn]:
        """The columns that are currently empty."""
        return ()

    def _size_columns(self) -> None:
        self._columns = self._model.columns
        header, mode = self.header(), QHeaderView.ResizeMode
        for i, column in enumerate(self._columns):
            header.setSectionResizeMode(i, mode.Interactive if column.width else mode.Stretch)
        by, order = self._model.sort_column, Qt.SortOrder
        place = -1 if by is None else self._columns.index(by)
        descends = order.DescendingOrder if self._model.descending else order.AscendingOrder
        header.setSortIndicator(place, descends)

    def fit_columns(self) -> None:
        """Show the columns that have values, as far as there is room."""
        if self._columns != self._model.columns:
            self._size_columns()
        hidden = set(self.hidden())
        widths = {column: self.width_of(column) for column in self._columns}
        # Names get their part of the width first; figures that do not fit next to them leave.
        room = self.viewport().width()
        width = max(self._theme.px(self._least), int(room * _LEAST_NAMES))
        width += sum(widths[column] for column in self._columns if column not in hidden)
        rows = self._model.rows
        order = {c: c.leaves if rows is None else rows.leaves(c) for c in self._columns}
        for column in sorted(filter(order.__getitem__, self._columns), key=order.__getitem__):
            if width > room and column not in hidden:
                hidden.add(column)
                width -= widths[column]
        for i, column in enumerate(self._columns):
            self.setColumnHidden(i, column in hidden)
            if column.width:
                self.header().resizeSection(i, widths[column])

    def width_of(self, column: TreeColumn) -> int:
        """The px that a column takes: its title is never cut, whatever its figures are per."""
        if not column.width:
            return 0
        rows = self._model.rows
        title = column.title if rows is None else rows.title(column)
        metrics = QFontMetrics(self._theme.font("header"))
        px = self._theme.px
        return max(px(column.width), metrics.horizontalAdvance(title) + px(_TITLE_INSET))

    @property
    def shown_columns(self) -> list[TreeColumn]:
        """The visible columns."""
        return [column for i, column in enumerate(self._columns) if not self.isColumnHidden(i)]

    @guard
    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        self.fit_columns()

    # -- open rows -------------------------------------------------------------------------------

    def show_rows(self, rows: Rows | None, opened: Iterable[Hashable] = ()) -> None:
        """Replace the rows, and open those with some keys."""
        if self._model.rows is not None:
            self._top = self.verticalScrollBar().value()
        opened = tuple(opened)
        self._model.show(rows)
        rows = self._model.rows  # in the order they are shown in
        if rows is None:
            self._columns = ()  # without columns the header loses their widths
            return
        self._open = {}
        self.fit_columns()
        if nodes := [rows.node_of(key) for key in opened]:
            self.open_rows(nodes)
            self.verticalScrollBar().setValue(self._top)

    @property
    def open_keys(self) -> tuple[Hashable, ...]:
        """The keys of the open rows, to open them again later."""
        return tuple(self._open)

    def open_rows(self, nodes: Iterable[int]) -> None:
        """Open the rows of some nodes, in one layout."""
        rows = self._model.rows
        self.scheduleDelayedItemsLayout()
        with QSignalBlocker(self):  # one call of `_opened` for each would be felt
            for node in nodes:
                index = self._model.index_of(node)
                if rows is not None and index.isValid():
                    self.expand(index)
                    self._open[rows.key(node)] = None
        self.executeDelayedItemsLayout()

    def open_first(self) -> None:
        """Open the first root and its only children, down to the first node with several."""
        nodes, around, rows = list[int](), -1, self._model.rows
        while len(below := self._model.listed_below(around)) == 1 or (around < 0 and len(below)):
            around = int(below[0])
            if rows is None or (nodes and not rows.opens(around)):
                break
            nodes.append(around)
        self.open_rows(nodes)

    def open_below(self, node: int, most: int = 0) -> None:
        """Open a node and all below it, level by level, up to a limit; of -1 all."""
        todo, most, rows = [node], most or self.most_opened, self._model.rows
        for above in todo:  # the loop appends to it
            if rows is None or len(todo) > most:
                break
            todo += filter(rows.opens, map(int, self._model.listed_below(above)))
        self.open_rows(n for n in todo[:most] if n >= 0)

    @Slot(QModelIndex)
    def _opened(self, index: QModelIndex) -> None:
        node = self._model.node(index)
        if self._model.rows is not None and node >= 0:
            self._open[self._model.rows.key(node)] = None

    @Slot(QModelIndex)
    def _closed(self, index: QModelIndex) -> None:
        node = self._model.node(index)
        if self._model.rows is not None and node >= 0:
            self._open.pop(self._model.rows.key(node), None)

    def _close_all(self) -> None:
        self.collapseAll()
        self._open = {}

    def around(self, node: int) -> list[int]:
        """The nodes around a node, from the inside out."""
        around, rows = list[int](), self._model.rows
        while rows is not None and (node := rows.parent_of(node)) >= 0:
            around.append(node)
        return around

    def mark(self, node: int) -> None:
        """Highlight the row of a node, open those around it and scroll to it; -1 for none."""
        if self.marked == node:
            return
        if node < 0 or self._model.rows is None:
            self.selectionModel().clear()
            return
        around = self.around(node)[::-1]
        for n in (*around, node):
            index = self._model.index_of(n)
            if index.isValid() and self._model.node(index) != n:
                self._model.show_more(index, n)
        closed = [n for n in around if not self.isExpanded(self._model.index_of(n))]
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
        current = self.currentIndex()
        before = self._model.node(current)
        if event.key() in ENTER and current.isValid():
            self._enter(current)
            self._model.show_more(current)  # if it stands for several
        elif event.key() == Qt.Key.Key_Asterisk and before >= 0:
            self.open_below(before)
        else:
            super().keyPressEvent(event)
            now = self._model.node(self.currentIndex())
            if now not in (before, -1) and len(self.selectionModel().selectedRows()) <= 1:
                self.chosen.emit(now)

    # -- copying ---------------------------------------------------------------------------------

    def listed_nodes(self) -> list[int]:
        """The listed nodes from top to bottom, with the children of open rows."""
        listed, todo = list[int](), list(map(int, self._model.listed_below(-1)))[::-1]
        rows = self._model.rows
        while todo and rows is not None:
            node = todo.pop()
            listed.append(node)
            if rows.key(node) in self._open:
                todo += list(map(int, self._model.listed_below(node)))[::-1]
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
        """Copy the rows of some nodes, up to a limit."""
        if self._model.rows is None or not nodes:
            return
        text = self._model.rows.tsv(nodes[: self.most_copied], self.shown_columns)
        if len(nodes) > self.most_copied:
            text += f"{counted(len(nodes) - self.most_copied, 'more row')} not copied\n"
        copy_tsv(self, text, form)

    @Slot(QPoint)
    def _menu(self, point: QPoint) -> None:
        menu, index = QMenu(self), self.indexAt(point)
        node = self._model.node(index if index.isValid() else self.currentIndex())
        if node >= 0:
            self.menu_of.emit(menu, node)
        if not menu.isEmpty():
            menu.addSeparator()
        count = len(self.selectionModel().selectedRows())
        offer_rows(menu, count, self.copy, "Copy open rows as TSV", self.copy_all)
        menu.addSeparator()
        menu.addAction("Expand all", lambda: self.open_below(node))
        menu.addAction("Collapse all", self._close_all)
        pop_up(menu, self, point)

    # -- painting --------------------------------------------------------------------------------

    def is_related(self, node: int) -> bool:
        """Whether a row is tinted, because of what is selected elsewhere."""
        return False

    @guard
    def drawRow(self, painter: QPainter, options: QStyleOptionViewItem, index: Index) -> None:
        if self.selectionModel().isRowSelected(index.row(), index.parent()):
            painter.fillRect(options.rect, self._theme.color("selection"))
        elif self.is_related(self._model.node(index)):
            painter.fillRect(options.rect, self._theme.color("related"))
        super().drawRow(painter, options, index)

    @guard
    def paintEvent(self, event: QPaintEvent) -> None:
        super().paintEvent(event)
        paint_faint(self, event, self.opacity, self._theme)
