"""Dialogs about opening: what the columns of a table are, which files of a folder are opened."""

from __future__ import annotations

import os
from collections.abc import Sequence

from PySide6.QtCore import QModelIndex, QSignalBlocker, Qt, Signal, Slot
from PySide6.QtGui import QStandardItem, QStandardItemModel
from PySide6.QtWidgets import (
    QAbstractItemView,
    QGridLayout,
    QHBoxLayout,
    QHeaderView,
    QPushButton,
    QVBoxLayout,
    QWidget,
)

from viewer.formats.folders import FolderContents
from viewer.formats.table.column_roles import Preview, preview_of
from viewer.formats.table.stated_columns import (
    ALL_VALUES,
    DECIMAL,
    DECIMALS,
    EVERYTHING,
    UNIT,
    VALUE,
    Question,
    StatedColumns,
)
from viewer.formats.table.time_texts import IN_CELLS, UNITS
from viewer.gui.qt.accessibility import FramedDialog
from viewer.gui.qt.theme.theme import Theme
from viewer.gui.qt.widgets.controls import ComboBox
from viewer.gui.qt.widgets.labels import label, tip
from viewer.gui.qt.widgets.tables import ROW_HEIGHT, QuietTable
from viewer.model.text import bytes_text, display_name, listed, visible_controls
from viewer.model.times import counted, format_time

_COLUMNS_SIZE = 940, 640
_ROWS = 50
_WIDEST, _NARROWEST = 200, 70
_LONGEST = 60  # characters of a cell
_TITLES = {"name": "Name", "start": "Start", "process": "Process", "thread": "Thread",
           "identifier": "Identifier"}  # fmt: skip
_BEGINS = {"start": "Start", "end": "End"}
_LENGTHS = {"dur": "Duration", "end": "End", "phase": "Phase", VALUE: "Counter"}
_NEEDED = {"name": "name", "start": "start", "dur": "duration or end",
           UNIT: "unit of times", DECIMAL: "decimal separator"}  # fmt: skip
_UNIT_NAMES = {"s": "s", "ms": "ms", "us": "µs", "ns": "ns", "ps": "ps",
               "cycle": "Cycles"}  # fmt: skip
_DECIMAL_NAMES = {"point": "Point: 1.5", "comma": "Comma: 1,5"}
_OF_SLICE = "Start\nof the slice", "Duration\nof the slice"
_CHOOSE, _NONE, _IN_HEADER, _IN_CELLS = "Choose…", "None", "As in the header", "As in the cells"
_ALL, _MARKS = "All numbers", "None: rows are marks"


