"""What a profile records about the slices of one key."""

from __future__ import annotations

from dataclasses import dataclass

from viewer.program.program import GraphNode


@dataclass(frozen=True, slots=True)
class RecordedCall:
    """An operator, kernel, function or module call.

    method: the part of the program that it belongs to. node: what it is and where it was called.
    backend: the execution provider that ran it, "" if none is stated.
    """

    method: str
    node: GraphNode
    backend: str = ""
