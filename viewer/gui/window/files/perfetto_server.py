"""Serves one file over loopback, once, to the Perfetto UI in the user's browser.

The UI at ui.perfetto.dev reads a trace from this machine if its address contains `?url=`. Its
content security policy only allows http://127.0.0.1:9001. So the server uses that port, listens
only on loopback, and serves a single file under a random path. It only answers requests for this
host that come from that page, and stops as soon as the whole file was fetched. This module does not
use Qt.
"""

from __future__ import annotations

import contextlib
import os
import secrets
import shutil
import socket
import threading
import time
import urllib.parse
import urllib.request
from collections.abc import Callable
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

UI_HOST = "ui.perfetto.dev"
UI_ORIGIN = f"https://{UI_HOST}"
HOST, PORT = "127.0.0.1", 9001
# If the browser was closed, no request arrives; the file must not be served forever.
MOST_SECONDS = 600.0
_REACH_SECONDS = 4.0


class PortTaken(Exception):
    """Another program uses the only port that the UI can read from."""


def is_reachable(host: str = UI_HOST) -> bool:
    """Whether the UI's host is reachable; assumes so behind a proxy, as only the browser knows."""
    if urllib.request.getproxies():
        return True
    try:
        socket.create_connection((host, 443), _REACH_SECONDS).close()
    except OSError:
        return False
    return True


class PerfettoServer:
    """Serves one file until it was fetched, `close` is called, or `seconds` have passed.

    `ended` is called once, from a server thread, with whether the whole file was fetched. Raises
    PortTaken.
    """

    def __init__(
        self,
        path: str,
        ended: Callable[[bool], None],
        *,
        port: int = PORT,
        seconds: float = MOST_SECONDS,
    ) -> None:
        self._ended = ended
        self._fetched = False
        name = urllib.parse.quote(Path(path).name)
        self.place = f"/{secrets.token_urlsafe(24)}/{name}"
        try:
            self._server = _Server((HOST, port), _handler_of(path, self.place, self._was_fetched))
        except OSError as error:
            raise PortTaken(f"port {port} is in use by another program") from error
        self.port = self._server.server_address[1]
        self._until = time.monotonic() + seconds
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._run, name="serve a trace", daemon=True)
        self._thread.start()

    @property
    def address(self) -> str:
        """The URL of the file."""
        return f"http://{HOST}:{self.port}{self.place}"

    @property
    def ui_address(self) -> str:
        """The URL of the page that fetches and shows the file."""
        return f"{UI_ORIGIN}/#!/?url={self.address}"

    def close(self) -> None:
        """Stop serving; calls `ended` unless already done, and waits for the server to stop."""
        self._stop.set()
        if threading.current_thread() is not self._thread:
            self._thread.join()

    def _was_fetched(self) -> None:
        self._fetched = True
        self._stop.set()

    def _run(self) -> None:
        self._server.timeout = 0.1
        while not self._stop.is_set() and time.monotonic() < self._until:
            self._server.handle_request()
        self._server.server_close()
        self._ended(self._fetched)


class _Server(ThreadingHTTPServer):
    # On Windows, this would take requests from another program that listens there. Elsewhere, it
    # only ends the wait of a minute after the last server of Opscope itself.
    allow_reuse_address = os.name == "posix"
    daemon_threads = True
    block_on_close = False

    def handle_error(self, request: object, client_address: object) -> None:
        """Ignore browsers that disconnect; they may send the request again."""


def _handler_of(path: str, place: str, fetched: Callable[[], None]) -> type[BaseHTTPRequestHandler]:
    class Handler(BaseHTTPRequestHandler):
        """Answers the preflight request and the fetch of the UI's page, and nothing else."""

        timeout = 30.0  # s without receiving data
        server_version = "Opscope"
        sys_version = ""

        def do_OPTIONS(self) -> None:
            if self._is_asked():
                self.send_response(204)
                self._allow()
                self.end_headers()

        def do_GET(self) -> None:
            if not self._is_asked():
                return
            try:
                file = open(path, "rb")  # noqa: SIM115 - closed below, after the headers are out
            except OSError:
                self._refuse(404)
                return
            with file:
                size = file.seek(0, 2)
                file.seek(0)
                self.send_response(200)
                self._allow()
                self.send_header("Content-Type", "application/octet-stream")
                self.send_header("Content-Length", str(size))
                self.send_header("Cache-Control", "no-store")
                self.end_headers()
                shutil.copyfileobj(file, self.wfile, 1 << 20)
            self.wfile.flush()
            # The data may still be in buffers. A client that has read everything closes the
            # connection normally; otherwise it resets the connection, which raises here.
            self.connection.shutdown(socket.SHUT_WR)
            with contextlib.suppress(TimeoutError):
                while self.connection.recv(4096):
                    pass
            fetched()

        def _is_asked(self) -> bool:
            """Whether the request comes from the UI.

            A page whose domain was rebound to this machine sends another host, and any other page
            another origin.
            """
            port = self.connection.getsockname()[1]
            expected = f"{HOST}:{port}", UI_ORIGIN
            if (self.headers.get("Host"), self.headers.get("Origin")) != expected:
                self._refuse(403)
            elif self.path != place:
                self._refuse(404)
            else:
                return True
            return False

        def _refuse(self, code: int) -> None:
            self.send_response(code)
            self.send_header("Content-Length", "0")
            self.end_headers()

        def _allow(self) -> None:
            self.send_header("Access-Control-Allow-Origin", UI_ORIGIN)
            self.send_header("Access-Control-Allow-Methods", "GET")
            # Browsers require this when a public page reads from the local machine.
            self.send_header("Access-Control-Allow-Private-Network", "true")
            self.send_header("Vary", "Origin")

        def log_message(self, format: str, *args: object) -> None:
            """Log nothing, since the path of the file is private."""

    return Handler
