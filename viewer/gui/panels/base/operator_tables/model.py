"""The model of tables of operators and other groups, with their costs.

It sorts and filters by the rows' own keys, without a proxy: 5,000 rows stay instant.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np
from PySide6.QtCore import QObject, Qt

from viewer.arrays import Bools, Ints
from viewer.gui.panels.base.operator_tables.contents import LINE, OperatorContents, TableRow
from viewer.gui.panels.base.slice_facts import MISSING, plain_ns, plain_number
from viewer.gui.panels.base.tables.columns import ColumnKind, Copied, Heading
from viewer.gui.panels.base.tables.model import ArrangedModel
from viewer.gui.qt.crash_report import guard
from viewer.gui.qt.widgets.labels import tip
from viewer.gui.qt.widgets.table_model import LEFT, RIGHT, Index
from viewer.model.text import name_text, visible_line
from viewer.model.times import MINUS, is_fraction_of_ns

ROW_ROLE = Qt.ItemDataRole.UserRole + 1
RELATED_ROLE = Qt.ItemDataRole.UserRole + 3


class OperatorModel(ArrangedModel[OperatorContents]):
    """The rows of `OperatorContents`, sorted and filtered; `rows` are those that are shown."""

    contents: OperatorContents

    def __init__(self, parent: QObject | None = None) -> None:
        super().__init__((), parent)
        self.contents = OperatorContents()
        self.rows: list[TableRow] = []
        self.has_swatches = False  # whether any row has operators
        self._wanted: frozenset[int] = frozenset()
        self.hidden: frozenset[str] = frozenset()  # the columns that are not chosen, by `name_of`

    @staticmethod
    def name_of(heading: Heading) -> str:
        """Return what a column is called whatever its figures are per."""
        return heading.key or heading.title

    def choose_columns(self, hidden: Iterable[str]) -> None:
        """Hide some columns, by `name_of`, and show all others."""
        self.hidden = frozenset(hidden)
        self.describe(self.contents)
        last = len(self.columns) - 1
        self.headerDataChanged.emit(Qt.Orientation.Horizontal, 0, last)

    def show(self, contents: OperatorContents | None, *, stays: bool = False) -> None:
        """Replace all rows; keep the filter, and the order if the number of columns is equal."""
        if contents is None:
            contents = OperatorContents(self.contents.headings)
        if len(contents.headings) != len(self.contents.headings):
            self._sort = None
        super().show(contents, stays=stays)

    def describe(self, contents: OperatorContents) -> None:
        self.columns = contents.headings
        super().describe(contents)
        self.unused |= {
            i for i, heading in enumerate(contents.headings) if self.name_of(heading) in self.hidden
        }
        self._fractions = frozenset(
            column
            for column, heading in enumerate(contents.headings)
            if heading.is_time and any(map(is_fraction_of_ns, contents.texts(column)))
        )
        self.has_swatches = any(row.operators for row in contents.rows)

    def set_selected(self, operators: Iterable[int]) -> None:
        """Tint the rows that share one of these operators."""
        selected = frozenset(operators)
        if selected != self._wanted:
            self._wanted = selected
            self.repaint(RELATED_ROLE)

    def row_of(self, operators: tuple[int, ...]) -> int:
        """Return the row that covers exactly these operators, -1 if it is not shown."""
        members = set(operators)
        return next((i for i, r in enumerate(self.rows) if set(r.operators) == members), -1)

    # -- rows ------------------------------------------------------------------------------------

    def listed(self, contents: OperatorContents) -> Ints:
        return np.arange(len(contents.rows))

    def holds(self, contents: OperatorContents, word: str) -> Bools:
        """Return the rows whose name or line contains a word."""
        titles = [heading.title for heading in contents.headings]
        line = titles.index(LINE) if LINE in titles else 0  # the text of the name column is empty
        found = (word in row.name.lower() or word in row.texts[line] for row in contents.rows)
        hits = np.fromiter(found, np.bool_, len(contents.rows))
        if not contents.is_nested:
            return hits
        # A row keeps its parts, and a part the row that it is below.
        above = _above(contents)
        hits |= hits[above]
        hits[above[hits]] = True
        return hits

    def sorted_items(
        self, contents: OperatorContents, items: Ints, column: int, *, descending: bool
    ) -> Ints:
        """Sort by the keys of rows. A missing number is neither small nor great: it comes last."""
        rows = contents.rows
        by = sorted(items.tolist(), key=lambda i: rows[i].keys[column], reverse=descending)
        by.sort(key=lambda i: rows[i].texts[column] == MISSING)
        if contents.is_nested:
            above = _above(contents).tolist()
            place = {i: number for number, i in enumerate(by)}
            by.sort(key=lambda i: (place.get(above[i], -1), i != above[i]))
        return np.array(by, np.int64)

    def _arrange(self) -> None:
        super()._arrange()
        self.rows = [self.contents.rows[i] for i in self.items.tolist()]

    def copied(self, contents: OperatorContents, items: Ints) -> Copied:
        """Return the names and cells of rows: times in ns, no digit grouping."""
        chosen = [i for i in range(len(contents.headings)) if i not in self.unused]
        headings = [contents.headings[i] for i in chosen]
        titles = [f"{h.title}, ns" if h.is_time else h.title for h in headings]
        return titles, (self._copied_row(contents.rows[i], chosen) for i in items.tolist())

    def _copied_row(self, row: TableRow, chosen: Sequence[int]) -> list[str]:
        cells = [_plain(*c) for c in zip(self.contents.headings, row.texts, row.keys, strict=False)]
        return [row.name, *(cells[i] for i in chosen[1:] if i < len(cells))]

    # -- cells -----------------------------------------------------------------------------------

    @guard
    def data(self, index: Index, role: int = Qt.ItemDataRole.DisplayRole) -> object:
        if not index.isValid() or index.row() >= len(self.rows):
            return None
        row, column = self.rows[index.row()], index.column()
        if role == Qt.ItemDataRole.DisplayRole:
            return visible_line(row.texts[column]) if column else name_text(row.name)
        if role == ROW_ROLE:
            return row
        if role == RELATED_ROLE:
            return not self._wanted.isdisjoint(row.operators)
        if role == Qt.ItemDataRole.TextAlignmentRole:
            return RIGHT if self.columns[column].kind.is_number else LEFT
        if role == Qt.ItemDataRole.ToolTipRole and column == 0:
            return tip("\n".join(filter(None, (row.name, row.detail))))
        return None


def _above(contents: OperatorContents) -> Ints:
    """Return per row the row without an indent that it is below, which may be itself."""
    is_first = np.array([not row.indent for row in contents.rows], np.bool_)
    return np.maximum.accumulate(np.where(is_first, np.arange(len(is_first)), 0))


def _plain(heading: Heading, text: str, key: float | str) -> str:
    """Return a cell for a copy: times in ns, and small shares with their first digits."""
    if heading.is_time and text.lstrip(f"+{MINUS}")[:1].isdecimal():
        return plain_ns(key)
    if heading.kind is ColumnKind.SHARE and text.startswith("<"):
        return f"{100 * float(key):.1g}"
    return plain_number(text)
