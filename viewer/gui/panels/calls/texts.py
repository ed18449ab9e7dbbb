"""Texts and figures of the nodes of a call tree, computed for the nodes on screen only. No Qt."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from viewer.analysis.statistics import figure_terms
from viewer.arrays import Ints
from viewer.gui.panels.base.slice_facts import MISSING, plain_ns, scope_text
from viewer.gui.panels.calls.answer import CallsAnswer
from viewer.gui.panels.calls.columns import COSTS, CallColumn
from viewer.gui.panels.calls.node_texts import NodeTexts
from viewer.gui.panels.calls.shown_calls import Matches
from viewer.model.scope import left_out
from viewer.model.text import display_name
from viewer.model.times import counted, format_share, format_time, group_digits, tick_to_ns


class CallTexts(NodeTexts):
    """The texts of one answer. Nodes are numbers of its table."""

    columns = COSTS

    def __init__(self, answer: CallsAnswer) -> None:
        super().__init__(answer)
        self.costs = answer
        self._rate = answer.shown.axis.ns_per_tick

    def box(self, node: int) -> str:
        table = self.answer.table
        ticks = table.self_ticks if self.answer.is_inverted else table.total
        return self.time(int(ticks[node]))

    def time(self, ticks: int) -> str:
        """Format ticks as a time."""
        return format_time(tick_to_ns(ticks, self._rate))

    def mean_ns(self, node: int) -> float:
        """Return the mean duration of the calls of a node in ns, -1 without any."""
        count = int(self.answer.table.count[node])
        return float(Fraction(int(self.costs.uncut[node]), count) * self._rate) if count else -1.0

    def cell(self, node: int, column: CallColumn) -> str:
        table = self.answer.table
        if column is CallColumn.CALL:
            return self.name(node)
        if column is CallColumn.TOTAL:
            return self.time(int(table.total[node]))
        if column is CallColumn.SELF:
            return self.time(int(table.self_ticks[node]))
        if not self.answer.table.count[node]:
            return MISSING
        if column is CallColumn.COUNT:
            return group_digits(int(table.count[node]))
        return format_time(self.mean_ns(node))

    def rest(self, nodes: Ints, column: CallColumn) -> str:
        table = self.answer.table
        if column is CallColumn.CALL:
            return f"{group_digits(len(nodes))} more"
        if column is CallColumn.COUNT:
            return group_digits(int(table.count[nodes].sum()))
        # Bottom-up, totals of siblings may contain one another.
        adds_up = column is CallColumn.TOTAL and not self.answer.is_inverted
        if adds_up or column is CallColumn.SELF:
            values = table.total if column is CallColumn.TOTAL else table.self_ticks
            return self.time(int(values[nodes].sum()))
        return ""

    def keys(self, column: CallColumn) -> NDArray[Any]:
        table = self.answer.table
        if column is CallColumn.CALL:
            return self.answer.name_rank
        if column is CallColumn.MEAN:
            return np.where(table.count > 0, self.costs.uncut / np.maximum(table.count, 1), -1.0)
        values = {
            CallColumn.TOTAL: table.total,
            CallColumn.SELF: table.self_ticks,
            CallColumn.COUNT: table.count,
        }
        return values[column]

    def has_fractions(self, column: CallColumn) -> bool:
        if column is not CallColumn.MEAN:
            return False
        mean = self.keys(column) * float(self._rate)
        return bool(((mean > 0) & (mean < 1000) & (mean % 1 > 0)).any())

    def share(self, ticks: int) -> float:
        """Return the share of all that is shown, 0 to 1."""
        return ticks / self.answer.whole if self.answer.whole else 0.0

    def lines(self, node: int) -> list[str]:
        table, whole = self.answer.table, self.answer.whole
        lines = [self.name(node)]
        total, own_time = int(table.total[node]), int(table.self_ticks[node])
        for term, own in ((figure_terms.TOTAL, total), (figure_terms.SELF, own_time)):
            share = f", {format_share(own, whole)}" if whole else ""
            lines.append(f"{term.title} {self.time(own)}{share}")
        count = int(table.count[node])
        if count:
            lines.append(f"{counted(count, 'call')}, mean {format_time(self.mean_ns(node))}")
        if self.answer.is_inverted and table.depth[node]:
            while table.depth[node]:
                node = int(table.parent[node])
            lines.append(f"when it calls {self.name(node)}")
        return lines

    def subtitle(self, *, several: bool) -> str:
        answer = self.costs
        where = scope_text(answer.shown, answer.question.scope, loads=True)
        parts = [where[:1].upper() + where[1:], counted(answer.count, "call")]
        if several:
            parts.append(display_name(answer.shown.trace.path))
        return " · ".join(parts)

    def footer(self) -> str:
        answer = self.costs
        table, inverted = answer.table, answer.is_inverted
        own = table.self_ticks[table.depth == 0] if inverted else table.self_ticks
        parts = [f"Self adds up to {self.time(int(own.sum()))}"]
        if inverted:
            parts.append("Below a name are its callers, with its time when they call it")
            if answer.levels:
                parts.append(f"{answer.levels} levels")
        else:
            parts.append("Total includes what a call contains")
        uncounted = left_out(answer.shown.trace, answer.question.scope).text
        return " · ".join([*parts, uncounted] if uncounted else parts)

    def found(self, matches: Matches) -> str:
        text = counted(matches.calls, "call")
        if not matches.whole:
            return text
        return f"{text} · {format_share(matches.ticks, matches.whole)} total"

    def plain(self, node: int, column: CallColumn) -> str:
        table = self.answer.table
        if column is CallColumn.COUNT:
            return str(int(table.count[node]))
        if column is CallColumn.MEAN:
            mean = self.mean_ns(node)
            return plain_ns(mean) if mean >= 0 else ""
        values = table.total if column is CallColumn.TOTAL else table.self_ticks
        return str(tick_to_ns(int(values[node]), self._rate))
