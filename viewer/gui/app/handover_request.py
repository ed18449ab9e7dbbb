"""Hands the files of a second start to the running program, which lets the second start exit.

One program runs per user and display. If anything goes wrong, the second start continues as if no
other program were running. This module does not import Qt, which takes longer than the entire
handover. The receiver does not trust the line of JSON that it reads.
"""

from __future__ import annotations

import contextlib
import os
import stat
import sys
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from viewer.dataclasses import dataclass

if TYPE_CHECKING:
    from fractions import Fraction

    from viewer.workspace.link_choices import Choices

VERSION = 1
TAKEN = b"taken\n"
LONGEST = 1 << 20  # bytes in a request
MOST_FILES = 10_000
# A program that does not answer within this time is stopped or hung. A window never blocks for more
# than 0.1 s, but the first window takes up to a second to start.
PATIENCE = 3.0  # seconds
_RETRIES_EVERY = 0.01  # seconds
_LONGEST_TEXT = 32_767  # characters; the longest path on Windows
_LONGEST_TOKEN = 1024
_THEMES = ("light", "dark")
_Pair = tuple[str | None, str | None]


@dataclass(frozen=True, slots=True)
class HandoverRequest:
    """The arguments of a second start.

    files: absolute paths. new_window: open them in a new window even if an empty one exists. theme:
    "light" or "dark", None to keep the current one. token: the desktop's activation token, which
    lets the window come to the front; "" if the desktop provided none.
    """

    files: tuple[str, ...] = ()
    choices: Choices | None = None
    new_window: bool = False
    theme: str | None = None
    token: str = ""


def place(environment: Mapping[str, str] = os.environ) -> str:
    """Where this user's program on this display listens: a socket path or Windows pipe name.

    Raises OSError if there is no folder that only this user can write to.
    """
    if sys.platform == "win32":
        user, session = environment.get("USERNAME", ""), environment.get("SESSIONNAME", "")
        return rf"\\.\pipe\opscope-{_plain(user)}-{_plain(session)}"
    return os.path.join(_own_folder(environment), f"opscope-{_plain(_display(environment))}")


def _display(environment: Mapping[str, str]) -> str:
    """Name that identifies the display; ":0" and its first screen ":0.0" get the same name."""
    platform = environment.get("QT_QPA_PLATFORM", "").partition(":")[0]
    if platform not in ("", "xcb", "wayland"):
        return platform
    wayland, x11 = environment.get("WAYLAND_DISPLAY", ""), environment.get("DISPLAY", "")
    if wayland and platform != "xcb":
        return wayland
    host, colon, number = x11.rpartition(":")
    return f"{host}{colon}{number.partition('.')[0]}"


def _plain(text: str) -> str:
    """Encode a text for use in a file name; different texts give different names."""
    return "".join(c if c.isascii() and c.isalnum() else f"_{ord(c):x}_" for c in text)


def _own_folder(environment: Mapping[str, str]) -> str:
    """A folder that only this user can write to, so that no other user can listen in our place."""
    runtime = environment.get("XDG_RUNTIME_DIR", "")
    if runtime and _is_own(runtime):
        return runtime
    uid = os.getuid() if hasattr(os, "getuid") else ""
    folder = os.path.join(environment.get("TMPDIR") or "/tmp", f"opscope-{uid}")
    with contextlib.suppress(FileExistsError):
        os.mkdir(folder, 0o700)
    if not _is_own(folder):
        raise PermissionError(f"{folder} belongs to another user")
    return folder


def _is_own(folder: str) -> bool:
    try:
        status = os.lstat(folder)
    except OSError:
        return False
    private = not status.st_mode & (stat.S_IWGRP | stat.S_IWOTH)
    return stat.S_ISDIR(status.st_mode) and status.st_uid == os.getuid() and private


def hand_over(request: HandoverRequest, where: str, patience: float = PATIENCE) -> bool:
    """Send a request to the program that listens at `where`; returns whether it accepted it.

    Returns False immediately if no program listens there (even if a stale socket exists), and after
    `patience` seconds if the program does not answer. The Windows pipe has no timeout.
    """
    try:
        line = encoded(request)
        if len(line) > LONGEST:
            return False
        answer = (
            _asked_pipe(line, where) if sys.platform == "win32" else _asked(line, where, patience)
        )
    except (OSError, ValueError):
        return False
    return answer == TAKEN


def _asked(line: bytes, where: str, patience: float) -> bytes:
    import socket
    import time

    until = time.monotonic() + patience
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as connection:
        connection.settimeout(patience)
        while True:
            try:
                connection.connect(where)
                break
            except BlockingIOError:
                # About 50 others are waiting to be accepted. A connection with a timeout fails
                # immediately then, instead of waiting.
                if time.monotonic() > until:
                    raise
                time.sleep(_RETRIES_EVERY)
        connection.sendall(line)
        return connection.recv(len(TAKEN), socket.MSG_WAITALL)


def _asked_pipe(line: bytes, where: str) -> bytes:
    with open(where, "r+b", buffering=0) as pipe:
        pipe.write(line)
        return bytes(pipe.read(len(TAKEN)) or b"")


# -- encoding and decoding -----------------------------------------------------------------------


def encoded(request: HandoverRequest) -> bytes:
    """Encode a request as one line of JSON, newline included."""
    import json

    fields = {
        "opscope": VERSION,
        "files": request.files,
        "new_window": request.new_window,
        "theme": request.theme,
        "token": request.token,
        "choices": None if request.choices is None else _written(request.choices),
    }
    return json.dumps(fields).encode() + b"\n"


