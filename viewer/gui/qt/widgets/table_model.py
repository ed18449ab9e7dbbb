"""What table models of the panels have in common: rows without parents under titled columns."""

from __future__ import annotations

from collections.abc import Sequence

from PySide6.QtCore import QAbstractTableModel, QModelIndex, QPersistentModelIndex, Qt

from viewer.gui.qt.crash_report import guard
from viewer.gui.qt.widgets.labels import tip

Index = QModelIndex | QPersistentModelIndex
RIGHT = Qt.AlignmentFlag.AlignRight | Qt.AlignmentFlag.AlignVCenter
LEFT = Qt.AlignmentFlag.AlignLeft | Qt.AlignmentFlag.AlignVCenter


class TitledModel(QAbstractTableModel):
    """A flat table; a subclass gives its `data`, how many rows there are and what heads them."""

    def shown_rows(self) -> int:
        """How many rows there are now."""
        raise NotImplementedError

    def titles(self) -> Sequence[str]:
        """The title of each column."""
        raise NotImplementedError

    def is_right(self, column: int) -> bool:
        """Whether the title of a column is at the right, over numbers."""
        raise NotImplementedError

    def is_number(self, column: int) -> bool:
        """Whether a column has numbers, of which the greatest is what one sorts for first."""
        return self.is_right(column)

    def title_tip(self, column: int) -> str:
        """The tooltip of a column's title; may be nothing."""
        return ""

    @guard(0)
    def rowCount(self, parent: Index = QModelIndex()) -> int:  # noqa: B008
        return 0 if parent.isValid() else self.shown_rows()

    @guard(0)
    def columnCount(self, parent: Index = QModelIndex()) -> int:  # noqa: B008
        return 0 if parent.isValid() else len(self.titles())

    @guard
    def headerData(
        self,
        section: int,
        orientation: Qt.Orientation,
        role: int = Qt.ItemDataRole.DisplayRole,
    ) -> object:
        if orientation != Qt.Orientation.Horizontal or not 0 <= section < len(self.titles()):
            return None
        if role in (Qt.ItemDataRole.DisplayRole, Qt.ItemDataRole.AccessibleTextRole):
            return self.titles()[section]
        if role == Qt.ItemDataRole.ToolTipRole:
            return tip(self.title_tip(section))
        if role == Qt.ItemDataRole.TextAlignmentRole:
            return RIGHT if self.is_right(section) else LEFT
        if role == Qt.ItemDataRole.InitialSortOrderRole:
            order = Qt.SortOrder
            return order.DescendingOrder if self.is_number(section) else order.AscendingOrder
        return None
