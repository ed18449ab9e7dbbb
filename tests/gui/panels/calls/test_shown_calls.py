"""Children of nodes in an order, which have a row, and what is held of nodes."""

from dataclasses import fields, is_dataclass

import numpy as np
import pytest

from tests.builders import many_slices
from tests.builders.call_traces import trace_of
from tests.gui.panels.calls.conftest import SLICES
from viewer.analysis.calls.call_table import CallTable
from viewer.analysis.calls.call_tree import CallTree
from viewer.analysis.links.linker import unlinked
from viewer.gui.panels.calls.answer import CallMode, CallsAnswer, CallsQuestion, CallTrees, work_out
from viewer.gui.panels.calls.shown_calls import CallRows, PlacedCalls
from viewer.model.figures import WHOLE
from viewer.model.inference_views import Inferences
from viewer.model.trace import Trace
from viewer.render.flame_graph.boxes import FlameLayout
from viewer.view.open_trace import views_of
from viewer.workspace.workspace import Workspace


@pytest.fixture
def table() -> CallTable:
    """main, load, run, conv, copy, copy."""
    return CallTree(unlinked(trace_of(*SLICES))).table().from_depth(2)


def names(table: CallTable, rows: CallRows, node: int) -> list[str]:
    return [table.text(child) for child in rows.below(node).tolist()]


def test_children_are_in_the_order_of_the_table(table):
    rows = CallRows(table)
    assert names(table, rows, -1) == ["main"]
    assert names(table, rows, 0) == ["load", "run"]
    assert [rows.row(node) for node in range(6)] == [0, 0, 1, 0, 0, 1]
    assert len(rows.below(2)) == 2
    assert len(rows.below(5)) == 0


def test_children_are_sorted_by_a_rank(table):
    rows = CallRows(table, -table.total)
    assert names(table, rows, 0) == ["run", "load"]
    assert [rows.row(node) for node in range(6)] == [0, 1, 0, 0, 0, 1]


def test_what_a_search_leaves_out_has_no_row(table):
    rows = CallRows(table, keep=table.with_parents(table.matching("conv")))
    assert names(table, rows, 0) == ["run"]
    assert [rows.row(node) for node in range(6)] == [0, -1, 0, 0, -1, -1]
    assert names(table, CallRows(table, keep=np.zeros(6, bool)), -1) == []


def answered(trace: Trace) -> CallsAnswer:
    space = Workspace()
    space.add(trace)
    trees = CallTrees(views_of(space, {Inferences.AS_RUN}, {})[trace, Inferences.AS_RUN])
    return work_out(CallsQuestion(trees, WHOLE, CallMode.TOP_DOWN, (), "name", None))


def arrays_in(value: object, found: dict[int, np.ndarray]) -> dict[int, np.ndarray]:
    """The arrays of dataclasses and what they contain, by the identity of their memory."""
    if isinstance(value, np.ndarray):
        whole = value if value.base is None else value.base
        found[id(whole)] = whole
    elif is_dataclass(value):
        for field in fields(value):
            arrays_in(getattr(value, field.name), found)
    elif isinstance(value, dict | tuple):
        for each in value.values() if isinstance(value, dict) else value:
            arrays_in(each, found)
    return found


@pytest.mark.slow
def test_a_node_and_its_box_are_held_in_few_bytes():
    answer = answered(many_slices.trace(30_000))
    assert answer.layout.is_exact
    held = arrays_in(answer.table, {})
    arrays_in(answer.raster.drawn, held)
    arrays_in(answer.raster.mips, held)
    nodes = len(answer.table)
    assert nodes > 25_000
    assert sum(array.nbytes for array in held.values()) < 42 * nodes


@pytest.mark.slow
@pytest.mark.parametrize("given", [False, True])
def test_what_is_not_held_is_that_of_the_table(given):
    answer = answered(many_slices.trace(3000))
    tree = answer.tree.table()
    table = tree.sorted_by(tree.total)
    held = PlacedCalls.of(table, answer.layout) if given else answer.table
    assert answer.table.given_total is None
    assert (held.given_total is not None) == given
    for name in ("parent", "name", "depth", "number", "size", "total", "self_ticks", "count"):
        for own in held, held.table():
            assert getattr(own, name).tolist() == getattr(table, name).tolist(), name
    nodes = np.arange(len(table))[::7]
    assert held.total_of_all(nodes).tolist() == table.total[nodes].tolist()
    assert held.self_of_all(nodes).tolist() == table.self_ticks[nodes].tolist()
    assert held.total_at(slice(3, 90)).tolist() == table.total[held.levels.order[3:90]].tolist()
    for node in nodes[:100].tolist():
        assert held.total_of(node) == table.total[node]
        assert held.self_of(node) == table.self_ticks[node]
        assert held.path(node) == table.path(node)
        assert held.parent_of(node) == table.parent_of(node)
        assert held.find(held.path(node)) == table.find(table.path(node))


def test_totals_that_boxes_cannot_show_are_held(table):
    table = PlacedCalls.of(table, FlameLayout.of(table.depth, np.zeros(len(table), np.int64)))
    assert not table.layout.whole
    assert table.total_of(0) == table.total_of_all(np.array([0]))[0] == 100
    assert table.self_of(0) == table.self_of_all(np.array([0]))[0] == table.self_ticks[0]
