"""The change of every module with all that is in it.

A row of the comparison by module is counted in the module of A that it is in, and in all modules
around that one. A row whose operators lie in several modules, in A, is counted in the smallest that
contains them all, so its time is never divided. A row that only B has is counted in the module of A
with its path, or in the one around it that A has. So both times of a module are of the same
operators.

The times of a row are sums of medians (see `rollups`), and so are those of a module. Modules are
tested as one family; those that contain the same time, such as the only module in another, count
once.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from viewer.analysis.comparison.comparison import Compared, Comparison, figures_of
from viewer.analysis.comparison.rollups import OUTERMOST, module_key
from viewer.analysis.comparison.session_test import distinct_times
from viewer.arrays import Floats
from viewer.program.module_tree import ModuleTree
from viewer.program.program import GraphNode, Operator


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
        return tuple(number for number, at in enumerate(self.place) if at in inside)

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
        _rolled(np.array([[arm.grain_ns[list(own)].sum() for own in parts]]), place, tree)
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
    )
    compared = tuple(None if test < 0 else figures.of(test) for test in test_of.tolist())
    return ModuleChanges(comparison, tree, place, compared)


def _rolled(own: Floats, place: Iterable[int], tree: ModuleTree) -> Floats:
    """Add what is in each module to all modules around it, along the last axis.

    own: per row, NaN for none. Returns the sums per module, NaN for a module without any.
    """
    shape = len(tree.modules), len(own)
    sums, count = np.zeros(shape), np.zeros(shape, np.int64)
    for values, at in zip(own.T, place, strict=True):
        is_known = np.isfinite(values)
        sums[at] += np.where(is_known, values, 0)
        count[at] += is_known
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
    found = []
    for row in comparison.rows:
        arm = comparison.a if row.a else comparison.b
        keys = {key for part in row.a or row.b for key in arm.parts[part].id.group}
        modules = {n for key in keys for n in of_key.get(key) or _around(key, of_path)}
        found.append(tree.around_all(modules or {0}))
    return tuple(found)


def _around(key: str, of_path: dict[str, set[int]]) -> set[int]:
    """The innermost modules whose path contains that of a group which A does not have."""
    path = "" if key == OUTERMOST else key
    while path and path not in of_path:
        path = path.rpartition(".")[0]
    return of_path[path] if path else {0}
