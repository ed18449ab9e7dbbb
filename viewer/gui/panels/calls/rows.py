"""The rows of the Calls table: which nodes are below which, in which order, as columns. No Qt."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from viewer.analysis.calls.call_table import CallTable
from viewer.arrays import Bools, Ints


class CallRows:
    """The children of every node in one order; nodes that a search leaves out have no row.

    row: per node its row among its siblings, -1 for none.
    """

    def __init__(
        self, table: CallTable, rank: NDArray[Any] | None = None, keep: Bools | None = None
    ) -> None:
        """rank: per node what siblings are sorted by, ascending; None: the order of the table.

        keep: which nodes have a row; None: all. It includes the parents of each.
        """
        nodes = np.arange(len(table)) if keep is None else np.flatnonzero(keep)
        parent = table.parent[nodes]
        keys = (parent,) if rank is None else (rank[nodes], parent)
        order = np.lexsort(keys)
        self._child: Ints = nodes[order]
        self._first = np.searchsorted(parent[order], np.arange(-1, len(table) + 1))
        self.row: Ints = np.full(len(table), -1, np.int64)
        self.row[self._child] = np.arange(len(nodes)) - self._first[table.parent[self._child] + 1]

    def below(self, node: int) -> Ints:
        """Return the children of a node from top to bottom; of -1 the roots."""
        return self._child[self._first[node + 1] : self._first[node + 2]]

    def count_below(self, node: int) -> int:
        """Return how many children a node has."""
        return int(self._first[node + 2] - self._first[node + 1])
