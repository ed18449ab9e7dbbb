"""What the graph view takes in a program of 5,000 operators and a trace of a million slices.

Prints only: `pytest tests/bench/test_bench_graph.py --benchmark-enable -s`. The floor beside
each figure is what cannot be saved: reading the edges once, or painting as many plain boxes and
lines.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from fractions import Fraction
from types import SimpleNamespace

import numpy as np
import pytest
from PySide6.QtCore import QCoreApplication, QPointF, QRectF
from PySide6.QtGui import QPainter, QPixmap

from tests.bench.test_bench_model import OPERATORS, program, trace
from tests.gui.fake_host import FakeHost
from viewer.analysis.cost.costs import Costs
from viewer.analysis.delegates.delegation import instances_of
from viewer.analysis.flows.dataflow import neighborhood
from viewer.analysis.links.linker import link
from viewer.gui.panels.graph.controls import GraphMode
from viewer.gui.panels.graph.measures import CostFigures
from viewer.gui.panels.graph.painting import GraphPicture, picture_svg
from viewer.gui.panels.graph.panel import GraphPanel
from viewer.gui.panels.graph.question import (
    GraphAnswer,
    GraphModel,
    GraphQuestion,
    graph_model,
    work_out,
)
from viewer.gui.panels.graph.view import GraphView
from viewer.gui.qt.background import Latest
from viewer.gui.session.session import Session
from viewer.program.dataflow import Dataflow, MethodFlow, joined
from viewer.program.program import Method, Program
from viewer.render.graph.layout import layered
from viewer.render.graph.nested_layout import GroupSizes
from viewer.workspace.workspace import Workspace

pytestmark = pytest.mark.nightly

__all__ = ["program", "trace"]  # fixtures


def told(what: str, work: Callable[[], object], rounds: int = 5) -> float:
    """Print the least CPU time of some calls in ms: other work on the machine is not in it."""
    times = []
    for _ in range(rounds):
        began = time.process_time()
        work()
        times.append(1e3 * (time.process_time() - began))
    print(f"\n{what}: {min(times):.2f} ms", end="")
    return min(times)


@pytest.fixture(scope="module")
def flow() -> MethodFlow:
    """Each takes the one before and one of up to 60 before that, as in a net with skips."""
    dice = np.random.default_rng(5)
    takers = np.arange(1, OPERATORS)
    far = np.maximum(takers - 1 - dice.integers(0, 60, len(takers)), 0)
    pairs = sorted({*zip(takers.tolist(), (takers - 1).tolist(), strict=True),
                    *zip(takers.tolist(), far.tolist(), strict=True)})  # fmt: skip
    return MethodFlow(tuple(c for c, _ in pairs), tuple(p for _, p in pairs))


def drawn(flow: Dataflow, hops: int):
    around = neighborhood(flow, [OPERATORS // 2], hops)
    sides = np.full(len(around), 190.0), np.full(len(around), 52.0)
    return around, layered(
        *sides, around.producer, around.consumer, around.operators, across=True
    )  # fmt: skip


def test_neighborhood_and_layout(flow):
    whole = joined(OPERATORS, [flow], {})
    told("floor: every edge read once", lambda: (whole.inputs.sum(), whole.outputs.sum()))
    for hops in (1, 2, 3, 6):
        around, _ = drawn(whole, hops)
        size = f"{len(around)} operators of {around.within}, {len(around.producer)} edges"
        told(f"{hops} hops, {size}", lambda hops=hops: neighborhood(whole, [2500], hops))
        told("  with its layout", lambda hops=hops: drawn(whole, hops))
    print()


def test_costs_of_all_operators(trace, program):
    table = link(trace, program)
    found = Costs(table).table()
    told("floor: every row looked at", lambda: sum(row.ticks for row in found.rows))
    shown = SimpleNamespace(table=table, axis=SimpleNamespace(ns_per_tick=Fraction(1)))
    answer = SimpleNamespace(table=found, open_trace=shown)
    told("the costs of operators", lambda: CostFigures(answer, OPERATORS).order)
    print()


def test_answers_on_the_gui_thread(trace, program, flow, qapp, qtbot):
    from tests.gui.dark_theme import dark_theme

    method = program.methods[0]
    whole = Program(
        program.path, "ETRecord", "1",
        (Method("forward", method.operators, method.handles, flow=flow),),
    )  # fmt: skip
    session = Session()
    panel = GraphPanel(FakeHost(session, dark_theme()))
    qtbot.addWidget(panel)
    panel.resize(800, 600)
    panel.show()
    panel.controls.modes.buttons[GraphMode.NEIGHBORHOOD].click()
    session.add([trace, whole])

    def is_done() -> bool:
        waits = [*panel.findChildren(Latest), *session.findChildren(Latest)]
        return bool(session.traces) and not any(latest.pending for latest in waits)

    qtbot.waitUntil(is_done, timeout=60_000)
    session.select_operators(0, (2500,))
    qtbot.waitUntil(lambda: panel.view.picture is not None and is_done(), timeout=10_000)

    def ask(operator: int) -> None:
        """From the question to the painted picture, as one who waits sees it."""
        old = panel.view.picture
        panel._seeds = (operator,)
        panel.refresh()
        while panel.view.picture is old:
            QCoreApplication.processEvents()
        panel.view.repaint()

    def repaint() -> None:
        """Paint all of it again, not the pixels of the frame before."""
        panel.view.marked = panel.view.marked ^ {0}
        panel.view.repaint()

    took = {}
    for hops in (1, 2, 6):
        panel.controls.hops.setValue(hops)
        qtbot.waitUntil(is_done, timeout=10_000)
        asked = iter(range(100, OPERATORS, 379))
        took[hops] = told(f"{hops} hops, asked, laid out and painted", lambda a=asked: ask(next(a)))
        nodes, lines = len(panel.view.picture.boxes), len(panel.answer.layout.edges)
        told(f"  a repaint of {nodes} operators and {lines} edges", repaint)
        told("  floor: as many boxes and lines", lambda n=nodes, m=lines: boxes(n, m))
    print()
    # The cost follows what is shown: 4 and 14 operators next to 200.
    assert max(took[1], took[2]) < took[6]


def test_a_whole_model(program, flow, qapp, qtbot):
    """5,000 operators in 1,000 modules, all of them open."""
    from tests.gui.dark_theme import dark_theme

    method = program.methods[0]
    whole = Program(
        program.path, "ETRecord", "1",
        (Method("forward", method.operators, method.handles, flow=flow),),
    )  # fmt: skip
    calls = tuple(call for call in instances_of(whole) if call.operators)
    space, sizes = Workspace(), GroupSizes()

    def ask(known: GraphModel | None, opened: frozenset[int] | None) -> GraphAnswer:
        return work_out(
            GraphQuestion(whole, None, calls, None, None, opened, sizes, space, None, known)
        )

    told("off the GUI thread: the first view", lambda: ask(None, None), 3)
    first = ask(None, None)
    print(f" for {len(first.layout.shown.boxes)} boxes", end="")
    everything = frozenset(np.flatnonzero(first.model.tree.is_group).tolist())
    made = []

    def open_all() -> None:
        made[:] = [ask(graph_model(whole, calls), everything)]

    told("all groups opened", open_all, 2)
    answer = made[0]
    told("  floor: every edge once", lambda: (flow.consumers.count(0), flow.producers.count(0)))
    told("one group closed again", lambda: ask(answer.model, everything - {2}))
    edges = len(answer.layout.edges)
    print(f"\n{len(answer.layout.shown.boxes)} boxes, {edges} lines", end="")
    view = GraphView(dark_theme())
    qtbot.addWidget(view)
    view.resize(1600, 900)
    told("on the GUI thread: the answer taken", lambda: view.show_picture(GraphPicture(answer)))
    canvas = QPixmap(view.size())
    scale = view.scale
    for factor in (1, 3, 10, 30):
        view.fit_all()
        view.zoom(factor)
        view.render(canvas)

        def pan() -> None:
            view.move_drawing(QPointF(-12, 7))
            view.render(canvas)

        def zoom() -> None:
            view.zoom(1.01)
            view.render(canvas)

        told(f"scale {scale * factor:.2f}: a frame while zooming", zoom)
        told("  a frame while panning", pan)
    told("floor: as many boxes", lambda: boxes(len(answer.layout.shown.boxes), 0))
    told("floor: a plain fill", lambda: canvas.fill(0))
    told("SVG of everything, off the GUI thread", lambda: picture_svg(
        GraphPicture(answer), frozenset(), dark_theme(), "", ""), 1)  # fmt: skip
    print()


def boxes(count: int, lines: int) -> None:
    """Plain rounded boxes and lines, painted as the view paints them."""
    canvas = QPixmap(800, 500)
    painter = QPainter(canvas)
    painter.setRenderHint(QPainter.RenderHint.Antialiasing)
    for at in range(count):
        painter.drawRoundedRect(QRectF(at % 20 * 40, at // 20 * 20, 36, 14), 4, 4)
    for at in range(lines):
        painter.drawLine(at % 20 * 40, 10, at % 37 * 20, 480)
    painter.end()
