"""The columns of the Model panel, and the costs of a module tree that stand in them.

Costs are figures of rows; each column says what its shares are of and how it adds up.
"""

from __future__ import annotations

from enum import Enum
from functools import cached_property

import numpy as np

from viewer.analysis.cost.source_costs import ModuleCosts, RunMedians
from viewer.dataclasses import dataclass, replace
from viewer.gui.panels.base.cost_painting import CHANGE, RATIO, arm_columns, whole_text
from viewer.gui.qt.widgets.tables import any_fraction_of_ns
from viewer.gui.qt.widgets.trees import Cell, TreeColumn
from viewer.model import figures as figure_terms
from viewer.model.figures import MEDIAN_WORD as MEDIAN
from viewer.model.figures import FigureBase, FigureTerm, TimeScope
from viewer.program.module_tree import ModuleKind
from viewer.view.open_trace import OpenTrace


class RowKind(Enum):
    MODULE = "module"
    OPERATOR = "operator"
    SET = "shared"
    SLICE = "slice"
    REST = "more slices"


@dataclass(eq=False, slots=True)
class ModelRow:
    """One row of the tree.

    number: the module, operator or slice that it shows, or the index among the module's shared
    sets; for `REST`, how many slices are not listed. id: index in `ModelRows.made`. parent: id of
    its parent, -1 for the root.
    """

    kind: RowKind
    number: int
    id: int
    parent: int


def _figure(
    term: FigureTerm, width: int, here: str, leaves: int, cell: Cell = Cell.TIME
) -> TreeColumn:
    """Return the column of a figure. here: what the term means in this panel."""
    return TreeColumn(term.title, width, term.explained(here), cell, leaves)


class ModelColumn:
    """The columns, with costs, of a record alone, or with changes."""

    NAME = TreeColumn("Module", 0, cell=Cell.NAME)
    TOTAL = replace(
        _figure(figure_terms.TOTAL, 92, "Here the time charged to a module and to all in it.", 0),
        is_title_left=True,
    )
    SHARE = TreeColumn("Share", 132, leaves=6)  # its title names the whole
    FORWARD = TreeColumn(
        "Forward", 92, "The part of the total in the forward pass.", Cell.TIME, leaves=8
    )
    BACKWARD = TreeColumn(
        "Backward", 92,
        "The part of the total in the backward pass: an operator there belongs to the module of "
        "its forward operator.", Cell.TIME, leaves=7,
    )  # fmt: skip
    SELF = _figure(figure_terms.SELF, 92, "Here that of the operators directly in a module.", 5)
    SHARED = _figure(
        figure_terms.SHARED, 92,
        "With operators outside this module. The Total of the module that contains them all "
        "includes it; the Total of this module does not.", 2,
    )  # fmt: skip
    SLICES = _figure(
        figure_terms.COUNT, 60, "A kernel inside its call is not counted again.", 3, Cell.NUMBER
    )
    MEAN = _figure(figure_terms.MEAN, 92, "Here Total by Count.", 1)
    P50 = _figure(
        figure_terms.PER_INFERENCE, 96,
        "Inferences that warm up are left out. The selected inference does not change it. Empty "
        "for a model whose methods ran in turns.", 4,
    )  # fmt: skip
    SUM = _figure(figure_terms.TOTAL, 104, "", 1)
    COUNT = TreeColumn(
        "Operators", 80, "How many operators are in a module and in all modules below it."
    )
    LINE = TreeColumn("Line", 60, cell=Cell.LINE)
    OUTPUT = TreeColumn("Output", 190, cell=Cell.CODE, leaves=7)
    A, B = arm_columns(
        "Median of the session medians, per inference.", " Modules sum up what is in them."
    )
    CHANGE = replace(CHANGE, leaves=8)
    RATIO = RATIO


WITH_COSTS = (
    ModelColumn.NAME, ModelColumn.TOTAL, ModelColumn.SHARE, ModelColumn.FORWARD,
    ModelColumn.BACKWARD, ModelColumn.SELF, ModelColumn.SHARED, ModelColumn.SLICES,
    ModelColumn.MEAN, ModelColumn.P50, ModelColumn.SUM,
)  # fmt: skip
OF_RECORD = (ModelColumn.NAME, ModelColumn.COUNT, ModelColumn.LINE, ModelColumn.OUTPUT)
OF_CHANGES = (
    ModelColumn.NAME, ModelColumn.A, ModelColumn.B, ModelColumn.CHANGE, ModelColumn.RATIO,
)  # fmt: skip
_DIVIDED = (
    ModelColumn.TOTAL, ModelColumn.FORWARD, ModelColumn.BACKWARD, ModelColumn.SELF,
    ModelColumn.SHARED,
)  # fmt: skip


