"""Names, cells and tooltips of the nodes in the Calls panel, computed for those on screen. No Qt.

`CallTexts` has the costs of one trace, `ChangeTexts` the changes between two arms.
"""

from __future__ import annotations

from collections.abc import Sequence
from copy import copy
from fractions import Fraction
from functools import cached_property, lru_cache
from typing import TYPE_CHECKING, Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from viewer.arrays import Floats, Ints, parts_of
from viewer.dataclasses import replace
from viewer.gui.panels.base.cost_painting import CHANGE, RATIO, CostRows, arm_columns
from viewer.gui.panels.base.slice_facts import MISSING, plain_ns, plain_number, scope_text
from viewer.gui.panels.calls.answer import CallsAnswer
from viewer.gui.panels.calls.shown_calls import CallRows, Matches, ShownCalls
from viewer.gui.qt.widgets.trees import Cell, TreeColumn
from viewer.model import figures
from viewer.model.figures import left_out
from viewer.model.text import display_name, name_text
from viewer.model.times import (
    counted,
    format_bounded,
    format_share,
    format_time,
    group_digits,
    tick_to_ns,
)
from viewer.model.timing import ROUNDING_TICKS, is_sampled

if TYPE_CHECKING:
    from viewer.gui.panels.calls.changes import ChangesAnswer


CALL = "The name of a slice, below the names of those around it."
_MEDIANS = "Sum of the medians of all calls in it, per inference."


@lru_cache(maxsize=8192)
def in_one_line(name: str) -> str:
    """Return a name as it is shown; cached, because a frame shows the same ones as the last."""
    return name_text(name)


class CallColumn:
    """The columns, with costs or with changes."""

    CALL = TreeColumn("Call", 0, CALL, Cell.NAME)
    TOTAL = TreeColumn(figures.TOTAL.title, 128, figures.TOTAL.definition, Cell.TIME)
    SELF = TreeColumn(figures.SELF.title, 112, figures.SELF.definition, Cell.TIME, 3)
    COUNT = TreeColumn(figures.COUNT.title, 72, figures.COUNT.definition, leaves=2)
    SAMPLES = TreeColumn(figures.SAMPLES.title, 72, figures.SAMPLES.definition, leaves=2)
    MEAN = TreeColumn(figures.MEAN.title, 100, figures.MEAN.definition, Cell.TIME, 1)
    A, B = (
        replace(arm, leaves=place) for arm, place in zip(arm_columns(_MEDIANS), (5, 4), strict=True)
    )
    CHANGE, RATIO = CHANGE, RATIO


COSTS = (
    CallColumn.CALL,
    CallColumn.TOTAL,
    CallColumn.SELF,
    CallColumn.COUNT,
    CallColumn.MEAN,
)
# Of a sampled profile: the number of calls and their mean are not known.
SAMPLED_COSTS = (CallColumn.CALL, CallColumn.TOTAL, CallColumn.SELF, CallColumn.SAMPLES)
CHANGES = (CallColumn.CALL, CallColumn.A, CallColumn.B, CallColumn.CHANGE, CallColumn.RATIO)


