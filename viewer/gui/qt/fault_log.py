"""What ended the program without a word: Python's fault handler writes where it was, to a file.

`faults.log` lies in the folder of the settings. Each start adds a line with versions, so that a
fault tells of which start it was; what is older than the last 32 kB goes at the next start. It
holds functions and lines of the program, no data of any profile. No Qt.
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
    """Write faults of this process into the log in a folder. Raises nothing: it is only a help."""
    global _file
    with contextlib.suppress(OSError, ValueError):
        os.makedirs(folder, exist_ok=True)
        path = os.path.join(folder, NAME)
        _cut(path)
        # Kept open for good: the handler writes to its descriptor.
        _file = open(path, "a", encoding="utf-8")  # noqa: SIM115
        now = datetime.now().isoformat(" ", "seconds")
        _file.write(
            f"{_START}{__version__}, Python {platform.python_version()}, {sys.platform}, {now}\n"
        )
        _file.flush()
        faulthandler.enable(_file)


def end() -> None:
    """Write no more faults."""
    global _file
    faulthandler.disable()
    if _file is not None:
        _file.close()
        _file = None


def path_of(folder: str) -> str:
    """Where the log of a folder is."""
    return os.path.join(folder, NAME)


def last_fault(folder: str) -> str:
    """The last start in the log that ended with a fault, from its line on; "" if none did."""
    try:
        with open(path_of(folder), encoding="utf-8", errors="replace") as file:
            text = file.read(2 * KEPT)
    except (OSError, ValueError):
        return ""
    starts = [_START + part for part in text.split(_START)[1:]]
    faults = [start.strip() for start in starts if len(start.strip().splitlines()) > 1]
    return faults[-1] if faults else ""


def _cut(path: str) -> None:
    """Leave the end of the log alone, from the begin of a start on."""
    if not os.path.exists(path) or os.path.getsize(path) <= KEPT:
        return
    with open(path, "rb") as file:
        file.seek(-KEPT, os.SEEK_END)
        kept = file.read(KEPT)
    mark = kept.find(_START.encode())
    with open(path, "wb") as file:
        file.write(kept[mark:] if mark >= 0 else b"")
