"""Listens for second starts of the program, of the same user on the same display.

Who holds a lock on the file beside the socket listens, so that two programs that start at once do
not take the socket from each other (to listen replaces a socket that is there, in use or not). The
system takes the lock of a program that ends in whatever way, so what a crash leaves is in nobody's
way.
"""

from __future__ import annotations

import os
import sys

from PySide6.QtCore import QObject, QTimer, Signal, Slot
from PySide6.QtNetwork import QLocalServer, QLocalSocket

from viewer.gui.app.handover_request import LONGEST, TAKEN, decoded

# A start sends its line at once. What takes longer is not one.
PATIENCE_MS = 3000
_MOST_WAITING = 16


class HandoverServer(QObject):
    """`asked`: a second start asks for a `viewer.gui.app.handover_request.HandoverRequest`."""

    asked = Signal(object)

    def __init__(self, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._lock = -1
        self._server = QLocalServer(self)
        self._server.setSocketOptions(QLocalServer.SocketOption.UserAccessOption)
        self._server.setMaxPendingConnections(_MOST_WAITING)
        self._server.newConnection.connect(self._take)

    def listen(self, where: str) -> bool:
        """Begin to listen at a place; False where another program does. Raises OSError."""
        if sys.platform != "win32":  # where two may listen at one pipe
            import fcntl

            lock = os.open(where + ".lock", os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
            try:
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except OSError:
                os.close(lock)
                return False
            self._lock = lock
        return self._server.listen(where)

    def close(self) -> None:
        """Listen no more."""
        self._server.close()
        if self._lock >= 0:
            os.close(self._lock)
            self._lock = -1

    @Slot()
    def _take(self) -> None:
        while (socket := self._server.nextPendingConnection()) is not None:
            _Connection(socket, self)


class _Connection(QObject):
    """One start that is being listened to."""

    def __init__(self, socket: QLocalSocket, server: HandoverServer) -> None:
        super().__init__(server)
        self._socket, self._server = socket, server
        socket.setParent(self)
        socket.setReadBufferSize(LONGEST + 1)
        socket.readyRead.connect(self._read)
        socket.disconnected.connect(self.deleteLater)
        late = QTimer(self)
        late.setSingleShot(True)
        late.timeout.connect(self._give_up)
        late.start(PATIENCE_MS)
        self._line = b""
        self._read()

    @Slot()
    def _read(self) -> None:
        self._line += bytes(self._socket.readAll().data())
        line, end, _ = self._line.partition(b"\n")
        if not end:
            if len(self._line) > LONGEST:
                self._give_up()
            return
        self._socket.readyRead.disconnect(self._read)
        request = decoded(line)
        if request is None:
            self._give_up()
            return
        self._socket.write(TAKEN)
        self._socket.flush()
        self._socket.disconnectFromServer()
        self._server.asked.emit(request)

    @Slot()
    def _give_up(self) -> None:
        self._socket.abort()
        self.deleteLater()
