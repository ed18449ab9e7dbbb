"""The change of each operator of A: of its own row by call, or of a row that it shares with others.

The rows by call are sets of operators, and the time of a set is never divided. So an operator has
the change of the row that has no other operator, and that of rows which it shares with others.
Events inside delegate calls are left out, as their calls have rows. An operator that A does not run
has the row in which B runs its pair.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from viewer.analysis.comparison.comparison import Compared, Comparison
from viewer.analysis.comparison.joined import Row
from viewer.analysis.comparison.rows import DELEGATE_EVENT
from viewer.analysis.comparison.steps import CHANGED
from viewer.arrays import Ints


@dataclass(frozen=True, eq=False)
class OperatorChanges:
    """The rows of every operator of the program of A, as indexes into `comparison.rows`.

    operators: per row, its operators of A, ascending; () for none. own: per operator, the row
    without other operators, -1 for none. shared: the row with the largest change of those that it
    shares, -1 for none. sets: the number of rows that it shares.
    """

    comparison: Comparison
    operators: tuple[tuple[int, ...], ...]
    own: Ints
    shared: Ints
    sets: Ints

    def row_of(self, operator: int) -> int:
        """The row that shows an operator, its own if it has one; -1 for none."""
        own = int(self.own[operator])
        return own if own >= 0 else int(self.shared[operator])

    def change_of(self, operator: int) -> Compared | None:
        """The figures of that row; None for none."""
        row = self.row_of(operator)
        return self.comparison.compared[row] if row >= 0 else None

    def rows_of(self, operator: int) -> tuple[int, ...]:
        """All rows of an operator."""
        return self._rows_of.get(operator, ())

    @cached_property
    def _rows_of(self) -> dict[int, tuple[int, ...]]:
        found: dict[int, list[int]] = {}
        for number, operators in enumerate(self.operators):
            for operator in operators:
                found.setdefault(operator, []).append(number)
        return {operator: tuple(rows) for operator, rows in found.items()}

    @cached_property
    def only_b(self) -> int:
        """How many rows only B has."""
        return sum(not row.a for row in self.comparison.rows if row.level != DELEGATE_EVENT)

    @cached_property
    def largest(self) -> float:
        """The largest proven change of a row, in ns; 0 for none."""
        rows = zip(self.comparison.rows, self.comparison.compared, strict=True)
        return max((abs(one.change_ns) for row, one in rows if _is_proven(row, one)), default=0.0)

    @cached_property
    def order(self) -> Ints:
        """The ranking key per operator: proven changes first, the largest first; 0 for no row."""
        count = len(self.comparison.rows)
        size, proven = np.zeros(count), np.zeros(count, np.bool_)
        rows = zip(self.comparison.rows, self.comparison.compared, strict=True)
        for number, (row, one) in enumerate(rows):
            size[number], proven[number] = abs(one.change_ns), _is_proven(row, one)
        rank = np.zeros(count + 1, np.int64)
        rank[np.lexsort((size, proven))] = np.arange(1, count + 1)
        return rank[np.where(self.own >= 0, self.own, self.shared)]


def operator_changes(comparison: Comparison) -> OperatorChanges:
    """Return the changes of all operators of A, none if A has no program. comparison: by call."""
    program = comparison.a.program
    count = 0 if program is None else len(program.operators)
    own, shared, sets = np.full(count, -1), np.full(count, -1), np.zeros(count, np.int64)
    compared = comparison.compared
    found = _operators_of_rows(comparison)
    for number, operators in enumerate(found):
        if len(operators) == 1:
            own[operators[0]] = number
            continue
        size = abs(compared[number].change_ns)
        for operator in operators:
            sets[operator] += 1
            before = int(shared[operator])
            if before < 0 or size > abs(compared[before].change_ns):
                shared[operator] = number
    return OperatorChanges(comparison, found, own, shared, sets)


def _operators_of_rows(comparison: Comparison) -> tuple[tuple[int, ...], ...]:
    of_b: dict[int, list[int]] = {}
    for pair in comparison.pairs.pairs:
        of_b.setdefault(pair.b, []).append(pair.a)
    parts_a, parts_b = comparison.a.parts, comparison.b.parts
    ran_in_a = {i for part in parts_a if part.id.event is None for i in part.operators}
    found: list[tuple[int, ...]] = []
    for row in comparison.rows:
        if row.level == DELEGATE_EVENT:
            found.append(())
            continue
        own = {i for part in row.a for i in parts_a[part].operators}
        partners = {i for part in row.b for j in parts_b[part].operators for i in of_b.get(j, ())}
        # What A runs is in the row of its own call.
        found.append(tuple(sorted(own | (partners - ran_in_a))))
    return tuple(found)


def _is_proven(row: Row, one: Compared) -> bool:
    return row.level != DELEGATE_EVENT and one.verdict in CHANGED
