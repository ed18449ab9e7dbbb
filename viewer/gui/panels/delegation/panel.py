"""The delegation panel: what was handed to delegates, what stayed outside, and what has no link.

It follows the current profile and the picked run or selected range. A click selects on the
timeline: the calls of a delegate, the slices of an operator, or those that have no link for one
reason; a double click fits them. Of a record alone it lists what lowering made of the model.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from PySide6.QtCore import QModelIndex, Signal, Slot
from PySide6.QtWidgets import QWidget

from viewer.analysis.delegates.delegation import (
    Delegation,
    DelegationReport,
    Instance,
    NotDelegated,
    Unlinked,
    recorded,
)
from viewer.arrays import Ints
from viewer.gui.panels.base.cost_footer import CostFooter, whole_text
from viewer.gui.panels.base.operator_table import OperatorContents
from viewer.gui.panels.base.slice_facts import scope_text
from viewer.gui.panels.base.trace_table_panel import TraceTablePanel
from viewer.gui.panels.delegation.table import (
    DelegationLine,
    DelegationModel,
    DelegationPage,
    DelegationView,
    page_of,
    record_page,
)
from viewer.gui.qt.background import Latest
from viewer.gui.qt.theme.theme import Theme
from viewer.gui.qt.when_visible import BEING_COUNTED, WhenVisible
from viewer.gui.session import navigation
from viewer.gui.session.session import Session
from viewer.model.inference_views import Inferences
from viewer.model.scope import TimeScope
from viewer.model.text import display_name
from viewer.view.open_trace import OpenTrace
from viewer.view.state import SliceRef, SliceSet

# Up to so many slices, each of an identity of its own, the answer takes less than 40 ms: no thread.
AT_ONCE = 5000
NOTHING = (
    "Open a profile of a run to see what its delegates took, or a record to see which operators "
    "they swallowed."
)
NO_METHODS = (
    "What is open has no slices and no operators that could be delegated. Open the profile of a "
    "run, or the record of a model."
)


@dataclass(frozen=True, slots=True)
class DelegationAnswer:
    """What is shown of a profile, and of what part of it."""

    shown: OpenTrace
    scope: TimeScope
    delegation: Delegation
    report: DelegationReport
    page: DelegationPage


class DelegationPanel(TraceTablePanel):
    """The report; `source_requested(path, line)` asks for a recorded place, of a record alone."""

    source_requested = Signal(str, int)

    def __init__(self, session: Session, theme: Theme, parent: QWidget | None = None) -> None:
        self.model = DelegationModel()
        self.view = DelegationView(self.model, theme)
        super().__init__(
            session, self.view, theme,
            "Filter by delegate, operator or reason", "Filter delegation", parent,
            ranges=True,
        )  # fmt: skip
        self.model.setParent(self)
        self.footer = CostFooter(theme)
        self.column.addWidget(self.footer)
        self.answer: DelegationAnswer | None = None
        self._latest = Latest(self)
        self._latest.answered.connect(self._take)
        self._latest.late.connect(self._gray)
        self._seen = WhenVisible(self)
        self._seen.due.connect(self.refresh)
        self.table.chosen.connect(self._choose)
        self.table.doubleClicked.connect(self._fit)
        self.filter.textChanged.connect(self.model.set_filter)
        session.selection_changed.connect(self._tint)
        self.refresh()

    @Slot()
    def refresh(self) -> None:
        """Work the report of the present profile and run out anew."""
        self._of = shown, scope = self._wanted()
        if shown is None:
            self._latest.cancel()
            self.answer = None
            self._show_record()
            return
        known = self.answer.delegation if self.answer and self.answer.shown is shown else None
        small = len(shown.trace.slices) <= AT_ONCE
        asked = self._seen.ask(self._latest, small, _answer, shown, scope, known)
        if not asked and known is None:
            self.answer = None
            self._say(BEING_COUNTED)

    @Slot(object)
    def _take(self, answer: DelegationAnswer) -> None:
        self.answer = answer
        if not len(answer.shown.trace.slices):
            self._say(NO_METHODS)
            return
        self._set_opacity(1.0)
        self._color()
        self._fill(answer.page)
        if answer.page.parts:
            what = whole_text(answer.shown.trace, "Busy time")
            self.footer.show_parts(answer.page.parts, answer.page.whole, what)
        else:
            self.footer.clear()
        where = scope_text(answer.shown, answer.scope)
        self._show_table(f"{where} · {display_name(answer.shown.trace.path)}")
        self._tint()

    def _show_record(self) -> None:
        """What the first record tells alone, where no profile is open."""
        programs = [p for p in self._session.workspace.programs if p.methods and not p.is_mlir]
        if not programs:
            self._say(NO_METHODS if self._session.workspace.paths else NOTHING)
            return
        self._set_opacity(1.0)
        self.view.color_operators(None)
        self._fill(record_page(programs[0], recorded(programs[0])))
        self.footer.clear()
        what = f"{display_name(programs[0].path)} · a {programs[0].noun}, and no run"
        self._show_table(f"{what}: open a profile to see what it took")

    def _forget(self) -> None:
        self.model.page = DelegationPage(OperatorContents(), ())
        self.model.clear()

    def _fill(self, page: DelegationPage) -> None:
        self.model.page = page
        self.view.show_contents(page.contents, sorted_by=-1)
        self.table.fit_columns()

    @Slot()
    def _gray(self) -> None:
        self._set_opacity(0.6)

    def _set_opacity(self, opacity: float) -> None:
        self.view.opacity = self.footer.opacity = opacity
        self.table.viewport().update()
        self.footer.update()

    @Slot()
    def _tint(self) -> None:
        """Tint the rows that share a selected operator."""
        answer, chosen = self.answer, self._session.state.operators
        here = (
            answer is not None
            and chosen is not None
            and self._session.as_run(chosen[0]) is answer.shown
        )
        self.model.set_selected(chosen[1] if chosen is not None and here else ())

    @Slot()
    def _color(self) -> None:
        self.view.color_operators(self._operator_colors())

    # -- selecting ---------------------------------------------------------------------------------

    @Slot(int)
    def _choose(self, row: int) -> None:
        """Select what a row stands for, or show more rows."""
        item = self.model.item(row)
        if item.line is DelegationLine.MORE:
            self.model.expand(item.section)
        elif self.answer is not None:
            self._select_of(self.answer, item.of)
        elif isinstance(item.of, Instance | NotDelegated) and item.of.operators:
            place = self.model.contents.place(item.of.operators[0])
            if place is not None:
                self.source_requested.emit(*place)

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
        keys = answer.delegation.call_keys(of) if isinstance(of, Instance) else list(of.keys)
        found = answer.delegation.slices_of(keys, *answer.scope.span)
        if len(found):
            longest = SliceRef(number, _longest(answer.shown, found))
            if len(found) == 1:
                session.select_slice(longest, reveal=True, keep_area=True)
            else:
                session.select_slices(SliceSet({number: found}), longest, keep_area=True)
        elif isinstance(of, Instance) and of.operators:
            session.select_operators(number, of.operators)

    @Slot(QModelIndex)
    def _fit(self, index: QModelIndex) -> None:
        if self.model.item(index.row()).of is not None:
            navigation.fit_selection(self._session)

    @Slot()
    def copy(self) -> None:
        """Put the marked rows on the clipboard, or all if none is marked."""
        self.view.copy()


def _longest(shown: OpenTrace, found: Ints) -> int:
    slices = shown.trace.slices
    return int(found[np.argmax(slices.end[found] - slices.start[found])])


def _answer(shown: OpenTrace, scope: TimeScope, known: Delegation | None) -> DelegationAnswer:
    delegation = known or Delegation(shown.table)
    report = delegation.report(*scope.span)
    return DelegationAnswer(shown, scope, delegation, report, page_of(shown, report))
