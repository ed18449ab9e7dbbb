"""What a tree of modules cost: figures of its rows, units of its columns, and how they add up."""

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
    """What a tree of modules cost: in a trace as it is shown, in a run or range of it or in all."""

    shown: OpenTrace
    scope: TimeScope
    costs: ModuleCosts
    medians: RunMedians

    @cached_property
    def units(self) -> dict[ModelColumn, tuple[str, int]]:
        """The unit of every column of lengths, by the longest in it, with how many ns it has."""
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
    """The numbers of a row, None where there is none. total, self_ticks and shared: ticks of
    the trace.

    mean, p50: ticks too. slices: how many.
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
    """Figures of operators; without time and without slices they have no total, not one of 0."""
    if not total and not slices:
        return ModelFigures(shared=shared, p50=p50 or None)
    return ModelFigures(total, self_ticks, shared, slices, total / slices if slices else None, p50)


def parts_of(costed: ModelCosts) -> tuple[tuple[str, str, int], ...]:
    """How modules add up to the whole: name, color of the theme and ns of each part.

    Modules: of sets that are in one module. Shared: of those that are in several.
    """
    costs, rate = costed.costs, costed.shown.axis.ns_per_tick
    unplaced = [m.kind is ModuleKind.UNPLACED for m in costs.tree.modules]
    loose = int(costs.own[np.array(unplaced)].sum())
    whole = tick_to_ns(costs.whole, rate)
    one = tick_to_ns(int(costs.own.sum()) - loose, rate)
    several = tick_to_ns(int(costs.shared.sum()), rate)
    none = tick_to_ns(loose, rate)
    # The parts are floored one by one; the last is what is left, so that the sum is exact.
    # Short names: at 1600 px of width longer ones leave no room for the figures.
    parts = [("Modules", "accent", one), ("Shared", "slab", several)]
    if loose:
        parts.append(("No module", "text3", none))
    parts.append(("No operator", "", whole - one - several - none))
    return tuple(parts)
