"""What both views of the Calls panel show: the nodes of a tree, with their boxes and colors. No Qt.

The nodes are those of one trace with their costs, or the call paths of two arms with their changes.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from viewer.analysis.calls.call_table import CallNodes, CallTable, Levels
from viewer.arrays import Bools, Ints, narrow
from viewer.dataclasses import dataclass
from viewer.render.flame_graph.boxes import FlameGraph, FlameLayout
from viewer.render.palette import Palette
from viewer.render.raster import RowRaster

_NONE: Ints = np.empty(0, np.int64)


@dataclass(frozen=True, eq=False)
class PlacedCalls(CallNodes):
    """The nodes of a tree with their boxes, in half of the bytes of a `CallTable`.

    labels, name, number, count, zeros: as in `CallTable`. given_total, given_self: its other
    figures; both None if totals are the widths of boxes, and self time is what children leave. What
    is not held is computed on use: of few nodes at once, of all in 0.1 s of ten million.
    """

    labels: Sequence[str]
    name: Ints
    number: Ints
    count: Ints
    zeros: Ints | None
    layout: FlameLayout
    given_total: Ints | None = None
    given_self: Ints | None = None

    @staticmethod
    def of(table: CallTable, layout: FlameLayout) -> PlacedCalls:
        """Return the nodes of a table with all of its figures."""
        return PlacedCalls(
            table.labels,
            table.name,
            table.number,
            table.count,
            table.zeros,
            layout,
            table.total,
            table.self_ticks,
        )

    @property
    def levels(self) -> Levels:
        """Where nodes are in the tree."""
        return self.layout.levels

    @property
    def depth(self) -> Ints:
        """Per node its depth, 0 for a root."""
        return self.levels.depth

    @property
    def parent(self) -> Ints:
        """Per node the one above it, -1 for a root; computed on use."""
        return self.levels.parents

    @property
    def size(self) -> Ints:
        return self.levels.sizes

    def parent_of(self, node: int) -> int:
        return self.levels.parent(node)

    @property
    def total(self) -> Ints:
        """The total of each node; may be computed on use."""
        if self.given_total is not None:
            return self.given_total
        return self.levels.per_node(self.layout.right - self.layout.left)

    @property
    def self_ticks(self) -> Ints:
        """The self time of each node; may be computed on use."""
        if self.given_self is not None:
            return self.given_self
        width = self.layout.right - self.layout.left
        return self.levels.per_node(self.levels.without_children(width))

    def total_of(self, node: int) -> int:
        """Return the total of a node."""
        if self.given_total is not None:
            return int(self.given_total[node])
        left, right = self.layout.edges(node)
        return right - left

    def self_of(self, node: int) -> int:
        """Return the self time of a node."""
        if self.given_self is not None:
            return int(self.given_self[node])
        inner = self.levels.children(node)
        return self.total_of(node) - int(self.total_at(inner).sum())

    def total_of_all(self, nodes: Ints) -> Ints:
        """Return the totals of some nodes."""
        if self.given_total is not None:
            return self.given_total[nodes]
        return self.layout.widths(nodes)

    def self_of_all(self, nodes: Ints) -> Ints:
        """Return the self times of some nodes."""
        if self.given_self is not None:
            return self.given_self[nodes]
        # Children fill what a box has, from its left edge on, without gaps.
        first, stop = self.levels.children_of(nodes)
        totals, above = self.total_of_all(nodes), np.flatnonzero(stop > first)
        totals[above] -= self.layout.right[stop[above] - 1] - self.layout.left[first[above]]
        return totals

    def total_at(self, places: slice) -> Ints:
        """Return the totals of the nodes at some places of `levels`."""
        if self.given_total is not None:
            return self.given_total[self.levels.order[places]]
        return self.layout.right[places] - self.layout.left[places]

    def find(self, path: Sequence[str]) -> int | None:
        """Return the first node with these names from the root on, or None."""
        nodes = [-1]
        for text in path:
            below = np.concatenate([self.levels.below(node) for node in nodes] or [_NONE]).tolist()
            nodes = [node for node in below if self.text(node) == text]
        return min(nodes) if len(path) and nodes else None

    def table(self) -> CallTable:
        """Return the nodes with a column for each figure."""
        return CallTable(
            self.labels,
            self.parent,
            self.name,
            self.depth,
            self.number,
            self.total,
            self.self_ticks,
            self.count,
            self.zeros,
        )


class CallRows:
    """The children of every node in one order; nodes that a search leaves out have no row."""

    def __init__(
        self,
        table: CallTable | PlacedCalls,
        rank: NDArray[Any] | None = None,
        keep: Bools | None = None,
    ) -> None:
        """rank: per node what siblings are sorted by, ascending; None: the order of the table.

        keep: which nodes have a row; None: all. It includes the parents of each.
        """
        self._levels, self._is_of_table = table.levels, rank is None and keep is None
        if self._is_of_table:
            return  # preorder has the children of a node at hand
        nodes = np.arange(len(table)) if keep is None else np.flatnonzero(keep)
        parents = table.parent
        parent = parents[nodes]
        keys = (parent,) if rank is None else (rank[nodes], parent)
        order = np.lexsort(keys)
        self._child: Ints = narrow(nodes[order])
        self._first = narrow(np.searchsorted(parent[order], np.arange(-1, len(table) + 1)))
        row = np.full(len(table), -1, self._child.dtype)
        row[self._child] = np.arange(len(nodes)) - self._first[parents[self._child] + 1]
        self._row = row

    def below(self, node: int) -> Ints:
        """Return the children of a node from top to bottom; of -1 the roots."""
        if not self._is_of_table:
            return self._child[self._first[node + 1] : self._first[node + 2]]
        return self._levels.below(node)

    def row(self, node: int) -> int:
        """Return the row of a node among its siblings, -1 for none."""
        if not self._is_of_table:
            return int(self._row[node])
        return int(np.searchsorted(self.below(self._levels.parent(node)), node))


@dataclass(frozen=True, eq=False)
class ShownCalls:
    """The nodes of a tree, siblings by descending width in the flame graph.

    table: the nodes. no_calls: the names, as in it, of processes, threads and other groups. color:
    palette indices. rows: those of the table view, as they are before the user sorts them. focus:
    the names of the node shown alone, () if all are shown.
    """

    table: PlacedCalls
    no_calls: Ints
    color: Palette
    raster: RowRaster
    rows: CallRows
    focus: tuple[str, ...]

    @property
    def layout(self) -> FlameLayout:
        """The boxes of the nodes."""
        return self.table.layout

    @property
    def is_call(self) -> Bools:
        """Per node whether it is no process, thread or other group; computed on use."""
        is_group = np.zeros(len(self.table.labels), np.bool_)
        is_group[self.no_calls] = True
        return ~is_group[self.table.name]

    @property
    def whole(self) -> int:
        """The width of all roots together, which shares are of."""
        return self.layout.whole

    @property
    def name_rank(self) -> Ints:
        """Per node the place of its name among all, in alphabetical order without case."""
        return self.label_rank[self.table.name]

    @cached_property
    def label_rank(self) -> Ints:
        """The same per label."""
        table = self.table
        used = np.unique(table.name)
        texts = [table.labels[label].casefold() for label in used.tolist()]
        rank = np.zeros(len(table.labels), np.int64)
        rank[used[sorted(range(len(used)), key=texts.__getitem__)]] = np.arange(len(used))
        return rank

    @property
    def tree(self) -> object:
        """What the numbers of nodes are of; two answers of one tree can be compared by them."""
        raise NotImplementedError

    @property
    def is_inverted(self) -> bool:
        """Whether the callers of a name are below it."""
        return False

    def node_numbered(self, number: int) -> int:
        """Return the node with a number of `tree`, -1 if it is not shown or `number` is -1."""
        nodes = np.flatnonzero(self.table.number == number)
        return int(nodes[0]) if number >= 0 and len(nodes) else -1

    def picture(self, scope: str) -> FlameGraph:
        """Return the whole graph for a file; scope: what it covers, as in the panel's header."""
        raise NotImplementedError

    def path(self, node: int) -> list[str]:
        """Return the names of the calls from the outermost one to a node."""
        return [*self.focus[:-1], *self.table.path(node)]


@dataclass(frozen=True, slots=True, eq=False)
class Matches:
    """What a search finds: the nodes with the text in their name, and their figures.

    found: per shown node. around: these and the nodes around them. boxes: those of the found ones.
    calls: how many calls they are. ticks: their total, in which a call inside another one of them
    counts once. whole: what its share is of.
    """

    answer: ShownCalls
    found: Bools
    around: Bools
    boxes: RowRaster
    calls: int
    ticks: int
    whole: int
