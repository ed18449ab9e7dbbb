"""The cost of each operator of a program in a range, as columns: alone, shared or none.

The rows of a `CostTable` are sets of operators, and a set's time is never divided. So an operator
has its self time and, separately, the time of sets that it shares with other operators, which
counts for all of them together.
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
    """Columns with one value per operator.

    self_ticks: ticks of the operator alone, -1 if it has no such row. wall: its part of the whole.
    shared: ticks of the sets that it shares, -1 if there are none. sets: the number of these sets.
    members: the number of operators in the largest of them. linked: whether any slice of the trace,
    in this range or not, is linked to it. whole: the total ticks that shares are relative to.
    zeros: how many slices of the operator alone the file cuts to 0.
    """

    self_ticks: Ints
    wall: Ints
    shared: Ints
    sets: Ints
    members: Ints
    linked: Bools
    whole: int
    zeros: Ints

    @property
    def cost_order(self) -> Ints:
        """The ranking key per operator: the larger of self and shared ticks, at least 0."""
        return np.maximum(np.maximum(self.self_ticks, self.shared), 0)

    @property
    def most_expensive(self) -> int:
        """The largest self time of any operator in ticks, 0 if none has any."""
        return max(int(self.self_ticks.max(initial=0)), 0)


def operator_costs(
    count: int, table: CostTable, linked: Iterable[tuple[int, ...]]
) -> OperatorCosts:
    """Return the costs of `count` operators in the range of a cost table.

    linked: the operator sets that any slice of the trace is linked to.
    """
    own, wall, shared = np.full((3, count), -1, np.int64)
    sets, members = np.zeros(count, np.int64), np.zeros(count, np.int64)
    seen = np.zeros(count, np.bool_)
    seen[np.fromiter(chain.from_iterable(linked), np.int64)] = True
    alone = [row for row in table.rows if not row.is_shared]
    numbers = np.array([row.operators[0] for row in alone], np.int64)
    own[numbers], wall[numbers] = [row.ticks for row in alone], [row.wall for row in alone]
    zeros = np.zeros(count, np.int64)
    zeros[numbers] = [row.zeros for row in alone]
    for row in table.rows:
        if not row.is_shared:
            continue
        members_of_set = list(row.operators)
        shared[members_of_set] = np.maximum(shared[members_of_set], 0) + row.ticks
        sets[members_of_set] += 1
        members[members_of_set] = np.maximum(members[members_of_set], len(members_of_set))
    return OperatorCosts(own, wall, shared, sets, members, seen, table.whole, zeros)
