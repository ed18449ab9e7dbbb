"""The model panel: the modules of the model as a tree, and what each of them cost.

Below a module stand the modules and operators in it and the calls that these share, below an
operator its slices. It is about the same trace and run as the operators panel. A module selects the
slices that its total counts; what is selected on the timeline is marked in the tree.
"""

from __future__ import annotations

from dataclasses import dataclass

from PySide6.QtCore import Qt, Signal, Slot
from PySide6.QtWidgets import QHBoxLayout, QVBoxLayout, QWidget

from viewer.analysis.cost.modules import RunMedians, module_costs, run_medians
from viewer.gui.panels.base.cost_footer import CostFooter, whole_text
from viewer.gui.panels.base.no_costs import why_no_costs
from viewer.gui.panels.base.slice_facts import scope_text
from viewer.gui.panels.model.rows import ModelCosts, ModelRow, ModelRows, RowKind, parts_of
from viewer.gui.panels.model.tree_model import ModuleModel
from viewer.gui.panels.model.view import Key, ModuleView
from viewer.gui.qt.background import Latest
from viewer.gui.qt.theme.theme import Theme
from viewer.gui.qt.when_visible import BEING_COUNTED, WhenVisible
from viewer.gui.qt.widgets.labels import ElidedLabel, EmptyPlace, PageOrSentence
from viewer.gui.qt.widgets.tables import FilterLine, NoRows
from viewer.gui.session import costs as cost_feed
from viewer.gui.session import navigation
from viewer.gui.session.costs import CostFeed
from viewer.gui.session.selection import nearest_slice
from viewer.gui.session.session import Session
from viewer.model.text import display_name
from viewer.model.times import counted, group_digits
from viewer.program.module_tree import ModuleKind, ModuleTree, module_tree
from viewer.program.program import Program
from viewer.view.open_trace import AT_ONCE, OpenTrace
from viewer.view.state import SliceRef, SliceSet

NOTHING = "Open a profile and the record of its model to see what its modules cost."


@dataclass(frozen=True, eq=False)
class ModelAnswer:
    """The costs of a tree; of: the trace as it ran, which the medians are of."""

    given: cost_feed.CostAnswer
    of: OpenTrace
    costed: ModelCosts


