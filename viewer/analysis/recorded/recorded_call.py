"""What a profile records about the slices of one key, and how it is looked up."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from viewer.arrays import Ints
from viewer.model.trace import Column, Trace
from viewer.program.program import GraphNode


@dataclass(frozen=True, slots=True)
class RecordedCall:
    """An operator, kernel, function or module call.

    method: the part of the program that it belongs to. node: what it is and where it was called.
    backend: the execution provider that ran it, "" if none is stated. fused: the other nodes that
    it ran.
    """

    method: str
    node: GraphNode
    backend: str = ""
    fused: tuple[GraphNode, ...] = ()


def text_at(column: Column | None, slice_: int) -> str:
    """Return the text of a slice in a column; "" without one, for a number, and for slice -1."""
    value = None if column is None or slice_ < 0 else column.value(slice_)
    return value if isinstance(value, str) else ""


def first_slices(trace: Trace) -> Ints:
    """Return the first slice of every key, -1 for a key without one."""
    found = np.full(len(trace.keys), -1, np.int64)
    key = trace.slices.key
    found[key[::-1]] = np.arange(len(key))[::-1]
    return found
