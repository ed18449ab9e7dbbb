"""The Graph panel's question and answer: neighborhood, layout and node facts."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from viewer.analysis.cost.operators import OperatorCosts
from viewer.analysis.delegates.delegation import Instance
from viewer.analysis.flows.dataflow import dataflow_of, is_dataflow_known
from viewer.analysis.flows.neighborhood import Direction, Neighborhood, neighborhood
from viewer.gui.panels.graph.facts import NodeFacts, nodes_of, tags_of
from viewer.gui.session.feeds.costs import CostAnswer
from viewer.program.program import Program
from viewer.render.graph.layout import GraphLayout, layered

# The edges of this many operators, or lines of a text, are found in less than 5 ms.
OPERATORS_AT_ONCE, LINES_AT_ONCE = 2000, 300


@dataclass(frozen=True, eq=False)
class GraphQuestion:
    """The inputs of a graph: program and costs, seeds and hops, and the settings of the layout."""

    program: Program
    given: CostAnswer | None
    costs: OperatorCosts | None
    seeds: tuple[int, ...]
    what: str
    hops: int
    direction: Direction
    across: bool
    size: tuple[float, float]
    gaps: tuple[float, float]
    instances: tuple[Instance, ...]

    def is_as(self, other: GraphQuestion) -> bool:
        """Whether another question has the same answer."""
        return (
            self.program is other.program
            and self.given is other.given
            and self.seeds == other.seeds
            and self.hops == other.hops
            and self.direction is other.direction
            and self.across == other.across
            and self.size == other.size
        )


@dataclass(frozen=True, eq=False)
class GraphAnswer:
    """A graph to draw: the neighborhood, its layout, and the texts and fills of its nodes."""

    question: GraphQuestion
    around: Neighborhood
    layout: GraphLayout
    nodes: tuple[NodeFacts, ...]


def has_edges_at_once(program: Program) -> bool:
    """Whether the edges of a program are known, or can be found in a few ms."""
    if is_dataflow_known(program):
        return True
    return len(program.operators) <= OPERATORS_AT_ONCE and len(program.text_lines) <= LINES_AT_ONCE


def most_expensive_seed(around: Neighborhood, costs: OperatorCosts | None) -> int:
    """Return the position of the most expensive seed; without costs, of the first one."""
    seeds = np.flatnonzero(around.hop == 0)
    if not len(seeds) or costs is None:
        return int(seeds[0]) if len(seeds) else 0
    return int(seeds[np.argmax(costs.cost_order[around.operators[seeds]])])


def around_of(question: GraphQuestion) -> Neighborhood:
    """Return the operators and edges to show. Pure."""
    costs = question.costs
    return neighborhood(
        dataflow_of(question.program),
        question.seeds,
        question.hops,
        question.direction,
        None if costs is None else costs.cost_order,
    )


def work_out(question: GraphQuestion, around: Neighborhood | None) -> GraphAnswer:
    """Answer a question. Pure. around: the neighborhood, if it is already known."""
    around = around_of(question) if around is None else around
    count, (width, height), (layers, nodes) = len(around), question.size, question.gaps
    layout = layered(
        np.full(count, width),
        np.full(count, height),
        around.producer,
        around.consumer,
        around.operators,
        across=question.across,
        layer_gap=layers,
        node_gap=nodes,
    )
    rate = question.given.shown.axis.ns_per_tick if question.given else Fraction(1)
    drawn = nodes_of(question.program, around, question.costs, rate, tags_of(question.instances))
    return GraphAnswer(question, around, layout, drawn)


def have_same_layout(one: GraphAnswer, other: GraphAnswer) -> bool:
    """Whether two pictures differ in costs alone."""
    return (
        one.question.program is other.question.program
        and one.question.across == other.question.across
        and one.question.seeds == other.question.seeds
        and np.array_equal(one.around.operators, other.around.operators)
    )
