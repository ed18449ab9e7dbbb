"""The Problems panel: unexpected data, doubtful matches and files that could not be opened."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import Enum

from PySide6.QtCore import QObject, QRect, QSize, Qt, Signal, Slot
from PySide6.QtGui import QFontMetrics, QIcon
from PySide6.QtWidgets import (
    QHeaderView,
    QStyledItemDelegate,
    QStyleOptionViewItem,
    QTableView,
    QWidget,
)

from viewer.gui.panels.base.page_panel import PagePanel
from viewer.gui.qt.clipboard import CopyFormat
from viewer.gui.qt.crash_report import guard
from viewer.gui.qt.theme.theme import Theme
from viewer.gui.qt.widgets.labels import tip
from viewer.gui.qt.widgets.table_model import RIGHT, Index, TitledModel
from viewer.gui.qt.widgets.tables import ROW_HEIGHT, QuietTable, copy_tsv, let_copy, marked_rows
from viewer.gui.session.session import Session
from viewer.model.text import display_name, visible_controls
from viewer.model.times import group_digits
from viewer.model.trace import Problem

NOTHING = "No problems found."
_HEADINGS = ("Severity", "What", "Count", "First", "File")
_WIDTHS = (88, 0, 52, 96, 144)
_OPTIONAL_COLUMNS = (2, 3)  # columns that are hidden if all of their cells are empty
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

    @property
    def texts(self) -> tuple[str, ...]:
        """The cell texts."""
        count = group_digits(self.count) if self.count else ""
        return self.severity.word, self.what, count, self.first, display_name(self.path)


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


class ProblemModel(TitledModel):
    """The entries as rows."""

    def __init__(self, theme: Theme, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._theme = theme
        self.entries: list[ProblemEntry] = []

    def show(self, entries: list[ProblemEntry]) -> None:
        """Replace all rows."""
        self.beginResetModel()
        self.entries = entries
        self.endResetModel()

    def tsv(self, rows: list[int]) -> str:
        """Return rows and headings as tab-separated text, with full paths."""
        lines = ["\t".join(_HEADINGS)]
        for row in rows:
            entry = self.entries[row]
            lines.append("\t".join((*entry.texts[:2], str(entry.count), entry.first, entry.path)))
        return "\n".join(lines) + "\n"

    def shown_rows(self) -> int:
        return len(self.entries)

    def titles(self) -> Sequence[str]:
        return _HEADINGS

    def is_right(self, column: int) -> bool:
        return column == 2

    @guard
    def data(self, index: Index, role: int = Qt.ItemDataRole.DisplayRole) -> object:
        if not index.isValid() or index.row() >= len(self.entries):
            return None
        entry, column = self.entries[index.row()], index.column()
        if role == Qt.ItemDataRole.DisplayRole:
            return visible_controls(entry.texts[column])
        if role == Qt.ItemDataRole.ToolTipRole:
            return tip(entry.path if column == len(_HEADINGS) - 1 else entry.texts[column])
        if role == Qt.ItemDataRole.DecorationRole and column == 0:
            icon: QIcon = self._theme.icon(entry.severity.icon, entry.severity.token)
            return icon
        if role == Qt.ItemDataRole.ForegroundRole and column > 1:
            return self._theme.color("text2")
        if role == Qt.ItemDataRole.TextAlignmentRole and column == 2:
            return RIGHT
        return None


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
        self.model = ProblemModel(theme, self)
        self.table = self._table()
        self.set_page(self.table)
        self.refresh_on(session.workspace_changed)
        self.refresh()

    def _table(self) -> QTableView:
        theme = self._theme
        table = QuietTable("Problems")
        table.setModel(self.model)
        table.setItemDelegate(_RoomyDelegate(table, theme))
        table.setWordWrap(True)
        table.verticalHeader().setMinimumSectionSize(theme.px(ROW_HEIGHT))
        table.verticalHeader().setSectionResizeMode(QHeaderView.ResizeMode.ResizeToContents)
        header = table.horizontalHeader()
        for column, width in enumerate(_WIDTHS):
            mode = QHeaderView.ResizeMode
            header.setSectionResizeMode(column, mode.Interactive if width else mode.Stretch)
            if width:
                header.resizeSection(column, theme.px(width))
        let_copy(table, self.copy)
        return table

    @property
    def count(self) -> int:
        """The number of problems, for the badge of the tab."""
        return len(self.model.entries)

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
        for column in _OPTIONAL_COLUMNS:
            is_used = any(entry.texts[column] for entry in self.model.entries)
            self.table.setColumnHidden(column, not is_used)
        if self.count != self._counted:
            self._counted = self.count
            self.count_changed.emit(self.count)

    def copy(self, form: CopyFormat = CopyFormat.TEXT) -> None:
        """Copy the selected rows, or all rows if none is selected."""
        marked = marked_rows(self.table)
        copy_tsv(self, self.model.tsv(marked or list(range(self.count))), form)
