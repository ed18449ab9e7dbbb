"""What models consist of, as rows with costs: operators, nodes, lines, modules and handle maps.

`self` is the time of slices linked to one operator, line or module alone. `shared` is the time of
slices that several share, repeated in the row of each operator and line, and stated once for the
deepest module around them. So shared times add up only over the distinct groups of a file, which
`shared_groups` identifies.

Of handle maps, there is one row per identifier of a delegate instance, or per debug handle without
one. Their times are sums over all events; empty if not logged on the profile's clock.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from fractions import Fraction
from typing import Any

from viewer.analysis.cost.costs import CostRow, Costs, CostTable
from viewer.analysis.cost.source_costs import ModuleCosts, line_costs, module_costs, place_of
from viewer.analysis.delegates.handle_maps import MapRow
from viewer.analysis.links.link_table import LinkTable
from viewer.dataclasses import dataclass, field
from viewer.model.times import tick_to_ns
from viewer.model.warm_up import counted_inferences
from viewer.program.frames import Frame
from viewer.program.module_tree import Module, ModuleKind, module_tree
from viewer.program.program import GraphNode, Operator, Program, Tensor
from viewer.tables.columns import (
    CALLED_FROM,
    DEBUG_HANDLES,
    FILE,
    METHOD,
    OPERATOR_NAMES,
    RECORD,
    ColumnSpec,
    Rows,
    TableSpec,
    former,
    ticks_and_ns,
)
from viewer.tables.slices import caller_places, operator_names, source_places


@dataclass(frozen=True, slots=True)
class _NodeRow:
    record: str
    operator: Operator
    node: GraphNode

    @property
    def method(self) -> str:
        return self.operator.method


def _place(frame: Frame | None) -> str | None:
    return None if frame is None else f"{frame.path}:{frame.line}"


def tensors_text(tensors: Sequence[Tensor]) -> str:
    """Return the types and shapes of tensors as a JSON list."""
    return json.dumps([f"{tensor.dtype}{list(tensor.shape or ())}" for tensor in tensors])


NODES = TableSpec("nodes", (
    RECORD,
    METHOD,
    ColumnSpec("debug_handle", "Int64", "Debug handle in its method",
        lambda row: None if row.node.debug_handle < 0 else row.node.debug_handle),
    ColumnSpec("node", "string", "Name in the graph", "node.name"),
    ColumnSpec("op", "category", "Operator of the edge dialect", "node.op"),
    ColumnSpec("op_type", "category", "Short name of the call that it came from", "node.type"),
    ColumnSpec("module", "category", "Path of its innermost module", "node.module_path"),
    ColumnSpec("source", "category", '"file:line"', lambda row: _place(row.node.source)),
    ColumnSpec("branch", "category", "Part of control flow that contains it", "node.branch"),
    ColumnSpec("inputs", "category", "Types and shapes of its tensors, as a JSON list",
        lambda row: tensors_text(row.node.inputs)),
    ColumnSpec("outputs", "category", "Types and shapes of its results, as a JSON list",
        lambda row: tensors_text(row.node.outputs)),
    CALLED_FROM.filled(lambda row: _place(row.node.caller)),
))  # fmt: skip


def node_columns(program: Program) -> dict[str, Any]:
    """Return column name -> values; None where something is not recorded."""
    return NODES.arrays(
        [
            _NodeRow(program.path, operator, node)
            for operator in program.operators
            for node in operator.nodes
        ]
    )


@dataclass(slots=True)
class OperatorRow:
    """An operator, with the times of a profile in ticks.

    groups: the time of each group of operators with which it shares slices, by number.
    """

    operator: Operator
    record: str
    file: str = ""
    rate: Fraction = Fraction(1)
    self_ticks: int = 0
    kernel: int = 0
    slices: int = 0
    groups: dict[int, int] = field(default_factory=dict)
    inferences: int = 0
    warm_up: int = 0

    @property
    def method(self) -> str:
        """The method of the model."""
        return self.operator.method

    def _group_times(self, rate: Fraction) -> str:
        return json.dumps([tick_to_ns(ticks, rate) for ticks in self.groups.values()])


# What the program says of an operator, without a profile.
RECORDED = TableSpec("operators", (
    METHOD,
    ColumnSpec("debug_handle", "Int64", "Debug handle in its method",
        lambda row: None if row.operator.debug_handle < 0 else row.operator.debug_handle),
    ColumnSpec("operator", "category", "Call in the source of the model", "operator.op"),
    ColumnSpec("module", "category", "Path of its module", "operator.module_path"),
    OPERATOR_NAMES.filled(lambda row: json.dumps(list(row.operator.ops))),
    ColumnSpec("source", "category", '"file:line"',
        lambda row: "; ".join(source_places([row.operator]))),
    ColumnSpec("nodes", "int64", "Number of its graph nodes",
        lambda row: len(row.operator.nodes) if row.operator.ops else 0),
    ColumnSpec("outputs", "category", "Types and shapes of its results, as a JSON list",
        lambda row: tensors_text(row.operator.nodes[-1].outputs)),
    CALLED_FROM.filled(lambda row: "; ".join(caller_places([row.operator]))),
))  # fmt: skip
_SELF = ticks_and_ns("self", "Time of slices that are linked to it alone", "self_ticks", "Int64",
    lake=2, former="own_ns")  # fmt: skip
OPERATORS = TableSpec("operators", (
    FILE,
    RECORD,
    *RECORDED.columns,
    *_SELF,
    *ticks_and_ns("shared", "Time of slices that it shares with others, repeated for each: no sum",
        lambda row: sum(row.groups.values()), "Int64"),
    *ticks_and_ns("kernel", "Time of its kernels", "kernel", "Int64"),
    ColumnSpec("slices", "Int64", "Number of slices that are linked to it alone", "slices"),
    ColumnSpec("shared_groups", "category", "Groups that share slices, as a JSON list of numbers",
        lambda row: json.dumps(list(row.groups))),
    ColumnSpec("shared_group_ticks", "category", "Time of each of these groups, as a JSON list",
        lambda row: row._group_times(Fraction(1)), "ticks"),
    ColumnSpec("shared_group_ns", "category", "Time of each of these groups, as a JSON list",
        lambda row: row._group_times(row.rate), "ns"),
    ColumnSpec("inferences", "Int64", "Number of inferences that the times cover", "inferences"),
    ColumnSpec("warm_up_inferences", "Int64", "How many of these warm up", "warm_up"),
    *former("own", _SELF),
))  # fmt: skip


def operator_columns(program: Program) -> Rows:
    """Return one row per operator of a program, in graph order."""
    return RECORDED.arrays([OperatorRow(operator, program.path) for operator in program.operators])


def costed_operator_columns(
    table: LinkTable, ns_per_tick: Fraction, costs: Costs | None = None
) -> Rows:
    """Return the same for the program of a linked trace, with the cost in the whole trace.

    Groups of operators that share slices are numbered from 1 in each file, most expensive first.
    costs: of the table, if known. Raises ValueError without a program.
    """
    program = table.program
    if program is None:
        raise ValueError("the trace is linked to no program")
    inferences = counted_inferences(table.trace)
    count = sum(run.count for run in inferences)
    warm_up = sum(run.count for run in inferences if run.warms_up)
    rows = [
        OperatorRow(operator, program.path, table.trace.path, ns_per_tick)
        for operator in program.operators
    ]
    for row in rows:
        row.inferences, row.warm_up = count, warm_up
    number = 0
    for cost in (costs or Costs(table)).rows():
        number += cost.is_shared
        for operator in cost.operators:
            row = rows[operator]
            if cost.is_shared:
                row.groups[number] = cost.ticks
            else:
                row.self_ticks, row.kernel, row.slices = cost.ticks, cost.kernel, cost.slices
    return OPERATORS.arrays(rows)


FactRows = list[dict[str, Any]]


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


def line_rows(table: LinkTable, costs: CostTable, ns_per_tick: Fraction) -> FactRows:
    """Return one row per source line with a cost, file by file, ascending; empty if not linked."""
    program = table.program
    if program is None:
        return []
    rows: FactRows = []
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


def module_rows(table: LinkTable, costs: CostTable, ns_per_tick: Fraction) -> FactRows:
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


def cost_rows(table: LinkTable, costs: CostTable, ns_per_tick: Fraction) -> FactRows:
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


@dataclass(frozen=True, slots=True)
class _IdentifierRow:
    """A row of a map; rate: None if nothing ran."""

    file: str
    rate: Fraction | None
    map: MapRow
    operators: list[Operator]


HANDLE_MAP = TableSpec("handle_map", (
    FILE,
    ColumnSpec("method", "category", "Method of the model", "map.method"),
    ColumnSpec("instruction_id", "Int64", "Instruction of the runtime",
        lambda row: row.map.instruction if row.map.instruction >= 0 else None),
    ColumnSpec("backend", "category", "Delegate", "map.backend"),
    ColumnSpec("identifier", "category", "Delegate debug identifier, as logged or registered",
        "map.identifier"),
    ColumnSpec("standing", "category", 'Status: "logged", "never logged" and more',
        "map.status.value"),
    DEBUG_HANDLES.filled(lambda row: json.dumps(list(row.map.handles))),
    OPERATOR_NAMES.filled(lambda row: json.dumps(operator_names(row.operators))),
    ColumnSpec("modules", "category", 'Modules and operators, as displayed, joined by "; "',
        lambda row: "; ".join(operator.label for operator in row.operators)),
    ColumnSpec("source", "category", '"file:line", joined by "; "',
        lambda row: "; ".join(source_places(row.operators))),
    ColumnSpec("slices", "int64", "Number of events with it", "map.slices"),
    *ticks_and_ns("dur", "Sum of their durations; null if not on the clock of the profile",
        lambda row: row.map.ticks if row.map.has_time and row.rate is not None else None, "Int64"),
    ColumnSpec("on_own_clock", "Int64", "Number of events with a clock of their own",
        lambda row: row.map.foreign or None),
    ColumnSpec("note", "category", "What is unexpected", "map.detail"),
))  # fmt: skip

HANDLE_MAP_COLUMNS = HANDLE_MAP.names


def handle_map_columns(
    rows: Sequence[MapRow], program: Program | None, file: str, ns_per_tick: Fraction | None
) -> dict[str, Any]:
    """Return one entry per row: column name -> values.

    file: the profile, or the ETRecord if there is none. ns_per_tick: None if nothing ran.
    """
    every = program.operators if program else ()
    return HANDLE_MAP.arrays(
        [
            _IdentifierRow(file, ns_per_tick, row, [every[i] for i in row.operators if every])
            for row in rows
        ]
    )
