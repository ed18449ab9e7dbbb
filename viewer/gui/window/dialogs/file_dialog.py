"""The one file dialog: what is opened, saved or located is asked for here.

The system's own dialog comes first. Where there is none, as in a plain X11 session, it is Qt's,
with what it lacks: an instruction in the dialog, icons of the theme, columns that are wide enough,
and the names of formats as types of files.
"""

from __future__ import annotations

from collections.abc import Sequence
from enum import Enum, auto
from functools import cache
from typing import cast

import shiboken6
from PySide6.QtCore import QFileInfo, QSize
from PySide6.QtGui import QIcon
from PySide6.QtWidgets import (
    QComboBox,
    QDialogButtonBox,
    QFileDialog,
    QFileIconProvider,
    QGridLayout,
    QHeaderView,
    QLineEdit,
    QPushButton,
    QSplitter,
    QToolButton,
    QTreeView,
    QWidget,
)

from viewer.dataclasses import dataclass
from viewer.formats import formats
from viewer.gui.qt.accessibility import FocusFrame, Framed
from viewer.gui.qt.crash_report import guard
from viewer.gui.qt.theme.theme import Theme
from viewer.gui.qt.widgets.labels import label

_SIZE = 900, 600
_WIDTHS = {1: 96, 2: 172, 3: 150}  # px of size, type and date; the name takes the rest
_PLACES = 150  # px, the list of places next to the files
_INSET = 16
# Buttons of Qt's dialog by object name -> (icon, tooltip).
_BUTTONS = {
    "backButton": ("back", "Back"),
    "forwardButton": ("forward", "Forward"),
    "toParentButton": ("chevron-up", "Parent folder"),
    "newFolderButton": ("new-folder", "New folder"),
    "listModeButton": ("grid", "Names only"),
    "detailModeButton": ("list", "Names, sizes, types and dates"),
}
_DRIVES = (
    QFileIconProvider.IconType.Computer,
    QFileIconProvider.IconType.Desktop,
    QFileIconProvider.IconType.Drive,
    QFileIconProvider.IconType.Network,
    QFileIconProvider.IconType.Folder,
)


class PathKind(Enum):
    """What is asked for."""

    OPEN_FILES = auto()
    OPEN_FILE = auto()
    SAVE_FILE = auto()
    FOLDER = auto()


_MODES = {
    PathKind.OPEN_FILES: QFileDialog.FileMode.ExistingFiles,
    PathKind.OPEN_FILE: QFileDialog.FileMode.ExistingFile,
    PathKind.SAVE_FILE: QFileDialog.FileMode.AnyFile,
    PathKind.FOLDER: QFileDialog.FileMode.Directory,
}


@dataclass(frozen=True, slots=True)
class FileAnswer:
    """What was chosen; no paths if the dialog was canceled. chosen_filter: the type of file."""

    paths: tuple[str, ...] = ()
    chosen_filter: str = ""

    @property
    def path(self) -> str:
        """The first path; "" if the dialog was canceled."""
        return self.paths[0] if self.paths else ""


@dataclass(frozen=True, slots=True)
class FileQuestion:
    """A question for files.

    title: a few words, which every system shows. instruction: a sentence about what to choose.
    start: the folder, or the path of the file, that the dialog begins with. filters: types of files
    as Qt writes them, "Table (*.csv);;All files (*)".
    """

    kind: PathKind
    title: str
    instruction: str
    start: str = ""
    filters: str = ""

    def ask(self, parent: QWidget | None, theme: Theme) -> FileAnswer:
        """Show the dialog, and wait for the answer."""
        dialog = self.dialog(parent, theme)
        is_accepted = bool(dialog.exec())
        if not shiboken6.isValid(dialog):  # the window was closed meanwhile
            return FileAnswer()
        answer = FileAnswer()
        if is_accepted:
            answer = FileAnswer(tuple(dialog.selectedFiles()), dialog.selectedNameFilter())
        dialog.deleteLater()
        return answer

    def dialog(self, parent: QWidget | None, theme: Theme) -> QFileDialog:
        """The system's dialog, or else Qt's as this window shows it."""
        dialog = QFileDialog(parent)
        if dialog.layout() is not None:  # Qt's: the system has none
            dialog.deleteLater()
            dialog = _PlainFileDialog(self.instruction, theme, parent)
        dialog.setWindowTitle(self.title)
        dialog.setFileMode(_MODES[self.kind])
        saves = self.kind is PathKind.SAVE_FILE
        mode = QFileDialog.AcceptMode
        dialog.setAcceptMode(mode.AcceptSave if saves else mode.AcceptOpen)
        if self.kind is PathKind.FOLDER:
            dialog.setOption(QFileDialog.Option.ShowDirsOnly)
        if self.filters:
            dialog.setNameFilters(self.filters.split(";;"))
        info = QFileInfo(self.start)
        if info.isDir():
            dialog.setDirectory(self.start)
        elif self.start:
            dialog.setDirectory(info.absolutePath())
            dialog.selectFile(info.fileName())
        if isinstance(dialog, _PlainFileDialog):
            dialog.arrange()
        return dialog


