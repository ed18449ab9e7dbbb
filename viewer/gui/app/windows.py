"""All windows of the program: each is over a session of its own, closing one leaves the others.

They share the look and the settings. The window that is closed last says how the next one lies.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import TYPE_CHECKING

from PySide6.QtCore import QObject, QPoint, QSize, QTimer, Slot
from PySide6.QtWidgets import QApplication, QWidget

from viewer.gui.qt.settings import Settings
from viewer.gui.qt.theme.theme import Theme
from viewer.gui.window.main_window import MainWindow

if TYPE_CHECKING:
    from viewer.gui.app.handover_request import HandoverRequest
    from viewer.workspace.link_choices import Choices

_STEP = QPoint(32, 32)  # px, from a window to the next one
_LEAST = QSize(640, 480)  # px, of a window that is made smaller to fit


class Windows(QObject):
    """The windows of one application, oldest first."""

    def __init__(self, theme: Theme, settings: Settings, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._theme, self._settings = theme, settings
        self.all: list[MainWindow] = []
        self._quits = False  # all windows are to be closed, and one waits for an answer

    def new(self, files: Sequence[str] = (), choices: Choices | None = None) -> MainWindow:
        """Show a new window, with files in it."""
        beside = self.active
        window = MainWindow(self._theme, self._settings)
        if beside is not None:
            self._place(window, beside)
        self.all.append(window)
        window.closed.connect(self._closed)
        window.stayed.connect(self._stayed)
        window.new_window_requested.connect(self._new)
        window.quit_requested.connect(self.quit)
        # Before it is shown: the start page would flash up and draw its samples for nothing.
        if files:
            window.open(files, choices)
        window.show()
        return window

    @property
    def active(self) -> MainWindow | None:
        """The window that is worked in, else the one that was made last."""
        asked: QWidget | None = QApplication.activeWindow()
        while asked is not None and asked not in self.all:
            asked = asked.parentWidget()
        if isinstance(asked, MainWindow):
            return asked
        return self.all[-1] if self.all else None

    @property
    def open_files(self) -> list[tuple[str, str]]:
        """(path, format) of everything that is open in any window."""
        return [file for window in self.all for file in window.open_files]

    @Slot(str)
    def open_one(self, path: str) -> None:
        """Open one file, as a file manager asks for it; of several it asks one by one."""
        window = self.active
        if window is None:
            self.new([path])
        else:
            window.open([path])

    @Slot(object)
    def take(self, request: HandoverRequest) -> None:
        """Do what a second start was asked for, in an empty window or a new one, at the front."""
        if request.theme is not None:
            self._theme.set_choice(request.theme)  # type: ignore[arg-type]
        empty = [window for window in self.all if window.is_empty]
        if empty and not request.new_window:
            window = self.active if self.active in empty else empty[0]
            assert window is not None
            window.open(request.files, request.choices)
        else:
            window = self.new(request.files, request.choices)
        if request.token:
            # Where Qt looks for what a desktop asks for before a window may come to the front.
            os.environ["XDG_ACTIVATION_TOKEN"] = request.token
        window.come_to_front()

    @Slot()
    def quit(self) -> None:
        """Close all windows, as long as nobody who is asked about one wants it to stay: those with
        a question first, and the one that is worked in last, since its place is remembered."""
        active, self._quits = self.active, False
        for window in sorted(self.all, key=lambda w: (not w.has_changes, w is active)):
            if not window.close():
                self._quits = True  # once the question is answered
                return

    @Slot()
    def _stayed(self) -> None:
        self._quits = False

    @Slot()
    def _new(self) -> None:
        self.new()

    @Slot(object)
    def _closed(self, window: MainWindow) -> None:
        if window not in self.all or len(self.all) == 1:
            return  # the last one ends the program, which needs no order in what it leaves
        self.all.remove(window)
        window.put_away()
        if self._quits:
            QTimer.singleShot(0, self.quit)

    def _place(self, window: QWidget, beside: QWidget) -> None:
        """Let a window lie a little below and right of another one, as far as the screen reaches;
        at the corner of the screen where that would be too small."""
        free = beside.screen().availableGeometry()
        there = beside.pos() + _STEP
        room = QSize(free.right() - there.x(), free.bottom() - there.y())
        if room.width() < _LEAST.width() or room.height() < _LEAST.height():
            there, room = free.topLeft(), free.size()
        window.resize(beside.size().boundedTo(room))
        window.move(there)
