"""Folders that are opened, and what is dragged to the window: files, folders, and the rest.

A folder with a single file, or with Torq debug info, is opened immediately; otherwise a dialog asks
which files to open. While files are dragged, an overlay shows what they are and what a drop does.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import TYPE_CHECKING

from PySide6.QtCore import QObject, QPoint, QRect, Qt, QUrl, Slot
from PySide6.QtGui import QPainter, QPaintEvent, QPen
from PySide6.QtWidgets import QFrame, QGridLayout, QVBoxLayout, QWidget

from viewer.codecs.reading import UnreadableFile
from viewer.dataclasses import dataclass
from viewer.formats import choose, head_of
from viewer.gui.qt.background import Latest
from viewer.gui.qt.crash_report import guard
from viewer.gui.qt.theme.theme import Theme
from viewer.gui.qt.widgets.labels import ElidedLabel, label
from viewer.gui.window.files.comparing import Comparing
from viewer.gui.window.files.file_opener import FileOpener
from viewer.gui.window.frame.shell import Shell
from viewer.model.text import display_name
from viewer.model.times import counted
from viewer.view.sessions.session_file import SUFFIX
from viewer.workspace.link_choices import Choices

if TYPE_CHECKING:
    from viewer.formats.folders import FolderContents
    from viewer.gui.window.dialogs.opening import FolderDialog


MOST_LISTED = 8  # more would not be read during a drag
COMPARE = "Drop here to compare with the open profiles"
_INSET, _DASHES, _CARD_WIDTH, _TARGET = 16, 2, 460, 96


@dataclass(frozen=True, slots=True)
class DraggedFile:
    """A file or folder over the window. what: its format, or why it does not open."""

    name: str
    what: str
    opens: bool


class DropOverlay(QWidget):
    """Covers its parent during a drag and lists what was recognized."""

    def __init__(self, theme: Theme, parent: QWidget) -> None:
        super().__init__(parent)
        self._theme = theme
        self._window = parent
        self._card: QFrame | None = None
        self._title = ""
        self._compares = False
        self.is_on_compare = False  # whether the mouse is on the second target
        self._latest = Latest(self, self._list)
        self.setAttribute(Qt.WidgetAttribute.WA_TransparentForMouseEvents)
        self.setAccessibleName("Drop files")
        self.hide()

    def show_for(self, urls: Sequence[QUrl], *, adds: bool, compares: bool = False) -> None:
        """Cover the parent and list the files.

        adds: whether they join files that are open. compares: whether there is a second target, at
        the bottom, that compares them with what is open.
        """
        self._compares, self.is_on_compare = compares, False
        paths = [url.toLocalFile() for url in urls if url.isLocalFile()]
        verb, ending = ("add", " to this window") if adds else ("open", "")
        self._title = f"Drop to {verb} {counted(len(paths), 'file')}{ending}"
        if len(paths) == 1 and os.path.isdir(paths[0]):
            self._title = f"Drop to choose files from {display_name(paths[0].rstrip('/'))}"
        self._list([DraggedFile(os.path.basename(path), "", True) for path in paths])
        self.setGeometry(self._window.rect())
        self.raise_()
        self.show()
        self._latest.submit(recognized, tuple(paths))

    @property
    def compare_target(self) -> QRect:
        """The place of the second target, empty without one."""
        if not self._compares:
            return QRect()
        inset, tall = self._theme.px(2 * _INSET), self._theme.px(_TARGET)
        area = self.rect().adjusted(inset, 0, -inset, -inset)
        return QRect(area.left(), area.bottom() - tall, area.width(), tall)

    def point_at(self, place: QPoint) -> None:
        """Highlight the second target if the mouse is on it."""
        is_on = self.compare_target.contains(place)
        if is_on != self.is_on_compare:
            self.is_on_compare = is_on
            self.update()

    def end(self) -> None:
        """Uncover the parent."""
        self._latest.cancel()
        self.hide()

    @Slot(object)
    def _list(self, files: Sequence[DraggedFile]) -> None:
        theme = self._theme
        if self._card is not None:
            self._card.deleteLater()
        self._card = card = QFrame(self)
        card.setProperty("card", True)
        column = QVBoxLayout(card)
        margin = theme.px(20)
        column.setContentsMargins(margin, margin, margin, margin)
        column.setSpacing(theme.px(12))
        column.addWidget(label(self._title, theme, "operator"))
        grid = QGridLayout()
        grid.setHorizontalSpacing(theme.px(12))
        for row, file in enumerate(files[:MOST_LISTED]):
            tone = "text1" if file.opens else "text3"
            grid.addWidget(ElidedLabel(file.name, theme, "body", tone), row, 0)
            what = ElidedLabel(file.what, theme, "caption", "text2" if file.opens else "warning")
            grid.addWidget(what, row, 1)
        grid.setColumnStretch(0, 3)
        grid.setColumnStretch(1, 2)
        column.addLayout(grid)
        if len(files) > MOST_LISTED:
            more = f"and {len(files) - MOST_LISTED} more"
            column.addWidget(label(more, theme, "caption", "text3"))
        card.setFixedWidth(min(theme.px(_CARD_WIDTH), self._window.width()))
        card.adjustSize()
        place = card.rect()
        place.moveCenter(self._window.rect().center())
        card.setGeometry(place)
        card.show()
        names = ", ".join(f"{file.name} {file.what}".strip() for file in files[:MOST_LISTED])
        self.setAccessibleDescription(f"{self._title}: {names}")

    @guard
    def paintEvent(self, event: QPaintEvent) -> None:
        theme = self._theme
        painter = QPainter(self)
        painter.fillRect(self.rect(), theme.color("panel", 0.85))
        painter.setPen(QPen(theme.color("accent"), theme.px(_DASHES), Qt.PenStyle.DashLine))
        inset = theme.px(_INSET)
        painter.drawRect(self.rect().adjusted(inset, inset, -inset, -inset))
        target = self.compare_target
        if not target.isEmpty():
            painter.setPen(QPen(theme.color("accent"), theme.px(_DASHES)))
            painter.setBrush(theme.color("selection" if self.is_on_compare else "raised"))
            radius = theme.px(6)
            painter.drawRoundedRect(target, radius, radius)
            painter.setPen(theme.color("text1"))
            painter.setFont(theme.font("operator"))
            painter.drawText(target, int(Qt.AlignmentFlag.AlignCenter), COMPARE)
        painter.end()


def recognized(paths: tuple[str, ...]) -> list[DraggedFile]:
    """Return what files are, by their first bytes; of those that are not listed only the names."""
    rest = [DraggedFile(os.path.basename(path), "", True) for path in paths[MOST_LISTED:]]
    return [_recognized(path) for path in paths[:MOST_LISTED]] + rest


def _recognized(path: str) -> DraggedFile:
    name = os.path.basename(path)
    if os.path.isdir(path):
        return DraggedFile(name, "folder", True)
    if path.endswith(SUFFIX):
        return DraggedFile(name, "Opscope session", True)
    try:
        return DraggedFile(name, choose(head_of(path), path).name, True)
    except UnreadableFile:
        return DraggedFile(name, "not recognized", False)


class FolderDrops(QObject):
    """Handles folders that are opened in one window, and what is dropped on it."""

    def __init__(self, opener: FileOpener, comparing: Comparing, shell: Shell) -> None:

        super().__init__(shell)
        self._opener, self._comparing, self._shell = opener, comparing, shell
        self._latest = Latest(self, self._take_folders)
        self._latest.failed.connect(shell.message.show_error)
        self.dialog: FolderDialog | None = None
        self._choices: Choices | None = None  # for the files in the folders
        opener.folders_requested.connect(self.take)
        self.overlay = DropOverlay(shell.theme, shell)

    def enter(self, urls: Sequence[QUrl]) -> None:
        """Show what files dragged over the window are."""
        if any(url.isLocalFile() for url in urls):
            self.overlay.show_for(
                urls, adds=not self._opener.is_empty, compares=self._comparing.is_possible
            )

    def move(self, place: QPoint) -> None:
        """Show which target a place of the window is in."""
        self.overlay.point_at(place)

    def leave(self) -> None:
        """Stop showing it."""
        self.overlay.end()

    def drop(self, urls: Sequence[QUrl]) -> None:
        """Open dropped files, look through dropped folders, and reject remote files.

        Those on the Compare target become the other arm of a comparison.
        """
        compares = self.overlay.is_on_compare
        self.overlay.end()
        paths = [url.toLocalFile() for url in urls if url.isLocalFile()]
        if compares and paths:
            self._comparing.start(paths)
            return
        self._opener.open(paths)
        for url in urls:
            if not url.isLocalFile():
                name = url.toDisplayString()
                text = f"{name} is not a local file: save it first, then drop it"
                self._opener.show_failure(name, text)
        if not urls:
            self._shell.message.show_error("Nothing to open: drop profiles, ETRecords or sources")

    @Slot(object, object)
    def take(self, folders: Sequence[str], choices: Choices | None = None) -> None:
        """Look through folders in the background, and open or offer their files with `choices`."""
        names = ", ".join(os.path.basename(folder.rstrip(os.sep)) or folder for folder in folders)
        self._shell.status.show_text(f"Searching {names}")
        self._choices = choices
        self._latest.submit(_look, tuple(folders))

    @Slot(object)
    def _take_folders(self, folders: list[FolderContents]) -> None:
        from viewer.gui.window.dialogs.opening import FolderDialog

        self._shell.status.show_text("")
        at_once: list[str] = []
        offered: list[FolderContents] = []
        for folder in folders:
            info = folder.debug_info
            if info:
                at_once += info
            elif folder.files:
                offered.append(folder)
            else:
                rest = "" if folder.is_whole else " (too large to search completely)"
                self._opener.show_failure(
                    folder.folder,
                    f"{folder.folder}: no profile, ETRecord, program file or source in this "
                    f"folder{rest}",
                )
        if [len(folder.files) for folder in offered] == [1]:
            at_once.append(offered.pop().files[0].path)
        if at_once:
            self._opener.open(at_once, self._choices)
        elif not self._opener.is_busy:
            self._opener.nothing_opened.emit()
        if offered:
            self.dialog = FolderDialog(offered, self._shell.theme, self._shell)
            self.dialog.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
            self.dialog.open_requested.connect(self._open_chosen)
            self.dialog.open()

    @Slot(list)
    def _open_chosen(self, paths: list[str]) -> None:
        self._opener.open(paths, self._choices)


def _look(folders: tuple[str, ...]) -> list[FolderContents]:
    from viewer.formats.folders import look_through

    return [look_through(folder) for folder in folders]
