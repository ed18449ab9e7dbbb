"""Ends a process in order at SIGINT (Ctrl+C), SIGTERM and SIGHUP: one line, and nothing is left.

The handler itself removes what is temporary and ends the process. An exception, as Python raises at
Ctrl+C, can come at any place: C code that imports modules turns it into another error, and
callbacks of the interpreter drop it. Imports next to nothing: it is the first module of a command.
"""

from __future__ import annotations

import os
import signal
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from threading import get_ident

# SIGBREAK is Windows's signal for a closed console. SIGHUP does not exist there.
NAMES = ("SIGINT", "SIGTERM", "SIGBREAK" if sys.platform == "win32" else "SIGHUP")
_LONG_S = 60.0

_cleanups: list[Callable[[], None]] = []
_ending = 0  # the thread that ends the process
_raises = False
_says = True


def at_end(cleanup: Callable[[], None]) -> None:
    """Call a function when a signal ends the process; it must not wait for other threads.

    The last one comes first.
    """
    _cleanups.append(cleanup)


def wait_if_ending() -> None:
    """Never return if the process is ending: call it before something temporary is made."""
    while _ending not in (0, get_ident()):
        time.sleep(_LONG_S)


def end_at_signals(*, says: bool = True) -> None:
    """End this process at these signals from now on. says: with a line on stderr."""
    global _says
    _says = says
    for number in signal_numbers():
        signal.signal(number, _ended)


@contextmanager
def raised_at_signals() -> Iterator[None]:
    """In the block, the first signal raises KeyboardInterrupt, as what is done must be kept.

    Only if `end_at_signals` was called; otherwise nothing changes.
    """
    global _raises
    _raises = True
    try:
        yield
    finally:
        _raises = False


def clean() -> None:
    """Remove what is temporary, and end the processes that this one started; never raises."""
    global _ending
    _ending = get_ident()
    for cleanup in reversed(_cleanups):
        with suppress(Exception):
            cleanup()


def signal_numbers() -> list[int]:
    """The signals that end this process, without those that it was started to ignore."""
    return [
        number
        for name in NAMES
        if (number := getattr(signal, name, None)) is not None
        and signal.getsignal(number) is not signal.SIG_IGN
    ]


def _ended(number: int, frame: object) -> None:
    global _raises
    if _raises:
        _raises = False
        raise KeyboardInterrupt
    for signal_number in signal_numbers():
        signal.signal(signal_number, signal.SIG_IGN)  # a second one must not stop the cleaning
    if _says:
        name = signal.Signals(number).name
        what = "interrupted" if number == signal.SIGINT else f"ended by {name}"
        # Not through sys.stderr, which may be in the middle of a line.
        with suppress(OSError):
            start = "\n" if os.isatty(2) else ""
            os.write(2, f"{start}opscope: {what}\n".encode())
    clean()
    os._exit(128 + number)
