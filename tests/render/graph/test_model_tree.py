"""A model as nested groups: what is a group, and what takes the place of one."""

import numpy as np
import pytest

from tests.builders.nested_program import calls_of, nested_program
from viewer.render.graph.model_tree import MOST_MEMBERS, GroupKind, group_tree


def listed(tree):
    """The names of all nodes, each below the groups around it; calls by their numbers."""
    names = [
        name or f"call {call}" for name, call in zip(tree.names, tree.call.tolist(), strict=True)
    ]
    return [f"{'  ' * depth}{name}" for name, depth in zip(names, tree.depth.tolist(), strict=True)]


def test_modules_are_groups_and_operators_are_leaves():
    tree = group_tree(nested_program(["", "a", "a", "b.x", "b.x", "b.y", "b.y", ""]), ())
    assert listed(tree) == [
        "forward",
        "  op",
        "  a", "    op", "    op",
        "  b",
        "    x", "      op", "      op",
        "    y", "      op", "      op",
        "  op",
    ]  # fmt: skip
    assert tree.details[2] == "A"
    assert tree.operators[0] == 8
    assert tree.inside(5).tolist() == [3, 4, 5, 6]
    assert tree.operator[tree.leaf].tolist() == list(range(8))
    assert tree.around(int(tree.leaf[3])) == [6, 5, 0]


def test_a_module_of_one_operator_is_that_operator_and_one_in_one_is_a_single_group():
    tree = group_tree(nested_program(["a.b.c", "a.b.c", "d.e"]), ())
    assert listed(tree) == ["forward", "  a.b.c", "    op", "    op", "  op"]
    assert tree.details[-1] == "d.e"


def test_members_are_in_the_order_of_their_first_operators():
    tree = group_tree(nested_program(["b", "", "a", "a", "b"]), ())
    assert [tree.names[n] for n in range(len(tree)) if tree.depth[n] == 1] == ["b", "op", "a"]


def test_what_a_delegate_call_runs_is_a_group_in_every_module():
    program = nested_program(["a", "a", "a", "b", "b", "c", "c"])
    tree = group_tree(program, calls_of({4: (1, 2, 3, 4), 7: (5,)}))
    assert listed(tree) == [
        "forward",
        "  a", "    op", "    call 0", "      op", "      op",
        "  call 0", "    b", "      op", "      op",
        "  c", "    call 1", "      op", "    op",
    ]  # fmt: skip


def test_an_operator_of_two_calls_is_in_neither():
    tree = group_tree(nested_program(["", "", ""]), calls_of({0: (0, 1), 1: (1, 2)}))
    assert listed(tree) == ["forward", "  call 0", "    op", "  op", "  call 1", "    op"]


@pytest.mark.parametrize("count", [51, 2500, 6000])
def test_large_groups_are_divided_into_runs(count):
    tree = group_tree(nested_program([""] * count), ())
    assert int(tree.members.max()) <= MOST_MEMBERS
    assert tree.kind[1] == GroupKind.RUN
    assert tree.operator[tree.operator >= 0].tolist() == list(range(count))


def test_very_deep_modules_end_somewhere():
    path = ".".join(f"m{i}" for i in range(60))
    places = [".".join(path.split(".")[: n + 1]) for n in range(60)]
    tree = group_tree(nested_program(places), ())
    assert int(tree.depth.max()) < 50
    assert sorted(tree.operator[tree.operator >= 0].tolist()) == list(range(60))


def test_preorder_columns_fit_together():
    tree = group_tree(nested_program(["a.x", "a.x", "a.y", "b", "b", ""]), calls_of({0: (0, 1)}))
    for node in range(1, len(tree)):
        parent = int(tree.parent[node])
        assert parent < node < tree.end[node] <= tree.end[parent]
        assert tree.depth[node] == tree.depth[parent] + 1
    assert np.concatenate(tree.levels).size == len(tree)
