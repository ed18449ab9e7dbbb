"""The instance socket: other users are shut out, hostile messages change nothing, floods pass."""

from __future__ import annotations

import contextlib
import json
import os
import random
import socket
import stat
import tempfile
import threading
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

from tests.reliability.campaign import Finding, Options, Outcome

_NOBODY = 65534
_SHORT, _LONG = 200, 20_000  # hostile messages
_FLOOD = 200
_WAIT_MS = 10_000


def check(options: Options) -> Outcome:
    """Send everything to the server of a program, then a good request."""
    from PySide6.QtCore import QCoreApplication

    from viewer.gui.app.handover_request import HandoverRequest, hand_over, place
    from viewer.gui.app.windows import HandoverServer

    app = QCoreApplication([])
    findings: list[Finding] = []
    heard: list[object] = []
    chosen = random.Random(options.seed)
    count = 0
    with tempfile.TemporaryDirectory(prefix="opscope-reliability-") as name:
        os.chmod(name, 0o755)
        for variable in ("XDG_RUNTIME_DIR", "TMPDIR"):
            heard.clear()
            folder = Path(name) / variable
            folder.mkdir()
            folder.chmod(0o700 if variable == "XDG_RUNTIME_DIR" else 0o1777)
            os.umask(0)  # the widest permissions that the user may have chosen
            where = place({variable: str(folder), "QT_QPA_PLATFORM": "offscreen"})
            server = HandoverServer(app)
            server.request_received.connect(heard.append)
            if not server.listen(where):
                findings.append(Finding(f"{variable}: the server does not listen"))
                continue
            os.umask(0o022)
            findings += [Finding(f"{variable}: {what}") for what in _open_to_others(where)]
            messages = list(_messages(chosen, _LONG if options.is_long else _SHORT))
            for message in messages:
                count += 1
                _await(app, partial(_send, where, message))
                if heard:
                    findings.append(Finding(f"a hostile message was accepted: {message[:200]!r}"))
                    heard.clear()
            flood = _flooded(where)
            count += len(flood)
            request = HandoverRequest(("/a.etdp",))
            taken = _await(app, partial(hand_over, request, where, 10.0))
            if not taken or heard != [request]:
                findings.append(Finding(f"{variable}: after a flood, a request was not taken"))
            for client in flood:
                client.close()
            server.close()
    figures = "" if os.geteuid() == 0 else "other users skipped: needs root"
    return Outcome(count, tuple(findings), figures)


def _await(app: Any, act: Callable[[], object]) -> object:
    """Run a client in a thread while this thread serves; returns its result."""
    results: list[object] = []
    thread = threading.Thread(target=lambda: results.append(act()), daemon=True)
    thread.start()
    for _ in range(_WAIT_MS // 2):
        app.processEvents()
        thread.join(0.002)
        if not thread.is_alive():
            break
    app.processEvents()
    return results[0] if results else None


def _open_to_others(where: str) -> Iterator[str]:
    """What lets another user connect."""
    mode = stat.S_IMODE(os.stat(where).st_mode)
    folder = stat.S_IMODE(os.stat(os.path.dirname(where)).st_mode)
    if mode & 0o077 and folder & 0o077:
        yield f"socket {mode:o} in folder {folder:o}"
    lock = stat.S_IMODE(os.stat(where + ".lock").st_mode)
    if lock & 0o077:
        yield f"lock file {lock:o}"
    if os.geteuid() == 0:
        child = os.fork()
        if child == 0:
            with contextlib.suppress(OSError):
                os.setgroups([])
                os.setgid(_NOBODY)
                os.setuid(_NOBODY)
                with socket.socket(socket.AF_UNIX) as client:
                    client.connect(where)
                os._exit(1)
            os._exit(0)
        if os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]):
            yield "another user can connect"


def _send(where: str, message: bytes) -> bytes:
    with socket.socket(socket.AF_UNIX) as client:
        client.settimeout(1.0)
        try:
            client.connect(where)
            client.sendall(message)
            if not message.endswith(b"\n"):
                client.shutdown(socket.SHUT_WR)
            return client.recv(100)
        except OSError:
            return b""


def _flooded(where: str) -> list[socket.socket]:
    """Clients that connect and say nothing, as many as the server accepts."""
    clients = []
    for _ in range(_FLOOD):
        client = socket.socket(socket.AF_UNIX)
        client.setblocking(False)
        with contextlib.suppress(OSError):
            client.connect(where)
        clients.append(client)
    return clients


def _messages(chosen: random.Random, count: int) -> Iterator[bytes]:
    """Hostile messages: random bytes, broken JSON, wrong types, sizes and paths."""
    good: dict[str, object] = {
        "opscope": 1,
        "files": ["/a"],
        "new_window": False,
        "theme": None,
        "token": "",
        "choices": None,
    }
    yield from (
        b"",
        b"\n",
        b"\0\n",
        b"[" * 1_000_000 + b"\n",
        b"{" * 100_000,
        b'{"opscope":' + b"9" * 100_000 + b"}\n",
        b"x" * 2_000_000 + b"\n",
        b"GET / HTTP/1.1\r\nHost: a\r\n\r\n",
        b"\xff\xfe{}\n",
        b"null\n",
        b"NaN\n",
        b"{}\n",
        json.dumps(good).encode(),
    )
    values = (
        None,
        -1,
        2,
        1.5,
        "x",
        [],
        {},
        [[]],
        [None],
        ["relative"],
        ["//share/a"],
        ["/a\0b"],
        ["\\\\a\\b"],
        ["/" + "a" * 40_000],
        ["http://example.org"],
        [1],
        {"pairs": 1},
        "a\nb",
        "é",
        "a" * 2000,
    )
    for key, default in good.items():
        yield json.dumps({k: v for k, v in good.items() if k != key}).encode() + b"\n"
        for value in values:
            harmless = {
                "files": value == [],
                "theme": value is None,
                "choices": value is None,
                "token": value == "x",
            }
            if value != default and not harmless.get(key):
                yield json.dumps(good | {key: value}).encode() + b"\n"
    line = json.dumps(good).encode() + b"\n"
    for _ in range(count):
        kind = chosen.randrange(3)
        if kind == 0:
            yield chosen.randbytes(chosen.randrange(300)) + b"\n"
        elif kind == 1:
            yield line[: chosen.randrange(len(line) - 1)]
        else:
            damaged = bytearray(line)
            damaged[chosen.randrange(len(line) - 1)] = chosen.choice(b"\0\x80\x1f")
            yield bytes(damaged)
