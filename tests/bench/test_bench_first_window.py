"""How long a user waits for the first window, beside a bare window of Qt.

python -m pytest tests/bench/test_bench_first_window.py --benchmark-enable -s

Wall ms from the start of a process to the end of its first painting, the second of two starts and
more, since the first one writes bytecode. Nothing is asserted about time.
"""

import os
import statistics
import subprocess
import sys
import time

import pytest

from tests.builders.bench_sizes import rounds

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
# Painted: the loop has gone through the paint event, and comes to what was put behind it.
SHOWN = """
from PySide6.QtCore import QEvent, QObject, QTimer
class Painted(QObject):
    def eventFilter(self, watched, event):
        if event.type() == QEvent.Type.UpdateRequest and watched is window:
            QTimer.singleShot(0, told)
        return False
def told():
    import os, time
    print(time.time_ns(), flush=True)
    os._exit(0)
filter = Painted()
window.installEventFilter(filter)
window.resize(1600, 900)
window.show()
app.exec()
"""


def started(code: str, folder: str) -> float:
    """Seconds from the start of a process to its first window."""
    environment = {k: v for k, v in os.environ.items() if k != "PYTHONDONTWRITEBYTECODE"}
    environment |= {"PYTHONPYCACHEPREFIX": folder, "XDG_CONFIG_HOME": folder}
    before = time.time_ns()
    done = subprocess.run(
        [sys.executable, "-c", code + SHOWN],
        env=environment, capture_output=True, text=True, timeout=60, check=True,
    )  # fmt: skip
    return (int(done.stdout.split()[-1]) - before) / 1e9


def test_the_first_window_beside_a_bare_one(tmp_path):
    taken: dict[str, list[float]] = {"bare Qt window": [], "Opscope": []}
    for _ in range(STARTS + 1):
        for what, code in (("bare Qt window", FLOOR), ("Opscope", OPSCOPE)):
            taken[what].append(started(code, str(tmp_path)))
    print()
    for what, times in taken.items():
        warm = times[1:]
        print(f"{what}: median {statistics.median(warm) * 1e3:.0f} ms, "
              f"least {min(warm) * 1e3:.0f} ms, most {max(warm) * 1e3:.0f} ms")  # fmt: skip
    assert len(taken["Opscope"]) == STARTS + 1
