"""Base classes of the panels' tables: looks, alignment, selecting and copying rows, filters."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from typing import Any, Protocol, runtime_checkable

import numpy as np
from numpy.typing import NDArray
from PySide6.QtCore import (
    QAbstractItemModel,
    QItemSelectionModel,
    QModelIndex,
    QPersistentModelIndex,
    QPoint,
    Qt,
    Signal,
    SignalInstance,
    Slot,
)
from PySide6.QtGui import QAction, QKeyEvent, QKeySequence, QPainter, QPaintEvent, QResizeEvent
from PySide6.QtWidgets import (
    QAbstractItemView,
    QGridLayout,
    QHeaderView,
    QLabel,
    QMenu,
    QStyleOptionHeader,
    QTableView,
    QTreeView,
    QWidget,
)

from viewer.gui.qt.clipboard import CopyFormat, copy_text, formatted, row_count
from viewer.gui.qt.crash_report import guard
from viewer.gui.qt.theme.theme import Theme
from viewer.gui.qt.widgets.controls import EscapeField
from viewer.model.times import counted

ROW_HEIGHT = 25
_FILTER_WIDTH = 260

# Qt draws the arrow over the end of a right-aligned title, and does not strip these spaces.
_ROOM = "\u00a0" * 5


class SortHeader(QHeaderView):
    """A horizontal header with clickable titles; a click that sorts shows the first rows."""

    def __init__(self) -> None:
        super().__init__(Qt.Orientation.Horizontal)
        self.setSectionsClickable(True)
        self.setHighlightSections(False)
        self.sectionClicked.connect(self._show_top)  # emitted once the rows are sorted

    @guard
    def initStyleOptionForIndex(self, option: QStyleOptionHeader, section: int) -> None:
        super().initStyleOptionForIndex(option, section)
        sorted_by = option.sortIndicator != QStyleOptionHeader.SortIndicator.None_
        if sorted_by and option.textAlignment & Qt.AlignmentFlag.AlignRight:
            option.text = option.text + _ROOM

    @Slot()
    def _show_top(self) -> None:
        table = self.parent()
        if self.isSortIndicatorShown() and isinstance(table, QAbstractItemView):
            table.scrollToTop()


def fit_columns(
    table: QTableView,
    theme: Theme,
    widths: Mapping[int, int],
    hidden: Collection[int],
    dispensable: Sequence[int],
    wide: int,
) -> None:
    """Show the non-empty columns that fit into the table's width.

    `widths` maps columns to design px. `hidden` columns are empty now. `dispensable` columns are
    hidden in this order until the rest fits. The column `wide` takes the remaining space.
    """
    away = set(hidden)
    width = sum(px for column, px in widths.items() if column not in away)
    for column in dispensable:
        if theme.px(width) > table.viewport().width() and column not in away:
            away.add(column)
            width -= widths[column]
    header, mode = table.horizontalHeader(), QHeaderView.ResizeMode
    for column in widths:
        table.setColumnHidden(column, column in away)
        header.setSectionResizeMode(column, mode.Stretch if column == wide else mode.Interactive)


# Copies rows in a format; leaves the clipboard as it is if there are none.
CopyRows = Callable[[CopyFormat], None]


class CopyAction(QAction):
    """Ctrl+C of a table; `copy` copies its rows in any format."""

    def __init__(self, table: QAbstractItemView, copy: CopyRows) -> None:
        super().__init__("Copy", table)
        self.copy = copy
        self.setShortcut(QKeySequence.StandardKey.Copy)
        self.setShortcutContext(Qt.ShortcutContext.WidgetShortcut)
        self.triggered.connect(lambda: copy(CopyFormat.TEXT))


def let_copy(
    table: QAbstractItemView,
    copy: CopyRows,
    title: str = "Copy rows as TSV",
    *,
    markdown: bool = True,
) -> None:
    """Let Ctrl+C and a context menu with the entry `title` copy rows, also as Markdown."""

    def offer(point: QPoint) -> None:
        menu = QMenu(table)
        menu.addAction(title, lambda: copy(CopyFormat.TEXT))
        if markdown:
            offer_markdown(menu, title, copy)
        pop_up(menu, table, point)

    add_copying(table, copy, offer)


def copy_tsv(source: QWidget, tsv: str, form: CopyFormat = CopyFormat.TEXT) -> None:
    """Copy tab-separated rows with headings in a format, and say how many."""
    name = "TSV" if form is CopyFormat.TEXT else form.value
    copy_text(source, formatted(tsv, form), f"{counted(row_count(tsv), 'row')} as {name}")


def offer_markdown(menu: QMenu, title: str, copy: CopyRows) -> None:
    """Add the entry `title` for Markdown instead of TSV."""
    menu.addAction(title.replace("TSV", "Markdown"), lambda: copy(CopyFormat.MARKDOWN))


def offer_rows(menu: QMenu, selected: int, copy: CopyRows, title: str, copy_all: CopyRows) -> None:
    """Add the entries that copy the selected rows, and with a title all of them.

    selected: how many rows are selected.
    """
    text = "Copy row" if selected < 2 else f"Copy {selected} rows"
    menu.addAction(text, lambda: copy(CopyFormat.TEXT)).setEnabled(selected > 0)
    menu.addAction(title, lambda: copy_all(CopyFormat.TEXT))
    offer_markdown(menu, title, copy_all)


def add_copying(table: QAbstractItemView, copy: CopyRows, offer: Callable[[QPoint], None]) -> None:
    """Let Ctrl+C copy rows; `offer` opens the context menu at a point of the viewport."""
    table.addAction(CopyAction(table, copy))
    table.setContextMenuPolicy(Qt.ContextMenuPolicy.CustomContextMenu)
    table.customContextMenuRequested.connect(offer)


def set_up_sorting(view: QTreeView, theme: Theme) -> None:
    """Let the header of a tree sort its rows; a third click restores their own order."""
    header = view.header()
    header.setStretchLastSection(False)
    header.setMinimumSectionSize(theme.px(40))
    header.setSectionsMovable(False)
    header.setSortIndicatorClearable(True)
    header.setSortIndicator(-1, Qt.SortOrder.DescendingOrder)
    view.setSortingEnabled(True)


def select_row(view: QAbstractItemView, index: QModelIndex) -> None:
    """Select only the row of an index, and make it current."""
    flags = QItemSelectionModel.SelectionFlag
    view.selectionModel().setCurrentIndex(index, flags.ClearAndSelect | flags.Rows)


def paint_faint(view: QAbstractItemView, event: QPaintEvent, opacity: float, theme: Theme) -> None:
    """Fade a view with outdated numbers to `opacity`, by painting the panel color over it."""
    if opacity < 1:
        painter = QPainter(view.viewport())
        painter.setOpacity(1 - opacity)
        painter.fillRect(event.rect(), theme.color("panel"))
        painter.end()


@runtime_checkable
class OffersMenu(Protocol):
    """A view that emits `menu_offered(QMenu)`, after `choose`, so that others add commands."""

    menu_offered: SignalInstance

    def choose(self, index: QModelIndex) -> None:
        """Select a row as a click does."""


def pop_up(menu: QMenu, table: QAbstractItemView, point: QPoint) -> None:
    """Open the context menu `menu` for the row at a point of the viewport.

    `point` is the mouse position, or the middle of the current row if the menu key was pressed. The
    row is selected first, so that commands added on `menu_offered` apply to it.
    """
    menu.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
    row = table.indexAt(point)
    # The menu key reports a point of the table instead of its viewport, off by the header height.
    if point == table.inputMethodQuery(Qt.InputMethodQuery.ImCursorRectangle).center():
        row = table.currentIndex()
        point = table.visualRect(row).center()
    if isinstance(table, OffersMenu):
        if row.isValid():
            table.choose(row)
        table.menu_offered.emit(menu)
    menu.popup(table.viewport().mapToGlobal(point))


def marked_rows(table: QTableView) -> list[int]:
    """The selected rows from top to bottom; uses ranges, since a million rows may be selected."""
    ranges = table.selectionModel().selection().toList()
    rows = [np.arange(part.top(), part.bottom() + 1) for part in ranges]
    return np.unique(np.concatenate(rows)).tolist() if rows else []


def copy_rows(
    table: QTableView,
    tsv: Callable[[Sequence[int]], str],
    most: int,
    rest: str,
    form: CopyFormat = CopyFormat.TEXT,
) -> None:
    """Copy the first `most` selected rows, and a note that ends in `rest` if there are more."""
    rows = marked_rows(table)
    if not rows:
        return
    text = tsv(rows[:most])
    if len(rows) > most:
        text += f"{counted(len(rows) - most, 'more row')}: {rest}\n"
    copy_tsv(table, text, form)


class FilterLine(EscapeField):
    """The filter of a table; Escape clears it, Enter and Down move the focus to the table."""

    def __init__(self, hint: str, name: str, table: QTableView | QuietTree, theme: Theme) -> None:
        super().__init__()
        self._table = table
        self.setPlaceholderText(hint)
        self.setAccessibleName(name)
        self.show_clear_button()
        self.setMaximumWidth(theme.px(_FILTER_WIDTH))

    @property
    def takes_escape(self) -> bool:
        """Whether there is text to clear."""
        return bool(self.text())

    @guard
    def keyPressEvent(self, event: QKeyEvent) -> None:
        if event.key() == Qt.Key.Key_Escape and self.text():
            self.clear()
        elif event.key() in (Qt.Key.Key_Down, Qt.Key.Key_Return, Qt.Key.Key_Enter):
            self._table.setFocus()
            if self._table.model().rowCount() and not self._table.selectionModel().hasSelection():
                self._table.selectRow(0)
        else:
            super().keyPressEvent(event)


class NoRows(QLabel):
    """A message shown in a table when its filter matches no rows."""

    def __init__(self, table: QTableView | QTreeView, line: FilterLine, theme: Theme) -> None:
        super().__init__()
        self._table, self._line = table, line
        self.setTextFormat(Qt.TextFormat.PlainText)
        self.setFont(theme.font("body"))
        self.setProperty("tone", "text2")
        self.setAttribute(Qt.WidgetAttribute.WA_TransparentForMouseEvents)
        table.model().modelReset.connect(self._follow)
        self._follow()

    def over_table(self) -> QGridLayout:
        """A layout that shows the message centered on the table."""
        both = QGridLayout()
        both.addWidget(self._table, 0, 0)
        both.addWidget(self, 0, 0, Qt.AlignmentFlag.AlignCenter)
        self.raise_()
        return both

    @Slot()
    def _follow(self) -> None:
        words = " ".join(self._line.text().split())
        if words and not self._table.model().rowCount():
            self.setText(f"No row matches “{words}”. Escape clears the filter.")
        else:
            self.setText("")
        self.setVisible(bool(self.text()))


class QuietTable(QTableView):
    """A table without grid and row numbers that selects whole rows.

    It ignores letters, which are shortcuts of the window. `name` is the name for screen readers. It
    emits `menu_offered(QMenu)` when a row's context menu is about to open, so that the window can
    add commands.
    """

    menu_offered = Signal(QMenu)

    def __init__(self, name: str) -> None:
        super().__init__()
        self.setAccessibleName(name)
        self.setTabKeyNavigation(False)  # rows are selected as a whole, so Tab leaves the table
        self.setShowGrid(False)
        self.setCornerButtonEnabled(False)
        self.setSelectionBehavior(QAbstractItemView.SelectionBehavior.SelectRows)
        self.setTextElideMode(Qt.TextElideMode.ElideRight)
        self.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        self.setVerticalScrollMode(QAbstractItemView.ScrollMode.ScrollPerPixel)
        self.verticalHeader().hide()
        self.setHorizontalHeader(SortHeader())

    def choose(self, index: QModelIndex) -> None:
        """Select a row as a click does; called for its context menu. Does nothing by default."""

    @guard
    def keyPressEvent(self, event: QKeyEvent) -> None:
        if event.text().strip().isprintable() and event.text().strip():
            event.ignore()
        else:
            super().keyPressEvent(event)


class QuietTree(QTreeView):
    """A tree that looks and behaves alike; + and - expand and collapse a row, * all below it."""

    menu_offered = Signal(QMenu)

    def __init__(self, name: str) -> None:
        super().__init__()
        self.setAccessibleName(name)
        self.setAllColumnsShowFocus(True)
        self.setSelectionBehavior(QAbstractItemView.SelectionBehavior.SelectRows)
        self.setSelectionMode(QAbstractItemView.SelectionMode.ExtendedSelection)
        self.setTextElideMode(Qt.TextElideMode.ElideRight)
        self.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        self.setVerticalScrollMode(QAbstractItemView.ScrollMode.ScrollPerPixel)
        self.setHeader(SortHeader())

    def choose(self, index: QModelIndex) -> None:
        """Select a row as a click does; called for its context menu. Does nothing by default."""

    def selectRow(self, row: int) -> None:
        """Select a top-level row."""
        self.setCurrentIndex(self.model().index(row, 0))

    @guard
    def keyPressEvent(self, event: QKeyEvent) -> None:
        text = event.text().strip()
        if text and text.isprintable() and text not in "+-*":
            event.ignore()
        else:
            super().keyPressEvent(event)


class RowTable(QuietTable):
    """A table with rows of equal height; `chosen(row)` on a click, Enter or an arrow key."""

    chosen = Signal(int)

    def __init__(self, model: QAbstractItemModel, name: str, theme: Theme) -> None:
        super().__init__(name)
        self._theme = theme
        self.setModel(model)
        self.setWordWrap(False)
        self.verticalHeader().setSectionResizeMode(QHeaderView.ResizeMode.Fixed)
        self.verticalHeader().setDefaultSectionSize(theme.px(ROW_HEIGHT))
        self.clicked.connect(self.choose)

    def fit_columns(self) -> None:
        """Show the columns that fit into the width."""
        raise NotImplementedError

    def choose(self, index: QModelIndex) -> None:
        """Emit `chosen` for a row, unless it is part of a multiple selection."""
        if len(marked_rows(self)) <= 1:
            self.chosen.emit(index.row())

    @guard
    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        self.fit_columns()

    @guard
    def keyPressEvent(self, event: QKeyEvent) -> None:
        if event.key() in (Qt.Key.Key_Return, Qt.Key.Key_Enter) and self.currentIndex().isValid():
            self.chosen.emit(self.currentIndex().row())
            return
        previous = self.currentIndex().row()
        super().keyPressEvent(event)
        if self.currentIndex().row() not in (previous, -1):
            self.chosen.emit(self.currentIndex().row())


Index = QModelIndex | QPersistentModelIndex
RIGHT = Qt.AlignmentFlag.AlignRight | Qt.AlignmentFlag.AlignVCenter
LEFT = Qt.AlignmentFlag.AlignLeft | Qt.AlignmentFlag.AlignVCenter


def any_fraction_of_ns(ns: NDArray[Any]) -> bool:
    """Whether any of these times, in ns, is shown in ns with decimals; NaN is none."""
    small = ns[np.abs(ns) < 1000]
    return bool((small % 1 != 0).any())


def tsv_text(header: Iterable[str], rows: Iterable[Iterable[str]]) -> str:
    """Rows as tab-separated text, one line per row; whitespace within cells becomes one space."""
    lines = ["\t".join(header)]
    lines += ["\t".join(" ".join(text.split()) for text in row) for row in rows]
    return "\n".join(lines) + "\n"
