"""What both views of the Calls panel show: the nodes of a tree, with their boxes and colors. No Qt.

The nodes are those of one trace with their costs, or the call paths of two arms with their changes.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from viewer.analysis.calls.call_table import CallTable
from viewer.arrays import Bools, Ints, narrow
from viewer.render.flame_graph.boxes import FlameGraph, FlameLayout
from viewer.render.palette import Palette
from viewer.render.raster import RowRaster

_MOST_KEPT = 1000  # nodes whose children are known


class CallRows:
    """The children of every node in one order; nodes that a search leaves out have no row."""

    def __init__(
        self, table: CallTable, rank: NDArray[Any] | None = None, keep: Bools | None = None
    ) -> None:
        """rank: per node what siblings are sorted by, ascending; None: the order of the table.

        keep: which nodes have a row; None: all. It includes the parents of each.
        """
        self._table, self._is_of_table = table, rank is None and keep is None
        self._below: dict[int, Ints] = {}
        if self._is_of_table:
            return  # preorder has the children of a node at hand
        nodes = np.arange(len(table)) if keep is None else np.flatnonzero(keep)
        parent = table.parent[nodes]
        keys = (parent,) if rank is None else (rank[nodes], parent)
        order = np.lexsort(keys)
        self._child: Ints = narrow(nodes[order])
        self._first = narrow(np.searchsorted(parent[order], np.arange(-1, len(table) + 1)))
        row = np.full(len(table), -1, self._child.dtype)
        row[self._child] = np.arange(len(nodes)) - self._first[table.parent[self._child] + 1]
        self._row = row

    def below(self, node: int) -> Ints:
        """Return the children of a node from top to bottom; of -1 the roots."""
        if not self._is_of_table:
            return self._child[self._first[node + 1] : self._first[node + 2]]
        if node not in self._below:
            end = len(self._table) if node < 0 else node + int(self._table.size[node])
            inside = self._table.parent[node + 1 : end]
            if len(self._below) >= _MOST_KEPT:
                self._below.clear()
            self._below[node] = np.flatnonzero(inside == node) + node + 1
        return self._below[node]

    def row(self, node: int) -> int:
        """Return the row of a node among its siblings, -1 for none."""
        if not self._is_of_table:
            return int(self._row[node])
        return int(np.searchsorted(self.below(int(self._table.parent[node])), node))


@dataclass(frozen=True, eq=False)
class ShownCalls:
    """The nodes of a tree, siblings by descending width in the flame graph.

    table: the nodes. width: the time of each in the graph. is_call: whether it is no process,
    thread or other group. color: palette indices. rows: those of the table view, as they are before
    the user sorts them. focus: the names of the node shown alone, () if all are shown.
    """

    table: CallTable
    width: Ints
    is_call: Bools
    color: Palette
    layout: FlameLayout
    raster: RowRaster
    rows: CallRows
    focus: tuple[str, ...]

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
