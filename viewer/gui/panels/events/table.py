"""Table model of event statistics: sorted and filtered as columns, texts created when painted.

A trace can contain 200,000 distinct events. So rows are positions in the columns of the statistics,
a filter searches each distinct text once, and a cell's text is created when it is painted.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray
from PySide6.QtCore import QObject, Qt
from PySide6.QtGui import QPixmap

from viewer.analysis.links.labels import key_labels
from viewer.analysis.links.link_table import LinkTable
from viewer.analysis.statistics import figure_terms
from viewer.analysis.statistics.events import EventStatistics
from viewer.arrays import Bools, Ints
from viewer.gui.panels.base.slice_facts import MISSING
from viewer.gui.panels.base.swatches import SwatchPixmaps, colors_of
from viewer.gui.qt.theme.theme import Theme
from viewer.gui.qt.widgets.column_table import TableColumn
from viewer.gui.qt.widgets.table_model import ArrayModel, any_fraction_of_ns, tsv_text
from viewer.model.times import NARROW_SPACE, format_bounded, group_digits
from viewer.model.timing import ROUNDING_TICKS
from viewer.render.palette import Palette
from viewer.view.open_trace import OpenTrace

METADATA = "metadata"
_UNIT_WIDTH = 32  # px; by how much " cycles" is wider than " µs"


class EventColumn(TableColumn):
    """The columns: title, width, statistic, and tooltip."""

    EVENT = ("Event", 0, "")
    BLOCK = ("Runs", 120, "")
    COUNT = (
        figure_terms.COUNT.title,
        56,
        "count",
        figure_terms.COUNT.explained("Here those that were logged in these runs."),
    )
    PICKED = ("Run", 92, "picked", "In the picked run; all its occurrences together.")
    P10 = (figure_terms.P10.title, 84, "p10", figure_terms.P10.definition)
    P50 = (figure_terms.MEDIAN.title, 84, "p50", figure_terms.MEDIAN.definition)
    P90 = (figure_terms.P90.title, 84, "p90", figure_terms.P90.definition)
    AVG = (figure_terms.MEAN.title, 84, "avg", figure_terms.MEAN.definition)
    MIN = (figure_terms.MIN.title, 84, "min", figure_terms.MIN.definition)
    MAX = (figure_terms.MAX.title, 84, "max", figure_terms.MAX.definition)
    SUM = (figure_terms.SUM.title, 84, "total", figure_terms.SUM.definition)
    SPREAD = ("Spread, %", 80, "spread", "p90 less p10, as a percentage of the median.")

    def __init__(self, title: str, width: int, field: str, tip: str = "") -> None:
        super().__init__(title, width, tip)
        self.field = field

    @property
    def is_time(self) -> bool:
        """Whether it holds a duration."""
        return bool(self.field) and self not in (EventColumn.COUNT, EventColumn.SPREAD)

    def room(self, with_units: bool) -> int:
        """Return its width in px. with_units: whether separate clocks show their unit."""
        return self.width + (_UNIT_WIDTH if with_units and self.is_time else 0)


COLUMNS = tuple(EventColumn)


@dataclass(frozen=True, eq=False)
class EventsContents:
    """Event statistics with all texts and numbers to show, prepared before painting.

    labels: text of every key. texts: codes per row, and the lower-case texts that the filter
    searches. order: for each text column, the rank of each row.
    """

    found: EventStatistics
    labels: tuple[str, ...]
    texts: tuple[tuple[Ints, Sequence[str]], ...]
    order: Mapping[EventColumn, Ints]
    columns: Mapping[EventColumn, NDArray[Any]]


def contents_of(
    found: EventStatistics, in_run: Ints, known: EventsContents | None = None
) -> EventsContents:
    """Prepare statistics for display. Pure; 0.4 s for 200,000 events with distinct names.

    in_run: ticks of each row in the current inference, -1 for none. known: earlier contents of the
    same statistics, to reuse.
    """
    columns = _columns(found, in_run)
    if known is not None and known.found is found:
        return replace(known, columns=columns)
    labels = tuple(_distinct_labels(found.table, key_labels(found.table)))
    small = [label.lower() for label in labels]
    trace = found.table.trace
    texts = (
        (found.key, small),
        (trace.keys.name[found.key].astype(np.int64), [s.lower() for s in trace.strings]),
        (found.block, [title.lower() for title in found.block_titles]),
    )
    order = {
        EventColumn.EVENT: _ranks(small)[found.key],
        EventColumn.BLOCK: _ranks(texts[2][1])[found.block],
    }
    return EventsContents(found, labels, texts, order, columns)


def _distinct_labels(table: LinkTable, labels: Sequence[str]) -> list[str]:
    """Return the labels of all keys, with a hint for equal ones at a location: "DMA In (…)".

    The hint is the name in the file, the number of the action, or the location: the first of them
    that differs for all keys with the label.
    """
    trace, keys = table.trace, table.trace.keys
    by_label: dict[str, list[int]] = {}
    for key, location in enumerate(keys.location):
        if location is not None:
            by_label.setdefault(labels[key], []).append(key)
    distinct = list(labels)
    for label, same in by_label.items():
        if len(same) == 1:
            continue
        every = (
            [trace.strings[int(keys.name[key])] for key in same],
            [f"action {keys.instruction[key]}" for key in same],
            [str(keys.location[key]).removeprefix("loc(").removesuffix(")") for key in same],
        )
        hints = next((texts for texts in every if len(set(texts)) == len(same)), None)
        if hints is not None:
            for key, hint in zip(same, hints, strict=True):
                distinct[key] = f"{label} ({hint})"
    return distinct


def _ranks(texts: Sequence[str]) -> Ints:
    """Return the rank of each text in sorted order."""
    rank = np.empty(len(texts), np.int64)
    rank[sorted(range(len(texts)), key=texts.__getitem__)] = np.arange(len(texts))
    return rank


class EventsModel(ArrayModel[EventColumn]):
    """The rows of an `EventStatistics`, sorted and filtered."""

    def __init__(self, theme: Theme, parent: QObject | None = None) -> None:
        super().__init__(COLUMNS, theme, parent)
        self._contents: EventsContents | None = None
        self._swatches = SwatchPixmaps(theme)
        self.colors: Palette | None = None  # palette index per operator; None: its own
        self._rate = 1.0
        self._fractions: frozenset[EventColumn] = frozenset()
        self._titles: tuple[str, ...] = tuple(cell.title for cell in COLUMNS)
        self.unused: frozenset[EventColumn] = frozenset()
        self.with_units = False

    @property
    def _found(self) -> EventStatistics | None:
        return self._contents.found if self._contents is not None else None

    def show(self, shown: OpenTrace, contents: EventsContents, picked: str = "") -> None:
        """Show the statistics of a trace. Order and filter stay.

        Selected rows stay too if the trace is the same. picked: the title of the current
        inference's column, "" to hide it.
        """
        found = contents.found
        is_same = found is self._found
        if not is_same:
            self.beginResetModel()
            self._rate = float(shown.axis.ns_per_tick)
            self.with_units = not bool((found.unit < 0).all())
        self._swatches.clear()
        self._contents = contents
        self._titles = tuple(
            picked if cell is EventColumn.PICKED else cell.title for cell in COLUMNS
        )
        on_trace_clock = found.unit < 0
        self._fractions = frozenset(
            cell
            for cell, values in contents.columns.items()
            if cell.is_time and any_fraction_of_ns(values[on_trace_clock] * self._rate)
        )
        logged_once = bool((found.statistics.count <= 1).all())
        distributions = {
            EventColumn.P10,
            EventColumn.P90,
            EventColumn.AVG,
            EventColumn.MIN,
            EventColumn.MAX,
            EventColumn.SUM,
            EventColumn.SPREAD,
        }
        self.unused = (
            frozenset(distributions if logged_once else ())
            | ({EventColumn.BLOCK} if len(found.blocks) < 2 else set())
            | (set() if picked else {EventColumn.PICKED})
        )
        if is_same:
            self._rearrange()
            at = COLUMNS.index(EventColumn.PICKED)
            self.headerDataChanged.emit(Qt.Orientation.Horizontal, at, at)
        else:
            self._arrange()
            self.endResetModel()

    def clear(self) -> None:
        """Remove all rows; sort order and filter stay."""
        self.beginResetModel()
        self._contents, self.rows = None, np.empty(0, np.int64)
        self.endResetModel()

    def row_of(self, slice: int) -> int:
        """Return the row of a slice's event, -1 if it is not shown."""
        if self._found is None:
            return -1
        at = np.flatnonzero(self._found.slices == slice)
        if not len(at):
            return -1
        i = int(np.searchsorted(self._found.row_ptr, at[0], "right")) - 1
        shown = np.flatnonzero(self.rows == i)
        return int(shown[0]) if len(shown) else -1

    def longest_slice(self, row: int) -> int:
        """Return the slice of a row's longest occurrence."""
        assert self._found is not None
        where = self._found.occurrences(int(self.rows[row]))
        return int(self._found.slices[where][np.argmax(self._found.duration[where])])

    def tsv(self, rows: Iterable[int]) -> str:
        """Return rows and headings as tab-separated text with plain numbers and the native unit."""
        copied = (self.item(row) for row in rows)
        texts = (
            [*(self.text(i, cell, plain=True) for cell in COLUMNS), self._unit_name(i)]
            for i in copied
        )
        titles = (
            f"{title}, ns" if cell.is_time else title
            for cell, title in zip(COLUMNS, self._titles, strict=True)
        )
        return tsv_text([*titles, "native unit"], texts)

    def _unit_name(self, i: int) -> str:
        return self._found.unit_name(i) or "" if self._found is not None else ""

    def _arrange(self) -> None:
        shown = self._contents
        if shown is None:
            return
        rows = np.arange(len(shown.found))
        for word in self._filter.lower().split():
            rows = rows[_holds(shown, word)[rows]]
        if self._sort is not None:
            cell = COLUMNS[self._sort[0]]
            rows = self._sorted(rows, shown.columns[cell] if cell.field else shown.order[cell])
        self.rows = rows

    def text(self, i: int, cell: EventColumn, *, plain: bool = False) -> str:
        assert self._contents is not None
        found = self._contents.found
        if cell is EventColumn.EVENT:
            return self._contents.labels[int(found.key[i])]
        if cell is EventColumn.BLOCK:
            return found.block_titles[int(found.block[i])]
        value = float(self._contents.columns[cell][i])
        if np.isnan(value):
            return "" if plain else MISSING
        if cell is EventColumn.COUNT:
            return str(int(value)) if plain else group_digits(int(value))
        if cell is EventColumn.SPREAD:
            return f"{value:.1f}"
        unit = found.unit_name(i)
        if unit is not None:
            # A separate clock: numbers as logged, never converted to time.
            number = f"{value:.1f}".removesuffix(".0")
            return number if plain else f"{_grouped(number)}{NARROW_SPACE}{unit}"
        ns = value * self._rate
        if plain:
            return f"{ns:.3f}".removesuffix(".000")
        return format_bounded(ns, int(found.has_zeros[i]), ROUNDING_TICKS * self._rate)

    def titles(self) -> Sequence[str]:
        return self._titles

    def is_right(self, column: int) -> bool:
        return bool(COLUMNS[column].field)

    def is_time(self, column: int) -> bool:
        return COLUMNS[column].is_time

    def has_fractions(self, column: int) -> bool:
        return COLUMNS[column] in self._fractions

    def title_tip(self, column: int) -> str:
        return COLUMNS[column].tip

    def tooltip(self, i: int, cell: EventColumn) -> str:
        assert self._found is not None
        if cell is not EventColumn.EVENT:
            return ""
        link = self._found.table.links[int(self._found.key[i])]
        name = self._found.name(i)
        return "\n".join(dict.fromkeys((self.text(i, cell), name, link.detail)))

    def tone(self, i: int, cell: EventColumn) -> str:
        return "text1" if cell in (EventColumn.EVENT, EventColumn.P50) else "text2"

    def picture(self, i: int, cell: EventColumn) -> QPixmap | None:
        if cell is not EventColumn.EVENT or self._found is None:
            return None
        table = self._found.table
        operators = table.links[int(self._found.key[i])].operators
        swatch = self._swatches.of(colors_of(operators, self.colors))
        return swatch or (self._swatches.blank() if table.sets else None)


