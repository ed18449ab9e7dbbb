"""The rows of the Sizes panel as a tree: every byte once, by kind, operator and module."""

import numpy as np
import pytest

from tests.builders.sized_programs import write_constants
from viewer.gui.panels.sizes.answer import Grouping, SizesQuestion, size_tree, work_out
from viewer.render.palette import SLAB
from viewer.workspace.workspace import Workspace


@pytest.fixture
def part_x(answer_of):
    return answer_of("part_x.pte", "part_x.etrecord")


@pytest.fixture
def two(answer_of):
    """The XNNPACK model as A, and the portable one of three methods as B."""
    return answer_of("part_x.pte", "part_x.etrecord", "multi3.pte", "multi3.etrecord")


def members(tree, node=0):
    """Label and bytes of the groups in a node."""
    inside = tree.sizes.inside(node).tolist()
    return {tree.label[i]: int(tree.sizes.size[i]) for i in inside if tree.label[i]}


@pytest.mark.parametrize("by", Grouping)
@pytest.mark.parametrize("name", ["part_x", "two"])
def test_every_row_is_one_leaf_and_sizes_add_up(request, name, by):
    answer = request.getfixturevalue(name)
    tree = size_tree(answer, by)
    assert sorted(tree.row[tree.row >= 0].tolist()) == list(range(len(answer)))
    assert tree.row[tree.node].tolist() == list(range(len(answer)))
    assert int(tree.bytes_a[0]) == answer.a.size
    assert int(tree.bytes_b[0]) == (0 if answer.b is None else answer.b.size)
    assert int(tree.sizes.size[0]) == int(answer.larger.sum())
    assert int(tree.count[0]) == len(answer)
    assert (tree.sizes.parent < np.arange(len(tree.row))).all()


@pytest.mark.parametrize("by", Grouping)
def test_groups_have_several_members(part_x, by):
    tree = size_tree(part_x, by)
    groups = [i for i in range(1, len(tree.row)) if tree.row[i] < 0]
    assert groups
    for group in groups:
        assert len(tree.sizes.inside(group)) > 1
        assert tree.label[group]


def test_by_kind(part_x):
    assert members(size_tree(part_x, Grouping.KIND)) == {"delegate": 4048, "named data": 1568}


def test_operators_have_their_weights_and_delegates(part_x):
    found = members(size_tree(part_x, Grouping.OPERATOR))
    assert found["c1 · convolution"] == 288 + 16


def test_modules_are_inside_one_another(answer_of):
    answer = answer_of("mobile_x.pte", "mobile_x.etrecord")
    tree = size_tree(answer, Grouping.MODULE)
    blocks = next(i for i, label in enumerate(tree.label) if label == "blocks")
    inside = members(tree, blocks)
    assert set(inside) == {"0", "1", "2", "3"}
    rows = tree.rows_in(blocks)
    assert int(answer.bytes_a[rows].sum()) == int(tree.bytes_a[blocks])


def test_rows_of_a_group_and_of_the_rest_of_it(part_x):
    tree = size_tree(part_x, Grouping.KIND)
    assert tree.rows_in(0).tolist() == list(range(len(part_x)))
    largest = int(tree.sizes.inside(0)[0])
    rest = set(tree.rows_in(0, 1).tolist())
    assert rest == set(range(len(part_x))) - set(tree.rows_in(largest).tolist())
    leaf = int(tree.node[3])
    assert tree.rows_in(leaf).tolist() == [3]


def test_the_color_of_a_group_is_that_of_all_inside(part_x):
    tree = size_tree(part_x, Grouping.KIND)
    same = tree.colors(np.full(len(part_x), 5, np.uint8))
    assert set(same.tolist()) == {5}
    other = np.full(len(part_x), 5, np.uint8)
    other[0] = 7
    mixed = tree.colors(other)
    assert mixed[0] == SLAB
    assert mixed[tree.node[0]] == 7


def test_without_an_etrecord_groups_are_kernels(tmp_path):
    space = Workspace()
    space.open(str(write_constants(tmp_path / "a.pte", [64, 128, 256])))
    tree = size_tree(work_out(SizesQuestion(space, space.executables[0])), Grouping.OPERATOR)
    assert members(tree)["aten::add.out"] == 64 + 256
