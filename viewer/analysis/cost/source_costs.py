"""The cost of places in the source: the lines of a file, and modules.

A set of operators is charged to its line, or shared by its lines, and to the deepest module that
contains it. Where it is known which graph nodes of an operator ran, their lines and modules count:
export puts the nodes that quantize a value under the debug handle of a neighbor, which may be in
another module.

Of a module, `self_ticks` is the time of sets whose operators are all directly in it, `shared` that
of sets of which it is the deepest common module, and `total` is both, with all descendants. `wall`
is the wall time of what is in the total: that of the root and the time without an operator add up
to the total of the cost table. Time shared with modules outside it (`outside`) is in none of its
other numbers, and may count in several modules.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import cached_property

import numpy as np

from viewer.analysis.cost.costs import CostRow, Costs, CostTable
from viewer.analysis.links.link_table import LinkTable
from viewer.arrays import Floats, Ints
from viewer.dataclasses import dataclass
from viewer.model import quantiles
from viewer.model.inference_views import of_one_phase
from viewer.model.trace import Run
from viewer.model.warm_up import counted_inferences
from viewer.program.module_tree import ModuleTree
from viewer.program.program import GraphNode, Operator, Program


@dataclass(frozen=True, slots=True)
class SelfCost:
    """The self and the wall ticks of one line, and its operator sets, most expensive first.

    zeros: how many of its slices the file cuts to 0.
    """

    ticks: int
    wall: int
    sets: tuple[tuple[int, ...], ...]
    zeros: int = 0


@dataclass(frozen=True, slots=True)
class SharedCost:
    """Time that several lines share, in ticks. `elsewhere`: some operators are in other files."""

    lines: tuple[int, ...]
    ticks: int
    sets: tuple[tuple[int, ...], ...]
    elsewhere: bool = False


@dataclass(frozen=True, slots=True)
class LineCosts:
    """The costs of one file: self time by line, and shared time, most expensive first."""

    self_costs: Mapping[int, SelfCost]
    shared: tuple[SharedCost, ...]

    @property
    def shared_by_line(self) -> dict[int, int]:
        """The ticks of shared time of each line; not divided, so that they do not add up."""
        ticks_of_line: dict[int, int] = {}
        for part in self.shared:
            for line in part.lines:
                ticks_of_line[line] = ticks_of_line.get(line, 0) + part.ticks
        return ticks_of_line


def place_of(item: Operator | GraphNode) -> tuple[str, int] | None:
    """Return the recorded path and line of an operator or node; None if it has no source."""
    source = item.source
    return (source.path, source.line) if source else None


def users_place_of(item: Operator | GraphNode) -> tuple[str, int] | None:
    """Return the path and line in the user's own files that an operator or node came from.

    Where its source line is in an installed package, it is the line that this was called from.
    """
    line = item.users_line
    return (line.path, line.line) if line else None


PlaceOf = Callable[[Operator | GraphNode], tuple[str, int] | None]


def line_costs(
    program: Program, table: CostTable, path: str, place_of: PlaceOf = place_of
) -> LineCosts:
    """Assign the rows of a cost table to the lines of the file recorded as `path`.

    place_of: `users_place_of` for the lines of the user's own files.
    """
    rows_of_line: dict[int, list[CostRow]] = {}
    shared: dict[tuple[tuple[int, ...], bool], list[CostRow]] = {}
    for row in table.by_nodes:
        places = {place_of(part) for part in program.parts(row.operators, row.nodes)}
        lines = tuple(sorted(place[1] for place in places if place and place[0] == path))
        if not lines:
            continue
        if len(places) == 1:
            rows_of_line.setdefault(lines[0], []).append(row)
        else:
            shared.setdefault((lines, len(lines) < len(places)), []).append(row)
    parts = [
        SharedCost(lines, sum(r.ticks for r in rows), _sets(rows), elsewhere)
        for (lines, elsewhere), rows in shared.items()
    ]
    return LineCosts(
        {
            line: SelfCost(
                sum(r.ticks for r in rows),
                sum(r.wall for r in rows),
                _sets(rows),
                sum(r.zeros for r in rows),
            )
            for line, rows in rows_of_line.items()
        },
        tuple(sorted(parts, key=lambda part: -part.ticks)),
    )


def most_expensive_lines(
    program: Program, table: CostTable, place_of: PlaceOf = place_of
) -> tuple[tuple[str, int], ...]:
    """Return the path and most expensive line of each file, most expensive first.

    Lines are ranked by self time. Files without any self time come last, with the first line of the
    most expensive calls that they share. A function is only the caller of the operations in it, so
    its own line does not count.
    """
    ticks_of_place: dict[tuple[str, int], int] = {}
    shared: dict[str, tuple[str, int]] = {}
    for row in table.by_nodes:
        if not row.ticks or all(program.operators[i].is_function for i in row.operators):
            continue
        places = {place_of(part) for part in program.parts(row.operators, row.nodes)}
        stated_places = sorted(place for place in places if place)
        if stated_places and len(places) == 1:
            ticks_of_place[stated_places[0]] = ticks_of_place.get(stated_places[0], 0) + row.ticks
        for place in stated_places:
            shared.setdefault(place[0], place)  # rows are sorted, most expensive first
    lines: dict[str, tuple[str, int]] = {}
    for place in sorted(ticks_of_place, key=lambda place_key: -ticks_of_place[place_key]):
        lines.setdefault(place[0], place)
    return tuple(
        {**lines, **{path: place for path, place in shared.items() if path not in lines}}.values()
    )


def first_lines(program: Program, place_of: PlaceOf = place_of) -> tuple[tuple[str, int], ...]:
    """Return the path of each file and the line of its first operator, in program order."""
    lines: dict[str, tuple[str, int]] = {}
    for operator in program.operators:
        if place := place_of(operator):
            lines.setdefault(place[0], place)
    return tuple(lines.values())


def source_place(program: Program, operator: int) -> tuple[str, int] | None:
    """Return the recorded path and line of an operator; None if it has no recorded source."""
    return place_of(program.operators[operator])


def lines_text(lines: Iterable[int]) -> str:
    """Format lines as "49–50, 52": ascending, with consecutive lines joined."""
    runs: list[tuple[int, int]] = []
    for line in sorted(set(lines)):
        if runs and line == runs[-1][1] + 1:
            runs[-1] = (runs[-1][0], line)
        else:
            runs.append((line, line))
    return ", ".join(str(a) if a == b else f"{a}–{b}" for a, b in runs)


def _sets(rows: list[CostRow]) -> tuple[tuple[int, ...], ...]:
    return tuple(dict.fromkeys(row.operators for row in rows))


# Limit of runs × modules (or sets) held in memory at once: 80 MB of int64.
MOST_OF_RUNS = 10_000_000


@dataclass(frozen=True, eq=False)
class ModuleCosts:
    """A cost table broken down by module.

    Arrays with one int64 per module: self_ticks, shared, outside, total and wall in ticks, and
    slices, the number of slices that start in the range, including those of all descendants; zeros:
    how many of these the file cuts to 0; kernel: the time of their kernels in ticks; forward,
    backward: the parts of the total in the first and second of `Program.directions`, 0 without.

    single: the row of every operator that has a cost of its own in its module. sets: per module the
    other rows that are charged to it, most expensive first: those of several operators, and those
    of an operator of another module whose nodes are here.
    """

    tree: ModuleTree
    table: CostTable
    self_ticks: Ints
    shared: Ints
    outside: Ints
    total: Ints
    wall: Ints
    slices: Ints
    zeros: Ints
    kernel: Ints
    forward: Ints
    backward: Ints
    single: dict[int, CostRow]
    sets: tuple[tuple[CostRow, ...], ...]

    @property
    def whole(self) -> int:
        """The total of the cost table, without summing its rows."""
        return int(self.wall[0]) + self.table.without_operator

    @cached_property
    def in_sets(self) -> dict[int, int]:
        """Ticks of the sets that each operator shares with others; only operators in such sets."""
        ticks_of_operator: dict[int, int] = {}
        for row in (row for rows in self.sets for row in rows if row.is_shared):
            for operator in row.operators:
                ticks_of_operator[operator] = ticks_of_operator.get(operator, 0) + row.ticks
        return ticks_of_operator

    def rows_of(self, module: int) -> list[CostRow]:
        """Return the rows in a module's total, or if none, those that it shares with others."""
        tree, end = self.tree, self.tree.modules[module].end
        cost_rows = [
            row
            for row in self.table.by_nodes
            if module <= tree.around_all(modules_of(tree, row.operators, row.nodes)) < end
        ]
        members = set(tree.operators_in(module))
        return cost_rows or [r for r in self.table.by_nodes if not members.isdisjoint(r.operators)]

    def is_across(self, number: int, row: CostRow) -> bool:
        """Return whether a set charged to a module has operators in its descendants."""
        return modules_of(self.tree, row.operators, row.nodes) != {number}


