"""How long a user waits for the first window, beside a bare window of Qt.

python -m pytest tests/bench/test_bench_first_window.py --benchmark-enable -s

Wall and CPU ms from the start of a process to the end of its first painting, the second of two
starts and more, since the first one writes bytecode, and the modules that it has imported. Opscope
is started without files, and with a sample until its timeline is painted. Nothing is asserted about
time.
"""

import os
import statistics
import subprocess
import sys
import time

import pytest

from tests.builders.bench_sizes import rounds
from viewer.resources import SAMPLES

pytestmark = pytest.mark.nightly

STARTS = rounds(7)
FLOOR = """
from PySide6.QtWidgets import QApplication, QMainWindow
app = QApplication([])
window = QMainWindow()
"""
OPSCOPE = """
import viewer.cli
from viewer.gui.app.application import _application
from viewer.gui.window.main_window import MainWindow
from viewer.gui.qt.settings import Settings
from viewer.gui.qt.theme.theme import Theme
app = _application()
window = MainWindow(Theme(app, "dark"), Settings())
"""
SAMPLE = f"window.open([{str(SAMPLES[0].paths()[0])!r}])\n"
# Painted: the loop has gone through the paint event, and comes to what was put behind it.
SHOWN = """
from PySide6.QtCore import QEvent, QObject, QTimer
class Painted(QObject):
    def eventFilter(self, watched, event):
        if event.type() == QEvent.Type.UpdateRequest and watched is window and is_shown():
            QTimer.singleShot(0, told)
        return False
def is_shown():
    if not ASKED:
        return True
    controller = window._controller
    return controller and controller.timeline.isVisible() and window.updatesEnabled()
def told():
    import os, sys, time
    print(time.time_ns(), time.process_time(), len(sys.modules), flush=True)
    os._exit(0)
filter = Painted()
window.installEventFilter(filter)
window.resize(1600, 900)
window.show()
app.exec()
"""


def started(code: str, asked: str, folder: str) -> tuple[float, float, int]:
    """Seconds from the start of a process to its first window, those of CPU, and its modules."""
    environment = {k: v for k, v in os.environ.items() if k != "PYTHONDONTWRITEBYTECODE"}
    environment |= {"PYTHONPYCACHEPREFIX": folder, "XDG_CONFIG_HOME": folder}
    before = time.time_ns()
    done = subprocess.run(
        [sys.executable, "-c", f"{code}{asked}ASKED = {bool(asked)}\n{SHOWN}"],
        env=environment, capture_output=True, text=True, timeout=60, check=True,
    )  # fmt: skip
    end, cpu, modules = done.stdout.split()[-3:]
    return (int(end) - before) / 1e9, float(cpu), int(modules)


def test_the_first_window_beside_a_bare_one(tmp_path):
    starts = {
        "bare Qt window": (FLOOR, ""),
        "Opscope": (OPSCOPE, ""),
        "a sample": (OPSCOPE, SAMPLE),
    }
    taken: dict[str, list[tuple[float, float, int]]] = {what: [] for what in starts}
    for _ in range(STARTS + 1):
        for what, (code, asked) in starts.items():
            taken[what].append(started(code, asked, str(tmp_path)))
    print()
    for what, times in taken.items():
        warm, cpu, modules = zip(*times[1:], strict=True)
        print(f"{what}: median {statistics.median(warm) * 1e3:.0f} ms, "
              f"least {min(warm) * 1e3:.0f} ms, most {max(warm) * 1e3:.0f} ms; "
              f"CPU median {statistics.median(cpu) * 1e3:.0f} ms, "
              f"least {min(cpu) * 1e3:.0f} ms; {modules[-1]} modules")  # fmt: skip
    assert len(taken["Opscope"]) == STARTS + 1
