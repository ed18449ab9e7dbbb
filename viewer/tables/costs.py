"""The cost of lines, of modules and of sets of operators of a linked trace, as rows.

`self` is the time of slices of one line, module or operator alone; `shared` is the time of slices
that several share, repeated in the row of each line, and stated once for the deepest module around
them. ns are rounded down. Nothing is divided.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from viewer.analysis.cost.costs import CostRow, CostTable
from viewer.analysis.cost.lines import line_costs, place_of
from viewer.analysis.cost.modules import ModuleCosts, module_costs
from viewer.analysis.links.link_table import LinkTable
from viewer.program.module_tree import Module, ModuleKind, module_tree
from viewer.program.program import GraphNode, Operator, Program
from viewer.tables.spec import FILE, METHOD, ColumnSpec, TableSpec, former, ticks_and_ns

Rows = list[dict[str, Any]]


@dataclass(frozen=True, slots=True)
class _LineRow:
    file: str
    rate: Fraction
    source: str
    line: int
    text: str | None
    self_ticks: int
    shared: int


_SELF_OF_LINE = ticks_and_ns(
    "self", "Time of slices of this line alone", lambda row: row.self_ticks
)
LINES = TableSpec("lines", (
    FILE,
    ColumnSpec("source", "category", "Recorded path of the source file", "source"),
    ColumnSpec("line", "int64", "Line number, from 1", "line"),
    ColumnSpec("text", "string", "The line, as recorded", "text"),
    *_SELF_OF_LINE,
    *ticks_and_ns("shared", "Time of slices that it shares with other lines", "shared"),
    *former("own", _SELF_OF_LINE),
))  # fmt: skip


def line_rows(table: LinkTable, costs: CostTable, ns_per_tick: Fraction) -> Rows:
    """Return one row per source line with a cost, file by file, ascending; empty if not linked."""
    program = table.program
    if program is None:
        return []
    rows: Rows = []
    for path in _paths(program):
        costs_of_lines = line_costs(program, costs, path)
        texts = program.quoted_texts.get(path, {})
        for line in sorted(costs_of_lines.self_costs.keys() | costs_of_lines.shared_by_line.keys()):
            cost = costs_of_lines.self_costs.get(line)
            text = next(iter(sorted(texts.get(line, ()))), None)
            ticks = cost.ticks if cost else 0, costs_of_lines.shared_by_line.get(line, 0)
            row = _LineRow(table.trace.path, ns_per_tick, path, line, text, *ticks)
            rows.append(LINES.row(row))
    return rows


@dataclass(frozen=True, slots=True)
class _ModuleRow:
    file: str
    rate: Fraction
    number: int
    costs: ModuleCosts

    @property
    def module(self) -> Module:
        return self.costs.tree.modules[self.number]

    @property
    def method(self) -> str:
        return self.module.method


_SELF_OF_MODULE = ticks_and_ns(
    "self", "Time of operators directly in it", lambda row: int(row.costs.self_ticks[row.number])
)
MODULES = TableSpec("modules", (
    FILE,
    METHOD,
    ColumnSpec("module", "string", "Path of the module; empty for the whole program",
        lambda row: row.module.path if row.module.kind is ModuleKind.MODULE else ""),
    ColumnSpec("kind", "category", '"model", "method", "module" or "operators without a module"',
        "module.kind.value"),
    ColumnSpec("type", "category", "Its class", "module.type"),
    ColumnSpec("depth", "int64", "Level, 0 for the whole program", "module.depth"),
    ColumnSpec("operators", "int64", "Number of operators in it and below it",
        lambda row: len(row.costs.tree.operators_in(row.number))),
    *ticks_and_ns("total", "Time of the module and all below it",
        lambda row: int(row.costs.total[row.number])),
    *_SELF_OF_MODULE,
    *ticks_and_ns("shared", "Time that several modules below it share",
        lambda row: int(row.costs.shared[row.number])),
    *ticks_and_ns("outside", "Time that it shares with modules outside; in no other column",
        lambda row: int(row.costs.outside[row.number])),
    *ticks_and_ns("kernel", "Time of the kernels of the module and all below it",
        lambda row: int(row.costs.kernel[row.number])),
    ColumnSpec("slices", "int64", "Number of slices of the module and all below it",
        lambda row: int(row.costs.slices[row.number])),
    *former("own", _SELF_OF_MODULE),
))  # fmt: skip


def module_rows(table: LinkTable, costs: CostTable, ns_per_tick: Fraction) -> Rows:
    """Return one row per module in preorder; empty if the program has no modules."""
    program = table.program
    if program is None or not program.operators:
        return []
    costs_of_modules = module_costs(module_tree(program), costs)
    path = table.trace.path
    return [
        MODULES.row(_ModuleRow(path, ns_per_tick, number, costs_of_modules))
        for number in range(len(costs_of_modules.tree.modules))
    ]


@dataclass(frozen=True, slots=True)
class _CostRow:
    """A set of operators, or without any the rest of the whole."""

    file: str
    rate: Fraction
    whole: int
    operators: list[Operator]
    cost: CostRow


COSTS = TableSpec("cost", (
    FILE,
    ColumnSpec("operators", "object", "Labels of the operators, a list; empty for the rest",
        lambda row: [operator.label for operator in row.operators]),
    ColumnSpec("debug_handles", "object", "Their debug handles, a list",
        lambda row: [op.debug_handle for op in row.operators if op.debug_handle >= 0]),
    ColumnSpec("shared", "bool", "Whether several operators share the time", "cost.is_shared"),
    *ticks_and_ns("time", "Self time of the set of operators", "cost.ticks"),
    *ticks_and_ns("kernel", "Time of its kernels", "cost.kernel"),
    ColumnSpec("share", "float64", "Share of the whole, 0 to 1",
        lambda row: round(row.cost.wall / row.whole, 6) if row.whole else None),
    ColumnSpec("slices", "Int64", "Number of slices",
        lambda row: row.cost.slices if row.operators else None),
    *ticks_and_ns("wall", "Each instant of a thread once; rows add up", "cost.wall"),
))  # fmt: skip


def cost_rows(table: LinkTable, costs: CostTable, ns_per_tick: Fraction) -> Rows:
    """Return one row per set of operators, most expensive first; wall times are the whole."""
    program = table.program
    if program is None:
        return []
    path, every, rest = table.trace.path, program.operators, costs.without_operator
    parts = [*costs.rows, *([CostRow((), rest, rest, 0, 0)] if rest else [])]
    rows = (
        _CostRow(path, ns_per_tick, costs.whole, [every[i] for i in part.operators], part)
        for part in parts
    )
    return [COSTS.row(row) for row in rows]


def _paths(program: Program) -> list[str]:
    """The recorded paths of the source files of a program, in graph order."""
    items: list[Operator | GraphNode] = [*program.operators, *program.nodes]
    return list(dict.fromkeys(place[0] for item in items if (place := place_of(item))))
