"""The Program panel: what ran, as a tree of the open program files (`.pte`)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import overload

from PySide6.QtCore import QAbstractItemModel, QModelIndex, QObject, Qt, Signal, Slot
from PySide6.QtGui import QResizeEvent
from PySide6.QtWidgets import QHeaderView, QWidget

from viewer.gui.panels.base.page_panel import PagePanel
from viewer.gui.panels.program.rows import TITLES, ProgramRow, file_row, placed
from viewer.gui.qt.clipboard import CopyFormat
from viewer.gui.qt.crash_report import guard
from viewer.gui.qt.theme.theme import Theme
from viewer.gui.qt.widgets.labels import tip
from viewer.gui.qt.widgets.table_model import LEFT, RIGHT, Index
from viewer.gui.qt.widgets.tables import QuietTree, copy_tsv, let_copy
from viewer.gui.session.session import Session
from viewer.model.text import visible_controls
from viewer.program.executable.executable import Executable

NOTHING = (
    "Open the program file (.pte) to see its instructions, delegates, tensors, memory and sizes."
)
_OPEN_LEVELS = 1  # files and methods

NAME, KIND, CONTENTS, BYTES = range(len(TITLES))
MOST_COPIED = 5000  # rows
_INDENT = 16  # px per level
_WIDTHS = {NAME: 210, KIND: 112, BYTES: 64}  # px
_LEAST_CONTENTS = 150  # px


class ProgramModel(QAbstractItemModel):
    """The rows of all open program files; the internal id of an index is its row's number."""

    def __init__(self, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self.executables: tuple[Executable, ...] = ()
        self._top: list[ProgramRow] = []
        self._made: list[ProgramRow] = []
        self._numbers: dict[ProgramRow, int] = {}

    def show(self, executables: Sequence[Executable]) -> None:
        """Replace all rows."""
        self.beginResetModel()
        self.executables = tuple(executables)
        self._top = [file_row(executable) for executable in executables]
        placed(self._top)
        self._made, self._numbers = [], {}
        self.endResetModel()

    def row(self, index: Index) -> ProgramRow | None:
        """The row of an index, None for an invalid one."""
        return self._made[index.internalId()] if index.isValid() else None

    def _index(self, row: ProgramRow, column: int = 0) -> QModelIndex:
        number = self._numbers.get(row)
        if number is None:
            number = self._numbers[row] = len(self._made)
            self._made.append(row)
        return self.createIndex(row.place, column, number)

    def _inside(self, parent: Index) -> list[ProgramRow]:
        row = self.row(parent)
        return self._top if row is None else row.inside

    # -- Qt interface ----------------------------------------------------------------------------

    @guard(QModelIndex())
    def index(self, row: int, column: int, parent: Index = QModelIndex()) -> QModelIndex:  # noqa: B008
        inside = self._inside(parent)
        if 0 <= row < len(inside) and 0 <= column < len(TITLES):
            return self._index(inside[row], column)
        return QModelIndex()

    @overload
    def parent(self) -> QObject | None: ...
    @overload
    def parent(self, index: Index) -> QModelIndex: ...
    @guard(QModelIndex())
    def parent(self, index: Index | None = None) -> QObject | QModelIndex | None:
        if index is None:
            return super().parent()
        row = self.row(index)
        return QModelIndex() if row is None or row.parent is None else self._index(row.parent)

    @guard(0)
    def rowCount(self, parent: Index = QModelIndex()) -> int:  # noqa: B008
        return 0 if parent.isValid() and parent.column() else len(self._inside(parent))

    @guard(0)
    def columnCount(self, parent: Index = QModelIndex()) -> int:  # noqa: B008
        return len(TITLES)

    @guard(False)
    def hasChildren(self, parent: Index = QModelIndex()) -> bool:  # noqa: B008
        row = self.row(parent)
        return bool(self._top) if row is None else parent.column() == 0 and row.has_inside

    @guard
    def headerData(
        self, section: int, orientation: Qt.Orientation, role: int = Qt.ItemDataRole.DisplayRole
    ) -> object:
        if orientation != Qt.Orientation.Horizontal or not 0 <= section < len(TITLES):
            return None
        if role in (Qt.ItemDataRole.DisplayRole, Qt.ItemDataRole.AccessibleTextRole):
            return TITLES[section]
        if role == Qt.ItemDataRole.TextAlignmentRole:
            return RIGHT if section == BYTES else LEFT
        return None

    @guard
    def data(self, index: Index, role: int = Qt.ItemDataRole.DisplayRole) -> object:
        row = self.row(index)
        if row is None:
            return None
        if role == Qt.ItemDataRole.DisplayRole:
            return visible_controls(row.text(index.column()))
        if role == Qt.ItemDataRole.TextAlignmentRole:
            return RIGHT if index.column() == BYTES else LEFT
        if role == Qt.ItemDataRole.ToolTipRole and index.column() in (NAME, CONTENTS):
            return tip(row.text(index.column()))
        return None


class ProgramTree(QuietTree):
    """The tree widget."""

    def __init__(self, model: ProgramModel, theme: Theme) -> None:
        super().__init__("Program")
        self._model, self._theme = model, theme
        self.setModel(model)
        self.setIndentation(theme.px(_INDENT))
        self.setUniformRowHeights(True)
        header, mode = self.header(), QHeaderView.ResizeMode
        header.setStretchLastSection(False)
        header.setSectionsMovable(False)
        for column in range(len(TITLES)):
            stretch = column == CONTENTS
            header.setSectionResizeMode(column, mode.Stretch if stretch else mode.Interactive)
        for column, width in _WIDTHS.items():
            header.resizeSection(column, theme.px(width))
        let_copy(self, self.copy)

    def copy(self, form: CopyFormat = CopyFormat.TEXT) -> None:
        """Copy the selected rows as TSV, at most `MOST_COPIED`; sizes in bytes."""
        rows = [self._model.row(index) for index in self.selectionModel().selectedRows()]
        lines = [
            "\t".join((*(row.text(c) for c in (NAME, KIND, CONTENTS)), str(row.size or "")))
            for row in rows[:MOST_COPIED]
            if row is not None
        ]
        if lines:
            copy_tsv(self, "\n".join(["\t".join(TITLES), *lines]) + "\n", form)

    @guard
    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        room = self.viewport().width() - self._theme.px(sum(_WIDTHS.values()))
        self.setColumnHidden(KIND, room < self._theme.px(_LEAST_CONTENTS))


class ProgramPanel(PagePanel):
    """The open program files; `open_dialog_requested` is emitted to open one."""

    open_dialog_requested = Signal()

    def __init__(self, session: Session, theme: Theme, parent: QWidget | None = None) -> None:
        super().__init__(session, theme, parent)
        self.model = ProgramModel(self)
        self.tree = ProgramTree(self.model, theme)
        self.set_page(self.tree)
        self.refresh_on(session.workspace_changed)
        self.refresh()

    @Slot()
    def refresh(self) -> None:
        """Show the open program files, or what to open."""
        executables = tuple(self._session.workspace.executables)
        if not executables:
            self.show_sentence(NOTHING, "Open files…", self.open_dialog_requested)
            return
        if executables != self.model.executables:  # what is expanded stays otherwise
            self.model.show(executables)
            self.tree.expandToDepth(_OPEN_LEVELS)
        self.show_page()

    def clear_page(self) -> None:
        self.model.show(())