def _written(choices: Choices) -> dict[str, list[list[str | None]]]:
    """The link choices that a command line can make, as JSON lists with absolute paths."""
    return {
        "pairs": [
            [os.path.abspath(path), other and os.path.abspath(other)]
            for path, other in choices.pairs
        ],
        "methods": [[runs, method] for runs, method in choices.methods],
        "columns": [[of and os.path.abspath(of), column] for of, column in choices.columns],
        "clocks": [[path and os.path.abspath(path), str(rate)] for path, rate in choices.clocks],
        "delegate_clocks": [
            [path and os.path.abspath(path), name, str(rate)]
            for path, name, rate in choices.delegate_clocks
        ],
        "source_paths": [
            [substitution.recorded_path, substitution.local]
            for substitution in choices.source_paths
        ],
        "parts": [[path and os.path.abspath(path), str(part)] for path, part in choices.parts],
        "table_columns": [
            [path and os.path.abspath(path), text] for path, text in choices.table_columns
        ],
        "same_clocks": [
            [os.path.abspath(path) for path in same_clock.paths]
            for same_clock in choices.same_clocks
        ],
        "phases": [[runs, phase] for runs, phase in choices.phases],
    }


def decoded(line: bytes) -> HandoverRequest | None:
    """Decode a request from an untrusted line; None if it is too long or invalid."""
    import json

    if len(line) > LONGEST:
        return None
    try:
        fields = json.loads(line)
        return _request(fields) if isinstance(fields, dict) else None
    except (ValueError, TypeError, KeyError, RecursionError, ZeroDivisionError):
        return None


def _request(fields: dict[str, Any]) -> HandoverRequest:
    if fields["opscope"] != VERSION or len(fields["files"]) > MOST_FILES:
        raise ValueError("another form")
    token = _text(fields["token"])
    if len(token) > _LONGEST_TOKEN or not (token.isascii() and (token.isprintable() or not token)):
        raise ValueError("no token")
    if fields["theme"] not in (None, *_THEMES) or not isinstance(fields["new_window"], bool):
        raise ValueError("another form")
    return HandoverRequest(
        tuple(_path(path) for path in _list(fields["files"])),
        None if fields["choices"] is None else _read(fields["choices"]),
        fields["new_window"],
        fields["theme"],
        token,
    )


def _read(fields: dict[str, Any]) -> Choices:
    from viewer.model.times import parse_ratio
    from viewer.program.source_files import Substitution
    from viewer.workspace.clocks import SameClock
    from viewer.workspace.link_choices import Choices

    def rows(name: str) -> Sequence[Any]:
        if len(_list(fields[name])) > MOST_FILES:
            raise ValueError("too many")
        return _list(fields[name])

    def pairs(name: str) -> list[_Pair]:
        return [(_text_or_none(first), _text_or_none(other)) for first, other in rows(name)]

    clocks = [
        ((path and _path(path)) or "", parse_ratio(_text(rate))) for path, rate in pairs("clocks")
    ]
    delegate_clocks = [
        ((path and _path(path)) or "", _text(name), parse_ratio(_text(rate)))
        for path, name, rate in rows("delegate_clocks")
    ]
    return Choices(
        pairs=tuple((_path(path), other and _path(other)) for path, other in pairs("pairs")),
        methods=tuple((_text(runs), _text(method)) for runs, method in pairs("methods")),
        phases=tuple((_text(runs), _text(phase)) for runs, phase in pairs("phases")),
        columns=tuple((of and _path(of), _text(column)) for of, column in pairs("columns")),
        clocks=tuple(clocks),
        delegate_clocks=tuple(delegate_clocks),
        parts=tuple(((path and _path(path)) or "", _share(part)) for path, part in rows("parts")),
        table_columns=tuple(
            ((path and _path(path)) or "", _columns(text)) for path, text in rows("table_columns")
        ),
        same_clocks=tuple(
            SameClock(paths, by_date=not paths)
            for row in rows("same_clocks")
            for paths in [tuple(_path(path) for path in _list(row))]
        ),
        source_paths=tuple(
            # Those of the command line of this user.
            Substitution(_text(recorded), _path(local), any_kind=True)
            for recorded, local in pairs("source_paths")
        ),
    )


def _share(value: object) -> Fraction:
    """A share of a file, above 0 and at most 1."""
    from viewer.model.times import parse_ratio

    share = parse_ratio(_text(value))
    if not 0 < share <= 1:
        raise ValueError("no share")
    return share


def _columns(value: object) -> str:
    from viewer.formats.table.stated_columns import parse_columns

    parse_columns(_text(value))
    return _text(value)


def _list(value: object) -> Sequence[Any]:
    if not isinstance(value, list):
        raise TypeError("no list")
    return value


def _text(value: object) -> str:
    if not isinstance(value, str) or len(value) > _LONGEST_TEXT or "\0" in value:
        raise TypeError("no text")
    return value


def _text_or_none(value: object) -> str | None:
    return None if value is None else _text(value)


def _path(value: object) -> str:
    """An absolute path on this machine; rejects URLs and network shares."""
    text = _text(value)
    if not os.path.isabs(text) or text.startswith(("\\\\", "//")):
        raise ValueError("no path of this machine")
    return text
