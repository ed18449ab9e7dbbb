"""What modules cost: each set of operators is charged to the deepest module that has all of it.

`own` is the time of sets whose operators all lie directly in a module, `shared` that of sets that
lie in several modules of which it is the deepest around all: no part of it is given to one of them.
`total` is both, of the module and of all below it. So own and shared of all modules, which is the
root's total, and the time without an operator add up to the whole of the cost table, in ticks.

What a module shares with modules outside of it (`outside`) is in no number of its own: it is in the
total of the modules around both. One set of it may count as outside of several modules.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from viewer.analysis.cost.costs import CostRow, Costs, CostTable
from viewer.analysis.links.link_table import LinkTable
from viewer.arrays import Floats, Ints
from viewer.model.trace import Run
from viewer.program.module_tree import ModuleTree

# Ticks of runs times modules or sets that are held at a time: 80 MB.
MOST_OF_RUNS = 10_000_000


@dataclass(frozen=True, eq=False)
class ModuleCosts:
    """A cost table, cut by modules. Per module, int64: own, shared, outside and total in ticks;
    slices: how many begin in the range, with those of all modules below it.

    single: the row of every operator that costs something alone. sets: per module the rows of
    several operators that are charged to it, dearest first.
    """

    tree: ModuleTree
    table: CostTable
    own: Ints
    shared: Ints
    outside: Ints
    total: Ints
    slices: Ints
    single: dict[int, CostRow]
    sets: tuple[tuple[CostRow, ...], ...]

    @property
    def whole(self) -> int:
        """The whole of the cost table, without a sum over its rows."""
        return int(self.total[0]) + self.table.without_operator

    @cached_property
    def in_sets(self) -> dict[int, int]:
        """Per operator that is in any the ticks of the sets that it shares with others."""
        found: dict[int, int] = {}
        for row in (row for rows in self.sets for row in rows):
            for operator in row.operators:
                found[operator] = found.get(operator, 0) + row.ticks
        return found

    def is_across(self, number: int, row: CostRow) -> bool:
        """Whether a set that is charged to a module reaches into modules in it."""
        return any(int(self.tree.of_operator[i]) != number for i in row.operators)


def module_costs(tree: ModuleTree, table: CostTable) -> ModuleCosts:
    """Charge the rows of a cost table to the modules of its program."""
    count = len(tree.modules)
    own, shared, outside, slices = np.zeros((4, count), np.int64)
    single: dict[int, CostRow] = {}
    sets: list[list[CostRow]] = [[] for _ in range(count)]
    for row in table.rows:
        at = tree.common(row.operators)
        slices[at] += row.slices
        if not row.is_shared:
            single[row.operators[0]] = row
            own[at] += row.ticks
            continue
        sets[at].append(row)
        places = {int(tree.of_operator[i]) for i in row.operators}
        if places == {at}:
            own[at] += row.ticks
            continue
        shared[at] += row.ticks
        depth = tree.modules[at].depth
        around = {n for p in places for n in tree.around(p) if tree.modules[n].depth > depth}
        outside[list(around)] += row.ticks
    return ModuleCosts(
        tree,
        table,
        own,
        shared,
        outside,
        tree.total(own + shared),
        tree.total(slices),
        single,
        tuple(map(tuple, sets)),
    )


@dataclass(frozen=True, eq=False)
class RunMedians:
    """The median over the inferences that ran a method, in ticks of one run (float64).

    modules: of the totals of every module. sets: of the ticks of every set of the link table. NaN
    where no inference is known to have run the method, and for a model whose methods ran in turns.
    runs: how many inferences there are; why: the reason why there is no median of any.
    """

    modules: Floats
    sets: dict[tuple[int, ...], float]
    runs: int
    why: str = ""


def run_medians(tree: ModuleTree, table: LinkTable, costs: Costs) -> RunMedians:
    """The medians of modules and sets over all inferences of a linked trace."""
    sets, runs = table.sets, list(table.trace.inferences())
    modules = np.full(len(tree.modules), np.nan)
    of_sets = np.full(len(sets), np.nan)
    if len(runs) < 2:
        return RunMedians(modules, {}, len(runs), "The profile has less than two runs")
    if len(runs) * max(len(sets), len(modules)) > MOST_OF_RUNS:
        why = f"{len(runs)} runs times {len(sets)} sets of operators are too many to hold"
        return RunMedians(modules, {}, len(runs), why)
    ticks = costs.ticks_of_runs(runs)
    at = np.array([tree.common(own) for own in sets], np.int64)
    charged = np.zeros((len(modules), len(runs)), np.int64)
    np.add.at(charged, at, ticks.T)
    total = tree.total(charged.T)
    names = [method.name for method in tree.program.methods]
    methods = np.array([_method_number(names, table, run) for run in runs])
    for place, module in enumerate(tree.modules):
        if module.parent >= 0 and tree.modules[module.parent].method:
            continue  # it is of the method around it
        numbers = range(len(names)) if not module.method else [names.index(module.method)]
        ran = [n for n in numbers if (methods == n).any()]
        if len(ran) != 1:
            continue
        of_method = methods == ran[0]
        mine = slice(place, module.end if module.method else place + 1)
        modules[mine] = np.median(total[of_method][:, mine], axis=0)
        inside = np.flatnonzero((at >= mine.start) & (at < mine.stop))
        of_sets[inside] = np.median(ticks[of_method][:, inside], axis=0)
    medians = zip(sets, of_sets.tolist(), strict=True)
    return RunMedians(modules, {own: p50 for own, p50 in medians if p50 == p50}, len(runs))


def _method_number(names: Sequence[str], table: LinkTable, run: Run) -> int:
    """Which method a run is of, -1 if that is not known."""
    if len(names) == 1:
        return 0
    name = table.method_of_scope(run.scope)
    return names.index(name) if name in names else -1
