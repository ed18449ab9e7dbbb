"""Table model of the delegation report.

Its sections are stacked under shared columns; sorting and filtering work within each section. A
reason is one row across all columns: its number of slices, and below that how to fix it.
"""

from __future__ import annotations

from collections.abc import Iterable

from PySide6.QtCore import QObject, Qt

from viewer.analysis.delegates.delegation import Unlinked
from viewer.gui.panels.base.operator_tables.contents import OperatorContents, TableRow
from viewer.gui.panels.base.operator_tables.model import OperatorModel
from viewer.gui.panels.delegation.page import LINKS, DelegationItem, DelegationLine, DelegationPage
from viewer.gui.qt.crash_report import guard
from viewer.gui.qt.widgets.labels import tip
from viewer.gui.qt.widgets.table_model import Index
from viewer.model.text import visible_controls
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

    def item(self, row: int) -> DelegationItem:
        """Return what a row shows."""
        return self._item_of(self.rows[row])

    def _item_of(self, row: TableRow) -> DelegationItem:
        if row.group < 0:
            return DelegationItem(DelegationLine.MORE, row.module)
        return self.page.items[row.group]

    def _arrange(self) -> None:
        words = self._filter.lower().split()
        column, order = self._sort
        self.rows = []
        for head in (
            r for r in self.contents.rows if self._item_of(r).line is DelegationLine.SECTION
        ):
            section = self._item_of(head).section
            rows = [
                row
                for row in self.contents.rows
                if row is not head
                and self._item_of(row).section == section
                and all(word in f"{row.name} {row.detail}".lower() for word in words)
            ]
            if words and not rows:
                continue
            if 0 <= column < len(self.contents.headings):
                descending = order == Qt.SortOrder.DescendingOrder
                rows.sort(key=lambda row: row.keys[column], reverse=descending)
            self.rows.append(head)
            most = len(rows) if words or section in self._open or section == LINKS else AT_FIRST
            if len(rows) == most + 1:
                most += 1
            self.rows += rows[:most]
            if rows[most:]:
                text = f"Show {group_digits(len(rows) - most)} more"
                empty = ("",) * len(self.contents.headings)
                self.rows.append(TableRow((), section, text, "", empty, (text,)))

    def tsv(self, rows: Iterable[int]) -> str:
        """Return rows and headings as tab-separated text, with the remedy of each reason."""
        copied = [
            row
            for row in rows
            if self.item(row).line not in (DelegationLine.SECTION, DelegationLine.MORE)
        ]
        lines = super().tsv(copied).splitlines()
        columns = len(self.contents.headings)
        has_links = any(item.line is DelegationLine.REASON for item in self.page.items)
        text = [f"Section\t{lines[0]}" + ("\tWhat to do" if has_links else "")]
        for row, line in zip(copied, lines[1:], strict=True):
            item = self.item(row)
            if isinstance(item.of, Unlinked):
                # The number of slices is in the column before the last one, of source lines.
                cells = [self.rows[row].name, *[""] * (columns - 3), str(item.of.slices), ""]
                line = "\t".join([*cells, item.of.remedy])
            text.append(f"{item.section}\t{line}")
        return "\n".join(text) + "\n"

    @guard
    def flags(self, index: Index) -> Qt.ItemFlag:
        if index.isValid() and self.item(index.row()).line is DelegationLine.SECTION:
            return Qt.ItemFlag.NoItemFlags  # arrow keys skip it
        return super().flags(index)

    @guard
    def data(self, index: Index, role: int = Qt.ItemDataRole.DisplayRole) -> object:
        if not index.isValid() or index.row() >= len(self.rows):
            return None
        row, item = self.rows[index.row()], self.item(index.row())
        if role in (Qt.ItemDataRole.DisplayRole, Qt.ItemDataRole.AccessibleTextRole):
            if item.line is DelegationLine.SECTION:
                return f"{row.op}: {row.hint}. {row.detail}"
            if item.line is DelegationLine.REASON:
                return f"{row.name}: {row.texts[1]}. {row.detail}"
            if item.line is DelegationLine.MORE:
                return row.op
            return visible_controls(row.texts[index.column()] if index.column() else row.name)
        if role == Qt.ItemDataRole.ToolTipRole and isinstance(item.of, Unlinked):
            more = item.of.details - 1
            note = f"\nand {group_digits(more)} more like it" if more else ""
            return tip(f"{item.of.detail}{note}")
        if role == Qt.ItemDataRole.ToolTipRole and item.line is DelegationLine.SECTION:
            return tip(f"{row.op}: {row.hint}\n{row.detail}".strip())
        if role == Qt.ItemDataRole.ToolTipRole and index.column() and row.detail:
            return tip(row.detail)
        return super().data(index, role)
