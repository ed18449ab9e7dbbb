"""The figures of operators in the graph as texts and fills: costs or changes. No Qt.

Of changes, what is proven to be slower or faster has a step of its color, by the size of the change
from 0 to the largest proven one. Everything else is gray: what did not change, and what is
inconclusive. A node of a group, such as the operators of a delegate call, shows the change of the
whole group.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from math import ceil
from typing import ClassVar

from viewer.analysis.comparison.changes.operators import OperatorChanges
from viewer.analysis.comparison.comparison import Compared, Verdict
from viewer.analysis.comparison.joined import Row
from viewer.analysis.comparison.steps import CHANGED
from viewer.analysis.cost.operators import OperatorCosts, operator_costs
from viewer.analysis.delegates.delegation import instances_of
from viewer.analysis.flows.neighborhood import MOST_EXPENSIVE
from viewer.arrays import Ints
from viewer.gui.panels.base.slice_facts import scope_text
from viewer.gui.panels.graph.fills import CHANGE_STEPS, ChangeFill, Fill, NoCostFill
from viewer.gui.panels.graph.names import cut_line, tags_of
from viewer.gui.session.feeds.costs import CostAnswer
from viewer.model.times import (
    counted,
    format_bounded,
    format_share,
    format_time,
    group_digits,
    tick_to_ns,
)
from viewer.model.timing import ROUNDING_TICKS
from viewer.reports.compare_text import change_text, difference_text, row_sentence, verdict_text
from viewer.view.compared.open_comparison import OpenComparison

NO_SLICE = "no slice in A and B"


@dataclass(frozen=True, slots=True)
class NodeCell:
    """The figure of an operator as a text, a fill, and the mark of its verdict if it has one."""

    text: str
    fill: Fill
    verdict: Verdict | None = None


@dataclass(frozen=True, eq=False)
class CostFigures:
    """The costs of one profile in a scope.

    title: what the figures are, such as "run 2". left_out: what has figures and no node, "" for
    nothing. best: what a high rank means.
    """

    left_out: ClassVar[str] = ""
    best: ClassVar[str] = MOST_EXPENSIVE

    answer: CostAnswer
    costs: OperatorCosts

    @property
    def title(self) -> str:
        return scope_text(self.answer.open_trace, self.answer.scope)

    @cached_property
    def order(self) -> Ints:
        """The ranking key per operator; the highest ones are shown first."""
        return self.costs.cost_order

    @property
    def ns_per_tick(self) -> Fraction:
        """The unit of the times."""
        return self.answer.open_trace.axis.ns_per_tick

    def text(self, operator: int) -> str:
        """Return "12.210 µs · 22.1 % + shared": the self time of an operator that has one."""
        time, part = _self_texts(self.costs, operator, self.ns_per_tick)
        more = " + shared" if self.costs.shared[operator] >= 0 else ""
        return f"{time}{f' · {part}' if part else ''}{more}"

    def tag(self, operator: int) -> str:
        """Return the delegate call of an operator outside the program, "" for none."""
        return ""

    def lines(self, operator: int) -> list[str]:
        """Return the lines of the tooltip of an operator about its figures."""
        return [cost_sentence(self.costs, operator, self.ns_per_tick, self.title)]

    def summary(self, operators: Sequence[int]) -> str:
        """Return a sentence about selected operators, "" to describe the graph instead."""
        return ""


def cost_figures(answer: CostAnswer, operators: int) -> CostFigures:
    """Return the costs of a program's operators. operators: how many it has."""
    return CostFigures(
        answer, operator_costs(operators, answer.table, answer.open_trace.table.sets)
    )


def _self_texts(costs: OperatorCosts, operator: int, ns_per_tick: Fraction) -> tuple[str, str]:
    """Return the self time of an operator and its share; "" if the file cuts the time to 0."""
    ticks, zeros = int(costs.self_ticks[operator]), int(costs.zeros[operator])
    cut = float(ROUNDING_TICKS * ns_per_tick)
    time = format_bounded(tick_to_ns(ticks, ns_per_tick), zeros, cut)
    has_share = costs.whole and (ticks or not zeros)
    wall = int(costs.wall[operator])
    return time, format_share(wall, costs.whole) if has_share else ""


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
        time, part = _self_texts(costs, operator, ns_per_tick)
        parts.append(f"{time} self{f', {part}' if part else ''}")
    if shared >= 0:
        time = format_time(tick_to_ns(shared, ns_per_tick))
        parts.append(f"{time} {_sharing(costs, operator)}, not divided")
    return f"{' and '.join(parts)} in {scope}"


