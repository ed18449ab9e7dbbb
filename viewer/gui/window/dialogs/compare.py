"""The dialog that a comparison begins with: two lists of files, or two parts of one file.

A line says whether the arms can have a verdict, while they are chosen.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from functools import partial

from PySide6.QtCore import Qt, Signal, Slot
from PySide6.QtGui import QDragEnterEvent, QDropEvent, QStandardItem, QStandardItemModel
from PySide6.QtWidgets import (
    QAbstractItemView,
    QButtonGroup,
    QGridLayout,
    QHBoxLayout,
    QHeaderView,
    QLineEdit,
    QPushButton,
    QRadioButton,
    QStackedWidget,
    QVBoxLayout,
    QWidget,
)

from viewer.gui.qt.accessibility import FramedDialog
from viewer.gui.qt.crash_report import guard
from viewer.gui.qt.theme.theme import Theme
from viewer.gui.qt.widgets.controls import ComboBox, laid_out
from viewer.gui.qt.widgets.labels import explain, label
from viewer.gui.qt.widgets.tables import ROW_HEIGHT, QuietTable
from viewer.gui.session.arm_choices import (
    NEEDED,
    TITLES,
    arm_files,
    at_bookmark,
    by_numbers,
    by_phase,
    named_bookmarks,
    of_files,
    runs_by_phase,
    verdict_text,
)
from viewer.gui.session.session import Session
from viewer.model.text import display_name, visible_controls
from viewer.model.times import counted, format_time
from viewer.model.warm_up import counted_inferences
from viewer.view.state import Bookmark, ComparedArms

_SIZE = 900, 560
_WIDTHS = (0, 116, 76, 68, 84)
_PHASE = TITLES.index("Phase")
FILES, NUMBERS, PHASES, MOMENT = range(4)
WAYS = ("By &file", "By &inference", "By &method", "At &bookmark")
ARMS = ("A", "B")


class CompareDialog(FramedDialog):
    """Chooses two arms.

    `compared(arms)`: the user wants to compare them. `files_wanted(arm)`: choose files to add to
    the arm of that number; `dropped(arm, paths)`: add these.
    """

    compared = Signal(object)
    files_wanted = Signal(int)
    dropped = Signal(int, object)

    def __init__(self, session: Session, theme: Theme, parent: QWidget | None = None) -> None:
        super().__init__(theme, parent)
        self._session, self._theme = session, theme
        self.setWindowTitle("Compare")
        self.resize(theme.px(_SIZE[0]), theme.px(_SIZE[1]))
        self.setAcceptDrops(True)
        self._arm_of_path: dict[str, int] = {}
        self._chosen: ComparedArms | None = None
        self.ways = QButtonGroup(self)
        ways = QHBoxLayout()
        for way, title in enumerate(WAYS):
            button = QRadioButton(title)
            self.ways.addButton(button, way)
            ways.addWidget(button)
        ways.addStretch(1)
        self.pages = QStackedWidget()
        self.models: list[QStandardItemModel] = []
        self.tables: list[QuietTable] = []
        self.heads = [label("", theme, "section") for _ in ARMS]
        self.moves: list[QPushButton] = []
        self.pages.addWidget(self._files_page())
        self.file = ComboBox(theme)
        self.file.setAccessibleName("File")
        self.numbers = [QLineEdit(text) for text in ("1", "2-")]
        self.phases = [ComboBox(theme) for _ in ARMS]
        self.mark = ComboBox(theme)
        self.mark.setAccessibleName("Bookmark")
        self._marks: list[Bookmark] = []
        self._part_page("Inferences of", self.numbers, "such as 1 or 2-10,12")
        self._part_page("Method or phase of", self.phases, "")
        self._part_page("", (self.mark,), "A is before a moment or inside a range, B the rest.")
        self.line = label("", theme, "body", wrap=True)
        self.button, cancel = QPushButton("Compare"), QPushButton("Cancel")
        self.button.setProperty("primary", True)
        self.button.setDefault(True)
        self.button.clicked.connect(self._compare)
        cancel.clicked.connect(self.reject)
        foot = laid_out(QHBoxLayout(), (self.line, 1), cancel, self.button)
        self.of_file = QWidget()
        of_file = QHBoxLayout(self.of_file)
        of_file.setContentsMargins(0, 0, 0, 0)
        of_file.addWidget(label("File", theme))
        of_file.addWidget(self.file, 1)
        column = QVBoxLayout(self)
        column.setContentsMargins(20, 16, 20, 16)
        column.setSpacing(theme.px(12))
        column.addWidget(
            label(
                "A is the baseline, and B what you want to know about. Each file is a session: one "
                f"process on the device. A verdict {NEEDED} sessions.",
                theme, "cell", "text2", wrap=True,
            )
        )  # fmt: skip
        column.addLayout(ways)
        column.addWidget(self.of_file)
        column.addWidget(self.pages, 1)
        column.addLayout(foot)
        self.ways.idToggled.connect(self._turn)
        self.file.currentIndexChanged.connect(self._show_parts)
        for field in self.numbers:
            field.textChanged.connect(self._follow)
        for box in (*self.phases, self.mark):
            box.currentIndexChanged.connect(self._follow)
        session.workspace_changed.connect(self.refresh)
        if (before := session.state.compared) is not None:
            self._arm_of_path = dict.fromkeys(before.a.paths, 0) | dict.fromkeys(before.b.paths, 1)
        self.refresh()
        several = len(session.traces) != 1 or not self._has_parts
        self.ways.button(FILES if several else NUMBERS).setChecked(True)

    # -- pages -----------------------------------------------------------------------------------

    def _files_page(self) -> QWidget:
        page, theme = QWidget(), self._theme
        row = laid_out(QHBoxLayout(page), gap=theme.px(16), margins=(0, 0, 0, 0))
        for arm, name in enumerate(ARMS):
            model = QStandardItemModel(self)
            table = QuietTable(f"Files of {name}")
            table.setModel(model)
            table.verticalHeader().setDefaultSectionSize(theme.px(ROW_HEIGHT))
            table.setSelectionMode(QAbstractItemView.SelectionMode.ExtendedSelection)
            table.setEditTriggers(QAbstractItemView.EditTrigger.NoEditTriggers)
            add = QPushButton(f"Add files to {name}…")
            add.clicked.connect(partial(self.files_wanted.emit, arm))
            other = ARMS[1 - arm]
            move = QPushButton(f"Move to {other}")
            move.clicked.connect(partial(self._move, arm))
            table.selectionModel().selectionChanged.connect(self._offer_moves)
            buttons = QHBoxLayout()
            for button in (add, move):
                buttons.addWidget(button)
            buttons.addStretch(1)
            column = laid_out(QVBoxLayout(), self.heads[arm], (table, 1), buttons)
            row.addLayout(column, 1)
            self.models.append(model)
            self.tables.append(table)
            self.moves.append(move)
        return page

    def _part_page(self, title: str, fields: Iterable[QWidget], hint: str) -> None:
        page, theme = QWidget(), self._theme
        grid = QGridLayout(page)
        grid.setContentsMargins(0, 0, 0, 0)
        grid.setColumnStretch(1, 1)
        row = 0
        for name, field in zip(ARMS, fields, strict=False):
            text = f"{title} {name}" if title else "Bookmark"
            field.setAccessibleName(text)
            grid.addWidget(label(text, theme), row, 0)
            grid.addWidget(field, row, 1)
            row += 1
        grid.addWidget(label(hint, theme, "caption", "text2", wrap=True), row, 1)
        grid.setRowStretch(row + 1, 1)
        self.pages.addWidget(page)

    # -- what is open ----------------------------------------------------------------------------

    def expect(self, arm: int, paths: Sequence[str]) -> None:
        """Put files into an arm: those that are open now, others as soon as they are."""
        self._arm_of_path |= dict.fromkeys(paths, arm)
        self.refresh()

    @Slot()
    def refresh(self) -> None:
        """Show what is open now."""
        files = arm_files(self._session)
        for arm, model in enumerate(self.models):
            listed = [file for file in files if self._arm_of_path.get(file.path, 0) == arm]
            model.clear()
            model.setHorizontalHeaderLabels(TITLES)
            for file in listed:
                items = [QStandardItem(visible_controls(text)) for text in file.texts]
                items[0].setData(file.path)
                items[0].setToolTip(visible_controls(file.path))
                model.appendRow(items)
            self.heads[arm].setText(f"{ARMS[arm]} · {counted(len(listed), 'file')}")
            header = self.tables[arm].horizontalHeader()
            header.setDefaultAlignment(Qt.AlignmentFlag.AlignLeft | Qt.AlignmentFlag.AlignVCenter)
            self.tables[arm].setColumnHidden(_PHASE, not any(file.phases for file in files))
            for column, width in enumerate(_WIDTHS):
                mode = QHeaderView.ResizeMode
                header.setSectionResizeMode(column, mode.Interactive if width else mode.Stretch)
                if width:
                    header.resizeSection(column, self._theme.px(width))
        self.file.offer([display_name(file.path) for file in files], self._current_file)
        for row, file in enumerate(files):
            self.file.setItemData(row, file.path)
        self._offer_moves()
        self._show_parts()

    @property
    def _current_file(self) -> int:
        """The position of the current trace."""
        current = self._session.current_trace
        return -1 if current is None else current

    @property
    def _path(self) -> str:
        return str(self.file.currentData() or "")

    @property
    def _has_parts(self) -> bool:
        """Whether the file has inferences to compare with one another."""
        if not self._path:
            return False
        trace = self._session.workspace.open_trace(self._path)
        return len(counted_inferences(trace)) > 1

    @Slot()
    def _show_parts(self) -> None:
        """Offer what the file can be split by, and say why not."""
        has_parts = self._has_parts
        phases: tuple[str, ...] = ()
        marks: list[Bookmark] = []
        if has_parts:
            phases = tuple(runs_by_phase(self._session, self._path))
            marks = named_bookmarks(self._session, self._path)
            trace = self._session.workspace.open_trace(self._path)
            last = max(run.number for run in trace.inferences())
            if self.numbers[1].text() in ("2-", ""):
                self.numbers[1].setText(f"2-{last}" if last > 2 else "2")
        for arm, box in enumerate(self.phases):
            box.offer(phases, min(arm, len(phases) - 1))
        self.mark.offer([_mark_text(mark) for mark in marks], -1)
        self._marks = marks
        for way, why in (
            (NUMBERS, "" if has_parts else "Needs a file with several inferences"),
            (PHASES, "" if len(phases) > 1 else "Needs a file with several methods or phases"),
            (MOMENT, "" if marks else "Needs a bookmark on the timeline"),
        ):
            button = self.ways.button(way)
            button.setEnabled(not why)
            explain(button, why)
            if why and button.isChecked():
                self.ways.button(FILES).setChecked(True)
        self._follow()

    @Slot()
    def _offer_moves(self) -> None:
        for table, move in zip(self.tables, self.moves, strict=True):
            move.setEnabled(table.selectionModel().hasSelection())

    def _move(self, arm: int) -> None:
        """Move the selected files of an arm to the other."""
        rows = self.tables[arm].selectionModel().selectedRows()
        self.expect(1 - arm, [self.models[arm].item(row.row(), 0).data() for row in rows])

    def files_of(self, arm: int) -> list[str]:
        """Return the paths in the list of an arm."""
        model = self.models[arm]
        return [model.item(row, 0).data() for row in range(model.rowCount())]

    # -- what is chosen --------------------------------------------------------------------------

    @Slot(int, bool)
    def _turn(self, way: int, is_on: bool) -> None:
        if is_on:
            self.pages.setCurrentIndex(way)
            self.of_file.setVisible(way != FILES)
            self._follow()

    def _arms(self) -> ComparedArms:
        """Return the chosen arms. Raises ValueError with what is missing."""
        session, way = self._session, self.ways.checkedId()
        by_way: dict[int, Callable[[], ComparedArms]] = {
            NUMBERS: lambda: by_numbers(session, self._path, *(n.text() for n in self.numbers)),
            PHASES: lambda: by_phase(session, self._path, *(b.currentText() for b in self.phases)),
            MOMENT: lambda: at_bookmark(session, self._path, self._marks[self.mark.currentIndex()]),
        }
        if way in by_way:
            return by_way[way]()
        return of_files(*(self.files_of(arm) for arm in range(len(ARMS))))

    @Slot()
    def _follow(self) -> None:
        """Say whether the chosen arms can have a verdict."""
        self._chosen = None
        try:
            chosen = self._arms()
            text = verdict_text(self._session, chosen)
        except ValueError as error:
            text = str(error)
        else:
            self._chosen = chosen
        self.line.setText(text)
        self.button.setEnabled(self._chosen is not None)

    @Slot()
    def _compare(self) -> None:
        if self._chosen is not None:
            self.accept()
            self.compared.emit(self._chosen)

    # -- drops -----------------------------------------------------------------------------------

    @guard
    def dragEnterEvent(self, event: QDragEnterEvent) -> None:
        if event.mimeData().hasUrls():
            event.acceptProposedAction()

    @guard
    def dropEvent(self, event: QDropEvent) -> None:
        event.acceptProposedAction()
        paths = [url.toLocalFile() for url in event.mimeData().urls() if url.isLocalFile()]
        arm = int(event.position().x() > self.width() / 2)
        self.ways.button(FILES).setChecked(True)
        self.dropped.emit(arm, paths)


def _mark_text(mark: Bookmark) -> str:
    where = format_time(mark.t0)
    if mark.t1 > mark.t0:
        where += f", {format_time(mark.t1 - mark.t0)} long"
    return f"{mark.name or 'Bookmark'} · {where}"
