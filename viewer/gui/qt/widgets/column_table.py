"""A table that shows or hides columns depending on its width."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from enum import Enum
from typing import Generic, TypeVar

from PySide6.QtCore import Qt

from viewer.gui.qt.theme.theme import Theme
from viewer.gui.qt.widgets.table_model import TitledModel
from viewer.gui.qt.widgets.tables import RowTable, fit_columns
from viewer.gui.qt.widgets.time_cells import TimeDelegate


class TableColumn(Enum):
    """A column: its title, its width in design px (0: the remaining width), and its tooltip."""

    def __init__(self, title: str, width: int, tip: str = "") -> None:
        self.title = title
        self.width = width
        self.tip = tip


Column = TypeVar("Column", bound=TableColumn)


class ColumnTable(RowTable, Generic[Column]):
    """A table with sized columns.

    `least` is the minimum width in px of the column that takes the remaining space. `dispensable`
    columns are hidden in this order if there is not enough space. If `sortable`, clicks on a title
    sort ascending or descending, and a third click clears the sorting.
    """

    def __init__(
        self,
        model: TitledModel,
        name: str,
        theme: Theme,
        columns: Sequence[Column],
        least: int,
        dispensable: Sequence[Column] = (),
        *,
        sortable: bool = False,
    ) -> None:
        super().__init__(model, name, theme)
        self._columns = tuple(columns)
        self._least = least
        self._dispensable = tuple(dispensable)
        self.setItemDelegate(TimeDelegate(model, theme))
        self._size_columns()
        if sortable:
            header = self.horizontalHeader()
            header.setSortIndicatorClearable(True)
            header.setSortIndicator(-1, Qt.SortOrder.DescendingOrder)
            self.setSortingEnabled(True)

    def width_of(self, column: Column) -> int:
        """The current width of a column in design px; 0 takes the remaining space."""
        return column.width

    def hidden(self) -> Collection[Column]:
        """The columns that are currently empty."""
        return ()

    def wide(self) -> Column:
        """The column that takes the remaining space."""
        return next(column for column in self._columns if not column.width)

    def _size_columns(self) -> None:
        for i, column in enumerate(self._columns):
            if width := self.width_of(column):
                self.horizontalHeader().resizeSection(i, self._theme.px(width))

    def fit_columns(self) -> None:
        """Show the non-empty columns that fit into the width."""
        position = self._columns.index
        fit_columns(
            self,
            self._theme,
            {i: self.width_of(column) or self._least for i, column in enumerate(self._columns)},
            {position(column) for column in self.hidden()},
            [position(column) for column in self._dispensable],
            position(self.wide()),
        )
