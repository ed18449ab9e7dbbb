"""The one table of all panels: what it is as data, its model, and its widget.

A `PanelTable` is the columns of a table. All functions take the contents of the table, which only
the panel knows, and the position of a row in them. `ArrangedModel` keeps the order of these rows,
`TableModel` their cells; texts are created when they are painted, so contents can have a million
rows. `ArrangedView` fits columns into the width and copies; `TableView` is that of a `PanelTable`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from enum import Enum
from typing import Any, Generic, TypeVar

import numpy as np
from numpy.typing import NDArray
from PySide6.QtCore import QAbstractTableModel, QModelIndex, QObject, QPoint, Qt, Slot
from PySide6.QtGui import QPainter, QPaintEvent, QPalette
from PySide6.QtWidgets import (
    QApplication,
    QHeaderView,
    QMenu,
    QStyle,
    QStyledItemDelegate,
    QStyleOptionViewItem,
)

from viewer.arrays import Bools, Ints
from viewer.dataclasses import dataclass
from viewer.gui.panels.base.cost_painting import SwatchPixmaps
from viewer.gui.qt.clipboard import CopyFormat
from viewer.gui.qt.crash_report import guard
from viewer.gui.qt.theme.theme import FontRole, Theme
from viewer.gui.qt.widgets.cells import paint_time
from viewer.gui.qt.widgets.labels import measurable, tip
from viewer.gui.qt.widgets.tables import (
    LEFT,
    RIGHT,
    Index,
    RowTable,
    add_copying,
    any_fraction_of_ns,
    copy_rows,
    copy_tsv,
    fit_columns,
    let_copy,
    marked_rows,
    offer_rows,
    paint_faint,
    pop_up,
    tsv_text,
)
from viewer.model.text import visible_line
from viewer.render.palette import Palette
from viewer.tables.columns import ColumnSpec

C = TypeVar("C")
# The position of a row and the palette of operators -> the palette indices of a swatch.
Swatch = Callable[[C, int, Palette | None], Sequence[int] | None]


class ColumnKind(Enum):
    """How a column is painted."""

    NAME = "name"
    BAR = "bar"  # a time, and a bar next to it
    SHARE = "share"  # a percentage, and a bar behind it
    TIME = "time"
    NUMBER = "number"
    TEXT = "text"
    CODE = "code"
    CHANGE = "change"  # a time with a sign, and a bar from a zero line next to it
    DOTS = "dots"  # the sessions of two arms

    @property
    def is_time(self) -> bool:
        """Whether its cells are times, each with its unit, and their sort keys ns."""
        return self in (ColumnKind.BAR, ColumnKind.TIME, ColumnKind.CHANGE)

    @property
    def is_right(self) -> bool:
        """Whether its title and cells are right-aligned."""
        return self in (ColumnKind.NUMBER, ColumnKind.TIME, ColumnKind.SHARE, ColumnKind.CHANGE)

    @property
    def is_number(self) -> bool:
        """Whether the first click on its title sorts descending."""
        return self.is_right or self is ColumnKind.BAR


@dataclass(frozen=True)
class PanelColumn(Generic[C]):
    """A column of a panel.

    Attributes:
        title: its title; `title_of` returns another one for some contents.
        width: its width in design px; 0 takes the remaining space.
        key: its name, "" for the title.
        plain: the text of a cell in a copy, None for the same.
        keys: what the rows are sorted by, None if the texts of the cells are.
        fractions: times in ns, to see whether any is a fraction of one.
        tooltip: the tooltip of a cell, None for none.
        tone: the color of a cell's text, as a token name of the theme.
        font: the font role of a cell.
        swatch: the colors of the swatch of a cell; () for its room alone, None for no room.
        icon: the name and the color token of the icon of a cell.
        edit: stores what the user wrote into a cell; None if cells are not editable.
        leaves: when it is hidden for want of space, 1 first; 0 if it stays.
        is_unused: whether it is hidden, because it has nothing to show.
        extra_width: by how much it is wider with some contents, in design px.
        fills: whether it takes the remaining space if the column without a width is hidden.
        elides_middle: whether long texts keep their end.
    """

    title: str
    kind: ColumnKind = ColumnKind.TEXT
    width: int = 0
    tip: str = ""
    key: str = ""
    text: Callable[[C, int], str] = lambda contents, row: ""
    plain: Callable[[C, int], str] | None = None
    keys: Callable[[C], NDArray[Any]] | None = None
    fractions: Callable[[C], NDArray[Any]] | None = None
    tooltip: Callable[[C, int], str] | None = None
    tone: str | Callable[[C, int], str] = "text2"
    font: FontRole | Callable[[C, int], FontRole] = "cell"
    swatch: Swatch[C] | None = None
    icon: Callable[[C, int], tuple[str, str]] | None = None
    edit: Callable[[C, int, str], None] | None = None
    title_of: Callable[[C], str] | None = None
    leaves: int = 0
    is_unused: Callable[[C], bool] | None = None
    extra_width: Callable[[C], int] | None = None
    fills: bool = False
    elides_middle: bool = False

    @property
    def is_time(self) -> bool:
        """Whether its cells are times."""
        return self.kind.is_time

    def room(self, contents: C | None) -> int:
        """Return its width in design px for some contents."""
        more = 0 if contents is None or self.extra_width is None else self.extra_width(contents)
        return self.width + more


# A column of which each row has the text and the sort key itself.
Heading = PanelColumn[Any]


def column_of(
    spec: ColumnSpec, width: int, more: str = "", kind: ColumnKind | None = None, **rest: Any
) -> PanelColumn[Any]:
    """Return the column of a panel that other faces have too.

    Its title, tooltip, kind and key are those of `spec`. more: what is special about it here.
    """
    if kind is None:
        kind = ColumnKind.TEXT if spec.is_text else ColumnKind.NUMBER
        kind = ColumnKind.TIME if spec.unit == "ns" else kind
    tip = f"{spec.meaning}." if spec.term is None else spec.term.explained(more)
    return PanelColumn(**{"title": spec.title, "tip": tip, "key": spec.name} | rest,
                       kind=kind, width=width)  # fmt: skip


# Headings of a copy, and its cells line by line.
Copied = tuple[Sequence[str], Iterable[Iterable[str]]]


class CopyScope(Enum):
    """Which rows a table copies."""

    SELECTED = "selected"
    ALL_IF_NONE = "all rows if none is selected"
    TABLE = "the same, with the whole table in its menu"


@dataclass(frozen=True)
class PanelTable(Generic[C]):
    """A table of a panel.

    Attributes:
        name: its name for screen readers.
        least: the least width in px of the column that takes the remaining space.
        rows: the positions of the listed rows, in their own order.
        holds: which of all rows contain a word in lower case; None without a filter.
        copied: a copy of rows, if it is not that of the columns.
        also_copied: columns that only copies have, after the others.
        most_copied: how many rows are copied at once, 0 for all; `rest` says what has all of them.
        sortable: whether clicks on titles sort, and a third click restores the own order.
        keeps_columns: whether copies have unused columns too.
    """

    name: str
    columns: tuple[PanelColumn[C], ...]
    least: int
    rows: Callable[[C], Ints]
    holds: Callable[[C, str], Bools] | None = None
    copied: Callable[[C, Ints], Copied] | None = None
    also_copied: tuple[PanelColumn[C], ...] = ()
    most_copied: int = 0
    rest: str = ""
    sortable: bool = True
    keeps_columns: bool = True
    copies: CopyScope = CopyScope.SELECTED

    def place(self, key: str) -> int:
        """Return the position of a column, given by its key or title."""
        return next(i for i, c in enumerate(self.columns) if key in (c.key, c.title))


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
        """Show other contents; filter and order stay. stays: whether the selection stays too."""
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
        if indexes := self.persistentIndexList():
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
        self, section: int, orientation: Qt.Orientation, role: int = Qt.ItemDataRole.DisplayRole
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
    """The contents of a `PanelTable`. colors: palette index per operator; None: each its own."""

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
        return None if colors is None else self._swatches.of(tuple(colors))

    @guard(Qt.ItemFlag.NoItemFlags)
    def flags(self, index: Index) -> Qt.ItemFlag:
        flags = super().flags(index)
        is_editable = index.isValid() and self.columns[index.column()].edit is not None
        return flags | Qt.ItemFlag.ItemIsEditable if is_editable else flags

    @guard(False)
    def setData(self, index: Index, value: object, role: int = Qt.ItemDataRole.EditRole) -> bool:
        if role != Qt.ItemDataRole.EditRole or not index.isValid() or self.contents is None:
            return False
        if (edit := self.columns[index.column()].edit) is not None:
            edit(self.contents, self.item_of(index.row()), str(value))
        return True


class ArrangedView(RowTable):
    """A table that sorts by clicks on its titles and is painted fainter while it is stale."""

    def __init__(self, model: ArrangedModel[Any], name: str, theme: Theme, least: int) -> None:
        """least: the least width in px of the column that takes the remaining space."""
        super().__init__(model, name, theme)
        self.arranged = model
        self.opacity = 1.0
        self._least = least
        self._sized: list[int] = []
        self._sections = 0  # of the header, when their widths were set
        self._size_columns()
        model.modelReset.connect(self.fit_columns)
        model.headerDataChanged.connect(self.fit_columns)

    def take_header(self, header: QHeaderView) -> None:
        """Replace the header, which must know the columns before they get their widths."""
        model = self.arranged
        self.setHorizontalHeader(header)
        model.modelReset.disconnect(self.fit_columns)
        model.modelReset.connect(self.fit_columns)

    def let_sort(self) -> None:
        """Let clicks on titles sort; a third click restores the own order of the rows."""
        header = self.horizontalHeader()
        header.setSortIndicatorClearable(True)
        header.setSortIndicator(-1, Qt.SortOrder.DescendingOrder)
        self.setSortingEnabled(True)

    def leaving(self) -> list[int]:
        """Return the columns that are hidden for want of space, in this order."""
        raise NotImplementedError

    def least_width(self) -> int:
        """Return the least width of the column that takes the remaining space, in px at 100 %."""
        return self._least

    def _size_columns(self) -> None:
        model, header = self.arranged, self.horizontalHeader()
        widths = [column.room(model.contents) for column in model.columns]
        if (widths, header.count()) != (self._sized, self._sections):
            # The header can follow its model later; what it adds has the width of any section.
            self._sized, self._sections = widths, header.count()
            for i, width in enumerate(widths):
                if width:
                    header.resizeSection(i, self._theme.px(width))

    @Slot()
    def fit_columns(self) -> None:
        """Show the columns that have something to show and fit into the width."""
        columns, unused = self.arranged.columns, self.arranged.unused
        self._size_columns()
        wide = next(
            (i for i, c in enumerate(columns) if not c.width and i not in unused),
            next((i for i, c in enumerate(columns) if c.fills), 0),
        )
        widths = {i: width or self.least_width() for i, width in enumerate(self._sized)}
        fit_columns(self, self._theme, widths, unused, self.leaving(), wide)

    def copy(self, form: CopyFormat = CopyFormat.TEXT) -> None:
        """Copy the selected rows, or all rows if none is selected."""
        self._put(marked_rows(self) or range(self.arranged.rowCount()), form)

    def copy_all(self, form: CopyFormat = CopyFormat.TEXT) -> None:
        """Copy the whole table, in the order shown."""
        self._put(range(self.arranged.rowCount()), form)

    def _put(self, rows: Sequence[int], form: CopyFormat) -> None:
        copy_tsv(self, self.arranged.tsv(rows), form)

    def offer_copies(self) -> None:
        """Let a menu copy the selected rows or the whole table."""
        add_copying(self, self.copy, self._menu)

    @Slot(QPoint)
    def _menu(self, point: QPoint) -> None:
        menu = QMenu(self)
        offer_rows(menu, len(marked_rows(self)), self.copy, "Copy table as TSV", self.copy_all)
        pop_up(menu, self, point)

    @guard
    def paintEvent(self, event: QPaintEvent) -> None:
        super().paintEvent(event)
        paint_faint(self, event, self.opacity, self._theme)


class CellDelegate(QStyledItemDelegate):
    """Paints times with `paint_time`, other cells as usual."""

    def __init__(self, model: ArrangedModel[Any], theme: Theme) -> None:
        super().__init__(model)
        self._model = model
        self._theme = theme

    @guard
    def initStyleOption(self, option: QStyleOptionViewItem, index: Index) -> None:
        super().initStyleOption(option, index)
        option.text = measurable(option.text)
        if self._model.columns[index.column()].elides_middle:
            option.textElideMode = Qt.TextElideMode.ElideMiddle

    @guard
    def paint(self, painter: QPainter, option: QStyleOptionViewItem, index: Index) -> None:
        if not self._model.columns[index.column()].is_time:
            super().paint(painter, option, index)
            return
        self.initStyleOption(option, index)
        text, widget = option.text, option.widget
        style = widget.style() if widget is not None else QApplication.style()
        room = style.subElementRect(QStyle.SubElement.SE_ItemViewItemText, option, widget)
        margin = style.pixelMetric(QStyle.PixelMetric.PM_FocusFrameHMargin, option, widget) + 1
        option.text = ""
        style.drawControl(QStyle.ControlElement.CE_ItemViewItem, option, painter, widget)
        painter.save()
        painter.setFont(option.font)
        selected = bool(option.state & QStyle.StateFlag.State_Selected)
        ink = option.palette.color(QPalette.ColorRole.Text)
        painter.setPen(self._theme.color("text1") if selected else ink)
        fractions = self._model.has_fractions(index.column())
        paint_time(painter, room.adjusted(margin, 0, -margin, 0), text, fractions=fractions)
        painter.restore()


class TableView(ArrangedView):
    """The widget of a `PanelTable`."""

    def __init__(self, model: TableModel[Any], theme: Theme) -> None:
        table = model.table
        super().__init__(model, table.name, theme, table.least)
        self._table_model = model
        self.setItemDelegate(CellDelegate(model, theme))
        if table.sortable:
            self.let_sort()
        if table.copies is CopyScope.TABLE:
            self.offer_copies()
        else:
            let_copy(self, self.copy)

    def leaving(self) -> list[int]:
        columns = self.arranged.columns
        return [i for _, i in sorted((c.leaves, i) for i, c in enumerate(columns) if c.leaves)]

    def copy(self, form: CopyFormat = CopyFormat.TEXT) -> None:
        """Copy the selected rows, or the first of very many and a note about the rest."""
        table, model = self._table_model.table, self._table_model
        if table.copies is CopyScope.SELECTED:
            copy_rows(self, model.tsv, table.most_copied or model.rowCount(), table.rest, form)
        else:
            super().copy(form)
