"""The changes of operators between two arms as texts and fills of nodes. No Qt.

What is proven to be slower or faster has a step of its color, by the size of the change from 0 to
the largest proven one. Everything else is gray: what did not change, and what is inconclusive. A
node of a group, such as the operators of a delegate call, shows the change of the whole group.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from math import ceil

from viewer.analysis.comparison.changes.operators import OperatorChanges
from viewer.analysis.comparison.comparison import Compared
from viewer.analysis.comparison.joined import Row
from viewer.analysis.comparison.steps import CHANGED
from viewer.analysis.delegates.delegation import instances_of
from viewer.arrays import Ints
from viewer.gui.panels.graph.colors.fills import CHANGE_STEPS, ChangeFill, Fill, NoCostFill
from viewer.gui.panels.graph.names import cut_line, tags_of
from viewer.gui.panels.graph.node_figures import NodeCell
from viewer.model.times import counted, format_time, group_digits
from viewer.reports.compare_text import change_text, difference_text, row_sentence, verdict_text
from viewer.view.compared.open_comparison import OpenComparison

NO_SLICE = "no slice in A and B"


@dataclass(frozen=True, eq=False)
class ChangeFigures:
    """The changes of a comparison; the graph is that of the program of A."""

    found: OpenComparison

    @property
    def changes(self) -> OperatorChanges:
        """The rows of each operator."""
        return self.found.operators

    @property
    def title(self) -> str:
        return " · ".join(filter(None, (self.left_out, self.found.subtitle)))

    @property
    def left_out(self) -> str:
        only_b = self.changes.only_b
        return f"{counted(only_b, 'row')} only in B" if only_b else ""

    @cached_property
    def order(self) -> Ints:
        return self.changes.order

    @property
    def best(self) -> str:
        return "largest changes"

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
        (compared, one), lines = self._row(row), []
        if len(changes.operators[row]) > 1:
            label = cut_line(compared.label)
            lines.append(f"{self._sharing(operator)}, not divided: {label}")
        why = cut_line(compared.why.capitalize())
        lines += [times_text(one), f"{verdict_text(one)}.", f"{why}."]
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
        row, one = self._row(rows.pop())
        return f"{row.label}: {times_text(one)}. {row_sentence(row, one)}"

    def _cell(self, operator: int) -> NodeCell:
        row, one = self.changes.row_of(operator), self.changes.change_of(operator)
        if one is None:
            return NodeCell(NO_SLICE, NoCostFill.UNLINKED)
        only_in = "A" if one.b_ns is None else "B" if one.a_ns is None else ""
        ns = one.a_ns if only_in == "A" else one.b_ns
        text = difference_text(round(one.change_ns))
        if only_in:
            text = f"{format_time(round(ns or 0))} only in {only_in}"
        if len(self.changes.operators[row]) > 1:
            text += f" {self._sharing(operator)}"
        else:
            ratio = change_text(one)
            text += f" · {ratio}" if ratio else ""
            text += " + shared" if self.changes.sets[operator] else ""
        return NodeCell(text, self._fill(one, only_in), one.verdict)

    def _fill(self, one: Compared, only_in: str) -> Fill:
        step = 0
        if one.verdict in CHANGED:
            share = abs(one.change_ns) / (self.changes.largest or 1.0)
            step = min(max(ceil(share * CHANGE_STEPS), 1), CHANGE_STEPS)
        return ChangeFill(one.verdict, step, only_in)

    def _sharing(self, operator: int) -> str:
        changes = self.changes
        count = group_digits(len(changes.operators[int(changes.shared[operator])]))
        sets = int(changes.sets[operator])
        return f"shared by {count}" + (f", largest of {sets} groups" if sets > 1 else "")

    def _row(self, number: int) -> tuple[Row, Compared]:
        return self.found.rows[number]

    @cached_property
    def _tags_of_b(self) -> dict[int, str]:
        program = self.found.program(1)
        if program is None:
            return {}
        tags = tags_of(instances_of(program))
        pairs = self.found.calls.pairs.pairs
        return {pair.a: tags[pair.b] for pair in pairs if pair.b in tags}


def times_text(one: Compared) -> str:
    """Return "A 100 µs, B 130 µs, +30 µs per inference, +30.0 %"; what is not known is left out."""
    times = [
        f"{arm} {format_time(round(ns))}"
        for arm, ns in (("A", one.a_ns), ("B", one.b_ns))
        if ns is not None
    ]
    if len(times) == 2:
        times.append(f"{difference_text(round(one.change_ns))} per inference")
    return ", ".join(filter(None, (*times, change_text(one))))
