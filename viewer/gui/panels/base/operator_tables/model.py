"""The model of tables of operators and other groups, with their costs.

It sorts and filters by the rows' own keys, without a proxy: 5,000 rows stay instant.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from PySide6.QtCore import QObject, Qt

from viewer.gui.panels.base.operator_tables.contents import (
    LINE,
    ColumnKind,
    Heading,
    OperatorContents,
    TableRow,
)
from viewer.gui.panels.base.slice_facts import MISSING, plain_ns, plain_number
from viewer.gui.qt.crash_report import guard
from viewer.gui.qt.widgets.labels import tip
from viewer.gui.qt.widgets.table_model import LEFT, RIGHT, Index, TitledModel
from viewer.model.text import visible_controls
from viewer.model.times import MINUS, is_fraction_of_ns

ROW_ROLE = Qt.ItemDataRole.UserRole + 1
RELATED_ROLE = Qt.ItemDataRole.UserRole + 3
RIGHT_KINDS = (ColumnKind.NUMBER, ColumnKind.TIME, ColumnKind.SHARE, ColumnKind.CHANGE)
_NUMBERS = (*RIGHT_KINDS, ColumnKind.BAR)


class OperatorModel(TitledModel):
    """The rows of `OperatorContents`, sorted and filtered."""

    def __init__(self, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self.contents = OperatorContents()
        self._titles: tuple[str, ...] = ()
        self._fractions: frozenset[int] = frozenset()
        self._has_swatches = False
        self.rows: list[TableRow] = []
        self._filter = ""
        self._sort: tuple[int, Qt.SortOrder] = (-1, Qt.SortOrder.DescendingOrder)
        self._wanted: frozenset[int] = frozenset()

    def show(self, contents: OperatorContents) -> None:
        """Replace all rows; keep the filter, and the order if the number of columns is equal."""
        self.beginResetModel()
        if len(contents.headings) != len(self.contents.headings):
            self._sort = (-1, Qt.SortOrder.DescendingOrder)
        self.contents = contents
        self._titles = tuple(heading.title for heading in contents.headings)
        self._fractions = frozenset(
            column
            for column, heading in enumerate(contents.headings)
            if heading.is_time and any(map(is_fraction_of_ns, contents.texts(column)))
        )
        self._has_swatches = any(row.operators for row in contents.rows)
        self._arrange()
        self.endResetModel()

    def clear(self) -> None:
        """Remove all rows and keep the columns."""
        self.show(OperatorContents(self.contents.headings))

    @property
    def has_swatches(self) -> bool:
        """Whether any row has operators."""
        return self._has_swatches

    def set_filter(self, text: str) -> None:
        """Show only the rows whose name or line contains every word of a text."""
        self.beginResetModel()
        self._filter = text
        self._arrange()
        self.endResetModel()

    def set_selected(self, operators: Iterable[int]) -> None:
        """Tint the rows that share one of these operators."""
        selected = frozenset(operators)
        if selected != self._wanted:
            self._wanted = selected
            if self.rows:
                last = self.index(len(self.rows) - 1, self.columnCount() - 1)
                self.dataChanged.emit(self.index(0, 0), last, [RELATED_ROLE])

    def row_of(self, operators: tuple[int, ...]) -> int:
        """Return the row that covers exactly these operators, -1 if it is not shown."""
        members = set(operators)
        return next((i for i, r in enumerate(self.rows) if set(r.operators) == members), -1)

    def tsv(self, rows: Iterable[int]) -> str:
        """Return rows and headings as tab-separated text: times in ns, no digit grouping."""
        headings = self.contents.headings
        titles = (f"{h.title}, ns" if h.is_time else h.title for h in headings)
        lines = ["\t".join(titles)]
        for i in rows:
            row = self.rows[i]
            cells = [
                _plain(heading, text, key)
                for heading, text, key in zip(headings, row.texts, row.keys, strict=False)
            ]
            lines.append("\t".join((row.name, *cells[1:])))
        return "\n".join(lines) + "\n"

    def _arrange(self) -> None:
        words = self._filter.lower().split()
        titles = [heading.title for heading in self.contents.headings]
        line = titles.index(LINE) if LINE in titles else 0  # the text of the name column is empty
        self.rows = [
            row
            for row in self.contents.rows
            if all(w in row.name.lower() or w in row.texts[line] for w in words)
        ]
        self._sort_rows()

    def _sort_rows(self) -> None:
        column, order = self._sort
        if 0 <= column < len(self.contents.headings):
            reverse = order == Qt.SortOrder.DescendingOrder
            self.rows.sort(key=lambda row: row.keys[column], reverse=reverse)
            # A missing number is neither the smallest nor the greatest: it comes last in both
            # orders.
            self.rows.sort(key=lambda row: row.texts[column] == MISSING)

    @guard
    def sort(self, column: int, order: Qt.SortOrder = Qt.SortOrder.AscendingOrder) -> None:
        self.layoutAboutToBeChanged.emit()
        before, indexes = self.rows, self.persistentIndexList()
        self._sort = (column, order)
        self._arrange()
        place = {id(row): number for number, row in enumerate(self.rows)}
        now = [self.index(place[id(before[i.row()])], i.column()) for i in indexes]
        self.changePersistentIndexList(indexes, now)
        self.layoutChanged.emit()

    def shown_rows(self) -> int:
        return len(self.rows)

    def title_tip(self, column: int) -> str:
        return self.contents.headings[column].tip

    def titles(self) -> Sequence[str]:
        return self._titles

    def is_right(self, column: int) -> bool:
        return self.contents.headings[column].kind in RIGHT_KINDS

    def is_number(self, column: int) -> bool:
        return self.contents.headings[column].kind in _NUMBERS

    def is_time(self, column: int) -> bool:
        return self.contents.headings[column].is_time

    def has_fractions(self, column: int) -> bool:
        return column in self._fractions

    @guard
    def data(self, index: Index, role: int = Qt.ItemDataRole.DisplayRole) -> object:
        if not index.isValid() or index.row() >= len(self.rows):
            return None
        row, column = self.rows[index.row()], index.column()
        if role == Qt.ItemDataRole.DisplayRole:
            return visible_controls(row.texts[column] if column else row.name)
        if role == ROW_ROLE:
            return row
        if role == RELATED_ROLE:
            return not self._wanted.isdisjoint(row.operators)
        if role == Qt.ItemDataRole.TextAlignmentRole:
            return RIGHT if self.contents.headings[column].kind in _NUMBERS else LEFT
        if role == Qt.ItemDataRole.ToolTipRole and column == 0:
            return tip("\n".join(filter(None, (row.name, row.detail))))
        return None


def _plain(heading: Heading, text: str, key: float | str) -> str:
    """Return a cell for a copy: times in ns, and small shares with their first digits."""
    if heading.is_time and text.lstrip(f"+{MINUS}")[:1].isdecimal():
        return plain_ns(key)
    if heading.kind is ColumnKind.SHARE and text.startswith("<"):
        return f"{100 * float(key):.1g}"
    return plain_number(text)
