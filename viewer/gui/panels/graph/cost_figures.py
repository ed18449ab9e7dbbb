"""The costs of operators as texts and fills of nodes. No Qt.

The self time determines the fill: a step of the heat, from 0 to the program's most expensive
operator in the current scope, or a fill for operators without such a cost.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property

import numpy as np

from viewer.analysis.cost.operators import OperatorCosts, operator_costs
from viewer.analysis.flows.neighborhood import MOST_EXPENSIVE
from viewer.arrays import Ints
from viewer.gui.panels.base.slice_facts import scope_text
from viewer.gui.panels.graph.colors.fills import Fill, NoCostFill
from viewer.gui.panels.graph.node_figures import NodeCell
from viewer.gui.session.feeds.costs import CostAnswer
from viewer.model.times import format_share, format_time, group_digits, tick_to_ns
from viewer.render.palette import HEAT, HEAT_STEPS, SLAB


@dataclass(frozen=True, eq=False)
class CostFigures:
    """The costs of one profile in a scope."""

    given: CostAnswer
    costs: OperatorCosts

    @property
    def title(self) -> str:
        return scope_text(self.given.shown, self.given.scope)

    @property
    def left_out(self) -> str:
        return ""

    @cached_property
    def order(self) -> Ints:
        return self.costs.cost_order

    @property
    def best(self) -> str:
        return MOST_EXPENSIVE

    @property
    def most(self) -> str:
        """The self time of the program's most expensive operator, "" if none has any."""
        ticks = self.costs.most_expensive
        return format_time(tick_to_ns(ticks, self._ns_per_tick)) if ticks else ""

    @property
    def _ns_per_tick(self) -> Fraction:
        return self.given.shown.axis.ns_per_tick

    def cells(self, operators: Ints) -> list[NodeCell]:
        fills = fills_of(self.costs, operators)
        return [
            NodeCell(cost_text(self.costs, operator, self._ns_per_tick), fill)
            for operator, fill in zip(operators.tolist(), fills, strict=True)
        ]

    def tag(self, operator: int) -> str:
        return ""

    def lines(self, operator: int) -> list[str]:
        return [cost_sentence(self.costs, operator, self._ns_per_tick, self.title)]

    def summary(self, operators: Sequence[int]) -> str:
        return ""


def cost_figures(given: CostAnswer, operators: int) -> CostFigures:
    """Return the costs of a program's operators. operators: how many it has."""
    return CostFigures(given, operator_costs(operators, given.table, given.shown.table.sets))


def fills_of(costs: OperatorCosts, operators: Ints) -> list[Fill]:
    """Return the fill of each of these operators."""
    self_time, shared = costs.self_ticks[operators], costs.shared[operators]
    step = np.minimum(self_time * HEAT_STEPS // max(costs.most_expensive, 1), HEAT_STEPS - 1)
    return [
        HEAT + at
        if self_ticks >= 0
        else SLAB
        if shared_ticks >= 0
        else NoCostFill.IDLE
        if seen
        else NoCostFill.UNLINKED
        for at, self_ticks, shared_ticks, seen in zip(
            step.tolist(),
            self_time.tolist(),
            shared.tolist(),
            costs.linked[operators].tolist(),
            strict=True,
        )
    ]


def cost_text(costs: OperatorCosts, operator: int, ns_per_tick: Fraction) -> str:
    """Return "12.210 µs · 22.1 %", "12.210 µs shared by 6", or why there is no time."""
    self_ticks, shared = int(costs.self_ticks[operator]), int(costs.shared[operator])
    if self_ticks >= 0:
        share = f" · {format_share(self_ticks, costs.whole)}" if costs.whole else ""
        more = " + shared" if shared >= 0 else ""
        return f"{format_time(tick_to_ns(self_ticks, ns_per_tick))}{share}{more}"
    if shared >= 0:
        return f"{format_time(tick_to_ns(shared, ns_per_tick))} {_sharing(costs, operator)}"
    return "no time in this range" if costs.linked[operator] else "not linked"


def _sharing(costs: OperatorCosts, operator: int) -> str:
    if costs.sets[operator] == 1:
        return f"shared by {group_digits(int(costs.members[operator]))}"
    return f"in {group_digits(int(costs.sets[operator]))} shared calls"


def cost_sentence(costs: OperatorCosts, operator: int, ns_per_tick: Fraction, scope: str) -> str:
    """Return the cost of an operator in words. scope: such as "run 2"."""
    self_ticks, shared = int(costs.self_ticks[operator]), int(costs.shared[operator])
    if self_ticks < 0 and shared < 0:
        linked = bool(costs.linked[operator])
        return f"no slice in {scope}" if linked else "not linked to any slice"
    parts = []
    if self_ticks >= 0:
        share = f", {format_share(self_ticks, costs.whole)}" if costs.whole else ""
        parts.append(f"{format_time(tick_to_ns(self_ticks, ns_per_tick))} self{share}")
    if shared >= 0:
        time = format_time(tick_to_ns(shared, ns_per_tick))
        parts.append(f"{time} {_sharing(costs, operator)}, not divided")
    return f"{' and '.join(parts)} in {scope}"
