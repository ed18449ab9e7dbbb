"""Table model of the bookmarks: names and notes are editable, times are not."""

from __future__ import annotations

from collections.abc import Sequence

from PySide6.QtCore import QObject, Qt

from viewer.gui.qt.crash_report import guard
from viewer.gui.qt.theme.theme import Theme
from viewer.gui.qt.widgets.column_table import TableColumn
from viewer.gui.qt.widgets.table_model import CellModel, Index, tsv_text
from viewer.gui.session.bookmarks import edit, is_on_open_clock
from viewer.gui.session.session import Session
from viewer.model.text import display_name, one_line
from viewer.model.times import format_position, format_time
from viewer.view.clock_groups import group_title
from viewer.view.state import Bookmark


class BookmarkColumn(TableColumn):
    """The columns."""

    NAME = ("Name", 200)
    CLOCK = ("Clock", 130)
    START = ("Start", 130)
    LENGTH = ("Length", 120)
    NOTE = ("Note", 0)


COLUMNS = tuple(BookmarkColumn)
_WRITTEN = (BookmarkColumn.NAME, BookmarkColumn.NOTE)
_TIMES = (BookmarkColumn.START, BookmarkColumn.LENGTH)


class BookmarksModel(CellModel[BookmarkColumn]):
    """One row per bookmark of the session, by clock and start."""

    def __init__(self, session: Session, theme: Theme, parent: QObject | None = None) -> None:
        super().__init__(COLUMNS, theme, parent)
        self._session = session
        self.rows: list[int] = []  # indices into `ViewState.marks`
        self._marks: tuple[Bookmark, ...] = ()
        self._clocks: dict[str, str] = {}  # by key, in the order of the rows

    @property
    def has_clocks(self) -> bool:
        """Whether there are several clocks, which the rows name."""
        return len(self._clocks) > 1

    def refresh(self) -> None:
        """Read the session's bookmarks again; reset the model only if times or clocks changed."""
        marks, clocks = self._session.state.marks, self._clocks_now()
        if (marks, clocks) == (self._marks, self._clocks):
            return
        before = [(mark.t0, mark.t1, mark.clock) for mark in self._marks]
        now = [(mark.t0, mark.t1, mark.clock) for mark in marks]
        if before == now and clocks == self._clocks:
            # Only texts changed: a reset would close the editor that has just written one.
            self._marks = marks
            last = self.index(len(self.rows) - 1, len(COLUMNS) - 1)
            self.dataChanged.emit(self.index(0, 0), last)
            return
        self.beginResetModel()
        self._marks, self._clocks = marks, clocks
        place = {clock: at for at, clock in enumerate(clocks)}
        self.rows = sorted(
            range(len(marks)),
            key=lambda n: (place.get(marks[n].clock, 0), marks[n].t0, marks[n].t1, n),
        )
        self.endResetModel()

    def _clocks_now(self) -> dict[str, str]:
        """Return what the open clocks are called, then those of closed files with bookmarks."""
        session = self._session
        clocks = {group.key: group_title(group, session.traces) for group in session.groups}
        for mark in session.state.marks:
            if not is_on_open_clock(session, mark):
                clocks[mark.clock] = f"{one_line(display_name(mark.clock))} (closed)"
        return clocks

    def _clock(self, mark: Bookmark) -> str:
        return self._clocks.get(mark.clock) or next(iter(self._clocks.values()))

    def number(self, row: int) -> int:
        """Return the number of a row's bookmark."""
        return self.rows[row]

    def row_of(self, number: int | None) -> int:
        """Return the row of a bookmark, -1 for none."""
        return self.rows.index(number) if number in self.rows else -1

    def text(self, row: int, cell: BookmarkColumn) -> str:
        mark = self._marks[self.rows[row]]
        if cell is BookmarkColumn.START:
            return format_position(mark.t0)
        if cell is BookmarkColumn.LENGTH:
            span = mark.t1 - mark.t0
            return format_time(span) if span else "moment"
        if cell is BookmarkColumn.CLOCK:
            return self._clock(mark)
        return mark.name if cell is BookmarkColumn.NAME else mark.note

    def tooltip(self, row: int, cell: BookmarkColumn) -> str:
        return "" if cell in _TIMES else self.text(row, cell)

    def tone(self, row: int, cell: BookmarkColumn) -> str:
        return "text1" if cell is BookmarkColumn.NAME else "text2"

    def tsv(self, rows: Sequence[int]) -> str:
        """Return rows and headings as tab-separated text, times in whole ns.

        With a last column for the clock if there are several.
        """
        marks = [self._marks[self.rows[row]] for row in rows]
        titles = ("name", "start_ns", "length_ns", "note")
        texts = [(m.name, str(m.t0), str(m.t1 - m.t0), m.note) for m in marks]
        if not self.has_clocks:
            return tsv_text(titles, texts)
        with_clock = ((*own, self._clock(m)) for own, m in zip(texts, marks, strict=True))
        return tsv_text((*titles, "clock"), with_clock)

    # -- Qt interface --------------------------------------------------------------------------

    def shown_rows(self) -> int:
        return len(self.rows)

    def titles(self) -> Sequence[str]:
        return [column.title for column in COLUMNS]

    def is_time(self, column: int) -> bool:
        return COLUMNS[column] in _TIMES

    def is_right(self, column: int) -> bool:
        return COLUMNS[column] in _TIMES

    @guard(Qt.ItemFlag.NoItemFlags)
    def flags(self, index: Index) -> Qt.ItemFlag:
        flags = super().flags(index)
        is_editable = index.isValid() and COLUMNS[index.column()] in _WRITTEN
        return flags | Qt.ItemFlag.ItemIsEditable if is_editable else flags

    @guard(False)
    def setData(self, index: Index, value: object, role: int = Qt.ItemDataRole.EditRole) -> bool:
        if role != Qt.ItemDataRole.EditRole or not index.isValid():
            return False
        number, cell = self.rows[index.row()], COLUMNS[index.column()]
        if cell is BookmarkColumn.NAME:
            edit(self._session, number, name=str(value))
        elif cell is BookmarkColumn.NOTE:
            edit(self._session, number, note=str(value))
        return True

    @guard
    def data(self, index: Index, role: int = Qt.ItemDataRole.DisplayRole) -> object:
        if role == Qt.ItemDataRole.EditRole and index.isValid():
            return self.text(index.row(), COLUMNS[index.column()])
        return super().data(index, role)
