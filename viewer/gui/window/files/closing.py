"""Prevents losing work by Close all, opening another session, closing a window, or quitting.

Whatever is closed is kept as the last session without asking, and Close all can be undone. The user
is only asked if that is not enough: if their session file lacks later changes, or the session
cannot be kept.
"""

from __future__ import annotations

from collections.abc import Callable

from PySide6.QtCore import QObject, Qt, Signal, Slot
from PySide6.QtWidgets import QMessageBox

from viewer.gui.qt.commands.command_table import CommandTable
from viewer.gui.qt.commands.key_map import shown_key
from viewer.gui.session.session import Session
from viewer.gui.window.files.file_opener import FileOpener
from viewer.gui.window.files.sessions import Opening, SessionFiles
from viewer.gui.window.frame.shell import Shell
from viewer.model.text import display_name
from viewer.view.sessions.recent_sessions import UnsavedWork

Then = Callable[[], None]


class CloseGuard(QObject):
    """Keeps or saves the session of one window before its files are closed, and asks if needed.

    Emits `stayed` if they are not closed because the user canceled or saving failed.
    """

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
