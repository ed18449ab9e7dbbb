"""The Model panel: the model's modules as a tree, with their costs.

A module contains its submodules, its operators and the calls that these share; an operator contains
its slices. While two arms are compared, it shows the modules of A with their changes. Choosing a
module selects the slices that its total counts.
"""

from __future__ import annotations

from collections.abc import Collection, Hashable, Iterable
from functools import partial

from PySide6.QtCore import Slot
from PySide6.QtGui import QFontMetrics, QKeyEvent

from viewer.analysis.cost.source_costs import RunMedians, module_costs, run_medians
from viewer.dataclasses import dataclass, replace
from viewer.gui.panels.base.cost_painting import TreeCells, whole_title
from viewer.gui.panels.base.panel import PanelHost, Question, Sentence
from viewer.gui.panels.base.trace_panel import CostPanel
from viewer.gui.panels.model.compared_rows import ComparedRows, ModelChanges, model_changes
from viewer.gui.panels.model.rows import Key, ModelRows
from viewer.gui.panels.model.table import ModelColumn, ModelCosts, ModelRow, RowKind, parts_of
from viewer.gui.qt.crash_report import guard
from viewer.gui.qt.theme.theme import Theme
from viewer.gui.qt.widgets.tables import select_row
from viewer.gui.qt.widgets.trees import ENTER, TreeColumn, TreeModel, TreeView
from viewer.gui.session import navigation
from viewer.gui.session.comparison import ComparisonFeed
from viewer.gui.session.feeds.feed import CostAnswer
from viewer.gui.session.selection import nearest_slice
from viewer.model.figures import EVERY_PHASE, TimeScope
from viewer.model.text import display_name
from viewer.model.times import counted, group_digits
from viewer.model.warm_up import included_text, warm_up_inferences
from viewer.program.module_tree import ModuleKind, ModuleTree, module_tree
from viewer.program.program import Program
from viewer.render.palette import Palette
from viewer.view.open_trace import AT_ONCE, OpenTrace
from viewer.view.state import SliceRef, SliceSet

_LEAST_NAME = 180  # px; the minimum width of the name column
_INDENT = 16  # px per level


class ModuleView(TreeView[ModelRows]):
    """The tree widget; open rows and the current one stay when rows are replaced."""

    def __init__(self, model: TreeModel[ModelRows], theme: Theme) -> None:
        super().__init__(model, "Model", theme, _INDENT, _LEAST_NAME)
        self._by_itself: list[Key] = []  # rows that `mark` opened
        self._current: Key | None = None
        self._related: frozenset[int] = frozenset()  # operators
        self.setItemDelegate(TreeCells(model, theme))
        self.chosen.connect(self._keep_open)

    # -- columns ---------------------------------------------------------------------------------

    def fit_columns(self) -> None:
        super().fit_columns()
        rows, column = self._model.rows, ModelColumn.SLICES
        if rows is None or column not in rows.columns or not rows.below(-1):
            return
        # The root has the greatest counts: ten million slices need more digits than usual.
        width = QFontMetrics(self._theme.font("cell")).horizontalAdvance(rows.cell(0, column))
        width = max(self.width_of(column), width + self._theme.px(14))
        self.header().resizeSection(rows.columns.index(column), width)

    def hidden(self) -> Collection[TreeColumn]:
        return () if self._model.rows is None else self._model.rows.unused

    # -- open rows -------------------------------------------------------------------------------

    def show_rows(self, rows: ModelRows | None, opened: Iterable[Hashable] | None = None) -> None:
        """Replace the rows. opened: the keys of the rows to open; None: those open now."""
        if (before := self._model.rows) is not None:
            node = self._model.node(self.currentIndex())
            self._current = before.key(node) if node >= 0 else None
        super().show_rows(rows, self.open_keys if opened is None else opened)
        now = self._model.rows
        if now is not None and self._current is not None:
            index = self._model.index_of(now.node_of(self._current))
            if index.isValid():
                select_row(self, index)
                self.verticalScrollBar().setValue(self._top)

    def forget(self) -> None:
        """Show no rows and forget the open ones, because another model is shown."""
        self.show_rows(None)
        self._open, self._by_itself, self._current, self._top = {}, [], None, 0

    def mark(self, node: int) -> None:
        """Open the rows around a row that was selected elsewhere; close those opened before."""
        rows = self._model.rows
        if rows is None or node < 0:
            self.selectionModel().clear()
            return
        around = {rows.key(n): n for n in self.around(node)}
        index_of = self._model.index_of
        needed = [key for key, n in around.items() if not self.isExpanded(index_of(n))]
        if obsolete := [rows.node_of(key) for key in self._by_itself if key not in around]:
            self.scheduleDelayedItemsLayout()
            for n in obsolete:
                self.collapse(index_of(n))
        self._by_itself = [key for key in self._by_itself if key in around] + needed
        super().mark(node)

    def _keep_open(self, node: int) -> None:
        """Keep the row that the user works in open, and the rows around it."""
        rows = self._model.rows
        assert rows is not None
        around = {rows.key(n) for n in (node, *self.around(node))}
        self._by_itself = [key for key in self._by_itself if key not in around]

    @guard
    def keyPressEvent(self, event: QKeyEvent) -> None:
        node = self._model.node(self.currentIndex())
        if event.key() in ENTER and node >= 0:
            self.chosen.emit(node)
        super().keyPressEvent(event)

    # -- painting --------------------------------------------------------------------------------

    def relate(self, operators: Iterable[int]) -> None:
        """Tint the rows of some operators."""
        self._related = frozenset(operators)
        self.viewport().update()

    def is_related(self, node: int) -> bool:
        rows = self._model.rows
        if rows is None or not self._related or node < 0:
            return False
        row = rows.items[node]
        has_operators = row.kind in (RowKind.OPERATOR, RowKind.SET)
        return has_operators and not self._related.isdisjoint(rows.operators(row))


