"""How long a switch between light and dark blocks the window, beside one full repaint of it.

Run with `pytest tests/bench/test_bench_theme_switch.py --benchmark-enable -s`. Prints only; nothing
is asserted about time.
"""

import time

import pytest
from PySide6.QtWidgets import QApplication

from tests.builders.bench_sizes import rounds
from tests.gui.events import SAMPLE
from viewer.gui.app.application import window_to_draw

SIZE = 1920, 1080


@pytest.fixture
def window(qapp):
    paths = SAMPLE["attention_xnnpack"].paths()
    with window_to_draw(paths, None, size=SIZE, theme="dark", failures=[]) as made:
        yield made


def test_switch_and_full_repaint(benchmark, window, capsys):
    repaints = []

    def switch():
        window.theme.set_choice("light" if window.theme.dark else "dark")
        window.repaint()
        QApplication.processEvents()

    def measured():
        began = time.process_time()
        switch()
        between = time.process_time()
        window.repaint()
        repaints.append(time.process_time() - between)
        return between - began

    was_dark = window.theme.dark
    switches = []
    benchmark.pedantic(lambda: switches.append(measured()), rounds=rounds(10))
    assert window.theme.dark is (was_dark if len(switches) % 2 == 0 else not was_dark)
    middle = len(switches) // 2
    with capsys.disabled():
        print(
            f"\na switch takes {sorted(switches)[middle] * 1e3:.0f} ms of CPU, "
            f"one repaint {sorted(repaints)[middle] * 1e3:.0f} ms"
        )
