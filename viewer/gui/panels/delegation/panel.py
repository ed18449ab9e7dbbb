"""The Delegation panel: what delegates ran, what was not delegated, and slices without a link.

It follows the current profile and its current inference or selected range. A click selects the
calls of a delegate, the slices of an operator, or those without a link for one reason; a double
click zooms to them. Without a profile the panel shows how an ETRecord was lowered. While two arms
are compared, it shows what changed between them.
"""

from __future__ import annotations

from dataclasses import dataclass

from PySide6.QtCore import QModelIndex, Slot

from viewer.analysis.comparison.levels import CALLS
from viewer.analysis.delegates.delegation import (
    DelegationReport,
    Instance,
    NotDelegated,
    Unlinked,
    recorded,
)
from viewer.gui.panels.base.answer_panel import Question
from viewer.gui.panels.base.cost_footer import CostFooter, whole_title
from viewer.gui.panels.base.operator_tables.contents import OperatorContents
from viewer.gui.panels.base.page_panel import Sentence
from viewer.gui.panels.base.panel_host import PanelHost
from viewer.gui.panels.base.slice_facts import scope_text
from viewer.gui.panels.base.trace_panel import OperatorTracePanel
from viewer.gui.panels.delegation.compared import ComparedDelegation, compare_delegation
from viewer.gui.panels.delegation.page import (
    ComparedRow,
    DelegationLine,
    DelegationPage,
    page_of,
    record_page,
)
from viewer.gui.panels.delegation.table import DelegationModel
from viewer.gui.panels.delegation.view import DelegationView
from viewer.gui.session.comparison import row_of_selection, select_row
from viewer.gui.session.feeds.comparison import ComparisonFeed
from viewer.model.inferences.inference_views import Inferences
from viewer.model.scope import TimeScope
from viewer.model.text import display_name
from viewer.view.open_trace import OpenTrace

NOTHING = (
    "Open a profile to see the time in delegates, or an ETRecord to see which operators are "
    "delegated."
)
NO_METHODS = (
    "The open files have no slices and no operators that could be delegated. Open a profile or an "
    "ETRecord."
)


@dataclass(frozen=True, slots=True)
class DelegationAnswer:
    """The delegation report of a profile in a scope."""

    shown: OpenTrace
    scope: TimeScope
    report: DelegationReport
    page: DelegationPage


Shown = DelegationAnswer | ComparedDelegation


