"""Numbers the nodes of trees level by level, and puts them in preorder. All int64 arrays.

A node is a pair of a parent and a label. Nothing recurses, and every step handles one level of a
tree, so the cost is that of sorting the nodes, whatever their depth.
"""

from __future__ import annotations

import numpy as np

from viewer.arrays import Ints, levels, stable_order

# From this many items, the time of a sort exceeds that of importing pandas.
_MANY = 1 << 19
_WIDEST = 4  # possible keys per key, for a table of all of them


def numbered(keys: Ints) -> tuple[Ints, Ints]:
    """Return per key its number among the distinct keys, and these in ascending order."""
    if len(keys) < _MANY:
        distinct, number = np.unique(keys, return_inverse=True)
        return number.reshape(-1), distinct
    least = int(keys.min())
    span = int(keys.max()) - least + 1
    if span <= _WIDEST * len(keys):
        # A table with a place for every possible key takes a third of the time of a hash table.
        is_used = np.zeros(span, np.bool_)
        is_used[keys - least] = True
        place = np.cumsum(is_used) - 1
        return place[keys - least], np.flatnonzero(is_used) + least
    # A hash table needs a fifth of the time of a sort.
    import pandas as pd

    found, unsorted = pd.factorize(keys)
    order = np.argsort(unsorted)
    rank = np.empty(len(order), np.int64)
    rank[order] = np.arange(len(order))
    return rank[found], unsorted[order]


def sizes(parent: Ints, depth: Ints) -> Ints:
    """Return how many nodes the subtree of each node has, with itself; parent: -1 for a root."""
    return _sizes(parent, levels(depth))


def _sizes(parent: Ints, of_depth: list[Ints]) -> Ints:
    size = np.ones(len(parent), np.int64)
    for level in reversed(of_depth[1:]):
        np.add.at(size, parent[level], size[level])
    return size


def preorder(parent: Ints, depth: Ints, rank: Ints) -> Ints:
    """Return the nodes in preorder: parents first, siblings by ascending rank, then by number.

    parent: -1 for a root. depth: 0 for a root, otherwise one more than that of its parent.
    """
    of_depth = levels(depth)
    size = _sizes(parent, of_depth)
    place = np.empty(len(parent), np.int64)
    for number, level in enumerate(of_depth):
        above = place[parent[level]] if number else np.full(len(level), -1)
        order = stable_order(rank[level])
        order = order[stable_order(above[order] + 1)]
        level, above = level[order], above[order]
        before = np.cumsum(size[level]) - size[level]
        is_first = np.append(True, above[1:] != above[:-1])
        siblings = np.cumsum(is_first) - 1
        place[level] = above + 1 + before - before[is_first][siblings]
    found = np.empty(len(parent), np.int64)
    found[place] = np.arange(len(parent))
    return found
