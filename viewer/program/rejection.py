"""What a partitioner logged of a node that it did not delegate."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Rejection:
    """A node, or all nodes of an operator, that a partitioner did not take.

    node: its name in the graph, "aten_mean_dim"; "" if the log names only the operator. op: the
    operator, "aten.mean.dim"; "" if the log names only the node.
    """

    node: str
    op: str
    reason: str