class ColumnsDialog(FramedDialog):
    """Maps the columns of a table; emits `columns_chosen` with the text of the option --columns.

    The same text is remembered for tables with this header.
    """

    columns_chosen = Signal(str)

    def __init__(
        self, path: str, question: Question, theme: Theme, parent: QWidget | None = None
    ) -> None:
        super().__init__(theme, parent)
        self._theme, self._layout = theme, question.layout
        self.setWindowTitle(f"Columns of {visible_controls(display_name(path))}")
        self.resize(theme.px(_COLUMNS_SIZE[0]), theme.px(_COLUMNS_SIZE[1]))
        columns = dict(question.known.given)
        self.boxes: dict[str, ComboBox] = {}
        form = QGridLayout()
        form.setHorizontalSpacing(theme.px(12))
        form.setVerticalSpacing(theme.px(8))
        form.setColumnStretch(1, 1)
        form.setColumnStretch(3, 1)
        # What is the length: the duration or the end.
        self.length = ComboBox(theme)
        for what, title in _LENGTHS.items():
            self.length.addItem(title, what)
        self.length.setAccessibleName("Duration, end, phase or counter")
        # A slice with an end and a duration has no start.
        self.begin = ComboBox(theme)
        for what, title in _BEGINS.items():
            self.begin.addItem(title, what)
        self.begin.setAccessibleName("Start or end")
        is_ended = {"end", "dur"} <= set(columns) and "start" not in columns
        self.begin.setCurrentIndex(int(is_ended))
        if is_ended:
            columns["start"] = columns.pop("end")
        of_rows = [what for what in _LENGTHS if what in columns]
        self.length.setCurrentIndex(list(_LENGTHS).index(of_rows[0]) if of_rows else 0)
        if len(question.known.values) > 1:
            columns[VALUE] = ALL_VALUES
        left = ["name", "start", "length", UNIT]
        right = ["process", "thread", "identifier"]
        if DECIMAL in question.missing or columns.get(DECIMAL):
            right.append(DECIMAL)
        for side, whats in enumerate((left, right)):
            for line, what in enumerate(whats):
                self._add_row(form, line, 2 * side, what, columns)
        self.model = QStandardItemModel(self)
        self.table = QuietTable("First rows")
        self.table.setModel(self.model)
        self.table.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAsNeeded)
        self.table.setSelectionMode(QAbstractItemView.SelectionMode.NoSelection)
        self.table.verticalHeader().setDefaultSectionSize(theme.px(ROW_HEIGHT))
        self.summary = label("", theme, "body", wrap=True)
        self.open_button, cancel = QPushButton("Open"), QPushButton("Cancel")
        self.open_button.setProperty("primary", True)
        self.open_button.setDefault(True)
        self.open_button.clicked.connect(self._open)
        cancel.clicked.connect(self.reject)
        foot = QHBoxLayout()
        foot.addWidget(
            label("Remembered for files with the same columns.", theme, "caption", "text2")
        )
        foot.addStretch(1)
        foot.addWidget(cancel)
        foot.addWidget(self.open_button)
        column = QVBoxLayout(self)
        column.setContentsMargins(20, 16, 20, 16)
        column.setSpacing(theme.px(12))
        column.addWidget(label(_asked(path, question), theme, "body", wrap=True))
        column.addLayout(form)
        column.addWidget(self.table, 1)
        column.addWidget(self.summary)
        column.addLayout(foot)
        self._fill()
        for box in (*self.boxes.values(), self.length, self.begin):
            box.currentIndexChanged.connect(self._follow)
        first = next((w for w in question.missing if w in self.boxes), "name")
        (self.boxes["length"] if "dur" in question.missing[:1] else self.boxes[first]).setFocus()
        self._follow()

    @property
    def stated(self) -> StatedColumns:
        """What is chosen."""
        sides = {"length": self.length, "start": self.begin}
        columns = {
            sides[what].currentData() if what in sides else what: box.currentData()
            for what, box in self.boxes.items()
            if box.isEnabled() and box.currentData() is not None
        }
        if VALUE in columns:  # rows are samples, also if names show a length
            columns = {"dur": "", "end": ""} | columns
        return StatedColumns(tuple((what, columns[what]) for what in EVERYTHING if what in columns))

    @property
    def preview(self) -> Preview:
        """What the first rows are with the columns that are chosen."""
        return preview_of(self._layout, self.stated)

    # -- the form ------------------------------------------------------------------------------

    def _add_row(
        self, form: QGridLayout, line: int, side: int, what: str, columns: dict[str, str]
    ) -> None:
        theme = self._theme
        box = self.boxes[what] = ComboBox(theme)
        box.setMinimumWidth(theme.px(220))
        box.setSizeAdjustPolicy(box.SizeAdjustPolicy.AdjustToMinimumContentsLengthWithIcon)
        if what in (UNIT, DECIMAL):
            names = _UNIT_NAMES if what == UNIT else _DECIMAL_NAMES
            box.addItem(_CHOOSE, None)
            for value in UNITS if what == UNIT else DECIMALS:
                box.addItem(names[value], value)
            current = columns.get(what)
        else:
            optional = what in ("process", "thread", "identifier")
            box.addItem(_NONE if optional else _CHOOSE, "" if optional else None)
            for name in self._layout.names:
                if name:
                    box.addItem(_short(name), name)
            if what == "length":
                box.addItem(_ALL, ALL_VALUES)
                box.addItem(_MARKS, "")
            current = columns.get(self.length.currentData() if what == "length" else what)
        index = box.findData(current) if current is not None else 0
        box.setCurrentIndex(max(index, 0))
        if what in ("length", "start"):
            form.addWidget(self.length if what == "length" else self.begin, line, side)
            box.setAccessibleName(
                "Column of the duration or end" if what == "length" else _TITLES[what]
            )
        else:
            title = {UNIT: "Unit of times", DECIMAL: "Decimal separator"}.get(what) or _TITLES[what]
            caption = label(title, theme, "body", "text2")
            caption.setBuddy(box)
            form.addWidget(caption, line, side)
            box.setAccessibleName(title)
        form.addWidget(box, line, side + 1)

    @Slot()
    def _follow(self) -> None:
        """Show what the first rows are now."""
        self._follow_unit()
        preview = self.preview
        self.open_button.setEnabled(not (preview.missing or preview.fault) and bool(preview.slices))
        self.summary.setText(self._said(preview))
        self._mark(preview)

    def _follow_unit(self) -> None:
        """The unit is only asked for times whose columns state none."""
        stated = dict(self.stated.given)
        roles = [self.begin.currentData()]
        if self.boxes["length"].currentData() != "" and self.length.currentIndex() < len(_BEGINS):
            roles.append(self.length.currentData())
        names = self._layout.names
        units = [
            self._layout.units[names.index(name)] if (name := stated.get(role)) in names else ""
            for role in roles
        ]
        box = self.boxes[UNIT]
        is_stated = all(units)
        with QSignalBlocker(box):
            box.setEnabled(not is_stated)
            where = _IN_CELLS if set(units) == {IN_CELLS} else _IN_HEADER
            box.setItemText(0, where if is_stated else _CHOOSE)
            if is_stated:
                box.setCurrentIndex(0)

    def _said(self, preview: Preview) -> str:
        if preview.missing:
            if preview.fault:
                return f"Choose the decimal separator: {preview.fault}."
            wanted = [_NEEDED[what] for what in preview.missing if what in _NEEDED]
            return f"Choose the {listed(wanted)}."
        if preview.fault:
            return f"This does not fit the table: {preview.fault}."
        slices, rows = preview.slices, len(preview.times)
        if not slices:
            why = f", first: {visible_controls(preview.bad)}" if preview.bad else ""
            return f"No row of the first {rows} has usable times{why}."
        columns = preview.columns
        what, is_values = "slice", columns is not None and not columns.has_slices
        if columns is not None and (is_values or columns.length < 0):
            what = "sample" if is_values else "event" if columns.phase >= 0 else "mark"
        first = min(start for start, _ in slices)
        last = max(start + took for start, took in slices)
        longest = max(took for _, took in slices)
        left = rows - len(slices)
        parts = [
            f"First {counted(rows, 'row')}: {counted(len(slices), what)} in "
            f"{format_time((last - first) / 1000)}"
            + (f", the longest {format_time(longest / 1000)}." if what == "slice" else ".")
        ]
        if is_values and columns is not None:
            parts.append(f"{counted(len(columns.values), 'counter')}.")
        if left:
            parts.append(
                f"{counted(left, 'row')} without usable times"
                + (f", first: {visible_controls(preview.bad)}." if preview.bad else ".")
            )
        return " ".join(parts)

    # -- the rows ------------------------------------------------------------------------------

    def _fill(self) -> None:
        """Show the cells of the first rows, after two columns for what they become."""
        layout = self._layout
        self._columns = [i for i, name in enumerate(layout.names) if name]
        for row in layout.rows[:_ROWS]:
            cells = [QStandardItem(), QStandardItem()]
            for column in self._columns:
                text = row[column] if column < len(row) else ""
                item = QStandardItem(_short(visible_controls(text.strip())))
                item.setToolTip(tip(text))
                cells.append(item)
            for item in cells:
                item.setEditable(False)
            self.model.appendRow(cells)
        if not layout.rows:
            self.model.setColumnCount(2 + len(self._columns))

    def _mark(self, preview: Preview) -> None:
        """Show the times of the rows, and above each column what it is."""
        roles = {name: _LENGTHS.get(what) or _TITLES.get(what, "")
                 for what, name in self.stated.given if what not in (UNIT, DECIMAL)}  # fmt: skip
        names = [self._layout.names[i] for i in self._columns]
        marks = [f"= {roles[name]}" if roles.get(name) else "" for name in names]
        heads = [f"{_short(name)}\n{mark}" for name, mark in zip(names, marks, strict=True)]
        right = Qt.AlignmentFlag.AlignRight | Qt.AlignmentFlag.AlignVCenter
        left = Qt.AlignmentFlag.AlignLeft | Qt.AlignmentFlag.AlignVCenter
        for column, head in enumerate((*_OF_SLICE, *heads)):
            title = QStandardItem(head)
            title.setTextAlignment(right if column < len(_OF_SLICE) else left)
            self.model.setHorizontalHeaderItem(column, title)
        for row in range(self.model.rowCount()):
            time = preview.times[row] if row < len(preview.times) else None
            texts = ("–", "–") if time is None else [format_time(ps / 1000) for ps in time]
            for column, text in enumerate(texts):
                item = self.model.item(row, column)
                item.setText(text)
                item.setTextAlignment(right)
                item.setForeground(self._theme.color("text2" if time is None else "accent"))
        header = self.table.horizontalHeader()
        header.setSectionResizeMode(QHeaderView.ResizeMode.Interactive)
        self.table.resizeColumnsToContents()
        for column in range(self.model.columnCount()):
            width = self.table.columnWidth(column)
            least, most = self._theme.px(_NARROWEST), self._theme.px(_WIDEST)
            self.table.setColumnWidth(column, max(least, min(width, most)))

    @Slot()
    def _open(self) -> None:
        text = self.stated.text()
        self.accept()
        self.columns_chosen.emit(text)


