"""Subtrees, search and order of nodes."""

import numpy as np
import pytest

from tests.builders.call_traces import trace_of
from viewer.analysis.calls import call_table as module
from viewer.analysis.calls.call_table import CallTable, Levels, numbered, preorder, sizes
from viewer.analysis.calls.call_tree import CallTree, bottom_up
from viewer.analysis.links.linker import unlinked


@pytest.fixture
def table() -> CallTable:
    trace = trace_of(
        ("t", "main", 0, 100), ("t", "load", 0, 20), ("t", "run", 20, 90), ("t", "conv", 30, 70),
        ("t", "copy", 40, 45), ("t", "copy", 70, 80), ("u", "load", 0, 300),
    )  # fmt: skip
    return CallTree(unlinked(trace)).table()


def paths(table: CallTable) -> list[str]:
    return ["/".join(table.path(node)) for node in range(len(table))]


def test_nodes_are_in_preorder(table):
    assert paths(table) == [
        "p", "p/t", "p/t/main", "p/t/main/load", "p/t/main/run", "p/t/main/run/conv",
        "p/t/main/run/conv/copy", "p/t/main/run/copy", "p/u", "p/u/load",
    ]  # fmt: skip
    assert table.depth.tolist() == [0, 1, 2, 3, 3, 4, 5, 4, 1, 2]
    assert table.size.tolist() == [10, 7, 6, 1, 4, 2, 1, 1, 2, 1]


def test_nodes_know_the_track_that_they_are_below(table):
    assert table.track.tolist() == [-1, *[0] * 7, 1, 1]
    assert table.kept(table.with_parents(table.matching("copy"))).track.tolist() == [-1, *[0] * 6]
    assert bottom_up(table).track.tolist() == [-1] * len(bottom_up(table))


@pytest.mark.parametrize("count", [0, 1, 2, 60])
@pytest.mark.parametrize("seed", range(3))
def test_levels_lead_to_what_is_around_a_node(count, seed):
    dice = np.random.default_rng(seed)
    depth = np.zeros(count, np.int8)
    for node in range(1, count):
        depth[node] = dice.integers(0, min(int(depth[node - 1]) + 2, 9))
    parent = [
        max((above for above in range(node) if depth[above] == own - 1), default=-1)
        for node, own in enumerate(depth.tolist())
    ]
    found, nodes = Levels.of(depth), np.arange(count)
    size = sizes(np.array(parent, np.int64), depth)
    assert found.parents.tolist() == [found.parent(node) for node in range(count)] == parent
    assert found.sizes.tolist() == [found.size(node) for node in range(count)] == size.tolist()
    assert found.order[found.places(nodes)].tolist() == nodes.tolist()
    assert found.places(nodes).tolist() == [found.place(node) for node in range(count)]
    for node in range(-1, count):
        assert found.below(node).tolist() == [i for i in range(count) if parent[i] == node]
    first, stop = found.children_of(nodes)
    places = [found.children(node) for node in nodes.tolist()]
    assert [(each.start, each.stop) for each in places] == [*zip(first, stop, strict=True)]
    values = dice.integers(0, 100, count)
    rest = [int(values[i] - values[found.below(i)].sum()) for i in range(count)]
    assert found.per_node(found.without_children(values[found.order])).tolist() == rest


def test_a_path_is_found_by_its_names(table):
    assert table.find(["p", "t", "main", "run"]) == 4
    assert table.find(["p", "u", "load"]) == 9
    assert table.find(["p", "u", "run"]) is None
    assert table.find([]) is None


def test_a_subtree_has_its_own_root(table):
    part = table.subtree(table.find(["p", "t", "main", "run"]))
    assert paths(part) == ["run", "run/conv", "run/conv/copy", "run/copy"]
    assert part.parent.tolist() == [-1, 0, 1, 0]
    assert part.depth.tolist() == [0, 1, 2, 1]
    assert part.total.tolist() == [70, 40, 5, 10]
    assert part.self_ticks.tolist() == [20, 35, 5, 10]