class NodeTexts(CostRows):
    """The rows of one answer, with their texts. Nodes are numbers of its table.

    noun: what its nodes sum up. hatches: whether boxes of the color `UNLINKED` are hatched.
    """

    at_first = 500  # Qt asks for each of them before it paints any
    swatch_room = True
    noun: str = "call"
    unit = "ns"  # of times that are copied
    hatches: ClassVar[bool] = False

    def __init__(self, answer: ShownCalls) -> None:
        self.answer = answer
        self.rows = answer.rows
        self.matches: Matches | None = None

    def searched(self, matches: Matches | None) -> Self:
        """Return the rows of what a search found and of what is around it alone; None: of all."""
        changed = copy(self)
        changed.matches = matches
        return changed

    def arranged(self, column: TreeColumn | None, descending: bool) -> Self:
        keep = None if self.matches is None else self.matches.around
        rank = self.first_rank
        if column is not None:
            keys = self.keys(column)
            rank = -keys if descending else keys
        changed = copy(self)
        is_first = keep is None and column is None
        table = self.answer.table
        changed.rows = self.answer.rows if is_first else CallRows(table, rank, keep)
        return changed

    def below(self, node: int) -> Ints:
        return self.rows.below(node)

    def parent_of(self, node: int) -> int:
        return self.answer.table.parent_of(node)

    def place_of(self, node: int) -> int:
        return self.rows.row(node)

    def hover(self, node: int, column: TreeColumn) -> str:
        return "\n".join(self.lines(node)) if column is CallColumn.CALL else ""

    def swatch(self, node: int) -> Sequence[int]:
        return (int(self.answer.color[node]),)

    def is_quiet(self, node: int, column: TreeColumn) -> bool:
        return self.matches is not None and not self.matches.found[node]

    def name(self, node: int) -> str:
        """Return the name of a node, in one line."""
        return in_one_line(self.answer.table.text(node))

    @property
    def first_rank(self) -> NDArray[Any] | None:
        """What siblings of the table are sorted by at first, ascending; None: as in the graph."""
        return None

    def mark(self, node: int) -> str:
        """Return the mark before the name in the box of a node, "" for none."""
        return ""

    def box(self, node: int) -> str:
        """Return the text behind the name in the box of a node."""
        raise NotImplementedError

    def keys(self, column: TreeColumn) -> NDArray[Any]:
        """Return per node what a column sorts by, ascending."""
        raise NotImplementedError

    def lines(self, node: int) -> list[str]:
        """Return the lines of the hover tip of a node; the first is the title."""
        raise NotImplementedError

    def subtitle(self, *, several: bool) -> str:
        """Return what the figures cover; several: whether to name the file."""
        raise NotImplementedError

    @property
    def shorter_subtitles(self) -> tuple[str, ...]:
        """Shorter texts for a narrow panel, from the longest to the shortest."""
        return ()

    def footer(self) -> str:
        """Return how the figures add up, and what is not counted."""
        raise NotImplementedError

    def found(self, matches: Matches) -> str:
        """Return how much a search found: "12 calls · 34.2 % total"."""
        text = counted(matches.calls, self.noun)
        if not matches.whole:
            return text
        return f"{text} · {format_share(matches.ticks, matches.whole)} total"

    def plain(self, node: int, column: TreeColumn) -> str:
        """Return the text of a cell to copy: times in ns, no digit grouping."""
        raise NotImplementedError

    def extra_cells(self, node: int) -> Sequence[str]:
        """Return what a copied row has besides its columns: its verdict, if it has one."""
        return ()

    def path_text(self, node: int) -> Sequence[str]:
        """Return the names of the calls around a node, from the outermost on."""
        return self.answer.table.path(node)[:-1]

    def tsv(self, nodes: Sequence[int], columns: Sequence[TreeColumn]) -> str:
        """Return nodes as tab-separated text; the column Path names the calls around a call."""
        titles = [f"{c.title}, {self.unit}" if c.is_time else c.title for c in columns]
        extra = ("Verdict",) if nodes and self.extra_cells(nodes[0]) else ()
        lines = ["\t".join([titles[0], "Path", *titles[1:], *extra])]
        for node in nodes:
            path = " > ".join(map(in_one_line, self.path_text(node)))
            cells = [self.plain(node, column) for column in columns[1:]]
            lines.append("\t".join([self.name(node), path, *cells, *self.extra_cells(node)]))
        return "\n".join(lines) + "\n"


