"""The Operators panel: the cost of each operator, and how the costs add up.

It covers the selected range, an inference, or the whole trace. If a program is open without a
profile, it lists the program's operators without costs.
"""

from __future__ import annotations

from dataclasses import dataclass

from PySide6.QtCore import Slot
from PySide6.QtWidgets import QWidget

from viewer.analysis.links.labels import set_label
from viewer.gui.panels.base.answer_panel import Question
from viewer.gui.panels.base.cost_panel import CostPanel
from viewer.gui.panels.base.operator_contents import (
    ColumnKind,
    OperatorContents,
    SetFacts,
    costs_contents,
    record_contents,
    set_facts,
)
from viewer.gui.panels.base.operator_table import OperatorModel
from viewer.gui.panels.base.operator_view import OperatorView
from viewer.gui.panels.base.page_panel import Sentence
from viewer.gui.panels.base.slice_facts import scope_text
from viewer.gui.qt.theme.theme import Theme
from viewer.gui.session.costs import CostAnswer
from viewer.gui.session.session import Session
from viewer.model.times import counted, format_time, group_digits, tick_to_ns

NOTHING = "Open a profile and its ETRecord to see its operators."


class OperatorsPanel(CostPanel["ListedCosts"]):
    """Operators by cost, with one row for each set of operators that share slices."""

    # Operator sets, not slices: listing 500 takes 10 ms, 5,000 takes 100 ms.
    SYNC_LIMIT = 500

    def __init__(self, session: Session, theme: Theme, parent: QWidget | None = None) -> None:
        self.model = OperatorModel()
        self.table = OperatorView(self.model, theme)
        super().__init__(session, self.table, theme, "Filter operators", parent)
        self.model.setParent(self)
        self.table.chosen.connect(self._choose)
        self.refresh()

    def question(self) -> Question | None:
        """Return the question that lists the operator sets that have a cost."""
        answer = self._costs.answer
        if answer is None or answer.shown.table.program is None or not answer.table.rows:
            return None
        known = self.answer.facts if self.answer and self.answer.is_of_trace(answer) else None
        size = len(answer.table.rows)
        return Question(_list, (answer, known), size, about=answer, stays=True)

    def show_empty_state(self) -> None:
        """Show a program that is open without a profile, or a sentence."""
        programs = self._session.workspace.programs
        if self._costs.answer is not None or self._session.traces or not programs:
            super().show_empty_state()
            return
        program = programs[0]
        self.show_page()
        self.set_stale(False)
        self._color()
        self._show_contents(record_contents(program))
        counts = f"{group_digits(len(program.operators))} operators"
        self.show_record(program, counts, len(programs) - 1)

    def empty_state(self) -> Sentence:
        """Explain why no operator has a cost, with a button that helps."""
        answer = self._costs.answer
        return Sentence(NOTHING) if answer is None else self.no_costs(answer)

    def clear_page(self) -> None:
        self.model.clear()

    def show_answer(self, listed: ListedCosts) -> None:
        """Show the costs and how they add up."""
        answer, program = listed.answer, listed.answer.shown.table.program
        assert program is not None
        self.show_page()
        self._color()
        self._show_contents(listed.contents)
        self.footer.show_answer(answer)
        self.show_subject(answer)
        seen = {i for row in answer.table.rows for i in row.operators}
        without_cost = len(program.operators) - len(seen)
        self.note.setText(
            f"{counted(without_cost, 'operator')} with no measured time" if without_cost else ""
        )
        self.note.setVisible(bool(without_cost))
        self._select()

    def _show_contents(self, contents: OperatorContents) -> None:
        with_costs = any(h.kind is ColumnKind.SHARE for h in contents.headings)
        self.table.show_contents(contents, sorted_by=1 if with_costs else -1)

    @Slot()
    def _color(self) -> None:
        listed, scheme = self.answer, self._session.state.scheme
        known = None if listed is None else listed.answer.shown.operator_colors(scheme)
        self.table.color_operators(known)

    @Slot(str)
    def _filter(self, text: str) -> None:
        self.model.set_filter(text)
        self._select()

    @Slot()
    def _select(self) -> None:
        """Highlight the rows of the selected operators."""
        listed, chosen = self.answer, self._session.state.operators
        if listed is None:
            return
        is_of_trace = chosen is not None and self._session.traces[chosen[0]] is listed.answer.shown
        operators = chosen[1] if chosen is not None and is_of_trace else ()
        self.model.set_selected(operators)
        self.table.mark(self.model.row_of(operators) if operators else -1)

    def select_most_expensive(self) -> str:
        """Select the most expensive row, like a click, and describe it.

        Returns "head · linear, 3.4 ms in run 2", or "" if no costs are shown.
        """
        if self.answer is None or not self.answer.answer.table.rows:
            return ""
        answer = self.answer.answer
        most_expensive = max(answer.table.rows, key=lambda row: row.ticks)
        self._choose(self.model.row_of(most_expensive.operators))
        duration = format_time(tick_to_ns(most_expensive.ticks, answer.shown.axis.ns_per_tick))
        name = set_label(answer.shown.table, most_expensive.operators)
        return f"{name}, {duration} in {scope_text(answer.shown, answer.scope)}"

    @Slot(int)
    def _choose(self, row: int) -> None:
        operators = self.model.rows[row].operators
        if self.answer is not None:
            number = self._session.number_of(self.answer.answer.shown)
            if number is not None:
                self._session.select_operators(number, operators)
            return
        place = self.model.contents.place(operators[0])
        if place is not None:
            self.source_requested.emit(*place)


@dataclass(frozen=True, eq=False, slots=True)
class ListedCosts:
    """Costs as a table. facts: `set_facts` of the trace, reused for its other costs."""

    answer: CostAnswer
    facts: dict[tuple[int, ...], SetFacts]
    contents: OperatorContents

    def is_of_trace(self, answer: CostAnswer) -> bool:
        """Whether other costs belong to the same linked trace."""
        return self.answer.shown.table is answer.shown.table


def _list(answer: CostAnswer, known: dict[tuple[int, ...], SetFacts] | None) -> ListedCosts:
    facts = set_facts(answer.shown.table) if known is None else known
    return ListedCosts(answer, facts, costs_contents(answer, facts))
