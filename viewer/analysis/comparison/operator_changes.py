"""The changes of operators, modules and delegates, as the panels of a model show them.

The time of a set of operators is never divided. So an operator has the change of the row that has
no other operator, and that of rows which it shares with others. Events inside delegate calls are
left out, as their calls have rows. An operator that A does not run has the row in which B runs its
pair.

A row of the comparison by module is counted in all modules around it. A row whose operators lie in
several modules of A is counted in the smallest that contains them all, and a row that only B has in
the module of A with its path, or in the one around it that A has. So both times of a module are of
the same operators, and sums of medians (see `rollups`). Modules that contain the same time, such as
the only module in another, count once in their family of tests.

What moved out of a delegate call, or into one, has only the time that it took outside, because the
call shares its time among its operators. A row by call compares all of both sides.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from functools import cached_property

import numpy as np

from viewer.analysis.comparison.arms import Arm
from viewer.analysis.comparison.comparison import CHANGED, Compared, Comparison, figures_of
from viewer.analysis.comparison.levels import CALLS
from viewer.analysis.comparison.operator_pairs import Row
from viewer.analysis.comparison.rollups import OUTERMOST, module_key
from viewer.analysis.comparison.rows import DELEGATE_EVENT
from viewer.analysis.comparison.session_test import distinct_times
from viewer.arrays import Floats, Ints, lists_by_key, numbers_at
from viewer.dataclasses import dataclass
from viewer.model.quantiles import median
from viewer.program.module_tree import ModuleTree
from viewer.program.program import GraphNode, Operator


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
        row = int(self.own[operator])
        return row if row >= 0 else int(self.shared[operator])

    def change_of(self, operator: int) -> Compared | None:
        """The figures of that row; None for none."""
        row = self.row_of(operator)
        return self.comparison.compared[row] if row >= 0 else None

    def rows_of(self, operator: int) -> tuple[int, ...]:
        return self._rows_of.get(operator, ())

    @cached_property
    def _rows_of(self) -> dict[int, tuple[int, ...]]:
        rows_of = lists_by_key(
            (operator, number)
            for number, operators in enumerate(self.operators)
            for operator in operators
        )
        return {operator: tuple(rows) for operator, rows in rows_of.items()}

    @cached_property
    def only_b(self) -> int:
        """How many rows only B has."""
        return sum(not row.a for row in self.comparison.rows if row.level != DELEGATE_EVENT)

    @cached_property
    def largest(self) -> float:
        """The largest proven change of a row, in ns; 0 for none."""
        rows = zip(self.comparison.rows, self.comparison.compared, strict=True)
        return max(
            (abs(compared.change_ns) for row, compared in rows if _is_proven(row, compared)),
            default=0.0,
        )

    @cached_property
    def order(self) -> Ints:
        """The ranking key per operator: proven changes first, the largest first; 0 for no row."""
        count = len(self.comparison.rows)
        size, proven = np.zeros(count), np.zeros(count, np.bool_)
        rows = zip(self.comparison.rows, self.comparison.compared, strict=True)
        for number, (row, compared) in enumerate(rows):
            size[number], proven[number] = abs(compared.change_ns), _is_proven(row, compared)
        rank = numbers_at(count + 1, np.lexsort((size, proven)), np.arange(1, count + 1))
        return rank[np.where(self.own >= 0, self.own, self.shared)]


def operator_changes(comparison: Comparison) -> OperatorChanges:
    """Return the changes of all operators of A, none if A has no program. comparison: by call."""
    program = comparison.a.program
    count = 0 if program is None else len(program.operators)
    own_row, shared, sets = np.full(count, -1), np.full(count, -1), np.zeros(count, np.int64)
    compared = comparison.compared
    operators_of_rows = _operators_of_rows(comparison)
    for number, operators in enumerate(operators_of_rows):
        if len(operators) == 1:
            own_row[operators[0]] = number
            continue
        size = abs(compared[number].change_ns)
        for operator in operators:
            sets[operator] += 1
            before = int(shared[operator])
            if before < 0 or size > abs(compared[before].change_ns):
                shared[operator] = number
    return OperatorChanges(comparison, operators_of_rows, own_row, shared, sets)


def _operators_of_rows(comparison: Comparison) -> tuple[tuple[int, ...], ...]:
    of_b = lists_by_key((pair.b, pair.a) for pair in comparison.pairs.pairs)
    parts_a, parts_b = comparison.a.parts, comparison.b.parts
    ran_in_a = {i for part in parts_a if part.id.event is None for i in part.operators}
    operators_of_rows: list[tuple[int, ...]] = []
    for row in comparison.rows:
        if row.level == DELEGATE_EVENT:
            operators_of_rows.append(())
            continue
        operators = {i for part in row.a for i in parts_a[part].operators}
        partners = {i for part in row.b for j in parts_b[part].operators for i in of_b.get(j, ())}
        # What A runs is in the row of its own call.
        operators_of_rows.append(tuple(sorted(operators | (partners - ran_in_a))))
    return tuple(operators_of_rows)


def _is_proven(row: Row, compared: Compared) -> bool:
    return row.level != DELEGATE_EVENT and compared.verdict in CHANGED


@dataclass(frozen=True, eq=False)
class ModuleChanges:
    """The changes of the modules of A.

    comparison: by module. tree: of the program of A. place: the module of every row of the
    comparison. compared: per module, None for one without any time in both arms.
    """

    comparison: Comparison
    tree: ModuleTree
    place: tuple[int, ...]
    compared: tuple[Compared | None, ...]

    def rows_in(self, module: int) -> tuple[int, ...]:
        """The numbers of the rows that a module and all modules in it have."""
        inside = range(module, self.tree.modules[module].end)
        return tuple(number for number, module in enumerate(self.place) if module in inside)

    @cached_property
    def only_b(self) -> int:
        """How many rows only B has."""
        return sum(not row.a for row in self.comparison.rows)


def module_changes(comparison: Comparison, tree: ModuleTree) -> ModuleChanges:
    """Return the changes of modules. comparison: by module. tree: of the program of A."""
    a, b, rows = comparison.a, comparison.b, comparison.rows
    place = _places(comparison, tree)
    times_a = _rolled(comparison.medians(0, [row.a for row in rows]), place, tree)
    times_b = _rolled(comparison.medians(1, [row.b for row in rows]), place, tree)
    steps = [
        _rolled(
            np.array([[arm.grain_ns[list(row_parts)].sum() for row_parts in parts]]), place, tree
        )
        for arm, parts in ((a, [row.a for row in rows]), (b, [row.b for row in rows]))
    ]
    estimated = [
        float(not (a.is_measured[list(row.a)].all() and b.is_measured[list(row.b)].all()))
        for row in rows
    ]
    unmeasured = _rolled(np.array([estimated]), place, tree)[0]
    used, test_of = distinct_times(times_a, times_b)
    figures = figures_of(
        times_a[:, used],
        times_b[:, used],
        np.fmax(steps[0][0], steps[1][0])[used],
        ~(unmeasured[used] > 0),
        len(a.units | b.units) == 1,
        confounded=comparison.confounded(len(used)),
    )
    compared = tuple(None if test < 0 else figures.of(test) for test in test_of.tolist())
    return ModuleChanges(comparison, tree, place, compared)


def _rolled(figures: Floats, place: Iterable[int], tree: ModuleTree) -> Floats:
    """Add what is in each module to all modules around it, along the last axis.

    figures: per row, NaN for none. Returns the sums per module, NaN for a module without any.
    """
    shape = len(tree.modules), len(figures)
    sums, count = np.zeros(shape), np.zeros(shape, np.int64)
    for values, module in zip(figures.T, place, strict=True):
        is_known = np.isfinite(values)
        sums[module] += np.where(is_known, values, 0)
        count[module] += is_known
    for n in range(len(tree.modules) - 1, 0, -1):  # modules come after those around them
        around = tree.modules[n].parent
        sums[around] += sums[n]
        count[around] += count[n]
    return np.where(count > 0, sums, np.nan).T


def _places(comparison: Comparison, tree: ModuleTree) -> tuple[int, ...]:
    program = tree.program
    of_key: dict[str, set[int]] = {}
    every: Iterable[tuple[Operator | GraphNode, int]] = (
        *zip(program.operators, tree.of_operator.tolist(), strict=True),
        *zip(program.nodes, tree.of_node.tolist(), strict=True),
    )
    for part, number in every:
        of_key.setdefault(module_key(part), set()).add(number)
    of_path: dict[str, set[int]] = {}
    for n, module in enumerate(tree.modules):
        of_path.setdefault(module.path, set()).add(n)
    places = []
    for row in comparison.rows:
        arm = comparison.a if row.a else comparison.b
        keys = {key for part in row.a or row.b for key in arm.parts[part].id.group}
        modules = {n for key in keys for n in of_key.get(key) or _around(key, of_path)}
        places.append(tree.around_all(modules or {0}))
    return tuple(places)


def _around(key: str, of_path: dict[str, set[int]]) -> set[int]:
    """The innermost modules whose path contains that of a group which A does not have."""
    path = "" if key == OUTERMOST else key
    while path and path not in of_path:
        path = path.rpartition(".")[0]
    return of_path[path] if path else {0}


@dataclass(frozen=True, slots=True)
class ArmCoverage:
    """What delegates run in an arm.

    calls: the number of delegate calls. operators: of those that ran. delegated: of those in
    delegate calls. partly: of those of them that also ran outside. ns: the median time of all
    delegate calls in an inference, 0 without any; None if no session has them. inference_ns: that
    of the inference, None without inferences.
    """

    calls: int
    operators: int
    delegated: int
    partly: int
    ns: float | None
    inference_ns: float | None


@dataclass(frozen=True, slots=True)
class MovedCall:
    """Operators that one arm runs outside delegates, and the other in delegate calls.

    operators: indexes into the program of the arm that runs them outside. parts: their calls there.
    ns: the median time of these calls per inference, None if no session has it. row: the row by
    call that has both sides. into: the delegate calls of the other arm, as parts. members: the
    number of operators in those calls. is_partly: whether the other arm runs a part of them outside
    delegates, too.
    """

    operators: tuple[int, ...]
    parts: tuple[int, ...]
    ns: float | None
    row: int
    into: tuple[int, ...]
    members: int
    is_partly: bool


@dataclass(frozen=True, eq=False)
class DelegationChanges:
    """The differences in delegation between two arms.

    calls: by call. by_delegate: all calls of each delegate, and what is not delegated. rows: the
    rows of `calls` in which an arm calls a delegate. coverage: of A and of B. only_in: what is
    delegated only in A, and only in B, the longest first. is_linked: whether the operators of both
    arms are known; without them nothing is known about what moved.
    """

    calls: Comparison
    by_delegate: Comparison
    rows: tuple[int, ...]
    coverage: tuple[ArmCoverage, ArmCoverage]
    only_in: tuple[tuple[MovedCall, ...], tuple[MovedCall, ...]]
    is_linked: bool

    @property
    def has_calls(self) -> bool:
        """Whether the profiles have calls of instructions, which may be calls of delegates."""
        return self.calls.a.level == CALLS


def delegation_changes(calls: Comparison, by_delegate: Comparison) -> DelegationChanges:
    """Return the differences in delegation of a comparison by call and the same one by delegate."""
    a, b = calls.a, calls.b
    is_linked = a.program is not None and b.program is not None
    inference = calls.inference
    coverage = _coverage(a, inference.a_ns), _coverage(b, inference.b_ns)
    if calls.a.level != CALLS:
        return DelegationChanges(calls, by_delegate, (), coverage, ((), ()), is_linked)
    rows = tuple(
        number
        for number, row in enumerate(calls.rows)
        if row.level == CALLS
        and any(
            arm.parts[part].backend for arm, parts in ((a, row.a), (b, row.b)) for part in parts
        )
    )
    into_b = lists_by_key((pair.a, pair.b) for pair in calls.pairs.pairs)
    into_a = lists_by_key((pair.b, pair.a) for pair in calls.pairs.pairs)
    row_of_part: tuple[dict[int, int], dict[int, int]] = ({}, {})
    for number, row in enumerate(calls.rows):
        if row.level == CALLS:
            row_of_part[0].update(dict.fromkeys(row.a, number))
            row_of_part[1].update(dict.fromkeys(row.b, number))
    only_in = (
        _moved(calls, 1, into_a, row_of_part[1]),
        _moved(calls, 0, into_b, row_of_part[0]),
    )
    return DelegationChanges(calls, by_delegate, rows, coverage, only_in, is_linked)


class _Runs:
    """Which calls of an arm run each operator, in delegates and outside."""

    def __init__(self, arm: Arm) -> None:
        self.inside: dict[int, list[int]] = {}
        self.outside: dict[int, list[int]] = {}
        for number, part in enumerate(arm.parts):
            if part.id.event is None:
                parts = self.inside if part.backend else self.outside
                for operator in part.operators:
                    parts.setdefault(operator, []).append(number)


def _coverage(arm: Arm, inference_ns: float | None) -> ArmCoverage:
    runs = _Runs(arm)
    calls = [i for i, part in enumerate(arm.parts) if part.backend and part.id.event is None]
    return ArmCoverage(
        len(calls),
        len(runs.inside.keys() | runs.outside.keys()),
        len(runs.inside),
        len(runs.inside.keys() & runs.outside.keys()),
        _median(arm, calls) if calls else 0.0,
        inference_ns,
    )


def _median(arm: Arm, parts: Iterable[int]) -> float | None:
    """The median time of some parts together; None if no session has them."""
    times = arm.medians([parts])[:, 0]
    return median(times) if np.isfinite(times).any() else None


def _moved(
    comparison: Comparison, side: int, into: Mapping[int, Sequence[int]], row_of: Mapping[int, int]
) -> tuple[MovedCall, ...]:
    """What one arm runs outside delegates only, and the other in them.

    side: the arm that runs it outside, 0 for A. into: the operators of the other arm that each
    operator belongs to. row_of: per part of the first arm, its row by call.
    """
    arms = comparison.a, comparison.b
    outside, inside = arms[side], arms[1 - side]
    runs, other = _Runs(outside), _Runs(inside)
    calls: dict[tuple[int, ...], list[int]] = {}
    for number, part in enumerate(outside.parts):
        moved = not part.backend and part.id.event is None and any(
            i not in runs.inside and any(j in other.inside for j in into.get(i, ()))
            for i in part.operators
        )  # fmt: skip
        if moved:
            calls.setdefault(part.operators, []).append(number)
    medians = comparison.medians(side, [tuple(parts) for parts in calls.values()])
    moved_calls = []
    for column, (operators, parts) in enumerate(calls.items()):
        partners = [j for i in operators for j in into.get(i, ())]
        delegate_calls = sorted({n for j in partners for n in other.inside.get(j, ())})
        times = medians[:, column]
        moved_calls.append(
            MovedCall(
                operators,
                tuple(parts),
                median(times) if np.isfinite(times).any() else None,
                row_of[parts[0]],
                tuple(delegate_calls),
                len({i for n in delegate_calls for i in inside.parts[n].operators}),
                any(j in other.outside for j in partners),
            )
        )
    return tuple(sorted(moved_calls, key=lambda moved_call: -(moved_call.ns or 0.0)))
