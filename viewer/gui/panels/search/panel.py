"""The Search results panel: one row per matching slice, by time or sorted by any column.

Choosing a row selects its slice on the timeline. The row of the selected slice is highlighted.
"""

from __future__ import annotations

from collections.abc import Callable

from PySide6.QtCore import Slot

from viewer.arrays import Ints
from viewer.gui.panels.base.answer_panel import AnswerPanel, Question
from viewer.gui.panels.base.page_panel import Sentence, head_row
from viewer.gui.panels.base.panel_host import PanelHost
from viewer.gui.panels.base.tables.model import TableModel
from viewer.gui.panels.base.tables.view import TableView
from viewer.gui.panels.search.table import HITS, MOST_ROWS, HitRows, Order, sorted_hits
from viewer.gui.qt.widgets.labels import ElidedLabel
from viewer.gui.qt.widgets.tables import select_row
from viewer.gui.session.feeds.search import Hits, Search
from viewer.model.times import counted, group_digits
from viewer.view.open_trace import AT_ONCE, OpenTrace

TEACH = (
    "Matching slices appear here. Type a query into the search field ({}): a name, op:conv, "
    "file:model.py:12, dur > 1ms, unlinked …"
)
NOTHING_OPEN = "Open a profile to search its slices by name, operator, source line or duration"
SEARCHING = "Searching …"


class HitsPanel(AnswerPanel[Ints]):
    """The list of matches. The panel's answer is their order."""

    SYNC_LIMIT = AT_ONCE  # matches; sorting that many takes less than 50 ms
    WAITS_TO_BE_SEEN = False  # keys step through the matches while the list is hidden

    def __init__(self, host: PanelHost) -> None:
        session, theme = host.session, host.theme
        super().__init__(host)
        self._searching = Search.of(session)
        self._teaches = NOTHING_OPEN
        self._sorting: tuple[Hits, list[OpenTrace]] | None = None
        self._by = Order()
        self.model = TableModel(HITS, theme, self)
        self._is_resorted = False  # until the answer to `_sort` is shown
        self.table = TableView(self.model, theme)
        self.subtitle = ElidedLabel("", theme, "caption", "text2")
        head = head_row(theme)
        head.addWidget(self.subtitle, 1)
        self.set_page(self.table, head=head)
        self.table.chosen.connect(self._choose)
        self.table.horizontalHeader().setSectionsClickable(True)
        self.table.horizontalHeader().sectionClicked.connect(self._sort)
        session.selection_changed.connect(self._mark)
        session.coloring_changed.connect(lambda: self.model.color(None))
        self.refresh_on(self._searching.changed, session.workspace_changed)
        self.refresh()

    def list_matches(self) -> None:
        """Show and focus the list."""
        self.host.show_panel("search")
        self.take_focus()

    def show_keys(self, way_to: Callable[[str], str]) -> None:
        """Mention in the empty panel how to focus the search field."""
        self._teaches = TEACH.format(way_to("search.find"))
        self.refresh()

    @Slot()
    def refresh(self) -> None:
        """List the current matches in the chosen order, or explain why there are none."""
        self.host.show_count(len(self._searching.hits))
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
        self.model.clear()

    @Slot(int)
    def _sort(self, column: int) -> None:
        """Sort by the clicked column; a second click reverses the order."""
        self._by = self._by.after_click(HITS.columns[column].key)
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
        session = self._session
        self.model.show(
            HitRows(
                *self._sorting,
                order,
                self._by,
                lambda open_trace: open_trace.operator_colors(session.state.scheme),
            )
        )
        self.show_page()
        count = len(order)
        text = counted(count, "hit")
        if count > MOST_ROWS:
            text += f" · the first {group_digits(MOST_ROWS)} in this order are listed"
        self.subtitle.setText(text)
        self._mark()
        if self._is_resorted:
            self._is_resorted = False
            self.table.scrollToTop()

    @property
    def _is_current(self) -> bool:
        """Whether the current matches are listed."""
        rows = self.model.contents
        return rows is not None and rows.hits is self._searching.hits

    @Slot()
    def _mark(self) -> None:
        """Highlight only the row of the selected slice."""
        if not self._is_current:
            return
        place = self._searching.position
        row = -1 if place is None else self.model.row_of_item(place)
        selection = self.table.selectionModel()
        if row < 0:
            selection.clear()
            return
        index = self.model.index(row, 0)
        if not selection.isRowSelected(row):
            select_row(self.table, index)
        self.table.scrollTo(index)

    @Slot(int)
    def _choose(self, row: int) -> None:
        if self._is_current:
            self._searching.select(self.model.item_of(row))

    def take_focus(self) -> None:
        """Focus the list; select the first match if no row is selected."""
        self.table.setFocus()
        if self.model.rowCount() and not self.table.selectionModel().hasSelection():
            self.table.selectRow(0)
            self._choose(0)