def test_names_are_searched_without_case_and_kept_with_their_parents(table):
    hits = table.matching("COPY")
    assert np.flatnonzero(hits).tolist() == [6, 7]
    found = table.kept(table.with_parents(hits))
    assert paths(found) == [
        "p", "p/t", "p/t/main", "p/t/main/run", "p/t/main/run/conv", "p/t/main/run/conv/copy",
        "p/t/main/run/copy",
    ]  # fmt: skip
    assert found.total.tolist() == [400, 100, 100, 70, 40, 5, 10]
    assert not table.matching("nothing").any()


def test_siblings_are_sorted_by_descending_value(table):
    found = table.sorted_by(table.total)
    assert paths(found)[:5] == ["p", "p/u", "p/u/load", "p/t", "p/t/main"]
    assert paths(found)[5:7] == ["p/t/main/run", "p/t/main/run/conv"]
    assert sorted(found.total.tolist()) == sorted(table.total.tolist())
    assert found.parent.tolist() == [-1, 0, 1, 0, 3, 4, 5, 6, 5, 4]


def test_every_node_knows_its_thread(table):
    assert table.root_of(1).tolist() == [0, 1, 1, 1, 1, 1, 1, 1, 8, 8]


def test_outermost_nodes_are_in_no_other_one(table):
    found = np.flatnonzero(table.outermost(table.matching("co")))  # conv, copy, copy
    assert [table.text(node) for node in found] == ["conv", "copy"]
    assert [int(table.total[node]) for node in found] == [40, 10]
    assert not table.outermost(table.matching("nothing")).any()


def test_processes_and_threads_can_be_taken_off(table):
    frames = table.from_depth(2)
    assert paths(frames) == [
        "main", "main/load", "main/run", "main/run/conv", "main/run/conv/copy", "main/run/copy",
        "load",
    ]  # fmt: skip
    assert frames.depth.tolist() == [0, 1, 1, 2, 3, 2, 0]
    assert frames.size.tolist() == [6, 1, 4, 2, 1, 1, 1]
    assert table.from_depth(0) is table


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


@pytest.mark.parametrize("scale", [1, 1 << 60])
@pytest.mark.parametrize("in_preorder", [True, False])
def test_siblings_of_a_random_tree_are_in_order_of_rank_then_number(scale, in_preorder):
    """As small ranks, and as ones too far apart to be sorted with their parents at once."""
    rng = np.random.default_rng(3)
    parent = [-1, -1, -1]
    for number in range(3, 400):
        parent.append(int(rng.integers(max(0, number - 40), number)))
    parent = np.array(parent)
    depth = np.zeros(len(parent), np.int64)
    for node in range(3, len(parent)):
        depth[node] = depth[parent[node]] + 1
    if in_preorder:  # so that the children of a node are together on their level
        order = preorder(parent, depth, np.zeros(len(parent), np.int64))
        place = np.append(np.argsort(order), -1)
        parent, depth = place[parent[order]], depth[order]
    rank = rng.integers(-3, 4, len(parent)) * scale
    expected: list[int] = []

    def visit(above: int) -> None:
        below = np.flatnonzero(parent == above).tolist()
        for node in sorted(below, key=lambda node: (int(rank[node]), node)):
            expected.append(node)
            visit(node)

    visit(-1)
    assert preorder(parent, depth, rank).tolist() == expected


@pytest.mark.parametrize(("many", "widest"), [(1 << 30, 0), (1, 0), (1, 100)])
def test_distinct_keys_are_numbered_in_ascending_order(monkeypatch, many, widest):
    """By a sort, a hash table, or a table of all possible keys."""
    monkeypatch.setattr(module, "_MANY", many)
    monkeypatch.setattr(module, "_VERY_MANY", many)
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
