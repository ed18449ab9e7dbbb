"""The neighborhood of some operators: their producers and consumers, hop by hop.

A hop follows an edge of the program's `Dataflow`, so every edge is exact; if the inputs of an
operator are unknown, `Neighborhood.reason` says why. The result is limited, since a delegate may
have thousands of operators and one value thousands of consumers: complete hops are shown while they
fit, and the most expensive operators of the first one that does not. The total number of operators,
and the hidden neighbors of each shown operator, are counted exactly.

Everything is columnar: 5,000 operators take 1 to 2 ms.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import Enum

import numpy as np
from numpy.typing import NDArray

from viewer.arrays import Bools, Ints
from viewer.model.times import counted, group_digits
from viewer.program.dataflow import Dataflow

MOST_HOPS = 6
MOST_SHOWN = 200
# A graph with more edges is unreadable: 100 operators that all use 100 others have 10,000.
MOST_EDGES = 1000
MOST_EXPENSIVE = "most expensive"


class Direction(Enum):
    """The direction of hops. BOTH: a producer's other consumers are two hops away."""

    BOTH = "both"
    PRODUCERS = "producers"
    CONSUMERS = "consumers"


@dataclass(frozen=True, eq=False)
class Neighborhood:
    """The operators to show, in program order.

    operators (n): ascending indexes into `Program.operators`. hop (n): hops from the nearest seed,
    0 for a seed. producer, consumer (m): the edges among them, as positions in `operators`.
    hidden_inputs, hidden_outputs (n): how many producers and consumers of an operator are not
    shown. seeds: how many there are, shown or not. within: how many operators are within the hops,
    including the seeds. best: which operators were selected first, such as "most expensive"; "" if
    there was nothing to rank them by. reason: why the inputs of some seed are unknown, "" if all
    are known.
    """

    operators: Ints
    hop: Ints
    producer: Ints
    consumer: Ints
    hidden_inputs: Ints
    hidden_outputs: Ints
    seeds: int
    within: int
    best: str = MOST_EXPENSIVE
    reason: str = ""

    def __len__(self) -> int:
        return len(self.operators)

    @property
    def limit_text(self) -> str:
        """A sentence on how much is shown; "" if everything is."""
        if len(self) == self.within:
            return ""
        of_all = f"{group_digits(len(self))} of {counted(self.within, 'operator')} are shown"
        best = self.best or "first of the model"
        if self.seeds > len(self):
            of_all = f"{group_digits(len(self))} of {counted(self.seeds, 'operator')} are shown"
            return f"{of_all}, the {best}{' first' if self.best else ''}."
        return f"{of_all}, the nearest first and of those the {best}."


def neighborhood(
    flow: Dataflow,
    seeds: Sequence[int],
    hops: int,
    direction: Direction = Direction.BOTH,
    cost_order: Ints | None = None,
    most: int = MOST_SHOWN,
    most_edges: int = MOST_EDGES,
    best: str = MOST_EXPENSIVE,
) -> Neighborhood:
    """Return the operators within some hops of the seeds, up to `most` and `most_edges`.

    seeds: indexes into `Program.operators`; invalid ones are ignored. hops: clipped to
    0..`MOST_HOPS`. cost_order: the cost of every operator, or another rank; ties, and all without
    it, are in program order. best: what the rank means.
    """
    count = len(flow.input_ptr) - 1
    valid_seeds = np.unique(np.asarray(seeds, np.int64))
    valid_seeds = valid_seeds[(valid_seeds >= 0) & (valid_seeds < count)]
    hop = _hops(flow, valid_seeds, min(max(hops, 0), MOST_HOPS), direction)
    operators = np.flatnonzero(hop >= 0)
    cost = np.zeros(count, np.int64) if cost_order is None else cost_order
    operators = operators[np.lexsort((operators, -cost[operators], hop[operators]))]
    nearest = operators[: max(most, 0)]
    latest = np.maximum(*_edges_among(flow, nearest))
    if len(latest) > most_edges:
        # The largest number of operators whose edges fit the limit.
        nearest = nearest[: max(int(np.sort(latest)[most_edges]), 1)]
    nearest = np.sort(nearest)
    producer, consumer = _edges_among(flow, nearest)
    return Neighborhood(
        nearest,
        hop[nearest],
        producer,
        consumer,
        np.diff(flow.input_ptr)[nearest] - np.bincount(consumer, minlength=len(nearest)),
        np.diff(flow.output_ptr)[nearest] - np.bincount(producer, minlength=len(nearest)),
        len(valid_seeds),
        len(operators),
        "" if cost_order is None else best,
        _reason(flow, valid_seeds),
    )


def _hops(flow: Dataflow, seeds: Ints, hops: int, direction: Direction) -> Ints:
    """Return per operator the hops to the nearest seed, -1 if more than `hops`."""
    hop = np.full(len(flow.input_ptr) - 1, -1, np.int64)
    hop[seeds] = 0
    front = seeds
    for number in range(1, hops + 1):
        reached: list[Ints] = []
        if direction is not Direction.CONSUMERS:
            reached.append(_rows(flow.input_ptr, flow.inputs, front)[1])
        if direction is not Direction.PRODUCERS:
            reached.append(_rows(flow.output_ptr, flow.outputs, front)[1])
        operators = np.unique(np.concatenate(reached))
        front = operators[hop[operators] < 0]
        if not len(front):
            break
        hop[front] = number
    return hop


def _edges_among(flow: Dataflow, operators: Ints) -> tuple[Ints, Ints]:
    """Return producers and consumers of the edges among some operators, as positions."""
    position = np.full(len(flow.input_ptr) - 1, -1, np.int64)
    position[operators] = np.arange(len(operators))
    consumer, producer = _rows(flow.input_ptr, flow.inputs, operators)
    producer = position[producer]
    inside: Bools = producer >= 0
    return producer[inside], consumer[inside]


def _rows(ptr: Ints, values: Ints, rows: Ints) -> tuple[Ints, Ints]:
    """Return the values of some rows of a CSR table, each with the position of its row."""
    length = ptr[rows + 1] - ptr[rows]
    owner: NDArray[np.int64] = np.repeat(np.arange(len(rows)), length)
    within = np.arange(len(owner)) - np.repeat(np.cumsum(length) - length, length)
    return owner, values[ptr[rows][owner] + within]


def _reason(flow: Dataflow, seeds: Ints) -> str:
    if not flow.unknown:
        return ""
    return next((flow.unknown[s] for s in seeds.tolist() if s in flow.unknown), "")
