"""A lost display: the window ends without a hang, and the next start offers its session."""

from __future__ import annotations

import contextlib
import os
import shutil
import subprocess
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

from tests.reliability.campaign import Finding, Job, Options, Outcome
from tests.reliability.faults.kills import (
    bookmarks_made,
    next_starts,
    saved_bookmarks,
    start_busy_window,
)
from tests.reliability.programs import environment

_ENDS_WITHIN = 20.0  # seconds
_WORKS_SECONDS = 1.0
_OFFERS = ["offered", "nothing"]


def jobs(options: Options) -> list[Job]:
    """Return the job of lost displays."""
    return [Job("faults", "lost display", check)]


def check(options: Options) -> Outcome:
    """Kill the X server under a window."""
    if shutil.which("Xvfb") is None:
        return Outcome(0, figures="skipped: needs Xvfb")
    findings: list[Finding] = []
    count = 5 if options.is_long else 1
    for _ in range(count):
        with tempfile.TemporaryDirectory(prefix="opscope-reliability-") as name:
            findings += _lose(Path(name))
    return Outcome(count, tuple(findings))


def _lose(folder: Path) -> list[Finding]:
    given = environment(folder)
    session = folder / "work.opscope"
    with x_server() as (server, display):
        shown = given | {"DISPLAY": display, "QT_QPA_PLATFORM": "xcb"}
        with start_busy_window(shown, session) as process:
            assert process.stdout is not None
            assert process.stderr is not None
            lines = process.stdout.readline()
            if not lines:
                return [Finding("the window did not start", process.stderr.read().decode())]
            time.sleep(_WORKS_SECONDS)
            lost = time.monotonic()
            server.kill()
            server.wait(timeout=60)
            try:
                process.wait(_ENDS_WITHIN)
            except subprocess.TimeoutExpired:
                process.kill()
                return [Finding(f"no end {_ENDS_WITHIN:.0f} s after the display was lost")]
            made = bookmarks_made(lines + process.stdout.read(), lost)
            err = process.stderr.read().decode()
    found: list[Finding] = []
    if "Traceback" in err:
        found.append(Finding("lost display: traceback", err[-1000:]))
    best = saved_bookmarks(folder)
    if best < made:
        found.append(Finding(f"lost display: {best} of {made} bookmarks are in a file", err[-500:]))
    return [*found, *next_starts(folder, given, "lost display", _OFFERS)[1]]


@contextlib.contextmanager
def x_server() -> Iterator[tuple[subprocess.Popen[bytes], str]]:
    """Start an X server on a free display; yields its process and the display's name."""
    reading, writing = os.pipe()
    command = [
        "Xvfb",
        "-displayfd",
        str(writing),
        "-screen",
        "0",
        "1280x800x24",
        "-nolisten",
        "tcp",
    ]
    server = subprocess.Popen(
        command, pass_fds=(writing,), stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
    )
    os.close(writing)
    try:
        with os.fdopen(reading) as told:
            yield server, f":{told.readline().strip()}"
    finally:
        server.kill()
        server.wait(timeout=60)
