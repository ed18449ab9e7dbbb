"""The question about a whole model, and its answer: what is visible, where it is, how it looks."""

from __future__ import annotations

from dataclasses import dataclass, field

from viewer.analysis.delegates.delegation import Instance
from viewer.analysis.flows.dataflow import dataflow_of
from viewer.analysis.numeric.compared import OperatorErrors
from viewer.arrays import Ints
from viewer.gui.panels.graph.node_figures import ChangeFigures, CostFigures, NodeFigures
from viewer.gui.panels.graph.whole.looks import Looks, looks_of
from viewer.gui.panels.graph.whole.measures import (
    Amounts,
    Measure,
    MeasureKind,
    amounts,
    error_measure,
    memory_measure,
    size_measure,
    time_measure,
)
from viewer.program.program import Program
from viewer.render.graph.model_tree import GroupTree, group_tree
from viewer.render.graph.nested_layout import GroupSizes, NestedLayout, NestedLayouter
from viewer.render.graph.open_groups import (
    first_opened,
    group_edges,
    operator_edges,
    shown_groups,
)
from viewer.workspace.workspace import Workspace

Values = Amounts | ChangeFigures | None


@dataclass(frozen=True, eq=False)
class WholeModel:
    """What stays the same while groups open and close, and what was computed for it.

    producer, consumer: of every edge between operators. opened: the groups that are open first.
    """

    program: Program
    tree: GroupTree
    producer: Ints
    consumer: Ints
    opened: frozenset[int]
    layouter: NestedLayouter
    _values: dict[MeasureKind, tuple[object, Values]] = field(default_factory=dict)

    def values(self, kind: MeasureKind | None, question: WholeQuestion) -> Values:
        """Return what to color by; computed again if what it depends on has changed."""
        if kind is None:
            return None
        needs: object = question.files
        if kind in (MeasureKind.TIME, MeasureKind.CHANGE):
            needs = question.figures
        elif kind is MeasureKind.ERROR:
            needs = question.errors
        known = self._values.get(kind)
        if known is None or known[0] is not needs:
            found: Values
            if kind is MeasureKind.CHANGE:
                found = question.figures if isinstance(question.figures, ChangeFigures) else None
            else:
                measure = measure_of(kind, question)
                found = None if measure is None else amounts(self.tree, measure)
            known = self._values[kind] = needs, found
        return known[1]


@dataclass(frozen=True, eq=False)
class WholeQuestion:
    """What to show.

    figures: of the profile or the comparison. calls: the delegate calls. kind: what to color by,
    None for nothing. opened: the open groups, None for those of the first view. space: the open
    files; files: an object that is another one after they changed. known: the model, if it is the
    same as before. errors: of the logged values of operators, None if they are not compared.
    """

    program: Program
    figures: NodeFigures | None
    calls: tuple[Instance, ...]
    kind: MeasureKind | None
    opened: frozenset[int] | None
    sizes: GroupSizes
    space: Workspace
    files: object
    known: WholeModel | None
    errors: OperatorErrors | None = None

    def is_as(self, other: WholeQuestion) -> bool:
        """Whether another question has the same answer."""
        return (
            self.program is other.program
            and self.figures is other.figures
            and self.kind is other.kind
            and self.opened == other.opened
            and self.sizes == other.sizes
            and self.files is other.files
            and self.errors is other.errors
        )


@dataclass(frozen=True, eq=False)
class WholeAnswer:
    """A whole model to draw. values: what it is colored by, None for nothing."""

    question: WholeQuestion
    model: WholeModel
    layout: NestedLayout
    values: Values
    looks: Looks
    opened: frozenset[int]

    @property
    def measure(self) -> Measure | None:
        """What the values are, None for changes and without values."""
        return self.values.measure if isinstance(self.values, Amounts) else None


def measure_of(kind: MeasureKind, question: WholeQuestion) -> Measure | None:
    """Return the values of operators, None if there are none of this kind."""
    if kind is MeasureKind.MEMORY:
        return memory_measure(question.space, question.program)
    if kind is MeasureKind.SIZE:
        return size_measure(question.space, question.program)
    if kind is MeasureKind.ERROR:
        return None if question.errors is None else error_measure(question.errors)
    figures = question.figures
    return time_measure(figures) if isinstance(figures, CostFigures) else None


def whole_model(program: Program, calls: tuple[Instance, ...]) -> WholeModel:
    """Return the model of a program, with nothing laid out yet."""
    tree = group_tree(program, calls)
    edges = operator_edges(dataflow_of(program))
    return WholeModel(program, tree, *edges, first_opened(tree), NestedLayouter())


def work_out_whole(question: WholeQuestion) -> WholeAnswer:
    """Answer a question. Pure, but for what the model keeps."""
    model = question.known or whole_model(question.program, question.calls)
    opened = model.opened if question.opened is None else question.opened
    shown = shown_groups(model.tree, opened)
    edges = group_edges(shown, model.producer, model.consumer)
    layout = model.layouter.layout(shown, edges, question.sizes)
    values = model.values(question.kind, question)
    looks = looks_of(shown, question.calls, values)
    return WholeAnswer(question, model, layout, values, looks, opened)
