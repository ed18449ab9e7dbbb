"""A dialog that asks which files of a dropped folder to open."""

from __future__ import annotations

import os
from collections.abc import Sequence

from PySide6.QtCore import QModelIndex, Qt, Signal, Slot
from PySide6.QtGui import QStandardItem, QStandardItemModel
from PySide6.QtWidgets import QHBoxLayout, QHeaderView, QPushButton, QVBoxLayout, QWidget

from viewer.formats.folders import FolderContents
from viewer.gui.qt.focus_frame import FramedDialog
from viewer.gui.qt.theme.theme import Theme
from viewer.gui.qt.widgets.labels import label, tip
from viewer.gui.qt.widgets.tables import ROW_HEIGHT, QuietTable
from viewer.model.text import bytes_text
from viewer.model.times import counted

_SIZE = 720, 480
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
        self.resize(theme.px(_SIZE[0]), theme.px(_SIZE[1]))
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
