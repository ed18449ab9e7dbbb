"""Table model of untimed events: rows in file order, filtered, texts created when painted.

An ETDump can contain a million such events. So rows are positions in the trace's columns, a filter
searches each distinct text once, and a cell's text is created when it is painted.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray
from PySide6.QtCore import QObject, Qt
from PySide6.QtGui import QPixmap
from PySide6.QtWidgets import QStyledItemDelegate, QStyleOptionViewItem

from viewer.analysis.links.labels import set_label
from viewer.analysis.links.untimed_links import keys_of, link_reason, runs_of
from viewer.arrays import Bools, Ints
from viewer.gui.panels.base.slice_facts import MISSING
from viewer.gui.panels.base.swatches import SwatchPixmaps, colors_of
from viewer.gui.qt.crash_report import guard
from viewer.gui.qt.theme.theme import FontRole, Theme
from viewer.gui.qt.widgets.column_table import TableColumn
from viewer.gui.qt.widgets.table_model import ArrayModel, Index, tsv_text
from viewer.model.times import group_digits
from viewer.model.trace import Column, UntimedEvents, UntimedKind, ValueType
from viewer.model.untimed import TYPE_NAMES, identifier_of, kind_name, value_text
from viewer.render.palette import Palette
from viewer.view.open_trace import OpenTrace

WITHOUT_DATA = "empty"


class UntimedColumn(TableColumn):
    """The columns: title, width, and whether it holds numbers."""

    RUN = ("Run", 120, False)
    EVENT = ("#", 52, True)
    AFTER = ("After", 120, False)
    KIND = ("Kind", 84, False)
    NAME = ("Name", 128, False)
    OPERATOR = ("Operator", 0, False)
    VALUE = ("Value", 140, False)
    SIZE = ("Bytes", 80, True)
    OFFSET = ("Offset", 72, True)

    def __init__(self, title: str, width: int, is_number: bool) -> None:
        super().__init__(title, width)
        self.is_number = is_number


COLUMNS = tuple(UntimedColumn)
_TITLES = tuple(cell.title for cell in COLUMNS)
# Gray columns: they show an event's place, not its contents.
_FAINT = frozenset(
    {
        UntimedColumn.RUN,
        UntimedColumn.EVENT,
        UntimedColumn.AFTER,
        UntimedColumn.KIND,
        UntimedColumn.OFFSET,
    }
)


class UntimedModel(ArrayModel[UntimedColumn]):
    """Some untimed events of a trace as rows; `unused` are the columns without information."""

    def __init__(self, theme: Theme, parent: QObject | None = None) -> None:
        super().__init__(COLUMNS, theme, parent)
        self._shown: OpenTrace | None = None
        self._all: Ints = np.empty(0, np.int64)
        self._keys: Ints = np.empty(0, np.int64)
        self._run: Ints = np.empty(0, np.int64)
        self._runs: tuple[str, ...] = ()
        self._operators: list[str] = []
        self._linked: Bools = np.empty(0, np.bool_)
        self._swatches = SwatchPixmaps(theme)
        self.colors: Palette | None = None  # palette index per operator; None: its own
        self.unused: frozenset[UntimedColumn] = frozenset()

    def show(self, shown: OpenTrace, rows: Ints) -> None:
        """Show some events of a trace, given by their indices. The filter stays."""
        self.beginResetModel()
        self._swatches.clear()
        if shown is not self._shown:
            self._shown = shown
            self._keys = keys_of(shown.trace)
            self._run, self._runs = runs_of(shown.table)
            self._linked = shown.table.set_of_key >= 0
            self._operators = [set_label(shown.table, x.operators) for x in shown.table.links]
        self._all = rows
        self.unused = self._unused_columns()
        self._arrange()
        self.endResetModel()

    def clear(self) -> None:
        """Remove all rows. The filter stays."""
        self.beginResetModel()
        self._shown, self._all, self.rows = None, np.empty(0, np.int64), np.empty(0, np.int64)
        self._keys, self._run, self._linked = self._all, self._all, np.empty(0, np.bool_)
        self.endResetModel()

    def _arrange(self) -> None:
        """Keep the rows in which each word is in some cell; scalars match by type, not by value."""
        self.rows = self._all
        words = self._filter.lower().split()
        if not words or self._shown is None or not len(self._all):
            return
        found = np.ones(len(self._all), np.bool_)
        searched = [
            (codes[self._all], [text.lower() for text in texts])
            for codes, texts in self._searched_texts()
        ]
        for word in words:
            hit = np.zeros(len(found), np.bool_)
            for codes, texts in searched:
                hit |= np.array([word in text for text in texts], np.bool_)[codes]
            found &= hit
        self.rows = self._all[found]

    def _searched_texts(self) -> list[tuple[NDArray[Any], Sequence[str]]]:
        """Return codes per event and texts for each text column; -1 is the last text, ""."""
        assert self._shown is not None
        shown, events = self._shown, self._shown.trace.untimed
        is_tensor = (events.type == ValueType.TENSOR) | (events.type == ValueType.TENSOR_LIST)
        types = [TYPE_NAMES[type] for type in ValueType]
        labels = np.append(shown.labels.astype(np.int64), -1)
        return [
            (self._run, self._runs),
            (labels[events.after], [*shown.label_strings, ""]),
            (events.kind, [kind.name for kind in UntimedKind]),
            (_codes(events.name), [*(events.name.strings or ()), ""]),
            (events.identifier, [*map(str, events.identifiers), ""]),
            (self._keys, [*self._operators, ""]),
            (
                np.where(is_tensor, events.value + len(types), events.type),
                [*types, *events.tensors],
            ),
        ]

    def _unused_columns(self) -> frozenset[UntimedColumn]:
        """Return the columns that are empty, and run and kind if all events have the same."""
        assert self._shown is not None
        events, rows = self._shown.trace.untimed, self._all
        has_name = (events.identifier[rows] >= 0) | _stated(events.name, rows)
        is_unused = {
            UntimedColumn.RUN: len(np.unique(self._run[rows])) < 2,
            UntimedColumn.KIND: len(np.unique(events.kind[rows])) < 2,
            UntimedColumn.NAME: not has_name.any(),
            UntimedColumn.VALUE: not events.type[rows].any(),
            UntimedColumn.OPERATOR: not np.append(self._linked, False)[self._keys[rows]].any(),
            UntimedColumn.SIZE: not _stated(events.size, rows).any(),
            UntimedColumn.OFFSET: not _stated(events.offset, rows).any(),
        }
        return frozenset(cell for cell, unused in is_unused.items() if unused)

    def slice_of(self, row: int) -> int:
        """Return the slice that a row follows, else the call that contains it, else -1."""
        if self._shown is None:
            return -1
        events, i = self._shown.trace.untimed, int(self.rows[row])
        return int(events.after[i]) if events.after[i] >= 0 else int(events.call[i])

    def tsv(self, rows: Iterable[int]) -> str:
        """Return rows and headings as tab-separated text with plain numbers."""
        copied = (self.item(row) for row in rows)
        return tsv_text(
            _TITLES, ((self.text(i, cell, plain=True) for cell in COLUMNS) for i in copied)
        )

    def text(self, i: int, cell: UntimedColumn, *, plain: bool = False) -> str:
        assert self._shown is not None
        shown, events = self._shown, self._shown.trace.untimed
        missing = "" if plain else MISSING
        match cell:
            case UntimedColumn.RUN:
                return self._runs[int(self._run[i])]
            case UntimedColumn.EVENT:
                return str(events.source_row[i]) if plain else group_digits(events.source_row[i])
            case UntimedColumn.AFTER:
                return shown.label(int(events.after[i])) if events.after[i] >= 0 else missing
            case UntimedColumn.KIND:
                return kind_name(events, i)
            case UntimedColumn.NAME:
                return _name(events, i) or missing
            case UntimedColumn.OPERATOR:
                return self._operators[self._keys[i]] or missing if self._keys[i] >= 0 else missing
            case UntimedColumn.VALUE:
                text = value_text(events, i) or missing
                return f"{text} · output" if events.output[i] else text
        number = (events.size if cell is UntimedColumn.SIZE else events.offset).value(i)
        if number is None:
            return missing
        if cell is UntimedColumn.OFFSET and number == -1:
            return WITHOUT_DATA
        return str(number) if plain else group_digits(int(number))

    def tooltip(self, i: int, cell: UntimedColumn) -> str:
        assert self._shown is not None
        text, events = self.text(i, cell), self._shown.trace.untimed
        if cell is UntimedColumn.OPERATOR and text == MISSING:
            return link_reason(self._shown.table, i)
        if cell is UntimedColumn.OFFSET and text == WITHOUT_DATA:
            return "The tensor has no data in the debug buffer"
        place = events.offset.value(i)
        if cell is UntimedColumn.VALUE and place is not None and place != -1:
            return f"{text}\nat byte {group_digits(int(place))} of the debug buffer"
        return "" if text == MISSING else text

    def titles(self) -> Sequence[str]:
        return _TITLES

    def is_right(self, column: int) -> bool:
        return COLUMNS[column].is_number

    def font_role(self, i: int, cell: UntimedColumn) -> FontRole:
        is_code = cell is UntimedColumn.VALUE and self.text(i, cell) != MISSING
        return "code" if is_code else "cell"

    def tone(self, i: int, cell: UntimedColumn) -> str:
        return "text2" if cell in _FAINT or self.text(i, cell) == MISSING else "text1"

    def picture(self, i: int, cell: UntimedColumn) -> QPixmap | None:
        if cell is not UntimedColumn.OPERATOR or self._shown is None:
            return None
        key = int(self._keys[i])
        operators = self._shown.table.links[key].operators if key >= 0 else ()
        return self._swatches.of(colors_of(operators, self.colors))


class MiddleElided(QStyledItemDelegate):
    """Elides names in the middle, because their ends differ: "blocks.0…attention"."""

    @guard
    def initStyleOption(self, option: QStyleOptionViewItem, index: Index) -> None:
        super().initStyleOption(option, index)
        if COLUMNS[index.column()] in (UntimedColumn.AFTER, UntimedColumn.OPERATOR):
            option.textElideMode = Qt.TextElideMode.ElideMiddle


def _name(events: UntimedEvents, i: int) -> str:
    """Return the allocator, or the name and delegate debug identifier logged with a value."""
    identifier = identifier_of(events, i)
    parts = (events.name.value(i), None if identifier is None else str(identifier))
    return " · ".join(str(part) for part in parts if part is not None)


def _codes(column: Column) -> NDArray[Any]:
    codes = column.values.astype(np.int64)
    return codes if column.valid is None else np.where(column.valid, codes, -1)


def _stated(column: Column, rows: Ints) -> Bools:
    return np.ones(len(rows), np.bool_) if column.valid is None else column.valid[rows]
