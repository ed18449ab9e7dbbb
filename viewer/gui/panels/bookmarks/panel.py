"""The Bookmarks panel: name, start, length and note of each bookmark; a click jumps to it.

If several clocks are open, a column names the clock of each.

A double click edits a name or note in place, F2 the current bookmark's name. Delete removes the
current bookmark.
"""

from __future__ import annotations

from PySide6.QtCore import Slot
from PySide6.QtWidgets import QAbstractItemView, QWidget

from viewer.gui.panels.base.page_panel import PagePanel
from viewer.gui.panels.base.tables.model import TableModel
from viewer.gui.panels.base.tables.view import TableView
from viewer.gui.panels.bookmarks.table import BOOKMARKS, rows_of
from viewer.gui.qt.theme.theme import Theme
from viewer.gui.qt.widgets.tables import marked_rows
from viewer.gui.session import bookmarks as marking
from viewer.gui.session.session import Session

NOTHING = "No bookmarks. Press {} to measure the selection, {} to add a bookmark."
NO_TIME = "Open a profile to bookmark moments and spans, with names and notes."


class BookmarksPanel(PagePanel):
    """All bookmarks of the session, by clock and start."""

    def __init__(self, session: Session, theme: Theme, parent: QWidget | None = None) -> None:
        super().__init__(session, theme, parent)
        self.model = TableModel(BOOKMARKS, theme, self)
        self.table = TableView(self.model, theme)
        # F2 and Delete are keys of commands.
        self.table.setEditTriggers(QAbstractItemView.EditTrigger.DoubleClicked)
        self.table.setSelectionMode(QAbstractItemView.SelectionMode.SingleSelection)
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
        before, rows = self.model.contents, rows_of(self._session)
        if rows != before:
            # A reset would close the editor that has just written a text.
            places = None if before is None else [(m.t0, m.t1, m.clock) for m in before.marks]
            now = [(m.t0, m.t1, m.clock) for m in rows.marks]
            same_clocks = before is not None and before.clocks == rows.clocks
            self.model.show(rows, stays=same_clocks and places == now)
        if rows.marks:
            self.show_page()
        else:
            self.show_sentence(self._teaches if self._session.traces else NO_TIME)
        mark = self._session.state.mark
        row = -1 if mark is None else self.model.row_of_item(mark)
        if row < 0:
            self.table.clearSelection()
        elif row not in marked_rows(self.table):
            self.table.selectRow(row)

    @Slot(int)
    def _go(self, row: int) -> None:
        if 0 <= row < self.model.rowCount():
            marking.go_to(self._session, self.model.item_of(row))

    def _fit(self, row: int) -> None:
        if BOOKMARKS.columns[self.table.currentIndex().column()].is_time:
            marking.fit(self._session, self.model.item_of(row))

    def rename(self, number: int) -> None:
        """Edit the name of a bookmark, given by its number."""
        row = self.model.row_of_item(number)
        if row >= 0:
            index = self.model.index(row, BOOKMARKS.place("Name"))
            self.table.setCurrentIndex(index)
            self.table.setFocus()
            self.table.edit(index)