class _PlainFileDialog(Framed, QFileDialog):
    """Qt's dialog, with an instruction, and with icons and columns of this window."""

    def __init__(self, instruction: str, theme: Theme, parent: QWidget | None) -> None:
        super().__init__(parent)
        self._theme = theme
        self._focus_frame = FocusFrame(theme, self)
        self._icons = _Icons(theme)
        self.setOption(QFileDialog.Option.DontUseNativeDialog)
        self.setOption(QFileDialog.Option.HideNameFilterDetails)  # dozens of suffixes
        self.setIconProvider(self._icons)
        self.setViewMode(QFileDialog.ViewMode.Detail)
        self.instruction = label(instruction, theme, "body", wrap=True)
        self._put_on_top(self.instruction)

    def _put_on_top(self, widget: QWidget) -> None:
        """Move all else down by a row."""
        grid, inset = self.layout(), self._theme.px(_INSET)
        assert isinstance(grid, QGridLayout)
        grid.setContentsMargins(inset, self._theme.px(12), inset, self._theme.px(12))
        positions = [grid.getItemPosition(i) for i in range(grid.count())]
        # The stubs state an object.
        for row, column, rows, columns in cast(Sequence[tuple[int, int, int, int]], positions):
            item = grid.takeAt(0)
            assert item is not None
            inner, moved = item.layout(), item.widget()
            if inner is not None:
                grid.addLayout(inner, row + 1, column, rows, columns)
            elif moved is not None:
                grid.addWidget(moved, row + 1, column, rows, columns)
        widget.setContentsMargins(0, 0, 0, self._theme.px(6))
        grid.addWidget(widget, 0, 0, 1, -1)

    def arrange(self) -> None:
        """Give size, columns and icons, once modes and types are set."""
        theme = self._theme
        size = QSize(theme.px(_SIZE[0]), theme.px(_SIZE[1]))
        self.resize(size.boundedTo(self.screen().availableGeometry().size()))
        tree = self.findChild(QTreeView, "treeView")
        assert tree is not None
        tree.setStyleSheet(f"QTreeView::item {{ padding: 0 {theme.px(6)}px; }}")
        header = tree.header()
        header.setStretchLastSection(False)
        header.setSectionResizeMode(0, QHeaderView.ResizeMode.Stretch)
        for column, width in _WIDTHS.items():
            header.resizeSection(column, theme.px(width))
        for splitter in self.findChildren(QSplitter):
            splitter.setSizes([theme.px(_PLACES), theme.px(_SIZE[0] - _PLACES)])
        for name, (icon, text) in _BUTTONS.items():
            if (button := self.findChild(QToolButton, name)) is not None:
                button.setIcon(theme.icon(icon))
                button.setToolTip(text)
                button.setAccessibleName(text)
        for name, text in (("lookInCombo", "Folder"), ("fileTypeCombo", "Files of type")):
            if (box := self.findChild(QComboBox, name)) is not None:
                box.setAccessibleName(text)
        if (field := self.findChild(QLineEdit, "fileNameEdit")) is not None:
            field.setAccessibleName("File name")
        buttons = self.findChild(QDialogButtonBox)
        assert buttons is not None
        for press in buttons.findChildren(QPushButton):
            press.setIcon(QIcon())
            accepts = buttons.buttonRole(press) is QDialogButtonBox.ButtonRole.AcceptRole
            press.setProperty("primary", accepts)


class _Icons(QFileIconProvider):
    """Icons of the theme, and names of formats as types of files."""

    def __init__(self, theme: Theme) -> None:
        super().__init__()
        self._theme = theme

    @guard(QIcon())
    def icon(self, subject: QFileIconProvider.IconType | QFileInfo) -> QIcon:
        """The icon of a file, a folder or a place."""
        is_folder = subject.isDir() if isinstance(subject, QFileInfo) else subject in _DRIVES
        return self._theme.icon("open" if is_folder else "file")

    @guard("")
    def type(self, info: QFileInfo) -> str:
        """What a file is, by its suffix; content decides only when it is opened."""
        return "Folder" if info.isDir() else type_of_file(info.fileName())


def type_of_file(name: str) -> str:
    """The format that a suffix is for; the suffix itself if it is for several or for none."""
    suffixes = _formats_by_suffix()
    ending = "." + name.lower().partition(".")[2]
    while ending != ".":
        names = suffixes.get(ending, ())
        if len(names) == 1:
            return names[0]
        rest = ending[1:].partition(".")[2]
        if names or not rest:
            return f"{ending[1:].upper()} file"
        ending = f".{rest}"
    return "File"


@cache
def _formats_by_suffix() -> dict[str, Sequence[str]]:
    names: dict[str, list[str]] = {}
    for form in formats():
        for suffix in form.suffixes:
            names.setdefault(suffix, []).append(form.name)
    return dict(names)
