"""The panel of what the search finds: every hit in a row, in order of time or of any column.

A chosen row selects its slice on the timeline, and a hit that is selected there is marked here.
"""

from __future__ import annotations

import numpy as np
from PySide6.QtCore import QItemSelectionModel, Slot
from PySide6.QtWidgets import QHBoxLayout, QStackedWidget, QVBoxLayout, QWidget

from viewer.arrays import Ints
from viewer.gui.panels.search.table import (
    CELLS,
    MOST_ROWS,
    HitColumn,
    HitsModel,
    Order,
    sorted_hits,
)
from viewer.gui.qt.background import Latest
from viewer.gui.qt.theme.theme import Theme
from viewer.gui.qt.widgets.labels import ElidedLabel, EmptyPlace
from viewer.gui.qt.widgets.tables import RowTable, copy_rows, fit_columns, let_copy
from viewer.gui.session.search import NOTHING, Hits, Search
from viewer.gui.session.session import Session
from viewer.model.times import counted, group_digits
from viewer.view.open_trace import AT_ONCE, OpenTrace

TEACH = (
    "Type into the search field ({}) and every slice that is found stands here: a name, "
    "op:conv, file:model.py:12, dur > 1ms, unlinked …"
)
NOTHING_OPEN = "Open a profile, then search it: its slices by name, operator, source line or length"
SEARCHING = "Searching …"
MOST_COPIED = 5000  # rows; writing so many takes less than 100 ms
_LEAST_NAME = 120  # px


class HitsPanel(QWidget):
    """The list of hits."""

    def __init__(self, session: Session, theme: Theme, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._session, self._theme, self._searching = session, theme, Search.of(session)
        self._teaches = NOTHING_OPEN
        self._sorting: tuple[Hits, list[OpenTrace]] | None = None
        self._by = Order()
        self.model = HitsModel(theme, self)
        self.table = HitsView(self.model, theme)
        let_copy(self.table, self.copy)
        self.subtitle = ElidedLabel("", theme, "caption", "text2")
        head = QHBoxLayout()
        head.setContentsMargins(theme.px(12), theme.px(6), theme.px(12), theme.px(6))
        head.addWidget(self.subtitle, 1)
        page = QWidget()
        column = QVBoxLayout(page)
        column.setContentsMargins(0, 0, 0, 0)
        column.setSpacing(0)
        column.addLayout(head)
        column.addWidget(self.table, 1)
        self.empty = EmptyPlace("", theme)
        self._stack = QStackedWidget()
        self._stack.addWidget(page)
        self._stack.addWidget(self.empty)
        outer = QVBoxLayout(self)
        outer.setContentsMargins(0, 0, 0, 0)
        outer.addWidget(self._stack)
        self._latest = Latest(self)
        self._latest.answered.connect(self._sorted)
        self.table.chosen.connect(self._choose)
        self.table.horizontalHeader().sectionClicked.connect(self._sort)
        self._searching.changed.connect(self.refresh)
        session.workspace_changed.connect(self.refresh)
        session.selection_changed.connect(self._mark)
        session.coloring_changed.connect(lambda: self.model.color_by(session.state.scheme))
        theme.changed.connect(self.refresh)
        self.refresh()

    def set_shortcut_hints(self, find: str) -> None:
        """Say by what one comes to the search field now."""
        self._teaches = TEACH.format(find)
        self.refresh()

    @Slot()
    def refresh(self) -> None:
        """List the hits of now in the order that is wished, or say why there are none."""
        searching = self._searching
        if searching.pending:
            self.subtitle.setText(SEARCHING)
            self.empty.sentence.setText(SEARCHING)
            return
        self._latest.cancel()
        sentence = self._why_nothing()
        if sentence:
            self._sorting = None
            self.model.show(NOTHING, [], np.empty(0, np.int64), self._by)
            self.empty.sentence.setText(sentence)
            self._stack.setCurrentIndex(1)
            return
        self._sorting = searching.hits, list(self._session.traces)
        small = len(searching.hits) <= AT_ONCE
        if not small:
            self.subtitle.setText("Sorting …")
        self._latest.ask(small, sorted_hits, *self._sorting, self._by)

    @Slot(int)
    def _sort(self, column: int) -> None:
        """Sort by the column whose heading was clicked; a second click turns the order round."""
        self._by = self._by.after_click(CELLS[column])
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
            return f"Nothing is found by “{searching.query.text.strip()}”"
        return ""

    @Slot(object)
    def _sorted(self, order: Ints) -> None:
        assert self._sorting is not None
        self.model.show(*self._sorting, order, self._by)
        self._stack.setCurrentIndex(0)
        count = len(order)
        text = counted(count, "hit")
        if count > MOST_ROWS:
            text += f" · the first {group_digits(MOST_ROWS)} of them in this order are listed"
        self.subtitle.setText(text)
        self.table.fit_columns()
        self._mark()

    @Slot()
    def _mark(self) -> None:
        """Mark the row of the selected slice, and no other."""
        if self.model.hits is not self._searching.hits:
            return
        row = self.model.row_of(self._searching.at)
        selection = self.table.selectionModel()
        if row is None:
            selection.clear()
            return
        index = self.model.index(row, 0)
        if not selection.isRowSelected(row):
            mode = QItemSelectionModel.SelectionFlag
            selection.setCurrentIndex(index, mode.ClearAndSelect | mode.Rows)
        self.table.scrollTo(index)

    @Slot(int)
    def _choose(self, row: int) -> None:
        if self.model.hits is self._searching.hits:
            self._searching.select(int(self.model.order[row]))

    def take_focus(self) -> None:
        """Give the keys to the list, at the hit that is selected or the first one."""
        self.table.setFocus()
        if self.model.rowCount() and not self.table.selectionModel().hasSelection():
            self.table.selectRow(0)
            self._choose(0)

    @Slot()
    def copy(self) -> None:
        """Put the marked rows on the clipboard; of very many the first, and how many are not."""
        copy_rows(self.table, self.model.tsv, MOST_COPIED, "they were not copied")


class HitsView(RowTable):
    """The table, sorted by a click on a heading."""

    def __init__(self, model: HitsModel, theme: Theme) -> None:
        super().__init__(model, "Hits of the search", theme)
        header = self.horizontalHeader()
        for i, cell in enumerate(CELLS):
            header.resizeSection(i, theme.px(cell.width))
        header.setSectionsClickable(True)

    def fit_columns(self) -> None:
        """Show the columns that there is room for."""
        fit_columns(
            self,
            self._theme,
            {i: cell.width or _LEAST_NAME for i, cell in enumerate(CELLS)},
            (),
            [CELLS.index(HitColumn.TRACK), CELLS.index(HitColumn.OPERATOR)],
            CELLS.index(HitColumn.NAME),
        )
