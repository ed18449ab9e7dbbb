"""What is visible of nested groups, and the edges between it."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.builders.nested_program import calls_of, chain, nested_program
from viewer.analysis.flows.dataflow import dataflow_of
from viewer.render.graph.model_tree import (
    first_opened,
    group_edges,
    group_tree,
    operator_edges,
    shown_groups,
    shown_operators,
)


@pytest.fixture
def program():
    """Two blocks of four operators in two modules each; the first result also skips to the end."""
    places = [f"{block}.{part}" for block in "ab" for part in "xxyy"]
    return nested_program(places, [*chain(8), (0, 7)])


@pytest.fixture
def tree(program):
    return group_tree(program, ())


def named(tree, *paths):
    """The numbers of groups, "a.x"."""
    whole = {}
    for node in np.flatnonzero(tree.is_group).tolist():
        around = [tree.names[n] for n in tree.around(node)[::-1] if n]
        whole[".".join([*around, tree.names[node]])] = node
    return frozenset(whole[path] for path in paths)


def test_a_closed_group_hides_what_is_in_it(tree):
    shown = shown_groups(tree, named(tree, "a", "b.x"))
    assert [tree.names[n] for n in shown.boxes] == ["x", "y", "b"]
    assert [tree.names[n] for n in shown.frames] == ["forward", "a"]
    assert shown.box[tree.leaf[5]] == next(iter(named(tree, "b")))


def test_edges_between_closed_groups_are_merged_and_counted(program, tree):
    shown = shown_groups(tree, frozenset())
    edges = group_edges(shown, *operator_edges(dataflow_of(program)))
    a, b = (next(iter(named(tree, name))) for name in "ab")
    assert (edges.group.tolist(), edges.source.tolist(), edges.target.tolist()) == ([0], [a], [b])
    assert edges.count.tolist() == [2]


def test_an_edge_into_a_group_goes_on_inside(program, tree):
    shown = shown_groups(tree, named(tree, "a"))
    edges = group_edges(shown, *operator_edges(dataflow_of(program)))
    a, x, y, b = (next(iter(named(tree, name))) for name in ("a", "a.x", "a.y", "b"))
    found = set(zip(edges.group.tolist(), edges.source.tolist(), edges.target.tolist(),
                    edges.count.tolist(), strict=True))  # fmt: skip
    # The skipping edge leaves x, the other one y; outside both are one.
    assert found == {(a, x, y, 1), (a, x, a, 1), (a, y, a, 1), (0, a, b, 2)}


@pytest.mark.slow
@given(
    st.lists(st.sampled_from(["", "a", "a.x", "a.y", "b", "b.x.u", "b.x.v"]), min_size=2),
    st.data(),
)  # fmt: skip
def test_every_edge_between_two_boxes_is_carried_all_the_way(places, data):
    count = len(places)
    pairs = st.tuples(st.integers(0, count - 1), st.integers(0, count - 1))
    given_edges = data.draw(st.sets(pairs, max_size=20))
    program = nested_program(places, {pair for pair in given_edges if pair[0] != pair[1]})
    calls = calls_of({0: tuple(data.draw(st.sets(st.integers(0, count - 1))))})
    tree = group_tree(program, calls)
    opened = data.draw(st.frozensets(st.integers(0, len(tree) - 1)))
    shown = shown_groups(tree, opened)
    producer, consumer = operator_edges(dataflow_of(program))
    edges = group_edges(shown, producer, consumer)
    for one in range(len(producer)):
        start, end = (int(shown.box[tree.leaf[of[one]]]) for of in (producer, consumer))
        pieces = [e for e in range(len(edges))
                  if one in edges.carried[edges.ptr[e] : edges.ptr[e + 1]]]  # fmt: skip
        if start == end:
            assert not pieces
            continue
        # From the box up to the common group, across it, and down to the other box.
        out = {int(edges.source[e]) for e in pieces if edges.target[e] == edges.group[e]}
        into = {int(edges.target[e]) for e in pieces if edges.source[e] == edges.group[e]}
        (across,) = [e for e in pieces if edges.group[e] not in (edges.source[e], edges.target[e])]
        group = int(edges.group[across])
        assert out | {int(edges.source[across])} == _up(tree, start, group)
        assert into | {int(edges.target[across])} == _up(tree, end, group)
    assert int(edges.count.sum()) == len(edges.carried)


def _up(tree, node, group):
    found = {node}
    while tree.parent[node] != group:
        node = int(tree.parent[node])
        found.add(node)
    return found


def test_the_first_view_opens_whole_levels_as_long_as_they_fit(tree):
    assert first_opened(tree, 8) == frozenset(np.flatnonzero(tree.is_group).tolist())
    assert first_opened(tree, 5) == {0} | named(tree, "a", "b")
    assert first_opened(tree, 2) == {0}


@pytest.mark.parametrize("count", [10, 300, 5000])
def test_the_first_view_has_a_bounded_number_of_boxes(count):
    tree = group_tree(nested_program([f"m{i % 7}.n{i % 11}" for i in range(count)]), ())
    assert len(shown_groups(tree, first_opened(tree)).boxes) <= 100


def test_some_operators_are_shown_without_their_groups(program, tree):
    shown = shown_operators(tree, np.array([0, 3, 4, 7]))
    assert shown.frames.tolist() == [0]
    assert tree.operator[shown.boxes].tolist() == [0, 3, 4, 7]
    producer, consumer = operator_edges(dataflow_of(program))
    edges = group_edges(shown, producer, consumer)
    ends = zip(tree.operator[edges.source], tree.operator[edges.target], strict=True)
    assert set(ends) == {(3, 4), (0, 7)}
    assert edges.count.tolist() == [1, 1]
    assert not edges.group.any()
