"""Listens for second starts of the program by the same user on the same display.

Only the holder of a lock on the file next to the socket may listen. This keeps two programs that
start simultaneously from taking the socket from each other, since listening replaces an existing
socket whether or not it is in use. The system releases the lock when a program ends, even by a
crash, so leftover files do no harm.
"""

from __future__ import annotations

import os
import sys

from PySide6.QtCore import QObject, QTimer, Signal, Slot
from PySide6.QtNetwork import QLocalServer, QLocalSocket

from viewer.gui.app.handover_request import LONGEST, TAKEN, decoded

# A start sends its line immediately. A connection that takes longer is not one.
PATIENCE_MS = 3000
_MOST_WAITING = 16


class HandoverServer(QObject):
    """Emits `request_received` with the `HandoverRequest` of each second start."""

    request_received = Signal(object)

    def __init__(self, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._lock = -1
        self._server = QLocalServer(self)
        self._server.setSocketOptions(QLocalServer.SocketOption.UserAccessOption)
        self._server.setMaxPendingConnections(_MOST_WAITING)
        self._server.newConnection.connect(self._take)

    def listen(self, where: str) -> bool:
        """Start listening at `where`; False if another program listens there. Raises OSError."""
        if sys.platform != "win32":  # on Windows, two programs may listen on one pipe
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
        """Stop listening and release the lock."""
        self._server.close()
        if self._lock >= 0:
            os.close(self._lock)
            self._lock = -1

    @Slot()
    def _take(self) -> None:
        while (socket := self._server.nextPendingConnection()) is not None:
            _Connection(socket, self)


class _Connection(QObject):
    """The connection to one second start, until its request is read or times out."""

    def __init__(self, socket: QLocalSocket, server: HandoverServer) -> None:
        super().__init__(server)
        self._socket, self._server = socket, server
        socket.setParent(self)
        socket.setReadBufferSize(LONGEST + 1)
        socket.readyRead.connect(self._read)
        socket.disconnected.connect(self.deleteLater)
        timeout = QTimer(self)
        timeout.setSingleShot(True)
        timeout.timeout.connect(self._give_up)
        timeout.start(PATIENCE_MS)
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
        self._server.request_received.emit(request)

    @Slot()
    def _give_up(self) -> None:
        self._socket.abort()
        self.deleteLater()
