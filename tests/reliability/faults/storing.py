"""Stores what the window stores, in a folder, and ends with 1 and one line if it could not.

python -m tests.reliability.faults.storing session|"recent sessions"|settings FOLDER SIZE
"""

from __future__ import annotations

import os
import sys

from PySide6.QtCore import QSettings

from viewer.codecs.reading import never_cancelled, no_progress
from viewer.gui.qt.settings import EDITOR, Settings
from viewer.view.sessions.recent_sessions import RecentSessions
from viewer.view.sessions.session_file import VERSION, SavedBookmark, SavedSession, SavedView, write


def main(what: str, folder: str, size: int) -> int:
    """Store something of about `size` bytes; returns the exit code."""
    marks = tuple(SavedBookmark(n, n, f"bookmark {n}") for n in range(max(size // 40, 1)))
    saved = SavedSession(VERSION, (), view=SavedView(bookmarks=marks))
    if what == "settings":
        store = QSettings(os.path.join(folder, "settings.ini"), QSettings.Format.IniFormat)
        Settings(store).set(EDITOR, "e" * size)
        store.sync()
        if store.status() is not QSettings.Status.NoError:
            print("opscope: settings were not stored", file=sys.stderr)
            return 1
        return 0
    try:
        if what == "session":
            path = os.path.join(folder, "one.opscope")
            write(path, saved, (), no_progress, never_cancelled)
        else:
            RecentSessions(folder).keep(saved)
    except OSError as error:
        print(f"opscope: {error}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1], sys.argv[2], int(sys.argv[3])))
