"""The Summary panel: the main figures of the current trace, or what the open models hold."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from PySide6.QtCore import Qt, Slot
from PySide6.QtGui import QAccessible
from PySide6.QtWidgets import QFrame, QScrollArea

from viewer.analysis.summaries import summary_of
from viewer.gui.panels.base.panel import PanelHost, Question, Sentence
from viewer.gui.panels.base.trace_panel import TracePanel
from viewer.gui.panels.summary.card import ModelCard, SummaryAnswer, SummaryCard
from viewer.gui.panels.summary.sections import SectionColumn
from viewer.gui.qt.accessibility import has_role
from viewer.gui.session.feeds.feed import ProblemsFeed
from viewer.model.figures import TimeScope
from viewer.view.open_trace import OpenTrace
from viewer.workspace.session_sets import session_sets, set_with
from viewer.workspace.snapshot import shared_estimates
from viewer.workspace.workspace import Workspace

if TYPE_CHECKING:
    from viewer.workspace.session_sets import SessionSet


NOTHING = "Open a profile to see its main figures."
NO_SLICES = (
    "This profile has no slices. Save it after an inference, with a runtime that was built with "
    "event tracing."
)


@has_role(QAccessible.Role.Grouping)
class SummaryPage(QScrollArea):
    """The page that scrolls; it has a role, so that screen readers tell what it is."""


class SummaryPanel(TracePanel[SummaryAnswer]):
    """The sections of the current trace, or of the open models."""

    # Up to this many slices with an identifier each, the answer takes less than 40 ms: no thread.
    SYNC_LIMIT = 2000
    BY_INFERENCE = True

    def __init__(self, host: PanelHost) -> None:
        session = host.session
        super().__init__(host)
        self._problems = ProblemsFeed.of(session)
        self._counted = len(self._problems.entries)  # what the card shows
        self._warm_up = session.state.warm_up
        self.card: SectionColumn | None = None
        self.page = SummaryPage()
        self.page.setWidgetResizable(True)
        self.page.setFrameShape(QFrame.Shape.NoFrame)
        self.page.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        self.page.setAccessibleName("Summary")
        # An opaque page would cover all of the panel, which then counts as invisible.
        self.page.viewport().setAutoFillBackground(False)
        self.set_page(self.page)
        self._latest.failed.connect(self.show_sentence)
        session.coloring_changed.connect(self._color)
        self._problems.changed.connect(self._show_problems)
        self.refresh_on(session.workspace_changed, session.compared)
        self.refresh()

    @Slot()
    def _show_problems(self) -> None:
        """Show the number of problems, as the Problems panel counts them."""
        if self._counted != len(self._problems.entries):
            self._counted = len(self._problems.entries)
            self.show_again()

    @Slot()
    def _color(self) -> None:
        if self._of[0] is None:
            self.refresh()
        else:
            self.show_again()

    @Slot()
    def _follow(self) -> None:
        if self._warm_up != self._session.state.warm_up:
            self.refresh()
        else:
            super()._follow()

    def question(self) -> Question | None:
        self._of = shown, scope = self.current_scope()
        self._warm_up = self._session.state.warm_up
        if shown is None:
            return None
        space, known, compared = self._session.workspace, self.answer, self._session.state.compared
        arms = () if compared is None else (compared.a.paths, compared.b.paths)
        links = (*(space.links(trace) for trace in space.traces), arms)
        sets = known.sets if known is not None and known.sets_of == links else None
        size = sum(len(trace.slices) for trace in space.traces)
        stays = known is not None and known.shown is shown
        arguments = shown, scope, self._warm_up, space, sets, links
        return Question(_answer, arguments, size, stays=stays)

    def show_answer(self, answer: SummaryAnswer) -> None:
        if not len(answer.shown.trace.slices):
            self.show_sentence(NO_SLICES, "Open another profile…", self.host.open_files)
            return
        before, focused = self.page.verticalScrollBar().value(), self._focused_part()
        is_same = isinstance(self.card, SummaryCard) and self.card.path == answer.shown.file.path
        card = SummaryCard(self.host, answer, self._counted)
        self._show_card(card)
        if is_same:
            self.page.verticalScrollBar().setValue(before)
        if focused == "list" and card.list is not None:
            card.list.go_to(self._session.state.run[1] if self._session.state.run else -1)
            card.list.setFocus(Qt.FocusReason.OtherFocusReason)
        elif focused == "strip" and card.strip is not None:
            card.strip.setFocus(Qt.FocusReason.OtherFocusReason)

    def show_empty_state(self) -> None:
        """Show what the open models hold, if no profile is open."""
        space = self._session.workspace
        if not any(program.methods for program in space.programs) and not space.executables:
            super().show_empty_state()
            return
        self.set_stale(False)
        self._show_card(ModelCard(self.host))

    def empty_state(self) -> Sentence:
        return Sentence(NOTHING)

    def clear_page(self) -> None:
        old, self.card = self.page.takeWidget(), None
        if old is not None:
            old.deleteLater()

    def _show_card(self, card: SectionColumn) -> None:
        if (old := self.page.takeWidget()) is not None:
            old.hide()
            old.deleteLater()  # it may hold the link whose click led here
        self.card = card
        self.page.setWidget(card)
        card.setAutoFillBackground(False)
        self.show_page()

    def _focused_part(self) -> str:
        """Return "list" or "strip" if that of the card has the focus."""
        if not isinstance(self.card, SummaryCard):
            return ""
        parts = {"list": self.card.list, "strip": self.card.strip}
        return next(
            (name for name, part in parts.items() if part is not None and part.hasFocus()), ""
        )


def _answer(
    shown: OpenTrace,
    scope: TimeScope,
    warm_up: bool,
    space: Workspace,
    sets: tuple[SessionSet, ...] | None,
    links: tuple[Any, ...],
) -> SummaryAnswer:
    """links: what the sets depend on, with the paths of arms as the last one."""
    if sets is None:
        sets = session_sets(space, links[-1])
    sessions = set_with(sets, shown.file)
    if sessions is not None:
        assert sessions.operators is not None  # computed here, in the thread
    made, rate = shared_estimates(space), shown.axis.ns_per_tick
    summary = summary_of(
        shown.findings, shown.delegation, scope, rate, made, warm_up=warm_up, only_inferences=True
    )
    return SummaryAnswer(shown, scope, summary, sessions, sets, links)