def module_costs(tree: ModuleTree, table: CostTable) -> ModuleCosts:
    """Charge the rows of a cost table to the modules of its program."""
    count = len(tree.modules)
    own_ticks, shared, outside, wall, slices, zeros, kernel = np.zeros((7, count), np.int64)
    program, ways = tree.program, np.zeros((2, count), np.int64)
    merged: dict[tuple[int, tuple[int, ...]], CostRow] = {}
    for row in table.by_nodes:
        places = modules_of(tree, row.operators, row.nodes)
        module = tree.around_all(places)
        slices[module] += row.slices
        wall[module] += row.wall
        zeros[module] += row.zeros
        kernel[module] += row.kernel
        for way, method in zip(ways, program.directions, strict=False):
            if program.operators[row.operators[0]].method == method:
                way[module] += row.ticks
        cost_row = merged.get((module, row.operators))
        merged[module, row.operators] = row if cost_row is None else _sum(cost_row, row)
        if places == {module}:
            own_ticks[module] += row.ticks
            continue
        shared[module] += row.ticks
        depth = tree.modules[module].depth
        around = {n for p in places for n in tree.around(p) if tree.modules[n].depth > depth}
        outside[list(around)] += row.ticks
    single: dict[int, CostRow] = {}
    sets: list[list[CostRow]] = [[] for _ in range(count)]
    for (module, operators), row in merged.items():
        if row.is_shared or module != tree.of_operator[operators[0]]:
            sets[module].append(row)
        else:
            single[operators[0]] = row
    return ModuleCosts(
        tree,
        table,
        own_ticks,
        shared,
        outside,
        tree.total(own_ticks + shared),
        tree.total(wall),
        tree.total(slices),
        tree.total(zeros),
        tree.total(kernel),
        tree.total(ways[0]),
        tree.total(ways[1]),
        single,
        tuple(tuple(sorted(rows, key=lambda row: -row.ticks)) for rows in sets),
    )


