"""Operators and graph nodes as rows: `opscope export --table operators`, and ETRecords alone.

For a profile: each operator of its ETRecord with its cost. `self` is the time of slices linked to
it alone; `shared` is the time of slices shared with other operators, repeated in the row of each.
So self times add up over operators, shared times do not. `shared_groups` identifies what is
repeated: shared times add up over the distinct groups of a file.

Of graph nodes, there is one row per node of the operators of a program, in graph order.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any

from viewer.analysis.cost.costs import Costs
from viewer.analysis.links.link_table import LinkTable
from viewer.model.times import tick_to_ns
from viewer.model.warm_up import counted_inferences
from viewer.program.frames import Frame
from viewer.program.program import GraphNode, Operator, Program, Tensor
from viewer.tables.columns import Rows
from viewer.tables.slices import caller_places, source_places
from viewer.tables.spec import (
    CALLED_FROM,
    FILE,
    METHOD,
    OPERATOR_NAMES,
    RECORD,
    ColumnSpec,
    TableSpec,
    former,
    ticks_and_ns,
)


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
