"""What the panel of modules takes for 5,000 operators in 1,000 modules and a million slices.

Prints only:
`OPSCOPE_BENCH_RUNS=100 pytest tests/bench/test_bench_model.py --benchmark-enable -s`. The figures
are worked out off the GUI thread; what is told as "on the GUI thread" is what a user waits for.
"""

from __future__ import annotations

import time
from collections.abc import Callable

import pytest
from PySide6.QtCore import QCoreApplication, Qt

from tests.builders import many_operators
from tests.builders.bench_sizes import rounds
from tests.builders.many_operators import OPERATORS
from tests.gui.fake_host import FakeHost
from viewer.analysis.cost.costs import Costs
from viewer.analysis.cost.source_costs import module_costs, run_medians
from viewer.analysis.links.linker import link
from viewer.gui.panels.model.panel import ModelPanel
from viewer.gui.panels.model.table import RowKind
from viewer.gui.qt.background import Latest
from viewer.gui.session.session import Session
from viewer.model.trace import Trace
from viewer.program.module_tree import module_tree
from viewer.program.program import Program

pytestmark = pytest.mark.nightly


def told(what: str, work: Callable[[], object], times: int = 3) -> None:
    """Print the least CPU time of some calls: other work on the machine is not in it."""
    took = []
    for _ in range(rounds(times)):
        began = time.process_time()
        work()
        took.append(time.process_time() - began)
    print(f"\n{what}: {1e3 * min(took):.1f} ms", end="")


@pytest.fixture(scope="module")
def program() -> Program:
    return many_operators.program()


@pytest.fixture(scope="module")
def trace() -> Trace:
    return many_operators.trace()


def test_figures_off_the_gui_thread(trace, program):
    table = link(trace, program)
    print(f"\n{len(trace.slices)} slices, {len(table.sets)} sets", end="")
    costs = Costs(table)
    tree = module_tree(program)
    told("the tree", lambda: module_tree(program))
    told("the first table of costs", lambda: Costs(table).table(), 1)
    made = costs.table()
    told("its modules", lambda: module_costs(tree, made))
    told("the medians of all runs", lambda: run_medians(tree, table, costs))
    found = module_costs(tree, made)
    assert int(found.total[0]) + made.without_operator == made.whole
    assert int(found.shared.sum()) > 0


def test_answers_on_the_gui_thread(trace, program, qapp, qtbot):
    from tests.gui.dark_theme import dark_theme

    session = Session()
    panel = ModelPanel(FakeHost(session, dark_theme()))
    qtbot.addWidget(panel)
    panel.resize(900, 600)
    panel.show()
    session.add([trace, program])

    def is_done() -> bool:
        waits = [*panel.findChildren(Latest), *session.findChildren(Latest)]
        return bool(session.traces) and panel.model.rows is not None and not any(
            latest.pending for latest in waits
        )  # fmt: skip

    qtbot.waitUntil(is_done, timeout=60_000)
    view, model = panel.view, panel.model

    def paint() -> None:
        QCoreApplication.processEvents()
        view.viewport().repaint()

    def again(work: Callable[[], object]) -> Callable[[], None]:
        return lambda: (work(), paint())  # type: ignore[func-returns-value, return-value]

    told("the answer is shown", again(lambda: panel.show_answer(panel.answer)))
    told("all 1,000 modules are opened", again(lambda: view.open_below(0)), 1)
    told(
        "the answer is shown with all of them open", again(lambda: panel.show_answer(panel.answer))
    )
    told("a repaint", paint)
    order = Qt.SortOrder
    told("sorted by total", again(lambda: view.sortByColumn(1, order.DescendingOrder)), 1)
    told("sorted by name", again(lambda: view.sortByColumn(0, order.AscendingOrder)), 1)
    told("filtered", again(lambda: panel.filter.setText("blocks.7 part1")), 1)
    told("filtered, and nearly all of it left", again(lambda: panel.filter.setText("lin")), 1)
    told("the filter cleared", again(panel.filter.clear), 1)

    def select() -> None:
        select.at = (select.at + 1237) % OPERATORS  # type: ignore[attr-defined]
        session.select_operators(0, (select.at,))  # type: ignore[attr-defined]
        session.clear_selection()

    select.at = 0  # type: ignore[attr-defined]
    told("an operator is selected on the timeline and marked", again(select))
    rows = model.rows
    one = rows.items[rows.find((2001,))]
    told("the slices of an operator", lambda: rows.items_below(one.id))
    assert rows.items[rows.below(one.id)[0]].kind is RowKind.SLICE
    block = rows.items[rows.row_of_module(2)]
    told("a block of 100 operators is chosen", lambda: panel.view.chosen.emit(block.id))
    told("all of the model is chosen", lambda: panel.view.chosen.emit(0))
    print()
