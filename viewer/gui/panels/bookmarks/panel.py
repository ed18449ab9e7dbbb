"""The Bookmarks panel: name, start, length and note of each bookmark; a click jumps to it.

If several clocks are open, a column names the clock of each.

A double click edits a name or note in place, F2 the current bookmark's name. Delete removes the
current bookmark.
"""

from __future__ import annotations

from collections.abc import Collection

from PySide6.QtCore import Slot
from PySide6.QtWidgets import QAbstractItemView, QWidget

from viewer.gui.panels.base.page_panel import PagePanel
from viewer.gui.panels.bookmarks.table import COLUMNS, BookmarkColumn, BookmarksModel
from viewer.gui.qt.clipboard import CopyFormat
from viewer.gui.qt.theme.theme import Theme
from viewer.gui.qt.widgets.column_table import ColumnTable
from viewer.gui.qt.widgets.tables import copy_tsv, let_copy, marked_rows
from viewer.gui.session import bookmarks as marking
from viewer.gui.session.session import Session

NOTHING = "No bookmarks. Press {} to measure the selection, {} to add a bookmark."
NO_TIME = "Open a profile to bookmark moments and spans, with names and notes."
_LEAST_NOTE = 160  # px


class BookmarksPanel(PagePanel):
    """All bookmarks of the session, by clock and start."""

    def __init__(self, session: Session, theme: Theme, parent: QWidget | None = None) -> None:
        super().__init__(session, theme, parent)
        self.model = BookmarksModel(session, theme, self)
        self.table = BookmarksView(self.model, theme)
        let_copy(self.table, self.copy)
        self._teaches = NO_TIME
        self.set_page(self.table)
        self.table.chosen.connect(self._go)
        self.table.doubleClicked.connect(lambda index: self._fit(index.row()))
        self.refresh_on(session.bookmarks_changed, session.workspace_changed)
        self.refresh()

    def set_shortcut_hints(self, measure: str, keep: str) -> None:
        """Set the shortcuts that the empty panel mentions: measure, and add a bookmark."""
        self._teaches = NOTHING.format(measure, keep)
        self.refresh()

    @Slot()
    def refresh(self) -> None:
        """Show the session's bookmarks, and highlight the current one."""
        self.model.refresh()
        if self.model.rows:
            self.show_page()
        else:
            self.show_sentence(self._teaches if self._session.traces else NO_TIME)
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
        if COLUMNS[self.table.currentIndex().column()] in (
            BookmarkColumn.START,
            BookmarkColumn.LENGTH,
        ):
            marking.fit(self._session, self.model.number(row))

    def rename(self, number: int) -> None:
        """Edit the name of a bookmark, given by its number."""
        row = self.model.row_of(number)
        if row >= 0:
            index = self.model.index(row, COLUMNS.index(BookmarkColumn.NAME))
            self.table.setCurrentIndex(index)
            self.table.setFocus()
            self.table.edit(index)

    def copy(self, form: CopyFormat = CopyFormat.TEXT) -> None:
        """Copy the selected row."""
        rows = marked_rows(self.table)
        if rows:
            copy_tsv(self, self.model.tsv(rows), form)


class BookmarksView(ColumnTable[BookmarkColumn]):
    """The table. Cells are edited by F2 or a double click; Delete is the key of a command."""

    def __init__(self, model: BookmarksModel, theme: Theme) -> None:
        super().__init__(model, "Bookmarks", theme, COLUMNS, _LEAST_NOTE)
        self._marks = model
        self.setEditTriggers(QAbstractItemView.EditTrigger.DoubleClicked)
        self.setSelectionMode(QAbstractItemView.SelectionMode.SingleSelection)

    def hidden(self) -> Collection[BookmarkColumn]:
        return () if self._marks.has_clocks else (BookmarkColumn.CLOCK,)
