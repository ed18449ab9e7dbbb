"""The Bookmarks panel: name, start, length and note of each bookmark; a click jumps to it.

A double click edits a name or note in place, F2 the current bookmark's name.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from PySide6.QtCore import Slot
from PySide6.QtWidgets import QAbstractItemView

from viewer.arrays import Ints
from viewer.dataclasses import dataclass
from viewer.gui.panels.base.panel import PagePanel, PanelHost
from viewer.gui.panels.base.table import (
    ColumnKind,
    Copied,
    PanelColumn,
    PanelTable,
    TableModel,
    TableView,
)
from viewer.gui.qt.widgets.tables import marked_rows
from viewer.gui.session import bookmarks as marking
from viewer.gui.session.bookmarks import edit, is_on_open_clock
from viewer.gui.session.session import Session
from viewer.model.text import display_name, one_line
from viewer.model.times import format_position, format_time
from viewer.view.clock_groups import group_title
from viewer.view.state import Bookmark

NOTHING = "No bookmarks. Press {} to measure the selection, {} to add a bookmark."
NO_TIME = "Open a profile to bookmark moments and spans, with names and notes."


@dataclass(frozen=True)
class BookmarkRows:
    """All bookmarks of the session. clocks: their names by key, in the order of the rows."""

    session: Session
    bookmarks: tuple[Bookmark, ...]
    clocks: dict[str, str]

    @property
    def has_clocks(self) -> bool:
        """Whether there are several clocks, which the rows name."""
        return len(self.clocks) > 1

    @property
    def order(self) -> Ints:
        """The bookmarks by clock and start."""
        place = {clock: index for index, clock in enumerate(self.clocks)}
        keys = [(place.get(m.clock, 0), m.t0, m.t1, n) for n, m in enumerate(self.bookmarks)]
        return np.array([key[-1] for key in sorted(keys)], np.int64)

    def clock(self, i: int) -> str:
        """Return the name of the clock of a bookmark."""
        return self.clocks.get(self.bookmarks[i].clock) or next(iter(self.clocks.values()))

    def length(self, i: int) -> str:
        """Return the length of a bookmark."""
        span = self.bookmarks[i].t1 - self.bookmarks[i].t0
        return format_time(span) if span else "moment"


def rows_of(session: Session) -> BookmarkRows:
    """Return the bookmarks, with the open clocks, then those of closed files."""
    clocks = {group.key: group_title(group, session.traces) for group in session.groups}
    for mark in session.state.bookmarks:
        if not is_on_open_clock(session, mark):
            clocks[mark.clock] = f"{one_line(display_name(mark.clock))} (closed)"
    return BookmarkRows(session, session.state.bookmarks, clocks)


def _copied(c: BookmarkRows, rows: Ints) -> Copied:
    """Return rows with times in whole ns; with a last column for the clock if there are several."""
    titles = ["name", "start_ns", "length_ns", "note", "clock"]
    bookmarks = [(c.bookmarks[i], c.clock(i)) for i in rows.tolist()]
    cells = [(m.name, str(m.t0), str(m.t1 - m.t0), m.note, clock) for m, clock in bookmarks]
    end = len(titles) - (not c.has_clocks)
    return titles[:end], (texts[:end] for texts in cells)


BOOKMARKS: PanelTable[BookmarkRows] = PanelTable(
    "Bookmarks",
    (
        PanelColumn("Name", width=200, text=lambda c, i: c.bookmarks[i].name, tone="text1",
            tooltip=lambda c, i: c.bookmarks[i].name,
            edit=lambda c, i, text: edit(c.session, i, name=text)),
        PanelColumn("Clock", width=130, text=BookmarkRows.clock, tooltip=BookmarkRows.clock,
            is_unused=lambda c: not c.has_clocks),
        PanelColumn("Start", ColumnKind.TIME, 130,
            text=lambda c, i: format_position(c.bookmarks[i].t0)),
        PanelColumn("Length", ColumnKind.TIME, 120, text=BookmarkRows.length),
        PanelColumn("Note", text=lambda c, i: c.bookmarks[i].note,
            tooltip=lambda c, i: c.bookmarks[i].note,
            edit=lambda c, i, text: edit(c.session, i, note=text)),
    ),
    least=160,
    rows=lambda c: c.order,
    copied=_copied,
    sortable=False,
)  # fmt: skip


class BookmarksPanel(PagePanel):
    """All bookmarks of the session, by clock and start."""

    def __init__(self, host: PanelHost) -> None:
        session, theme = host.session, host.theme
        super().__init__(host)
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

    def show_keys(self, way_to: Callable[[str], str]) -> None:
        """Mention in the empty panel how to measure, and how to add a bookmark."""
        self._teaches = NOTHING.format(way_to("mark.measure"), way_to("mark.keep"))
        self.refresh()

    @Slot()
    def refresh(self) -> None:
        before, rows = self.model.contents, rows_of(self._session)
        if rows != before:
            # A reset would close the editor that has just written a text.
            places = None if before is None else [(m.t0, m.t1, m.clock) for m in before.bookmarks]
            now = [(m.t0, m.t1, m.clock) for m in rows.bookmarks]
            same_clocks = before is not None and before.clocks == rows.clocks
            self.model.show(rows, stays=same_clocks and places == now)
        if rows.bookmarks:
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

    def rename_current(self) -> None:
        if self._session.state.mark is not None:
            self.host.show_panel("marks")
            self.rename(self._session.state.mark)

    def rename(self, number: int) -> None:
        """Edit the name of a bookmark, given by its number."""
        row = self.model.row_of_item(number)
        if row >= 0:
            index = self.model.index(row, BOOKMARKS.place("Name"))
            self.table.setCurrentIndex(index)
            self.table.setFocus()
            self.table.edit(index)
