"""Writes an export off the GUI thread, with progress and cancel; ends in one result or error."""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING

from PySide6.QtCore import QObject, Signal

from viewer.codecs.atomic_file import WriteCancelled
from viewer.gui.qt.background import GuiOwner
from viewer.gui.qt.crash_report import report

if TYPE_CHECKING:
    from viewer.workspace.exports import ExportJob


_QUIT_SECONDS = 5.0


class Saver(QObject):
    """Runs one export job at a time; its signals arrive on the GUI thread."""

    progressed = Signal(str, float)  # path, fraction done
    saved = Signal(str, int)  # path, number of slices or rows
    failed = Signal(str, str)  # path, message

    def __init__(self, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._owner = GuiOwner(self)
        self._write: _Write | None = None

    @property
    def is_busy(self) -> bool:
        """Whether an export is being written."""
        return self._write is not None

    def save(self, job: ExportJob, path: str) -> None:
        """Start a job prepared for `path`. Raises RuntimeError while another one runs."""
        if self._write is not None:
            raise RuntimeError("another export is in progress")
        self._write = _Write(self._owner, job, path)
        self._write.thread.start()

    def cancel(self) -> None:
        """Stop the running job; it leaves no file behind."""
        if self._write is not None:
            self._write.stop.set()

    def shutdown(self) -> None:
        """Cancel the running job, and wait at most 5 seconds for it to stop."""
        if self._write is not None:
            self._write.stop.set()
            self._write.thread.join(_QUIT_SECONDS)

    def _progress(self, path: str, share: float) -> None:
        self.progressed.emit(path, share)

    def _finish(self, path: str, count: int, message: str) -> None:
        self._write = None
        if message:
            self.failed.emit(path, message)
        else:
            self.saved.emit(path, count)


class _Write:
    def __init__(self, owner: GuiOwner, job: ExportJob, path: str) -> None:
        self.stop = threading.Event()
        # Not a daemon thread, so that a file that is nearly complete gets finished.
        self.thread = threading.Thread(target=self._run, name=f"write {path}")
        self._owner, self._job, self._path = owner, job, path

    def _run(self) -> None:
        from viewer.workspace.exports import NothingToExport

        count, message = 0, ""
        try:
            count = self._job(self._progress, self.stop.is_set)
        except WriteCancelled:
            message = "Export canceled; no file was written"
        except (NothingToExport, OSError, MemoryError) as error:
            reason = error.strerror if isinstance(error, OSError) else str(error)
            message = f"{self._path} was not written: {reason or type(error).__name__}"
        except Exception as error:
            report(error, "writing an export")
            message = f"{self._path} was not written: internal error in Opscope ({error})"
        self._owner.call("_finish", self._path, count, message)

    def _progress(self, done: int, total: int) -> None:
        self._owner.call("_progress", self._path, done / max(total, 1))
