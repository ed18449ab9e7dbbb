"""The rows of the Model panel while two arms are compared: the modules of A with their changes.

An operator has the change of the row by call that is of it alone. Rows by call of several operators
are listed like shared calls, in the module that contains all of them.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property

from viewer.analysis.comparison.comparison import Compared
from viewer.analysis.comparison.levels import MODULE
from viewer.analysis.comparison.operator_changes import ModuleChanges, module_changes
from viewer.analysis.comparison.rows import DELEGATE_EVENT
from viewer.analysis.cost.costs import CostRow
from viewer.dataclasses import dataclass
from viewer.gui.panels.base.slice_facts import MISSING, plain_ns, plain_number
from viewer.gui.panels.model.rows import ModelRows
from viewer.gui.panels.model.table import OF_CHANGES, ModelColumn, ModelRow, RowKind
from viewer.gui.qt.widgets.trees import TreeColumn
from viewer.gui.session.comparison import row_of_selection, select_row, select_rows
from viewer.gui.session.session import Session
from viewer.model.times import counted, format_time
from viewer.program.module_tree import ModuleTree, module_tree
from viewer.program.program import Program
from viewer.reports.compare_text import change_ns_text, change_text, row_sentence, verdict_text
from viewer.view.open_comparison import OpenComparison


@dataclass(frozen=True, eq=False)
class ModelChanges:
    """The changes of modules, and of the rows by call in them.

    calls: the number of the row by call of some operators of A.
    """

    found: OpenComparison
    modules: ModuleChanges
    calls: dict[tuple[int, ...], int]

    @property
    def tree(self) -> ModuleTree:
        return self.modules.tree

    @property
    def subtitle(self) -> str:
        return self.found.subtitle

    @property
    def note(self) -> str:
        """What modules of A do not show, or ""."""
        if not self.modules.only_b:
            return ""
        only_b = counted(self.modules.only_b, "group")
        return f"{only_b} of modules only in B: counted in the module of A around them"

    @cached_property
    def largest(self) -> float:
        """The largest change of a module, in ns."""
        return max(
            (abs(compared.change_ns) for compared in self.modules.compared if compared), default=0.0
        )

    @cached_property
    def in_sets(self) -> frozenset[int]:
        """The operators of rows by call of several operators."""
        return frozenset(i for call in self.calls if len(call) > 1 for i in call)

    @cached_property
    def shared(self) -> tuple[tuple[CostRow, ...], ...]:
        """Per module, the rows of several operators, as sets without costs."""
        rows: list[list[CostRow]] = [[] for _ in self.tree.modules]
        for operators in self.calls:
            if len(operators) > 1:
                rows[self.tree.common(operators)].append(CostRow(operators, 0, 0, 0, 0))
        return tuple(map(tuple, rows))


def model_changes(
    open_comparison: OpenComparison, program: Program, built_tree: ModuleTree | None
) -> ModelChanges:
    """Return the changes of the modules of A. built_tree: the tree of its program."""
    modules = module_changes(open_comparison.at(MODULE), built_tree or module_tree(program))
    parts = open_comparison.calls.a.parts
    calls: dict[tuple[int, ...], int] = {}
    for number, (row, _) in enumerate(open_comparison.rows):
        operators = {i for part in row.a for i in parts[part].operators}
        if operators and row.level != DELEGATE_EVENT:
            calls[tuple(sorted(operators))] = number
    return ModelChanges(open_comparison, modules, calls)


class ComparedRows(ModelRows):
    """All rows of the tree of A with their changes; created again for every answer."""

    def __init__(self, changes: ModelChanges, words: tuple[str, ...] = ()) -> None:
        self.changes = changes
        super().__init__(changes.tree, words=words)
        self.columns = OF_CHANGES

    def call_of(self, row: ModelRow) -> int:
        """Return the number of the row by call of an operator or a set, -1 if it has none."""
        if row.kind not in (RowKind.OPERATOR, RowKind.SET):
            return -1
        return self.changes.calls.get(self.operators(row), -1)

    def change(self, row: ModelRow) -> Compared | None:
        """Return the change of a row, None if it has none of its own."""
        if row.kind is RowKind.MODULE:
            return self.changes.modules.compared[row.number]
        call = self.call_of(row)
        return self.changes.found.rows[call][1] if call >= 0 else None

    def find_selected(self, session: Session) -> int | None:
        """Return the row of the selected slice, None if it has none."""
        number = row_of_selection(session, self.changes.found)
        calls = self.changes.calls.items()
        return self.find(next((numbers for numbers, call in calls if call == number), ()))

    def select(self, session: Session, row: ModelRow) -> None:
        """Select the slices of a row in both arms."""
        call, open_comparison = self.call_of(row), self.changes.found
        if row.kind is RowKind.MODULE:
            select_rows(session, open_comparison, self.changes.modules.rows_in(row.number), MODULE)
        elif call >= 0:
            select_row(session, open_comparison, call)

    def bar_of(self, node: int) -> tuple[float, str]:
        """Return the change of a row as -1 to 1 of the largest one of a module, and its verdict."""
        compared, largest = self.change(self.items[node]), self.changes.largest
        if compared is None:
            return 0.0, ""
        return compared.change_ns / largest if largest else 0.0, compared.verdict.value

    def _sets(self, module: int) -> Sequence[CostRow]:
        return self.changes.shared[module]

    def name(self, row: ModelRow) -> str:
        if row.kind is RowKind.SET:
            return self.changes.found.rows[self.call_of(row)][0].label
        return super().name(row)

    def full_name(self, row: ModelRow) -> str:
        return self.name(row) if row.kind is RowKind.SET else super().full_name(row)

    def hint(self, row: ModelRow) -> str:
        hint = super().hint(row)
        if row.kind is not RowKind.OPERATOR or self.call_of(row) >= 0:
            return hint
        why = "shared" if row.number in self.changes.in_sets else "no slice"
        return f"{why} · {hint}" if hint else why

    def explained(self, row: ModelRow) -> str:
        compared, lines = self.change(row), [self.full_name(row)]
        if compared is None:
            if row.kind is RowKind.MODULE:
                lines.append("Its time is shared: it counts in a module around this one.")
            return "\n".join(lines)
        call = self.call_of(row)
        if call >= 0:
            lines.append(row_sentence(self.changes.found.rows[call][0], compared))
        else:
            lines.append(f"{verdict_text(compared)}.")
        return "\n".join(lines)

    def _record_key(self, row: ModelRow, cell: TreeColumn) -> float | str | None:
        compared = self.change(row)
        if compared is None:
            return None
        if cell is ModelColumn.A:
            return compared.a_ns
        if cell is ModelColumn.B:
            return compared.b_ns
        if cell is ModelColumn.CHANGE:
            return compared.change_ns if change_ns_text(compared) else None
        return compared.change

    def _record_text(self, row: ModelRow, cell: TreeColumn) -> str:
        compared = self.change(row)
        if compared is None:
            return MISSING
        if cell is ModelColumn.CHANGE:
            return change_ns_text(compared) or MISSING
        if cell is ModelColumn.RATIO:
            return change_text(compared) or MISSING
        ns = compared.a_ns if cell is ModelColumn.A else compared.b_ns
        return MISSING if ns is None else format_time(round(ns))

    def _plain(self, row: ModelRow, cell: TreeColumn) -> str:
        value = self._record_key(row, cell) if cell.is_time else None
        if isinstance(value, float):
            return plain_ns(round(value))
        return plain_number(self.text(row, cell))
