"""What runs in the application: its windows, and what reaches them from outside.

SIGINT (Ctrl+C in the terminal), SIGTERM and SIGHUP end the program in order. Python runs signal
handlers only between two instructions of its own, and Qt's event loop may wait for minutes without
one. So Python's C handler writes the number of the signal to a socket, and a notifier of the event
loop reads it there. A second signal has the system's effect: it ends a program that hangs at once.
A signal that the program was started to ignore (`nohup`) stays ignored.
"""

from __future__ import annotations

import glob
import os
import signal
import socket
import sys
from collections.abc import Sequence
from datetime import datetime
from typing import TYPE_CHECKING

from PySide6.QtCore import (
    QCoreApplication,
    QObject,
    QPoint,
    QSize,
    QSocketNotifier,
    QTimer,
    Signal,
    Slot,
)
from PySide6.QtNetwork import QLocalServer, QLocalSocket
from PySide6.QtWidgets import QApplication, QWidget

from viewer.codecs.atomic_file import remove_left_parts
from viewer.codecs.ending import signal_numbers
from viewer.codecs.temporary_folder import remove_left_folders
from viewer.gui.app.handover_request import LONGEST, TAKEN, decoded
from viewer.gui.qt.background import Latest
from viewer.gui.qt.settings import Settings
from viewer.gui.qt.theme.theme import Theme
from viewer.gui.window.frame.shell import MessageBar
from viewer.gui.window.main_window import MainWindow

if TYPE_CHECKING:
    from viewer.gui.app.handover_request import HandoverRequest
    from viewer.view.sessions.recent_sessions import LeftSession
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
        """Make what is open in each window a recent session, as the desktop session ends."""
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
        """Place `window` below and right of `widget`; without room there, at the top left."""
        available = widget.screen().availableGeometry()
        corner = widget.pos() + _STEP
        space = QSize(available.right() - corner.x(), available.bottom() - corner.y())
        if space.width() < _LEAST.width() or space.height() < _LEAST.height():
            corner, space = available.topLeft(), available.size()
        window.resize(widget.size().boundedTo(space))
        window.move(corner)


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
        self._taking = Latest(self, self._offer)
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


class ExitSignals(QObject):
    """Emits `received` at the first signal, in the event loop, and then ends the event loop.

    exit_code: 128 and the number of the signal, as shells report it; 0 before.
    """

    received = Signal()

    def __init__(self, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self.exit_code = 0
        self._numbers = signal_numbers()
        self._reader, self._writer = socket.socketpair()
        for end in (self._reader, self._writer):
            end.setblocking(False)
        self._notifier = QSocketNotifier(self._reader.fileno(), QSocketNotifier.Type.Read, self)
        self._notifier.activated.connect(self._read)
        signal.set_wakeup_fd(self._writer.fileno(), warn_on_full_buffer=False)
        for number in self._numbers:
            signal.signal(number, _nothing)  # so that Python's C handler is installed

    def close(self) -> None:
        """Give the signals back to the system."""
        signal.set_wakeup_fd(-1)
        for number in self._numbers:
            signal.signal(number, signal.SIG_DFL)
        self._notifier.setEnabled(False)
        self._reader.close()
        self._writer.close()

    @Slot()
    def _read(self) -> None:
        got = [number for number in self._reader.recv(4096) if number in self._numbers]
        if not got or self.exit_code:
            return
        self.exit_code = 128 + got[0]
        for number in self._numbers:
            signal.signal(number, signal.SIG_DFL)
        self.received.emit()
        QCoreApplication.exit(self.exit_code)


def _nothing(number: int, frame: object) -> None:
    """Do nothing; the socket has the number."""


# A start sends its line immediately. A connection that takes longer is not one.
PATIENCE_MS = 3000
_MOST_WAITING = 16


class HandoverServer(QObject):
    """Emits `request_received` with the `HandoverRequest` of each second start."""

    request_received = Signal(object)

    def __init__(self, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._lock = -1
        self._server = QLocalServer(self)
        self._server.setSocketOptions(QLocalServer.SocketOption.UserAccessOption)
        self._server.setMaxPendingConnections(_MOST_WAITING)
        self._server.newConnection.connect(self._take)

    def listen(self, where: str) -> bool:
        """Start listening at `where`; False if another program listens there. Raises OSError."""
        if sys.platform != "win32":  # on Windows, two programs may listen on one pipe
            import fcntl

            lock = os.open(where + ".lock", os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
            try:
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except OSError:
                os.close(lock)
                return False
            self._lock = lock
        return self._server.listen(where)

    def close(self) -> None:
        """Stop listening and release the lock."""
        self._server.close()
        if self._lock >= 0:
            os.close(self._lock)
            self._lock = -1

    @Slot()
    def _take(self) -> None:
        while (socket := self._server.nextPendingConnection()) is not None:
            _Connection(socket, self)


class _Connection(QObject):
    """The connection to one second start, until its request is read or times out."""

    def __init__(self, socket: QLocalSocket, server: HandoverServer) -> None:
        super().__init__(server)
        self._socket, self._server = socket, server
        socket.setParent(self)
        socket.setReadBufferSize(LONGEST + 1)
        socket.readyRead.connect(self._read)
        socket.disconnected.connect(self.deleteLater)
        timeout = QTimer(self, singleShot=True)
        timeout.timeout.connect(self._give_up)
        timeout.start(PATIENCE_MS)
        self._line = b""
        self._read()

    @Slot()
    def _read(self) -> None:
        self._line += bytes(self._socket.readAll().data())
        line, end, _ = self._line.partition(b"\n")
        if not end:
            if len(self._line) > LONGEST:
                self._give_up()
            return
        self._socket.readyRead.disconnect(self._read)
        request = decoded(line)
        if request is None:
            self._give_up()
            return
        self._socket.write(TAKEN)
        self._socket.flush()
        self._socket.disconnectFromServer()
        self._server.request_received.emit(request)

    @Slot()
    def _give_up(self) -> None:
        self._socket.abort()
        self.deleteLater()
