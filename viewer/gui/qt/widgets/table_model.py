"""Base class of the panels' table models: a flat list of rows below titled columns."""

from __future__ import annotations

from collections.abc import Sequence

from PySide6.QtCore import QAbstractTableModel, QModelIndex, QPersistentModelIndex, Qt

from viewer.gui.qt.crash_report import guard
from viewer.gui.qt.widgets.labels import tip
from viewer.model.text import visible_controls

Index = QModelIndex | QPersistentModelIndex
RIGHT = Qt.AlignmentFlag.AlignRight | Qt.AlignmentFlag.AlignVCenter
LEFT = Qt.AlignmentFlag.AlignLeft | Qt.AlignmentFlag.AlignVCenter


class TitledModel(QAbstractTableModel):
    """A flat table; subclasses provide `data`, the number of rows and the column titles."""

    def shown_rows(self) -> int:
        """The current number of rows."""
        raise NotImplementedError

    def titles(self) -> Sequence[str]:
        """The column titles, in order."""
        raise NotImplementedError

    def is_right(self, column: int) -> bool:
        """Whether a column's title and cells are right-aligned, as for numbers."""
        raise NotImplementedError

    def is_number(self, column: int) -> bool:
        """Whether a column has numbers, which the first click on its title sorts descending."""
        return self.is_right(column)

    def is_time(self, column: int) -> bool:
        """Whether a column's cells are times, each with its unit; see `time_cells`."""
        return False

    def has_fractions(self, column: int) -> bool:
        """Whether any time of a column is a fraction of a ns, such as a mean of 385.5 ns."""
        return False

    def title_tip(self, column: int) -> str:
        """The tooltip of a column title; "" for none."""
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
            return visible_controls(self.titles()[section])
        if role == Qt.ItemDataRole.ToolTipRole:
            return tip(self.title_tip(section))
        if role == Qt.ItemDataRole.TextAlignmentRole:
            return RIGHT if self.is_right(section) else LEFT
        if role == Qt.ItemDataRole.InitialSortOrderRole:
            order = Qt.SortOrder
            return order.DescendingOrder if self.is_number(section) else order.AscendingOrder
        return None
