"""One item model for all trees: columns are data, and a node is a number.

Of many siblings, the first ones have a row, and one more row stands for the others.
"""

from __future__ import annotations

import sys
from collections.abc import Hashable, Iterable, Sequence
from dataclasses import dataclass
from enum import Enum, auto
from typing import Any, ClassVar, Generic, Self, TypeVar, overload

from PySide6.QtCore import QAbstractItemModel, QModelIndex, QObject, Qt

from viewer.arrays import Ints
from viewer.gui.qt.crash_report import guard
from viewer.gui.qt.widgets.labels import tip
from viewer.gui.qt.widgets.table_model import LEFT, RIGHT, Index
from viewer.model.text import visible_line

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
    """A column. width: in design px, 0 for the rest.

    leaves: when it is hidden for want of room, 1 first; 0 if it stays.
    """

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
        """Nodes with headings as tab-separated text."""
        raise NotImplementedError


Rows = TypeVar("Rows", bound=TreeRows)
Item = TypeVar("Item")


def spoken_text(rows: TreeRows, text: str, column: TreeColumn) -> str:
    """A text for screen readers, after the title of its column unless that has names."""
    return text if column.cell is Cell.NAME else f"{rows.title(column)}: {text}"


class GrownRows(TreeRows, Generic[Item]):
    """Rows that are made when they are first listed.

    items: those of the nodes. Siblings have consecutive numbers.
    """

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
