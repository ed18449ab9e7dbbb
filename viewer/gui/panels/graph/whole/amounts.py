"""The values of a measure for every node of a tree of groups. No Qt.

The value of a set of operators counts for the innermost group that has all of them, and for all
groups around it. Every group with some of them, but not all, shares it, and so do the operators.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from viewer.arrays import Bools, Floats, Ints
from viewer.gui.panels.graph.whole.measures import Measure
from viewer.model.times import format_share, group_digits
from viewer.render.graph.model_tree import GroupTree


@dataclass(frozen=True, eq=False)
class Amounts:
    """Columns with one value per node of the tree.

    own: of all sets inside, 0 without any; has: whether there is any. shared: the sum (or the
    largest) of the sets that a node shares with others, sets: how many these are. members: the
    operators of the largest one.
    """

    measure: Measure
    own: Ints | Floats
    has: Bools
    shared: Ints | Floats
    sets: Ints
    members: Ints

    def is_shared(self, node: int) -> bool:
        """Whether all of the value of a node is shared with others."""
        return bool(self.sets[node]) and not self.own[node]

    def text(self, node: int) -> str:
        """Return "8.544 µs · 15.5 % + shared", "2.774 µs shared by 5", or "" without a value."""
        measure = self.measure
        if self.has[node] and not self.is_shared(node):
            share = (
                f" · {format_share(int(self.own[node]), measure.whole)}" if measure.whole else ""
            )
            more = " + shared" if self.sets[node] else ""
            return f"{measure.text(self.own[node].item())}{share}{more}"
        return self.shared_text(node)

    def shared_text(self, node: int) -> str:
        """Return "2.774 µs shared by 5", "9.1 µs in 3 shared calls"; "" if it shares nothing."""
        sets = int(self.sets[node])
        if not sets:
            return ""
        value = self.measure.text(self.shared[node].item())
        if sets == 1:
            return f"{value} shared by {group_digits(int(self.members[node]))}"
        return f"{value} in {group_digits(sets)} shared {self.measure.shared}"


def amounts(tree: GroupTree, measure: Measure) -> Amounts:
    """Return the values of all nodes. Takes time in proportion to the sets and the depth."""
    count, sets = len(tree), len(measure.values)
    leaf = tree.leaf[measure.operators]
    length = np.diff(measure.ptr)
    of_set = np.repeat(np.arange(sets), length)
    low, high = np.full(sets, count), np.full(sets, -1)
    np.minimum.at(low, of_set, leaf)
    np.maximum.at(high, of_set, leaf)
    is_known = (low >= 0) & (high >= 0) & (low < count)
    # In preorder, the group around the first and the last member has all of them.
    home = _common(tree, np.where(is_known, low, 0), np.where(is_known, high, 0))
    own = _nothing(measure, count)
    has = np.zeros(count, np.bool_)
    measure.combine.at(own, home[is_known], measure.values[is_known])
    has[home[is_known]] = True
    for level in reversed(tree.levels[1:]):
        measure.combine.at(own, tree.parent[level], own[level])
        np.logical_or.at(has, tree.parent[level], has[level])
    shared = _nothing(measure, count)
    number, members = np.zeros(count, np.int64), np.zeros(count, np.int64)
    known = is_known[of_set]
    pairs = np.column_stack([leaf[known], of_set[known]])
    for depth in range(len(tree.levels) - 1, 0, -1):  # from the innermost groups outward
        pairs = pairs[pairs[:, 0] != home[pairs[:, 1]]]
        here = tree.depth[pairs[:, 0]] == depth
        node, of = np.unique(pairs[here], axis=0).T
        measure.combine.at(shared, node, measure.values[of])
        np.add.at(number, node, 1)
        np.maximum.at(members, node, length[of])
        pairs = np.concatenate([pairs[~here], np.column_stack([tree.parent[node], of])])
    return Amounts(measure, own, has, shared, number, members)


def _nothing(measure: Measure, count: int) -> Ints | Floats:
    """Return zeros of the type of the values."""
    return np.zeros(count, np.int64) if measure.values.dtype.kind == "i" else np.zeros(count)


def _common(tree: GroupTree, one: Ints, other: Ints) -> Ints:
    """Return the innermost node that has both of two nodes, or is both."""
    one, other = one.copy(), other.copy()
    apart = np.flatnonzero(one != other)
    while len(apart):
        a, b = one[apart], other[apart]
        up_a = tree.depth[a] >= tree.depth[b]
        up_b = tree.depth[b] >= tree.depth[a]
        one[apart[up_a]] = tree.parent[a[up_a]]
        other[apart[up_b]] = tree.parent[b[up_b]]
        apart = apart[one[apart] != other[apart]]
    return one
