"""Children of nodes in an order, and which have a row."""

import numpy as np
import pytest

from tests.builders.call_traces import trace_of
from tests.gui.panels.calls.conftest import SLICES
from viewer.analysis.calls.call_table import CallTable
from viewer.analysis.calls.call_tree import CallTree
from viewer.analysis.links.linker import unlinked
from viewer.gui.panels.calls.shown_calls import CallRows


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