class CallTexts(NodeTexts):
    """The texts of one answer. Nodes are numbers of its table."""

    def __init__(self, answer: CallsAnswer) -> None:
        super().__init__(answer)
        self.costs = answer
        self._rate = answer.shown.axis.ns_per_tick
        self._weight = answer.shown.rate.weight
        self._is_sampled = is_sampled(answer.shown.trace.slices)
        self.noun = "sample" if self._is_sampled else "call"
        self.columns = SAMPLED_COSTS if self._is_sampled else COSTS
        self.unit = f"{self._weight}s" if self._weight else "ns"

    def box(self, node: int) -> str:
        table = self.answer.table
        return self.time(table.self_of(node) if self.answer.is_inverted else table.total_of(node))

    def time(self, ticks: int) -> str:
        """Format ticks as a time, or as the number of what they are."""
        if self._weight:
            return counted(ticks, self._weight)
        return format_time(tick_to_ns(ticks, self._rate))

    def mean_ns(self, node: int) -> float:
        """Return the mean duration of the calls of a node in ns, -1 if it is not known."""
        count = 0 if self.costs.is_sampled(node) else int(self.answer.table.count[node])
        return float(Fraction(self.costs.uncut_of(node), count) * self._rate) if count else -1.0

    def cell(self, node: int, column: TreeColumn) -> str:
        table = self.answer.table
        if column is CallColumn.CALL:
            return self.name(node)
        if column is CallColumn.TOTAL:
            return self._bounded(node, table.total_of(node))
        if column is CallColumn.SELF:
            self_ticks, is_cut = table.self_of(node), not table.total_of(node)
            return self._bounded(node, self_ticks) if is_cut else self.time(self_ticks)
        if not self.answer.table.count[node]:
            return MISSING
        if column in (CallColumn.COUNT, CallColumn.SAMPLES):
            return group_digits(int(table.count[node]))
        if self.costs.is_sampled(node):
            return MISSING
        return format_bounded(self.mean_ns(node), min(self._zeros(node), 1), self._cut)

    def _zeros(self, node: int) -> int:
        zeros = self.answer.table.zeros
        return 0 if zeros is None else int(zeros[node])

    @property
    def _cut(self) -> float:
        return float(ROUNDING_TICKS * self._rate)

    def _bounded(self, node: int, ticks: int) -> str:
        """Format the time of a node; what the file cuts to 0 has a bound."""
        if self._weight:
            return self.time(ticks)
        return format_bounded(tick_to_ns(ticks, self._rate), self._zeros(node), self._cut)

    def rest(self, nodes: Sequence[int] | Ints, column: TreeColumn) -> str:
        table = self.answer.table
        if column is CallColumn.CALL:
            return f"{group_digits(len(nodes))} more"
        if column in (CallColumn.COUNT, CallColumn.SAMPLES):
            return group_digits(int(table.count[nodes].sum()))
        # Bottom-up, totals of siblings may contain one another.
        adds_up = column is CallColumn.TOTAL and not self.answer.is_inverted
        if adds_up:
            return self.time(int(table.total_of_all(np.asarray(nodes)).sum()))
        if column is CallColumn.SELF:
            return self.time(int(table.self_of_all(np.asarray(nodes)).sum()))
        return ""

    def keys(self, column: TreeColumn) -> NDArray[Any]:
        table = self.answer.table
        if column is CallColumn.CALL:
            return self.answer.name_rank
        if column is CallColumn.MEAN:
            return self._means(slice(None), self.costs.uncut)
        if column is CallColumn.TOTAL:
            return table.total
        return table.self_ticks if column is CallColumn.SELF else table.count

    def _means(self, nodes: Ints | slice, uncut: Ints) -> Floats:
        """Return the mean duration of the calls of nodes in ticks, -1 where it is not known."""
        count, sampled = self.answer.table.count[nodes], self.costs.sampled
        is_known = count > 0
        if sampled is not None:
            is_known &= sampled[nodes] == 0
        return np.where(is_known, uncut / np.maximum(count, 1), -1.0)

    @cached_property
    def fractions(self) -> frozenset[TreeColumn]:
        # The first frame waits for it, so a part that has one is enough.
        for part in parts_of(len(self.answer.table)):
            nodes = self.answer.layout.order[part]
            mean = self._means(nodes, self.costs.uncut_at(part)) * float(self._rate)
            if ((mean > 0) & (mean < 1000) & (mean % 1 > 0)).any():
                return frozenset({CallColumn.MEAN})
        return frozenset()

    def share_of(self, node: int, column: TreeColumn) -> tuple[float, int | None] | None:
        table, whole = self.answer.table, self.answer.whole
        if column not in (CallColumn.TOTAL, CallColumn.SELF):
            return None
        is_total = column is CallColumn.TOTAL
        ticks = table.total_of(node) if is_total else table.self_of(node)
        return ticks / whole if whole else 0.0, None if is_total else int(self.answer.color[node])

    def lines(self, node: int) -> list[str]:
        table, whole = self.answer.table, self.answer.whole
        lines = [self.name(node)]
        total, own_time = table.total_of(node), table.self_of(node)
        for term, ticks in ((figures.TOTAL, total), (figures.SELF, own_time)):
            share = f", {format_share(ticks, whole)}" if whole else ""
            lines.append(f"{term.title} {self.time(ticks)}{share}")
        count = int(table.count[node])
        if count and self.costs.is_sampled(node):
            lines.append(f"in {counted(count, 'sample')}; how many calls these were is not known")
        elif count:
            lines.append(f"{counted(count, 'call')}, mean {format_time(self.mean_ns(node))}")
        if self.answer.is_inverted and table.depth[node]:
            while table.depth[node]:
                node = table.parent_of(node)
            lines.append(f"when it calls {self.name(node)}")
        return lines

    def subtitle(self, *, several: bool) -> str:
        answer = self.costs
        where = scope_text(answer.shown, answer.question.scope, loads=True)
        parts = [where[:1].upper() + where[1:], counted(answer.count, self.noun)]
        if several:
            parts.append(display_name(answer.shown.trace.path))
        return " · ".join(parts)

    def footer(self) -> str:
        answer = self.costs
        table, inverted = answer.table, answer.is_inverted
        roots = table.levels.below(-1)
        # Top-down, the self times of all nodes add up to the totals of roots.
        ticks = table.self_of_all(roots) if inverted else table.total_of_all(roots)
        by = ", by samples" if self._is_sampled else ""
        parts = [f"Self adds up to {self.time(int(ticks.sum()))}{by}"]
        if inverted:
            parts.append("Below a name are its callers, with its time when they call it")
            if answer.levels:
                parts.append(f"{answer.levels} levels")
        else:
            parts.append("Total includes what a call contains")
        uncounted = left_out(answer.shown.trace, answer.question.scope).text
        return " · ".join([*parts, uncounted] if uncounted else parts)

    def plain(self, node: int, column: TreeColumn) -> str:
        table = self.answer.table
        if column in (CallColumn.COUNT, CallColumn.SAMPLES):
            return str(int(table.count[node]))
        if column is CallColumn.MEAN:
            mean = self.mean_ns(node)
            return plain_ns(mean) if mean >= 0 else ""
        ticks = table.total_of(node) if column is CallColumn.TOTAL else table.self_of(node)
        return str(ticks if self._weight else tick_to_ns(ticks, self._rate))


