"""Texts and figures of the nodes of a call tree, computed for the nodes on screen only. No Qt."""

from __future__ import annotations

from collections.abc import Sequence
from enum import Enum
from fractions import Fraction
from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from viewer.analysis.statistics import figure_terms
from viewer.analysis.statistics.figure_terms import FigureTerm
from viewer.arrays import Ints
from viewer.gui.panels.base.slice_facts import MISSING, plain_ns, scope_text
from viewer.gui.panels.calls.answer import CallsAnswer, Matches
from viewer.model.scope import left_out
from viewer.model.text import capped, display_name, one_line
from viewer.model.times import counted, format_share, format_time, group_digits, tick_to_ns

UNNAMED = "(no name)"


class CallColumn(Enum):
    """A column of the table: its title and tooltip, and its width in px (0: the rest)."""

    CALL = FigureTerm("Call", ""), 0
    TOTAL = figure_terms.TOTAL, 128
    SELF = figure_terms.SELF, 112
    COUNT = figure_terms.COUNT, 72
    MEAN = figure_terms.MEAN, 100

    @property
    def term(self) -> FigureTerm:
        """Its title and meaning."""
        return self.value[0]

    @property
    def width(self) -> int:
        """Its width in px, 0 for the rest."""
        return self.value[1]

    @property
    def is_time(self) -> bool:
        """Whether its cells are times."""
        return self not in (CallColumn.CALL, CallColumn.COUNT)


COLUMNS = tuple(CallColumn)


class CallTexts:
    """The texts of one answer. Nodes are numbers of its table."""

    def __init__(self, answer: CallsAnswer) -> None:
        self.answer = answer
        self._rate = answer.shown.axis.ns_per_tick

    def name(self, node: int) -> str:
        """Return the name of a node, in one line."""
        return _in_one_line(self.answer.table.text(node))

    def time(self, ticks: int) -> str:
        """Format ticks as a time."""
        return format_time(tick_to_ns(ticks, self._rate))

    def mean_ns(self, node: int) -> float:
        """Return the mean duration of the calls of a node in ns, -1 without any."""
        count = int(self.answer.table.count[node])
        return float(Fraction(int(self.answer.uncut[node]), count) * self._rate) if count else -1.0

    def cell(self, node: int, column: CallColumn) -> str:
        """Return the text of a cell."""
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
        """Return the text of a cell of the row that stands for some nodes without a row."""
        table = self.answer.table
        if column is CallColumn.CALL:
            return f"{group_digits(len(nodes))} more"
        if column is CallColumn.COUNT:
            return group_digits(int(table.count[nodes].sum()))
        # Bottom-up, totals of siblings may contain one another.
        adds_up = column is CallColumn.TOTAL and not self.answer.question.mode.is_inverted
        if adds_up or column is CallColumn.SELF:
            values = table.total if column is CallColumn.TOTAL else table.self_ticks
            return self.time(int(values[nodes].sum()))
        return ""

    def keys(self, column: CallColumn) -> NDArray[Any]:
        """Return per node what a column sorts by, ascending."""
        table = self.answer.table
        if column is CallColumn.CALL:
            return self.answer.name_rank
        if column is CallColumn.MEAN:
            return np.where(table.count > 0, self.answer.uncut / np.maximum(table.count, 1), -1.0)
        values = {
            CallColumn.TOTAL: table.total,
            CallColumn.SELF: table.self_ticks,
            CallColumn.COUNT: table.count,
        }
        return values[column]

    def has_fractions(self, column: CallColumn) -> bool:
        """Return whether any time of a column is a fraction of a ns."""
        if column is not CallColumn.MEAN:
            return False
        mean = self.keys(column) * float(self._rate)
        return bool(((mean > 0) & (mean < 1000) & (mean % 1 > 0)).any())

    def share(self, ticks: int) -> float:
        """Return the share of all that is shown, 0 to 1."""
        return ticks / self.answer.whole if self.answer.whole else 0.0

    def lines(self, node: int) -> list[str]:
        """Return the lines of the hover tip of a node; the first is the title."""
        table, whole = self.answer.table, self.answer.whole
        lines = [self.name(node)]
        total, own_time = int(table.total[node]), int(table.self_ticks[node])
        for term, own in ((figure_terms.TOTAL, total), (figure_terms.SELF, own_time)):
            share = f", {format_share(own, whole)}" if whole else ""
            lines.append(f"{term.title} {self.time(own)}{share}")
        count = int(table.count[node])
        if count:
            lines.append(f"{counted(count, 'call')}, mean {format_time(self.mean_ns(node))}")
        if self.answer.question.mode.is_inverted and table.depth[node]:
            while table.depth[node]:
                node = int(table.parent[node])
            lines.append(f"when it calls {self.name(node)}")
        return lines

    def subtitle(self, *, several: bool) -> str:
        """Return the scope and the number of calls; several: whether to name the file."""
        answer = self.answer
        where = scope_text(answer.shown, answer.question.scope)
        parts = [where[:1].upper() + where[1:], counted(answer.count, "call")]
        if several:
            parts.append(display_name(answer.shown.trace.path))
        return " · ".join(parts)

    def footer(self) -> str:
        """Return how the figures add up, and what is not counted."""
        answer = self.answer
        table, inverted = answer.table, answer.question.mode.is_inverted
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
        """Return how much a search found: "12 calls · 34.2 % total"."""
        text = counted(matches.calls, "call")
        if not matches.whole:
            return text
        return f"{text} · {format_share(matches.ticks, matches.whole)} total"

    def tsv(self, nodes: Sequence[int], columns: Sequence[CallColumn]) -> str:
        """Return nodes with headings as tab-separated text: times in ns, no digit grouping.

        The column Path names the calls around a call, from the outermost on.
        """
        titles = [f"{c.term.title}, ns" if c.is_time else c.term.title for c in columns]
        lines = ["\t".join([titles[0], "Path", *titles[1:]])]
        table = self.answer.table
        for node in nodes:
            path = " > ".join(map(_in_one_line, table.path(node)[:-1]))
            cells = [self._plain(node, column) for column in columns[1:]]
            lines.append("\t".join([self.name(node), path, *cells]))
        return "\n".join(lines) + "\n"

    def _plain(self, node: int, column: CallColumn) -> str:
        table = self.answer.table
        if column is CallColumn.COUNT:
            return str(int(table.count[node]))
        if column is CallColumn.MEAN:
            mean = self.mean_ns(node)
            return plain_ns(mean) if mean >= 0 else ""
        values = table.total if column is CallColumn.TOTAL else table.self_ticks
        return str(tick_to_ns(int(values[node]), self._rate))


@lru_cache(maxsize=8192)
def _in_one_line(name: str) -> str:
    """Return a name as it is shown; cached, because a frame shows the same ones as the last."""
    return one_line(capped(name)) or UNNAMED
