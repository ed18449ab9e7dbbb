"""Opens a file in a window, and runs it until nothing computes in the background any more.

`python -m tests.bench.opened_window FILE FOLDER [wheel]` prints a `Settled` as JSON. FOLDER is the
home of the process. With "wheel", the timeline is zoomed meanwhile, which costs frames.
"""

from __future__ import annotations

import json
import os
import sys
import time
from dataclasses import asdict, dataclass, field
from pathlib import Path

_POLLS_AFTER = 0.02  # seconds: looking for tasks costs processor time too
_QUIET = 20  # polls in a row without a task
_WHEEL_AFTER = 0.05  # seconds from one turn of the wheel to the next
_GIVES_UP_AFTER = 300.0


@dataclass
class Settled:
    """What opening took; CPU in seconds of the process, memory in bytes, turns in seconds.

    first: when the file was there. turns: from each turn of the wheel to its frame.
    """

    slices: int = 0
    first_cpu: float = 0.0
    first_held: int = 0
    cpu: float = 0.0
    wall: float = 0.0
    held: int = 0
    peak: int = 0
    turns: list[float] = field(default_factory=list)


def memory(line: str) -> int:
    """A size of /proc/self/status, such as VmRSS."""
    return int(Path("/proc/self/status").read_text().partition(f"{line}:")[2].split()[0]) * 1024


def prepare(folder: Path):
    """A window of the usual size that has been shown, with a home of its own."""
    os.environ.setdefault("QT_QPA_PLATFORM", "offscreen")
    for name in ("HOME", "XDG_CONFIG_HOME", "XDG_CACHE_HOME", "XDG_DATA_HOME", "XDG_STATE_HOME"):
        os.environ[name] = str(folder)
    from PySide6.QtCore import QCoreApplication

    from viewer.gui.app import application
    from viewer.gui.qt.settings import Settings
    from viewer.gui.qt.theme.theme import Theme
    from viewer.gui.window.main_window import MainWindow

    sys.setswitchinterval(application._GIVE_UP_AFTER)
    window = MainWindow(Theme(application._application(), "dark"), Settings())
    window.resize(1600, 900)
    window.show()
    assert window.controller is not None
    QCoreApplication.processEvents()
    return window


def settle(window, path: Path, *, wheel: bool = False) -> Settled:
    """Open a file, and process events until all background tasks have been quiet for a while."""
    from PySide6.QtCore import QCoreApplication, QThread

    settled, cpu, start = Settled(), time.process_time(), time.perf_counter()
    window.open([str(path)])
    session, quiet, turned = window.panels.session, 0, 0.0
    while quiet < _QUIET and time.perf_counter() - start < _GIVES_UP_AFTER:
        QCoreApplication.processEvents()
        is_busy = any(task.pending for task in window.background_tasks())
        if session.traces and not settled.slices:
            settled.slices = len(session.traces[0].trace.slices)
            settled.first_cpu, settled.first_held = time.process_time() - cpu, memory("VmRSS")
        quiet = 0 if is_busy or not settled.slices else quiet + 1
        if wheel and is_busy and settled.slices and time.perf_counter() - turned > _WHEEL_AFTER:
            settled.turns.append(_turn(window, len(settled.turns)))
            turned = time.perf_counter()
        QThread.msleep(round(_POLLS_AFTER * 1000))
    settled.cpu, settled.wall = time.process_time() - cpu, time.perf_counter() - start
    settled.held, settled.peak = memory("VmRSS"), memory("VmHWM")
    return settled


def _turn(window, number: int) -> float:
    """Turn the wheel over the timeline, in and out again; seconds until the frame is painted."""
    from PySide6.QtCore import QCoreApplication, QPoint, QPointF, Qt
    from PySide6.QtGui import QWheelEvent

    viewport = window.controller.timeline.view.viewport()
    center = QPointF(viewport.width() / 2, viewport.height() / 2)
    angle = QPoint(0, 120 if number % 20 < 10 else -120)
    event = QWheelEvent(
        center, viewport.mapToGlobal(center), QPoint(), angle, Qt.MouseButton.NoButton,
        Qt.KeyboardModifier.ControlModifier, Qt.ScrollPhase.NoScrollPhase, False,
    )  # fmt: skip
    start = time.perf_counter()
    QCoreApplication.sendEvent(viewport, event)
    QCoreApplication.processEvents()
    return time.perf_counter() - start


if __name__ == "__main__":
    opened = settle(prepare(Path(sys.argv[2])), Path(sys.argv[1]), wheel="wheel" in sys.argv)
    print(json.dumps(asdict(opened)), flush=True)
    os._exit(0)  # what a window does when it closes is not measured
