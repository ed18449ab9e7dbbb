"""Nodes of stacks: deep ones, and those that are below none."""

import numpy as np

from viewer.formats.samples.stacks import StackTree, _depths
from viewer.model.building.nesting import MAX_DEPTH


def test_equal_stacks_are_one_node_and_share_their_outer_frames():
    tree = StackTree()
    assert tree.stack(()) == -1
    assert tree.stack((1, 2)) == tree.stack((1, 2))
    assert tree.stack((1, 3)) != tree.stack((1, 2))
    assert (tree.parent, tree.frame) == ([-1, 0, 0], [1, 2, 3])


def test_a_deep_node_is_its_outer_one_and_a_cycle_has_none():
    chain = np.arange(-1, 5000)
    depth, drawn = _depths(chain)
    assert depth[:MAX_DEPTH].tolist() == list(range(MAX_DEPTH))
    assert (drawn[MAX_DEPTH:] == MAX_DEPTH).all()
    depth, drawn = _depths(np.array([1, 2, 0, 0, -2, 4, -1]))
    assert depth[drawn].tolist() == [-1, -1, -1, -1, -1, -1, 0]
