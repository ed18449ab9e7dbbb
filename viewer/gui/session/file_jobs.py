"""Reads and writes files off the GUI thread; each job ends in a result or an error.

Jobs have progress and can be canceled. At most two files are read at once; the others wait in
order. Readers report progress in bytes, of which the window gets at most one report per file every
50 ms. Rate and remaining time cover all files together, because they share one disk and one
interpreter.
"""

from __future__ import annotations

import os
import threading
import time
from collections import deque
from collections.abc import Callable, Sequence
from fractions import Fraction
from typing import TYPE_CHECKING

from PySide6.QtCore import QObject, Signal, Slot

from viewer.codecs.atomic_file import WriteCancelled
from viewer.codecs.reading import Cancelled, FileTooLarge, Progress, ReadCancelled, UnreadableFile
from viewer.dataclasses import dataclass
from viewer.formats import open_file
from viewer.formats.memory import release_freed, retain_freed
from viewer.formats.table.stated_columns import ColumnsNeeded, Question
from viewer.gui.qt.background import GuiOwner
from viewer.gui.qt.crash_report import report
from viewer.model.text import bytes_text, display_name
from viewer.model.times import NARROW_SPACE

if TYPE_CHECKING:
    from viewer.model.trace import Trace
    from viewer.program.executables import Executable
    from viewer.program.program import Program
    from viewer.workspace.exports import ExportJob

    Reader = Callable[[str, Progress, Cancelled], Trace | Program | Executable]

AT_ONCE = 2
_QUIT_READING_SECONDS = 2.0
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
        deadline = time.monotonic() + _QUIT_READING_SECONDS
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


# Rates before this time are unreliable: the first blocks come from a cache, or wait for the disk.
_SURE_AFTER = 0.5  # seconds
_LONGEST_NAME = 32  # characters; longer names are shortened in the middle


@dataclass(slots=True)
class _File:
    first: int  # bytes already read at the first report
    done: int
    total: int


class ReadingProgress:
    """Tracks bytes read per file; `clock` returns the time in seconds."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._files: dict[str, _File] = {}
        self._began = 0.0

    def reported(self, path: str, done: int, total: int) -> None:
        """Record that `done` of `total` bytes are read; a total of 0 or less means unknown."""
        if not self._files:
            self._began = self._clock()
        file = self._files.setdefault(path, _File(done, done, total))
        file.done, file.total = done, total

    def clear(self) -> None:
        """Forget all files, when reading has ended."""
        self._files.clear()

    @property
    def share(self) -> float:
        """Fraction of the bytes read, 0 to 1, over all files whose size is known."""
        total = sum(max(file.total, 0) for file in self._files.values())
        done = sum(file.done for file in self._files.values() if file.total > 0)
        return min(done / total, 1.0) if total else 0.0

    def text(self, paths: Sequence[str]) -> str:
        """The status text for `paths`, which are the files being read or waiting, in order."""
        named = [self._file_text(path) for path in paths if path in self._files]
        others = len(paths) - len(named)
        if not named:
            return f"Reading {_short(display_name(paths[0]))}" if paths else "Reading"
        wait = [f"{others} more"] if others else []
        return f"Reading {' · '.join([*named, *wait, *self._speed()])}"

    def _file_text(self, path: str) -> str:
        file, name = self._files[path], _short(display_name(path))
        if file.total <= 0:
            return f"{name} {bytes_text(file.done)}"
        return f"{name} {bytes_text(min(file.done, file.total))} of {bytes_text(file.total)}"

    def _speed(self) -> list[str]:
        """Rate and remaining time as texts; empty until there is enough data."""
        passed = self._clock() - self._began
        read = sum(file.done - file.first for file in self._files.values())
        if passed < _SURE_AFTER or read <= 0:
            return []
        rate = read / passed
        left = sum(max(file.total - file.done, 0) for file in self._files.values())
        texts = [f"{bytes_text(round(rate))}/s"]
        return [*texts, f"{_duration(left / rate)} left"] if left else texts


def _short(name: str) -> str:
    half = _LONGEST_NAME // 2
    return name if len(name) <= _LONGEST_NAME else f"{name[: half - 1]}…{name[-half:]}"


def _duration(seconds: float) -> str:
    """A rough duration such as "about 12 s" or "about 3 min"."""
    whole = max(round(seconds), 1)
    if whole < 90:
        return f"about {whole}{NARROW_SPACE}s"
    minutes = round(seconds / 60)
    if minutes < 90:
        return f"about {minutes}{NARROW_SPACE}min"
    return f"about {round(seconds / 3600)}{NARROW_SPACE}h"


_QUIT_WRITING_SECONDS = 5.0


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
            self._write.thread.join(_QUIT_WRITING_SECONDS)

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
