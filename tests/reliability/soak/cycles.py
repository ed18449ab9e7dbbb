"""Opens and closes the same files again and again in one window: nothing may be left each time.

The other soak compares in percent, so that one widget more for each cycle is not seen in half a
minute. Here, counts must be the same. Memory may grow by 2 % over hundreds of cycles.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from typing import TYPE_CHECKING

from tests.reliability.campaign import Finding, Job, Options, Outcome
from tests.reliability.programs import DUMP, RECORD, ROOT

if TYPE_CHECKING:
    from tests.reliability.soak.figures import Figures
    from viewer.gui.window.main_window import MainWindow

_LONG, _SHORT = 500, 16
_WARM = 8  # cycles: what is made on first use
# Cycles at the end, of which the smallest figures count.
_LAST = 4
# Percent; in a short run, the allocator still grows.
_LONG_MEMORY, _SHORT_MEMORY = 2, 10
_WAIT_MS, _IDLE, _LONGEST_S = 30, 3, 60.0
# With panels of programs, of logged values and of plain traces.
_SETS = (
    (DUMP, RECORD),
    (ROOT / "tests/data/table_csv/two_threads.csv",),
    (ROOT / "tests/data/numbers/portable.etdp", ROOT / "tests/data/numbers/portable.etrecord"),
)


def jobs(options: Options) -> list[Job]:
    """Return the job of cycles."""
    count = _LONG if options.is_long else _SHORT
    return [Job("soak", "open and close", check, (count,), 3600.0)]


def check(options: Options, count: int) -> Outcome:
    """Open and close each set of files in turn."""
    os.environ["QT_QPA_PLATFORM"] = "offscreen"
    from tests.reliability.soak.figures import figures, largest, smallest
    from viewer.gui.app.application import window_to_draw

    early: list[Figures] = []
    late: list[Figures] = []
    half = (_WARM + count) // 2
    with window_to_draw([], None, size=(1400, 900), theme="light", failures=[]) as window:
        for number in range(count):
            _cycle(window, [str(path) for path in _SETS[number % len(_SETS)]])
            if number < _WARM:
                continue
            # Figures list classes: those of all cycles would take megabytes themselves.
            if number < half:
                early = [*early[:1], largest([*early[-1:], figures()])]
            elif number >= count - _LAST:
                late.append(figures())
    first, before = early[0], early[-1]
    # What is only there for a moment, such as an autosave, is not there each time.
    last = smallest(late)
    memory = _LONG_MEMORY if options.is_long else _SHORT_MEMORY
    findings = [Finding(what) for what in last.grown(before, memory, 0)]
    return Outcome(
        count,
        tuple(findings),
        f"{first.memory >> 20} → {last.memory >> 20} MB, {first.widgets} → {last.widgets} widgets, "
        f"{first.threads} → {last.threads} threads, {first.descriptors} → {last.descriptors} fds",
    )


def _cycle(window: MainWindow, paths: list[str]) -> None:
    session = window.controller.session
    window.open(paths)
    _wait(window, lambda: len(session.workspace.paths) == len(paths))
    session.close_all()
    _wait(window, lambda: session.is_empty)


def _wait(window: MainWindow, is_done: Callable[[], bool]) -> None:
    """Wait until something is done, and nothing is running for a while."""
    from PySide6.QtTest import QTest

    controller = window.controller
    until = time.monotonic() + _LONGEST_S
    idle = 0
    while idle < _IDLE and time.monotonic() < until:
        QTest.qWait(_WAIT_MS)
        window.settle()
        is_idle = is_done() and not controller.opener.is_busy and not controller.work.is_busy
        idle = idle + 1 if is_idle else 0
