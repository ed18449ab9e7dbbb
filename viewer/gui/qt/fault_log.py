"""Logs crashes that end the process, using Python's fault handler and a file.

The file, `faults.log`, is in the settings folder. Each start appends a line with versions, which
identifies the start that a fault belongs to. At the next start, the file is cut to its last 32 kB.
It contains functions and lines of the program, and no profile data. This module does not use Qt.
"""

from __future__ import annotations

import contextlib
import faulthandler
import os
import platform
import sys
from datetime import datetime
from typing import IO

from viewer import __version__

NAME = "faults.log"
KEPT = 32 << 10  # bytes
_START = "== Opscope "
_file: IO[str] | None = None


def begin(folder: str) -> None:
    """Start logging faults of this process to a folder; never raises, as logging is optional."""
    global _file
    with contextlib.suppress(OSError, ValueError):
        os.makedirs(folder, exist_ok=True)
        path = os.path.join(folder, NAME)
        _cut(path)
        # Kept open until `end`, because the fault handler writes to its descriptor.
        _file = open(path, "a", encoding="utf-8")  # noqa: SIM115
        now = datetime.now().isoformat(" ", "seconds")
        _file.write(
            f"{_START}{__version__}, Python {platform.python_version()}, {sys.platform}, {now}\n"
        )
        _file.flush()
        faulthandler.enable(_file)


def end() -> None:
    """Stop logging faults."""
    global _file
    faulthandler.disable()
    if _file is not None:
        _file.close()
        _file = None


def path_of(folder: str) -> str:
    """The path of the log in a folder."""
    return os.path.join(folder, NAME)


def last_fault(folder: str) -> str:
    """The log section of the last start that ended with a fault; "" if there is none."""
    try:
        with open(path_of(folder), encoding="utf-8", errors="replace") as file:
            text = file.read(2 * KEPT)
    except (OSError, ValueError):
        return ""
    starts = [_START + part for part in text.split(_START)[1:]]
    faults = [start.strip() for start in starts if len(start.strip().splitlines()) > 1]
    return faults[-1] if faults else ""


def _cut(path: str) -> None:
    """Cut the log to its last `KEPT` bytes, beginning at the first whole section."""
    if not os.path.exists(path) or os.path.getsize(path) <= KEPT:
        return
    with open(path, "rb") as file:
        file.seek(-KEPT, os.SEEK_END)
        tail = file.read(KEPT)
    position = tail.find(_START.encode())
    with open(path, "wb") as file:
        file.write(tail[position:] if position >= 0 else b"")
