"""What the graph is about, and the panel's question and answer: neighborhood, layout, node facts.

A subject is a program alone, the costs of a profile, or the changes of two arms. It connects the
operators of its program with the selection of the session.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from viewer.analysis.comparison.arms import CALLS
from viewer.analysis.delegates.delegation import Instance
from viewer.analysis.flows.dataflow import dataflow_of, is_dataflow_known
from viewer.analysis.flows.neighborhood import Direction, Neighborhood, neighborhood
from viewer.gui.panels.graph.facts import NodeFacts, nodes_of
from viewer.gui.panels.graph.names import tags_of
from viewer.gui.panels.graph.node_figures import ChangeFigures, CostFigures, NodeFigures
from viewer.gui.session.comparison import row_of_selection, select_rows
from viewer.gui.session.session import Session
from viewer.model.text import display_name
from viewer.program.program import Program
from viewer.render.graph.layout import GraphLayout, layered

# The edges of this many operators, or lines of a text, are found in less than 5 ms.
OPERATORS_AT_ONCE, LINES_AT_ONCE = 2000, 300


@dataclass(frozen=True, eq=False)
class GraphSubject:
    """A program without a profile."""

    program: Program

    @property
    def figures(self) -> NodeFigures | None:
        """What the nodes show, None for nothing."""
        return None

    @property
    def title(self) -> str:
        """What the graph shows."""
        return f"{display_name(self.program.path)}, without a profile"

    def selected(self, session: Session) -> tuple[int, ...]:
        """Return the operators of the selection, () for none of the program."""
        return ()

    def select(self, session: Session, operators: tuple[int, ...]) -> bool:
        """Select the slices of operators; False if the session has none to select."""
        return False


@dataclass(frozen=True, eq=False)
class CostSubject(GraphSubject):
    """The costs of a profile."""

    costs: CostFigures

    @property
    def figures(self) -> NodeFigures:
        return self.costs

    @property
    def title(self) -> str:
        return self.costs.title

    def selected(self, session: Session) -> tuple[int, ...]:
        state = session.state
        if state.operators is None or len(state.others):
            return ()
        trace, operators = state.operators
        is_own = session.traces[trace].table is self.costs.given.open_trace.table
        return operators if is_own else ()

    def select(self, session: Session, operators: tuple[int, ...]) -> bool:
        table = self.costs.given.open_trace.table
        number = next((i for i, t in enumerate(session.traces) if t.table is table), None)
        if number is not None:
            session.select_operators(number, operators)
        return True


@dataclass(frozen=True, eq=False)
class ComparedSubject(GraphSubject):
    """The changes between two arms, in the program of A."""

    changes: ChangeFigures

    @property
    def figures(self) -> NodeFigures:
        return self.changes

    @property
    def title(self) -> str:
        return self.changes.title

    def selected(self, session: Session) -> tuple[int, ...]:
        found = self.changes.found
        row = row_of_selection(session, found)
        return found.operators.operators[row] if row >= 0 else ()

    def select(self, session: Session, operators: tuple[int, ...]) -> bool:
        found = self.changes.found
        rows = {row for operator in operators for row in found.operators.rows_of(operator)}
        if not rows:
            session.clear_selection()
            return False
        select_rows(session, found, rows, CALLS)
        return True


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