@dataclass(frozen=True, eq=False)
class ChangeFigures:
    """The changes of a comparison; the graph is that of the program of A."""

    comparison: OpenComparison
    best: ClassVar[str] = "largest changes"

    @property
    def changes(self) -> OperatorChanges:
        """The rows of each operator."""
        return self.comparison.operators

    @property
    def title(self) -> str:
        return " · ".join(filter(None, (self.left_out, self.comparison.subtitle)))

    @property
    def left_out(self) -> str:
        only_b = self.changes.only_b
        return f"{counted(only_b, 'row')} only in B" if only_b else ""

    @cached_property
    def order(self) -> Ints:
        return self.changes.order

    @property
    def most(self) -> str:
        """The largest proven change without its sign, "" if none is proven."""
        return format_time(round(self.changes.largest)) if self.changes.largest else ""

    def cells(self, operators: Ints) -> list[NodeCell]:
        return [self._cell(operator) for operator in operators.tolist()]

    def tag(self, operator: int) -> str:
        """Return the delegate call of B that has an operator, "Xnnpack 2 in B"."""
        tag = self._tags_of_b.get(operator, "")
        return f"{tag} in B" if tag else ""

    def lines(self, operator: int) -> list[str]:
        row, changes = self.changes.row_of(operator), self.changes
        if row < 0:
            return [NO_SLICE]
        (compared, change), lines = self._row(row), []
        if len(changes.operators[row]) > 1:
            label = cut_line(compared.label)
            lines.append(f"{self._sharing(operator)}, not divided: {label}")
        why = cut_line(compared.why.capitalize())
        lines += [times_text(change), f"{verdict_text(change)}.", f"{why}."]
        if changes.own[operator] >= 0 and changes.sets[operator]:
            shared = int(changes.shared[operator])
            other, its = self._row(shared)
            lines.append(
                f"also {self._sharing(operator)}, not divided: {cut_line(other.label)}, "
                f"{times_text(its)}"
            )
        return lines

    def summary(self, operators: Sequence[int]) -> str:
        rows = {self.changes.row_of(operator) for operator in operators}
        if len(rows) != 1 or rows == {-1}:
            return ""
        row, change = self._row(rows.pop())
        return f"{row.label}: {times_text(change)}. {row_sentence(row, change)}"

    def _cell(self, operator: int) -> NodeCell:
        row, change = self.changes.row_of(operator), self.changes.change_of(operator)
        if change is None:
            return NodeCell(NO_SLICE, NoCostFill.UNLINKED)
        only_in = "A" if change.b_ns is None else "B" if change.a_ns is None else ""
        ns = change.a_ns if only_in == "A" else change.b_ns
        text = difference_text(round(change.change_ns))
        if only_in:
            text = f"{format_time(round(ns or 0))} only in {only_in}"
        if len(self.changes.operators[row]) > 1:
            text += f" {self._sharing(operator)}"
        else:
            ratio = change_text(change)
            text += f" · {ratio}" if ratio else ""
            text += " + shared" if self.changes.sets[operator] else ""
        return NodeCell(text, self._fill(change, only_in), change.verdict)

    def _fill(self, change: Compared, only_in: str) -> Fill:
        step = 0
        if change.verdict in CHANGED:
            share = abs(change.change_ns) / (self.changes.largest or 1.0)
            step = min(max(ceil(share * CHANGE_STEPS), 1), CHANGE_STEPS)
        return ChangeFill(change.verdict, step, only_in)

    def _sharing(self, operator: int) -> str:
        changes = self.changes
        count = group_digits(len(changes.operators[int(changes.shared[operator])]))
        sets = int(changes.sets[operator])
        return f"shared by {count}" + (f", largest of {sets} groups" if sets > 1 else "")

    def _row(self, number: int) -> tuple[Row, Compared]:
        return self.comparison.rows[number]

    @cached_property
    def _tags_of_b(self) -> dict[int, str]:
        program = self.comparison.program(1)
        if program is None:
            return {}
        tags = tags_of(instances_of(program))
        pairs = self.comparison.calls.pairs.pairs
        return {pair.a: tags[pair.b] for pair in pairs if pair.b in tags}


def times_text(change: Compared) -> str:
    """Return "A 100 µs, B 130 µs, +30 µs per inference, +30.0 %"; what is not known is left out."""
    times = [
        f"{arm} {format_time(round(ns))}"
        for arm, ns in (("A", change.a_ns), ("B", change.b_ns))
        if ns is not None
    ]
    if len(times) == 2:
        times.append(f"{difference_text(round(change.change_ns))} per inference")
    return ", ".join(filter(None, (*times, change_text(change))))


NodeFigures = CostFigures | ChangeFigures
