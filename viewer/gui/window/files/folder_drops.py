"""Folders that were dropped on the window: what is in them is looked for, and opened or offered.

One file, or Torq debug info alone, is opened at once; of several it is asked which.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import TYPE_CHECKING

from PySide6.QtCore import QObject, Qt, Slot

from viewer.formats.folders import FolderContents, look_through
from viewer.gui.qt.background import Latest
from viewer.gui.window.dialogs.folder import FolderDialog

if TYPE_CHECKING:
    from viewer.gui.window.controller import WindowController


class FolderDrops(QObject):
    """The dropped folders of one desk."""

    def __init__(self, desk: WindowController) -> None:
        super().__init__(desk)
        self._desk = desk
        self._latest = Latest(self)
        self._latest.answered.connect(self._found)
        self._latest.failed.connect(desk.show_error)
        self.dialog: FolderDialog | None = None

    def take(self, folders: Sequence[str]) -> None:
        """Look through folders in the background, and open or offer what is in them."""
        if folders:
            self._desk.show_status(f"Looking through {', '.join(map(os.path.basename, folders))}")
            self._latest.submit(_look, tuple(folders))

    @Slot(object)
    def _found(self, found: list[FolderContents]) -> None:
        self._desk.show_status("")
        at_once: list[str] = []
        offered: list[FolderContents] = []
        for folder in found:
            info = folder.debug_info
            if info:
                at_once += info
            elif folder.files:
                offered.append(folder)
            else:
                rest = "" if folder.is_whole else ", as far as it was looked through"
                self._desk.show_error(
                    f"{os.path.basename(folder.folder) or folder.folder}: no profile, record or "
                    f"source is in this folder{rest}"
                )
        if [len(folder.files) for folder in offered] == [1]:
            at_once.append(offered.pop().files[0].path)
        if at_once:
            self._desk.open(at_once)
        if offered:
            self.dialog = FolderDialog(offered, self._desk.theme, self._desk.window)
            self.dialog.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
            self.dialog.asked.connect(self._desk.open)
            self.dialog.open()


def _look(folders: tuple[str, ...]) -> list[FolderContents]:
    return [look_through(folder) for folder in folders]
