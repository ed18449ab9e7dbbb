"""A table whose columns come and go with the room: one takes what is left, some are dispensable."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import Generic, Protocol, TypeVar

from PySide6.QtCore import QAbstractItemModel, Qt

from viewer.gui.qt.theme.theme import Theme
from viewer.gui.qt.widgets.tables import RowTable, fit_columns


class SizedColumn(Protocol):
    """A column with its width in px of the design; 0: what is left."""

    @property
    def width(self) -> int:
        """The width."""


Column = TypeVar("Column", bound=SizedColumn)


class ColumnTable(RowTable, Generic[Column]):
    """The table. least: px that the wide column needs. dispensable: what is hidden where there is
    no room, first things first. sortable: whether a click on a title sorts, a third one no more."""

    def __init__(
        self,
        model: QAbstractItemModel,
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
        self._size_columns()
        if sortable:
            header = self.horizontalHeader()
            header.setSortIndicatorClearable(True)
            header.setSortIndicator(-1, Qt.SortOrder.DescendingOrder)
            self.setSortingEnabled(True)

    def width_of(self, column: Column) -> int:
        """The width of a column now, in px of the design; 0: what is left."""
        return column.width

    def hidden(self) -> Collection[Column]:
        """The columns in which there is nothing to see now."""
        return ()

    def wide(self) -> Column:
        """The column that takes what is left."""
        return next(column for column in self._columns if not column.width)

    def _size_columns(self) -> None:
        for i, column in enumerate(self._columns):
            if width := self.width_of(column):
                self.horizontalHeader().resizeSection(i, self._theme.px(width))

    def fit_columns(self) -> None:
        """Show the columns in which there is anything, and of them what there is room for."""
        at = self._columns.index
        fit_columns(
            self,
            self._theme,
            {i: self.width_of(column) or self._least for i, column in enumerate(self._columns)},
            {at(column) for column in self.hidden()},
            [at(column) for column in self._dispensable],
            at(self.wide()),
        )
