"""Graph nodes as rows: one per node of the operators of a program, in graph order."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from viewer.program.frames import Frame
from viewer.program.program import GraphNode, Operator, Program, Tensor
from viewer.tables.spec import CALLED_FROM, METHOD, RECORD, ColumnSpec, TableSpec


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
