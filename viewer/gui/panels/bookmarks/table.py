"""The marks as a table model: names and notes are edited in place, times are told."""

from __future__ import annotations

from collections.abc import Sequence
from enum import Enum

from PySide6.QtCore import QObject, Qt
from PySide6.QtGui import QColor, QFont

from viewer.gui.qt.crash_report import guard
from viewer.gui.qt.theme.theme import Theme
from viewer.gui.qt.widgets.labels import tip
from viewer.gui.qt.widgets.table_model import LEFT, RIGHT, Index, TitledModel
from viewer.gui.session.bookmarks import edit
from viewer.gui.session.session import Session
from viewer.model.times import format_in, unit_for
from viewer.view.state import Bookmark


class BookmarkColumn(Enum):
    """A column: its title and its width in px (0: what is left)."""

    NAME = ("Name", 200)
    START = ("Start", 130)
    LENGTH = ("Length", 120)
    NOTE = ("Note", 0)

    def __init__(self, title: str, width: int) -> None:
        self.title = title
        self.width = width


CELLS = tuple(BookmarkColumn)
_WRITTEN = (BookmarkColumn.NAME, BookmarkColumn.NOTE)


class BookmarksModel(TitledModel):
    """A row per mark of the session, in the order of their starts."""

    def __init__(self, session: Session, theme: Theme, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._session, self._theme = session, theme
        self.rows: list[int] = []  # numbers of marks
        self._marks: tuple[Bookmark, ...] = ()
        self.start_unit, self._start_factor = "ns", 1
        self.length_unit, self._length_factor = "ns", 1

    def refresh(self) -> None:
        """Take the marks anew if they are others; a row that is looked at stays otherwise."""
        marks = self._session.state.marks
        if marks == self._marks:
            return
        before = [(mark.t0, mark.t1) for mark in self._marks]
        if before == [(mark.t0, mark.t1) for mark in marks]:
            # Texts alone are others: a reset would close the editor that has just written one.
            self._marks = marks
            last = self.index(len(self.rows) - 1, len(CELLS) - 1)
            self.dataChanged.emit(self.index(0, 0), last)
            return
        self.beginResetModel()
        self._marks = marks
        self.rows = sorted(range(len(marks)), key=lambda n: (marks[n].t0, marks[n].t1, n))
        farthest = max((abs(mark.t0) for mark in marks), default=0)
        self.start_unit, self._start_factor = unit_for(farthest)
        longest = max((mark.t1 - mark.t0 for mark in marks), default=0)
        self.length_unit, self._length_factor = unit_for(longest)
        self.endResetModel()

    def number(self, row: int) -> int:
        """The mark of a row."""
        return self.rows[row]

    def row_of(self, number: int | None) -> int:
        """The row of a mark, -1 for none."""
        return self.rows.index(number) if number in self.rows else -1

    def _text(self, mark: Bookmark, cell: BookmarkColumn) -> str:
        if cell is BookmarkColumn.START:
            return format_in(mark.t0, self._start_factor)
        if cell is BookmarkColumn.LENGTH:
            span = mark.t1 - mark.t0
            return format_in(span, self._length_factor) if span else "moment"
        return mark.name if cell is BookmarkColumn.NAME else mark.note

    def tsv(self, rows: Sequence[int]) -> str:
        """Some rows with headings, times in whole ns."""
        lines = ["name\tstart_ns\tlength_ns\tnote"]
        for row in rows:
            mark = self._marks[self.rows[row]]
            texts = (mark.name, str(mark.t0), str(mark.t1 - mark.t0), mark.note)
            lines.append("\t".join(" ".join(text.split()) for text in texts))
        return "\n".join(lines) + "\n"

    # -- the model -----------------------------------------------------------------------------

    def shown_rows(self) -> int:
        return len(self.rows)

    def titles(self) -> Sequence[str]:
        return (
            BookmarkColumn.NAME.title, f"{BookmarkColumn.START.title}, {self.start_unit}",
            f"{BookmarkColumn.LENGTH.title}, {self.length_unit}", BookmarkColumn.NOTE.title,
        )  # fmt: skip

    def is_right(self, column: int) -> bool:
        return CELLS[column] not in _WRITTEN

    @guard(Qt.ItemFlag.NoItemFlags)
    def flags(self, index: Index) -> Qt.ItemFlag:
        flags = super().flags(index)
        written = index.isValid() and CELLS[index.column()] in _WRITTEN
        return flags | Qt.ItemFlag.ItemIsEditable if written else flags

    @guard(False)
    def setData(self, index: Index, value: object, role: int = Qt.ItemDataRole.EditRole) -> bool:
        if role != Qt.ItemDataRole.EditRole or not index.isValid():
            return False
        number, cell = self.rows[index.row()], CELLS[index.column()]
        if cell is BookmarkColumn.NAME:
            edit(self._session, number, name=str(value))
        elif cell is BookmarkColumn.NOTE:
            edit(self._session, number, note=str(value))
        return True

    @guard
    def data(self, index: Index, role: int = Qt.ItemDataRole.DisplayRole) -> object:
        if not index.isValid() or index.row() >= len(self.rows):
            return None
        mark, cell = self._marks[self.rows[index.row()]], CELLS[index.column()]
        if role in (Qt.ItemDataRole.DisplayRole, Qt.ItemDataRole.EditRole):
            return self._text(mark, cell)
        if role == Qt.ItemDataRole.ToolTipRole:
            return tip(self._text(mark, cell)) if cell in _WRITTEN else None
        if role == Qt.ItemDataRole.TextAlignmentRole:
            return RIGHT if self.is_right(index.column()) else LEFT
        if role == Qt.ItemDataRole.FontRole:
            font: QFont = self._theme.font("cell")
            return font
        if role == Qt.ItemDataRole.ForegroundRole:
            color: QColor = self._theme.color("text1" if cell is BookmarkColumn.NAME else "text2")
            return color
        return None