@dataclass(frozen=True, eq=False)
class ModelCosts:
    """The costs of a module tree, in one inference, a range, or the whole trace.

    shown: the trace as it is displayed. medians: over all inferences but
    the warm-up, whatever the scope is.
    """

    shown: OpenTrace
    scope: TimeScope
    costs: ModuleCosts
    medians: RunMedians

    @cached_property
    def base(self) -> FigureBase:
        return self.shown.base_of(self.scope)

    def base_of(self, column: TreeColumn) -> FigureBase:
        """Return what a column of times is per: some are no mean per inference."""
        is_divided = column in _DIVIDED
        return self.base if is_divided else FigureBase(self.base.rate)

    def title(self, column: TreeColumn) -> str:
        """Return the title of a column, with what its figures are per."""
        if column is ModelColumn.SHARE:
            return self.share_term.title
        if column in (ModelColumn.SUM, ModelColumn.SLICES):
            return self.base.summed(column.title)
        if column is ModelColumn.P50:
            if len({run.scope for run in self.shown.trace.inferences()}) > 1:
                return MEDIAN  # that of each method is of its own inferences
            return replace(self.base, count=self.medians.runs).median_title
        if column in (ModelColumn.FORWARD, ModelColumn.BACKWARD):
            return column.title  # parts of the total, whose title has the base
        return self.base_of(column).titled(column.title)

    def tip(self, column: TreeColumn) -> str:
        base = self.base_of(column)
        is_sum = column in (ModelColumn.SUM, ModelColumn.SLICES)
        more = self.base.sum_explanation if is_sum else base.explanation
        return " ".join(filter(None, (self.base.unit.worded(column.tip), more)))

    @property
    def share_term(self) -> FigureTerm:
        whole = whole_text(self.shown.trace, figure_terms.BUSY_TIME)
        return figure_terms.share(whole, f"{figure_terms.TOTAL.title} time", self.base)

    @cached_property
    def fractions(self) -> frozenset[TreeColumn]:
        """The time columns in which a module has a fraction of a ns."""
        rate, costs = float(self.shown.axis.ns_per_tick), self.costs
        with_slices = costs.slices > 0
        means = costs.total[with_slices] * rate / costs.slices[with_slices]
        per = rate / self.base.divisor
        columns = (
            (ModelColumn.MEAN, means),
            (ModelColumn.P50, self.medians.modules * rate),
            (ModelColumn.TOTAL, costs.total * per),
            (ModelColumn.FORWARD, costs.forward * per),
            (ModelColumn.BACKWARD, costs.backward * per),
            (ModelColumn.SELF, costs.self_ticks * per),
            (ModelColumn.SHARED, costs.outside * per),
        )
        return frozenset(cell for cell, ns in columns if any_fraction_of_ns(ns))


@dataclass(frozen=True, slots=True)
class ModelFigures:
    """The numbers of a row, None if it has none.

    total, self_ticks, shared, forward, backward: integer ticks. mean, p50: ticks as floats. slices:
    a count.
    """

    total: int | None = None
    self_ticks: int | None = None
    shared: int | None = None
    slices: int | None = None
    mean: float | None = None
    p50: float | None = None
    forward: int | None = None
    backward: int | None = None


def charged_figures(
    total: int, self_ticks: int | None, shared: int | None, slices: int, p50: float | None
) -> ModelFigures:
    """Return the figures of operators. Without time and slices the total is None, not 0."""
    if not total and not slices:
        return ModelFigures(shared=shared, p50=p50 or None)
    return ModelFigures(total, self_ticks, shared, slices, total / slices if slices else None, p50)


def parts_of(costed: ModelCosts) -> tuple[tuple[str, str, float], ...]:
    """Return the parts of the total: the name, color token and ns of each.

    "Modules" covers operator sets inside one module, "Shared" those across several modules.
    """
    costs = costed.costs
    without = {ModuleKind.UNPLACED, *([ModuleKind.METHOD] if costs.tree.is_joined else ())}
    unplaced = [module.kind in without for module in costs.tree.modules]
    loose = int(costs.self_ticks[np.array(unplaced)].sum())
    inside, across = int(costs.self_ticks.sum()) - loose, int(costs.shared.sum())
    free = costs.whole - inside - across - loose
    inside_one, shared, no_module, rest = costed.base.parts(inside, across, loose, free)
    # The names are short: at 1600 px of width longer ones leave no room for the figures.
    parts = [("Modules", "accent", inside_one), ("Shared", "slab", shared)]
    if loose:
        parts.append(("No module", "text3", no_module))
    parts.append(("No operator", "", rest))
    return tuple(parts)
