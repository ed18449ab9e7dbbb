"""The next start after a window ended by force: says whether it offers to restore the session.

    python -m tests.reliability.faults.next_window

Prints "offered" or "nothing", and closes the window without an answer.
"""

from __future__ import annotations

import sys
import time

from PySide6.QtCore import QTimer
from PySide6.QtWidgets import QAbstractButton, QApplication

from viewer.cli import main
from viewer.gui.app import windows
from viewer.gui.window.main_window import MainWindow

_WAITS_SECONDS = 3.0
_STEP_MS = 50


class _NextWindows(windows.Windows):
    def new(self, *arguments, **named):
        window = super().new(*arguments, **named)
        _look(window, time.monotonic() + _WAITS_SECONDS)
        return window


def _look(window: MainWindow, until: float) -> None:
    offered = any(
        "restore" in button.text().replace("&", "").lower()
        for button in QApplication.allWidgets()
        if isinstance(button, QAbstractButton) and button.isVisible()
    )
    if not offered and time.monotonic() < until:
        QTimer.singleShot(_STEP_MS, lambda: _look(window, until))
        return
    print("offered" if offered else "nothing", flush=True)
    for other in QApplication.topLevelWidgets():
        if other.isVisible():
            other.close()


if __name__ == "__main__":
    windows.Windows = _NextWindows  # type: ignore[misc]
    sys.exit(main([]))