class DelegationPanel(OperatorTracePanel[Shown]):
    """The report, with a footer that shows how its times add up."""

    # With up to this many slices, each with its own identifier, the answer takes less than 40 ms:
    # no thread.
    SYNC_LIMIT = 5000
    BY_INFERENCE = True
    model: DelegationModel

    def __init__(self, host: PanelHost) -> None:
        session, theme = host.session, host.theme
        # First, as making it may change what the signals that the base connects report.
        self._comparison = ComparisonFeed.of(session)
        model = DelegationModel()
        self.footer = CostFooter(theme)
        super().__init__(
            host,
            DelegationView(model, theme),
            model,
            "Filter by delegate, operator or link reason",
            "Filter delegation",
            fading=(self.footer,),
        )
        self.column.addWidget(self.footer)
        self.refresh_on(self._comparison.changed)
        self._comparison.late.connect(self.show_stale)
        self.refresh()

    @property
    def shown_trace(self) -> OpenTrace | None:
        return self.answer.shown if isinstance(self.answer, DelegationAnswer) else None

    def question(self) -> Question | None:
        """Return the question for the report in the current scope, or of the comparison."""
        self._of = shown, scope = self.current_scope()
        found = self._comparison.in_tables
        if found is not None:
            return Question(compare_delegation, (found,), found.size, about=found, stays=True)
        if shown is None:
            return None
        stays = self.shown_trace is shown
        return Question(_answer, (shown, scope), len(shown.trace.slices), stays=stays)

    @Slot()
    def _follow(self) -> None:
        if isinstance(self.answer, ComparedDelegation) and self._comparison.in_tables is not None:
            self._mark(self.answer)
            return
        super()._follow()

    def show_answer(self, answer: Shown) -> None:
        """Show the report of a profile or of a comparison."""
        if isinstance(answer, ComparedDelegation):
            self._color()
            self._fill(answer.page)
            self.footer.clear()
            self._show_table(answer.subtitle)
            self._mark(answer)
            return
        if not len(answer.shown.trace.slices):
            self.show_sentence(NO_METHODS)
            return
        self._color()
        self._fill(answer.page)
        if answer.page.parts:
            base = answer.shown.base_of(answer.scope)
            what = whole_title(answer.shown.trace, answer.scope)
            uncounted = answer.shown.left_out_of(answer.scope)
            self.footer.show_parts(answer.page.parts, answer.page.whole, what, uncounted, base)
        else:
            self.footer.clear()
        where = scope_text(answer.shown, answer.scope, per_inference=True)
        self._show_table(f"{where} · {display_name(answer.shown.trace.path)}")
        self._tint()

    def show_empty_state(self) -> None:
        """Show how the first ETRecord was lowered, if no profile is open."""
        record = self.first_record
        if record is None:
            super().show_empty_state()
            return
        self.set_stale(False)
        self.view.color_operators(None)
        rejected = self._session.workspace.rejected(record)
        self._fill(record_page(record, recorded(record, rejected)))
        self.footer.clear()
        what = f"{display_name(record.path)} · {record.title} without a profile"
        self._show_table(f"{what}: open a profile to see times")

    def empty_state(self) -> Sentence:
        """Return the sentence shown without a report."""
        return Sentence(NO_METHODS if self._session.workspace.paths else NOTHING)

    def clear_page(self) -> None:
        self.model.page = DelegationPage(OperatorContents(), ())
        self.model.clear()

    def _fill(self, page: DelegationPage) -> None:
        self.model.page = page
        self.view.show_contents(page.contents, sorted_by=-1)

    @Slot()
    def _color(self) -> None:
        if not isinstance(self.answer, ComparedDelegation):
            super()._color()
            return
        paths = self.answer.found.chosen.a.paths
        shown = next((t for t in self._session.traces if t.file.path in paths), None)
        scheme = self._session.state.scheme
        self.view.color_operators(None if shown is None else shown.operator_colors(scheme))

    def _mark(self, answer: ComparedDelegation) -> None:
        """Highlight the row by call of the selected slice, and tint those with its operators."""
        number = row_of_selection(self._session, answer.found)
        operators = answer.found.operators.operators[number] if number >= 0 else ()
        self.model.set_selected(operators)
        if self._choosing:
            return
        wanted = ComparedRow(CALLS, number)
        rows = (i for i in range(len(self.model.rows)) if self.model.entry(i).of == wanted)
        self.view.mark(next(rows, -1))

    @Slot()
    def _tint(self) -> None:
        if not isinstance(self.answer, ComparedDelegation):
            super()._tint()

    # -- selecting ---------------------------------------------------------------------------------

    @Slot(int)
    def _choose(self, row: int) -> None:
        """Select what a row shows, or show the rest of its section."""
        item = self.model.entry(row)
        if item.line is DelegationLine.MORE:
            self.model.expand(item.section)
        elif isinstance(item.of, ComparedRow):
            if isinstance(self.answer, ComparedDelegation):
                with self.choosing():  # the row stays marked, which may share its slices
                    select_row(self._session, self.answer.found, item.of.number, item.of.level)
        elif isinstance(self.answer, DelegationAnswer):
            self._select_of(self.answer, item.of)
        elif isinstance(item.of, Instance | NotDelegated):
            self._ask_for_source(item.of.operators)

    def _select_of(
        self, answer: DelegationAnswer, of: Instance | NotDelegated | Unlinked | None
    ) -> None:
        session = self._session
        session.show_inferences(Inferences.AS_RUN)
        number = session.number_of(answer.shown)
        if number is None or of is None:
            return
        if isinstance(of, NotDelegated) and of.operators:
            session.select_operators(number, of.operators)
            return
        keys = answer.shown.delegation.call_keys(of) if isinstance(of, Instance) else list(of.keys)
        found = answer.shown.figures_for(answer.scope).delegation.slices_of(keys, answer.scope)
        if len(found):
            self._select_slices(answer.shown, number, found)
        elif isinstance(of, Instance) and of.operators:
            session.select_operators(number, of.operators)

    @Slot(QModelIndex)
    def _fit(self, index: QModelIndex) -> None:
        if self.model.entry(index.row()).of is not None:
            super()._fit(index)


def _answer(shown: OpenTrace, scope: TimeScope) -> DelegationAnswer:
    report = shown.figures_for(scope).delegation.report(scope)
    return DelegationAnswer(shown, scope, report, page_of(shown, report, shown.base_of(scope)))
