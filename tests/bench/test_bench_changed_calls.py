"""Two traces compared by call path, and frames of the differential flame graph.

Prints only: `OPSCOPE_BENCH_SLICES=1000000 pytest tests/bench/test_bench_changed_calls.py
--benchmark-enable -s`. A thread works out the paths; frames are wall ms on the GUI thread, next to
those of the flame graph of one of the traces. The floor is to fill an image of this size and draw
it.
"""

from __future__ import annotations

import pytest
from PySide6.QtCore import QPointF

from tests.bench.test_bench_flame import HEIGHT, WIDTH, answered, told
from tests.builders import many_paths
from tests.gui.dark_theme import dark_theme
from viewer.gui.panels.calls.answer import CallMode, CallTrees
from viewer.gui.panels.calls.changes import ChangesQuestion, work_out_changes
from viewer.gui.panels.calls.flame_view import FlameView
from viewer.gui.panels.calls.panel import call_table
from viewer.gui.panels.calls.texts import CallTexts, ChangeTexts, NodeTexts
from viewer.gui.qt.widgets.trees import TreeModel
from viewer.model.inference_views import Inferences
from viewer.view.open_comparison import OpenComparison
from viewer.view.open_trace import views_of
from viewer.view.state import ChosenArm, ComparedArms
from viewer.workspace.workspace import Workspace

pytestmark = pytest.mark.nightly


@pytest.fixture(scope="module", params=[False, True], ids=["few paths", "many paths"])
def space(request: pytest.FixtureRequest) -> Workspace:
    """Two traces; of many paths, every thread has its own."""
    made = Workspace()
    for path, factor in (("/bench/a.csv", 1.0), ("/bench/b.csv", 1.1)):
        made.add(many_paths.trace(path, factor, apart=request.param))
    for trace in made.traces:
        made.links(trace)
    return made


def opened(space: Workspace) -> OpenComparison:
    a, b = (trace.path for trace in space.traces)
    found = OpenComparison(space, ComparedArms(ChosenArm((a,)), ChosenArm((b,))))
    _ = found.calls  # what the window has computed before
    return found


def frames(view: FlameView, what: str) -> None:
    def zoomed(factor: float) -> None:
        view.zoom(factor)
        view.viewport().grab()

    def hovered(x: int) -> None:
        view._point(QPointF(x, 60))
        view.viewport().grab()

    told(f"{what}: frame while zooming in", lambda: zoomed(1.25), 30)
    told(f"{what}: frame while zooming out", lambda: zoomed(0.8), 30)
    view.show_all()
    at = iter(range(100, 100000, 7))
    told(f"{what}: frame while hovering", lambda: hovered(next(at) % WIDTH), 60)


def test_two_traces_by_call_path(space, qtbot):
    slices = sum(len(trace.slices) for trace in space.traces)
    found = told("paths compared, in a thread", lambda: opened(space).paths("name"), 3)
    print(f"\n{slices:,} slices, {len(found):,} paths", end="")
    question = ChangesQuestion(opened(space), CallMode.TOP_DOWN, ())
    first = told("first answer, in a thread", lambda: work_out_changes(question), 1)
    answer = told("next answer, in a thread", lambda: work_out_changes(question), 3)
    assert len(answer.table) == len(first.table) == len(found)
    theme = dark_theme()
    view = FlameView(theme)
    qtbot.addWidget(view)
    view.resize(WIDTH, HEIGHT)
    view.show()
    trace = space.traces[0]
    shown = CallTrees(views_of(space, {Inferences.AS_RUN}, {})[trace, Inferences.AS_RUN])
    costs = CallTexts(answered(shown))
    view.show_texts(costs)
    frames(view, "costs")
    texts = ChangeTexts(answer)
    told("graph takes changes", lambda: view.show_texts(texts))
    frames(view, "changes")
    model = TreeModel[NodeTexts]()
    table = call_table(model, theme)
    qtbot.addWidget(table)
    model.setParent(table)
    table.resize(900, HEIGHT)
    table.show()
    told("table takes changes", lambda: (table.show_rows(texts), table.open_first()))
    column = iter(range(1000))
    told("table sorts", lambda: model.sort(next(column) % 5))
    print()
