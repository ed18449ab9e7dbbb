"""One item model and one view for all trees: columns are data, and a node is a number.

Of many siblings, the first ones have a row, and one more row stands for the others. Columns fit the
width of the view. Open rows are remembered by their keys. Many rows are expanded before the view
lays them out: one by one, a thousand take seconds.
"""

from __future__ import annotations

import sys
from collections.abc import Collection, Hashable, Iterable, Sequence
from enum import Enum, auto
from typing import Any, ClassVar, Generic, Self, TypeVar, overload

from PySide6.QtCore import (
    QAbstractItemModel,
    QModelIndex,
    QObject,
    QPoint,
    QSignalBlocker,
    Qt,
    Signal,
    Slot,
)
from PySide6.QtGui import QFontMetrics, QKeyEvent, QPainter, QPaintEvent, QResizeEvent
from PySide6.QtWidgets import QHeaderView, QMenu, QStyleOptionViewItem

from viewer.arrays import Ints
from viewer.dataclasses import dataclass
from viewer.gui.qt.clipboard import CopyFormat
from viewer.gui.qt.crash_report import guard
from viewer.gui.qt.theme.theme import Theme
from viewer.gui.qt.widgets.labels import tip
from viewer.gui.qt.widgets.tables import (
    LEFT,
    RIGHT,
    Index,
    QuietTree,
    add_copying,
    copy_tsv,
    offer_rows,
    paint_faint,
    pop_up,
    select_row,
    set_up_sorting,
)
from viewer.model.text import visible_line
from viewer.model.times import counted

# Qt takes 1 µs and our model 2 for each row, so more rows than this would be felt.
_MOST = 5000
_NONE = -2  # no node; -1 is above the roots
# What cells have; a view asks for more.
_ROLES = frozenset(
    (
        Qt.ItemDataRole.DisplayRole,
        Qt.ItemDataRole.AccessibleTextRole,
        Qt.ItemDataRole.TextAlignmentRole,
        Qt.ItemDataRole.ToolTipRole,
    )
)
_REST = 1 << 40  # from here on, an internal id stands for several nodes


class Cell(Enum):
    """What the cells of a column have; all but names, texts and code are right-aligned."""

    NAME = auto()
    TEXT = auto()
    CODE = auto()
    NUMBER = auto()
    LINE = auto()  # the number of a line
    TIME = auto()
    CHANGE = auto()  # a difference in time
    RATIO = auto()  # a change with its verdict


@dataclass(frozen=True, eq=False, slots=True)
class TreeColumn:
    """A column. width: design px, 0 for the rest. leaves: when it is hidden, 1 first; 0: never."""

    title: str
    width: int
    tip: str = ""
    cell: Cell = Cell.NUMBER
    leaves: int = 0
    is_title_left: bool = False

    @property
    def is_time(self) -> bool:
        """Whether its cells are times, or differences in time."""
        return self.cell in (Cell.TIME, Cell.CHANGE)

    @property
    def is_left(self) -> bool:
        """Whether its cells are left-aligned."""
        return self.cell in (Cell.NAME, Cell.TEXT, Cell.CODE)

    def header(self, role: int) -> object:
        """What the header has for the roles that do not depend on the rows."""
        if role == Qt.ItemDataRole.TextAlignmentRole:
            return LEFT if self.is_left or self.is_title_left else RIGHT
        if role == Qt.ItemDataRole.InitialSortOrderRole:
            ascends = self.is_left or self.cell is Cell.LINE
            return Qt.SortOrder.AscendingOrder if ascends else Qt.SortOrder.DescendingOrder
        return None


class TreeRows:
    """What a tree shows: the nodes in one order, and what is in their cells.

    at_first: how many rows one node has below it, until more are asked for.
    """

    columns: tuple[TreeColumn, ...] = ()
    at_first: ClassVar[int] = sys.maxsize

    def below(self, node: int) -> Sequence[int] | Ints:
        """The children of a node from top to bottom; of -1 the roots."""
        raise NotImplementedError

    def leaves(self, column: TreeColumn) -> int:
        """When a column is hidden for want of room, as `TreeColumn.leaves`."""
        return column.leaves

    def has_below(self, node: int) -> bool:
        """Whether a node has children."""
        return len(self.below(node)) > 0

    def parent_of(self, node: int) -> int:
        """The parent of a node, -1 for a root."""
        raise NotImplementedError

    def place_of(self, node: int) -> int:
        """The place of a node among its siblings, -1 if it has no row."""
        raise NotImplementedError

    def arranged(self, column: TreeColumn | None, descending: bool) -> Self:
        """The same rows, with siblings sorted by a column; None: in their own order."""
        return self

    def key(self, node: int) -> Hashable:
        """What a node is in these rows and in others of the same tree."""
        return node

    def node_of(self, key: Any) -> int:
        """The node with a key, -1 if there is none."""
        return int(key)

    def opens(self, node: int) -> bool:
        """Whether a node is opened when all are."""
        return True

    def title(self, column: TreeColumn) -> str:
        """The title of a column."""
        return column.title

    def title_tip(self, column: TreeColumn) -> str:
        """The tooltip of a title, "" for none."""
        return column.tip

    def cell(self, node: int, column: TreeColumn) -> str:
        """The text of a cell."""
        raise NotImplementedError

    def rest(self, nodes: Sequence[int] | Ints, column: TreeColumn) -> str:
        """The text of a cell of the row that stands for some nodes without a row."""
        return ""

    def spoken(self, node: int, column: TreeColumn) -> str:
        """The text of a cell for screen readers."""
        return spoken_text(self, self.cell(node, column), column)

    def hover(self, node: int, column: TreeColumn) -> str:
        """The tooltip of a cell, "" for none."""
        return ""

    def tsv(self, nodes: Sequence[int], columns: Sequence[TreeColumn]) -> str:
        """Nodes with headings as tab-separated text: times in ns, no digit grouping."""
        raise NotImplementedError


