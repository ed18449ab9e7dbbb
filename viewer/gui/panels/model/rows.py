"""The rows of the Model panel: modules, operators, sets that share slices, and single slices.

Rows are created on demand, and their figures when they are shown or sorted. A profile of a million
slices can have a row for each of them, but only below operators that are open.
"""

from __future__ import annotations

from collections.abc import Sequence
from copy import copy
from functools import cached_property
from typing import Self

import numpy as np

from viewer.analysis.cost.costs import CostRow
from viewer.analysis.cost.source_costs import lines_text
from viewer.analysis.links.labels import run_label, set_label
from viewer.analysis.workload.operator_tensors import outputs_of
from viewer.arrays import Bools, Ints
from viewer.dataclasses import replace
from viewer.gui.panels.base.cost_painting import CostRows, colors_of
from viewer.gui.panels.base.operator_model import WHOLE_BELOW
from viewer.gui.panels.base.slice_facts import MISSING, plain_ns, plain_number, tensor_text
from viewer.gui.panels.model.table import (
    OF_RECORD,
    WITH_COSTS,
    ModelColumn,
    ModelCosts,
    ModelFigures,
    ModelRow,
    RowKind,
    charged_figures,
)
from viewer.gui.qt.widgets.trees import GrownRows, TreeColumn
from viewer.model.figures import FigureBase
from viewer.model.times import counted, format_position, group_digits, percent_digits
from viewer.model.timing import is_rounded_zero
from viewer.program.module_tree import ModuleKind, ModuleTree
from viewer.program.program import Program
from viewer.render.palette import Palette

# The maximum number of slices listed below one operator; creating that many rows takes 10 ms.
MOST_SLICES = 2000
_NONE = ModelFigures()
Key = tuple[RowKind, int, int]  # what a row shows: kind, number, and the module of a shared set
_FIELDS = {
    ModelColumn.TOTAL: "total",
    ModelColumn.SHARE: "total",
    ModelColumn.FORWARD: "forward",
    ModelColumn.BACKWARD: "backward",
    ModelColumn.SELF: "self_ticks",
    ModelColumn.SHARED: "shared",
    ModelColumn.SLICES: "slices",
    ModelColumn.MEAN: "mean",
    ModelColumn.P50: "p50",
    ModelColumn.SUM: "total",
}


class NameFilter:
    """Matches items whose own name or path of modules contains every word, in lower case."""

    def __init__(self, tree: ModuleTree, costed: ModelCosts | None, words: tuple[str, ...]) -> None:
        self._tree = tree
        self._costed = costed
        self._words = words

    @cached_property
    def operators(self) -> Bools:
        """Whether each operator matches (bool, one per operator)."""
        if not self._words:
            return np.ones(len(self._tree.program.operators), np.bool_)
        operators, modules = self._tree.program.operators, self._tree.of_operator.tolist()
        lines = (f"{o.source.path}:{o.source.line}" if o.source else "" for o in operators)
        texts = (
            f"{self._paths[module]} {operator.label} {line}"
            for operator, module, line in zip(operators, modules, lines, strict=True)
        )
        return np.array([self._matches(text) for text in texts], np.bool_)

    @cached_property
    def modules(self) -> Bools:
        """Whether each module, or anything in it or around it, matches (one bool per module)."""
        if not self._words:
            return np.ones(len(self._tree.modules), np.bool_)
        counts = np.zeros(len(self._tree.modules), np.int64)
        np.add.at(counts, self._tree.of_operator, self.operators.astype(np.int64))
        for number in range(len(counts)):
            counts[number] += self._matches(self._paths[number])
            counts[number] += any(self.has_set(number, row) for row in self._sets(number))
        return self._tree.total(counts) > 0

    @cached_property
    def _paths(self) -> list[str]:
        """Name, path and class of each module and of all modules around it, in lower case."""
        paths: list[str] = []
        for number, module in enumerate(self._tree.modules):
            above = paths[module.parent] if module.parent >= 0 else ""
            paths.append(f"{above} {self._tree.name(number)} {module.path} {module.type}".lower())
        return paths

    def _matches(self, text: str) -> bool:
        small = text.lower()
        return all(word in small for word in self._words)

    def has_set(self, module: int, row: CostRow) -> bool:
        """Whether a set of operators that share slices in a module matches."""
        if not self._words or self._costed is None:
            return True
        label = set_label(self._costed.shown.table, row.operators)
        return self._matches(f"{self._paths[module]} {label}")

    def _sets(self, module: int) -> Sequence[CostRow]:
        return () if self._costed is None else self._costed.costs.sets[module]


