"""The operators around some operators: who feeds them and whom they feed, hop by hop.

A hop goes along an edge of the program's `Dataflow`, so every edge is exact; where a record does
not say what an operator takes, `Neighborhood.reason` says why. What is found is limited, since a
delegate may have thousands of operators and one result thousands of takers: whole hops are shown
while there is room, and of the first that has none its dearest operators. How many there are in
all, and how many neighbors of each shown operator are not shown, is counted exactly.

All of it is columns: 5,000 operators take a millisecond or two.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import Enum
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from viewer.arrays import Bools, Ints
from viewer.model.times import counted, group_digits
from viewer.program.dataflow import Dataflow

MOST_HOPS = 6
MOST_SHOWN = 200
# A picture of more lines tells nothing: 100 operators that all take 100 others have 10,000.
MOST_EDGES = 1000


class Direction(Enum):
    """Which way hops go. BOTH: a producer's other consumers are two hops away."""

    BOTH = "both"
    PRODUCERS = "producers"
    CONSUMERS = "consumers"


@dataclass(frozen=True, eq=False)
class Neighborhood:
    """The operators that are shown, in the order of the program whatever they cost.

    operators (n): ascending indexes into `Program.operators`; hop (n): how many hops from the
    nearest seed, 0 of a seed itself. producer, consumer (m): the edges among them, as positions in
    `operators`. hidden_inputs, hidden_outputs (n): how many that an operator takes from, or hands
    to, are not shown. seeds: how many there are, shown or not. within: how many operators lie
    within the hops, the seeds with them. by_cost: whether costs were there to choose by. reason:
    why it is not known what some seed takes, "" where it is.
    """

    operators: Ints
    hop: Ints
    producer: Ints
    consumer: Ints
    hidden_inputs: Ints
    hidden_outputs: Ints
    seeds: int
    within: int
    by_cost: bool = True
    reason: str = ""

    def __len__(self) -> int:
        return len(self.operators)

    @cached_property
    def position(self) -> dict[int, int]:
        """Operator -> its position among those that are shown."""
        return {operator: at for at, operator in enumerate(self.operators.tolist())}

    def takes(self, at: int) -> Ints:
        """Positions of the shown operators that the one at a position takes from."""
        return np.asarray(self.producer[self.consumer == at])

    def gives(self, at: int) -> Ints:
        """Positions of the shown operators that take from the one at a position."""
        return np.asarray(self.consumer[self.producer == at])

    @property
    def limit_text(self) -> str:
        """What of it is shown, as a sentence; "" if all of it is."""
        if len(self) == self.within:
            return ""
        of_all = f"{group_digits(len(self))} of {counted(self.within, 'operator')} are shown"
        best = "dearest" if self.by_cost else "first of the model"
        if self.seeds > len(self):
            of_all = f"{group_digits(len(self))} of {counted(self.seeds, 'operator')} are shown"
            return f"{of_all}, the {best}{' first' if self.by_cost else ''}."
        return f"{of_all}, the nearest first and of those the {best}."


def neighborhood(
    flow: Dataflow,
    seeds: Sequence[int],
    hops: int,
    direction: Direction = Direction.BOTH,
    cost_order: Ints | None = None,
    most: int = MOST_SHOWN,
    most_edges: int = MOST_EDGES,
) -> Neighborhood:
    """The operators within some hops of the seeds, at most so many operators and edges.

    seeds: indexes into `Program.operators`; those that are none are left out. hops: 0 to
    `MOST_HOPS`, others are clipped. dearness: the cost of every operator; of equal ones, and
    without any, the first of the program comes first.
    """
    count = len(flow.input_ptr) - 1
    asked = np.unique(np.asarray(seeds, np.int64))
    asked = asked[(asked >= 0) & (asked < count)]
    hop = _hops(flow, asked, min(max(hops, 0), MOST_HOPS), direction)
    found = np.flatnonzero(hop >= 0)
    cost = np.zeros(count, np.int64) if cost_order is None else cost_order
    found = found[np.lexsort((found, -cost[found], hop[found]))]
    shown = found[: max(most, 0)]
    latest = np.maximum(*_edges_among(flow, shown))
    if len(latest) > most_edges:
        # As many operators as have all edges among them within the limit.
        shown = shown[: max(int(np.sort(latest)[most_edges]), 1)]
    shown = np.sort(shown)
    producer, consumer = _edges_among(flow, shown)
    return Neighborhood(
        shown,
        hop[shown],
        producer,
        consumer,
        np.diff(flow.input_ptr)[shown] - np.bincount(consumer, minlength=len(shown)),
        np.diff(flow.output_ptr)[shown] - np.bincount(producer, minlength=len(shown)),
        len(asked),
        len(found),
        cost_order is not None,
        _reason(flow, asked),
    )


def _hops(flow: Dataflow, seeds: Ints, hops: int, direction: Direction) -> Ints:
    """Per operator how many hops it is from the nearest seed, -1 if more than `hops`."""
    hop = np.full(len(flow.input_ptr) - 1, -1, np.int64)
    hop[seeds] = 0
    front = seeds
    for number in range(1, hops + 1):
        reached: list[Ints] = []
        if direction is not Direction.CONSUMERS:
            reached.append(_rows(flow.input_ptr, flow.inputs, front)[1])
        if direction is not Direction.PRODUCERS:
            reached.append(_rows(flow.output_ptr, flow.outputs, front)[1])
        found = np.unique(np.concatenate(reached))
        front = found[hop[found] < 0]
        if not len(front):
            break
        hop[front] = number
    return hop


def _edges_among(flow: Dataflow, shown: Ints) -> tuple[Ints, Ints]:
    """Producers and consumers of the edges among some operators, by position in them."""
    position = np.full(len(flow.input_ptr) - 1, -1, np.int64)
    position[shown] = np.arange(len(shown))
    consumer, producer = _rows(flow.input_ptr, flow.inputs, shown)
    producer = position[producer]
    inside: Bools = producer >= 0
    return producer[inside], consumer[inside]


def _rows(ptr: Ints, values: Ints, rows: Ints) -> tuple[Ints, Ints]:
    """The values of some rows of a compressed table, each with the position of its row."""
    length = ptr[rows + 1] - ptr[rows]
    owner: NDArray[np.int64] = np.repeat(np.arange(len(rows)), length)
    within = np.arange(len(owner)) - np.repeat(np.cumsum(length) - length, length)
    return owner, values[ptr[rows][owner] + within]


def _reason(flow: Dataflow, seeds: Ints) -> str:
    if not flow.unknown:
        return ""
    return next((flow.unknown[s] for s in seeds.tolist() if s in flow.unknown), "")
