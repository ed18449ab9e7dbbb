"""Saves the session of a window while it is open, so that a crash loses little.

A new or changed bookmark and newly opened files are saved at once, at most once a second; other
changes, such as the visible range, within 10 seconds. The GUI thread only takes a snapshot; a
thread encodes and writes it. Nothing is saved while nothing changes or nothing is open.
"""

from __future__ import annotations

import time
from itertools import count

from PySide6.QtCore import QObject, QTimer, Signal, Slot

from viewer.gui.qt.background import Latest
from viewer.gui.session.session import Session
from viewer.gui.session.table_choices import TableChoices
from viewer.gui.window.files.file_opener import FileOpener
from viewer.gui.window.files.sessions import SessionFiles
from viewer.gui.window.frame.shell import Shell
from viewer.view.sessions.recent_sessions import AutosavedSession
from viewer.view.sessions.session_file import SavedSession

EVERY_MS = 10_000
_AT_MOST_EVERY_S = 1.0  # for a series of bookmarks, as each save syncs the disk


class Autosave(QObject):
    """The autosaved session of one window. Emits `saved` after each attempt to write it."""

    saved = Signal()

    def __init__(
        self, session: Session, opener: FileOpener, files: SessionFiles, shell: Shell
    ) -> None:
        super().__init__(shell)
        self._session, self._opener, self._files = session, opener, files
        self._message = shell.message
        self.file = AutosavedSession(shell.settings.folder)
        self._numbers = count(1)  # of snapshots
        self._marks = session.state.bookmarks
        self._last_start = -_AT_MOST_EVERY_S  # time.monotonic() of the last save
        self._is_ended = self._has_failed = self._is_due = False
        self._writer = Latest(self)
        self._writer.answered.connect(self._written)
        self._timer = QTimer(self)
        self._timer.setSingleShot(True)
        self._timer.timeout.connect(self.save)
        for signal in (
            session.range_changed,
            session.clock_activated,
            session.strips_changed,
            session.tracks_changed,
            session.coloring_changed,
            session.query_changed,
            session.ruler_changed,
            session.compared,
            session.selection_changed,
            session.run_picked,
            session.sources_changed,
            session.derived_changed,
            TableChoices.of(session).changed,
        ):
            signal.connect(self._changed)
        session.bookmarks_changed.connect(self._bookmarks_changed)
        session.workspace_changed.connect(self._files_changed)
        session.files_added.connect(self._files_changed)
        opener.nothing_opened.connect(self._files_changed)
        shell.closing.connect(self._end)

    @Slot()
    def save(self) -> None:
        """Start to save the session in a thread; if nothing is open, delete the saved one."""
        if self._is_ended:
            return
        if self._writer.pending:  # deleting would wait for it, too
            self._is_due = True
        elif self._opener.is_empty and not self._files.is_restoring:
            self.file.remove(next(self._numbers))
        elif self._session.workspace.paths and not self._files.is_restoring:
            self._last_start = time.monotonic()
            self._writer.submit(_write, self.file, self._snapshot(), next(self._numbers))

    def save_now(self) -> None:
        """Save the session before returning, if anything is open."""
        if self._session.workspace.paths and not (self._is_ended or self._files.is_restoring):
            _write(self.file, self._snapshot(), next(self._numbers))

    def keep(self) -> None:
        """Make what is open a recent session, as at the end; saves it here if that fails.

        Further changes are saved again.
        """
        if self._is_ended or not self._session.workspace.paths:
            return
        if self._files.keep():
            self.file.remove(next(self._numbers))
        else:
            self.save_now()

    def leave(self) -> None:
        """Stop, and leave the saved session as it is: `keep` deletes it unless it is needed."""
        self._is_ended = True
        self._timer.stop()
        self._writer.shutdown()

    def _snapshot(self) -> SavedSession:
        return self._files.snapshot(self.file.folder)[0]

    @Slot()
    def _changed(self) -> None:
        if not self._timer.isActive():
            self._timer.start(EVERY_MS)

    @Slot()
    def _bookmarks_changed(self) -> None:
        marks, self._marks = self._marks, self._session.state.bookmarks
        if marks != self._marks:  # not just the measurement
            self._save_soon()
        else:
            self._changed()

    @Slot()
    def _files_changed(self) -> None:
        self._save_soon()

    def _save_soon(self) -> None:
        rest_s = self._last_start + _AT_MOST_EVERY_S - time.monotonic()
        wait = max(round(rest_s * 1000), 0)
        if not self._timer.isActive() or self._timer.remainingTime() > wait:
            self._timer.start(wait)

    @Slot(object)
    def _written(self, message: str) -> None:
        if message and not self._has_failed:
            self._message.show_error(message)
        self._has_failed = bool(message)
        is_due, self._is_due = self._is_due, False
        if is_due:
            self._save_soon()
        self.saved.emit()

    @Slot()
    def _end(self) -> None:
        """Stop for good: the window closes, and its session was kept or is not wanted."""
        if not self._is_ended:
            self.leave()
            self.file.remove(next(self._numbers))


def _write(file: AutosavedSession, saved: SavedSession, number: int) -> str:
    """Write a session; returns a message if that fails. Runs in a thread."""
    try:
        file.write(saved, number)
    except OSError as error:
        reason = error.strerror or str(error)
        return (
            f"Bookmarks and other changes are not saved automatically: {file.folder} cannot be "
            f"written ({reason}). Save the session to another folder"
        )
    return ""
