"""What tables of the panels have in common: quiet looks, rows to choose and to copy, a filter."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from typing import Protocol, runtime_checkable

import numpy as np
from PySide6.QtCore import (
    QAbstractItemModel,
    QItemSelectionModel,
    QModelIndex,
    QPoint,
    Qt,
    Signal,
    SignalInstance,
    Slot,
)
from PySide6.QtGui import (
    QAction,
    QGuiApplication,
    QKeyEvent,
    QKeySequence,
    QPainter,
    QPaintEvent,
    QResizeEvent,
)
from PySide6.QtWidgets import (
    QAbstractItemView,
    QGridLayout,
    QHeaderView,
    QLabel,
    QMenu,
    QTableView,
    QTreeView,
)

from viewer.gui.qt.crash_report import guard
from viewer.gui.qt.theme.theme import Theme
from viewer.gui.qt.widgets.escape_field import EscapeField
from viewer.model.times import counted

ROW_HEIGHT = 25
_FILTER_WIDTH = 260


def fit_columns(
    table: QTableView,
    theme: Theme,
    widths: Mapping[int, int],
    hidden: Collection[int],
    dispensable: Sequence[int],
    wide: int,
) -> None:
    """Show the columns in which there is anything, and of them what there is room for.

    widths: column -> px of the design. hidden: columns that are empty now. dispensable: what
    goes where there is no room, first things first. wide: the column that takes what is left.
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


def let_copy(
    table: QAbstractItemView, copy: Callable[[], None], title: str = "Copy rows as TSV"
) -> None:
    """Ctrl+C and a menu with one entry, `title`, that copy rows."""

    def offer(at: QPoint) -> None:
        menu = QMenu(table)
        menu.addAction(title, copy)
        pop_up(menu, table, at)

    add_copying(table, copy, offer)


def add_copying(
    table: QAbstractItemView, copy: Callable[[], None], offer: Callable[[QPoint], None]
) -> None:
    """Let Ctrl+C copy rows; `offer` opens the menu of the row at a point of the viewport."""
    action = QAction("Copy", table)
    action.setShortcut(QKeySequence.StandardKey.Copy)
    action.setShortcutContext(Qt.ShortcutContext.WidgetShortcut)
    action.triggered.connect(copy)
    table.addAction(action)
    table.setContextMenuPolicy(Qt.ContextMenuPolicy.CustomContextMenu)
    table.customContextMenuRequested.connect(offer)


def select_row(view: QAbstractItemView, index: QModelIndex) -> None:
    """Mark the row of an index alone, and make it the current one."""
    flags = QItemSelectionModel.SelectionFlag
    view.selectionModel().setCurrentIndex(index, flags.ClearAndSelect | flags.Rows)


def paint_faint(view: QAbstractItemView, event: QPaintEvent, opacity: float, theme: Theme) -> None:
    """Paint over a view whose figures are out of date, so that they look as faint as `opacity`."""
    if opacity < 1:
        painter = QPainter(view.viewport())
        painter.setOpacity(1 - opacity)
        painter.fillRect(event.rect(), theme.color("panel"))
        painter.end()


@runtime_checkable
class OffersMenu(Protocol):
    """A view whose menu of a row is added to by others: `menu_offered(QMenu)` asks them, after
    `choose` has chosen the row."""

    menu_offered: SignalInstance

    def choose(self, index: QModelIndex) -> None:
        """Choose what a row is about, as a click does."""


def pop_up(menu: QMenu, table: QAbstractItemView, at: QPoint) -> None:
    """Open the menu of the row at a point of the viewport: the mouse, or the middle of the current
    row where a key asked. The row is chosen first, so that what `menu_offered` adds is about it."""
    menu.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
    row = table.indexAt(at)
    # A key asks at a point of the table, not of its viewport: a header lower.
    if at == table.inputMethodQuery(Qt.InputMethodQuery.ImCursorRectangle).center():
        row = table.currentIndex()
        at = table.visualRect(row).center()
    if isinstance(table, OffersMenu):
        if row.isValid():
            table.choose(row)
        table.menu_offered.emit(menu)
    menu.popup(table.viewport().mapToGlobal(at))


def marked_rows(table: QTableView) -> list[int]:
    """The marked rows from top to bottom. Asked of ranges, since a million rows may be marked."""
    ranges = table.selectionModel().selection().toList()
    rows = [np.arange(part.top(), part.bottom() + 1) for part in ranges]
    return np.unique(np.concatenate(rows)).tolist() if rows else []


