"""Hands one file to the Perfetto UI in the user's browser, over loopback, once. No Qt.

The UI at ui.perfetto.dev reads a trace from this machine when its address carries `?url=`; its
content policy allows that from http://127.0.0.1:9001 alone. So the server is on that port, only on
loopback, knows one file under a random path, answers only requests that ask for this very host and
come from that page, and ends as soon as the file was fetched whole.
"""

from __future__ import annotations

import contextlib
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
# A browser that was closed meanwhile never asks; a file must not be served for ever.
MOST_SECONDS = 600.0
_REACH_SECONDS = 4.0


class PortTaken(Exception):
    """Another program listens on the one port that the UI may read from."""


def is_reachable(host: str = UI_HOST) -> bool:
    """Whether the UI's host can be reached; where a proxy is set only the browser knows."""
    if urllib.request.getproxies():
        return True
    try:
        socket.create_connection((host, 443), _REACH_SECONDS).close()
    except OSError:
        return False
    return True


class PerfettoServer:
    """Serves one file until it was fetched, `close` is called, or `seconds` have passed.

    ended: called from a thread of the server, once, with whether the file was fetched whole.
    Raises PortTaken.
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
            raise PortTaken(f"port {port} of this machine is used by another program") from error
        self.port = self._server.server_address[1]
        self._until = time.monotonic() + seconds
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._run, name="serve a trace", daemon=True)
        self._thread.start()

    @property
    def address(self) -> str:
        """Where the file is."""
        return f"http://{HOST}:{self.port}{self.place}"

    @property
    def ui_address(self) -> str:
        """The page that reads the file and shows it."""
        return f"{UI_ORIGIN}/#!/?url={self.address}"

    def close(self) -> None:
        """Serve no more; `ended` is called, unless it was. Returns when all is at an end."""
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
    # Of another program that listens there this one must not take requests.
    allow_reuse_address = False
    daemon_threads = True
    block_on_close = False

    def handle_error(self, request: object, client_address: object) -> None:
        """A browser that hangs up is no fault; it may ask again."""


def _handler_of(path: str, place: str, fetched: Callable[[], None]) -> type[BaseHTTPRequestHandler]:
    class Handler(BaseHTTPRequestHandler):
        """Answers the preflight and the fetch of the UI's page, and nobody else."""

        timeout = 30.0  # s without a byte
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
            # What was sent may still lie in buffers. Who has read all of it hangs up in good order;
            # who has not resets the connection, which raises here.
            self.connection.shutdown(socket.SHUT_WR)
            with contextlib.suppress(TimeoutError):
                while self.connection.recv(4096):
                    pass
            fetched()

        def _is_asked(self) -> bool:
            """Whether the request is the UI's. A page that makes its own name mean this machine
            asks for another host, and any other page has another origin."""
            port = self.connection.getsockname()[1]
            wanted = f"{HOST}:{port}", UI_ORIGIN
            if (self.headers.get("Host"), self.headers.get("Origin")) != wanted:
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
            # Browsers ask this of a page of the net that reads from the own machine.
            self.send_header("Access-Control-Allow-Private-Network", "true")
            self.send_header("Vary", "Origin")

        def log_message(self, format: str, *args: object) -> None:
            """Nothing is printed: the path of the file is nobody's business."""

    return Handler
