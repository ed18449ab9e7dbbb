"""The Findings panel: what to improve in the current profile, ranked by possible gain.

It follows the current profile and inference; selections elsewhere do not change the list.
"""

from __future__ import annotations

from functools import partial

from PySide6.QtCore import Slot
from PySide6.QtWidgets import QMenu, QWidget

from viewer.analysis.findings.finding import Family, PanelRef
from viewer.analysis.findings.findings import Findings
from viewer.dataclasses import dataclass
from viewer.gui.panels.base.file_caption import FileCaption
from viewer.gui.panels.base.panel import PanelHost, Question, Sentence, head_row, plain_column
from viewer.gui.panels.base.trace_panel import TracePanel
from viewer.gui.panels.findings.list import FindingsList, FindingsModel
from viewer.gui.qt.clipboard import CopyFormat, copy_text, formatted_list
from viewer.gui.qt.widgets.tables import let_copy
from viewer.gui.session.navigation import show_place
from viewer.model.figures import TimeScope
from viewer.model.text import display_name
from viewer.model.times import counted
from viewer.view.open_trace import OpenTrace
from viewer.workspace.snapshot import shared_estimates
from viewer.workspace.workspace import Workspace

NOTHING = "Open a profile to see findings."
NO_SLICES = "This profile has no slices, so there are no findings."


@dataclass(frozen=True, slots=True)
class FindingsAnswer:
    """The findings of a profile. scope: the current inference, or all."""

    shown: OpenTrace
    scope: TimeScope
    findings: Findings


class FindingsPanel(TracePanel[FindingsAnswer]):
    """The list of findings."""

    # With up to this many slices in all open files, each with its own identifier, the answer takes
    # less than 40 ms even on a busy machine: no thread.
    SYNC_LIMIT = 2000
    BY_INFERENCE = True

    def __init__(self, host: PanelHost) -> None:
        session, theme = host.session, host.theme
        super().__init__(host)
        self.model = FindingsModel()
        self.model.setParent(self)
        self.list = FindingsList(self.model, theme)
        let_copy(self.list, self.copy, "Copy findings as text", markdown=False)
        self.list.chosen.connect(self._choose)
        self.list.menu_offered.connect(self._offer)
        self.subtitle = FileCaption(host)
        head = head_row(theme)
        head.addWidget(self.subtitle, 1)
        page = QWidget()
        column = plain_column(page)
        column.addWidget(self.list, 1)
        self.set_page(page, head=head, fading=(self.list,))
        self._latest.failed.connect(self.show_sentence)
        self.refresh_on(session.workspace_changed)
        theme.changed.connect(self.list.viewport().update)
        self.refresh()

    # -- contents --------------------------------------------------------------------------------

    def question(self) -> Question | None:
        self._of = open_trace, scope = self.current_scope()
        if open_trace is None:
            return None
        space = self._session.workspace
        size = sum(len(trace.slices) for trace in space.traces)
        return Question(_answer, (open_trace, scope, space), size)

    def empty_state(self) -> Sentence:
        return Sentence(NOTHING)

    def show_answer(self, answer: FindingsAnswer) -> None:
        """List the findings, and highlight the same kind of finding as before."""
        current = self._current_family()
        if not len(answer.shown.trace.slices):
            self.show_sentence(NO_SLICES)
            return
        self.model.show(answer.findings)
        self._make_current(current)
        count = len(answer.findings.found) + answer.findings.left_out
        name = display_name(answer.shown.trace.path)
        self.subtitle.setText(f"{counted(count, 'finding')} · {answer.findings.scope} · {name}")
        self.show_page()

    def _current_family(self) -> Family | None:
        row = self.list.currentIndex().row()
        finding = self.model.rows[row].finding if 0 <= row < len(self.model.rows) else None
        return None if finding is None else finding.family

    def _make_current(self, family: Family | None) -> None:
        """Highlight the finding of a kind; it may belong to another inference than before."""
        for row, listed in enumerate(self.model.rows):
            if listed.finding is not None and listed.finding.family is family:
                self.list.setCurrentIndex(self.model.index(row))
                return

    def clear_page(self) -> None:
        self.model.show(None)

    # -- navigation ------------------------------------------------------------------------------

    @Slot(int)
    def _choose(self, row: int) -> None:
        """Go to the place of a finding, as one undo step."""
        answer, finding = self.answer, self.model.rows[row].finding
        if answer is None or finding is None:
            return
        if isinstance(finding.place, PanelRef):
            self.host.show_panel(finding.place.name)
            return
        slices = answer.shown.findings.slices_of(finding, answer.scope)
        show_place(self._session, answer.shown, finding.place, slices)

    @Slot(QMenu)
    def _offer(self, menu: QMenu) -> None:
        """Add entries to the context menu: the panel with a finding's details, and a row's rule."""
        number = self.list.currentIndex().row()
        if not 0 <= number < len(self.model.rows):
            return
        row = self.model.rows[number]
        if row.finding is not None and isinstance(row.finding.place, PanelRef):
            name = row.finding.place.name
            menu.addAction("Show full report", partial(self.host.show_panel, name))
        if row.rule:
            menu.addAction("Show rule", partial(self.list.show_rule, number))

    def copy(self, form: CopyFormat = CopyFormat.TEXT) -> None:
        """Copy the sentences of the selected rows, or of all rows if none is selected."""
        selected = sorted(index.row() for index in self.list.selectedIndexes())
        rows = self.model.rows
        copied = [rows[i] for i in selected] or list(rows)
        if copied:
            text = formatted_list(self.subtitle.text(), [row.plain for row in copied], form)
            copy_text(self, text, counted(len(copied), "finding"))


def _answer(open_trace: OpenTrace, scope: TimeScope, space: Workspace) -> FindingsAnswer:
    findings = open_trace.findings.of(scope, open_trace.axis.ns_per_tick, shared_estimates(space))
    return FindingsAnswer(open_trace, scope, findings)
