"""Builds XNNPACK graphs from a description of their nodes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np

from viewer.program.executables import OUTPUT, DataType, XnnpackDataflow, XnnpackNode

Value = int | tuple[int, DataType]


@dataclass(frozen=True)
class Described:
    """A node: its type, the values that it reads and writes, with their data types if known.

    facts: "bounded", "swaps" and "whole", as in `XnnpackDataflow`; "constants": the values whose
    data is in the file; "outputs": those that are outputs of the graph, in addition to what no
    node reads.
    """

    type: str
    reads: Sequence[Value]
    writes: Sequence[Value]
    facts: dict[str, object] = field(default_factory=dict)


def xnnpack_graph(described: Sequence[Described]) -> tuple[list[XnnpackNode], XnnpackDataflow]:
    """The nodes, with debug handles from 1, and what connects them."""
    uses: list[tuple[int, int, int]] = []
    dtypes: dict[int, DataType] = {}
    constant, output = set[int](), set[int]()
    read, written = set[int](), set[int]()
    for at, node in enumerate(described):
        for values, is_read in ((node.reads, True), (node.writes, False)):
            for position, value in enumerate(values):
                number, dtype = value if isinstance(value, tuple) else (value, DataType.UNKNOWN)
                dtypes[number] = dtype or dtypes.get(number, DataType.UNKNOWN)
                uses.append((at, number, position if is_read else OUTPUT))
                (read if is_read else written).add(number)
        constant |= set(node.facts.get("constants", ()))  # type: ignore[call-overload]
        output |= set(node.facts.get("outputs", ()))  # type: ignore[call-overload]
    output |= written - read
    values = sorted(dtypes)
    row = {number: i for i, number in enumerate(values)}
    nodes, numbers, positions = (np.array(column, np.int64) for column in zip(*uses, strict=True))
    return (
        [XnnpackNode(node.type, at + 1) for at, node in enumerate(described)],
        XnnpackDataflow(
            nodes,
            np.array([row[number] for number in numbers.tolist()], np.int64),
            positions,
            np.array([dtypes[number] for number in values], np.uint8),
            np.array([number not in written | constant for number in values]),
            np.array([number in output for number in values]),
            np.array([number in constant for number in values]),
            np.array([bool(node.facts.get("bounded")) for node in described]),
            np.array([bool(node.facts.get("swaps")) for node in described]),
            np.array([bool(node.facts.get("whole")) for node in described]),
        ),
    )