def copy_rows(table: QTableView, tsv: Callable[[Sequence[int]], str], most: int, rest: str) -> None:
    """Put the marked rows on the clipboard; of very many the first, and how many are not.

    rest: what is to be known of those: "Export writes all of them".
    """
    rows = marked_rows(table)
    if not rows:
        return
    text = tsv(rows[:most])
    if len(rows) > most:
        text += f"{counted(len(rows) - most, 'more row')}: {rest}\n"
    QGuiApplication.clipboard().setText(text)


class FilterLine(EscapeField):
    """Where the filter of a table is typed. Escape empties it, Enter and Down go to the table.

    hint: what can be typed. name: what a screen reader calls it.
    """

    def __init__(self, hint: str, name: str, table: QTableView | QuietTree, theme: Theme) -> None:
        super().__init__()
        self._table = table
        self.setPlaceholderText(hint)
        self.setAccessibleName(name)
        self.show_clear_button()
        self.setMaximumWidth(theme.px(_FILTER_WIDTH))

    @property
    def takes_escape(self) -> bool:
        """Whether there is anything to empty."""
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
    """What is in a table in place of rows where its filter leaves none."""

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
        """The table with this in its middle."""
        both = QGridLayout()
        both.addWidget(self._table, 0, 0)
        both.addWidget(self, 0, 0, Qt.AlignmentFlag.AlignCenter)
        self.raise_()
        return both

    @Slot()
    def _follow(self) -> None:
        words = " ".join(self._line.text().split())
        if words and not self._table.model().rowCount():
            self.setText(f"No row has “{words}” in it. Escape clears the filter.")
        else:
            self.setText("")
        self.setVisible(bool(self.text()))


class QuietTable(QTableView):
    """Whole rows, no grid, no row numbers; letters are left to the window, where all are commands.

    name: what a screen reader calls the table. `menu_offered(QMenu)`: the menu of a row is about to
    open, for the window to add commands to it.
    """

    menu_offered = Signal(QMenu)

    def __init__(self, name: str) -> None:
        super().__init__()
        self.setAccessibleName(name)
        self.setTabKeyNavigation(False)  # whole rows: Tab goes on to the next control
        self.setShowGrid(False)
        self.setCornerButtonEnabled(False)
        self.setSelectionBehavior(QAbstractItemView.SelectionBehavior.SelectRows)
        self.setTextElideMode(Qt.TextElideMode.ElideRight)
        self.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        self.setVerticalScrollMode(QAbstractItemView.ScrollMode.ScrollPerPixel)
        self.verticalHeader().hide()
        self.horizontalHeader().setHighlightSections(False)

    def choose(self, index: QModelIndex) -> None:
        """What a click on a row does, done for its menu; nothing in a table that is only read."""

    @guard
    def keyPressEvent(self, event: QKeyEvent) -> None:
        if event.text().strip().isprintable() and event.text().strip():
            event.ignore()
        else:
            super().keyPressEvent(event)


class QuietTree(QTreeView):
    """The same for rows below rows. + and - open and close a row, * all that is in it.

    name: what a screen reader calls the tree. `menu_offered(QMenu)` as tables have it.
    """

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
        self.header().setHighlightSections(False)

    def choose(self, index: QModelIndex) -> None:
        """What a click on a row does, done for its menu."""

    def selectRow(self, row: int) -> None:
        """Mark one of the outermost rows."""
        self.setCurrentIndex(self.model().index(row, 0))

    @guard
    def keyPressEvent(self, event: QKeyEvent) -> None:
        text = event.text().strip()
        if text and text.isprintable() and text not in "+-*":
            event.ignore()
        else:
            super().keyPressEvent(event)


class RowTable(QuietTable):
    """A quiet table of rows of one height; `chosen(row)` on a click, Enter or an arrow key.

    Columns come and go with the room; a subclass says in `fit_columns` which of them.
    """

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
        """Show what there is room for."""
        raise NotImplementedError

    def choose(self, index: QModelIndex) -> None:
        """Tell that a row was chosen, unless it is one of several that are marked."""
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
        before = self.currentIndex().row()
        super().keyPressEvent(event)
        if self.currentIndex().row() not in (before, -1):
            self.chosen.emit(self.currentIndex().row())
