"""Folders that are opened, and what is dragged to the window: files, folders, and the rest.

A folder with a single file, or with Torq debug info, is opened immediately; otherwise a dialog asks
which files to open.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import TYPE_CHECKING

from PySide6.QtCore import QObject, QPoint, Qt, QUrl, Slot

from viewer.gui.qt.background import Latest
from viewer.gui.window.files.comparing import Comparing
from viewer.gui.window.files.file_opener import FileOpener
from viewer.gui.window.frame.shell import Shell
from viewer.workspace.link_choices import Choices

if TYPE_CHECKING:
    from viewer.formats.folders import FolderContents
    from viewer.gui.window.dialogs.folder import FolderDialog


class FolderDrops(QObject):
    """Handles folders that are opened in one window, and what is dropped on it."""

    def __init__(self, opener: FileOpener, comparing: Comparing, shell: Shell) -> None:
        from viewer.gui.window.files.drop_overlay import DropOverlay

        super().__init__(shell)
        self._opener, self._comparing, self._shell = opener, comparing, shell
        self._latest = Latest(self)
        self._latest.answered.connect(self._take_folders)
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
        """Look through folders in the background, and open or offer the files in them.

        choices: for these files, from the command line.
        """
        names = ", ".join(os.path.basename(folder.rstrip(os.sep)) or folder for folder in folders)
        self._shell.status.show_text(f"Searching {names}")
        self._choices = choices
        self._latest.submit(_look, tuple(folders))

    @Slot(object)
    def _take_folders(self, folders: list[FolderContents]) -> None:
        from viewer.gui.window.dialogs.folder import FolderDialog

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
