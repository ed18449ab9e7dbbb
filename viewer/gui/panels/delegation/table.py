"""Table model of the delegation report.

Its sections are stacked under shared columns; sorting and filtering work within each section. A
reason is one row across all columns: its number of slices, and below that how to fix it.
"""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np
from PySide6.QtCore import QObject, Qt

from viewer.analysis.delegates.delegation import Unlinked
from viewer.arrays import Ints
from viewer.gui.panels.base.operator_tables.contents import OperatorContents, TableRow
from viewer.gui.panels.base.operator_tables.model import OperatorModel
from viewer.gui.panels.base.tables.columns import Copied
from viewer.gui.panels.delegation.page import LINKS, DelegationItem, DelegationLine, DelegationPage
from viewer.gui.qt.crash_report import guard
from viewer.gui.qt.widgets.labels import tip
from viewer.gui.qt.widgets.table_model import Index
from viewer.model.text import visible_line
from viewer.model.times import group_digits

AT_FIRST = 8  # rows of a section; a click on the row below them shows the rest


class DelegationModel(OperatorModel):
    """The rows of a report, section by section."""

    def __init__(self, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self.page = DelegationPage(OperatorContents(), ())  # of the contents that are shown next
        self._open: set[str] = set()  # titles of sections whose rows are all shown

    def expand(self, section: str) -> None:
        """Show all rows of a section."""
        self.beginResetModel()
        self._open.add(section)
        self._arrange()
        self.endResetModel()

    def entry(self, row: int) -> DelegationItem:
        """Return what a row shows."""
        return self._entry_of(self.rows[row])

    def _entry_of(self, row: TableRow) -> DelegationItem:
        if row.group < 0:
            return DelegationItem(DelegationLine.MORE, row.module)
        return self.page.items[row.group]

    def _arrange(self) -> None:
        every = self.contents.rows
        words = self._filter.lower().split()
        lines: list[tuple[int, TableRow]] = []
        for place, head in enumerate(every):
            if self._entry_of(head).line is not DelegationLine.SECTION:
                continue
            section = self._entry_of(head).section
            inside = [
                i
                for i, row in enumerate(every)
                if row is not head
                and self._entry_of(row).section == section
                and all(word in f"{row.name} {row.detail}".lower() for word in words)
            ]
            if words and not inside:
                continue
            if self._sort is not None:
                column, order = self._sort
                descending = order == Qt.SortOrder.DescendingOrder
                inside.sort(key=lambda i: every[i].keys[column], reverse=descending)
            lines.append((place, head))
            most = len(inside) if words or section in self._open or section == LINKS else AT_FIRST
            if len(inside) == most + 1:
                most += 1
            lines += [(i, every[i]) for i in inside[:most]]
            if inside[most:]:
                text = f"Show {group_digits(len(inside) - most)} more"
                empty = ("",) * len(self.contents.headings)
                # Of a section there is one such row: its place is after all others.
                lines.append((len(every) + place, TableRow((), section, text, "", empty, (text,))))
        self.items = np.array([place for place, _ in lines], np.int64)
        self.rows = [row for _, row in lines]

    def tsv(self, rows: Iterable[int]) -> str:
        """Return rows and headings as tab-separated text, without those that span all columns."""
        spans = DelegationLine.SECTION, DelegationLine.MORE
        return super().tsv(row for row in rows if self.entry(row).line not in spans)

    def copied(self, contents: OperatorContents, items: Ints) -> Copied:
        """Return rows as in other tables, with their section and the remedy of each reason."""
        titles, lines = super().copied(contents, items)
        has_links = any(entry.line is DelegationLine.REASON for entry in self.page.items)
        rows = [contents.rows[i] for i in items.tolist()]
        cells = (self._with_remedy(row, line) for row, line in zip(rows, lines, strict=True))
        return ["Section", *titles, *(["What to do"] if has_links else [])], cells

    def _with_remedy(self, row: TableRow, line: Iterable[str]) -> list[str]:
        entry = self._entry_of(row)
        if not isinstance(entry.of, Unlinked):
            return [entry.section, *line]
        # The number of slices is in the column before the last one, of source lines.
        empty = [""] * (len(self.contents.headings) - 3)
        return [entry.section, row.name, *empty, str(entry.of.slices), "", entry.of.remedy]

    @guard
    def flags(self, index: Index) -> Qt.ItemFlag:
        if index.isValid() and self.entry(index.row()).line is DelegationLine.SECTION:
            return Qt.ItemFlag.NoItemFlags  # arrow keys skip it
        return super().flags(index)

    @guard
    def data(self, index: Index, role: int = Qt.ItemDataRole.DisplayRole) -> object:
        if not index.isValid() or index.row() >= len(self.rows):
            return None
        row, item = self.rows[index.row()], self.entry(index.row())
        if role in (Qt.ItemDataRole.DisplayRole, Qt.ItemDataRole.AccessibleTextRole):
            if item.line is DelegationLine.SECTION:
                return f"{row.op}: {row.hint}. {row.detail}"
            if item.line is DelegationLine.REASON:
                return f"{row.name}: {row.texts[1]}. {row.detail}"
            if item.line is DelegationLine.MORE:
                return row.op
            return visible_line(row.texts[index.column()] if index.column() else row.name)
        if role == Qt.ItemDataRole.ToolTipRole and isinstance(item.of, Unlinked):
            more = item.of.details - 1
            note = f"\nand {group_digits(more)} more like it" if more else ""
            return tip(f"{item.of.detail}{note}")
        if role == Qt.ItemDataRole.ToolTipRole and item.line is DelegationLine.SECTION:
            return tip(f"{row.op}: {row.hint}\n{row.detail}".strip())
        if role == Qt.ItemDataRole.ToolTipRole and index.column() and row.detail:
            return tip(row.detail)
        return super().data(index, role)
