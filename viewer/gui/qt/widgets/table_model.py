"""Base classes of the panels' table models: flat lists of rows below titled columns.

Those of cells compute a text when it is painted; their rows are positions in arrays.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from enum import Enum
from typing import Any, Generic, TypeVar

import numpy as np
from numpy.typing import NDArray
from PySide6.QtCore import QAbstractTableModel, QModelIndex, QObject, QPersistentModelIndex, Qt
from PySide6.QtGui import QIcon, QPixmap

from viewer.gui.qt.crash_report import guard
from viewer.gui.qt.theme.theme import FontRole, Theme
from viewer.gui.qt.widgets.labels import tip
from viewer.model.text import visible_controls

Index = QModelIndex | QPersistentModelIndex
RIGHT = Qt.AlignmentFlag.AlignRight | Qt.AlignmentFlag.AlignVCenter
LEFT = Qt.AlignmentFlag.AlignLeft | Qt.AlignmentFlag.AlignVCenter

Column = TypeVar("Column", bound=Enum)


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

    def elides_middle(self, column: int) -> bool:
        """Whether long texts of a column keep their end, as names do that differ there."""
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


class CellModel(TitledModel, Generic[Column]):
    """A flat table; subclasses provide the text and look of a cell by item and column."""

    def __init__(
        self, columns: Sequence[Column], theme: Theme, parent: QObject | None = None
    ) -> None:
        super().__init__(parent)
        self._columns = tuple(columns)
        self._theme = theme

    def item(self, row: int) -> int:
        """The number of the item that a row shows."""
        return row

    def text(self, item: int, column: Column) -> str:
        """The text of a cell."""
        raise NotImplementedError

    def tooltip(self, item: int, column: Column) -> str:
        """The tooltip of a cell; "" for none."""
        return ""

    def font_role(self, item: int, column: Column) -> FontRole:
        """The font role of a cell."""
        return "cell"

    def tone(self, item: int, column: Column) -> str:
        """The color of a cell's text, as a token name of the theme."""
        return "text1"

    def picture(self, item: int, column: Column) -> QPixmap | QIcon | None:
        """An icon before the text of a cell; None for none."""
        return None

    @guard
    def data(self, index: Index, role: int = Qt.ItemDataRole.DisplayRole) -> object:
        if not index.isValid() or index.row() >= self.shown_rows():
            return None
        item, column = self.item(index.row()), self._columns[index.column()]
        if role == Qt.ItemDataRole.DisplayRole:
            return visible_controls(self.text(item, column))
        if role == Qt.ItemDataRole.ToolTipRole:
            return tip(self.tooltip(item, column))
        if role == Qt.ItemDataRole.TextAlignmentRole:
            return RIGHT if self.is_right(index.column()) else LEFT
        if role == Qt.ItemDataRole.FontRole:
            return self._theme.font(self.font_role(item, column))
        if role == Qt.ItemDataRole.ForegroundRole:
            return self._theme.color(self.tone(item, column))
        if role == Qt.ItemDataRole.DecorationRole:
            return self.picture(item, column)
        return None


class ArrayModel(CellModel[Column]):
    """A filtered and sorted table of array positions; subclasses set `rows` in `_arrange`."""

    def __init__(
        self, columns: Sequence[Column], theme: Theme, parent: QObject | None = None
    ) -> None:
        super().__init__(columns, theme, parent)
        self.rows: NDArray[np.int64] = np.empty(0, np.int64)
        self._filter = ""
        self._sort: tuple[int, Qt.SortOrder] | None = None

    def _arrange(self) -> None:
        """Set `rows` to the positions that match the filter, in sorted order."""
        raise NotImplementedError

    def item(self, row: int) -> int:
        return int(self.rows[row])

    def shown_rows(self) -> int:
        return len(self.rows)

    def set_filter(self, text: str) -> None:
        """Show only the rows that contain every word of the text."""
        self.beginResetModel()
        self._filter = text
        self._arrange()
        self.endResetModel()

    @guard
    def sort(self, column: int, order: Qt.SortOrder = Qt.SortOrder.AscendingOrder) -> None:
        self._sort = (column, order) if column >= 0 else None
        self._rearrange()

    def _rearrange(self) -> None:
        """Sort the same rows again, keeping the selection."""
        self.layoutAboutToBeChanged.emit()
        before, indexes = self.rows, self.persistentIndexList()
        self._arrange()
        if indexes:
            place = np.empty(int(self.rows.max(initial=-1)) + 1, np.int64)
            place[self.rows] = np.arange(len(self.rows))
            now = [self.index(int(place[before[i.row()]]), i.column()) for i in indexes]
            self.changePersistentIndexList(indexes, now)
        self.layoutChanged.emit()

    def _sorted(self, rows: NDArray[np.int64], keys: NDArray[Any]) -> NDArray[np.int64]:
        """Sort rows by key; a stable sort, whose result is reversed for descending order."""
        assert self._sort is not None
        by = np.argsort(keys[rows], kind="stable")
        return rows[by[::-1] if self._sort[1] == Qt.SortOrder.DescendingOrder else by]


def any_fraction_of_ns(ns: NDArray[Any]) -> bool:
    """Whether any of these times, in ns, is shown in ns with decimals; NaN is none."""
    small = ns[np.abs(ns) < 1000]
    return bool((small % 1 != 0).any())


def tsv_text(header: Iterable[str], rows: Iterable[Iterable[str]]) -> str:
    """Rows as tab-separated text, one line per row; whitespace within cells becomes one space."""
    lines = ["\t".join(header)]
    lines += ["\t".join(" ".join(text.split()) for text in row) for row in rows]
    return "\n".join(lines) + "\n"