class ChangeTexts(NodeTexts):
    """The texts of one answer. Nodes are numbers of its table."""

    columns = CHANGES
    noun = "path"
    hatches = True

    def __init__(self, answer: ChangesAnswer) -> None:
        super().__init__(answer)
        self.changed = answer

    @property
    def first_rank(self) -> NDArray[Any]:
        return self.changed.first_rank

    def mark(self, node: int) -> str:
        from viewer.reports.compare_text import mark_of

        path = int(self.changed.table.number[node])
        return mark_of(self.changed.changes, path) if path >= 0 else ""

    def box(self, node: int) -> str:
        from viewer.reports.compare_text import box_text

        path = int(self.changed.table.number[node])
        if path < 0:
            return format_time(self.changed.table.total_of(node))
        return box_text(self.changed.changes, path)

    def verdict(self, node: int) -> str:
        """Return the verdict on a node, "" for a group of paths."""
        compared = self.changed.compared(node)
        return "" if compared is None else compared.verdict.value

    def bar_of(self, node: int) -> tuple[float, str]:
        compared, largest = self.changed.compared(node), self.changed.largest
        share = compared.change_ns / largest if compared is not None and largest else 0.0
        return share, self.verdict(node)

    def _value(self, node: int, column: TreeColumn) -> float | None:
        from viewer.reports.compare_text import change_ns_text

        compared = self.changed.compared(node)
        if column is CallColumn.CHANGE:
            has_none = compared is not None and not change_ns_text(compared)
            return None if has_none else float(self.changed.calls.change_ns[node])
        if compared is None:
            return float(self.changed.table.total_of(node)) if column is CallColumn.A else None
        if column is CallColumn.A:
            return compared.a_ns
        return compared.b_ns if column is CallColumn.B else compared.change

    def cell(self, node: int, column: TreeColumn) -> str:
        from viewer.reports.compare_text import change_text, difference_text

        if column is CallColumn.CALL:
            return self.name(node)
        if column is CallColumn.RATIO:
            compared = self.changed.compared(node)
            return MISSING if compared is None else change_text(compared) or MISSING
        value = self._value(node, column)
        if value is None:
            return MISSING
        is_change = column is CallColumn.CHANGE
        return difference_text(round(value)) if is_change else format_time(round(value))

    def rest(self, nodes: Sequence[int] | Ints, column: TreeColumn) -> str:
        from viewer.reports.compare_text import difference_text

        if column is CallColumn.CALL:
            return f"{group_digits(len(nodes))} more"
        if column is CallColumn.RATIO:
            return ""
        if column is CallColumn.CHANGE:
            return difference_text(round(float(self.changed.calls.change_ns[nodes].sum())))
        side = 0 if column is CallColumn.A else 1
        totals = np.append(self.changed.changes.total_ns[side], 0.0)
        return format_time(round(float(np.nansum(totals[self.changed.table.number[nodes]]))))

    def keys(self, column: TreeColumn) -> NDArray[Any]:
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
        from viewer.reports.compare_text import ONLY_A_TIP, path_lines

        path = int(self.changed.table.number[node])
        if path < 0:
            return [self.name(node), self.box(node), ONLY_A_TIP]
        return [self.name(node), *path_lines(self.changed.changes, path)]

    def subtitle(self, *, several: bool) -> str:
        from viewer.reports.compare_text import counts_text, medians_text

        changes = self.changed.changes
        return f"{counts_text(changes)} · {medians_text(changes)}"

    @property
    def shorter_subtitles(self) -> tuple[str, ...]:
        from viewer.reports.compare_text import counts_text

        counts = counts_text(self.changed.changes)
        alone = counts.partition(": ")[2] or counts.rpartition(", ")[2]
        return counts, alone, alone.partition(", ")[0]

    def footer(self) -> str:
        alone = ", or else in A" if self.changed.changes.only[0].any() else ""
        return f"Width: time in B{alone}"

    def path_text(self, node: int) -> Sequence[str]:
        return self.changed.path(node)[:-1]

    def plain(self, node: int, column: TreeColumn) -> str:
        value = self._value(node, column) if column.is_time else None
        if value is not None:
            return plain_ns(round(value))
        return plain_number(self.cell(node, column))

    def extra_cells(self, node: int) -> Sequence[str]:
        return (self.verdict(node).replace("_", " "),)