Rows = TypeVar("Rows", bound=TreeRows)
Item = TypeVar("Item")


def spoken_text(rows: TreeRows, text: str, column: TreeColumn) -> str:
    """A text for screen readers, after the title of its column unless that has names."""
    return text if column.cell is Cell.NAME else f"{rows.title(column)}: {text}"


class GrownRows(TreeRows, Generic[Item]):
    """Rows that are made when they are first listed; siblings have consecutive numbers."""

    def __init__(self) -> None:
        self.forget()

    def forget(self) -> None:
        """Forget all rows, which are made anew when they are listed."""
        self.items: list[Item] = []
        self._parent: list[int] = []
        self._below: dict[int, range] = {}

    def items_below(self, node: int) -> Iterable[Item]:
        """Make what is below a node; of -1 the roots. The first gets the number `len(items)`."""
        raise NotImplementedError

    def below(self, node: int) -> range:
        rows = self._below.get(node)
        if rows is None:
            self.items += self.items_below(node)
            rows = self._below[node] = range(len(self._parent), len(self.items))
            self._parent += [node] * len(rows)
        return rows

    def parent_of(self, node: int) -> int:
        return self._parent[node]

    def place_of(self, node: int) -> int:
        return node - self._below[self._parent[node]].start


class TreeModel(QAbstractItemModel, Generic[Rows]):
    """The rows of a tree, sorted among siblings; the internal id of an index is its node."""

    def __init__(self, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self.rows: Rows | None = None
        self.sort_column: TreeColumn | None = None
        self.descending = True
        self._limits: dict[int, int] = {}  # by parent: rows below it, if more than at first
        self._without_rest = _NONE  # the node whose row for several nodes is being replaced

    def show(self, rows: Rows | None) -> None:
        """Replace all rows; the sort order stays if its column does."""
        if rows is not None:
            if self.sort_column not in rows.columns:
                self.sort_column, self.descending = None, True
            rows = rows.arranged(self.sort_column, self.descending)
        self.beginResetModel()
        self.rows, self._limits = rows, {}
        self.endResetModel()

    @property
    def columns(self) -> tuple[TreeColumn, ...]:
        """The columns, in order."""
        return () if self.rows is None else self.rows.columns

    def node(self, index: Index) -> int:
        """The node of an index, -1 for an invalid one or the row of several nodes."""
        number = index.internalId() if index.isValid() else -1
        return number if number < _REST else -1

    def index_of(self, node: int, column: int = 0) -> QModelIndex:
        """The index of a node; that of the row for several nodes if it has no own one."""
        rows = self.rows
        if rows is None or node < 0 or (row := rows.place_of(node)) < 0:
            return QModelIndex()
        parent = rows.parent_of(node)
        limit = self._limits.get(parent, rows.at_first)
        if row < limit:
            return self.createIndex(row, column, node)
        return self.createIndex(limit, column, _REST + parent + 1)

    def listed_below(self, node: int) -> Sequence[int] | Ints:
        """The children of a node that have an own row; of -1 the roots."""
        return () if self.rows is None else self.rows.below(node)[: self._limit(node)]

    def _limit(self, node: int) -> int:
        assert self.rows is not None
        return self._limits.get(node, self.rows.at_first)

    def show_more(self, index: Index, wanted: int = -1) -> None:
        """Give the next nodes of a row that stands for several ones a row of their own.

        wanted: a node to be among them; beyond the limit, it has none.
        """
        if self.rows is None or not index.isValid() or index.internalId() < _REST:
            return
        parent = index.internalId() - _REST - 1
        limit, total = self._limit(parent), len(self.rows.below(parent))
        least = limit + self.rows.at_first if wanted < 0 else self.rows.place_of(wanted) + 1
        more = min(total, least)
        if wanted >= 0 and more > _MOST:
            return
        around = self.index_of(parent)
        self.beginRemoveRows(around, limit, limit)
        self._limits[parent] = limit
        self._without_rest = parent
        self.endRemoveRows()
        self.beginInsertRows(around, limit, more if more < total else more - 1)
        self._limits[parent] = more
        self._without_rest = _NONE
        self.endInsertRows()

    @guard
    def sort(self, column: int, order: Qt.SortOrder = Qt.SortOrder.AscendingOrder) -> None:
        sort_column = self.columns[column] if 0 <= column < len(self.columns) else None
        descending = sort_column is None or order == Qt.SortOrder.DescendingOrder
        if self.rows is None or (sort_column, descending) == (self.sort_column, self.descending):
            return  # Qt calls this twice if the program sets the order
        self.sort_column, self.descending = sort_column, descending
        self.layoutAboutToBeChanged.emit()
        before, rows = self.persistentIndexList(), self.rows
        keys = [rows.key(n) if (n := self.node(index)) >= 0 else None for index in before]
        self.rows, self._limits = rows.arranged(sort_column, descending), {}
        nodes = [-1 if key is None else self.rows.node_of(key) for key in keys]
        after = [self.index_of(n, i.column()) for n, i in zip(nodes, before, strict=True)]
        self.changePersistentIndexList(before, after)
        self.layoutChanged.emit()

    # -- Qt interface ----------------------------------------------------------------------------

    def _count(self, node: int) -> int:
        """The number of rows below a node."""
        if self.rows is None or node >= _REST:
            return 0
        total, limit = len(self.rows.below(node)), self._limit(node)
        return total if total <= limit else limit + (node != self._without_rest)

    @guard(QModelIndex())
    def index(self, row: int, column: int, parent: Index = QModelIndex()) -> QModelIndex:  # noqa: B008
        rows, node = self.rows, parent.internalId() if parent.isValid() else -1
        if rows is None or node >= _REST or row < 0 or not 0 <= column < len(rows.columns):
            return QModelIndex()
        below = rows.below(node)
        if row < len(below) and (row < rows.at_first or row < self._limit(node)):
            return self.createIndex(row, column, int(below[row]))
        is_rest = row < self._count(node)
        return self.createIndex(row, column, _REST + node + 1) if is_rest else QModelIndex()

    @overload
    def parent(self) -> QObject | None: ...
    @overload
    def parent(self, index: Index) -> QModelIndex: ...
    @guard(QModelIndex())
    def parent(self, index: Index | None = None) -> QObject | QModelIndex | None:
        if index is None:
            return super().parent()
        if not index.isValid() or self.rows is None:
            return QModelIndex()
        number = index.internalId()
        return self.index_of(self.rows.parent_of(number) if number < _REST else number - _REST - 1)

    @guard(0)
    def rowCount(self, parent: Index = QModelIndex()) -> int:  # noqa: B008
        if not parent.isValid():
            return self._count(-1)
        return 0 if parent.column() else self._count(parent.internalId())

    @guard(0)
    def columnCount(self, parent: Index = QModelIndex()) -> int:  # noqa: B008
        return len(self.columns)

    @guard(False)
    def hasChildren(self, parent: Index = QModelIndex()) -> bool:  # noqa: B008
        if self.rows is None or not parent.isValid():
            return self.rows is not None and self.rows.has_below(-1)
        node = parent.internalId()
        return node < _REST and not parent.column() and self.rows.has_below(node)

    @guard
    def headerData(
        self, section: int, orientation: Qt.Orientation, role: int = Qt.ItemDataRole.DisplayRole
    ) -> object:
        rows, columns = self.rows, self.columns
        if orientation != Qt.Orientation.Horizontal or not 0 <= section < len(columns):
            return None
        assert rows is not None
        if role in (Qt.ItemDataRole.DisplayRole, Qt.ItemDataRole.AccessibleTextRole):
            return rows.title(columns[section])
        if role == Qt.ItemDataRole.ToolTipRole:
            return tip(rows.title_tip(columns[section]))
        return columns[section].header(role)

    @guard
    def data(self, index: Index, role: int = Qt.ItemDataRole.DisplayRole) -> object:
        rows = self.rows
        if rows is None or role not in _ROLES or not index.isValid():
            return None
        column, node = rows.columns[index.column()], self.node(index)
        if role == Qt.ItemDataRole.DisplayRole:
            return visible_line(rows.cell(node, column) if node >= 0 else self._rest(index, column))
        if role == Qt.ItemDataRole.AccessibleTextRole:
            if node < 0:
                return spoken_text(rows, self._rest(index, column), column)
            return rows.spoken(node, column)
        if role == Qt.ItemDataRole.TextAlignmentRole:
            return LEFT if column.is_left else RIGHT
        if role == Qt.ItemDataRole.ToolTipRole:
            if node >= 0:
                return tip(rows.hover(node, column)) or None
            return "Click to list more" if column.cell is Cell.NAME else None
        return None

    def _rest(self, index: Index, column: TreeColumn) -> str:
        assert self.rows is not None
        parent = index.internalId() - _REST - 1
        return self.rows.rest(self.rows.below(parent)[index.row() :], column)


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
        if closed := [n for n in around if not self.isExpanded(self._model.index_of(n))]:
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
