"""A chart of inferences, made and painted, and its frames while zooming.

python -m pytest tests/bench/test_bench_charts.py --benchmark-enable -s

Prints CPU milliseconds; nothing is asserted about time. The peer is pyqtgraph's `PlotWidget` with
the same bars, which has menus that nobody opens.
"""

import time

import numpy as np
import pyqtgraph as pg
import pytest

from tests.builders.bench_sizes import rounds
from tests.gui.dark_theme import dark_theme
from viewer.gui.panels.base.chart import InferenceChart

pytestmark = pytest.mark.nightly


def cpu_ms(work, times):
    """Return the CPU time of one of some calls."""
    work()
    began = time.process_time()
    for _ in range(times):
        work()
    return 1000 * (time.process_time() - began) / times


def test_charts_are_made_and_zoomed(qapp, qtbot):
    theme, widgets = dark_theme(), []

    def chart(count):
        ns = (1_000_000 + np.arange(count) % 7 * 1000).tolist()
        made = InferenceChart(ns, [""] * count, [0] * count, 3, theme)
        return painted(made)

    def peer():
        made = pg.PlotWidget()
        made.addItem(pg.BarGraphItem(x=np.arange(200), height=np.arange(200) % 7, width=0.8))
        return painted(made)

    def painted(widget):
        widgets.append(widget)
        widget.resize(340, 84)
        widget.grab()
        return widget

    zoomed = chart(5000)
    qtbot.addWidget(zoomed)

    def zoom():
        zoomed.zoom(1.25)
        zoomed.grab()
        if zoomed._range[1] - zoomed._range[0] < 20:
            zoomed.show_all()

    made = [cpu_ms(lambda count=count: chart(count), rounds(20)) for count in (20, 200, 5000)]
    print(f"\n20, 200 and 5,000 inferences made and painted: {made[0]:.1f}, {made[1]:.1f} and "
          f"{made[2]:.1f} ms, a frame while zooming {cpu_ms(zoom, rounds(40)):.1f} ms; "
          f"PlotWidget {cpu_ms(peer, rounds(20)):.1f} ms")  # fmt: skip
    for widget in widgets[1:]:
        widget.close()
    assert zoomed.weights.size == 5000
