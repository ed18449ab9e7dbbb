"""The Problems panel: unexpected data, doubtful matches and files that could not be opened."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from PySide6.QtCore import QRect, QSize, Qt, Slot
from PySide6.QtGui import QFontMetrics
from PySide6.QtWidgets import QHeaderView, QStyledItemDelegate, QStyleOptionViewItem, QTableView

from viewer.gui.panels.base.panel import PagePanel, PanelHost
from viewer.gui.panels.base.table import (
    CopyScope,
    PanelColumn,
    PanelTable,
    TableModel,
    TableView,
    column_of,
)
from viewer.gui.qt.crash_report import guard
from viewer.gui.qt.theme.theme import Theme
from viewer.gui.qt.widgets.tables import ROW_HEIGHT, Index
from viewer.gui.session.feeds.feed import ProblemEntry, ProblemsFeed
from viewer.model.text import display_name
from viewer.model.times import group_digits
from viewer.tables.command_rows import PROBLEMS as TABLE

NOTHING = "No problems found."
_ROW_AIR = 10
_CELL_PADDING = 24


Entries = Sequence[ProblemEntry]


def _column(
    name: str, text: Callable[[ProblemEntry], str], width: int, **rest: Any
) -> PanelColumn[Entries]:
    """Return a column. Its tooltip is the text."""
    return column_of(TABLE[name], width, **{
        "text": lambda c, i: text(c[i]),
        "tooltip": lambda c, i: text(c[i]),
    } | rest)  # fmt: skip


def _has_none(text: Callable[[ProblemEntry], object]) -> Callable[[Entries], bool]:
    return lambda entries: not any(map(text, entries))


PROBLEMS: PanelTable[Entries] = PanelTable(
    "Problems",
    (
        PanelColumn("Severity", width=88, tone="text1", text=lambda c, i: c[i].severity.word,
            tooltip=lambda c, i: c[i].severity.word,
            icon=lambda c, i: (c[i].severity.icon, c[i].severity.token)),
        _column("kind", lambda e: e.what, 0, tone="text1"),
        _column("count", lambda e: group_digits(e.count) if e.count else "", 52,
            plain=lambda c, i: str(c[i].count), is_unused=_has_none(lambda e: e.count)),
        _column("first", lambda e: e.first, 96, is_unused=_has_none(lambda e: e.first)),
        _column("file", lambda e: display_name(e.path), 144,
            tooltip=lambda c, i: c[i].path, plain=lambda c, i: c[i].path),
    ),
    least=200,
    rows=lambda c: np.arange(len(c)),
    sortable=False,
    copies=CopyScope.ALL_IF_NONE,
)  # fmt: skip


class _RoomyDelegate(QStyledItemDelegate):
    """Adds padding above and below multi-line texts."""

    def __init__(self, table: QTableView, theme: Theme) -> None:
        super().__init__(table)
        self._table = table
        self._theme = theme

    @guard(QSize())
    def sizeHint(self, option: QStyleOptionViewItem, index: Index) -> QSize:
        # Qt's size hint ignores the style sheet's padding, so long texts would lose a line.
        width = self._table.columnWidth(index.column()) - self._theme.px(_CELL_PADDING)
        room = QRect(0, 0, width, 0)
        metrics = QFontMetrics(self._theme.font("cell"))
        text = metrics.boundingRect(room, int(Qt.TextFlag.TextWordWrap), str(index.data()))
        return QSize(width, text.height() + self._theme.px(_ROW_AIR))


class ProblemsPanel(PagePanel):
    """Everything unexpected in the open files."""

    def __init__(self, host: PanelHost) -> None:
        super().__init__(host)
        theme, self._feed = host.theme, ProblemsFeed.of(host.session)
        self.model = TableModel(PROBLEMS, theme, self)
        self.table = TableView(self.model, theme)
        self.table.setItemDelegate(_RoomyDelegate(self.table, theme))
        self.table.setWordWrap(True)
        rows = self.table.verticalHeader()
        rows.setMinimumSectionSize(theme.px(ROW_HEIGHT))
        rows.setSectionResizeMode(QHeaderView.ResizeMode.ResizeToContents)
        self.set_page(self.table)
        self.refresh_on(self._feed.changed)
        self.refresh()

    @property
    def count(self) -> int:
        """The number of problems."""
        return self.model.rowCount()

    @Slot()
    def refresh(self) -> None:
        self.model.show(self._feed.entries)
        if self.count:
            self.show_page()
        else:
            self.show_sentence(NOTHING)
        self.host.show_count(self.count)
