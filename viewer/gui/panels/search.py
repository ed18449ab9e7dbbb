"""The Search results panel: one row per matching slice, by time or sorted by any column.

Sorting needs one rank per distinct text and one pass over the matches, so large lists are sorted
off the GUI thread. A list shows at most a million rows: nobody reads more, and a table widget
allocates memory for each row.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from PySide6.QtCore import Slot

from viewer.analysis.links.labels import set_label, track_name
from viewer.arrays import Ints
from viewer.dataclasses import dataclass
from viewer.gui.panels.base.cost_painting import colors_of
from viewer.gui.panels.base.panel import AnswerPanel, PanelHost, Question, Sentence, head_row
from viewer.gui.panels.base.slice_facts import MISSING
from viewer.gui.panels.base.table import (
    ColumnKind,
    Copied,
    PanelColumn,
    PanelTable,
    TableModel,
    TableView,
)
from viewer.gui.qt.widgets.labels import ElidedLabel
from viewer.gui.qt.widgets.tables import select_row
from viewer.gui.session.feeds.search import Hits, Search
from viewer.model.queries import foreign
from viewer.model.times import counted, format_position, group_digits, ticks_to_ns
from viewer.render.palette import Palette
from viewer.view.open_trace import AT_ONCE, OpenTrace

MOST_ROWS = 1_000_000


NAME, OPERATOR, START, DURATION, TRACK = "name", "operator", "start", "duration", "track"


@dataclass(frozen=True, slots=True)
class Order:
    """The column that sorts the matches, and the direction."""

    column: str = START
    descending: bool = False

    def after_click(self, column: str) -> Order:
        """Return the order after a click on a heading.

        A new column is sorted in ascending order, durations in descending order; a click on the
        current column reverses it.
        """
        if column == self.column:
            return Order(column, not self.descending)
        return Order(column, descending=column == DURATION)


_TSV_TITLES = ("Name", "Operator", "Start (ns)", "Duration (ns)", "Track", "Process", "File")


def sorted_hits(hits: Hits, traces: Sequence[OpenTrace], by: Order) -> Ints:
    """Return the positions of the matches, sorted by a column and then by time. Pure.

    Slices timed by a separate clock have no duration in ns: they sort before all others, or after
    them if descending.
    """
    if by.column == START:
        order = np.arange(len(hits))
        return order[::-1] if by.descending else order
    value = np.zeros(len(hits), np.int64)
    ranks = _ranks([_texts(open_trace, by.column) for open_trace in traces])
    for number, open_trace in enumerate(traces):
        positions = np.flatnonzero(hits.trace == number)
        index, slices = hits.slice[positions], open_trace.trace.slices
        match by.column:
            case "name":
                value[positions] = ranks[number][open_trace.labels[index]]
            case "operator":
                # -1, for no operator, indexes the last rank: that of the empty text.
                value[positions] = ranks[number][open_trace.table.set_of_key[slices.key[index]]]
            case "track":
                row = np.searchsorted(slices.row_ptr, index, side="right") - 1
                value[positions] = ranks[number][slices.row_track[row]]
            case _:
                ticks = slices.end[index] - slices.start[index]
                length = ticks_to_ns(ticks, open_trace.axis.ns_per_tick)
                length[np.isin(index, foreign(slices))] = -1
                value[positions] = length
    return np.argsort(-value if by.descending else value, kind="stable")


def _texts(open_trace: OpenTrace, column: str) -> list[str]:
    table = open_trace.table
    match column:
        case "name":
            return list(open_trace.label_strings)
        case "operator":
            return [*(set_label(table, operators) for operators in table.sets), ""]
        case "track":
            return [track_name(table, i) for i in range(len(table.trace.tracks))]
    return []


def _ranks(texts: Sequence[Sequence[str]]) -> list[Ints]:
    """Return the rank of each text of each trace among all texts, ignoring case."""
    order = {
        text: i
        for i, text in enumerate(
            sorted({t.casefold() for trace_texts in texts for t in trace_texts})
        )
    }
    return [np.array([order[t.casefold()] for t in trace_texts], np.int64) for trace_texts in texts]


@dataclass(frozen=True, eq=False, slots=True)
class HitRows:
    """The matches of some traces in an order.

    order: their positions, sorted by `by`. colors: the palette index of each operator of a trace.
    """

    hits: Hits
    traces: Sequence[OpenTrace]
    order: Ints
    by: Order
    colors: Callable[[OpenTrace], Palette | None]

    def slice(self, position: int) -> tuple[OpenTrace, int]:
        """Return the trace and the index of a match."""
        ref = self.hits.ref(position)
        return self.traces[ref.trace], ref.index


# The text of a slice, given by its trace and its index.
_Text = Callable[[OpenTrace, int], str]


def _operator(open_trace: OpenTrace, i: int) -> str:
    return set_label(open_trace.table, open_trace.link(i).operators)


def _track(open_trace: OpenTrace, i: int) -> str:
    return track_name(open_trace.table, open_trace.trace.slices.track(i))


def _process(open_trace: OpenTrace, i: int) -> str:
    return open_trace.trace.tracks[open_trace.trace.slices.track(i)].process


def _name_tip(open_trace: OpenTrace, i: int) -> str:
    text, name = open_trace.label(i), open_trace.trace.name(i)
    return text if name == text else f"{text}\n{name} in the file"


def _swatch(c: HitRows, position: int, colors: Palette | None) -> Sequence[int] | None:
    open_trace, i = c.slice(position)
    return colors_of(open_trace.link(i).operators, c.colors(open_trace)) or None


def _column(
    key: str, kind: ColumnKind, width: int, text: _Text, tooltip: _Text | None = None, **rest: Any
) -> PanelColumn[HitRows]:
    """Return a column. Its title has an arrow if it sorts."""
    tip, title = tooltip or text, key.capitalize()

    def title_of(c: HitRows) -> str:
        return f"{title} {'↓' if c.by.descending else '↑'}" if c.by.column == key else title

    return PanelColumn(
        title,
        kind,
        width,
        key=key,
        text=lambda c, position: text(*c.slice(position)),
        tooltip=lambda c, position: tip(*c.slice(position)),
        title_of=title_of,
        **{"tone": "text1"} | rest,
    )


def _copied(c: HitRows, positions: Ints) -> Copied:
    return _TSV_TITLES, (_plain(*c.slice(position)) for position in positions.tolist())


def _plain(open_trace: OpenTrace, i: int) -> tuple[str, ...]:
    start, end = open_trace.span_ns(i)
    return (
        open_trace.label(i),
        _operator(open_trace, i),
        str(start),
        str(end - start) if open_trace.native(i) is None else "",
        _track(open_trace, i),
        _process(open_trace, i),
        open_trace.file.path,
    )


HITS: PanelTable[HitRows] = PanelTable(
    "Search matches",
    (
        _column(NAME, ColumnKind.TEXT, 0, OpenTrace.label, _name_tip),
        _column(OPERATOR, ColumnKind.TEXT, 140, lambda s, i: _operator(s, i) or MISSING,
            lambda s, i: _operator(s, i) or s.link(i).detail, leaves=2, swatch=_swatch),
        _column(START, ColumnKind.TIME, 132, lambda s, i: format_position(s.span_ns(i)[0])),
        _column(DURATION, ColumnKind.TIME, 92, OpenTrace.length_text),
        _column(TRACK, ColumnKind.TEXT, 120, _track,
            lambda s, i: f"{_process(s, i)} · {_track(s, i)}", leaves=1, tone="text2"),
    ),
    least=120,
    rows=lambda c: c.order[:MOST_ROWS],
    copied=_copied,
    sortable=False,
    most_copied=5000,  # writing that many takes less than 100 ms
    rest="they were not copied",
)  # fmt: skip


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
        self.host.show_count(len(self._searching.hits))
        if not self._searching.pending:
            super().refresh()
            return
        self.subtitle.setText(SEARCHING)
        if self.is_empty:
            self._stack.show_sentence(SEARCHING)  # a worker may still sort the previous matches

    def question(self) -> Question | None:
        if self._why_nothing():
            return None
        self._sorting = self._searching.hits, list(self._session.traces)
        size = len(self._searching.hits)
        if size > self.SYNC_LIMIT:
            self.subtitle.setText("Sorting …")
        return Question(sorted_hits, (*self._sorting, self._by), size)

    def empty_state(self) -> Sentence:
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
