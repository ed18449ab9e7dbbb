"""The operators panel: what each operator cost, and that all of it adds up.

It is of what costs are of: a selected range, a run, or all. Where a record is open alone, it lists
what the record says about its operators instead.
"""

from __future__ import annotations

from dataclasses import dataclass

from PySide6.QtCore import Qt, Signal, Slot
from PySide6.QtWidgets import (
    QHBoxLayout,
    QVBoxLayout,
    QWidget,
)

from viewer.analysis.links.labels import set_label
from viewer.gui.panels.base.cost_footer import CostFooter
from viewer.gui.panels.base.no_costs import why_no_costs
from viewer.gui.panels.base.operator_table import (
    ColumnKind,
    OperatorContents,
    OperatorModel,
    SetFacts,
    costs_contents,
    record_contents,
    set_facts,
)
from viewer.gui.panels.base.operator_view import OperatorView
from viewer.gui.panels.base.slice_facts import scope_text
from viewer.gui.qt.background import Latest
from viewer.gui.qt.theme.theme import Theme
from viewer.gui.qt.when_visible import WhenVisible
from viewer.gui.qt.widgets.labels import ElidedLabel, PageOrSentence
from viewer.gui.qt.widgets.tables import FilterLine, NoRows
from viewer.gui.session.costs import CostAnswer, CostFeed
from viewer.gui.session.session import Session
from viewer.model.text import display_name
from viewer.model.times import counted, format_time, group_digits, tick_to_ns
from viewer.program.program import Program

MOST_AT_ONCE = 500  # sets of operators; they are listed in 10 ms, 5,000 in 100


