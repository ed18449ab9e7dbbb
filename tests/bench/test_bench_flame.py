"""Frames of a flame graph of 100,000 nodes, and the way from the call tree to the first frame.

Prints only: `OPSCOPE_BENCH_SLICES=10000000 pytest tests/bench/test_bench_flame.py
--benchmark-enable -s`. Milliseconds of the GUI thread, by the clock and of the CPU, but for the
answer, which a thread works out. The floor of a frame is filling an image of its size and copying
it to the widget.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from PySide6.QtCore import QPointF
from PySide6.QtGui import QImage, QPainter, QPixmap

from tests.builders import many_paths
from tests.builders.bench_sizes import rounds
from tests.gui.dark_theme import dark_theme
from viewer.gui.panels.calls.answer import (
    CallMode,
    CallsAnswer,
    CallsQuestion,
    CallTrees,
    matches_of,
    work_out,
)
from viewer.gui.panels.calls.flame_view import FlameView
from viewer.gui.panels.calls.panel import call_table, show_matches
from viewer.gui.panels.calls.texts import CallTexts, NodeTexts
from viewer.gui.qt.widgets.trees import TreeModel
from viewer.model.figures import WHOLE, TimeScope
from viewer.model.inference_views import Inferences
from viewer.view.open_trace import views_of
from viewer.workspace.workspace import Workspace

pytestmark = pytest.mark.nightly

WIDTH, HEIGHT = 1920, 600


def told(what: str, work: Callable[[], Any], times: int = 9) -> Any:
    """Print the median and the longest time of some calls; returns the last answer."""
    took, cpu = [], []
    for _ in range(rounds(times)):
        start, busy = time.perf_counter(), time.process_time()
        answer = work()
        took.append(1000 * (time.perf_counter() - start))
        cpu.append(1000 * (time.process_time() - busy))
    middle = len(took) // 2
    print(f"\n{what}: {sorted(took)[middle]:.1f} ms, CPU {sorted(cpu)[middle]:.1f} ms, ", end="")
    print(f"at most {max(took):.1f} ms", end="")
    return answer


@pytest.fixture(scope="module")
def trees() -> CallTrees:
    space, trace = Workspace(), many_paths.trace()
    space.add(trace)
    return CallTrees(views_of(space, {Inferences.AS_RUN}, {})[trace, Inferences.AS_RUN])


def answered(
    trees: CallTrees, mode: CallMode = CallMode.TOP_DOWN, scope: TimeScope = WHOLE
) -> CallsAnswer:
    return work_out(CallsQuestion(trees, scope, mode, (), "name", None))


def test_frames_of_a_large_tree(trees, qtbot):
    theme = dark_theme()
    first = told("first answer", lambda: answered(trees), 1)
    trace = trees.shown.trace
    span = TimeScope(ticks=(trace.start + 1000, trace.end - 1000))
    told("answer for a range", lambda: answered(trees, scope=span), 3)
    inverted = told("bottom-up", lambda: answered(trees, CallMode.BOTTOM_UP), 3)
    print(f"\n{len(trace.slices)} slices, {len(first.table)} nodes", end="")
    print(f", {len(inverted.table)} bottom-up", end="")
    view = FlameView(theme)
    qtbot.addWidget(view)
    view.resize(WIDTH, HEIGHT)
    view.show()
    texts = CallTexts(first)
    told("graph takes an answer", lambda: view.show_texts(texts))
    view.grab()

    def zoomed(factor: float) -> None:
        view.zoom(factor)
        view.viewport().grab()

    def hovered(x: int) -> None:
        view._point(QPointF(x, 60))
        view.viewport().grab()

    told("frame while zooming in", lambda: zoomed(1.25), 30)
    told("frame while zooming out", lambda: zoomed(0.8), 30)
    view.show_all()
    at = iter(range(100, 100000, 7))
    told("frame while hovering", lambda: hovered(next(at) % WIDTH), 60)
    answer = texts.answer
    matches = told("search, in a thread", lambda: matches_of(answer, "part1"))
    view.show_hits(matches.boxes)
    told("frame of a search, zooming", lambda: zoomed(1.25), 20)

    model = TreeModel[NodeTexts]()
    table = call_table(model, theme)
    qtbot.addWidget(table)
    model.setParent(table)
    table.resize(900, HEIGHT)
    table.show()
    told("table takes an answer", lambda: (table.show_rows(texts), table.open_first()))
    told("table of a search", lambda: show_matches(table, texts, matches))
    table.show_rows(texts)
    column = iter(range(1000))
    told("table sorts", lambda: model.sort(next(column) % 5))
    deepest = np.flatnonzero(answer.table.depth == answer.table.depth.max())
    marks = iter(deepest[:: max(len(deepest) // 40, 1)].tolist())
    told("table marks a deep row", lambda: table.mark(next(marks)))

    pixels = np.empty((HEIGHT, WIDTH), np.uint32)
    target = QPixmap(WIDTH, HEIGHT)

    def filled() -> None:
        pixels[:] = 0xFF14161A
        painter = QPainter(target)
        painter.drawImage(
            0, 0, QImage(pixels.data, WIDTH, HEIGHT, WIDTH * 4, QImage.Format.Format_RGB32)
        )
        painter.end()
        view.viewport().rect()

    told("floor: an image of this size, filled and drawn", filled, 30)
    print()
    assert first.whole == answer.whole
