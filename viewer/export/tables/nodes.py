"""Graph nodes as rows: one per node of the operators of a program, in graph order."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

from viewer.program.frames import Frame
from viewer.program.program import Program, Tensor

NODE_COLUMNS = (
    "record", "method", "debug_handle", "node", "op", "op_type", "module", "source", "branch",
    "inputs", "outputs", "called_from",
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
            _place(node.source),
            node.branch or None,
            _tensors(node.inputs),
            _tensors(node.outputs),
            _place(node.caller),
        )
        for operator in program.operators
        for node in operator.nodes
    ]
    columns = list(zip(*rows, strict=True)) or [()] * len(NODE_COLUMNS)
    return {name: list(own) for name, own in zip(NODE_COLUMNS, columns, strict=True)}


def _place(frame: Frame | None) -> str | None:
    return None if frame is None else f"{frame.path}:{frame.line}"


def _tensors(tensors: Sequence[Tensor]) -> str:
    return json.dumps([f"{tensor.dtype}{list(tensor.shape or ())}" for tensor in tensors])
