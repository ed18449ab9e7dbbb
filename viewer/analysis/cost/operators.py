"""What each operator of a program cost in a range, as columns: alone, shared, or not at all.

The rows of a `CostTable` are of sets of operators. A set's time is never divided: an operator has
time of its own, and beside it the time of sets that it shares with others, which counts for all of
them together.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from itertools import chain

import numpy as np

from viewer.analysis.cost.costs import CostTable
from viewer.arrays import Bools, Ints


@dataclass(frozen=True, eq=False)
class OperatorCosts:
    """One value per operator. own: ticks of its own, -1 where it has no such row. shared: ticks of
    the sets that it shares, -1 where it shares none; sets: how many sets these are, members: how
    many operators the largest has. linked: whether any slice of the trace is linked to it, in this
    range or not. whole: the ticks that shares are shares of."""

    own: Ints
    shared: Ints
    sets: Ints
    members: Ints
    linked: Bools
    whole: int

    @property
    def cost_order(self) -> Ints:
        """What operators are ranked by: own ticks, or those that are shared if these are more."""
        return np.maximum(np.maximum(self.own, self.shared), 0)

    @property
    def most_expensive(self) -> int:
        """The most ticks that an operator has alone, 0 if none has any."""
        return max(int(self.own.max(initial=0)), 0)


def operator_costs(
    count: int, table: CostTable, linked: Iterable[tuple[int, ...]]
) -> OperatorCosts:
    """The costs of `count` operators in the range of a table. linked: the sets that any slice of
    the trace is linked to."""
    own, shared = np.full(count, -1, np.int64), np.full(count, -1, np.int64)
    sets, members = np.zeros(count, np.int64), np.zeros(count, np.int64)
    seen = np.zeros(count, np.bool_)
    seen[np.fromiter(chain.from_iterable(linked), np.int64)] = True
    alone = [row for row in table.rows if not row.is_shared]
    own[np.array([row.operators[0] for row in alone], np.int64)] = [row.ticks for row in alone]
    for row in table.rows:
        if not row.is_shared:
            continue
        of = list(row.operators)
        shared[of] = np.maximum(shared[of], 0) + row.ticks
        sets[of] += 1
        members[of] = np.maximum(members[of], len(of))
    return OperatorCosts(own, shared, sets, members, seen, table.whole)
