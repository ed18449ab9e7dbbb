"""The model of all tables of panels: filtered, sorted and copied in one place.

Rows are positions in contents. `ArrangedModel` keeps their order, `TableModel` their cells.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, Generic, TypeVar

import numpy as np
from numpy.typing import NDArray
from PySide6.QtCore import QAbstractTableModel, QModelIndex, QObject, Qt

from viewer.arrays import Bools, Ints
from viewer.gui.panels.base.swatches import SwatchPixmaps
from viewer.gui.panels.base.tables.columns import Copied, PanelColumn, PanelTable
from viewer.gui.qt.crash_report import guard
from viewer.gui.qt.theme.theme import Theme
from viewer.gui.qt.widgets.labels import tip
from viewer.gui.qt.widgets.table_model import (
    LEFT,
    RIGHT,
    Index,
    any_fraction_of_ns,
    tsv_text,
)
from viewer.model.text import visible_line
from viewer.render.palette import Palette

C = TypeVar("C")
_NO_ROWS = np.empty(0, np.int64)


class ArrangedModel(QAbstractTableModel, Generic[C]):
    """Rows of contents in an order; subclasses say which, and what is in a cell.

    contents: None without rows. items: the position in the contents of each row.
    """

    def __init__(
        self, columns: Sequence[PanelColumn[C]] = (), parent: QObject | None = None
    ) -> None:
        super().__init__(parent)
        self.contents: C | None = None
        self.items: Ints = _NO_ROWS
        self.columns = tuple(columns)
        self.unused: frozenset[int] = frozenset()
        self.titles = tuple(column.title for column in self.columns)
        self._fractions: frozenset[int] = frozenset()
        self._filter = ""
        self._sort: tuple[int, Qt.SortOrder] | None = None

    # -- for subclasses --------------------------------------------------------------------------

    def listed(self, contents: C) -> Ints:
        """Return the positions of the rows before the filter, in their own order."""
        raise NotImplementedError

    def holds(self, contents: C, word: str) -> Bools:
        """Return which of all rows contain a word in lower case."""
        raise NotImplementedError

    def keys(self, contents: C, column: int) -> NDArray[Any]:
        """Return what all rows are sorted by."""
        raise NotImplementedError

    def copied(self, contents: C, items: Ints) -> Copied:
        """Return headings and cells to copy, with plain numbers."""
        raise NotImplementedError

    def sorted_items(self, contents: C, items: Ints, column: int, *, descending: bool) -> Ints:
        """Return rows sorted by a column: stable, and reversed for descending order."""
        by = np.argsort(self.keys(contents, column)[items], kind="stable")
        return items[by[::-1] if descending else by]

    def describe(self, contents: C) -> None:
        """Set what depends on contents besides the rows: titles, unused columns, fractions."""
        columns = list(enumerate(self.columns))
        self.titles = tuple(c.title_of(contents) if c.title_of else c.title for _, c in columns)
        self.unused = frozenset(i for i, c in columns if c.is_unused and c.is_unused(contents))
        self._fractions = frozenset(
            i for i, c in columns if c.fractions and any_fraction_of_ns(c.fractions(contents))
        )

    # -- rows ------------------------------------------------------------------------------------

    def show(self, contents: C | None, *, stays: bool = False) -> None:
        """Show other contents; filter and order stay.

        stays: whether its rows are those of before, so that the selection stays too.
        """
        if not stays or contents is None or self.contents is None:
            self.beginResetModel()
            self.contents = contents
            if contents is not None:
                self.describe(contents)
            self._arrange()
            self.endResetModel()
            return
        self.contents = contents
        self.describe(contents)
        self.arrange_again()
        last = len(self.columns) - 1
        self.headerDataChanged.emit(Qt.Orientation.Horizontal, 0, last)
        self.repaint()

    def clear(self) -> None:
        """Remove all rows; filter and order stay."""
        self.show(None)

    def set_filter(self, text: str) -> None:
        """Show only the rows that contain every word of a text."""
        self.beginResetModel()
        self._filter = text
        self._arrange()
        self.endResetModel()

    @guard
    def sort(self, column: int, order: Qt.SortOrder = Qt.SortOrder.AscendingOrder) -> None:
        self._sort = (column, order) if column >= 0 else None
        self.arrange_again(always=True)

    def arrange_again(self, *, always: bool = False) -> None:
        """Sort the same rows again; the selection stays."""
        before = self.items
        if always:
            self.layoutAboutToBeChanged.emit()
        self._arrange()
        if not always:
            if np.array_equal(before, self.items):
                return
            self.items, now = before, self.items
            self.layoutAboutToBeChanged.emit()
            self.items = now
        indexes = self.persistentIndexList()
        if indexes:
            most = max(int(self.items.max(initial=-1)), int(before.max(initial=-1)))
            place = np.full(most + 1, -1)  # a row that left has no index
            place[self.items] = np.arange(len(self.items))
            now_at = [self.index(int(place[before[i.row()]]), i.column()) for i in indexes]
            self.changePersistentIndexList(indexes, now_at)
        self.layoutChanged.emit()

    def repaint(self, *roles: int) -> None:
        """Paint all rows again: their cells changed, but not their order."""
        if len(self.items):
            last = self.index(len(self.items) - 1, len(self.columns) - 1)
            self.dataChanged.emit(self.index(0, 0), last, list(roles))

    def _arrange(self) -> None:
        contents = self.contents
        if contents is None:
            self.items = _NO_ROWS
            return
        items = self.listed(contents)
        for word in self._filter.lower().split():
            items = items[self.holds(contents, word)[items]]
        if self._sort is not None and self._sort[0] < len(self.columns):
            column, order = self._sort
            descending = order == Qt.SortOrder.DescendingOrder
            items = self.sorted_items(contents, items, column, descending=descending)
        self.items = items

    def item_of(self, row: int) -> int:
        """Return the position in the contents of a row."""
        return int(self.items[row])

    def row_of_item(self, item: int) -> int:
        """Return the row of a position in the contents, -1 if it is not listed."""
        rows = np.flatnonzero(self.items == item)
        return int(rows[0]) if len(rows) else -1

    def rows_of_items(self, items: Ints) -> list[int]:
        """Return the rows of some positions, ascending; without those that are not listed."""
        return np.flatnonzero(np.isin(self.items, items)).tolist()

    def tsv(self, rows: Iterable[int]) -> str:
        """Return rows and headings as tab-separated text with plain numbers."""
        if self.contents is None:
            return ""
        return tsv_text(*self.copied(self.contents, self.items[np.array(list(rows), np.int64)]))

    # -- Qt interface ----------------------------------------------------------------------------

    def has_fractions(self, column: int) -> bool:
        """Whether any time of a column is a fraction of a ns, such as a mean of 385.5 ns."""
        return column in self._fractions

    @guard(0)
    def rowCount(self, parent: Index = QModelIndex()) -> int:  # noqa: B008
        return 0 if parent.isValid() else len(self.items)

    @guard(0)
    def columnCount(self, parent: Index = QModelIndex()) -> int:  # noqa: B008
        return 0 if parent.isValid() else len(self.columns)

    @guard
    def headerData(
        self,
        section: int,
        orientation: Qt.Orientation,
        role: int = Qt.ItemDataRole.DisplayRole,
    ) -> object:
        if orientation != Qt.Orientation.Horizontal or not 0 <= section < len(self.columns):
            return None
        kind = self.columns[section].kind
        if role in (Qt.ItemDataRole.DisplayRole, Qt.ItemDataRole.AccessibleTextRole):
            return visible_line(self.titles[section])
        if role == Qt.ItemDataRole.ToolTipRole:
            return tip(self.columns[section].tip)
        if role == Qt.ItemDataRole.TextAlignmentRole:
            return RIGHT if kind.is_right else LEFT
        if role == Qt.ItemDataRole.InitialSortOrderRole:
            order = Qt.SortOrder
            return order.DescendingOrder if kind.is_number else order.AscendingOrder
        return None


class TableModel(ArrangedModel[C]):
    """The contents of a `PanelTable`.

    colors: the palette index of every operator, for swatches; None: each its own color.
    """

    def __init__(self, table: PanelTable[C], theme: Theme, parent: QObject | None = None) -> None:
        super().__init__(table.columns, parent)
        self.table = table
        self.colors: Palette | None = None
        self._theme = theme
        self._swatches = SwatchPixmaps(theme)

    def color(self, colors: Palette | None) -> None:
        """Paint swatches in other colors."""
        self.colors = colors
        self._swatches.clear()
        self.repaint(Qt.ItemDataRole.DecorationRole)

    def listed(self, contents: C) -> Ints:
        return self.table.rows(contents)

    def holds(self, contents: C, word: str) -> Bools:
        assert self.table.holds is not None
        return self.table.holds(contents, word)

    def keys(self, contents: C, column: int) -> NDArray[Any]:
        keys = self.columns[column].keys
        assert keys is not None
        return keys(contents)

    def copied(self, contents: C, items: Ints) -> Copied:
        if self.table.copied is not None:
            return self.table.copied(contents, items)
        columns = [
            (title, column)
            for i, (title, column) in enumerate(zip(self.titles, self.columns, strict=True))
            if self.table.keeps_columns or i not in self.unused
        ]
        columns += [(column.title, column) for column in self.table.also_copied]
        titles = [f"{title}, ns" if column.is_time else title for title, column in columns]
        texts = [column.plain or column.text for _, column in columns]
        return titles, ([text(contents, i) for text in texts] for i in items.tolist())

    # -- cells -----------------------------------------------------------------------------------

    def text(self, item: int, key: str) -> str:
        """Return the text of a cell, of a position in the contents and a column by its key."""
        assert self.contents is not None
        return self.columns[self.table.place(key)].text(self.contents, item)

    @guard
    def data(self, index: Index, role: int = Qt.ItemDataRole.DisplayRole) -> object:
        contents, row = self.contents, index.row()
        if contents is None or not 0 <= row < len(self.items):
            return None
        item, column = int(self.items[row]), self.columns[index.column()]
        if role == Qt.ItemDataRole.DisplayRole:
            return visible_line(column.text(contents, item))
        if role == Qt.ItemDataRole.ToolTipRole:
            return tip(column.tooltip(contents, item)) if column.tooltip is not None else ""
        if role == Qt.ItemDataRole.TextAlignmentRole:
            return RIGHT if column.kind.is_right else LEFT
        if role == Qt.ItemDataRole.FontRole:
            font = column.font
            return self._theme.font(font(contents, item) if callable(font) else font)
        if role == Qt.ItemDataRole.ForegroundRole:
            tone = column.tone
            return self._theme.color(tone(contents, item) if callable(tone) else tone)
        if role == Qt.ItemDataRole.DecorationRole:
            return self._picture(column, contents, item)
        if role == Qt.ItemDataRole.EditRole and column.edit is not None:
            return column.text(contents, item)
        return None

    def _picture(self, column: PanelColumn[C], contents: C, item: int) -> object:
        if column.icon is not None:
            return self._theme.icon(*column.icon(contents, item))
        if column.swatch is None:
            return None
        colors = column.swatch(contents, item, self.colors)
        if colors is None:
            return None
        return self._swatches.of(tuple(colors)) or self._swatches.blank()

    @guard(Qt.ItemFlag.NoItemFlags)
    def flags(self, index: Index) -> Qt.ItemFlag:
        flags = super().flags(index)
        is_editable = index.isValid() and self.columns[index.column()].edit is not None
        return flags | Qt.ItemFlag.ItemIsEditable if is_editable else flags

    @guard(False)
    def setData(self, index: Index, value: object, role: int = Qt.ItemDataRole.EditRole) -> bool:
        if role != Qt.ItemDataRole.EditRole or not index.isValid() or self.contents is None:
            return False
        edit = self.columns[index.column()].edit
        if edit is not None:
            edit(self.contents, self.item_of(index.row()), str(value))
        return True
