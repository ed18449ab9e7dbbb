"""The marks panel: name, start, length and note of every mark; a click goes there.

Names and notes are edited in place by F2 or Enter on a cell; Delete takes the mark of the row away.
"""

from __future__ import annotations

from PySide6.QtCore import Slot
from PySide6.QtGui import QGuiApplication
from PySide6.QtWidgets import QAbstractItemView, QStackedWidget, QVBoxLayout, QWidget

from viewer.gui.panels.bookmarks.table import CELLS, BookmarkColumn, BookmarksModel
from viewer.gui.qt.theme.theme import Theme
from viewer.gui.qt.widgets.labels import EmptyPlace
from viewer.gui.qt.widgets.tables import RowTable, fit_columns, let_copy, marked_rows
from viewer.gui.session import bookmarks as marking
from viewer.gui.session.session import Session

NOTHING = (
    "No marks. {} measures what is selected, or from the mouse on; {} keeps it here, with a "
    "name and a note."
)
NO_TIME = "Open a profile of a run to mark moments and spans of it, with names and notes."
_LEAST_NOTE = 160  # px


class BookmarksPanel(QWidget):
    """All marks of the session, by their start."""

    def __init__(self, session: Session, theme: Theme, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._session = session
        self.model = BookmarksModel(session, theme, self)
        self.table = BookmarksView(self.model, session, theme)
        let_copy(self.table, self.copy)
        self._stack = QStackedWidget()
        self._stack.addWidget(self.table)
        self._teaches = NO_TIME
        self.empty = EmptyPlace(NO_TIME, theme)
        self._stack.addWidget(self.empty)
        column = QVBoxLayout(self)
        column.setContentsMargins(0, 0, 0, 0)
        column.addWidget(self._stack)
        self.table.chosen.connect(self._go)
        self.table.doubleClicked.connect(lambda index: self._fit(index.row()))
        session.bookmarks_changed.connect(self.refresh)
        session.workspace_changed.connect(self.refresh)
        theme.changed.connect(self.refresh)
        self.refresh()

    @property
    def is_empty(self) -> bool:
        """Whether a sentence stands in place of the table."""
        return self._stack.currentIndex() == 1

    def set_shortcut_hints(self, measure: str, keep: str) -> None:
        """Say by what one measures, and keeps a mark, now."""
        self._teaches = NOTHING.format(measure, keep)
        self.refresh()

    @Slot()
    def refresh(self) -> None:
        """Follow the marks, and the current one."""
        self.model.refresh()
        self._stack.setCurrentIndex(0 if self.model.rows else 1)
        self.empty.sentence.setText(self._teaches if self._session.traces else NO_TIME)
        self.table.fit_columns()
        row = self.model.row_of(self._session.state.mark)
        if row < 0:
            self.table.clearSelection()
        elif row not in marked_rows(self.table):
            self.table.selectRow(row)

    @Slot(int)
    def _go(self, row: int) -> None:
        if 0 <= row < len(self.model.rows):
            marking.go_to(self._session, self.model.number(row))

    def _fit(self, row: int) -> None:
        if CELLS[self.table.currentIndex().column()] in (
            BookmarkColumn.START,
            BookmarkColumn.LENGTH,
        ):
            marking.fit(self._session, self.model.number(row))

    def rename(self, number: int) -> None:
        """Let the name of a mark be typed."""
        row = self.model.row_of(number)
        if row >= 0:
            index = self.model.index(row, CELLS.index(BookmarkColumn.NAME))
            self.table.setCurrentIndex(index)
            self.table.setFocus()
            self.table.edit(index)

    @Slot()
    def copy(self) -> None:
        """Put the marked rows on the clipboard."""
        rows = marked_rows(self.table)
        if rows:
            QGuiApplication.clipboard().setText(self.model.tsv(rows))


class BookmarksView(RowTable):
    """The table. Its cells are edited by F2 and by a double click; Delete is a command's key."""

    def __init__(self, model: BookmarksModel, session: Session, theme: Theme) -> None:
        super().__init__(model, "Marks", theme)
        self._session = session
        trigger = QAbstractItemView.EditTrigger
        self.setEditTriggers(trigger.DoubleClicked)
        self.setSelectionMode(QAbstractItemView.SelectionMode.SingleSelection)
        for i, cell in enumerate(CELLS):
            if cell.width:
                self.horizontalHeader().resizeSection(i, theme.px(cell.width))

    def fit_columns(self) -> None:
        """Show all; the note takes what is left."""
        fit_columns(
            self, self._theme, {i: cell.width or _LEAST_NOTE for i, cell in enumerate(CELLS)},
            (), (), CELLS.index(BookmarkColumn.NOTE),
        )  # fmt: skip