class ModelRows(GrownRows[ModelRow], CostRows):
    """All rows of a tree, with or without costs; created again for every answer.

    words: the filter, in lower case. by: the column that sorts siblings, None for graph order.
    descending: whether the greatest value comes first. colors: the palette index of each operator,
    None: its own.
    """

    def __init__(
        self,
        tree: ModuleTree,
        costed: ModelCosts | None = None,
        words: tuple[str, ...] = (),
        by: TreeColumn | None = None,
        descending: bool = True,
    ) -> None:
        super().__init__()
        self.tree, self.costed = tree, costed
        self.words, self.by, self.descending = words, by, descending
        self.colors: Palette | None = None
        self.columns = OF_RECORD if costed is None else WITH_COSTS
        self._filter = NameFilter(tree, costed, words)

    def forget(self) -> None:
        super().forget()
        self._modules: dict[int, int] = {}  # module number -> row id

    def again(self, words: tuple[str, ...], by: TreeColumn | None, descending: bool) -> Self:
        """Return the same rows, filtered and sorted."""
        changed = copy(self)
        changed.forget()
        changed.words, changed.by, changed.descending = words, by, descending
        if words != self.words:
            changed._filter = NameFilter(self.tree, self.costed, words)
        return changed

    def arranged(self, column: TreeColumn | None, descending: bool) -> Self:
        is_same = (column, descending) == (self.by, self.descending)
        return self if is_same else self.again(self.words, column, descending)

    # -- tree of rows ----------------------------------------------------------------------------

    @property
    def program(self) -> Program:
        return self.tree.program

    def items_below(self, node: int) -> list[ModelRow]:
        if node < 0:
            parts = [(RowKind.MODULE, 0)] if self._filter.modules[0] else []
        elif self.items[node].kind is RowKind.MODULE:
            parts = self._parts_of(self.items[node])
        else:
            parts = self._slices_in(self.items[node])
        rows = [ModelRow(*part, index, node) for index, part in enumerate(parts, len(self.items))]
        self._modules |= {row.number: row.id for row in rows if row.kind is RowKind.MODULE}
        return rows

    def has_below(self, node: int) -> bool:
        if node < 0:
            return bool(self.below(-1))
        row = self.items[node]
        if row.kind is RowKind.MODULE:
            return True
        if self.costed is None or row.kind not in (RowKind.OPERATOR, RowKind.SET):
            return False
        cost_row = self._cost_row(row)
        return cost_row is not None and cost_row.slices > 0

    def opens(self, node: int) -> bool:
        return self.items[node].kind is RowKind.MODULE

    def key(self, node: int) -> Key:
        row = self.items[node]
        around = self.items[row.parent].number if row.kind is RowKind.SET else -1
        return row.kind, row.number, around

    def node_of(self, key: Key) -> int:
        """Return the row that a key names, -1 if there is none; creates it if needed."""
        kind, number, around = key
        node: int | None = None
        if kind is RowKind.MODULE and number < len(self.tree.modules):
            node = self.row_of_module(number)
        elif kind is RowKind.OPERATOR and number < len(self.program.operators):
            node = self.find((number,))
        elif kind is RowKind.SET and around < len(self.tree.modules):
            module = self.row_of_module(around)
            inside = () if module is None else self.below(module)
            node = next((n for n in inside if self.key(n) == key), None)
        return -1 if node is None else node

    def _parts_of(self, row: ModelRow) -> list[tuple[RowKind, int]]:
        module = self.tree.modules[row.number]
        left = self._filter  # without words all match
        parts = [(RowKind.MODULE, n) for n in module.children if left.modules[n]]
        parts += [(RowKind.OPERATOR, i) for i in module.operators if left.operators[i]]
        # In graph order, a module is where its first operator is.
        parts.sort(key=lambda part: self._first[part[1]] if part[0] is RowKind.MODULE else part[1])
        parts += [
            (RowKind.SET, n)
            for n, cost in enumerate(self._sets(row.number))
            if self._filter.has_set(row.number, cost)
        ]
        return self._sorted(row, parts)

    @cached_property
    def _first(self) -> list[int]:
        """The first operator of each module, including submodules."""
        last = len(self.program.operators)
        first = [min(module.operators, default=last) for module in self.tree.modules]
        for number in range(len(first) - 1, 0, -1):
            parent = self.tree.modules[number].parent
            first[parent] = min(first[parent], first[number])
        return first

    def _sets(self, module: int) -> Sequence[CostRow]:
        return () if self.costed is None else self.costed.costs.sets[module]

    def _slices_in(self, row: ModelRow) -> list[tuple[RowKind, int]]:
        """List the slices of an operator or set, by time or by duration."""
        if self.costed is None or row.kind not in (RowKind.OPERATOR, RowKind.SET):
            return []
        open_trace = self.costed.shown
        cost = self._cost_row(row)
        if cost is None:
            return []
        scope = self.costed.scope
        cost_slices = open_trace.figures_for(scope).costs.slices_of(
            {cost.operators}, scope, cost.nodes
        )
        slices = open_trace.trace.slices
        order = slices.start[cost_slices]
        if self.by is ModelColumn.TOTAL:
            length = slices.end[cost_slices] - order
            order = -length if self.descending else length
        cost_slices = cost_slices[np.argsort(order, kind="stable")]
        parts = [(RowKind.SLICE, i) for i in cost_slices[:MOST_SLICES].tolist()]
        if len(cost_slices) > MOST_SLICES:
            parts.append((RowKind.REST, len(cost_slices) - MOST_SLICES))
        return parts

    def _sorted(self, row: ModelRow, parts: list[tuple[RowKind, int]]) -> list[tuple[RowKind, int]]:
        by = self.by
        if by is None:
            return parts
        rows = [ModelRow(kind, number, -1, row.id) for kind, number in parts]
        keys: list[float | str | None]
        if by in _FIELDS:
            keys = [self._number(part, by) for part in rows]
        elif by is ModelColumn.NAME:
            keys = [self.name(part).lower() for part in rows]
        else:
            keys = [self._record_key(part, by) for part in rows]
        keyed = [i for i, key in enumerate(keys) if key is not None]
        # A missing number is neither the smallest nor the greatest: it comes last in both orders.
        rest = [i for i, key in enumerate(keys) if key is None]
        keyed.sort(key=lambda i: keys[i], reverse=self.descending)  # type: ignore[arg-type, return-value]
        return [parts[i] for i in (*keyed, *rest)]

    def _number(self, row: ModelRow, by: TreeColumn) -> float | None:
        """Return a row's sort key, equal to its figure.

        For operators it does not create all figures: that takes a third of the time of sorting
        thousands.
        """
        columns = ModelColumn.TOTAL, ModelColumn.SHARE, ModelColumn.SLICES
        plain = row.kind is RowKind.OPERATOR and by in columns
        if self.costed is None or not plain:
            value: float | None = getattr(self.figures(row), _FIELDS[by])
            return value
        cost_row = self.costed.costs.single.get(row.number)
        if cost_row is None:
            return None
        return cost_row.slices if by is ModelColumn.SLICES else cost_row.ticks

    # -- figures and texts -----------------------------------------------------------------------

    def operators(self, row: ModelRow) -> tuple[int, ...]:
        """Return a row's operators: all inside a module; those of the parent for a slice."""
        if row.kind is RowKind.MODULE:
            return self.tree.operators_in(row.number)
        if row.kind is RowKind.OPERATOR:
            return (row.number,)
        if row.kind is RowKind.SET:
            return self._sets(self.items[row.parent].number)[row.number].operators
        return self.operators(self.items[row.parent])

    def figures(self, row: ModelRow) -> ModelFigures:
        costed = self.costed
        if costed is None or row.kind is RowKind.REST:
            return _NONE
        costs = costed.costs
        if row.kind is RowKind.SLICE:
            open_trace, i = costed.shown, row.number
            if open_trace.native(i) is not None:
                return _NONE  # its duration is shown in the unit of its separate clock
            slices = open_trace.trace.slices
            return ModelFigures(total=int(slices.end[i] - slices.start[i]))
        if row.kind is RowKind.MODULE:
            n = row.number
            median = float(costed.medians.modules[n])
            columns = costs.total, costs.self_ticks, costs.outside, costs.slices
            total, self_ticks, outside, slices_inside = (int(column[n]) for column in columns)
            p50 = median if median == median else None
            figures = charged_figures(total, self_ticks, outside or None, slices_inside, p50)
            if not self.tree.is_joined:
                return figures
            forward, backward = int(costs.forward[n]), int(costs.backward[n])
            if self.tree.modules[n].kind is ModuleKind.METHOD:  # of one direction, or of none
                return replace(figures, forward=forward or None, backward=backward or None)
            return replace(figures, forward=forward, backward=backward)
        cost_row = self._cost_row(row)
        module = int(self.tree.of_operator[row.number])
        module = module if row.kind is RowKind.OPERATOR else self.items[row.parent].number
        p50 = costed.medians.sets.get((module, self.operators(row)))
        if row.kind is RowKind.OPERATOR:
            shared = costs.in_sets.get(row.number) or None
            if cost_row is None:
                return ModelFigures(shared=shared, p50=p50 or None)
            if self.tree.program.is_nested:  # its Total includes other operators' time
                return ModelFigures(None, cost_row.ticks, shared, cost_row.slices, None, p50)
            return charged_figures(cost_row.ticks, cost_row.ticks, shared, cost_row.slices, p50)
        assert cost_row is not None
        # Time shared across modules belongs to no single module.
        across = costs.is_across(self.items[row.parent].number, cost_row)
        alone = None if across else cost_row.ticks
        return charged_figures(cost_row.ticks, alone, None, cost_row.slices, p50)

    def _cost_row(self, row: ModelRow) -> CostRow | None:
        assert self.costed is not None
        if row.kind is RowKind.OPERATOR:
            return self.costed.costs.single.get(row.number)
        return self._sets(self.items[row.parent].number)[row.number]

    def share(self, row: ModelRow) -> float | None:
        """Return the wall time of a row's total as a part of the whole, 0 to 1, if it has any."""
        if self.costed is None or row.kind in (RowKind.SLICE, RowKind.REST):
            return None
        costs = self.costed.costs
        if not costs.whole or self.figures(row).total is None:
            return None
        if row.kind is RowKind.MODULE:
            return int(costs.wall[row.number]) / costs.whole
        charged = self._cost_row(row)
        return None if charged is None else charged.wall / costs.whole

    def title(self, column: TreeColumn) -> str:
        """Return a column's title; that of shares names the whole, that of times what they are."""
        return column.title if self.costed is None else self.costed.title(column)

    def title_tip(self, column: TreeColumn) -> str:
        """Return a column's tooltip, or why the column is empty."""
        if self.costed is None:
            return column.tip
        if column is not ModelColumn.P50 and column is not ModelColumn.SHARE:
            return self.costed.tip(column)
        if column is ModelColumn.SHARE:
            return self.costed.share_term.explained(WHOLE_BELOW)
        unit = self.costed.base.unit
        return unit.worded(self.costed.medians.why or column.tip)

    @property
    def fractions(self) -> frozenset[TreeColumn]:
        return frozenset() if self.costed is None else self.costed.fractions

    @cached_property
    def unused(self) -> frozenset[TreeColumn]:
        """The columns that have no values for these costs."""
        costed = self.costed
        if costed is None:
            return frozenset()
        unused = set()
        if not costed.costs.outside.any() and not costed.costs.in_sets:
            unused.add(ModelColumn.SHARED)
        if costed.medians.runs < 2:
            unused.add(ModelColumn.P50)
        if not costed.base.is_mean:
            unused.add(ModelColumn.SUM)
        if len(self.tree.program.directions) < 2 or not self.tree.is_joined:
            unused |= {ModelColumn.FORWARD, ModelColumn.BACKWARD}
        return frozenset(unused)

    def leaves(self, column: TreeColumn) -> int:
        # The parts of the total say more than its share.
        return 4 if self.tree.is_joined and column is ModelColumn.SHARE else column.leaves

    def name(self, row: ModelRow) -> str:
        """Return a row's name among its siblings: "fc1", "linear", "at 3.125 µs"."""
        if row.kind is RowKind.MODULE:
            return self.tree.name(row.number)
        if row.kind is RowKind.REST:
            which = "shorter" if self.by is ModelColumn.TOTAL and self.descending else "later"
            which = "longer" if self.by is ModelColumn.TOTAL and not self.descending else which
            return f"{counted(row.number, f'{which} slice')} not listed"
        if row.kind is RowKind.SLICE:
            assert self.costed is not None
            start, _ = self.costed.shown.span_ns(row.number)
            return f"at {format_position(start)}"
        if row.kind is RowKind.OPERATOR:
            return self.program.operators[row.number].name
        assert self.costed is not None
        cost = self._cost_row(row)
        if cost is not None and not cost.is_shared:
            return " + ".join(dict.fromkeys(self.program.nodes[i].type for i in cost.nodes))
        label = set_label(self.costed.shown.table, self.operators(row))
        return label.partition(" · ")[2] or label

    def hint(self, row: ModelRow) -> str:
        """Return the text next to the name: class, source line or inference."""
        if row.kind is RowKind.MODULE:
            return self.tree.modules[row.number].type
        if row.kind is RowKind.SET:
            members = self.operators(row)
            if len(members) == 1:
                return f"of {self.program.operators[members[0]].label}"
            return f"shared by {len(members)}"
        if row.kind is RowKind.SLICE:
            return self._run_text(row.number)
        if row.kind is not RowKind.OPERATOR:
            return ""
        operator = self.program.operators[row.number]
        parts = [operator.branch]
        if self.costed is not None:
            # Comes first, since it explains missing figures and the end of the hint is cut if room
            # is short.
            if self._cost_row(row) is None:
                shared = row.number in self.costed.costs.in_sets
                parts.insert(0, "shared" if shared else "no slice")
            parts.append(f"line {operator.source.line}" if operator.source else "")
        return " · ".join(part for part in parts if part)

    def _run_text(self, i: int) -> str:
        """Return the inference of a slice, if there are several: "run 2 of 5"."""
        if self.costed is None or self.costed.scope.run is not None:
            return ""
        trace = self.costed.shown.trace
        number = trace.run_at(trace.slices.track(i), int(trace.slices.start[i]))
        if number is None or trace.runs[number].total < 2:
            return ""
        return run_label(self.costed.shown.table, trace.runs[number]).rpartition(" · ")[2]

    def full_name(self, row: ModelRow) -> str:
        """Return a row's name without its context, for copies and tooltips."""
        if row.kind is RowKind.MODULE:
            module = self.tree.modules[row.number]
            return module.path or self.tree.name(row.number)
        if row.kind is RowKind.OPERATOR:
            return self.program.operators[row.number].label
        if row.kind is RowKind.SET and self.costed is not None:
            return set_label(self.costed.shown.table, self.operators(row))
        if row.kind is RowKind.SLICE and self.costed is not None:
            return f"{self.costed.shown.label(row.number)} {self.name(row)}"
        return self.name(row)

    def cell(self, node: int, column: TreeColumn) -> str:
        return self.text(self.items[node], column)

    def spoken(self, node: int, column: TreeColumn) -> str:
        """Return a cell's text for screen readers; a name includes the kind of its row."""
        if column is not ModelColumn.NAME:
            return super().spoken(node, column)
        row = self.items[node]
        return ", ".join(filter(None, (row.kind.value, self.name(row), self.hint(row))))

    def hover(self, node: int, column: TreeColumn) -> str:
        return self.explained(self.items[node]) if column is ModelColumn.NAME else ""

    def note(self, node: int) -> str:
        return self.hint(self.items[node])

    def swatch(self, node: int) -> Sequence[int]:
        row = self.items[node]
        has_swatch = row.kind in (RowKind.OPERATOR, RowKind.SET)
        return colors_of(self.operators(row), self.colors) if has_swatch else ()

    def is_quiet(self, node: int, column: TreeColumn) -> bool:
        quiet = (RowKind.SLICE, RowKind.REST)
        return column is ModelColumn.NAME and self.items[node].kind in quiet

    def share_of(self, node: int, column: TreeColumn) -> tuple[float, int | None] | None:
        if column is not ModelColumn.SHARE:
            return None
        row = self.items[node]
        is_operator = row.kind is RowKind.OPERATOR
        return self.share(row) or 0.0, self.swatch(node)[0] if is_operator else None

    def text(self, row: ModelRow, cell: TreeColumn) -> str:
        if cell is ModelColumn.NAME:
            return self.name(row)
        if self.costed is None:
            return self._record_text(row, cell)
        if row.kind is RowKind.REST or (
            row.kind is RowKind.SLICE and cell is not ModelColumn.TOTAL
        ):
            return ""
        if row.kind is RowKind.SLICE and self.costed.shown.native(row.number) is not None:
            return self.costed.shown.length_text(row.number)
        if cell is ModelColumn.SHARE:
            share = self.share(row)
            is_cut = not self.figures(row).total and self._zeros(row)
            return MISSING if share is None or is_cut else percent_digits(share)
        value = getattr(self.figures(row), _FIELDS[cell])
        if value is None:
            return MISSING
        if cell is ModelColumn.SLICES:
            return group_digits(value)
        zeros = 0 if self.figures(row).total or cell is ModelColumn.SHARED else self._zeros(row)
        if cell is ModelColumn.MEAN:
            zeros = min(zeros, 1)
        return self._base_of(row, cell).text(value, zeros)

    def _base_of(self, row: ModelRow, cell: TreeColumn) -> FigureBase:
        """Return what the time of a cell is per: that of a slice is its own."""
        assert self.costed is not None
        return self.costed.base_of(ModelColumn.SUM if row.kind is RowKind.SLICE else cell)

    def _zeros(self, row: ModelRow) -> int:
        """Return how many slices of a row the file cuts to 0."""
        assert self.costed is not None
        if row.kind is RowKind.SLICE:
            return int(is_rounded_zero(self.costed.shown.trace.slices, row.number))
        if row.kind is RowKind.MODULE:
            return int(self.costed.costs.zeros[row.number])
        cost_row = self._cost_row(row)
        return 0 if cost_row is None else cost_row.zeros

    def _record_key(self, row: ModelRow, cell: TreeColumn) -> float | str | None:
        if cell is ModelColumn.COUNT:
            return len(self.operators(row)) if row.kind is RowKind.MODULE else None
        if row.kind is not RowKind.OPERATOR:
            return None
        operator = self.program.operators[row.number]
        if cell is ModelColumn.LINE:
            return operator.source.line if operator.source else None
        return self._record_text(row, cell)

    def _record_text(self, row: ModelRow, cell: TreeColumn) -> str:
        if row.kind is RowKind.MODULE:
            count = len(self.operators(row))
            return group_digits(count) if cell is ModelColumn.COUNT else ""
        operator = self.program.operators[row.number]
        if cell is ModelColumn.LINE:
            return lines_text([operator.source.line]) if operator.source else MISSING
        if cell is ModelColumn.OUTPUT:
            outputs = outputs_of(operator)
            return tensor_text(outputs[0]) if outputs else MISSING
        return ""

    def explained(self, row: ModelRow) -> str:
        """Explain how a row's numbers add up, as lines for a tooltip."""
        lines = [self.full_name(row)]
        if row.kind is RowKind.MODULE and self.costed is not None:
            costs, n = self.costed.costs, row.number
            inside = sum(int(costs.total[child]) for child in self.tree.modules[n].children)
            parts = (
                (int(costs.self_ticks[n]), "in its own operators"),
                (int(costs.shared[n]), "shared by its submodules"),
                (inside, "in its submodules"),
            )
            shares = [f"{self._time(ticks)} {what}" for ticks, what in parts if ticks]
            colon = ": " * bool(shares)
            lines.append(f"Total {self._time(int(costs.total[n]))}{colon}{' + '.join(shares)}")
            if costs.outside[n]:
                lines.append(
                    f"{self._time(int(costs.outside[n]))} more is shared with other modules and "
                    f"counted in their common parent"
                )
        elif row.kind is RowKind.SET and self.costed is not None:
            labels = [self.program.operators[i].label for i in self.operators(row)[:12]]
            more = len(self.operators(row)) - len(labels)
            lines += [*labels, f"and {more} more"] if more else labels
        elif row.kind is RowKind.OPERATOR:
            operator = self.program.operators[row.number]
            if operator.source:
                lines.append(f"{operator.source.path}:{operator.source.line}")
        return "\n".join(lines)

    def _time(self, ticks: int) -> str:
        assert self.costed is not None
        return self.costed.base.text(ticks)

    # -- finding rows ----------------------------------------------------------------------------

    def find(self, operators: tuple[int, ...]) -> int | None:
        """Return the row of exactly these operators, made if needed; None if there is none."""
        if not operators or not self.below(-1):
            return None
        module = self.tree.common(operators)
        node = self.row_of_module(module)
        if node is None:
            return None
        members = set(operators)
        kind = RowKind.OPERATOR if len(members) == 1 else RowKind.SET
        for number in self.below(node):
            row = self.items[number]
            if row.kind is kind and members == set(self.operators(row)):
                return number
        return None

    def row_of_module(self, module: int) -> int | None:
        """Return the row of a module; creates it if needed. None if the filter hides it."""
        if not self.below(-1) or not self._filter.modules[module]:
            return None
        missing = []
        for number in self.tree.around(module):
            if number in self._modules:
                break
            missing.append(number)
        for number in reversed(missing):
            around = self.tree.modules[number].parent
            self.below(self._modules[around])
        return self._modules[module]

    def slices_of_module(self, module: int) -> Ints:
        """Return the slices in a module's total, or if none, those that it shares with others."""
        if self.costed is None:
            return np.empty(0, np.int64)
        cost_rows = self.costed.costs.rows_of(module)
        return self.costed.shown.figures_for(self.costed.scope).costs.slices_of(
            {row.operators for row in cost_rows},
            self.costed.scope,
            {node for row in cost_rows for node in row.nodes},
        )

    def tsv(self, nodes: Sequence[int], columns: Sequence[TreeColumn]) -> str:
        titles = [f"{self.title(c)}, ns" if c.is_time else self.title(c) for c in columns]
        lines = ["\t".join([titles[0], "Kind", *titles[1:]])]
        for row in (self.items[node] for node in nodes):
            module = self.tree.modules[row.number] if row.kind is RowKind.MODULE else None
            kind = row.kind.value if module is None else module.kind.value
            texts = [self._plain(row, column) for column in columns[1:]]
            lines.append("\t".join([self.full_name(row), kind, *texts]))
        return "\n".join(lines) + "\n"

    def _plain(self, row: ModelRow, cell: TreeColumn) -> str:
        value = getattr(self.figures(row), _FIELDS[cell]) if cell.is_time else None
        if value is None or self.costed is None:
            return plain_number(self.text(row, cell))
        return plain_ns(self._base_of(row, cell).ns(value))