def _asked(path: str, question: Question) -> str:
    name = visible_controls(display_name(path))
    wanted = [_NEEDED[what] for what in question.missing if what in _NEEDED]
    return f"Choose the columns of {name}{': ' if wanted else ''}{listed(wanted)}."


def _short(text: str) -> str:
    return text if len(text) <= _LONGEST else f"{text[: _LONGEST - 1]}…"


_FOLDER_SIZE = 720, 480
_COLUMNS = ("File", "Format", "Size")
_PATH = Qt.ItemDataRole.UserRole
_WIDTHS = {1: 190, 2: 90}


class FolderDialog(FramedDialog):
    """Lists files with check boxes; emits `open_requested` with the paths to open."""

    open_requested = Signal(list)

    def __init__(
        self,
        folders: Sequence[FolderContents],
        theme: Theme,
        parent: QWidget | None = None,
    ) -> None:
        super().__init__(theme, parent)
        self.setWindowTitle("Open files from a folder")
        self.resize(theme.px(_FOLDER_SIZE[0]), theme.px(_FOLDER_SIZE[1]))
        self.model = QStandardItemModel(self)
        self.model.setHorizontalHeaderLabels(_COLUMNS)
        for folder in folders:
            before = f"{os.path.basename(folder.folder)}/" if len(folders) > 1 else ""
            for file in folder.files:
                name = QStandardItem(before + file.name)
                name.setData(file.path, _PATH)
                name.setToolTip(tip(file.path))
                name.setCheckable(True)
                name.setCheckState(
                    Qt.CheckState.Checked if file.is_meant else Qt.CheckState.Unchecked
                )
                size = QStandardItem(bytes_text(file.size))
                size.setTextAlignment(Qt.AlignmentFlag.AlignRight | Qt.AlignmentFlag.AlignVCenter)
                self.model.appendRow([name, QStandardItem(file.format), size])
        self.table = QuietTable("Files in the folder")
        self.table.setModel(self.model)
        self.table.setEditTriggers(self.table.EditTrigger.NoEditTriggers)
        self.table.setTextElideMode(Qt.TextElideMode.ElideMiddle)
        self.table.verticalHeader().setDefaultSectionSize(theme.px(ROW_HEIGHT))
        sizes = self.model.horizontalHeaderItem(len(_COLUMNS) - 1)
        sizes.setTextAlignment(Qt.AlignmentFlag.AlignRight | Qt.AlignmentFlag.AlignVCenter)
        header = self.table.horizontalHeader()
        header.setDefaultAlignment(Qt.AlignmentFlag.AlignLeft | Qt.AlignmentFlag.AlignVCenter)
        header.setSectionResizeMode(0, QHeaderView.ResizeMode.Stretch)
        for column, width in _WIDTHS.items():
            self.table.setColumnWidth(column, theme.px(width))
        self.table.doubleClicked.connect(self._toggle)  # Return opens, the space bar checks
        names = " and ".join(os.path.basename(f.folder) or f.folder for f in folders[:3])
        summary = f"{counted(self.model.rowCount(), 'file')} of {names} can be opened."
        if not all(folder.is_whole for folder in folders):
            summary += " There are more: drop the subfolder with the files that you want."
        choose_all, none = QPushButton("Select all"), QPushButton("Select none")
        choose_all.clicked.connect(lambda: self._set_all(Qt.CheckState.Checked))
        none.clicked.connect(lambda: self._set_all(Qt.CheckState.Unchecked))
        self.open_button, cancel = QPushButton(), QPushButton("Cancel")
        self.open_button.setProperty("primary", True)
        self.open_button.setDefault(True)
        self.open_button.clicked.connect(self._open)
        cancel.clicked.connect(self.reject)
        foot = QHBoxLayout()
        for button in (choose_all, none):
            button.setAutoDefault(False)
            foot.addWidget(button)
        foot.addStretch(1)
        foot.addWidget(cancel)
        foot.addWidget(self.open_button)
        column_of = QVBoxLayout(self)
        column_of.setContentsMargins(20, 16, 20, 16)
        column_of.setSpacing(12)
        column_of.addWidget(label(summary, theme, "body", wrap=True))
        column_of.addWidget(self.table, 1)
        column_of.addLayout(foot)
        self.model.itemChanged.connect(self._count)
        self.table.setCurrentIndex(self.model.index(0, 0))
        self.table.setFocus()
        self._count()

    @property
    def chosen(self) -> list[str]:
        """The paths of the checked files."""
        items = (self.model.item(row) for row in range(self.model.rowCount()))
        return [item.data(_PATH) for item in items if item.checkState() is Qt.CheckState.Checked]

    @Slot(QModelIndex)
    def _toggle(self, index: QModelIndex) -> None:
        item = self.model.item(index.row())
        on = item.checkState() is Qt.CheckState.Checked
        item.setCheckState(Qt.CheckState.Unchecked if on else Qt.CheckState.Checked)

    def _set_all(self, state: Qt.CheckState) -> None:
        for row in range(self.model.rowCount()):
            self.model.item(row).setCheckState(state)

    @Slot()
    def _count(self) -> None:
        count = len(self.chosen)
        self.open_button.setText(f"Open {counted(count, 'file')}")
        self.open_button.setEnabled(count > 0)

    @Slot()
    def _open(self) -> None:
        chosen = self.chosen
        self.accept()
        self.open_requested.emit(chosen)
