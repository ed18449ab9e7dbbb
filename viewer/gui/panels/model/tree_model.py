"""Qt item model of the Model panel; the internal id of an index is its row's id."""

from __future__ import annotations

from collections.abc import Iterable
from typing import overload

from PySide6.QtCore import QAbstractItemModel, QModelIndex, QObject, Qt

from viewer.gui.panels.model.rows import ModelRows
from viewer.gui.panels.model.table import ModelColumn, ModelRow, RowKind
from viewer.gui.qt.crash_report import guard
from viewer.gui.qt.widgets.labels import tip
from viewer.gui.qt.widgets.table_model import LEFT, RIGHT, Index
from viewer.model.text import visible_controls

ROW_ROLE = Qt.ItemDataRole.UserRole + 1
RELATED_ROLE = Qt.ItemDataRole.UserRole + 3


class ModuleModel(QAbstractItemModel):
    """The rows of the Model panel, sorted among siblings and filtered."""

    def __init__(self, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self.rows: ModelRows | None = None
        self._columns = 0
        self._words: tuple[str, ...] = ()
        self._sort: tuple[ModelColumn | None, bool] = (None, True)
        self._wanted: frozenset[int] = frozenset()

    def show(self, rows: ModelRows | None) -> None:
        """Replace all rows; keep the filter, and the sort order if its column still exists."""
        if rows is not None:
            if self._sort[0] not in rows.cells:
                self._sort = (None, True)
            rows = rows.again(self._words, *self._sort)
        self.beginResetModel()
        self.rows = rows
        self._columns = 0 if rows is None else len(rows.cells)
        self.endResetModel()

    def set_filter(self, text: str) -> None:
        """Show only rows whose name contains every word, with their parents and children."""
        self._words = tuple(text.lower().split())
        self.show(self.rows)

    @guard
    def sort(self, column: int, order: Qt.SortOrder = Qt.SortOrder.AscendingOrder) -> None:
        cells = self.rows.cells if self.rows else ()
        cell = cells[column] if 0 <= column < len(cells) else None
        order_now = (cell, order == Qt.SortOrder.DescendingOrder)
        # Qt calls this twice if the program sets the order.
        if order_now != self._sort and (cell, self._sort[0]) != (None, None):
            self._sort = order_now
            self.show(self.rows)

    def set_selected(self, operators: Iterable[int]) -> None:
        """Set the operators whose rows are tinted; the caller repaints the view."""
        self._wanted = frozenset(operators)

    def row(self, index: Index) -> ModelRow | None:
        """Return the row of an index, None for an invalid one."""
        return self.rows.made[index.internalId()] if index.isValid() and self.rows else None

    def index_of(self, number: int | None, column: int = 0) -> QModelIndex:
        """Return the index of a row, given by its id."""
        if number is None or self.rows is None:
            return QModelIndex()
        return self.createIndex(self.rows.made[number].place, column, number)

    def cell(self, column: int) -> ModelColumn:
        """Return the column at a position."""
        assert self.rows is not None
        return self.rows.cells[column]

    # -- Qt interface ----------------------------------------------------------------------------

    @guard(QModelIndex())
    def index(self, row: int, column: int, parent: Index = QModelIndex()) -> QModelIndex:  # noqa: B008
        inside = self._inside(parent)
        if 0 <= row < len(inside) and 0 <= column < self._columns:
            return self.createIndex(row, column, inside[row])
        return QModelIndex()

    @overload
    def parent(self) -> QObject | None: ...
    @overload
    def parent(self, index: Index) -> QModelIndex: ...
    @guard(QModelIndex())
    def parent(self, index: Index | None = None) -> QObject | QModelIndex | None:
        if index is None:
            return super().parent()
        row = self.row(index)
        return self.index_of(None if row is None or row.parent < 0 else row.parent)

    def _inside(self, parent: Index) -> list[int]:
        rows = self.rows
        if rows is None:
            return []
        if not parent.isValid():
            return rows.top
        row = rows.made[parent.internalId()]
        return rows.inside(row) if row.inside is None else row.inside

    @guard(0)
    def rowCount(self, parent: Index = QModelIndex()) -> int:  # noqa: B008
        return 0 if parent.isValid() and parent.column() else len(self._inside(parent))

    @guard(0)
    def columnCount(self, parent: Index = QModelIndex()) -> int:  # noqa: B008
        return self._columns

    @guard(False)
    def hasChildren(self, parent: Index = QModelIndex()) -> bool:  # noqa: B008
        rows = self.rows
        if rows is None or not parent.isValid():
            return rows is not None and bool(rows.top)
        return parent.column() == 0 and rows.has_inside(rows.made[parent.internalId()])

    @guard
    def headerData(
        self, section: int, orientation: Qt.Orientation, role: int = Qt.ItemDataRole.DisplayRole
    ) -> object:
        if orientation != Qt.Orientation.Horizontal or self.rows is None:
            return None
        if not 0 <= section < len(self.rows.cells):
            return None
        cell = self.rows.cells[section]
        if role in (Qt.ItemDataRole.DisplayRole, Qt.ItemDataRole.AccessibleTextRole):
            return self.rows.title(cell)
        if role == Qt.ItemDataRole.ToolTipRole:
            return tip(self.rows.tip(cell))
        if role == Qt.ItemDataRole.TextAlignmentRole:
            return (
                LEFT if cell in (ModelColumn.NAME, ModelColumn.TOTAL, ModelColumn.OUTPUT) else RIGHT
            )
        if role == Qt.ItemDataRole.InitialSortOrderRole:
            order = Qt.SortOrder
            text = cell in (ModelColumn.NAME, ModelColumn.LINE, ModelColumn.OUTPUT)
            return order.AscendingOrder if text else order.DescendingOrder
        return None

    @guard
    def data(self, index: Index, role: int = Qt.ItemDataRole.DisplayRole) -> object:
        row = self.row(index)
        if row is None or self.rows is None:
            return None
        cell = self.rows.cells[index.column()]
        if role == Qt.ItemDataRole.DisplayRole:
            return visible_controls(self.rows.text(row, cell))
        if role == Qt.ItemDataRole.AccessibleTextRole:
            return self._spoken(row, cell)
        if role == ROW_ROLE:
            return row
        if role == RELATED_ROLE:
            has_operators = row.kind in (RowKind.OPERATOR, RowKind.SET)
            if not self._wanted or not has_operators:
                return False
            return not self._wanted.isdisjoint(self.rows.operators(row))
        if role == Qt.ItemDataRole.TextAlignmentRole:
            return LEFT if cell in (ModelColumn.NAME, ModelColumn.OUTPUT) else RIGHT
        if role == Qt.ItemDataRole.ToolTipRole and cell is ModelColumn.NAME:
            return tip(self.rows.explained(row))
        return None

    def _spoken(self, row: ModelRow, cell: ModelColumn) -> str:
        """Return a cell's text for screen readers; a name includes the kind of its row."""
        assert self.rows is not None
        text = self.rows.text(row, cell)
        if cell is not ModelColumn.NAME:
            return f"{self.rows.title(cell)}: {text}"
        hint = self.rows.hint(row)
        return ", ".join(part for part in (row.kind.value, text, hint) if part)
