"""Protects work from being lost: saves the session while it is open, and asks before closing.

A new or changed bookmark and newly opened files are saved at once, at most once a second; other
changes, such as the visible range, within 10 seconds. The GUI thread only takes a snapshot. The
user is only asked if that is not enough: if their session file lacks later changes, or the session
cannot be kept.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from itertools import count

from PySide6.QtCore import QObject, Qt, QTimer, Signal, Slot
from PySide6.QtWidgets import QMessageBox

from viewer.gui.qt.background import Latest
from viewer.gui.qt.command_table import CommandTable, shown_key
from viewer.gui.session.choices import TableChoices
from viewer.gui.session.session import Session
from viewer.gui.window.files.file_opener import FileOpener
from viewer.gui.window.files.sessions import Opening, SessionFiles
from viewer.gui.window.frame.shell import Shell
from viewer.model.text import display_name
from viewer.view.sessions.recent_sessions import AutosavedSession, UnsavedWork
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
        self._writer = Latest(self, self._written)
        self._timer = QTimer(self, singleShot=True)
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


Then = Callable[[], None]


class CloseGuard(QObject):
    """Keeps or saves a session before its files are closed, or asks; `stayed`: they are not."""

    stayed = Signal()

    def __init__(
        self,
        session: Session,
        opener: FileOpener,
        files: SessionFiles,
        table: CommandTable,
        shell: Shell,
    ) -> None:
        super().__init__(shell)
        self._session, self._opener, self._files = session, opener, files
        self._table, self._shell = table, shell
        self.question: QMessageBox | None = None
        self._then: Then | None = None  # called once the session is saved
        self._closed: Opening | None = None  # what Close all has closed
        self._kept_work: UnsavedWork | None = None  # work that was kept for the end of the desktop
        self._files.written.connect(self._written)
        session.workspace_changed.connect(self._opened)

    def expect_end(self) -> None:
        """Do not ask about the current work any more, as the desktop is ending and it was kept."""
        self._kept_work = self._files.work

    # -- confirmation ------------------------------------------------------------------------

    def confirm_then(self, then: Then) -> None:
        """Call `then`, which closes everything, once no work would be lost; possibly never."""
        if not self.needs_confirmation(then):
            then()

    def needs_confirmation(self, then: Then) -> bool:
        """Whether the user must be asked first or a file be written; `then` is called after that.

        Starts asking or waiting if so. Keeps what is open as the last session in any case.
        """
        if not self._session.workspace.paths:
            return False
        if self._then is not None or self.question is not None:
            return True  # the question is already open
        is_kept = self._files.keep()
        if self._files.is_writing:
            self._then = then
            return True
        if is_kept and self._kept_work is not None and self._files.work == self._kept_work:
            return False
        if self._files.has_changes:
            self._ask(
                f"Save the changes to {display_name(self._files.path)}?",
                "Some bookmarks, track orders or links are not saved in it. Without saving, you "
                "find them only in File > Earlier sessions."
                if is_kept
                else _CANNOT_KEEP.format(self._files.recent.folder),
                then,
            )
        elif not is_kept and not self._files.path and self._files.work.is_any:
            self._ask("Save this session?", _CANNOT_KEEP.format(self._files.recent.folder), then)
        else:
            return False
        return True

    def _ask(self, text: str, reason: str, then: Then) -> None:
        box = QMessageBox(self._shell)
        box.setIcon(QMessageBox.Icon.Question)
        box.setWindowTitle("Opscope")
        box.setTextFormat(Qt.TextFormat.PlainText)
        box.setText(text)
        box.setInformativeText(reason)
        save = box.addButton("&Save", QMessageBox.ButtonRole.AcceptRole)
        leave = box.addButton("Do&n't save", QMessageBox.ButtonRole.DestructiveRole)
        box.addButton("&Cancel", QMessageBox.ButtonRole.RejectRole)
        box.setDefaultButton(save)
        self.question = box

        def answered() -> None:
            clicked, self.question = box.clickedButton(), None
            box.deleteLater()
            if clicked is save:
                self._then = then
                self._files.save()
            elif clicked is leave:
                then()
            else:
                self.stayed.emit()

        box.finished.connect(answered)
        box.open()

    @Slot(bool)
    def _written(self, well: bool) -> None:
        then, self._then = self._then, None
        if then is not None and well:
            self.confirm_then(then)  # there may be new changes since
        elif then is not None:
            self.stayed.emit()

    # -- Close all, and undoing it ------------------------------------------------------------

    def close_all(self) -> None:
        """Close every file; `reopen` undoes it."""
        self.confirm_then(self._close_all)

    def _close_all(self) -> None:
        session, key = self._session, self._table.keys("go.undo")
        names = [display_name(path) for path in session.workspace.paths]
        closed = self._files.current_opening()
        session.close_all()
        self._closed = closed
        self._table.refresh()
        what = names[0] if len(names) == 1 else f"{len(names)} files"
        how = f"{shown_key(key[0])} opens" if key else "Undo in the Go menu opens"
        self._shell.status.show_text(
            f"Closed {what} · {how} {'it' if len(names) == 1 else 'them'} again"
        )

    @property
    def can_reopen(self) -> bool:
        """Whether nothing is open since Close all."""
        return self._closed is not None and self._opener.is_empty

    def reopen(self) -> None:
        """Reopen what Close all has closed, with the same view."""
        closed, self._closed = self._closed, None
        if closed is not None:
            self._files.restore(closed)

    @Slot()
    def _opened(self) -> None:
        if self._session.workspace.paths:
            self._closed = None


_CANNOT_KEEP = (
    "It cannot be kept as the last session, because {} is not writable. Without saving, bookmarks, "
    "track order and links are lost."
)
