"""The nodes of a call tree as columns: subtrees, search, order. Times are ticks.

A node is a pair of a parent and a label. Nothing recurses, and every step handles one level of a
tree, so the cost is that of sorting the nodes, whatever their depth.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from viewer.arrays import Bools, Ints, counts_of, groups_of, levels, narrow, stable_order
from viewer.dataclasses import dataclass, fields, replace

# From this many items, a sort is not the fastest; from so many, importing pandas pays off.
_MANY = 1 << 19
_VERY_MANY = 1 << 22
_WIDEST = 4  # possible keys per key, for a table of all of them

Side = Literal["left", "right"]


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


@dataclass(frozen=True, slots=True, eq=False)
class Levels:
    """The nodes of every depth in preorder, by which all that a tree has around a node is found.

    depth: per node, as in `CallTable`. order: the nodes by depth, each depth ascending. row_ptr:
    depths + 1 offsets into it. A place is a position in `order`.

    The next nodes of a depth bound what is below a node: so parents, children and subtrees are
    binary searches, and no tree needs columns of them.
    """

    depth: Ints
    order: Ints
    row_ptr: Ints

    @staticmethod
    def of(depth: Ints) -> Levels:
        """Return the levels of nodes in preorder."""
        count = int(depth.max(initial=-1)) + 1
        row_ptr = np.append(0, np.cumsum(counts_of(depth, count)))
        return Levels(depth, narrow(stable_order(depth)), row_ptr)

    def __len__(self) -> int:
        """Return how many depths there are."""
        return len(self.row_ptr) - 1

    def span(self, depth: int) -> slice:
        """Return the places of a depth; none if no node is so deep."""
        first, last = self.row_ptr[[depth, depth + 1]].tolist() if depth < len(self) else (0, 0)
        return slice(first, last)

    def _places(self, span: slice, nodes: Ints | list[int] | int, side: Side = "left") -> Ints:
        """Return where nodes of any depth are among those of one, given by their places.

        A key of another type would make numpy convert all that it is searched in.
        """
        row = self.order[span]
        places: Ints = span.start + row.searchsorted(np.asarray(nodes, row.dtype), side)
        return places

    def place(self, node: int) -> int:
        """Return the place of a node."""
        return int(self._places(self.span(int(self.depth[node])), node))

    def places(self, nodes: Ints) -> Ints:
        """Return the places of nodes."""
        places = np.empty(len(nodes), np.int64)
        for depth, which in groups_of(self.depth[nodes]):
            places[which] = self._places(self.span(depth), nodes[which])
        return places

    def parent(self, node: int) -> int:
        """Return the node above another one, -1 for a root."""
        depth = int(self.depth[node])
        return int(self.order[self._places(self.span(depth - 1), node) - 1]) if depth else -1

    def below(self, node: int) -> Ints:
        """Return the children of a node, ascending; of -1 the roots."""
        return self.order[self.children(node)]

    def children(self, node: int) -> slice:
        """Return the places of the children of a node; of -1 those of the roots."""
        if node < 0:
            return self.span(0)
        depth = int(self.depth[node])
        span = self.span(depth)
        after = int(self._places(span, node, "right"))
        following = int(self.order[after]) if after < span.stop else len(self.depth)
        return slice(*self._places(self.span(depth + 1), [node, following]).tolist())

    def children_of(self, nodes: Ints) -> tuple[Ints, Ints]:
        """Return the places of the children of nodes: of each, the first one and one past these."""
        first, stop = np.empty((2, len(nodes)), np.int64)
        for depth, which in groups_of(self.depth[nodes]):
            span, below = self.span(depth), self.span(depth + 1)
            after = self._places(span, nodes[which], "right")
            is_last = after == span.stop
            following = np.where(is_last, len(self.depth), self.order[after - is_last])
            first[which] = self._places(below, nodes[which])
            stop[which] = self._places(below, following)
        return first, stop

    def size(self, node: int) -> int:
        """Return how many nodes the subtree of a node has, with itself."""
        last, below = node, self.below(node)
        while len(below):
            last = int(below[-1])
            below = self.below(last)
        return last + 1 - node

    def per_node(self, values: NDArray[Any]) -> NDArray[Any]:
        """Return values by place as values per node."""
        column = np.empty_like(values)
        column[self.order] = values
        return column

    @property
    def parents(self) -> Ints:
        """Per node the one above it, -1 for a root."""
        column = np.full(len(self.order), -1, self.order.dtype)
        for depth in range(1, len(self)):
            above = self.order[self.span(depth - 1)]
            column[self.order[self.span(depth)]] = above[self.above(depth)]
        return column

    def above(self, depth: int) -> Ints:
        """Return per node of a depth, but the first one, the position of its parent in its own."""
        row, above = self.order[self.span(depth)], self.order[self.span(depth - 1)]
        if len(row) < len(above):
            return np.searchsorted(above, row) - 1
        return np.repeat(
            np.arange(len(above)), np.diff(np.searchsorted(row, above), append=len(row))
        )

    @property
    def sizes(self) -> Ints:
        """Per node how many nodes its subtree has, with itself."""
        sizes: Ints = np.ones(len(self.order), self.order.dtype)
        for depth in reversed(range(len(self) - 1)):
            sizes[self.span(depth)] += self._of_children(sizes, depth)
        return self.per_node(sizes)

    def without_children(self, values: Ints) -> Ints:
        """Return values by place, less those of the children of each."""
        rest = values.copy()
        for depth in range(len(self) - 1):
            rest[self.span(depth)] -= self._of_children(values, depth)
        return rest

    def _of_children(self, values: Ints, depth: int) -> Ints:
        """Return per node of a depth the sum of its children; values: by place."""
        below = self.span(depth + 1)
        before = np.append(0, np.cumsum(values[below]))
        first = self._places(below, self.order[self.span(depth)]) - below.start
        sums: Ints = np.diff(before[first], append=before[-1])
        return sums


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


class CallNodes:
    """Nodes in preorder, in whatever form their columns are held."""

    labels: Sequence[str]
    name: Ints

    def __len__(self) -> int:
        return len(self.name)

    @property
    def size(self) -> Ints:
        """How many nodes the subtree of each node has, with itself. They follow the node."""
        raise NotImplementedError

    def parent_of(self, node: int) -> int:
        """Return the node above another one, -1 for a root."""
        raise NotImplementedError

    def text(self, node: int) -> str:
        """Return the name of a node."""
        return self.labels[int(self.name[node])]

    def path(self, node: int) -> list[str]:
        """Return the names from the root to a node."""
        names: list[str] = []
        while node >= 0:
            names.append(self.text(node))
            node = self.parent_of(node)
        return names[::-1]

    def matching(self, text: str) -> Bools:
        """Return per node whether its name contains a text; case is ignored."""
        wanted = text.casefold()
        used = np.unique(self.name)
        hit = np.zeros(len(self.labels), np.bool_)
        hit[used] = [wanted in self.labels[label].casefold() for label in used.tolist()]
        is_match: Bools = hit[self.name]
        return is_match

    def with_parents(self, mask: Bools, size: Ints | None = None) -> Bools:
        """Return per node whether it, or a node below it, is among some nodes.

        size: as the column, if it is at hand.
        """
        if mask.all():
            return mask
        size = self.size if size is None else size
        before = np.concatenate([np.zeros(1, np.int64), np.cumsum(mask)])
        nodes = np.arange(len(self))
        is_parent: Bools = before[nodes + size] > before[nodes]
        return is_parent

    def outermost(self, mask: Bools, size: Ints | None = None) -> Bools:
        """Return which of some nodes are below no other of them: totals of these add up.

        size: as the column, if it is at hand.
        """
        is_outermost = np.zeros(len(self), np.bool_)
        nodes = np.flatnonzero(mask)
        if len(nodes):
            size = self.size if size is None else size
            reach = np.maximum.accumulate(nodes + size[nodes])
            is_outermost[nodes[np.append(True, nodes[1:] >= reach[:-1])]] = True
        return is_outermost


@dataclass(frozen=True, eq=False)
class CallTable(CallNodes):
    """Nodes in preorder: parallel arrays, one value per node, in as few bytes as they need.

    labels: texts; the names of tracks are the last ones if `tracks` is not 0. parent: the node
    above, -1 for a root. name: index into `labels`. depth: 0 for a root. number: the argument of
    `CallTree.slices_of`; -1 if the node is not one path.

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
    number: Ints
    total: Ints
    self_ticks: Ints
    count: Ints
    zeros: Ints | None = None
    tracks: int = 0

    @property
    def track(self) -> Ints:
        """The index of each node into `Trace.tracks`, -1 for what is below none of them."""
        first = len(self.labels) - self.tracks
        outer = np.flatnonzero((self.depth == 0) | (self.name >= first))
        track = np.where(self.name[outer] >= first, self.name[outer].astype(np.int64) - first, -1)
        return np.repeat(track, np.diff(outer, append=len(self)))

    @cached_property
    def size(self) -> Ints:
        return sizes(self.parent, self.depth)

    def parent_of(self, node: int) -> int:
        return int(self.parent[node])

    @cached_property
    def levels(self) -> Levels:
        """The nodes of every depth."""
        return Levels.of(self.depth)

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
        columns: dict[str, Any] = {
            field.name: getattr(self, field.name)[index]
            for field in fields(self)
            if isinstance(getattr(self, field.name), np.ndarray)
        }
        return replace(self, **columns)