def modules_of(tree: ModuleTree, operators: Sequence[int], nodes: Sequence[int]) -> set[int]:
    """Return the modules of some nodes, or of their operators if these are all of their nodes.

    Indexes into `Program.operators`, `Program.nodes` and `ModuleTree.modules`.
    """
    program = tree.program
    if len(nodes) < sum(len(program.operators[i].nodes) for i in operators):
        return {int(tree.of_node[i]) for i in nodes}
    return {int(tree.of_operator[i]) for i in operators}


def _sum(a: CostRow, b: CostRow) -> CostRow:
    """Return the row of two sets of nodes of the same operators."""
    nodes = tuple(sorted({*a.nodes, *b.nodes}))
    return CostRow(
        a.operators,
        a.ticks + b.ticks,
        a.wall + b.wall,
        a.kernel + b.kernel,
        a.slices + b.slices,
        nodes,
        a.zeros + b.zeros,
    )


@dataclass(frozen=True, eq=False)
class RunMedians:
    """Medians over the finished inferences that ran a method, in ticks (float64).

    modules: the median total of every module. sets: the median ticks of every row of
    `ModuleCosts.single` and `sets`, by its module and operators. NaN if no inference is known to
    have run the method, and for a model whose inferences alternate between methods. runs: the
    number of inferences. why: why there are no medians at all, or "".
    """

    modules: Floats
    sets: dict[tuple[int, tuple[int, ...]], float]
    runs: int
    why: str = ""