class ModelPanel(QWidget):
    """Modules by cost. A click selects; in a record alone it asks for the source line instead.

    `source_requested(path, line)`: a recorded place. `open_dialog_requested()`: open more files.
    `links_requested()`: choose what belongs together. `operators_requested()`: show operators.
    """

    source_requested = Signal(str, int)
    open_dialog_requested = Signal()
    links_requested = Signal()
    operators_requested = Signal()

    def __init__(self, session: Session, theme: Theme, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._session = session
        self._theme = theme
        self._costs = CostFeed.of(session)
        self._tree: ModuleTree | None = None
        self._answer: ModelAnswer | None = None
        self._asked: cost_feed.CostAnswer | None = None
        self._choosing = False
        self._picked: tuple[SliceSet, int] | None = None  # by the module of a number
        self._open_before: list[Key] | None = None  # what was open before the filter
        self._latest = Latest(self)
        self._latest.answered.connect(self._take)
        self._latest.late.connect(self._gray)
        self._latest.failed.connect(self._say)
        self._seen = WhenVisible(self)
        self._seen.due.connect(self.refresh)
        self.model = ModuleModel(self)
        self.view = ModuleView(self.model, theme)
        self.view.chosen.connect(self._choose)
        self.view.entered_row.connect(self._enter)
        self.filter = FilterLine(
            "Filter by module, operator or line", "Filter modules", self.view, theme
        )
        self.filter.textChanged.connect(self._filter)
        self.subtitle = ElidedLabel("", theme, "caption", "text2")
        self.subtitle.setAlignment(Qt.AlignmentFlag.AlignRight | Qt.AlignmentFlag.AlignVCenter)
        self.footer = CostFooter(theme)
        self.note = ElidedLabel("", theme, "caption", "text2")
        self.note.setContentsMargins(theme.px(12), theme.px(4), theme.px(12), theme.px(8))
        self._stack = PageOrSentence(self._page(), theme)
        column = QVBoxLayout(self)
        column.setContentsMargins(0, 0, 0, 0)
        column.addWidget(self._stack)
        session.workspace_changed.connect(self.refresh)
        session.selection_changed.connect(self._select)
        session.coloring_changed.connect(self._color)
        self._costs.changed.connect(self.refresh)
        self._costs.late.connect(self._gray)
        theme.changed.connect(self.refresh)
        self.refresh()

    def _page(self) -> QWidget:
        theme = self._theme
        page = QWidget()
        head = QHBoxLayout()
        head.setContentsMargins(theme.px(12), theme.px(6), theme.px(12), theme.px(6))
        head.setSpacing(theme.px(12))
        head.addWidget(self.filter, 1)
        head.addWidget(self.subtitle, 1)
        column = QVBoxLayout(page)
        column.setContentsMargins(0, 0, 0, 0)
        column.setSpacing(0)
        column.addLayout(head)
        column.addLayout(NoRows(self.view, self.filter, theme).over_table(), 1)
        column.addWidget(self.footer)
        column.addWidget(self.note)
        return page

    @property
    def is_empty(self) -> bool:
        """Whether a sentence stands in place of the tree."""
        return self._stack.is_empty

    @property
    def empty(self) -> EmptyPlace | None:
        """The last sentence."""
        return self._stack.empty

    # -- what is shown ---------------------------------------------------------------------------

    @Slot()
    def refresh(self) -> None:
        """Show the present costs, or the record, or what to do."""
        given = self._costs.answer
        if given is None:
            self._latest.cancel()
            self._answer = self._asked = None
            self._show_record()
            return
        program = given.shown.table.program
        if program is None or not given.table.rows:
            self._latest.cancel()
            self._answer = None
            sentence, button = why_no_costs(self._session, given), "Open files…"
            asked = self.open_dialog_requested
            if self._session.workspace.candidates(given.shown.file):
                button, asked = "Choose what it is linked to…", self.links_requested
            self._say(sentence, button, asked)
            return
        number = self._session.number_of(given.shown)
        if number is None:
            return  # the trace is gone; the costs of another are on their way
        if self._answer is not None and self._answer.given is given:
            self._take(self._answer)  # the theme is another, or a file that changes nothing here
            return
        if self._latest.pending and self._asked is given:
            return
        known, self._asked = self._answer, given
        of = self._session.as_run(number)
        tree = self._tree if self._tree is not None and self._tree.program is program else None
        medians = known.costed.medians if known is not None and known.of is of else None
        asked_for = given, of, program, tree, medians
        small = len(given.shown.trace.slices) <= AT_ONCE
        if not self._seen.ask(self._latest, small, _answer, *asked_for):
            self._answer = None
            self._say(BEING_COUNTED)

    def _show_record(self) -> None:
        programs = [p for p in self._session.workspace.programs if p.methods]
        if self._session.traces or not programs:
            # It may be all that keeps a closed record in memory.
            self._tree = None
            self.model.show(None)
            self.view.forget()
            self._say(NOTHING, "Open files…", self.open_dialog_requested)
            return
        program = programs[0]
        known = self._tree
        tree = known if known is not None and known.program is program else module_tree(program)
        if not self._fill(tree, None):
            return
        self.footer.clear()
        self.subtitle.setText(display_name(program.path))
        more = f" {len(programs) - 1} more records are open." if len(programs) > 1 else ""
        self.note.setText(
            f"{_counts(tree)}. A {program.noun} holds the model, not a run: open a profile to see "
            f"what they cost.{more}"
        )
        self.note.show()

    @Slot(object)
    def _take(self, answer: ModelAnswer) -> None:
        self._answer = answer
        costed, given = answer.costed, answer.given
        if not self._fill(costed.costs.tree, costed):
            return
        shown = given.shown
        whole = parts_of(costed)
        self.footer.show_parts(
            whole, sum(ns for _, _, ns in whole), whole_text(shown.trace, "Busy time")
        )
        name = display_name(shown.trace.path)
        self.subtitle.setText(f"{scope_text(shown, given.scope)} · {name}")
        seen = costed.costs.single.keys() | costed.costs.in_sets.keys()
        idle = len(costed.costs.tree.program.operators) - len(seen)
        # Not "cost nothing": what runs in a branch of control flow is linked to no operator.
        quiet = f" · {counted(idle, 'operator')} without a slice here" if idle else ""
        self.note.setText(f"{_counts(costed.costs.tree)}{quiet}")
        self.note.show()

    def _fill(self, tree: ModuleTree, costed: ModelCosts | None) -> bool:
        """Show a tree, unless there is nothing in it; then say why."""
        if not tree.is_stated:
            name, is_text = display_name(tree.program.path), bool(tree.program.text_lines)
            self._say(
                f"{name} is a text of operations: they lie in no modules."
                if is_text
                else f"{name} says of no operator which module it is in.",
                "Show them without modules",
                self.operators_requested,
            )
            return False
        is_other = tree is not self._tree
        if is_other:
            self.model.show(None)
            self.view.forget()
            self._picked, self._open_before = None, None
        self._tree = tree
        self._color()
        self.model.show(ModelRows(tree, costed))
        if is_other:
            self.view.fit_columns()
            self.view.open_first()
        self._stack.show_page()
        self._set_opacity(1.0)
        self._select()
        return True

    def _say(self, sentence: str, button: str = "", asked: object = None) -> None:
        """Show a sentence in place of the tree, and a button that does something about it."""
        self.model.show(None)
        self._stack.show_sentence(sentence, button, asked)

    @Slot()
    def _gray(self) -> None:
        self._set_opacity(0.6)

    def _set_opacity(self, opacity: float) -> None:
        self.view.opacity = opacity
        self.footer.opacity = opacity
        self.view.viewport().update()
        self.footer.update()

    @Slot()
    def _color(self) -> None:
        """Color operators as their slices are; those of a record alone have their own colors."""
        scheme = self._session.state.scheme
        known = None if self._answer is None else self._answer.given.shown.operator_colors(scheme)
        self.view.color_operators(known)

    @Slot(str)
    def _filter(self, text: str) -> None:
        if text.strip():
            if self._open_before is None:
                self._open_before = self.view.open_keys()
            with self.view.opening(()):
                self.model.set_filter(text)
            self.view.open_found()
        else:
            with self.view.opening(self._open_before or ()):
                self.model.set_filter(text)
            self._open_before = None
        self._select()

    # -- what is selected ------------------------------------------------------------------------

    @Slot()
    def _select(self) -> None:
        """Let the tree follow what is selected."""
        rows, answer = self.model.rows, self._answer
        if rows is None or answer is None or self._choosing:
            return
        state = self._session.state
        shown = answer.given.shown
        if self._picked is not None and len(state.others) and state.slices == self._picked[0]:
            self._mark(rows.row_of_module(self._picked[1]))
            return
        chosen = state.operators if not len(state.others) else None
        here = chosen is not None and self._session.traces[chosen[0]] is shown
        operators = chosen[1] if chosen is not None and here else ()
        self.model.set_selected(operators)
        self.view.viewport().update()
        current = self.model.row(self.view.currentIndex())
        is_slice = current is not None and current.kind is RowKind.SLICE
        if is_slice and state.slice is not None and current.number == state.slice.index:  # type: ignore[union-attr]
            return
        self._mark(rows.find(operators))

    def _mark(self, number: int | None) -> None:
        if number is None:
            self.view.mark(None)
            return
        marked = self.view.selectionModel().selectedRows()
        if len(marked) != 1 or marked[0].internalId() != number:
            self.view.show_row(number)

    @Slot(object)
    def _choose(self, row: ModelRow) -> None:
        """Select what a row stands for."""
        answer, rows = self._answer, self.model.rows
        if rows is None:
            return
        if answer is None:
            place = self._source_of(row)
            if place is not None:
                self.source_requested.emit(*place)
            return
        number = self._session.number_of(answer.given.shown)
        if number is None or row.kind is RowKind.REST:
            return
        self._choosing = True
        try:
            if row.kind is RowKind.MODULE:
                self._choose_module(rows, number, row.number)
            elif row.kind is RowKind.SLICE:
                ref = SliceRef(number, row.number)
                self._session.select_slice(ref, reveal=True, keep_area=True)
            else:
                self._session.select_operators(number, rows.operators(row))
        finally:
            self._choosing = False
        chosen = self._session.state.operators
        self.model.set_selected(() if chosen is None else chosen[1])
        self.view.viewport().update()

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

    @Slot(object)
    def _enter(self, row: ModelRow) -> None:
        """Zoom to a slice."""
        if row.kind is RowKind.SLICE and self._session.state.slice is not None:
            navigation.fit_selection(self._session)


def _answer(
    given: cost_feed.CostAnswer, of: OpenTrace, program: Program, tree: ModuleTree | None,
    medians: RunMedians | None,
) -> ModelAnswer:  # fmt: skip
    tree = tree or module_tree(program)
    medians = medians or run_medians(tree, of.table, of.costs)
    costs = module_costs(tree, given.table)
    costed = ModelCosts(given.shown, given.scope, costs, medians)
    _ = costs.in_sets, costed.units  # passes over all rows, not made where the answer is shown
    return ModelAnswer(given, of, costed)


def _counts(tree: ModuleTree) -> str:
    """ "13 modules, 38 operators"."""
    modules = sum(m.kind is ModuleKind.MODULE for m in tree.modules)
    count = group_digits(len(tree.program.operators))
    return f"{counted(modules, 'module')}, {count} operators"
