"""The submenus of File for recent files and kept sessions."""

from __future__ import annotations

import os
from collections.abc import Sequence
from datetime import datetime
from functools import partial
from html import escape

from PySide6.QtCore import QObject, Slot

from viewer.gui.qt.widgets.labels import literal
from viewer.gui.window.files.comparing import Comparing
from viewer.gui.window.files.sessions import SessionFiles
from viewer.gui.window.frame.shell import Shell
from viewer.gui.window.start_page.recent_titles import recent_titles
from viewer.model.text import display_name
from viewer.view.sessions.recent_sessions import UnsavedWork


class RecentMenus(QObject):
    """The submenus `files` (recent files) and `sessions` (kept ones), filled when opened."""

    def __init__(self, comparing: Comparing, session_files: SessionFiles, shell: Shell) -> None:
        super().__init__(shell)
        self._comparing, self._session_files = comparing, session_files
        self._settings = shell.settings
        self.files = shell.menus["File"].addMenu("Open &recent")
        self.sessions = shell.menus["File"].addMenu("Earli&er sessions")
        self.files.setToolTipsVisible(True)
        self.files.aboutToShow.connect(self._fill_files)
        self.sessions.aboutToShow.connect(self._fill_sessions)

    @Slot()
    def _fill_files(self) -> None:
        """List the recent sets of files, newest first, and an entry that clears the list."""
        self.files.clear()
        rows = self._settings.recent_files()
        titles = recent_titles(rows)
        firsts = [title for title, _ in titles]
        for recent, (title, rest) in zip(rows, titles, strict=True):
            paths = recent.paths
            names = [title, *filter(None, rest.split(" · "))]
            if recent.b:
                text = title
            elif firsts.count(title) > 1:
                # What the others with this title do not have.
                text = _and_more(", ".join(names[:2]), len(names) - 2)
            else:
                text = _and_more(title, len(names) - 1)
            action = self.files.addAction(literal(text))
            # A path may look like markup.
            action.setToolTip("".join(f"<p>{escape(path)}</p>" for path in paths))
            action.setEnabled(any(map(os.path.exists, paths)))
            action.setData(paths)
            action.triggered.connect(partial(self._open_files, paths))
        self.files.addSeparator()
        clear = self.files.addAction("Clear list")
        clear.triggered.connect(self._settings.clear_recent_sets)

    def _open_files(self, paths: Sequence[str], checked: bool = False) -> None:
        self._comparing.reopen([path for path in paths if os.path.exists(path)])

    @Slot()
    def _fill_sessions(self) -> None:
        """List the kept sessions, newest first, with their files and number of bookmarks."""
        menu, recent = self.sessions, self._session_files.recent
        menu.clear()
        for path in recent.paths():
            work = recent.work(path)
            if work is not None:
                action = menu.addAction(literal(_text(work, os.path.getmtime(path))))
                action.triggered.connect(partial(self._open_session, path))
        menu.setEnabled(True)
        if menu.isEmpty():
            menu.addAction("No recent sessions").setEnabled(False)

    def _open_session(self, path: str, checked: bool = False) -> None:
        self._session_files.open(path)


def _text(work: UnsavedWork, when: float) -> str:
    """A kept session in one line: "net.etdp and 1 more · 3 bookmarks · 2026-11-22 14:03"."""
    count = len(work.bookmarks)
    bookmarks = f" · {count} bookmark{'s' if count > 1 else ''}" if count else ""
    return (
        f"{_first_and_count(work.files)}{bookmarks} · {datetime.fromtimestamp(when):%Y-%m-%d %H:%M}"
    )


def _first_and_count(paths: Sequence[str]) -> str:
    """Some files in a few words: "net.etdp and 1 more"."""
    if not paths:
        return "no file"
    return _and_more(display_name(paths[0]), len(paths) - 1)


def _and_more(text: str, count: int) -> str:
    return f"{text} and {count} more" if count > 0 else text
