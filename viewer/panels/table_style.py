"""What plain tables of the panels have in common: quiet looks, and rows that can be copied."""

from __future__ import annotations

from collections.abc import Callable

from PySide6.QtCore import QPoint, Qt
from PySide6.QtGui import QAction, QKeySequence
from PySide6.QtWidgets import QAbstractItemView, QMenu, QTableView

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
