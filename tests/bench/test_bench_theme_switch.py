"""How long a switch between light and dark blocks the window, beside one full repaint of it.

Run with `pytest tests/bench/test_bench_theme_switch.py --benchmark-enable -s`: a sample whose
panels are all full, and a table of a million rows. Prints only; nothing is asserted about time.
"""

import statistics
import time

import pytest
import shiboken6
from PySide6.QtWidgets import QApplication

from tests.builders import many_slices
from tests.builders.bench_sizes import rounds, size
from tests.gui.events import SAMPLE, put_away
from viewer.gui.app.application import window_to_draw

pytestmark = pytest.mark.nightly

SIZE = 1920, 1080
ROWS = size(1_000_000, 20_000)


@pytest.fixture(params=["attention sample", f"{ROWS:,} rows"])
def window(qapp, request, tmp_path):
    paths = SAMPLE["attention_xnnpack"].paths()
    if request.param != "attention sample":
        path = tmp_path / "rows.csv"
        many_slices.write_csv(path, ROWS)
        paths = [str(path)]
    with window_to_draw(paths, None, size=SIZE, theme="dark", failures=[]) as made:
        theme = made.theme
        yield made
    put_away(made)
    shiboken6.delete(theme)  # each drawing makes one


def test_switch_and_full_repaint(benchmark, window, request, capsys):
    switches, walls, repaints = [], [], []

    def switch():
        window.theme.set_choice("light" if window.theme.dark else "dark")
        window.repaint()
        QApplication.processEvents()

    def measured():
        began, wall = time.process_time(), time.perf_counter()
        switch()
        between, walls_end = time.process_time(), time.perf_counter()
        window.repaint()
        switches.append(between - began)
        walls.append(walls_end - wall)
        repaints.append(time.process_time() - between)

    was_dark = window.theme.dark
    benchmark.pedantic(measured, rounds=rounds(10))
    assert window.theme.dark is (was_dark if len(switches) % 2 == 0 else not was_dark)
    with capsys.disabled():
        print(
            f"\n{request.node.callspec.id}: a switch takes {statistics.median(switches) * 1e3:.0f} "
            f"ms of CPU (least {min(switches) * 1e3:.0f}), {statistics.median(walls) * 1e3:.0f} ms "
            f"in all; one repaint {statistics.median(repaints) * 1e3:.0f} ms"
        )
