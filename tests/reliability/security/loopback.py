"""The server of "Open in Perfetto UI": one file, to one page, on this machine, and not for long."""

from __future__ import annotations

import http.client
import os
import socket
import tempfile
import threading
import time
from pathlib import Path

from tests.reliability.campaign import Finding, Options, Outcome

_CONTENT = bytes(range(256)) * 40_000
_SECRET = b"the content of another file"
_SLOW_CLIENTS = 100
_ENDS_WITHIN = 10.0  # seconds
_SECONDS = 60.0


def check(options: Options) -> Outcome:
    """Send hostile requests, then a good one."""
    from viewer.gui.window.files.perfetto_server import HOST, UI_ORIGIN, PerfettoServer

    findings: list[Finding] = []
    requests = 0
    with tempfile.TemporaryDirectory(prefix="opscope-reliability-") as name:
        folder = Path(name)
        trace = folder / "trace.pftrace"
        trace.write_bytes(_CONTENT)
        (folder / "secret").write_bytes(_SECRET)
        ended = threading.Event()
        server = PerfettoServer(str(trace), lambda fetched: ended.set(), port=0, seconds=_SECONDS)
        place, port = server.place, server.port
        good = {"Host": f"{HOST}:{port}", "Origin": UI_ORIGIN}

        def ask(method: str, path: str, headers: dict[str, str]) -> tuple[int, bytes]:
            connection = http.client.HTTPConnection(HOST, port, timeout=10)
            try:
                connection.putrequest(method, path, skip_host=True)
                for key, value in headers.items():
                    connection.putheader(key, value)
                connection.endheaders()
                answer = connection.getresponse()
                return answer.status, answer.read()
            except (OSError, http.client.HTTPException):
                return 0, b""
            finally:
                connection.close()

        token = place.split("/")[1]
        refused = [
            *((method, place, good) for method in ("POST", "PUT", "DELETE", "HEAD", "TRACE", "X")),
            *(("GET", path, good) for path in _paths(token, folder)),
            *(("GET", place, good | {"Host": host}) for host in _hosts(port)),
            *(("GET", place, good | {"Origin": origin}) for origin in _origins()),
            ("GET", place, {"Host": good["Host"]}),
            ("GET", place, {"Origin": UI_ORIGIN}),
            ("GET", place, {}),
        ]
        for method, path, headers in refused:
            status, body = ask(method, path, headers)
            requests += 1
            if status == 200 or body[:100] == _CONTENT[:100] or _SECRET in body:
                findings.append(Finding(f"{method} {path} {headers}: {status}, {len(body)} bytes"))
        findings += [Finding(what) for what in _listens_elsewhere(port)]
        clients = [_half_request(HOST, port, number) for number in range(_SLOW_CLIENTS)]
        requests += len(clients)
        if len(token) < 20:
            findings.append(Finding(f"the random path has only {len(token)} characters"))
        began = time.monotonic()
        status, body = ask("GET", place, good)
        if (status, body) != (200, _CONTENT):
            findings.append(Finding(f"the page got {status}, {len(body)} bytes"))
        answered = time.monotonic() - began
        if not ended.wait(_ENDS_WITHIN):
            findings.append(Finding("the server still runs after the file was fetched"))
        server.close()
        if ask("GET", place, good)[0]:
            findings.append(Finding("the file is served again after it was fetched"))
        for client in clients:
            client.close()
    figures = f"{_SLOW_CLIENTS} slow clients, then answered in {1000 * answered:.0f} ms"
    return Outcome(requests, tuple(findings), figures)


def _paths(token: str, folder: Path) -> list[str]:
    up = "../" * 12
    return [
        "/",
        "/trace.pftrace",
        f"/{token}",
        f"/{token}/",
        f"/{token}/../secret",
        f"/{token}/%2e%2e/secret",
        f"/{token}/trace.pftrace/../../secret",
        f"/{token}/trace.pftrace%00",
        f"/{token}/{up}etc/passwd",
        f"{folder}/secret",
        "/etc/passwd",
        "file:///etc/passwd",
        f"/{token.swapcase()}/trace.pftrace",
        f"/{token[:-1]}/trace.pftrace",
        f"/{'a' * 60_000}",
        f"/{token}/trace.pftrace?x",
        f"/{token}/trace.pftrace#x",
        "http://example.org/",
        "*",
    ]


def _hosts(port: int) -> list[str]:
    """Other hosts: a page whose name was rebound to this machine sends its own name."""
    return [
        f"example.org:{port}",
        f"localhost:{port}",
        "127.0.0.1",
        "127.0.0.1:80",
        f"[::1]:{port}",
        f"127.0.0.1:{port}.example.org",
        "",
    ]


def _origins() -> list[str]:
    return [
        "null",
        "http://ui.perfetto.dev",
        "https://ui.perfetto.dev.example.org",
        "https://example.org",
        "https://ui.perfetto.dev:8443",
        "file://",
        "",
    ]


def _half_request(host: str, port: int, number: int) -> socket.socket:
    """A client that sends half a request and waits."""
    client = socket.create_connection((host, port), 10)
    client.sendall((b"", b"GET /", b"GET / HTTP/1.1\r\nHost: ", os.urandom(50))[number % 4])
    return client


def _listens_elsewhere(port: int) -> list[str]:
    """Addresses other than loopback at which the port is open, by the tables of the system."""
    found = []
    for table in ("tcp", "tcp6"):
        try:
            lines = Path(f"/proc/net/{table}").read_text().splitlines()[1:]
        except OSError:
            continue
        for line in lines:
            _, address, _, state = line.split()[:4]
            ip, _, number = address.partition(":")
            if state == "0A" and int(number, 16) == port and ip != "0100007F":
                found.append(f"the server listens on {ip} ({table})")
    return found
