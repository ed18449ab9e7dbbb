"""Debug handle maps as a table: identifier, handles, operators and time, one row per entry."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from enum import Enum

import numpy as np
from PySide6.QtCore import QObject, Qt

from viewer.analysis.cost.lines import source_place
from viewer.analysis.delegates.handle_maps import IdentifierStatus, MapRow
from viewer.analysis.statistics import figure_terms
from viewer.arrays import Bools, Ints
from viewer.gui.panels.base.operator_tables.contents import (
    Cell,
    OperatorContents,
    RowColumns,
    TableRow,
    cells_of,
    headings_of,
    term_heading,
)
from viewer.gui.panels.base.operator_tables.model import OperatorModel
from viewer.gui.panels.base.slice_facts import MISSING
from viewer.gui.panels.base.tables.columns import ColumnKind, Copied, Heading
from viewer.gui.qt.crash_report import guard
from viewer.gui.qt.widgets.labels import tip
from viewer.gui.qt.widgets.table_model import Index
from viewer.model.times import format_time, group_digits, tick_to_ns
from viewer.program.debug_handles import short_identifier
from viewer.program.program import Program
from viewer.view.open_trace import OpenTrace

MOST_SHOWN = 20_000  # rows; a longer table would block the window for more than 100 ms


class RowFilter(Enum):
    """A filter by status: its title, and the statuses that it shows (none: all rows)."""

    ALL = ("All", ())
    NEVER_LOGGED = ("Never logged", (IdentifierStatus.NEVER_LOGGED,))
    NOT_REGISTERED = ("Not in map", (IdentifierStatus.NOT_REGISTERED,))
    UNCOVERED = ("Handles without identifier", (IdentifierStatus.UNCOVERED,))

    def __init__(self, title: str, statuses: tuple[IdentifierStatus, ...]) -> None:
        self.title = title
        self.statuses = statuses

    def has(self, row: MapRow) -> bool:
        """Whether a row is shown."""
        return not self.statuses or row.status in self.statuses


NONE_OF = {
    RowFilter.ALL: "",
    RowFilter.NEVER_LOGGED: "Every registered identifier was logged, if its call ran.",
    RowFilter.NOT_REGISTERED: "Every identifier that a call logged is in its map.",
    RowFilter.UNCOVERED: "Every debug handle of the calls has an identifier.",
}


@dataclass(frozen=True, slots=True)
class MapRows:
    """The table contents. `TableRow.group` is an index into `rows`."""

    contents: OperatorContents
    rows: tuple[MapRow, ...]


def maps_of(
    rows: Sequence[MapRow], program: Program | None, open_trace: OpenTrace | None
) -> MapRows:
    """Return the rows of a profile, or of an ETRecord without a profile, which has no times."""
    rate = None if open_trace is None else open_trace.axis.ns_per_tick
    several = len({row.method for row in rows if row.instruction >= 0}) > 1

    def time(row: MapRow) -> Cell:
        has_time = rate is not None and row.has_time
        ns = tick_to_ns(row.ticks, rate) if rate is not None and has_time else -1
        return format_time(ns) if ns >= 0 else MISSING, ns

    def handles(row: MapRow) -> Cell:
        return _handles(row), row.handles[0] if row.handles else -1

    def names(row: MapRow) -> Cell:
        operators = [] if program is None else [program.operators[i] for i in row.operators]
        text = " + ".join(operator.label for operator in operators) or MISSING
        return text, text.lower()

    of_time: RowColumns[MapRow] = (
        (term_heading(figure_terms.SELF, ColumnKind.TIME, 92), time),
        (Heading("Status", ColumnKind.TEXT, 104),
            lambda row: (row.status.title, row.status.title)),
    )  # fmt: skip
    counts: RowColumns[MapRow] = (
        (term_heading(figure_terms.COUNT, ColumnKind.NUMBER, 60),
            lambda row: (group_digits(row.slices) if row.slices else MISSING, row.slices)),
    )  # fmt: skip
    columns: RowColumns[MapRow] = (
        *(() if rate is None else of_time),
        (Heading("Handles", ColumnKind.TEXT, 60), handles),
        (Heading("Operators", ColumnKind.TEXT, 140), names),
        *(() if rate is None else counts),
        (Heading("Backend", ColumnKind.TEXT, 150),
            lambda row: (row.backend or MISSING, row.backend)),
    )  # fmt: skip
    table_rows = []
    for number, row in enumerate(rows[:MOST_SHOWN]):
        name = short_identifier(row.identifier) if row.identifier else f"handle {_handles(row)}"
        where = f"instr. {row.instruction}" if row.instruction >= 0 else row.no_instruction
        if several:
            where = f"{row.method} · {where}"
        if rate is None and row.status is IdentifierStatus.UNCOVERED:
            where += f" · {row.status.title}"
        cells = cells_of(columns, row, name.lower())
        table_rows.append(
            TableRow(row.operators, "", name, where, *cells, group=number, detail=_detail(row))
        )
    contents = OperatorContents(headings_of("Identifier", columns), tuple(table_rows))
    if program is not None:
        contents = replace(contents, place=lambda i: source_place(program, i))
    return MapRows(contents, tuple(rows))


def _handles(row: MapRow) -> str:
    return ", ".join(map(str, row.handles)) or MISSING


def _detail(row: MapRow) -> str:
    """Return the tooltip of a row, without its name."""
    texts = [row.identifier] if row.identifier.startswith("{") else []
    texts.append(f"{row.method}, instruction {row.instruction}" if row.instruction >= 0 else "")
    texts.append(row.detail)
    if row.foreign:
        texts.append(f"{group_digits(row.foreign)} of its slices have a separate clock")
    return "\n".join(text for text in texts if text)


class HandleMapModel(OperatorModel):
    """The rows that have the chosen status and contain every word of the filter."""

    def __init__(self, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self.maps = MapRows(OperatorContents(), ())  # belongs to the contents that are shown next
        self._show = RowFilter.ALL

    def set_show(self, show: RowFilter) -> None:
        """Show the rows with a status, or all rows."""
        self.beginResetModel()
        self._show = show
        self._arrange()
        self.endResetModel()

    def map_row(self, row: int) -> MapRow:
        """Return what a row shows."""
        return self.maps.rows[self.rows[row].group]

    def shown_map_rows(self) -> list[MapRow]:
        """Return all visible rows, in their order."""
        return [self.maps.rows[row.group] for row in self.rows]

    def listed(self, contents: OperatorContents) -> Ints:
        """Return the rows with the chosen status."""
        return np.flatnonzero([self._show.has(self.maps.rows[row.group]) for row in contents.rows])

    def holds(self, contents: OperatorContents, word: str) -> Bools:
        """Return the rows with a word in their name, cells or identifier."""
        matches = (
            word in " ".join((r.name, *r.texts, self.maps.rows[r.group].identifier)).lower()
            for r in contents.rows
        )
        return np.fromiter(matches, np.bool_, len(contents.rows))

    def copied(self, contents: OperatorContents, items: Ints) -> Copied:
        """Return rows as in other tables, with status and note."""
        titles, lines = super().copied(contents, items)
        entries = [self.maps.rows[contents.rows[i].group] for i in items.tolist()]
        ends = ((entry.status.title, _detail(entry)) for entry in entries)
        return [*titles, "Status", "Note"], ([*c, *end] for c, end in zip(lines, ends, strict=True))

    @guard
    def data(self, index: Index, role: int = Qt.ItemDataRole.DisplayRole) -> object:
        if role == Qt.ItemDataRole.ToolTipRole and index.isValid() and index.column():
            if index.row() >= len(self.rows):
                return None
            row = self.rows[index.row()]
            return tip("\n".join(filter(None, (row.texts[index.column()], row.detail))))
        return super().data(index, role)
