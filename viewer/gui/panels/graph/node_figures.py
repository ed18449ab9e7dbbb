"""The figures of operators in the graph as texts and fills: costs or changes. No Qt.

Of changes, what is proven to be slower or faster has a step of its color, by the size of the change
from 0 to the largest proven one. Everything else is gray: what did not change, and what is
inconclusive. A node of a group, such as the operators of a delegate call, shows the change of the
whole group.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import Enum
from functools import cached_property
from itertools import chain
from math import ceil
from typing import ClassVar

import numpy as np

from viewer.analysis.comparison.changes.operators import OperatorChanges
from viewer.analysis.comparison.comparison import Compared, Verdict
from viewer.analysis.comparison.joined import Row
from viewer.analysis.comparison.steps import CHANGED
from viewer.analysis.cost.costs import CostRow
from viewer.analysis.delegates.delegation import instances_of
from viewer.analysis.flows.neighborhood import MOST_EXPENSIVE
from viewer.analysis.statistics import figure_terms
from viewer.arrays import Bools, Ints
from viewer.gui.panels.base.slice_facts import scope_text
from viewer.gui.panels.graph.names import cut_line, tags_of
from viewer.gui.session.feeds.costs import CostAnswer
from viewer.model.figure_base import FigureBase
from viewer.model.times import (
    counted,
    format_share,
    format_time,
    group_digits,
)
from viewer.reports.compare_text import change_text, difference_text, row_sentence, verdict_text
from viewer.view.compared.open_comparison import OpenComparison

NO_SLICE = "no slice in A and B"
# Steps of the color of what is slower, and of what is faster.
CHANGE_STEPS = 3


class NoCostFill(Enum):
    """Fills that are not a palette index.

    IDLE: no time in the current scope. UNLINKED: no slice of the profile is linked to the operator.
    PLAIN: there is no profile.
    """

    IDLE = "idle"
    UNLINKED = "unlinked"
    PLAIN = "plain"


@dataclass(frozen=True, slots=True)
class ChangeFill:
    """The fill of a change between two arms.

    step: 1 to `CHANGE_STEPS` for what is slower or faster, else 0. only_in: "A" or "B" if the other
    arm does not have it, else "".
    """

    verdict: Verdict
    step: int = 0
    only_in: str = ""


@dataclass(frozen=True, slots=True)
class CallFill:
    """The ground of a delegate call. backend: the number of its delegate in the program."""

    backend: int


Fill = int | NoCostFill | ChangeFill | CallFill


@dataclass(frozen=True, slots=True)
class NodeCell:
    """The figure of an operator as a text, a fill, and the mark of its verdict if it has one."""

    text: str
    fill: Fill
    verdict: Verdict | None = None


@dataclass(frozen=True, eq=False)
class CostFigures:
    """The costs of one profile in a scope. The time of a set of operators is never divided.

    title: what the figures are, such as "run 2". count: of the operators of the program. left_out:
    what has figures and no node, "" for nothing. best: what a high rank means.
    """

    left_out: ClassVar[str] = ""
    best: ClassVar[str] = MOST_EXPENSIVE

    answer: CostAnswer
    count: int

    @property
    def title(self) -> str:
        scope = scope_text(self.answer.open_trace, self.answer.scope, per_inference=True)
        return f"{self.base.titled(figure_terms.SELF.title)} · {scope}" if self.base.name else scope

    @cached_property
    def _rows(self) -> tuple[dict[int, CostRow], dict[int, list[CostRow]]]:
        """The row of every operator alone, and those that it shares with others."""
        alone: dict[int, CostRow] = {}
        shared: dict[int, list[CostRow]] = {}
        for row in self.answer.table.rows:
            if row.is_shared:
                for operator in row.operators:
                    shared.setdefault(operator, []).append(row)
            else:
                alone[row.operators[0]] = row
        return alone, shared

    @cached_property
    def _whole(self) -> int:
        return self.answer.table.whole  # the table sums it up each time

    @cached_property
    def order(self) -> Ints:
        """The ranking key per operator; the highest ones are shown first."""
        alone, shared = self._rows
        order = np.zeros(self.count, np.int64)
        order[list(alone)] = [row.ticks for row in alone.values()]
        ticks = [sum(row.ticks for row in rows) for rows in shared.values()]
        order[list(shared)] = np.maximum(order[list(shared)], ticks)
        return order

    @cached_property
    def linked(self) -> Bools:
        """Per operator, whether any slice of the trace, in the scope or not, is linked to it."""
        linked = np.zeros(self.count, np.bool_)
        linked[np.fromiter(chain.from_iterable(self.answer.open_trace.table.sets), np.int64)] = True
        return linked

    @property
    def base(self) -> FigureBase:
        """What the figures are per."""
        return self.answer.base

    def text(self, operator: int) -> str:
        """Return "12.210 µs · 22.1 % + shared": the self time of an operator that has one."""
        alone, shared = self._rows
        time, part = self._self_texts(alone[operator])
        return f"{time}{part and f' · {part}'}{' + shared' if operator in shared else ''}"

    def tag(self, operator: int) -> str:
        """Return the delegate call of an operator outside the program, "" for none."""
        return ""

    def lines(self, operator: int) -> list[str]:
        """Return the lines of the tooltip of an operator about its figures."""
        alone, shared = self._rows
        parts = []
        if operator in alone:
            time, part = self._self_texts(alone[operator])
            parts.append(f"{time} self{part and f', {part}'}")
        if operator in shared:
            rows = shared[operator]
            time = self.base.text(sum(row.ticks for row in rows))
            sharing = f"in {group_digits(len(rows))} shared calls"
            if len(rows) == 1:
                sharing = f"shared by {group_digits(len(rows[0].operators))}"
            parts.append(f"{time} {sharing}, not divided")
        if parts:
            return [f"{' and '.join(parts)} in {self.title}"]
        return [f"no slice in {self.title}" if self.linked[operator] else "not linked to any slice"]

    def summary(self, operators: Sequence[int]) -> str:
        """Return a sentence about selected operators, "" to describe the graph instead."""
        return ""

    def _self_texts(self, row: CostRow) -> tuple[str, str]:
        """Return the time of an operator alone, and its share; "" if the file cuts it to 0."""
        whole, time = self._whole, self.base.text(row.ticks, row.zeros)
        has_share = whole and (row.ticks or not row.zeros)
        return time, format_share(row.wall, whole) if has_share else ""


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
