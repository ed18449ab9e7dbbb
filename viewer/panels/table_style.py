"""What plain tables of the panels have in common: quiet looks, rows to choose and to copy."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence

from PySide6.QtCore import QAbstractItemModel, QModelIndex, QPoint, Qt, Signal
from PySide6.QtGui import QAction, QKeyEvent, QKeySequence, QResizeEvent
from PySide6.QtWidgets import QAbstractItemView, QHeaderView, QMenu, QTableView

from viewer.crash_report import guard
from viewer.theme import Theme

ROW_HEIGHT = 25


def quieten(table: QTableView, name: str) -> None:
    """Whole rows, no grid, no row numbers; `name` is what a screen reader calls the table."""
    table.setAccessibleName(name)
    table.setShowGrid(False)
    table.setCornerButtonEnabled(False)
    table.setSelectionBehavior(QAbstractItemView.SelectionBehavior.SelectRows)
    table.setTextElideMode(Qt.TextElideMode.ElideRight)
    table.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
    table.setVerticalScrollMode(QAbstractItemView.ScrollMode.ScrollPerPixel)
    table.verticalHeader().hide()
    table.horizontalHeader().setHighlightSections(False)


def fit_columns(
    table: QTableView,
    theme: Theme,
    widths: Mapping[int, int],
    hidden: Collection[int],
    dispensable: Sequence[int],
    wide: int,
) -> None:
    """Show the columns that tell something, and of them what there is room for.

    widths: column -> px of the design. hidden: columns that tell nothing now. dispensable: what
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


def let_copy(table: QTableView, copy: Callable[[], None]) -> None:
    """Ctrl+C and a menu that copy rows."""
    action = QAction("Copy", table)
    action.setShortcut(QKeySequence.StandardKey.Copy)
    action.setShortcutContext(Qt.ShortcutContext.WidgetShortcut)
    action.triggered.connect(copy)
    table.addAction(action)

    def offer(at: QPoint) -> None:
        menu = QMenu(table)
        menu.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        menu.addAction("Copy rows as TSV", copy)
        menu.popup(table.viewport().mapToGlobal(at))

    table.setContextMenuPolicy(Qt.ContextMenuPolicy.CustomContextMenu)
    table.customContextMenuRequested.connect(offer)


def marked_rows(table: QTableView) -> list[int]:
    """The marked rows from top to bottom. Asked of ranges, since a million rows may be marked."""
    ranges = table.selectionModel().selection().toList()
    return sorted({row for part in ranges for row in range(part.top(), part.bottom() + 1)})


class RowTable(QTableView):
    """A quiet table of rows of one height; `chosen(row)` on a click, Enter or an arrow key.

    Columns come and go with the room; a subclass says in `fit_columns` which of them.
    """

    chosen = Signal(int)

    def __init__(self, model: QAbstractItemModel, name: str, theme: Theme) -> None:
        super().__init__()
        self._theme = theme
        self.setModel(model)
        quieten(self, name)
        self.setWordWrap(False)
        self.verticalHeader().setSectionResizeMode(QHeaderView.ResizeMode.Fixed)
        self.verticalHeader().setDefaultSectionSize(theme.px(ROW_HEIGHT))
        self.clicked.connect(self._click)

    def fit_columns(self) -> None:
        """Show what there is room for."""
        raise NotImplementedError

    def _click(self, index: QModelIndex) -> None:
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
