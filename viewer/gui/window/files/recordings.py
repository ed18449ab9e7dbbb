"""Shows the dialog that records, and opens what was recorded: a profile, or a comparison."""

from __future__ import annotations

from functools import cached_property, partial
from typing import TYPE_CHECKING

from PySide6.QtCore import QObject, Slot

from viewer.gui.session.session import Session
from viewer.gui.window.files.closing import CloseGuard
from viewer.gui.window.files.comparing import Comparing
from viewer.gui.window.files.file_opener import FileOpener
from viewer.gui.window.frame.shell import Shell

if TYPE_CHECKING:
    from viewer.gui.session.files.recording import Recording
    from viewer.gui.window.dialogs.record import RecordDialog
    from viewer.recording.recorder import Outcome


class Recordings(QObject):
    """The recordings of one window."""

    def __init__(
        self,
        session: Session,
        opener: FileOpener,
        comparing: Comparing,
        guard: CloseGuard,
        shell: Shell,
    ) -> None:
        super().__init__(shell)
        self._session, self._opener, self._comparing = session, opener, comparing
        self._guard, self._shell = guard, shell
        self.dialog: RecordDialog | None = None
        self._b: list[str] = []  # the files of B, while those of A are read
        session.files_added.connect(self._added)
        opener.nothing_opened.connect(self._give_up)

    @cached_property
    def recording(self) -> Recording:
        """What records; made when the dialog is first shown."""
        from viewer.gui.session.files.recording import Recording

        recording = Recording(self)
        self._shell.closing.connect(recording.shut_down)
        return recording

    @property
    def is_running(self) -> bool:
        """Whether something is being recorded or checked."""
        return self.dialog is not None and self.recording.is_running

    def show(self) -> None:
        """Show the dialog, as it was left."""
        if self.dialog is None:
            from viewer.gui.window.dialogs.record import RecordDialog

            shell = self._shell
            self.dialog = RecordDialog(self.recording, shell.settings, shell.theme, shell)
            self.dialog.recorded.connect(self._open)
        self.dialog.show()
        self.dialog.raise_()
        self.dialog.activateWindow()

    @Slot(object)
    def _open(self, outcome: Outcome) -> None:
        """Open what was recorded in place of what is open, once no work would be lost."""
        self._guard.confirm_then(partial(self._replace, outcome))

    def _replace(self, outcome: Outcome) -> None:
        a, *b = outcome.files.values()
        if not self._session.is_empty:
            self._session.close_all()
        self._b = b[0] if b else []
        self._opener.open(a)

    @Slot(object)
    def _added(self, complaints: list[str]) -> None:
        if self._b and not self._opener.is_busy:
            b, self._b = self._b, []
            self._comparing.start(b)

    @Slot()
    def _give_up(self) -> None:
        self._b = []
