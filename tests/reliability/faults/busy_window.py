"""A window whose user sets bookmarks and saves the session, until the process ends.

    python -m tests.reliability.faults.busy_window SESSION

Prints the number of bookmarks after each, and the time (monotonic, in seconds).
"""

from __future__ import annotations

import sys
import time

from PySide6.QtCore import QTimer

from tests.gui.events import has_controller
from tests.reliability.programs import DUMP
from viewer.cli import main
from viewer.gui.app import windows
from viewer.gui.session import bookmarks
from viewer.gui.window.main_window import MainWindow

_STEP_MS = 100
_SAVES_EVERY = 3


class _BusyWindows(windows.Windows):
    def new(self, *arguments, **named):
        window = super().new(*arguments, **named)
        _start(window)
        return window


def _start(window: MainWindow) -> None:
    if not has_controller(window) or window.controller.session.is_empty:
        QTimer.singleShot(_STEP_MS, lambda: _start(window))
        return
    timer = QTimer(window)
    timer.timeout.connect(lambda: _use(window))
    timer.start(_STEP_MS)


def _use(window: MainWindow) -> None:
    session, files = window.controller.session, window.controller.session_files
    number = len(session.state.bookmarks)
    bookmarks.measure(session, number)
    bookmarks.keep(session, number)
    print(len(session.state.bookmarks), time.monotonic(), flush=True)
    if number % _SAVES_EVERY == 0 and not files.is_writing:
        files._write(sys.argv[1])


if __name__ == "__main__":
    windows.Windows = _BusyWindows  # type: ignore[misc]
    sys.exit(main([str(DUMP)]))
