"""All background reading and writing of one window, which can be canceled together."""

from __future__ import annotations

from PySide6.QtCore import QObject, Slot

from viewer.gui.session.files.loader import Loader
from viewer.gui.session.files.saver import Saver
from viewer.gui.window.frame.shell import Shell


class BackgroundWork(QObject):
    """The reading and writing of one window, with progress in the status bar."""

    def __init__(self, loader: Loader, saver: Saver, shell: Shell) -> None:
        super().__init__(shell)
        self._loader, self._saver, self._status = loader, saver, shell.status
        self._status.cancelled.connect(self.cancel)

    @property
    def is_busy(self) -> bool:
        """Whether anything is being read or written."""
        return bool(self._loader.paths) or self._saver.is_busy

    @Slot()
    def cancel(self) -> None:
        """Cancel everything; leaves no partial files."""
        self._loader.cancel()
        self._saver.cancel()

    def end_progress(self) -> None:
        """Hide the progress, unless other work is still running."""
        if not self.is_busy:
            self._status.end()

    def shut_down(self) -> None:
        """Cancel everything and wait until it has stopped."""
        self._loader.shutdown()
        self._saver.shutdown()
