"""Reads files off the GUI thread, with progress and cancel; each ends in one result or one error.

At most two files are read at once; the others wait in order. Readers report progress in bytes, of
which the window gets at most one report per file every 50 ms.
"""

from __future__ import annotations

import os
import threading
import time
from collections import deque
from collections.abc import Callable
from fractions import Fraction
from typing import TYPE_CHECKING

from PySide6.QtCore import QObject, Signal, Slot

from viewer.codecs.reading import (
    Cancelled,
    FileTooLarge,
    Progress,
    ReadCancelled,
    UnreadableFile,
)
from viewer.formats import open_file
from viewer.formats.memory import release_freed, retain_freed
from viewer.formats.table.stated_columns import ColumnsNeeded, Question
from viewer.gui.qt.background import GuiOwner
from viewer.gui.qt.crash_report import report

if TYPE_CHECKING:
    from viewer.model.trace import Trace
    from viewer.program.executable.executable import Executable
    from viewer.program.program import Program

    Reader = Callable[[str, Progress, Cancelled], Trace | Program | Executable]

AT_ONCE = 2
_QUIT_SECONDS = 2.0
_SECONDS_BETWEEN_REPORTS = 0.05


class Loader(QObject):
    """Reads files for the window; emits all signals on its own thread, which is the GUI thread.

    Each `load` ends in exactly one of `loaded`, `failed` and `cancelled`. When no file is left,
    `all_done` follows. After `shutdown`, nothing is emitted.
    """

    # Paths and byte counts are passed as Python objects: a QString cannot hold a file name that is
    # not valid Unicode, and Qt's int overflows at 2 GB.
    progressed = Signal(object, object, object)  # path: str, done: int, total: int
    loaded = Signal(object, object)  # path: str, item: Trace | Program | Executable
    failed = Signal(object, str)  # path: str, message
    # Before `failed`: the largest share of the file that fits into the memory.
    part_fits = Signal(object, object)  # path: str, share: Fraction
    # Before `failed`: what must be known to read a table.
    columns_needed = Signal(object, object)  # path: str, Question
    cancelled = Signal(object)  # path: str
    all_done = Signal()

    def __init__(self, parent: QObject | None = None, reader: Reader = open_file) -> None:
        super().__init__(parent)
        self._reader = reader
        self._waiting: deque[_Job] = deque()
        self._running: list[_Job] = []
        self._shut = False
        self._owner = GuiOwner(self)

    @property
    def paths(self) -> list[str]:
        """The files that are being read or waiting."""
        return [job.path for job in (*self._running, *self._waiting)]

    def load(self, path: str, reader: Reader | None = None) -> None:
        """Read one file, with `reader` if given; does nothing if the file is already being read."""
        if self._shut or any(
            job.path == path and not job.stop.is_set() for job in (*self._running, *self._waiting)
        ):
            return
        self._waiting.append(_Job(path, reader or self._reader, self._owner))
        self._start()

    def cancel(self, path: str | None = None) -> None:
        """Cancel one file, or all; for waiting files, `cancelled` is emitted immediately."""
        dropped = [job for job in self._waiting if path in (None, job.path)]
        for job in self._running:
            if path in (None, job.path):
                job.stop.set()
        for job in dropped:
            self._waiting.remove(job)
        for job in dropped:
            self.cancelled.emit(job.path)
        if dropped:
            self._emit_when_done()

    def shutdown(self) -> None:
        """Cancel everything and wait at most 2 seconds; for closing the window."""
        self._shut = True
        self._waiting.clear()
        deadline = time.monotonic() + _QUIT_SECONDS
        for job in self._running:
            job.silent = True
            job.stop.set()
        for job in self._running:
            job.thread.join(max(0.0, deadline - time.monotonic()))

    def _start(self) -> None:
        while self._waiting and len(self._running) < AT_ONCE:
            job = self._waiting.popleft()
            self._running.append(job)
            job.thread.start()

    @Slot(object, object, object)
    def _progress(self, job: _Job, done: int, total: int) -> None:
        if not self._shut and not job.stop.is_set():
            self.progressed.emit(job.path, done, total)

    @Slot(object, object, str)
    def _finish(self, job: _Job, item: object, message: str) -> None:
        self._running.remove(job)
        if self._shut:
            return
        # A file cancelled just before its end still counts as cancelled.
        if job.stop.is_set():
            self.cancelled.emit(job.path)
        elif message:
            if job.part_that_fits:
                self.part_fits.emit(job.path, job.part_that_fits)
            if job.question is not None:
                self.columns_needed.emit(job.path, job.question)
            self.failed.emit(job.path, message)
        else:
            self.loaded.emit(job.path, item)
        self._start()
        self._emit_when_done()

    def _emit_when_done(self) -> None:
        if not self._running and not self._waiting:
            self.all_done.emit()


class _Job:
    """One file and the worker thread that reads it."""

    def __init__(self, path: str, reader: Reader, owner: GuiOwner) -> None:
        self.path = path
        self.stop = threading.Event()
        # Set when the window closes, because nobody receives the result then.
        self.silent = False
        # A daemon thread: with a QThreadPool, a reader that ignores cancel would keep the program
        # from exiting.
        self.thread = threading.Thread(target=self._run, name=f"read {path}", daemon=True)
        self.part_that_fits = Fraction(0)
        self.question: Question | None = None
        self._reader = reader
        self._owner = owner
        self._next_report = 0.0

    def _run(self) -> None:
        item: object = None
        message = ""
        retain_freed()
        try:
            item = self._reader(self.path, self._progress, self.stop.is_set)
        except ReadCancelled:
            self.stop.set()
        except UnreadableFile as error:
            message = str(error)
            if isinstance(error, FileTooLarge) and error.part:
                # The window has a button for it; the remedy is an option of the command line.
                self.part_that_fits, message = error.part, f"{error.path}: {error.reason}"
            elif isinstance(error, ColumnsNeeded):
                # So does this, and a dialog.
                self.question, message = error.question, f"{error.path}: {error.reason}"
        except Exception as error:
            report(error, f"reading a file ({os.path.splitext(self.path)[1]})")
            message = (
                f"{self.path}: Opscope failed to read this file (internal error: "
                f"{type(error).__name__}: {error}). Please report it with the file"
            )
        release_freed()
        if not self.silent:
            self._owner.call("_finish", self, item, message)

    def _progress(self, done: int, total: int) -> None:
        now = time.monotonic()
        if not self.silent and (now >= self._next_report or done >= total):
            self._next_report = now + _SECONDS_BETWEEN_REPORTS
            self._owner.call("_progress", self, int(done), int(total))