def _columns(found: EventStatistics, picked: Ints) -> dict[EventColumn, NDArray[Any]]:
    """Return the numbers of every column; the spread is NaN if the median is 0."""
    numbers = found.statistics
    fields = (
        EventColumn.COUNT,
        EventColumn.P10,
        EventColumn.P50,
        EventColumn.P90,
        EventColumn.AVG,
        EventColumn.MIN,
        EventColumn.MAX,
        EventColumn.SUM,
    )
    columns: dict[EventColumn, NDArray[Any]] = {
        cell: getattr(numbers, cell.field) for cell in fields
    }
    spread = np.full(len(found), np.nan)
    np.divide(100 * (numbers.p90 - numbers.p10), numbers.p50, out=spread, where=numbers.p50 > 0)
    columns[EventColumn.SPREAD] = spread
    columns[EventColumn.PICKED] = np.where(picked < 0, np.nan, picked)
    return columns


def _holds(shown: EventsContents, word: str) -> Bools:
    """Return which rows contain a word in one of their texts."""
    hit = np.zeros(len(shown.found), np.bool_)
    for codes, texts in shown.texts:
        hit |= np.array([word in text for text in texts], np.bool_)[codes]
    return hit | _metadata_holds(shown.found, word)


def _metadata_holds(found: EventStatistics, word: str) -> Bools:
    """Return which rows have an occurrence whose metadata contains a word, as text or as hex."""
    hit = np.zeros(len(found), np.bool_)
    column = found.table.trace.slices.columns.get(METADATA)
    if column is None or column.strings is None:
        return hit
    holds = np.array([word in text.lower() for text in column.strings], np.bool_)
    matching = holds[column.values[found.slices]]
    if column.valid is not None:
        matching &= column.valid[found.slices]
    rows = np.repeat(np.arange(len(found)), np.diff(found.row_ptr))
    hit[rows[matching]] = True
    return hit


def _grouped(number: str) -> str:
    integer, point, fraction = number.partition(".")
    return group_digits(int(integer)) + point + fraction
