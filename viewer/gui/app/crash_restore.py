"""Offers to restore what a crash left, in a message of the first window."""

from __future__ import annotations

import glob
import os
from collections.abc import Sequence
from datetime import datetime
from typing import TYPE_CHECKING

from PySide6.QtCore import QObject, Slot

from viewer.codecs.atomic_file import remove_left_parts
from viewer.codecs.temporary_folder import remove_left_folders
from viewer.gui.app.windows import Windows
from viewer.gui.qt.background import Latest
from viewer.gui.qt.settings import Settings
from viewer.gui.window.frame.message_bar import MessageBar
from viewer.gui.window.main_window import MainWindow

if TYPE_CHECKING:
    from viewer.view.sessions.recent_sessions import LeftSession

LATER = "The session stays in File > Earlier sessions"
RESTORING = "Restoring the session"


class CrashRestore(QObject):
    """Looks for left sessions once the first window is shown, and restores them on request.

    They are recent sessions from then on, so that an unanswered offer loses nothing.
    """

    def __init__(self, windows: Windows, settings: Settings) -> None:
        super().__init__(windows)
        self._windows, self._settings = windows, settings
        self._left: list[LeftSession] = []
        self._window: MainWindow | None = None
        self.bar: MessageBar | None = None
        self._taking = Latest(self)
        self._taking.answered.connect(self._offer)
        self._cleaning = Latest(self)

    def offer_in(self, window: MainWindow) -> None:
        """Look for sessions in a thread, and offer in this window to restore them."""
        self._window = window
        window.closing.connect(self._forget)
        self._taking.submit(_take_left, self._settings.folder)
        recent = [path for paths in self._settings.recent_sets() for path in paths]
        self._cleaning.submit(_clean, sorted(set(map(os.path.dirname, recent))))

    @Slot()
    def _forget(self) -> None:
        self._window = self.bar = None

    @Slot(object)
    def _offer(self, left: list[LeftSession]) -> None:
        if not left or self._window is None:
            return
        self._left = left
        self.bar = self._window.add_bar()
        self.bar.show_warning(offer_text(left, datetime.now()), "Restore", self._restore)
        self.bar.changed.connect(self._changed)

    def _restore(self) -> None:
        left, self._left = self._left, []
        self._windows.restore([left_session.saved for left_session in left])
        if self._window is not None:
            self._window.show_text(RESTORING)

    @Slot()
    def _changed(self) -> None:
        """Free the bar once it is dismissed, and say where its session is."""
        if self.bar is None or self.bar.text:
            return
        bar, self.bar = self.bar, None
        bar.deleteLater()
        if self._left and self._window is not None:
            self._window.show_text(LATER)


def offer_text(left: Sequence[LeftSession], now: datetime) -> str:
    """The offer: what can be restored, and from when."""
    files = sum(len(left_session.saved.inputs) for left_session in left)
    bookmarks = sum(
        len(left_session.saved.view.bookmarks)
        for left_session in left
        if left_session.saved.view is not None
    )
    what = _number(files, "file")
    if bookmarks:
        what += f" and {_number(bookmarks, 'bookmark')}"
    if len(left) > 1:
        what = f"{_number(len(left), 'window')} with {what}"
    saved = datetime.fromtimestamp(max(left_session.when for left_session in left))
    day = "" if saved.date() == now.date() else f"{saved:%Y-%m-%d} "
    return f"Opscope did not close properly. Restore {what} from {day}{saved:%H:%M}?"


def _number(count: int, what: str) -> str:
    return f"{count} {what}{'' if count == 1 else 's'}"


def _clean(folders: Sequence[str]) -> None:
    """Remove temporary files of dead programs next to recent files. Runs in a thread."""
    for folder in folders:
        remove_left_parts(folder)


def _take_left(folder: str) -> list[LeftSession]:
    """Remove temporary files of dead programs, and take their sessions. Runs in a thread."""
    remove_left_parts(folder)
    remove_left_folders()
    if not glob.glob("autosave-*", root_dir=folder):
        return []
    # Only if needed, as it imports numpy, which takes longer than the first window.
    from viewer.view.sessions.recent_sessions import take_left

    return take_left(folder)
