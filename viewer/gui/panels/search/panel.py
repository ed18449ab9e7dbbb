"""The Search results panel: one row per matching slice, by time or sorted by any column.

Choosing a row selects its slice on the timeline. The row of the selected slice is highlighted.
"""

from __future__ import annotations

import numpy as np
from PySide6.QtCore import Slot
from PySide6.QtWidgets import QWidget

from viewer.arrays import Ints
from viewer.gui.panels.base.answer_panel import AnswerPanel, Question
from viewer.gui.panels.base.page_panel import Sentence, head_row
from viewer.gui.panels.search.table import (
    COLUMNS,
    MOST_ROWS,
    HitColumn,
    HitsModel,
    Order,
    sorted_hits,
)
from viewer.gui.qt.clipboard import CopyFormat
from viewer.gui.qt.theme.theme import Theme
from viewer.gui.qt.widgets.column_table import ColumnTable
from viewer.gui.qt.widgets.labels import ElidedLabel
from viewer.gui.qt.widgets.tables import copy_rows, let_copy, select_row
from viewer.gui.session.feeds.search import NOTHING, Hits, Search
from viewer.gui.session.session import Session
from viewer.model.times import counted, group_digits
from viewer.view.open_trace import AT_ONCE, OpenTrace

TEACH = (
    "Matching slices appear here. Type a query into the search field ({}): a name, op:conv, "
    "file:model.py:12, dur > 1ms, unlinked …"
)
NOTHING_OPEN = "Open a profile to search its slices by name, operator, source line or duration"
SEARCHING = "Searching …"
MOST_COPIED = 5000  # rows; writing that many takes less than 100 ms
_LEAST_NAME = 120  # px


class HitsPanel(AnswerPanel[Ints]):
    """The list of matches. The panel's answer is their order."""

    SYNC_LIMIT = AT_ONCE  # matches; sorting that many takes less than 50 ms
    WAITS_TO_BE_SEEN = False  # keys step through the matches while the list is hidden

    def __init__(self, session: Session, theme: Theme, parent: QWidget | None = None) -> None:
        super().__init__(session, theme, parent)
        self._searching = Search.of(session)
        self._teaches = NOTHING_OPEN
        self._sorting: tuple[Hits, list[OpenTrace]] | None = None
        self._by = Order()
        self.model = HitsModel(theme, self)
        self._is_resorted = False  # until the answer to `_sort` is shown
        self.table = HitsView(self.model, theme)
        let_copy(self.table, self.copy)
        self.subtitle = ElidedLabel("", theme, "caption", "text2")
        head = head_row(theme)
        head.addWidget(self.subtitle, 1)
        self.set_page(self.table, head=head)
        self.table.chosen.connect(self._choose)
        self.table.horizontalHeader().sectionClicked.connect(self._sort)
        session.selection_changed.connect(self._mark)
        session.coloring_changed.connect(lambda: self.model.color_by(session.state.scheme))
        self.refresh_on(self._searching.changed, session.workspace_changed)
        self.refresh()

    def set_shortcut_hints(self, find: str) -> None:
        """Set the shortcut of the search field, which the empty panel mentions."""
        self._teaches = TEACH.format(find)
        self.refresh()

    @Slot()
    def refresh(self) -> None:
        """List the current matches in the chosen order, or explain why there are none."""
        if not self._searching.pending:
            super().refresh()
            return
        self.subtitle.setText(SEARCHING)
        if self.is_empty:
            self._stack.show_sentence(SEARCHING)  # a worker may still sort the previous matches

    def question(self) -> Question | None:
        """Return the question that sorts the matches."""
        if self._why_nothing():
            return None
        self._sorting = self._searching.hits, list(self._session.traces)
        size = len(self._searching.hits)
        if size > self.SYNC_LIMIT:
            self.subtitle.setText("Sorting …")
        return Question(sorted_hits, (*self._sorting, self._by), size)

    def empty_state(self) -> Sentence:
        """Explain why there are no matches."""
        return Sentence(self._why_nothing())

    def clear_page(self) -> None:
        self._sorting = None
        self.model.show(NOTHING, [], np.empty(0, np.int64), self._by)

    @Slot(int)
    def _sort(self, column: int) -> None:
        """Sort by the clicked column; a second click reverses the order."""
        self._by = self._by.after_click(COLUMNS[column])
        self._is_resorted = True
        self.refresh()

    def _why_nothing(self) -> str:
        searching = self._searching
        if not self._session.traces:
            return NOTHING_OPEN
        if searching.complaint:
            return searching.complaint
        if not searching.is_on:
            return self._teaches
        if not len(searching.hits):
            return f"No matches for “{searching.query.text.strip()}”"
        return ""

    def show_answer(self, order: Ints) -> None:
        """List the matches in this order."""
        assert self._sorting is not None
        self.model.show(*self._sorting, order, self._by)
        self.show_page()
        count = len(order)
        text = counted(count, "hit")
        if count > MOST_ROWS:
            text += f" · the first {group_digits(MOST_ROWS)} in this order are listed"
        self.subtitle.setText(text)
        self.table.fit_columns()
        self._mark()
        if self._is_resorted:
            self._is_resorted = False
            self.table.scrollToTop()

    @Slot()
    def _mark(self) -> None:
        """Highlight only the row of the selected slice."""
        if self.model.hits is not self._searching.hits:
            return
        row = self.model.row_of(self._searching.at)
        selection = self.table.selectionModel()
        if row is None:
            selection.clear()
            return
        index = self.model.index(row, 0)
        if not selection.isRowSelected(row):
            select_row(self.table, index)
        self.table.scrollTo(index)

    @Slot(int)
    def _choose(self, row: int) -> None:
        if self.model.hits is self._searching.hits:
            self._searching.select(int(self.model.order[row]))

    def take_focus(self) -> None:
        """Focus the list; select the first match if no row is selected."""
        self.table.setFocus()
        if self.model.rowCount() and not self.table.selectionModel().hasSelection():
            self.table.selectRow(0)
            self._choose(0)

    def copy(self, form: CopyFormat = CopyFormat.TEXT) -> None:
        """Copy the selected rows, or the first `MOST_COPIED` of them and a note about the rest."""
        copy_rows(self.table, self.model.tsv, MOST_COPIED, "they were not copied", form)


class HitsView(ColumnTable[HitColumn]):
    """The table, sorted by a click on a heading."""

    def __init__(self, model: HitsModel, theme: Theme) -> None:
        dispensable = HitColumn.TRACK, HitColumn.OPERATOR
        super().__init__(model, "Search matches", theme, COLUMNS, _LEAST_NAME, dispensable)
        self.horizontalHeader().setSectionsClickable(True)
