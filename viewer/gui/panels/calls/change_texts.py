"""Texts and figures of the changes of call paths, computed for the nodes on screen only. No Qt."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from viewer.arrays import Ints
from viewer.gui.panels.base.slice_facts import MISSING, plain_ns, plain_number
from viewer.gui.panels.calls.changes import ChangesAnswer
from viewer.gui.panels.calls.columns import CHANGES, CallColumn
from viewer.gui.panels.calls.node_texts import NodeTexts
from viewer.gui.panels.calls.shown_calls import Matches
from viewer.model.times import counted, format_share, format_time, group_digits
from viewer.reports.changed_calls import (
    ONLY_A_TIP,
    box_text,
    counts_text,
    mark_of,
    medians_text,
    path_lines,
)
from viewer.reports.compare_text import change_ns_text, change_text, difference_text


class ChangeTexts(NodeTexts):
    """The texts of one answer. Nodes are numbers of its table."""

    columns = CHANGES
    hatches = True

    def __init__(self, answer: ChangesAnswer) -> None:
        super().__init__(answer)
        self.changed = answer

    @property
    def first_rank(self) -> NDArray[Any]:
        return self.changed.first_rank

    def mark(self, node: int) -> str:
        path = int(self.changed.table.number[node])
        return mark_of(self.changed.changes, path) if path >= 0 else ""

    def box(self, node: int) -> str:
        path = int(self.changed.table.number[node])
        if path < 0:
            return format_time(int(self.changed.table.total[node]))
        return box_text(self.changed.changes, path)

    def verdict(self, node: int) -> str:
        """Return the verdict on a node, "" for a group of paths."""
        one = self.changed.compared(node)
        return "" if one is None else one.verdict.value

    def bar(self, node: int) -> float:
        """Return the change of a node as -1 to 1 of the largest one."""
        one, largest = self.changed.compared(node), self.changed.largest
        return one.change_ns / largest if one is not None and largest else 0.0

    def _value(self, node: int, column: CallColumn) -> float | None:
        one = self.changed.compared(node)
        if column is CallColumn.CHANGE:
            has_none = one is not None and not change_ns_text(one)
            return None if has_none else float(self.changed.calls.change_ns[node])
        if one is None:
            return float(self.changed.table.total[node]) if column is CallColumn.A else None
        if column is CallColumn.A:
            return one.a_ns
        return one.b_ns if column is CallColumn.B else one.change

    def cell(self, node: int, column: CallColumn) -> str:
        if column is CallColumn.CALL:
            return self.name(node)
        if column is CallColumn.RATIO:
            one = self.changed.compared(node)
            return MISSING if one is None else change_text(one) or MISSING
        value = self._value(node, column)
        if value is None:
            return MISSING
        is_change = column is CallColumn.CHANGE
        return difference_text(round(value)) if is_change else format_time(round(value))

    def rest(self, nodes: Ints, column: CallColumn) -> str:
        if column is CallColumn.CALL:
            return f"{group_digits(len(nodes))} more"
        if column is CallColumn.RATIO:
            return ""
        if column is CallColumn.CHANGE:
            return difference_text(round(float(self.changed.calls.change_ns[nodes].sum())))
        side = 0 if column is CallColumn.A else 1
        totals = np.append(self.changed.changes.total_ns[side], 0.0)
        return format_time(round(float(np.nansum(totals[self.changed.table.number[nodes]]))))

    def keys(self, column: CallColumn) -> NDArray[Any]:
        if column is CallColumn.CALL:
            return self.changed.name_rank
        if column is CallColumn.CHANGE:
            return self.changed.calls.change_ns
        number = self.changed.table.number
        a, b = (np.append(np.nan_to_num(ns), 0.0)[number] for ns in self.changed.changes.total_ns)
        if column is CallColumn.A:
            return a
        if column is CallColumn.B:
            return b
        with np.errstate(divide="ignore", invalid="ignore"):
            ratio: NDArray[Any] = np.where((a > 0) & (b > 0), b / a - 1, 0.0)
        return ratio

    def lines(self, node: int) -> list[str]:
        path = int(self.changed.table.number[node])
        if path < 0:
            return [self.name(node), self.box(node), ONLY_A_TIP]
        return [self.name(node), *path_lines(self.changed.changes, path)]

    def subtitle(self, *, several: bool) -> str:
        changes = self.changed.changes
        return f"{counts_text(changes)} · {medians_text(changes)}"

    @property
    def shorter_subtitles(self) -> tuple[str, ...]:
        counts = counts_text(self.changed.changes)
        alone = counts.partition(": ")[2] or counts.rpartition(", ")[2]
        return counts, alone, alone.partition(", ")[0]

    def footer(self) -> str:
        alone = ", or else in A" if self.changed.changes.only[0].any() else ""
        return f"Width: time in B{alone}"

    def found(self, matches: Matches) -> str:
        text = counted(matches.calls, "path")
        if not matches.whole:
            return text
        return f"{text} · {format_share(matches.ticks, matches.whole)} total"

    def path_text(self, node: int) -> Sequence[str]:
        return self.changed.path(node)[:-1]

    def plain(self, node: int, column: CallColumn) -> str:
        value = self._value(node, column) if column.is_time else None
        if value is not None:
            return plain_ns(round(value))
        return plain_number(self.cell(node, column))

    def extra_cells(self, node: int) -> Sequence[str]:
        return (self.verdict(node).replace("_", " "),)
