"""The nodes of a call tree as columns: subtrees, search, order. Times are ticks.

Nodes are numbered level by level, and put in preorder; all are int64 arrays. A node is a pair of a
parent and a label. Nothing recurses, and every step handles one level of a tree, so the cost is
that of sorting the nodes, whatever their depth.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, fields, replace
from functools import cached_property

import numpy as np

from viewer.arrays import Bools, Ints, levels, narrow, stable_order

# From this many items, a sort is not the fastest; from so many, importing pandas pays off.
_MANY = 1 << 19
_VERY_MANY = 1 << 22
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
    if len(keys) < _VERY_MANY:
        distinct, number = np.unique(keys, return_inverse=True)
        return number.reshape(-1), distinct
    # A hash table needs a fifth of the time of a sort.
    import pandas as pd

    codes, unsorted = pd.factorize(keys)
    order = np.argsort(unsorted)
    rank = np.empty(len(order), np.int64)
    rank[order] = np.arange(len(order))
    return rank[codes], unsorted[order]


def sizes(parent: Ints, depth: Ints) -> Ints:
    """Return how many nodes the subtree of each node has, with itself; parent: -1 for a root."""
    return _sizes(parent, levels(depth))


def _sizes(parent: Ints, of_depth: list[Ints]) -> Ints:
    size = narrow(np.ones(len(parent), np.int64))
    for level in reversed(of_depth[1:]):
        np.add.at(size, parent[level], size[level])
    return size


def preorder(parent: Ints, depth: Ints, rank: Ints) -> Ints:
    """Return the nodes in preorder: parents first, siblings by ascending rank, then by number.

    parent: -1 for a root. depth: 0 for a root, otherwise one more than that of its parent.
    """
    of_depth = levels(depth)
    size = _sizes(parent, of_depth)
    place = np.empty(len(parent), size.dtype)
    for level in of_depth:
        around = parent[level]
        order = _order_of_siblings(around, rank[level])
        if order is not None:
            level, around = level[order], around[order]
        before = np.cumsum(size[level])
        before -= size[level]
        is_first = np.append(True, around[1:] != around[:-1])
        # From the place of a parent to that of its first child, less what is before that one.
        lift = np.where(around[is_first] < 0, 0, place[around[is_first]] + 1) - before[is_first]
        before += lift[np.cumsum(is_first) - 1]
        place[level] = before
    nodes = np.empty(len(parent), size.dtype)
    nodes[place] = np.arange(len(parent), dtype=size.dtype)
    return nodes


def _order_of_siblings(parent: Ints, rank: Ints) -> Ints | None:
    """Return what puts the nodes of a level in the order of parents, then ranks; None: they are.

    Equal ones keep their order. Where the children of a node are together, only those that are not
    in order are sorted: most nodes have one child or two.
    """
    change = parent[1:] - parent[:-1]
    if (change < 0).any():
        order = stable_order(rank)
        return order[stable_order(parent[order] + 1)]
    is_wrong = (change == 0) & (rank[1:] < rank[:-1])
    if not is_wrong.any():
        return None
    group = narrow(np.append(0, np.cumsum(change != 0)))
    is_unordered = np.zeros(int(group[-1]) + 1, np.bool_)
    is_unordered[group[1:][is_wrong]] = True
    unordered = np.flatnonzero(is_unordered[group])
    group, rank = group[unordered], rank[unordered]
    least = int(rank.min())
    span = int(rank.max()) - least + 1
    if span * (int(group[-1]) + 1) < 1 << 63:  # one sort of both takes half of the time
        by_rank = np.argsort(group * np.int64(span) + (rank - least), kind="stable")
    else:
        by_rank = np.lexsort((rank, group))
    order = np.arange(len(parent))
    order[unordered] = unordered[by_rank]
    return order


@dataclass(frozen=True, eq=False)
class CallTable:
    """Nodes in preorder: parallel arrays, one value per node: int64, int32 where all fit.

    labels: texts. parent: the node above, -1 for a root. name: index into `labels`. depth: 0 for a
    root. track: index into `Trace.tracks`, -1 for what belongs to no single thread. number: the
    argument of `CallTree.slices_of`; -1 if the node is not one path.

    Top-down, the roots are processes, below them are threads, and below these the frames: the names
    from the outermost slice to the innermost. total: inclusive, the durations of the slices of a
    path within the scope. self_ticks: the total minus that of the children. count: the slices of
    the path that start in the scope; 0 for processes and threads. zeros: how many of these the file
    cuts to 0 (`viewer.model.timing.rounded_zeros`), None without any.

    Bottom-up, the roots are names, and below each node are its callers, at last the thread and the
    process. All three figures are those of the root, when called this way; total counts a call
    inside another one of the same node once.
    """

    labels: Sequence[str]
    parent: Ints
    name: Ints
    depth: Ints
    track: Ints
    number: Ints
    total: Ints
    self_ticks: Ints
    count: Ints
    zeros: Ints | None = None

    def __len__(self) -> int:
        return len(self.parent)

    @cached_property
    def size(self) -> Ints:
        """How many nodes the subtree of each node has, with itself. They follow the node."""
        return sizes(self.parent, self.depth)

    def text(self, node: int) -> str:
        """Return the name of a node."""
        return self.labels[int(self.name[node])]

    def path(self, node: int) -> list[str]:
        """Return the names from the root to a node."""
        names: list[str] = []
        while node >= 0:
            names.append(self.text(node))
            node = int(self.parent[node])
        return names[::-1]

    def find(self, path: Sequence[str]) -> int | None:
        """Return the first node with these names from the root on, or None."""
        above: Ints = np.array([-1])
        for text in path:
            below = np.flatnonzero(np.isin(self.parent, above))
            above = below[[self.text(node) == text for node in below.tolist()]]
        return int(above[0]) if len(path) and len(above) else None

    def subtree(self, node: int) -> CallTable:
        """Return a node and what is below it, as a table with this root at depth 0."""
        part = slice(node, node + int(self.size[node]))
        call_table = self._taken(part)
        parent = call_table.parent - node
        parent[0] = -1
        return replace(call_table, parent=parent, depth=call_table.depth - int(self.depth[node]))

    def matching(self, text: str) -> Bools:
        """Return per node whether its name contains a text; case is ignored."""
        wanted = text.casefold()
        used = np.unique(self.name)
        hit = np.zeros(len(self.labels), np.bool_)
        hit[used] = [wanted in self.labels[label].casefold() for label in used.tolist()]
        is_match: Bools = hit[self.name]
        return is_match

    def with_parents(self, mask: Bools) -> Bools:
        """Return per node whether it, or a node below it, is among some nodes."""
        if mask.all():
            return mask
        before = np.concatenate([np.zeros(1, np.int64), np.cumsum(mask)])
        nodes = np.arange(len(self))
        is_parent: Bools = before[nodes + self.size] > before[nodes]
        return is_parent

    def outermost(self, mask: Bools) -> Bools:
        """Return which of some nodes are below no other of them: totals of these add up."""
        is_outermost = np.zeros(len(self), np.bool_)
        nodes = np.flatnonzero(mask)
        if len(nodes):
            reach = np.maximum.accumulate(nodes + self.size[nodes])
            is_outermost[nodes[np.append(True, nodes[1:] >= reach[:-1])]] = True
        return is_outermost

    def from_depth(self, depth: int) -> CallTable:
        """Return the nodes from a depth on; those at this depth become roots."""
        if depth == 0:
            return self
        keep = self.depth >= depth
        call_table = self._taken(np.flatnonzero(keep))
        place = np.append(np.where(keep, np.cumsum(keep) - 1, -1), -1)
        return replace(call_table, parent=place[call_table.parent], depth=call_table.depth - depth)

    def kept(self, keep: Bools) -> CallTable:
        """Return some of the nodes, which must include the parents of each, with their figures."""
        if keep.all():
            return self
        call_table = self._taken(np.flatnonzero(keep))
        place = np.append(np.cumsum(keep) - 1, -1)  # the last is for the parent of roots
        return replace(call_table, parent=place[call_table.parent])

    def sorted_by(self, values: Ints) -> CallTable:
        """Return all nodes in preorder, siblings by descending value (one per node)."""
        order = preorder(self.parent, self.depth, -values)
        place = np.empty(len(order) + 1, order.dtype)
        place[order] = np.arange(len(order), dtype=order.dtype)
        place[-1] = -1
        call_table = self._taken(order)
        return replace(call_table, parent=place[call_table.parent])

    def root_of(self, depth: int) -> Ints:
        """Return per node the node around it at a depth, or itself if it is less deep."""
        starts = np.flatnonzero(self.depth <= depth)
        root: Ints = starts[np.searchsorted(starts, np.arange(len(self)), "right") - 1]
        return root

    def _taken(self, index: Ints | slice) -> CallTable:
        columns = {
            field.name: getattr(self, field.name)[index]
            for field in fields(self)
            if field.name != "labels" and getattr(self, field.name) is not None
        }
        return replace(self, **columns)
