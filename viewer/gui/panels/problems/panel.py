"""The Problems panel: unexpected data, doubtful matches and files that could not be opened."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from enum import Enum
from typing import Any

import numpy as np
from PySide6.QtCore import QRect, QSize, Qt, Signal, Slot
from PySide6.QtGui import QFontMetrics
from PySide6.QtWidgets import (
    QHeaderView,
    QStyledItemDelegate,
    QStyleOptionViewItem,
    QTableView,
    QWidget,
)

from viewer.gui.panels.base.page_panel import PagePanel
from viewer.gui.panels.base.tables.columns import CopyScope, PanelColumn, PanelTable, column_of
from viewer.gui.panels.base.tables.model import TableModel
from viewer.gui.panels.base.tables.view import TableView
from viewer.gui.qt.crash_report import guard
from viewer.gui.qt.theme.theme import Theme
from viewer.gui.qt.widgets.table_model import Index
from viewer.gui.qt.widgets.tables import ROW_HEIGHT
from viewer.gui.session.session import Session
from viewer.model.text import display_name
from viewer.model.times import group_digits
from viewer.model.trace import Problem
from viewer.tables.catalog import PROBLEMS as TABLE

NOTHING = "No problems found."
_ROW_AIR = 10
_CELL_PADDING = 24


class Severity(Enum):
    """The severity of a problem: its word, icon and color token."""

    ERROR = ("Error", "warning", "error")
    WARNING = ("Warning", "warning", "warning")
    NOTE = ("Note", "info", "text2")

    def __init__(self, word: str, icon: str, token: str) -> None:
        self.word = word
        self.icon = icon
        self.token = token


@dataclass(frozen=True, slots=True)
class ProblemEntry:
    """One row: what is unexpected, how often (0: not counted), where first, in which file."""

    severity: Severity
    what: str
    count: int
    first: str
    path: str


def entries_of(session: Session, failures: dict[str, str]) -> list[ProblemEntry]:
    """Return all problems: failed files, then doubtful matches, then unexpected data per file."""
    space = session.workspace
    found = [_failure(path, message) for path, message in failures.items()]
    for trace in space.traces:
        found += [
            ProblemEntry(Severity.WARNING, w, 0, "", trace.path) for w in space.warnings(trace)
        ]
    reported: list[tuple[str, tuple[Problem, ...]]] = [(t.path, t.problems) for t in space.traces]
    reported += [(p.path, p.problems) for p in space.programs]
    reported += [(e.path, e.problems) for e in space.executables]
    for path, problems in reported:
        found += [ProblemEntry(Severity.NOTE, p.kind, p.count, p.first, path) for p in problems]
    return found


def _failure(path: str, message: str) -> ProblemEntry:
    """Return the entry of a file that could not be opened, with path and place split off."""
    place, colon, what = message.removeprefix(path).partition(": ")
    if not message.startswith(path) or not colon:
        return ProblemEntry(Severity.ERROR, message, 0, "", path)
    return ProblemEntry(Severity.ERROR, what, 0, place.strip(" ()"), path)


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
    """Everything unexpected in the open files. `count_changed(count)`: for the badge of the tab."""

    count_changed = Signal(int)

    def __init__(self, session: Session, theme: Theme, parent: QWidget | None = None) -> None:
        super().__init__(session, theme, parent)
        self._failures: dict[str, str] = {}
        self._counted = 0
        self.model = TableModel(PROBLEMS, theme, self)
        self.table = TableView(self.model, theme)
        self.table.setItemDelegate(_RoomyDelegate(self.table, theme))
        self.table.setWordWrap(True)
        rows = self.table.verticalHeader()
        rows.setMinimumSectionSize(theme.px(ROW_HEIGHT))
        rows.setSectionResizeMode(QHeaderView.ResizeMode.ResizeToContents)
        self.set_page(self.table)
        self.refresh_on(session.workspace_changed)
        self.refresh()

    @property
    def count(self) -> int:
        """The number of problems, for the badge of the tab."""
        return self.model.rowCount()

    def add_failure(self, path: str, message: str) -> None:
        """Add a file that could not be opened, or replace the message of this path."""
        self._failures[path] = message
        self.refresh()

    @Slot()
    def refresh(self) -> None:
        """Collect all problems again."""
        opened = self._session.workspace.paths
        self._failures = {p: m for p, m in self._failures.items() if p not in opened}
        self.model.show(entries_of(self._session, self._failures))
        if self.count:
            self.show_page()
        else:
            self.show_sentence(NOTHING)
        if self.count != self._counted:
            self._counted = self.count
            self.count_changed.emit(self.count)