def run_medians(
    tree: ModuleTree, table: LinkTable, costs: Costs, *, warm_up: bool = False
) -> RunMedians:
    """Return the medians of modules and sets over the inferences of a linked trace.

    warm_up: whether inferences that warm up count.
    """
    counted = counted_inferences(table.trace, warm_up=warm_up)
    runs = [run for run in counted if run.finished]
    if any(run.phase for run in runs):
        runs = of_one_phase(runs)
    module_of_set, sets, set_of = _charged_sets(tree, table)
    modules = np.full(len(tree.modules), np.nan)
    of_sets = np.full(len(sets), np.nan)
    if len(runs) < 2:
        return RunMedians(modules, {}, len(runs), "The profile has fewer than two inferences")
    if len(runs) * max(len(sets), len(modules)) > MOST_OF_RUNS:
        why = f"{len(runs)} inferences × {len(sets)} sets of operators exceed the memory limit"
        return RunMedians(modules, {}, len(runs), why)
    ticks = np.zeros((len(runs), len(sets)), np.int64)
    np.add.at(ticks.T, set_of, costs.ticks_of_node_sets(runs).T)
    charged = np.zeros((len(modules), len(runs)), np.int64)
    np.add.at(charged, module_of_set, ticks.T)
    total = tree.total(charged.T)
    if tree.program.is_recorded:  # every inference ran what the profile recorded in it
        modules, of_sets = quantiles.medians(total, axis=0), quantiles.medians(ticks, axis=0)
        medians = dict(zip(sets, of_sets.tolist(), strict=True))
        return RunMedians(modules, medians, len(runs))
    names = [method.name for method in tree.program.methods]
    methods = np.array([_method_number(names, table, run) for run in runs])
    for place, module in enumerate(tree.modules):
        if module.parent >= 0 and tree.modules[module.parent].method:
            continue  # it belongs to the enclosing method
        numbers = range(len(names)) if not module.method else [names.index(module.method)]
        ran = [n for n in numbers if (methods == n).any()]
        if len(ran) != 1:
            continue
        of_method = methods == ran[0]
        modules_of_method = slice(place, module.end if module.method else place + 1)
        modules[modules_of_method] = quantiles.medians(
            total[of_method][:, modules_of_method], axis=0
        )
        inside = np.flatnonzero(
            (module_of_set >= modules_of_method.start) & (module_of_set < modules_of_method.stop)
        )
        of_sets[inside] = quantiles.medians(ticks[of_method][:, inside], axis=0)
    pairs = zip(sets, of_sets.tolist(), strict=True)
    return RunMedians(modules, {row_key: p50 for row_key, p50 in pairs if p50 == p50}, len(runs))


def _charged_sets(
    tree: ModuleTree, table: LinkTable
) -> tuple[Ints, list[tuple[int, tuple[int, ...]]], Ints]:
    """Return the module of each set, its module and operators, and the set of every node set."""
    number: dict[tuple[int, tuple[int, ...]], int] = {}
    set_of = []
    for operator_set, nodes in zip(table.set_of_node_set.tolist(), table.node_sets, strict=True):
        operators = table.sets[operator_set]
        module = tree.around_all(modules_of(tree, operators, nodes))
        set_of.append(number.setdefault((module, operators), len(number)))
    sets = list(number)
    return (
        np.array([charged_module for charged_module, _ in sets], np.int64),
        sets,
        np.array(set_of, np.int64),
    )


def _method_number(names: Sequence[str], table: LinkTable, run: Run) -> int:
    """Return the index of the method that a run executed, -1 if unknown."""
    if len(names) == 1:
        return 0
    name = table.method_of_scope(run.scope)
    return names.index(name) if name in names else -1
