"""Costs of a module tree: figures of its rows, units of its columns, and how they add up."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from viewer.analysis.cost.modules import ModuleCosts, RunMedians
from viewer.gui.panels.model.columns import ModelColumn
from viewer.model.scope import TimeScope
from viewer.model.times import tick_to_ns, unit_for
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

    @cached_property
    def units(self) -> dict[ModelColumn, tuple[str, int]]:
        """Return the unit of each time column, by its longest duration, and its length in ns."""
        costs, medians = self.costs, self.medians.modules
        rate = self.shown.axis.ns_per_tick
        rows = [(row.ticks, row.slices) for row in costs.table.rows]
        rows += zip(costs.total.tolist(), costs.slices.tolist(), strict=True)
        total = unit_for(tick_to_ns(max(costs.whole, int(costs.outside.max())), rate))
        mean = max((ticks / slices for ticks, slices in rows if slices), default=0)
        p50 = float(np.nanmax(medians)) if not np.isnan(medians).all() else 0
        return {
            ModelColumn.TOTAL: total,
            ModelColumn.SELF: total,
            ModelColumn.SHARED: total,
            ModelColumn.MEAN: unit_for(float(mean * rate)),
            ModelColumn.P50: unit_for(float(p50 * rate)),
        }


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
