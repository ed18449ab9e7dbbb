"""Table models whose cells are written when they are painted: rows are positions in columns."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from enum import Enum
from typing import Any, Generic, TypeVar

import numpy as np
from numpy.typing import NDArray
from PySide6.QtCore import QObject, Qt
from PySide6.QtGui import QIcon, QPixmap

from viewer.gui.qt.crash_report import guard
from viewer.gui.qt.theme.theme import FontRole, Theme
from viewer.gui.qt.widgets.labels import tip
from viewer.gui.qt.widgets.table_model import LEFT, RIGHT, Index, TitledModel

Column = TypeVar("Column", bound=Enum)


class CellModel(TitledModel, Generic[Column]):
    """A flat table; a subclass gives the text and the looks of a cell by its item and column."""

    def __init__(
        self, columns: Sequence[Column], theme: Theme, parent: QObject | None = None
    ) -> None:
        super().__init__(parent)
        self._columns = tuple(columns)
        self._theme = theme

    def item(self, row: int) -> int:
        """What a row shows, as a number."""
        return row

    def text(self, item: int, column: Column) -> str:
        """The text of a cell."""
        raise NotImplementedError

    def tooltip(self, item: int, column: Column) -> str:
        """The tooltip of a cell; may be nothing."""
        return ""

    def font_role(self, item: int, column: Column) -> FontRole:
        """The font of a cell."""
        return "cell"

    def tone(self, item: int, column: Column) -> str:
        """The color of a cell's text, by its name in the theme."""
        return "text1"

    def picture(self, item: int, column: Column) -> QPixmap | QIcon | None:
        """What is painted before the text of a cell."""
        return None

    @guard
    def data(self, index: Index, role: int = Qt.ItemDataRole.DisplayRole) -> object:
        if not index.isValid() or index.row() >= self.shown_rows():
            return None
        item, column = self.item(index.row()), self._columns[index.column()]
        if role == Qt.ItemDataRole.DisplayRole:
            return self.text(item, column)
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
    """Rows that are positions in arrays, filtered and sorted; `_arrange` sets `rows`."""

    def __init__(
        self, columns: Sequence[Column], theme: Theme, parent: QObject | None = None
    ) -> None:
        super().__init__(columns, theme, parent)
        self.rows: NDArray[np.int64] = np.empty(0, np.int64)
        self._filter = ""
        self._sort: tuple[int, Qt.SortOrder] | None = None

    def _arrange(self) -> None:
        """Set the rows that the filter leaves, in their order."""
        raise NotImplementedError

    def item(self, row: int) -> int:
        return int(self.rows[row])

    def shown_rows(self) -> int:
        return len(self.rows)

    def set_filter(self, text: str) -> None:
        """Show only the rows in which every word of a text is found."""
        self.beginResetModel()
        self._filter = text
        self._arrange()
        self.endResetModel()

    @guard
    def sort(self, column: int, order: Qt.SortOrder = Qt.SortOrder.AscendingOrder) -> None:
        self._sort = (column, order) if column >= 0 else None
        self._rearrange()

    def _rearrange(self) -> None:
        """Bring the same rows into another order; what is marked stays marked."""
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
        """Some rows in the order of their keys, those of one key as they come."""
        assert self._sort is not None
        by = np.argsort(keys[rows], kind="stable")
        return rows[by[::-1] if self._sort[1] == Qt.SortOrder.DescendingOrder else by]


def tsv_text(header: Iterable[str], rows: Iterable[Iterable[str]]) -> str:
    """Rows as tab separated text, each on one line whatever is in its cells."""
    lines = ["\t".join(header)]
    lines += ["\t".join(" ".join(text.split()) for text in row) for row in rows]
    return "\n".join(lines) + "\n"