_MOST_FOUND = 500  # the maximum number of modules that a filter opens
NOTHING = "Open a profile and its ETRecord to see the time of each module."


@dataclass(frozen=True, eq=False)
class ModelAnswer:
    """The costs of a module tree. of: the trace as it ran. steady: what its medians cover."""

    given: CostAnswer
    of: OpenTrace
    steady: TimeScope
    costed: ModelCosts


class ModelPanel(CostPanel[ModelAnswer | ModelChanges]):
    SYNC_LIMIT = AT_ONCE  # slices; the same limit as for views and rasters of a trace

    def __init__(self, host: PanelHost) -> None:
        session, theme = host.session, host.theme
        # First, as making it may change what the signals that the base connects report.
        self._comparison = ComparisonFeed.of(session)
        self.model = TreeModel[ModelRows]()
        self.view = ModuleView(self.model, theme)
        super().__init__(host, self.view, "Filter modules")
        self.model.setParent(self)
        self._tree: ModuleTree | None = None
        self._picked: tuple[SliceSet, int] | None = None  # slices selected by a module
        self._open_before: tuple[Hashable, ...] | None = None  # what was open before filtering
        self._latest.failed.connect(self.show_sentence)
        self.refresh_on(self._comparison.changed)
        self._comparison.late.connect(self.show_stale)
        self.view.chosen.connect(self._choose)
        self.view.entered_row.connect(self._enter)
        self.refresh()

    # -- contents --------------------------------------------------------------------------------

    @Slot()
    def refresh(self) -> None:
        cost_answer = self._costs.answer
        if cost_answer is None or self._session.number_of(cost_answer.open_trace) is not None:
            super().refresh()  # else the trace was closed; costs of another one will follow

    def question(self) -> Question | None:
        open_comparison = self._comparison.in_tables
        compared = (
            None
            if open_comparison is None or open_comparison.program(1) is None
            else open_comparison.program(0)
        )
        if open_comparison is not None and compared is not None:
            tree = self._tree_of(compared)
            args = open_comparison, compared, None if tree is None or tree.is_joined else tree
            return Question(
                model_changes, args, open_comparison.size, about=open_comparison, stays=True
            )
        cost_answer = self._costs.answer
        program = None if cost_answer is None else cost_answer.open_trace.table.program
        if cost_answer is None or program is None or not cost_answer.table.rows:
            return None
        number = self._session.number_of(cost_answer.open_trace)
        assert number is not None
        model_answer, of = self.costs, self._session.as_run(number)
        tree = self._tree_of(program)
        size, warm_up = len(cost_answer.open_trace.trace.slices), self._session.state.warm_up
        steady = TimeScope(warm_up=warm_up, phase=self._session.state.phase)
        is_known = (
            model_answer is not None and model_answer.of is of and model_answer.steady == steady
        )
        medians = model_answer.costed.medians if model_answer is not None and is_known else None
        parts = cost_answer, of, program, tree, steady, medians
        return Question(_answer, parts, size, about=cost_answer)

    def _tree_of(self, program: Program) -> ModuleTree | None:
        """The tree of a program if it is the one shown, which takes time to build."""
        return self._tree if self._tree is not None and self._tree.program is program else None

    @property
    def costs(self) -> ModelAnswer | None:
        """The costs shown, None if the panel shows something else."""
        return self.answer if isinstance(self.answer, ModelAnswer) else None

    def show_empty_state(self) -> None:
        """Show a program that is open without a profile, or a sentence."""
        programs = [p for p in self._session.workspace.programs if p.methods]
        if self._costs.answer is not None:
            super().show_empty_state()
            return
        if self._session.traces or not programs:
            self._forget_tree()
            super().show_empty_state()
            return
        program = programs[0]
        tree = self._tree_of(program) or module_tree(program)
        if self._fill(ModelRows(tree, words=self._words)):
            self.set_stale(False)
            self.show_record(program, _counts(tree), len(programs) - 1)

    def empty_state(self) -> Sentence:
        cost_answer = self._costs.answer
        if cost_answer is None:
            return Sentence(NOTHING, "Open files…", self.host.open_files)
        return self.no_costs(cost_answer)

    def clear_page(self) -> None:
        self.view.show_rows(None)

    def _forget_tree(self) -> None:
        """Release the tree and its open rows: it may be the last reference to a closed ETRecord."""
        self._tree = None
        self.view.forget()

    def show_answer(self, answer: ModelAnswer | ModelChanges) -> None:
        """Show the modules with their costs, and how those add up, or with their changes."""
        if isinstance(answer, ModelChanges):
            if self._fill(ComparedRows(answer, self._words)):
                self.footer.clear()
                self.subtitle.setText(answer.subtitle)
                self.note.setText(answer.note)
                self.note.setVisible(bool(answer.note))
            return
        costed, cost_answer = answer.costed, answer.given
        if not self._fill(ModelRows(costed.costs.tree, costed, self._words)):
            return
        parts = parts_of(costed)
        what = whole_title(cost_answer.open_trace.trace, cost_answer.scope)
        whole = sum(ns for _, _, ns in parts)
        self.footer.show_parts(parts, whole, what, cost_answer.left_out, costed.base)
        self.show_subject(cost_answer)
        seen = costed.costs.single.keys() | costed.costs.in_sets.keys()
        without_slice = len(costed.costs.tree.program.operators) - len(seen)
        # Not "cost nothing": operators in a branch of control flow have no links.
        note = (
            f" · {counted(without_slice, 'operator')} without a slice here" if without_slice else ""
        )
        if costed.medians.runs > 1:
            left_out = 0 if answer.steady.warm_up else len(warm_up_inferences(answer.of.trace))
            unit = answer.of.file.unit
            note += f" · median of {included_text(costed.medians.runs, left_out, unit)}"
        self.note.setText(f"{_counts(costed.costs.tree)}{note}")
        self.note.show()

    def _fill(self, rows: ModelRows) -> bool:
        """Show a tree and return True, or explain why it is empty and return False."""
        tree = rows.tree
        if not tree.is_stated:
            name, is_text = display_name(tree.program.path), bool(tree.program.text_lines)
            self.show_sentence(
                f"{name} is a text of operations, which have no modules."
                if is_text
                else f"{name} does not record the modules of its operators.",
                "Show operators",
                partial(self.host.show_panel, "operators"),
            )
            return False
        is_other = tree is not self._tree
        if is_other:
            self._forget_tree()
            self._picked, self._open_before = None, None
        self._tree = tree
        rows.colors = self._colors
        self.view.show_rows(rows)
        if is_other:
            self.view.open_first()
        self.show_page()
        self._select()
        return True

    @Slot()
    def _color(self) -> None:
        if self.model.rows is not None:
            self.model.rows.colors = self._colors
            self.view.viewport().update()

    @property
    def _colors(self) -> Palette | None:
        open_trace = None if self.costs is None else self.costs.given.open_trace
        if isinstance(self.answer, ModelChanges):
            paths = self.answer.found.chosen.a.paths
            open_trace = next((t for t in self._session.traces if t.file.path in paths), None)
        return (
            None if open_trace is None else open_trace.operator_colors(self._session.state.scheme)
        )

    @property
    def _words(self) -> tuple[str, ...]:
        """What to filter by, in lower case."""
        return tuple(self.filter.text().lower().split())

    @Slot(str)
    def _filter(self, text: str) -> None:
        rows, words, opened = self.model.rows, self._words, self._open_before
        if words and opened is None:
            self._open_before = self.view.open_keys
        elif not words:
            self._open_before = None
        if rows is None:
            return
        rows = rows.again(words, rows.by, rows.descending)
        self.view.show_rows(rows, () if words else opened or ())
        if words:
            self.view.open_below(-1, _MOST_FOUND)
        self._select()

    # -- selection -------------------------------------------------------------------------------

    @Slot()
    def _select(self) -> None:
        rows, answer = self.model.rows, self.costs
        if isinstance(rows, ComparedRows) and not self._choosing:
            self._mark(rows.find_selected(self._session))
        if rows is None or answer is None or self._choosing:
            return
        state = self._session.state
        open_trace = answer.given.open_trace
        if self._picked is not None and len(state.others) and state.slices == self._picked[0]:
            self._mark(rows.row_of_module(self._picked[1]))
            return
        chosen = state.operators if not len(state.others) else None
        is_of_trace = chosen is not None and self._session.traces[chosen[0]] is open_trace
        operators = chosen[1] if chosen is not None and is_of_trace else ()
        self.view.relate(operators)
        node = self.model.node(self.view.currentIndex())
        current = rows.items[node] if node >= 0 else None
        is_slice = current is not None and current.kind is RowKind.SLICE
        if is_slice and state.slice is not None and current.number == state.slice.index:  # type: ignore[union-attr]
            return
        self._mark(rows.find(operators))

    def _mark(self, node: int | None) -> None:
        if node is None or node != self.view.marked:
            self.view.mark(-1 if node is None else node)

    @Slot(int)
    def _choose(self, node: int) -> None:
        answer, rows = self.costs, self.model.rows
        if rows is None:
            return
        row = rows.items[node]
        if isinstance(rows, ComparedRows):
            with self.choosing():  # the row stays marked, which may be a module
                rows.select(self._session, row)
            return
        if answer is None:
            if (place := self._source_of(row)) is not None:
                self.host.show_source(*place)
            return
        number = self._session.number_of(answer.given.open_trace)
        if number is None or row.kind is RowKind.REST:
            return
        with self.choosing():
            if row.kind is RowKind.MODULE:
                self._choose_module(rows, number, row.number)
            elif row.kind is RowKind.SLICE:
                ref = SliceRef(number, row.number)
                self._session.select_slice(ref, reveal=True, keep_area=True)
            else:
                self._session.select_operators(number, rows.operators(row))
        chosen = self._session.state.operators
        self.view.relate(() if chosen is None else chosen[1])

    def _choose_module(self, rows: ModelRows, trace: int, module: int) -> None:
        slices = rows.slices_of_module(module)
        if not len(slices):
            self._session.clear_selection()
            return
        chosen = SliceSet({trace: slices})
        self._picked = chosen, module
        first = SliceRef(trace, nearest_slice(self._session, trace, slices))
        self._session.select_slices(chosen, first, reveal=True, keep_area=True)

    def _source_of(self, row: ModelRow) -> tuple[str, int] | None:
        program = self._program
        if row.kind is not RowKind.OPERATOR or program is None:
            return None
        source = program.operators[row.number].source
        return None if source is None else (source.path, source.line)

    @property
    def _program(self) -> Program | None:
        return None if self._tree is None else self._tree.program

    @Slot(int)
    def _enter(self, node: int) -> None:
        rows = self.model.rows
        is_slice = rows is not None and rows.items[node].kind is RowKind.SLICE
        if is_slice and self._session.state.slice is not None:
            navigation.fit_selection(self._session)


def _answer(
    cost_answer: CostAnswer,
    of: OpenTrace,
    program: Program,
    tree: ModuleTree | None,
    steady: TimeScope,
    medians: RunMedians | None,
) -> ModelAnswer:
    tree = tree or module_tree(program, joined=True)
    # Methods have modules of their own; the phases of one share theirs.
    is_one_method = len({run.scope for run in of.trace.inferences()}) == 1
    figures = of.figures_for(steady if is_one_method else replace(steady, phase=EVERY_PHASE))
    medians = medians or run_medians(tree, figures.table, figures.costs, warm_up=steady.warm_up)
    costs = module_costs(tree, cost_answer.table)
    costed = ModelCosts(cost_answer.open_trace, cost_answer.scope, costs, medians)
    _ = costs.in_sets, costed.fractions  # cached by the worker thread: both pass over all rows
    return ModelAnswer(cost_answer, of, steady, costed)


def _counts(tree: ModuleTree) -> str:
    """Return the counts of a tree: "13 modules, 38 operators"."""
    modules = sum(m.kind is ModuleKind.MODULE for m in tree.modules)
    count = group_digits(len(tree.program.operators))
    return f"{counted(modules, 'module')}, {count} operators"
