"""Table model of the search results: a row is a position; its texts are created when painted.

Sorting needs one rank per distinct text and one pass over the matches, so large lists are sorted
off the GUI thread. A list shows at most a million rows: nobody reads more, and a table widget
allocates memory for each row.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np
from PySide6.QtCore import QObject, Qt
from PySide6.QtGui import QPixmap

from viewer.analysis.links.labels import set_label, track_name
from viewer.arrays import Ints
from viewer.gui.panels.base.slice_facts import MISSING
from viewer.gui.panels.base.swatches import SwatchPixmaps, colors_of
from viewer.gui.qt.theme.theme import Theme
from viewer.gui.qt.widgets.column_table import TableColumn
from viewer.gui.qt.widgets.table_model import CellModel, tsv_text
from viewer.gui.session.feeds.search import NOTHING, Hits
from viewer.model.queries import foreign
from viewer.model.times import format_position, ticks_to_ns
from viewer.render.color_schemes import DEFAULT
from viewer.view.open_trace import OpenTrace

MOST_ROWS = 1_000_000


class HitColumn(TableColumn):
    """The columns: title, width, and whether it holds numbers."""

    NAME = ("Name", 0, False)
    OPERATOR = ("Operator", 140, False)
    START = ("Start", 132, True)
    DURATION = ("Duration", 92, True)
    TRACK = ("Track", 120, False)

    def __init__(self, title: str, width: int, is_number: bool) -> None:
        super().__init__(title, width)
        self.is_number = is_number


@dataclass(frozen=True, slots=True)
class Order:
    """The column that sorts the matches, and the direction."""

    cell: HitColumn = HitColumn.START
    descending: bool = False

    def after_click(self, cell: HitColumn) -> Order:
        """Return the order after a click on a heading.

        A new column is sorted in ascending order, durations in descending order; a click on the
        current column reverses it.
        """
        if cell is self.cell:
            return Order(cell, not self.descending)
        return Order(cell, descending=cell is HitColumn.DURATION)


COLUMNS = tuple(HitColumn)
_TITLES = tuple(cell.title for cell in COLUMNS)
_TSV_TITLES = ("Name", "Operator", "Start (ns)", "Duration (ns)", "Track", "Process", "File")


def sorted_hits(hits: Hits, traces: Sequence[OpenTrace], by: Order) -> Ints:
    """Return the positions of the matches, sorted by a column and then by time. Pure.

    Slices timed by a separate clock have no duration in ns: they sort before all others, or after
    them if descending.
    """
    cell = by.cell
    if cell is HitColumn.START:
        order = np.arange(len(hits))
        return order[::-1] if by.descending else order
    value = np.zeros(len(hits), np.int64)
    ranks = _ranks([_texts(shown, cell) for shown in traces])
    for number, shown in enumerate(traces):
        positions = np.flatnonzero(hits.trace == number)
        index, slices = hits.slice[positions], shown.trace.slices
        match cell:
            case HitColumn.NAME:
                value[positions] = ranks[number][shown.labels[index]]
            case HitColumn.OPERATOR:
                # -1, for no operator, indexes the last rank: that of the empty text.
                value[positions] = ranks[number][shown.table.set_of_key[slices.key[index]]]
            case HitColumn.TRACK:
                row = np.searchsorted(slices.row_ptr, index, side="right") - 1
                value[positions] = ranks[number][slices.row_track[row]]
            case _:
                ticks = slices.end[index] - slices.start[index]
                length = ticks_to_ns(ticks, shown.axis.ns_per_tick)
                length[np.isin(index, foreign(slices))] = -1
                value[positions] = length
    return np.argsort(-value if by.descending else value, kind="stable")


def _texts(shown: OpenTrace, cell: HitColumn) -> list[str]:
    table = shown.table
    match cell:
        case HitColumn.NAME:
            return list(shown.label_strings)
        case HitColumn.OPERATOR:
            return [*(set_label(table, operators) for operators in table.sets), ""]
        case HitColumn.TRACK:
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


class HitsModel(CellModel[HitColumn]):
    """Matches as rows, in a given order."""

    def __init__(self, theme: Theme, parent: QObject | None = None) -> None:
        super().__init__(COLUMNS, theme, parent)
        self._traces: Sequence[OpenTrace] = ()
        self._swatches = SwatchPixmaps(theme)
        self.hits: Hits = NOTHING
        self.order: Ints = np.empty(0, np.int64)
        self._titles: tuple[str, ...] = _TITLES
        self._scheme = DEFAULT

    def color_by(self, scheme: str) -> None:
        """Color the swatches by a color scheme, like the slices."""
        if scheme != self._scheme:
            self._scheme = scheme
            self._swatches.clear()
            last = self.index(self.rowCount() - 1, len(COLUMNS) - 1)
            self.dataChanged.emit(self.index(0, 0), last, [Qt.ItemDataRole.DecorationRole])

    def show(self, hits: Hits, traces: Sequence[OpenTrace], order: Ints, by: Order) -> None:
        """Show the matches of some traces. order: their positions, sorted by `by`."""
        self.beginResetModel()
        arrow = "↓" if by.descending else "↑"
        self._titles = tuple(f"{c.title} {arrow}" if c is by.cell else c.title for c in COLUMNS)
        self._swatches.clear()
        self.hits, self._traces, self.order = hits, list(traces), order
        self.endResetModel()

    def row_of(self, position: int | None) -> int | None:
        """Return the row of a match, None if it is not in the list."""
        if position is None:
            return None
        found = np.flatnonzero(self.order[:MOST_ROWS] == position)
        return int(found[0]) if len(found) else None

    def shown_rows(self) -> int:
        return min(len(self.order), MOST_ROWS)

    def titles(self) -> Sequence[str]:
        return self._titles

    def is_right(self, column: int) -> bool:
        return COLUMNS[column].is_number

    def is_time(self, column: int) -> bool:
        return COLUMNS[column].is_number

    def tsv(self, rows: Iterable[int]) -> str:
        """Return rows and headings as tab-separated text, times in ns."""
        return tsv_text(_TSV_TITLES, map(self._plain_texts, rows))

    def _plain_texts(self, row: int) -> tuple[str, ...]:
        shown, i = self._slice(row)
        start, end = shown.span_ns(i)
        track = shown.trace.slices.track(i)
        return (
            shown.label(i),
            set_label(shown.table, shown.link(i).operators),
            str(start),
            str(end - start) if shown.native(i) is None else "",
            track_name(shown.table, track),
            shown.trace.tracks[track].process,
            shown.file.path,
        )

    def _slice(self, row: int) -> tuple[OpenTrace, int]:
        ref = self.hits.ref(int(self.order[row]))
        return self._traces[ref.trace], ref.index

    def text(self, row: int, cell: HitColumn) -> str:
        shown, i = self._slice(row)
        match cell:
            case HitColumn.NAME:
                return shown.label(i)
            case HitColumn.OPERATOR:
                return set_label(shown.table, shown.link(i).operators) or MISSING
            case HitColumn.START:
                return format_position(shown.span_ns(i)[0])
            case HitColumn.DURATION:
                return shown.length_text(i)
        return track_name(shown.table, shown.trace.slices.track(i))

    def tooltip(self, row: int, cell: HitColumn) -> str:
        shown, i = self._slice(row)
        text = self.text(row, cell)
        if cell is HitColumn.NAME and shown.trace.name(i) != text:
            return f"{text}\n{shown.trace.name(i)} in the file"
        if cell is HitColumn.TRACK:
            return f"{shown.trace.tracks[shown.trace.slices.track(i)].process} · {text}"
        if cell is HitColumn.OPERATOR and text == MISSING:
            return shown.link(i).detail
        return text

    def tone(self, row: int, cell: HitColumn) -> str:
        return "text2" if cell is HitColumn.TRACK else "text1"

    def picture(self, row: int, cell: HitColumn) -> QPixmap | None:
        if cell is not HitColumn.OPERATOR:
            return None
        shown, i = self._slice(row)
        colors = shown.operator_colors(self._scheme)
        return self._swatches.of(colors_of(shown.link(i).operators, colors))
