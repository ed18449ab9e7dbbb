"""The Graph panel's question and answer: neighborhood, layout and node facts."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from viewer.analysis.delegates.delegation import Instance
from viewer.analysis.flows.dataflow import dataflow_of, is_dataflow_known
from viewer.analysis.flows.neighborhood import Direction, Neighborhood, neighborhood
from viewer.gui.panels.graph.facts import NodeFacts, nodes_of
from viewer.gui.panels.graph.names import tags_of
from viewer.gui.panels.graph.node_figures import NodeFigures
from viewer.program.program import Program
from viewer.render.graph.layout import GraphLayout, layered

# The edges of this many operators, or lines of a text, are found in less than 5 ms.
OPERATORS_AT_ONCE, LINES_AT_ONCE = 2000, 300


@dataclass(frozen=True, eq=False)
class GraphQuestion:
    """The inputs of a graph: program and figures, seeds and hops, and settings of the layout."""

    program: Program
    figures: NodeFigures | None
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
            and self.figures is other.figures
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


def highest_seed(around: Neighborhood, figures: NodeFigures | None) -> int:
    """Return the position of the seed of the highest rank; without figures, of the first one."""
    seeds = np.flatnonzero(around.hop == 0)
    if not len(seeds) or figures is None:
        return int(seeds[0]) if len(seeds) else 0
    return int(seeds[np.argmax(figures.order[around.operators[seeds]])])


def around_of(question: GraphQuestion) -> Neighborhood:
    """Return the operators and edges to show. Pure."""
    figures = question.figures
    return neighborhood(
        dataflow_of(question.program),
        question.seeds,
        question.hops,
        question.direction,
        None if figures is None else figures.order,
        best="" if figures is None else figures.best,
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
    drawn = nodes_of(question.program, around, question.figures, tags_of(question.instances))
    return GraphAnswer(question, around, layout, drawn)


def have_same_layout(one: GraphAnswer, other: GraphAnswer) -> bool:
    """Whether two pictures differ in figures alone."""
    return (
        one.question.program is other.question.program
        and one.question.across == other.question.across
        and one.question.seeds == other.question.seeds
        and np.array_equal(one.around.operators, other.around.operators)
    )
