"""Manages the program's windows; each has its own session, and closing one keeps the others open.

All windows share the theme and the settings. The last window to close saves its geometry for the
next start.
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
    from viewer.view.sessions.session_file import SavedSession
    from viewer.workspace.link_choices import Choices

_STEP = QPoint(32, 32)  # px, offset of a new window from the active one
_RETRY_MS = 300  # until a window that reads or writes is asked again
_LEAST = QSize(640, 480)  # px, a new window is not shrunk below this to fit the screen


class Windows(QObject):
    """The windows of one application, oldest first."""

    def __init__(self, theme: Theme, settings: Settings, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._theme, self._settings = theme, settings
        self.all: list[MainWindow] = []
        self._is_outdated = QTimer(self, interval=_RETRY_MS, singleShot=True)
        self._is_outdated.timeout.connect(self._make_anew)
        theme.resized.connect(self._outdate)
        self._quits = False  # quitting, but one window is still waiting for an answer

    def new(self, files: Sequence[str] = (), choices: Choices | None = None) -> MainWindow:
        """Create and show a window, and open `files` in it."""
        active = self.active
        window = self._make()
        if active is not None:
            self._place(window, active)
        self.all.append(window)
        # Open before showing: otherwise the start page would flash and draw its samples for
        # nothing.
        if files:
            window.open(files, choices)
        window.show()
        return window

    def _make(self) -> MainWindow:
        window = MainWindow(self._theme, self._settings)
        window.closed.connect(self._closed)
        window.stayed.connect(self._stayed)
        window.new_window_requested.connect(self._new)
        window.quit_requested.connect(self.quit)
        return window

    @Slot()
    def _outdate(self) -> None:
        # Later: it is a dialog of one of the windows that chooses the size.
        self._is_outdated.start(0)

    @Slot()
    def _make_anew(self) -> None:
        """Replace the windows of another size of fonts, once they have nothing to do."""
        for number, before in enumerate(self.all):
            if before.scale == self._theme.scale:
                continue
            if before.is_working:
                self._is_outdated.start(_RETRY_MS)
                continue
            window = self._make()
            window.succeed(before)
            self.all[number] = window
            window.show()
            if before.shows_preferences:
                window.show_preferences("Font size")
            before.close_unasked()
            before.put_away()

    @property
    def active(self) -> MainWindow | None:
        """The window that has focus (itself or its dialog), else the newest window, else None."""
        widget: QWidget | None = QApplication.activeWindow()
        while widget is not None and widget not in self.all:
            widget = widget.parentWidget()
        if isinstance(widget, MainWindow):
            return widget
        return self.all[-1] if self.all else None

    @property
    def open_files(self) -> list[tuple[str, str]]:
        """The (path, format) pair of every file that is open in any window."""
        return [file for window in self.all for file in window.open_files]

    @Slot(str)
    def open_one(self, path: str) -> None:
        """Open one file in the active window; a file manager sends several files one at a time."""
        window = self.active
        if window is None:
            self.new([path])
        else:
            window.open([path])

    @Slot(object)
    def take(self, request: HandoverRequest) -> None:
        """Carry out a second start's request in an empty or new window, and raise that window."""
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
            # Qt reads the desktop's activation token from here when a window asks to come to the
            # front.
            os.environ["XDG_ACTIVATION_TOKEN"] = request.token
        window.come_to_front()

    def restore(self, sessions: Sequence[SavedSession]) -> None:
        """Open sessions that a crash left: in empty windows, then in new ones."""
        empty = [window for window in self.all if window.is_empty]
        for saved in sessions:
            window = empty.pop(0) if empty else self.new()
            window.restore(saved)

    @Slot()
    def keep_sessions(self) -> None:
        """Make what is open in each window a recent session; the windows stay open.

        Called when the desktop session ends, which it may still cancel.
        """
        for window in self.all:
            window.keep_session()

    def autosave_now(self) -> None:
        """Save what is open in each window, to be restored at the next start."""
        for window in self.all:
            window.autosave_now()

    @Slot()
    def end(self) -> None:
        """Keep what is open in each window, and close all without a question."""
        self.keep_sessions()
        for window in list(self.all):
            window.close_unasked()

    @Slot()
    def quit(self) -> None:
        """Close all windows until one stays open because it waits for an answer.

        Windows with unsaved changes come first, so that questions appear early. The active window
        comes last, because the last window's geometry is saved.
        """
        active, self._quits = self.active, False
        for window in sorted(self.all, key=lambda w: (not w.has_changes, w is active)):
            if not window.close():
                self._quits = True  # continue once the question is answered
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
            return  # closing the last window ends the program; no cleanup needed
        self.all.remove(window)
        window.put_away()
        if self._quits:
            QTimer.singleShot(0, self.quit)

    def _place(self, window: QWidget, widget: QWidget) -> None:
        """Place `window` slightly below and to the right of `widget`, shrunk to fit the screen.

        If less than `_LEAST` would fit there, place it in the screen's top left corner.
        """
        available = widget.screen().availableGeometry()
        corner = widget.pos() + _STEP
        space = QSize(available.right() - corner.x(), available.bottom() - corner.y())
        if space.width() < _LEAST.width() or space.height() < _LEAST.height():
            corner, space = available.topLeft(), available.size()
        window.resize(widget.size().boundedTo(space))
        window.move(corner)
