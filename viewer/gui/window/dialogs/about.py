"""The About dialog: version, bundled packages, their licenses and license texts."""

from __future__ import annotations

from PySide6.QtCore import QModelIndex, Qt, Slot
from PySide6.QtGui import QStandardItem, QStandardItemModel
from PySide6.QtWidgets import QDialogButtonBox, QHeaderView, QPlainTextEdit, QVBoxLayout, QWidget

from viewer import __version__
from viewer.gui.qt.crash_report import versions
from viewer.gui.qt.focus_frame import FramedDialog
from viewer.gui.qt.theme.theme import Theme
from viewer.gui.qt.widgets.labels import label
from viewer.gui.qt.widgets.tables import ROW_HEIGHT, QuietTable
from viewer.gui.window.dialogs.licenses import BundledPart, parts, text_of

_SIZE = 720, 640
_COLUMNS = ("Component", "Version", "License", "For")
_WIDTHS = (160, 90, 230)


class AboutDialog(FramedDialog):
    """Shows versions and licenses; `log` is the path of the log of fatal faults."""

    def __init__(self, theme: Theme, log: str, parent: QWidget | None = None) -> None:
        super().__init__(theme, parent)
        self.setWindowTitle("About Opscope")
        self.resize(theme.px(_SIZE[0]), theme.px(_SIZE[1]))
        self.parts: list[BundledPart] = parts()
        self.model = QStandardItemModel(self)
        self.model.setHorizontalHeaderLabels(_COLUMNS)
        for part in self.parts:
            cells = (part.name, part.version, part.license, part.what)
            items = [QStandardItem(cell) for cell in cells]
            items[2].setToolTip(part.license)
            self.model.appendRow(items)
        self.table = QuietTable("Components and their licenses")
        self.table.setModel(self.model)
        self.table.setSelectionMode(self.table.SelectionMode.SingleSelection)
        self.table.setEditTriggers(self.table.EditTrigger.NoEditTriggers)
        self.table.verticalHeader().setDefaultSectionSize(theme.px(ROW_HEIGHT))
        for column, width in enumerate(_WIDTHS):
            self.table.setColumnWidth(column, theme.px(width))
        header = self.table.horizontalHeader()
        header.setDefaultAlignment(Qt.AlignmentFlag.AlignLeft | Qt.AlignmentFlag.AlignVCenter)
        header.setSectionResizeMode(len(_COLUMNS) - 1, QHeaderView.ResizeMode.Stretch)
        self.text = QPlainTextEdit()
        self.text.setReadOnly(True)
        self.text.setTabChangesFocus(True)
        self.text.setAccessibleName("License text")
        buttons = QDialogButtonBox(QDialogButtonBox.StandardButton.Close)
        buttons.rejected.connect(self.reject)
        column_of = QVBoxLayout(self)
        column_of.setContentsMargins(20, 16, 20, 16)
        column_of.setSpacing(10)
        about = (
            "Shows profiles of on-device ML on one timeline, linked to the model's source. Works "
            "offline and sends no data; only Open in Perfetto UI opens a page in your browser."
        )
        system = f"{versions()}\nCrashes are logged to {log}"
        column_of.addWidget(label(f"Opscope {__version__}", theme, "title"))
        column_of.addWidget(label(about, theme, "body", wrap=True))
        self.where = label(system, theme, "caption", "text2", wrap=True)
        self.where.setTextInteractionFlags(
            Qt.TextInteractionFlag.TextSelectableByMouse
            | Qt.TextInteractionFlag.TextSelectableByKeyboard
        )
        column_of.addWidget(self.where)
        column_of.addWidget(self.table, 1)
        column_of.addWidget(self.text, 1)
        column_of.addWidget(buttons)
        self.table.selectionModel().currentRowChanged.connect(self._show)
        self.table.selectRow(0)
        self.table.setFocus()

    @Slot(QModelIndex)
    def _show(self, current: QModelIndex) -> None:
        part = self.parts[current.row()]
        missing = f"{part.name} includes no license text ({part.license}). "
        self.text.setPlainText(
            text_of(part.name) or missing + (f"It is at {part.page}" if part.page else "")
        )
