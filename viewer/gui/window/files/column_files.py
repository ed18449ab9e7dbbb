"""Keeps the columns of large profiles once they are shown, and checks those that were kept before.

Both happen in a thread, a second after the window has changed what is open. Files of columns that
are damaged are removed by then, and their profiles are read again.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from fractions import Fraction

from PySide6.QtCore import QObject, QTimer, Slot

from viewer.codecs.atomic_file import WriteCancelled
from viewer.codecs.reading import Cancelled
from viewer.formats.column_cache import CACHE
from viewer.gui.qt.background import Latest
from viewer.gui.session.session import Session
from viewer.gui.timeline.scene.trace_rasters import keep_columns
from viewer.gui.window.frame.shell import Shell
from viewer.model.text import display_name
from viewer.view.open_trace import OpenTrace
from viewer.workspace.link_choices import Choices

_AFTER_MS = 1000  # the first frame is painted by then

Read = Callable[[Sequence[str], Choices], object]


class ColumnFiles(QObject):
    """The files of columns of what one window has open. read: opens files in it."""

    def __init__(self, session: Session, read: Read, shell: Shell) -> None:
        super().__init__(shell)
        self._session, self._read, self._shell = session, read, shell
        self._stop = threading.Event()
        self._work = Latest(self)
        self._work.answered.connect(self._read_again)
        self._due = QTimer(self, interval=_AFTER_MS, singleShot=True)
        self._due.timeout.connect(self.check)
        session.workspace_changed.connect(self._wait)
        shell.closing.connect(self._end)

    @Slot()
    def _wait(self) -> None:
        if CACHE.folder and self._session.traces:
            self._due.start()

    @Slot()
    def _end(self) -> None:
        self._due.stop()
        self._stop.set()

    @Slot()
    def check(self) -> None:
        """Keep the columns of what is open, and check those that come from files of columns."""
        for path in CACHE.take_dropped(self._session.workspace.paths):
            name = display_name(path)
            self._shell.message.show_warning(
                f"{name}: its kept columns were damaged, so the file was read again"
            )
        numbers = range(len(self._session.traces))
        if numbers:
            traces = [self._session.as_run(number) for number in numbers]
            self._work.submit(_keep_and_check, traces, self._stop.is_set)

    @Slot(object)
    def _read_again(self, damaged: list[tuple[str, str]]) -> None:
        for path, part in damaged:
            if path in self._session.workspace.paths:
                self._read([path], Choices(parts=((path, Fraction(part)),)))


def _keep_and_check(traces: Sequence[OpenTrace], cancelled: Cancelled) -> list[tuple[str, str]]:
    """Return the profiles with damaged columns, and the part of them that was read."""
    damaged = []
    for open_trace in traces:
        slices = open_trace.file.slices
        try:
            if CACHE.is_damaged(slices, cancelled):
                damaged.append((open_trace.file.path, CACHE.part_of(slices)))
        except WriteCancelled:
            return []
        keep_columns(open_trace, cancelled)
    return damaged
