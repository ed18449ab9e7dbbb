"""Ends the program in order at SIGINT (Ctrl+C in the terminal), SIGTERM and SIGHUP.

Python runs signal handlers only between two instructions of its own, and Qt's event loop may wait
for minutes without one. So Python's C handler writes the number of the signal to a socket, and a
notifier of the event loop reads it there.

A second signal has the system's effect: it ends a program that hangs at once. A signal that the
program was started to ignore (`nohup`) stays ignored.
"""

from __future__ import annotations

import signal
import socket

from PySide6.QtCore import QCoreApplication, QObject, QSocketNotifier, Signal, Slot

from viewer.codecs.ending import signal_numbers


class ExitSignals(QObject):
    """Emits `received` at the first signal, in the event loop, and then ends the event loop.

    exit_code: 128 and the number of the signal, as shells report it; 0 before.
    """

    received = Signal()

    def __init__(self, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self.exit_code = 0
        self._numbers = signal_numbers()
        self._reader, self._writer = socket.socketpair()
        for end in (self._reader, self._writer):
            end.setblocking(False)
        self._notifier = QSocketNotifier(self._reader.fileno(), QSocketNotifier.Type.Read, self)
        self._notifier.activated.connect(self._read)
        signal.set_wakeup_fd(self._writer.fileno(), warn_on_full_buffer=False)
        for number in self._numbers:
            signal.signal(number, _nothing)  # so that Python's C handler is installed

    def close(self) -> None:
        """Give the signals back to the system."""
        signal.set_wakeup_fd(-1)
        for number in self._numbers:
            signal.signal(number, signal.SIG_DFL)
        self._notifier.setEnabled(False)
        self._reader.close()
        self._writer.close()

    @Slot()
    def _read(self) -> None:
        got = [number for number in self._reader.recv(4096) if number in self._numbers]
        if not got or self.exit_code:
            return
        self.exit_code = 128 + got[0]
        for number in self._numbers:
            signal.signal(number, signal.SIG_DFL)
        self.received.emit()
        QCoreApplication.exit(self.exit_code)


def _nothing(number: int, frame: object) -> None:
    """Do nothing; the socket has the number."""
