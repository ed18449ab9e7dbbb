"""Costs of a module tree: figures of its rows, what shares are of, and how they add up."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from viewer.analysis.cost.modules import ModuleCosts, RunMedians
from viewer.analysis.statistics import figure_terms
from viewer.analysis.statistics.figure_terms import FigureTerm
from viewer.gui.panels.base.cost_footer import whole_text
from viewer.gui.panels.model.table import ModelColumn
from viewer.gui.qt.widgets.table_model import any_fraction_of_ns
from viewer.gui.qt.widgets.tree_model import TreeColumn
from viewer.model.scope import TimeScope
from viewer.model.times import tick_to_ns
from viewer.program.module_tree import ModuleKind
from viewer.view.open_trace import OpenTrace


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

    def ns(self, ticks: float) -> float:
        """Return ticks in ns: whole ns, rounded down, of whole ticks."""
        rate = self.shown.axis.ns_per_tick
        return tick_to_ns(ticks, rate) if isinstance(ticks, int) else float(ticks * rate)

    @property
    def share_term(self) -> FigureTerm:
        """What the shares are of."""
        whole = whole_text(self.shown.trace, figure_terms.BUSY_TIME)
        return figure_terms.share(whole, f"{figure_terms.TOTAL.title} time")

    @cached_property
    def fractions(self) -> frozenset[TreeColumn]:
        """The time columns in which a module has a fraction of a ns."""
        rate, costs = float(self.shown.axis.ns_per_tick), self.costs
        with_slices = costs.slices > 0
        means = costs.total[with_slices] * rate / costs.slices[with_slices]
        columns = ((ModelColumn.MEAN, means), (ModelColumn.P50, self.medians.modules * rate))
        return frozenset(cell for cell, ns in columns if any_fraction_of_ns(ns))


@dataclass(frozen=True, slots=True)
class ModelFigures:
    """The numbers of a row, None if it has none.

    total, self_ticks, shared: integer ticks. mean, p50: ticks as floats. slices: a count.
    """

    total: int | None = None
    self_ticks: int | None = None
    shared: int | None = None
    slices: int | None = None
    mean: float | None = None
    p50: float | None = None


def charged_figures(
    total: int, self_ticks: int | None, shared: int | None, slices: int, p50: float | None
) -> ModelFigures:
    """Return the figures of operators. Without time and slices the total is None, not 0."""
    if not total and not slices:
        return ModelFigures(shared=shared, p50=p50 or None)
    return ModelFigures(total, self_ticks, shared, slices, total / slices if slices else None, p50)


def parts_of(costed: ModelCosts) -> tuple[tuple[str, str, int], ...]:
    """Return the parts of the total: the name, color token and ns of each.

    "Modules" covers operator sets inside one module, "Shared" those across several modules.
    """
    costs, rate = costed.costs, costed.shown.axis.ns_per_tick
    unplaced = [m.kind is ModuleKind.UNPLACED for m in costs.tree.modules]
    loose = int(costs.self_ticks[np.array(unplaced)].sum())
    whole = tick_to_ns(costs.whole, rate)
    inside_one = tick_to_ns(int(costs.self_ticks.sum()) - loose, rate)
    across = tick_to_ns(int(costs.shared.sum()), rate)
    no_module = tick_to_ns(loose, rate)
    # Each part is rounded down; the last one is the remainder, so that the sum is exact. The names
    # are short: at 1600 px of width longer ones leave no room for the figures.
    parts = [("Modules", "accent", inside_one), ("Shared", "slab", across)]
    if loose:
        parts.append(("No module", "text3", no_module))
    parts.append(("No operator", "", whole - inside_one - across - no_module))
    return tuple(parts)
