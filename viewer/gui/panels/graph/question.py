"""What the graph is about, and the panel's question and answer: what is visible, and where.

A subject is a program alone, the costs of a profile, or the changes of two arms. It connects the
operators of its program with the selection of the session. The graph is that of the whole model, or
of it what is at most some steps away from some operators.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property

import numpy as np

from viewer.analysis.comparison.levels import CALLS
from viewer.analysis.delegates.delegation import Instance
from viewer.analysis.flows.dataflow import dataflow_of, is_dataflow_known
from viewer.analysis.flows.neighborhood import Direction, Neighborhood, neighborhood
from viewer.analysis.numbers.compared import OperatorErrors
from viewer.arrays import Ints
from viewer.gui.panels.graph.looks import NodeLook, Values, looks_of
from viewer.gui.panels.graph.measures import Amounts, Measure, MeasureKind, amounts, measure_of
from viewer.gui.panels.graph.names import tags_of
from viewer.gui.panels.graph.node_figures import ChangeFigures, NodeFigures
from viewer.gui.session.comparison import row_of_selection, select_rows
from viewer.gui.session.session import Session
from viewer.model.text import display_name
from viewer.program.program import Program
from viewer.render.graph.model_tree import GroupTree, group_tree
from viewer.render.graph.nested_layout import GroupSizes, NestedLayout, NestedLayouter
from viewer.render.graph.open_groups import (
    first_opened,
    group_edges,
    operator_edges,
    shown_groups,
    shown_operators,
)
from viewer.workspace.workspace import Workspace

# The edges of this many operators, or lines of a text, are found in less than 5 ms.
OPERATORS_AT_ONCE, LINES_AT_ONCE = 2000, 300


@dataclass(frozen=True, eq=False)
class GraphSubject:
    """A program, alone or with the costs of a profile, or with the changes of arms A and B.

    It is the program of A. figures: None for nothing.
    """

    program: Program
    figures: NodeFigures | None = None

    @property
    def title(self) -> str:
        """What the graph shows."""
        if self.figures is None:
            return f"{display_name(self.program.path)}, without a profile"
        return self.figures.title

    def selected(self, session: Session) -> tuple[int, ...]:
        """Return the operators of the selection, () for none of the program."""
        figures, state = self.figures, session.state
        if isinstance(figures, ChangeFigures):
            row = row_of_selection(session, figures.comparison)
            return figures.changes.operators[row] if row >= 0 else ()
        if figures is None or state.operators is None or len(state.others):
            return ()
        trace, operators = state.operators
        return operators if session.traces[trace].table is figures.answer.open_trace.table else ()

    def select(self, session: Session, operators: tuple[int, ...]) -> bool:
        """Select the slices of operators; False if the session has none to select."""
        figures = self.figures
        if figures is None:
            return False
        if isinstance(figures, ChangeFigures):
            rows = {row for operator in operators for row in figures.changes.rows_of(operator)}
            if rows:
                select_rows(session, figures.comparison, rows, CALLS)
            else:
                session.clear_selection()
            return bool(rows)
        table = figures.answer.open_trace.table
        number = next((i for i, t in enumerate(session.traces) if t.table is table), None)
        if number is not None:
            session.select_operators(number, operators)
        return True


@dataclass(frozen=True, slots=True)
class Center:
    """What a neighborhood is around.

    seeds: operators. what: the name of several ones, such as "Xnnpack · call 2 of 10".
    """

    seeds: tuple[int, ...]
    what: str
    hops: int
    direction: Direction


@dataclass(frozen=True, eq=False)
class GraphModel:
    """What stays the same while groups open and close, and what was computed for it.

    producer, consumer: of every edge between operators. opened: the groups that are open first.
    tags: the delegate call of operators.
    """

    program: Program
    tree: GroupTree
    producer: Ints
    consumer: Ints
    opened: frozenset[int]
    layouter: NestedLayouter
    tags: dict[int, str]
    _values: dict[MeasureKind, tuple[object, Values]] = field(default_factory=dict)

    def has_values(self, question: GraphQuestion) -> bool:
        """Whether nothing has to be computed to color as a question wants it."""
        kind = question.kind
        if kind is None:
            return True
        return kind in self._values and self._values[kind][0] is question.needs

    def values(self, question: GraphQuestion) -> Values:
        """Return what to color by; computed again if what it depends on has changed."""
        kind = question.kind
        if kind is None:
            return None
        if not self.has_values(question):
            values: Values = None
            if kind is not MeasureKind.CHANGE:
                measure = measure_of(
                    kind, self.program, question.figures, question.space, question.errors
                )
                values = None if measure is None else amounts(self.tree, measure)
            elif isinstance(question.figures, ChangeFigures):
                values = question.figures
            self._values[kind] = question.needs, values
        return self._values[kind][1]


@dataclass(frozen=True, eq=False)
class GraphQuestion:
    """What to show.

    figures: of the profile or the comparison. calls: the delegate calls. kind: what to color by,
    None for nothing. center: of a neighborhood, None for the whole model. opened: the open groups
    of the whole model, None for those of the first view. space: the open files; files: an object
    that is another one after they changed. model: the same as before, if it is of this program.
    errors: of the logged values of operators, None if they are not compared.
    """

    program: Program
    figures: NodeFigures | None
    calls: tuple[Instance, ...]
    kind: MeasureKind | None
    center: Center | None
    opened: frozenset[int] | None
    sizes: GroupSizes
    space: Workspace
    files: object
    model: GraphModel | None
    errors: OperatorErrors | None = None

    @property
    def needs(self) -> object:
        """What the values to color by depend on."""
        if self.kind in (MeasureKind.TIME, MeasureKind.CHANGE):
            return self.figures
        return self.errors if self.kind is MeasureKind.ERROR else self.files

    @property
    def key(self) -> tuple[object, ...]:
        """What determines the answer."""
        same = self.program, self.figures, self.files, self.errors
        return *map(id, same), self.kind, self.center, self.opened, self.sizes


@dataclass(frozen=True, eq=False)
class GraphAnswer:
    """A graph to draw.

    around: the operators to show, None for the whole model. values: what it is colored by, None for
    nothing. looks: of every visible node. most: the end of the scale, "" for none. opened: the open
    groups.
    """

    question: GraphQuestion
    model: GraphModel
    around: Neighborhood | None
    layout: NestedLayout
    values: Values
    looks: dict[int, NodeLook]
    most: str
    opened: frozenset[int]

    @property
    def measure(self) -> Measure | None:
        """What the values are, None for changes and without values."""
        return self.values.measure if isinstance(self.values, Amounts) else None

    @cached_property
    def hidden(self) -> dict[int, tuple[int, int]]:
        """How many producers and consumers of a node of a neighborhood are not shown."""
        around = self.around
        if around is None:
            return {}
        counts = zip(around.hidden_inputs.tolist(), around.hidden_outputs.tolist(), strict=True)
        return dict(zip(self.model.tree.leaf[around.operators].tolist(), counts, strict=True))

    @property
    def seeds(self) -> Ints:
        """The nodes that a neighborhood is around."""
        around = self.around
        if around is None:
            return np.zeros(0, np.int64)
        return np.asarray(self.model.tree.leaf[around.operators[around.hop == 0]])

    @property
    def focus(self) -> int:
        """The node that a neighborhood is most about, -1 for none.

        That is the seed of the highest rank; without figures, the first one.
        """
        seeds, figures = self.seeds, self.question.figures
        operators = self.model.tree.operator[seeds]
        if not len(seeds):
            return -1
        rank = -operators if figures is None else figures.order[operators]
        return int(seeds[np.argmax(rank)])

    def is_placed_as(self, other: GraphAnswer) -> bool:
        """Whether it differs from another answer in figures alone, or in what is open."""
        return (
            self.model is other.model
            and self.question.center == other.question.center
            and self.question.sizes.across == other.question.sizes.across
            and (
                self.around is other.around is None
                or self.layout.shown.boxes.tolist() == other.layout.shown.boxes.tolist()
            )
        )


def has_edges_at_once(program: Program) -> bool:
    """Whether the edges of a program are known, or can be found in a few ms."""
    if is_dataflow_known(program):
        return True
    return len(program.operators) <= OPERATORS_AT_ONCE and len(program.text_lines) <= LINES_AT_ONCE


def graph_model(program: Program, calls: tuple[Instance, ...]) -> GraphModel:
    """Return the model of a program, with nothing laid out yet."""
    tree = group_tree(program, calls)
    edges = operator_edges(dataflow_of(program))
    return GraphModel(program, tree, *edges, first_opened(tree), NestedLayouter(), tags_of(calls))


def around_of(question: GraphQuestion) -> Neighborhood | None:
    """Return the operators to show, None for all. Pure."""
    center, figures = question.center, question.figures
    if center is None:
        return None
    return neighborhood(
        dataflow_of(question.program),
        center.seeds,
        center.hops,
        center.direction,
        None if figures is None else figures.order,
        best="" if figures is None else figures.best,
    )


def work_out(question: GraphQuestion, around: Neighborhood | None = None) -> GraphAnswer:
    """Answer a question. Pure, but for what the model keeps. around: if it is already known."""
    model = question.model or graph_model(question.program, question.calls)
    opened = model.opened if question.opened is None else question.opened
    around = around or around_of(question)
    values = model.values(question)
    if around is None:
        groups, tags = shown_groups(model.tree, opened), None
    else:
        groups, tags = shown_operators(model.tree, around.operators), model.tags
    looks, most = looks_of(groups, model.program, question.calls, question.figures, values, tags)
    edges = group_edges(groups, model.producer, model.consumer)
    layout = model.layouter.layout(groups, edges, question.sizes)
    return GraphAnswer(question, model, around, layout, values, looks, most, opened)
