"""Qt item model of the Calls table over columns: an index holds the number of its node alone.

Of many siblings, the first `AT_FIRST` have a row, and one more row stands for the others; its id is
behind those of all nodes.
"""

from __future__ import annotations

from typing import Any, overload

import numpy as np
from numpy.typing import NDArray
from PySide6.QtCore import QAbstractItemModel, QModelIndex, QObject, Qt

from viewer.arrays import Bools
from viewer.gui.panels.calls.shown_calls import CallRows, Matches
from viewer.gui.panels.calls.texts import CALL, COSTS, CallColumn, NodeTexts
from viewer.gui.qt.crash_report import guard
from viewer.gui.qt.widgets.labels import tip
from viewer.gui.qt.widgets.table_model import LEFT, RIGHT, Index
from viewer.model.text import visible_controls

AT_FIRST = 500  # rows below one node; Qt asks for each of them before it paints any
# Qt takes 1 µs and our model 2 for each row, so more rows than this would be felt.
_MOST = 5000
_NONE = -2  # no node; -1 is the parent of the roots


class CallModel(QAbstractItemModel):
    """The nodes of an answer, sorted among siblings and searched."""

    def __init__(self, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self.texts: NodeTexts | None = None
        self._rows: CallRows | None = None
        self._matches: Matches | None = None
        self._keep: Bools | None = None  # those with a row, None for all
        self._sort: tuple[CallColumn, bool] | None = None  # column, descending
        self._limits: dict[int, int] = {}  # by parent: rows below it, if more than at first
        self._without_rest = _NONE  # the node whose row for several nodes is being replaced

    def show(self, texts: NodeTexts | None, matches: Matches | None = None) -> None:
        """Replace all rows. matches: what a search found; only this and what is around has rows."""
        self.beginResetModel()
        self.texts, self._matches = texts, matches
        self._keep = None if matches is None else matches.around
        self._limits = {}
        self._rows = self._arranged()
        self.endResetModel()

    @property
    def columns(self) -> tuple[CallColumn, ...]:
        """The columns: those of costs, or of changes."""
        return COSTS if self.texts is None else self.texts.columns

    def _arranged(self) -> CallRows | None:
        if self.texts is None:
            return None
        answer = self.texts.answer
        if self._sort is None or self._sort[0] not in self.columns:
            if self._keep is None:
                return answer.rows
            return CallRows(answer.table, self.texts.first_rank, self._keep)
        column, descending = self._sort
        rank: NDArray[Any] = self.texts.keys(column)
        return CallRows(answer.table, -rank if descending else rank, self._keep)

    @property
    def is_searched(self) -> bool:
        """Whether a search leaves out rows."""
        return self._matches is not None

    def is_around(self, node: int) -> bool:
        """Whether a node has a row only because of matches below it."""
        return self._matches is not None and not self._matches.found[node]

    @property
    def count(self) -> int:
        """How many nodes the table has, with a row or not; larger ids stand for several nodes."""
        return 0 if self.texts is None else len(self.texts.answer.table)

    def node(self, index: Index) -> int:
        """Return the node of an index, -1 for an invalid one or the row of several nodes."""
        number = index.internalId() if index.isValid() else -1
        return number if number < self.count else -1

    def index_of(self, node: int, column: int = 0) -> QModelIndex:
        """Return the index of a node; that of the row for several nodes if it has no own one."""
        if self._rows is None or node < 0 or self._rows.row[node] < 0:
            return QModelIndex()
        row = int(self._rows.row[node])
        parent = self._parent_of(node)
        limit = self._limits.get(parent, AT_FIRST)
        if row < limit:
            return self.createIndex(row, column, node)
        return self.createIndex(limit, column, self.count + parent + 1)

    def listed_below(self, node: int) -> NDArray[np.int64]:
        """Return the children of a node that have an own row; of -1 the roots."""
        if self._rows is None:
            return np.empty(0, np.int64)
        return self._rows.below(node)[: self._limits.get(node, AT_FIRST)]

    def show_more(self, index: Index, wanted: int = -1) -> None:
        """Give the next nodes of a row that stands for several ones a row of their own.

        wanted: a node to be among them; beyond the limit, it has none.
        """
        if self._rows is None or not index.isValid() or index.internalId() < self.count:
            return
        parent = index.internalId() - self.count - 1
        limit, total = self._limits.get(parent, AT_FIRST), self._rows.count_below(parent)
        least = limit + AT_FIRST if wanted < 0 else int(self._rows.row[wanted]) + 1
        more = min(total, least)
        if wanted >= 0 and more > _MOST:
            return
        around = self.index_of(parent)
        self.beginRemoveRows(around, limit, limit)
        self._limits[parent] = limit
        self._without_rest = parent
        self.endRemoveRows()
        last = more if more < total else more - 1
        self.beginInsertRows(around, limit, last)
        self._limits[parent] = more
        self._without_rest = _NONE
        self.endInsertRows()

    def _parent_of(self, node: int) -> int:
        assert self.texts is not None
        return int(self.texts.answer.table.parent[node])

    @guard
    def sort(self, column: int, order: Qt.SortOrder = Qt.SortOrder.AscendingOrder) -> None:
        sort = None
        if 0 <= column < len(self.columns):
            sort = self.columns[column], order == Qt.SortOrder.DescendingOrder
        if sort == self._sort:
            return  # Qt calls this twice if the program sets the order
        self._sort = sort
        self.layoutAboutToBeChanged.emit()
        before = self.persistentIndexList()
        self._limits = {}
        self._rows = self._arranged()
        after = [
            self.index_of(index.internalId(), index.column())
            if index.internalId() < self.count
            else QModelIndex()
            for index in before
        ]
        self.changePersistentIndexList(before, after)
        self.layoutChanged.emit()

    # -- Qt interface ----------------------------------------------------------------------------

    def _below(self, parent: Index) -> tuple[int, int]:
        """Return the node of an index, and how many rows are below it."""
        if self._rows is None or (parent.isValid() and parent.internalId() >= self.count):
            return -1, 0
        node = parent.internalId() if parent.isValid() else -1
        total, limit = self._rows.count_below(node), self._limits.get(node, AT_FIRST)
        has_rest = total > limit and node != self._without_rest
        return node, min(total, limit) + has_rest

    @guard(QModelIndex())
    def index(self, row: int, column: int, parent: Index = QModelIndex()) -> QModelIndex:  # noqa: B008
        node, count = self._below(parent)
        if not (0 <= row < count and 0 <= column < len(self.columns)):
            return QModelIndex()
        assert self._rows is not None
        if row >= self._limits.get(node, AT_FIRST):
            return self.createIndex(row, column, self.count + node + 1)
        return self.createIndex(row, column, int(self._rows.below(node)[row]))

    @overload
    def parent(self) -> QObject | None: ...
    @overload
    def parent(self, index: Index) -> QModelIndex: ...
    @guard(QModelIndex())
    def parent(self, index: Index | None = None) -> QObject | QModelIndex | None:
        if index is None:
            return super().parent()
        if not index.isValid() or self.texts is None:
            return QModelIndex()
        number = index.internalId()
        return self.index_of(
            self._parent_of(number) if number < self.count else number - self.count - 1
        )

    @guard(0)
    def rowCount(self, parent: Index = QModelIndex()) -> int:  # noqa: B008
        return 0 if parent.isValid() and parent.column() else self._below(parent)[1]

    @guard(0)
    def columnCount(self, parent: Index = QModelIndex()) -> int:  # noqa: B008
        return len(self.columns)

    @guard(False)
    def hasChildren(self, parent: Index = QModelIndex()) -> bool:  # noqa: B008
        return not (parent.isValid() and parent.column()) and self._below(parent)[1] > 0

    @guard
    def headerData(
        self, section: int, orientation: Qt.Orientation, role: int = Qt.ItemDataRole.DisplayRole
    ) -> object:
        if orientation != Qt.Orientation.Horizontal or not 0 <= section < len(self.columns):
            return None
        column = self.columns[section]
        if role in (Qt.ItemDataRole.DisplayRole, Qt.ItemDataRole.AccessibleTextRole):
            return column.term.title
        if role == Qt.ItemDataRole.ToolTipRole:
            return tip(column.term.definition or CALL)
        if role == Qt.ItemDataRole.TextAlignmentRole:
            return LEFT if column is CallColumn.CALL else RIGHT
        if role == Qt.ItemDataRole.InitialSortOrderRole:
            order = Qt.SortOrder
            return order.AscendingOrder if column is CallColumn.CALL else order.DescendingOrder
        return None

    @guard
    def data(self, index: Index, role: int = Qt.ItemDataRole.DisplayRole) -> object:
        if self.texts is None or not index.isValid():
            return None
        column = self.columns[index.column()]
        if role == Qt.ItemDataRole.DisplayRole:
            return visible_controls(self._text(index, column))
        if role == Qt.ItemDataRole.AccessibleTextRole:
            text = self._text(index, column)
            return text if column is CallColumn.CALL else f"{column.term.title}: {text}"
        if role == Qt.ItemDataRole.TextAlignmentRole:
            return LEFT if column is CallColumn.CALL else RIGHT
        if role == Qt.ItemDataRole.ToolTipRole and column is CallColumn.CALL:
            node = self.node(index)
            return tip("\n".join(self.texts.lines(node))) if node >= 0 else "Click to list more"
        return None

    def _text(self, index: Index, column: CallColumn) -> str:
        assert self.texts is not None
        node = self.node(index)
        if node >= 0:
            return self.texts.cell(node, column)
        assert self._rows is not None
        parent = index.internalId() - self.count - 1
        return self.texts.rest(self._rows.below(parent)[index.row() :], column)
