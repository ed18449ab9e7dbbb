"""Numbers of nodes, levels, sizes of subtrees, and preorder."""

import numpy as np
import pytest

from viewer.analysis.calls import preorder as module
from viewer.analysis.calls.preorder import numbered, preorder, sizes

#     0        1
#   3   2      4
#   5
PARENT = np.array([-1, -1, 0, 0, 1, 3])
DEPTH = np.array([0, 0, 1, 1, 1, 2])


def test_a_size_includes_the_node_itself():
    assert sizes(PARENT, DEPTH).tolist() == [4, 2, 1, 2, 1, 1]


def test_siblings_are_in_order_of_their_rank():
    rank = np.array([1, 0, 5, 4, 0, 0])
    assert preorder(PARENT, DEPTH, rank).tolist() == [1, 4, 0, 3, 5, 2]
    assert preorder(PARENT, DEPTH, np.zeros(6, np.int64)).tolist() == [0, 2, 3, 5, 1, 4]


@pytest.mark.parametrize(("many", "widest"), [(1 << 30, 0), (1, 0), (1, 100)])
def test_distinct_keys_are_numbered_in_ascending_order(monkeypatch, many, widest):
    """By a sort, a hash table, or a table of all possible keys."""
    monkeypatch.setattr(module, "_MANY", many)
    monkeypatch.setattr(module, "_WIDEST", widest)
    number, distinct = numbered(np.array([70, 10, 70, 30]))
    assert number.tolist() == [2, 0, 2, 1]
    assert distinct.tolist() == [10, 30, 70]


@pytest.mark.slow
def test_a_chain_of_20_000_nodes_takes_no_recursion():
    count = 20_000
    parent, depth = np.arange(count) - 1, np.arange(count)
    assert preorder(parent, depth, np.zeros(count, np.int64)).tolist() == list(range(count))
    assert sizes(parent, depth)[:2].tolist() == [count, count - 1]
