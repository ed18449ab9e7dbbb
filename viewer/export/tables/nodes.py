"""Graph nodes as rows: one per node of the operators of a program, in graph order."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

from viewer.analysis.cost.lines import place_of
from viewer.program.program import GraphNode, Program, Tensor

NODE_COLUMNS = (
    "record", "method", "debug_handle", "node", "op", "op_type", "module", "source", "branch",
    "inputs", "outputs",
)  # fmt: skip


def node_columns(program: Program) -> dict[str, list[Any]]:
    """Return column name -> list; None where something is not recorded."""
    rows = [
        (
            program.path,
            operator.method,
            None if node.debug_handle < 0 else node.debug_handle,
            node.name,
            node.op or None,
            node.type or None,
            node.module_path or None,
            _source(node),
            node.branch or None,
            _tensors(node.inputs),
            _tensors(node.outputs),
        )
        for operator in program.operators
        for node in operator.nodes
    ]
    columns = list(zip(*rows, strict=True)) or [()] * len(NODE_COLUMNS)
    return {name: list(own) for name, own in zip(NODE_COLUMNS, columns, strict=True)}


def _source(node: GraphNode) -> str | None:
    place = place_of(node)
    return f"{place[0]}:{place[1]}" if place else None


def _tensors(tensors: Sequence[Tensor]) -> str:
    return json.dumps([f"{tensor.dtype}{list(tensor.shape or ())}" for tensor in tensors])