class OperatorsPanel(QWidget):
    """Operators by cost. A click selects; in a record alone it asks for the source line instead.

    `source_requested(path, line)`: a recorded place. `open_dialog_requested()`: open more files.
    `links_requested()`: choose what belongs together.
    """

    source_requested = Signal(str, int)
    open_dialog_requested = Signal()
    links_requested = Signal()

    def __init__(self, session: Session, theme: Theme, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._session = session
        self._theme = theme
        self._costs = CostFeed.of(session)
        self._listed: _Listed | None = None
        self._latest = Latest(self)
        self._latest.answered.connect(self._take)
        self._latest.late.connect(self._gray)
        self._seen = WhenVisible(self)
        self._seen.due.connect(self.refresh)
        self.model = OperatorModel(self)
        self.table = OperatorView(self.model, theme)
        self.table.chosen.connect(self._choose)
        self.filter = FilterLine(
            "Filter by module, operator or line", "Filter operators", self.table, theme
        )
        self.filter.textChanged.connect(self._filter)
        self.subtitle = ElidedLabel("", theme, "caption", "text2")
        self.subtitle.setAlignment(Qt.AlignmentFlag.AlignRight | Qt.AlignmentFlag.AlignVCenter)
        self.footer = CostFooter(theme)
        self._note = ElidedLabel("", theme, "caption", "text2")
        self._note.setContentsMargins(theme.px(12), theme.px(4), theme.px(12), theme.px(8))
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
        column.addLayout(NoRows(self.table, self.filter, theme).over_table(), 1)
        column.addWidget(self.footer)
        column.addWidget(self._note)
        return page

    @Slot()
    def refresh(self) -> None:
        """Show the present costs, or the record, or what to do."""
        answer = self._costs.answer
        program = None
        if answer is not None:
            program = answer.shown.table.program
        elif not self._session.traces and self._session.workspace.programs:
            program = self._session.workspace.programs[0]
        if self._listed is not None and self._listed.answer is answer:
            self._take(self._listed)  # the theme is another, or a file that changes nothing here
            return
        self._latest.cancel()
        if program is None or (answer is not None and not answer.table.rows):
            self._listed = None
            self._show_empty(answer)
        elif answer is None:
            self._show_record(program)
        else:
            known = self._listed.facts if self._listed and self._listed.of(answer) else None
            small = len(answer.table.rows) <= MOST_AT_ONCE
            self._seen.ask(self._latest, small, _list, answer, known)

    def _show_record(self, program: Program) -> None:
        self._listed = None
        programs = self._session.workspace.programs
        self._stack.show_page()
        self._set_opacity(1.0)
        self._color()
        self._show(record_contents(program))
        self.footer.clear()
        self.subtitle.setText(display_name(program.path))
        more = f" {len(programs) - 1} more records are open." if len(programs) > 1 else ""
        self._note.setText(
            f"{group_digits(len(program.operators))} operators. A {program.noun} holds the model, "
            f"not a run: open a profile to see what they cost.{more}"
        )

    @Slot(object)
    def _take(self, listed: _Listed) -> None:
        self._listed = listed
        answer, program = listed.answer, listed.answer.shown.table.program
        assert program is not None
        self._stack.show_page()
        self._set_opacity(1.0)
        self._color()
        self._show(listed.contents)
        self.footer.show_answer(answer)
        name = display_name(answer.shown.trace.path)
        self.subtitle.setText(f"{scope_text(answer.shown, answer.scope)} · {name}")
        seen = {i for row in answer.table.rows for i in row.operators}
        idle = len(program.operators) - len(seen)
        self._note.setText(f"{counted(idle, 'operator')} cost nothing here" if idle else "")
        self._note.setVisible(bool(idle))
        self._select()

    def _show(self, contents: OperatorContents) -> None:
        with_costs = any(h.kind is ColumnKind.BAR for h in contents.headings)
        self.table.show_contents(contents, sorted_by=1 if with_costs else -1)
        self._note.setVisible(True)

    @Slot()
    def _color(self) -> None:
        """Color operators as their slices are; those of a record alone have their own colors."""
        listed, scheme = self._listed, self._session.state.scheme
        known = None if listed is None else listed.answer.shown.operator_colors(scheme)
        self.table.color_operators(known)

    def _show_empty(self, answer: CostAnswer | None) -> None:
        self.model.clear()  # it may be all that keeps a closed record in memory
        sentence, button = "Open a profile and the record of its model to see its operators.", ""
        asked = self.open_dialog_requested
        if answer is not None:
            sentence, button = why_no_costs(self._session, answer), "Open files…"
            if self._session.workspace.candidates(answer.shown.file):
                button, asked = "Choose what it is linked to…", self.links_requested
        self._stack.show_sentence(sentence, button, asked)

    @Slot()
    def _gray(self) -> None:
        self._set_opacity(0.6)

    def _set_opacity(self, opacity: float) -> None:
        self.table.opacity = opacity
        self.footer.opacity = opacity
        self.table.viewport().update()
        self.footer.update()

    @Slot(str)
    def _filter(self, text: str) -> None:
        self.model.set_filter(text)
        self._select()

    @Slot()
    def _select(self) -> None:
        """Let the table follow what is selected."""
        listed, chosen = self._listed, self._session.state.operators
        if listed is None:
            return
        here = chosen is not None and self._session.traces[chosen[0]] is listed.answer.shown
        operators = chosen[1] if chosen is not None and here else ()
        self.model.set_selected(operators)
        self.table.mark(self.model.row_of(operators) if operators else -1)

    def select_most_expensive(self) -> str:
        """Select what took most, as a click on its row does; "" where no costs are shown, else
        "head · linear, 3.4 ms in run 2"."""
        if self._listed is None or not self._listed.answer.table.rows:
            return ""
        answer = self._listed.answer
        most_expensive = max(answer.table.rows, key=lambda row: row.ticks)
        self._choose(self.model.row_of(most_expensive.operators))
        took = format_time(tick_to_ns(most_expensive.ticks, answer.shown.axis.ns_per_tick))
        name = set_label(answer.shown.table, most_expensive.operators)
        return f"{name}, {took} in {scope_text(answer.shown, answer.scope)}"

    @Slot(int)
    def _choose(self, row: int) -> None:
        operators = self.model.rows[row].operators
        if self._listed is not None:
            number = self._session.number_of(self._listed.answer.shown)
            if number is not None:
                self._session.select_operators(number, operators)
            return
        place = self.model.contents.place(operators[0])
        if place is not None:
            self.source_requested.emit(*place)


@dataclass(frozen=True, eq=False, slots=True)
class _Listed:
    """An answer as a table, and what of it holds for any other answer of that trace."""

    answer: CostAnswer
    facts: dict[tuple[int, ...], SetFacts]
    contents: OperatorContents

    def of(self, answer: CostAnswer) -> bool:
        return self.answer.shown.table is answer.shown.table


def _list(answer: CostAnswer, known: dict[tuple[int, ...], SetFacts] | None) -> _Listed:
    facts = set_facts(answer.shown.table) if known is None else known
    return _Listed(answer, facts, costs_contents(answer, facts))
