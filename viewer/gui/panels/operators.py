"""The Operators panel: one table for operators, groups and events, chosen in its *By* box.

A profile without operators is listed by the names of its slices. A program without a profile is
listed without costs. The box is that of the groups, with the costs of operators before their keys
and events after them.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol, Union, cast

from PySide6.QtCore import Slot
from PySide6.QtWidgets import QComboBox, QHBoxLayout, QWidget

from viewer.analysis.comparison.levels import CALLS, IDENTITIES, NAME
from viewer.analysis.links.labels import set_label
from viewer.analysis.statistics.group_keys import KEYS
from viewer.analysis.statistics.group_table import GroupTable
from viewer.analysis.statistics.grouping import Grouping
from viewer.analysis.statistics.pivot import group_starts, medians_per_inference
from viewer.dataclasses import dataclass
from viewer.gui.panels.base.group_rows import STARTS, Starts, group_contents, show_whole
from viewer.gui.panels.base.multi_page_panel import ModePanel
from viewer.gui.panels.base.operator_model import (
    OperatorContents,
    OperatorModel,
    SetFacts,
    costs_contents,
    record_contents,
    set_facts,
)
from viewer.gui.panels.base.operator_view import OperatorView
from viewer.gui.panels.base.panel import PanelHost, Question, Sentence
from viewer.gui.panels.base.slice_facts import scope_text
from viewer.gui.panels.base.table import ColumnKind
from viewer.gui.panels.base.trace_panel import FILTER_HINT, CostPanel
from viewer.gui.qt.widgets.controls import SegmentBar
from viewer.gui.session.choices import TableChoices
from viewer.gui.session.comparison import ComparisonFeed, row_of_selection, select_row
from viewer.gui.session.feeds.feed import CostAnswer
from viewer.gui.session.navigation import current_scope
from viewer.gui.session.selection import select_group
from viewer.gui.session.session import Session
from viewer.model.figures import TimeScope
from viewer.model.inference_views import Inferences
from viewer.model.text import display_name
from viewer.model.times import counted, group_digits
from viewer.model.trace import KeyKind
from viewer.view.open_trace import AT_ONCE, OpenTrace
from viewer.workspace.matches import key_kinds

if TYPE_CHECKING:
    from viewer.view.open_comparison import OpenComparison


NOTHING = "Open a profile and its ETRecord to see its operators."

GROUP_KEY = "name"
BY_NAME = "by name"
_MOST_NAMED = 3


@dataclass(frozen=True, eq=False, slots=True)
class ListedNames:
    """The names of a trace in a scope, with figures as in Statistics, but without the warm-up."""

    shown: OpenTrace
    scope: TimeScope
    grouping: Grouping
    table: GroupTable
    contents: OperatorContents


def has_only_names(session: Session, answer: CostAnswer) -> bool:
    """Whether a profile has slices but no operators, and no open file could provide them."""
    space = session.workspace
    trace = answer.open_trace.file
    program = answer.open_trace.table.program
    if program is not None and program.is_nested:
        return True
    return (
        program is None
        and len(answer.open_trace.trace.slices) > 0
        and not space.candidates(trace)
        and not space.warnings(trace)
    )


def list_names(open_trace: OpenTrace, scope: TimeScope) -> ListedNames:
    """Group the slices of a trace by name."""

    grouping = open_trace.grouping_for(scope)
    table = grouping.by(GROUP_KEY, *scope.span)
    base = open_trace.base_of(scope)
    medians = medians_per_inference(grouping, GROUP_KEY) if base.is_mean else None
    starts = Starts(group_starts(grouping, GROUP_KEY, *scope.span[:2]), {})
    contents = group_contents(open_trace, table, "Name", base, medians=medians, starts=starts)
    return ListedNames(open_trace, scope, grouping, table, contents)


def more_names_text(listed: ListedNames) -> str:
    """Return how many names are not listed, and how to find them; or ""."""
    more = len(listed.table.groups) - len(listed.contents.rows)
    if not more:
        return ""
    return (
        f"… {counted(more, 'more name')} with less wall time: "
        "the search finds them, Statistics exports them"
    )


def not_counted_text(listed: ListedNames) -> str:
    """Return which names have no self time, because they only enclose others; or ""."""
    names = listed.table.not_counted
    if not names:
        return ""
    encloses = "only encloses others and is" if len(names) == 1 else "only enclose others and are"
    return f"{', '.join(names[:_MOST_NAMED])} {encloses} not counted"


@dataclass(frozen=True, eq=False, slots=True)
class ListedComparison:
    """A comparison as a table."""

    compared: OpenComparison
    contents: OperatorContents

    @property
    def subtitle(self) -> str:
        """What the figures are."""
        return self.compared.subtitle

    @property
    def note(self) -> str:
        """How many rows have no partner, or ""."""
        alone = sum(not row.a or not row.b for row, _ in self.compared.rows)
        return f"{counted(alone, 'row')} in one arm only" if alone else ""


Listed = Union["ListedCosts", ListedNames, ListedComparison]


def list_changes(compared: OpenComparison) -> ListedComparison:
    """Return the rows of a comparison by call, operator or name."""
    from viewer.gui.panels.base.compared_operators import compared_contents

    level = compared.calls.a.level
    title = "Call" if level == CALLS else "Operator"
    if level in (NAME, *IDENTITIES):
        title = level.capitalize()
    elif compared.program(0) is not None:
        title = "Operator"
    return ListedComparison(compared, compared_contents(compared.calls, title))


class OperatorsPanel(CostPanel[Listed]):
    """Operators by cost, with one row for each set of operators that share slices."""

    # Operator sets, not slices: listing 500 takes 10 ms, 5,000 takes 100 ms.
    SYNC_LIMIT = 500

    def __init__(self, host: PanelHost) -> None:
        session, theme = host.session, host.theme
        # First, as making it may change what the signals that the base connects report.
        self._comparison = ComparisonFeed.of(session)
        self.model = OperatorModel()
        self.table = OperatorView(self.model, theme)
        choices = TableChoices.of(session)
        self.table.let_choose([heading.key for heading in STARTS], choices, "operators")
        super().__init__(host, self.table, "Filter operators")
        self.model.setParent(self)
        self.table.chosen.connect(self._choose)
        self.refresh_on(self._comparison.changed)
        self._comparison.late.connect(self.show_stale)
        self.refresh()

    def question(self) -> Question | None:
        answer, compared = self._costs.answer, self._comparison.in_tables
        if compared is not None:
            size = len(compared.rows)
            return Question(list_changes, (compared,), size, about=compared, stays=True)
        if answer is None:
            return None
        if has_only_names(self._session, answer):
            return self._question_of_names(answer)
        if answer.open_trace.table.program is None or not answer.table.rows:
            return None
        listed = self.costs
        facts = listed.facts if listed and listed.is_of_trace(answer) else None
        size = len(answer.table.rows)
        return Question(_list, (answer, facts), size, about=answer, stays=True)

    def _question_of_names(self, answer: CostAnswer) -> Question | None:
        # The scope of costs: without the warm-up. Inferences are shown as they ran.
        open_trace, scope = current_scope(self._session, ranges=True, by_inference=True)
        if open_trace is None:  # all files were closed, and the costs follow
            return None
        listed = self.answer
        is_known = isinstance(listed, ListedNames) and listed.shown is open_trace
        slices = len(open_trace.trace.slices)
        size = 0 if slices <= AT_ONCE else slices  # the limit of the panel counts operator sets
        return Question(list_names, (open_trace, scope), size, about=answer, stays=is_known)

    @property
    def costs(self) -> ListedCosts | None:
        """The listed costs of operators, None if the panel shows something else."""
        return self.answer if isinstance(self.answer, ListedCosts) else None

    def show_empty_state(self) -> None:
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
        answer = self._costs.answer
        return Sentence(NOTHING) if answer is None else self.no_costs(answer)

    def clear_page(self) -> None:
        self.model.clear()

    def show_answer(self, listed: Listed) -> None:
        """Show the costs and how they add up, or the changes between two arms."""
        if isinstance(listed, ListedComparison):
            self._show_changes(listed)
        elif isinstance(listed, ListedNames):
            self._show_names(listed)
        else:
            self._show_costs(listed)
        self._select()

    def _show_changes(self, listed: ListedComparison) -> None:
        self.show_page()
        self._color()
        self.filter.setPlaceholderText(FILTER_HINT)
        self.table.show_contents(listed.contents, sorted_by=-1)
        self.footer.clear()
        self.subtitle.setText(listed.subtitle)
        self.note.setText(listed.note)
        self.note.setVisible(bool(listed.note))

    def _show_names(self, listed: ListedNames) -> None:
        open_trace, table = listed.shown, listed.table
        self.show_page()
        self._color()
        self._show_contents(listed.contents)
        base = open_trace.base_of(listed.scope)
        show_whole(
            self.footer, open_trace, table, open_trace.left_out_of(listed.scope), listed.scope, base
        )
        where = scope_text(open_trace, listed.scope, loads=True, per_inference=True)
        name = display_name(open_trace.trace.path)
        self.subtitle.setText(f"{BY_NAME} · {where} · {name}")
        costs = self._costs.answer
        may_link = KeyKind.OPERATOR_CALL in key_kinds(open_trace.trace)
        link = self.no_costs(costs).text if costs and may_link else ""
        self.note.setText(more_names_text(listed) or link or not_counted_text(listed))
        self.note.setVisible(bool(self.note.text()))

    def _show_costs(self, listed: ListedCosts) -> None:
        answer, program = listed.answer, listed.answer.open_trace.table.program
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

    def _show_contents(self, contents: OperatorContents) -> None:
        with_operators = any(row.operators for row in contents.rows)
        self.filter.setPlaceholderText(FILTER_HINT if with_operators else "Filter by name")
        with_costs = any(h.kind is ColumnKind.SHARE for h in contents.headings)
        self.table.show_contents(contents, sorted_by=1 if with_costs else -1)

    @Slot()
    def _color(self) -> None:
        listed, scheme = self.costs, self._session.state.scheme
        open_trace = None if listed is None else listed.answer.open_trace
        if isinstance(self.answer, ListedComparison):
            paths = self.answer.compared.chosen.a.paths
            open_trace = next((t for t in self._session.traces if t.file.path in paths), None)
        self.table.color_operators(
            None if open_trace is None else open_trace.operator_colors(scheme)
        )

    @Slot(str)
    def _filter(self, text: str) -> None:
        self.model.set_filter(text)
        self.table.scrollToTop()  # the selected row, if it is listed, then comes into view
        self._select()

    @Slot()
    def _select(self) -> None:
        """Highlight the rows of the selected operators, or of the name of the selected slice."""
        if isinstance(self.answer, ListedNames):
            self._select_name(self.answer)
            return
        if isinstance(self.answer, ListedComparison):
            row = row_of_selection(self._session, self.answer.compared)
            rows = (
                i
                for i, table_row in enumerate(self.model.rows)
                if row >= 0 and table_row.group == row
            )
            self.table.mark(next(rows, -1))
            return
        listed, chosen = self.costs, self._session.state.operators
        if listed is None:
            return
        is_of_trace = (
            chosen is not None and self._session.traces[chosen[0]] is listed.answer.open_trace
        )
        operators = chosen[1] if chosen is not None and is_of_trace else ()
        self.model.set_selected(operators)
        self.table.mark(self.model.row_of(operators) if operators else -1)

    def _select_name(self, listed: ListedNames) -> None:
        state, group = self._session.state, -1
        ref = state.slice if state.inferences is Inferences.AS_RUN else None
        if ref is not None and self._session.as_run(ref.trace) is listed.shown:
            group = listed.grouping.group_of_slice(GROUP_KEY, ref.index)
        rows = (i for i, row in enumerate(self.model.rows) if group >= 0 and row.group == group)
        self.table.mark(next(rows, -1))

    def select_most_expensive(self) -> str:
        """Select the most expensive row: "head · linear, 3.4 ms in run 2"; "" if there is none."""
        if self.costs is None or not self.costs.answer.table.rows:
            return ""
        answer = self.costs.answer
        most_expensive = max(answer.table.rows, key=lambda row: row.ticks)
        self._choose(self.model.row_of(most_expensive.operators))
        name, base = set_label(answer.open_trace.table, most_expensive.operators), answer.base
        time = base.text(most_expensive.ticks, most_expensive.zeros)
        if base.name:
            return f"{name}, {time}, {base.name}"
        return f"{name}, {time} in {scope_text(answer.open_trace, answer.scope)}"

    @Slot(int)
    def _choose(self, row: int) -> None:
        listed = self.answer
        if isinstance(listed, ListedComparison):
            select_row(self._session, listed.compared, self.model.rows[row].group)
            return
        if isinstance(listed, ListedNames):
            session, group = self._session, self.model.rows[row].group
            session.show_inferences(Inferences.AS_RUN)
            select_group(session, listed.shown, listed.grouping, GROUP_KEY, group, listed.scope)
            return
        operators = self.model.rows[row].operators
        if listed is not None:
            if (number := self._session.number_of(listed.answer.open_trace)) is not None:
                self._session.select_operators(number, operators)
            return
        if (place := self.model.contents.place(operators[0])) is not None:
            self.host.show_source(*place)


@dataclass(frozen=True, eq=False, slots=True)
class ListedCosts:
    """Costs as a table. facts: `set_facts` of the trace, reused for its other costs."""

    answer: CostAnswer
    facts: dict[tuple[int, ...], SetFacts]
    contents: OperatorContents

    def is_of_trace(self, answer: CostAnswer) -> bool:
        """Whether other costs belong to the same linked trace."""
        return self.answer.open_trace.table is answer.open_trace.table


def _list(answer: CostAnswer, known_facts: dict[tuple[int, ...], SetFacts] | None) -> ListedCosts:
    facts = set_facts(answer.open_trace.table) if known_facts is None else known_facts
    return ListedCosts(answer, facts, costs_contents(answer, facts))


OPERATORS, GROUPS, EVENTS, UNTIMED = "operators", "statistics", "events", "untimed"
# Keys of groups that the first entry is about too, there per inference.
_ALSO_FIRST = ("operator", "name")
_TIMES = {EVENTS: "Events with a time", UNTIMED: "Allocations and logged values"}
_TIME_TITLES = {EVENTS: "Timed", UNTIMED: "Untimed"}


class Groups(Protocol):
    """The page of groups: its box of keys, in its line."""

    by: QComboBox
    by_line: QWidget

    def mark_key(self) -> None:
        """Show the current key in the box."""


class OperatorsByPanel(ModePanel):
    """The pages, with the box of keys as their switch."""

    def make_switch(self, name: str) -> QWidget:
        costs = cast(OperatorsPanel, self.pages[OPERATORS])
        self._groups = cast(Groups, self.pages[GROUPS])
        box = self._box = self._groups.by
        box.setAccessibleName(name)
        for key in _ALSO_FIRST:
            index = box.findData(key)
            box.setItemText(index, f"{box.itemText(index)}, all slices")
        box.insertItem(0, "Operator", OPERATORS)
        box.addItem("Event", EVENTS)
        box.activated.connect(self._pick)
        self._costs = costs.model
        self._costs.modelReset.connect(self._name_first)
        self._name_first()
        self.times: SegmentBar[str] = SegmentBar("Events", _TIMES, _TIME_TITLES)
        self.times.picked.connect(self.show_mode)
        switch = QWidget()
        line = QHBoxLayout(switch)
        line.setContentsMargins(0, 0, 0, 0)
        line.setSpacing(self._theme.px(8))
        line.addWidget(self._groups.by_line)
        line.addWidget(self.times)
        return switch

    def mark_mode(self, mode: str) -> None:
        if mode == GROUPS:
            self._groups.mark_key()
        else:
            self._box.setCurrentIndex(0 if mode == OPERATORS else self._box.count() - 1)
        self.times.setVisible(mode in _TIMES)
        if mode in _TIMES:
            self.times.press(mode)

    @Slot(int)
    def _pick(self, index: int) -> None:
        key: str = self._box.itemData(index)
        if key in KEYS:
            key = GROUPS
        elif key == EVENTS and self.mode in _TIMES:
            return
        self.show_mode(key)

    @Slot()
    def _name_first(self) -> None:
        """Name the first entry like the first column: a profile without operators lists names."""
        if headings := self._costs.contents.headings:
            self._box.setItemText(0, headings[0].title)
