"""Opens files in the window as `opscope FILES` does, and closes it once they are shown.

    python -m tests.reliability.faults.short_window FD FILES...

Writes the number of open profiles to the descriptor FD: a pipe, since an environment under test may
have no stdout.
"""

from __future__ import annotations

import os
import sys

from PySide6.QtCore import QTimer

from viewer.cli import main
from viewer.gui.app import windows
from viewer.gui.window.main_window import MainWindow


class _ShortWindows(windows.Windows):
    def new(self, *arguments, **named):
        window = super().new(*arguments, **named)
        QTimer.singleShot(0, lambda: _finish(window))
        return window


def _finish(window: MainWindow) -> None:
    if window.controller.opener.is_busy:
        QTimer.singleShot(20, lambda: _finish(window))
        return
    window.settle()
    os.write(int(sys.argv[1]), str(len(window.controller.session.traces)).encode())
    window.close()


if __name__ == "__main__":
    windows.Windows = _ShortWindows  # type: ignore[misc]
    sys.exit(main(sys.argv[2:]))
