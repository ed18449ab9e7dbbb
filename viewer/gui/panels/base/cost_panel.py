"""Base class of the panels with a table of costs: a filter, the table, its totals and a note."""

from __future__ import annotations

from functools import partial
from typing import TypeVar

from PySide6.QtCore import Slot
from PySide6.QtWidgets import QTableView, QWidget

from viewer.gui.panels.base.answer_panel import AnswerPanel
from viewer.gui.panels.base.cost_footer import CostFooter
from viewer.gui.panels.base.file_caption import FileCaption
from viewer.gui.panels.base.page_panel import (
    FadingWidget,
    Sentence,
    head_row,
    plain_column,
)
from viewer.gui.panels.base.panel_host import PanelHost
from viewer.gui.panels.base.slice_facts import scope_text
from viewer.gui.qt.widgets.labels import ElidedLabel
from viewer.gui.qt.widgets.tables import FilterLine, NoRows, QuietTree
from viewer.gui.session.feeds.costs import CostAnswer, CostFeed
from viewer.gui.session.session import Session
from viewer.model.text import display_name
from viewer.model.times import counted, group_digits
from viewer.program.program import Program

Answer = TypeVar("Answer")

FILTER_HINT = "Filter by module, operator or line"


class CostPanel(AnswerPanel[Answer]):
    """A filter above a cost table, with a footer and a note below it.

    The panel follows the costs of the session. A click selects; without a profile it shows the
    source line instead.
    """

    def __init__(self, host: PanelHost, table: QTableView | QuietTree, name: str) -> None:
        """name: the accessible name of the filter."""
        super().__init__(host)
        session, theme = host.session, host.theme
        self._costs = CostFeed.of(session)
        self.filter = FilterLine(FILTER_HINT, name, table, theme)
        self.filter.textChanged.connect(self._filter)
        self.subtitle = FileCaption(host)
        self.footer = CostFooter(theme)
        self.note = ElidedLabel("", theme, "caption", "text2")
        self.note.setContentsMargins(theme.px(12), theme.px(4), theme.px(12), theme.px(8))
        head = head_row(theme)
        head.addWidget(self.filter, 1)
        head.addWidget(self.subtitle, 1)
        page = QWidget()
        column = plain_column(page)
        column.addLayout(NoRows(table, self.filter, theme).over_table(), 1)
        column.addWidget(self.footer)
        column.addWidget(self.note)
        assert isinstance(table, FadingWidget)
        self.set_page(page, head=head, fading=(table, self.footer))
        session.selection_changed.connect(self._select)
        session.coloring_changed.connect(self._color)
        self._costs.late.connect(self.show_stale)
        self.refresh_on(session.workspace_changed, self._costs.changed)

    @Slot(str)
    def _filter(self, text: str) -> None:
        """Show only the rows that contain every word of a text."""
        raise NotImplementedError

    @Slot()
    def _select(self) -> None:
        """Highlight the rows that are selected in the session."""
        raise NotImplementedError

    @Slot()
    def _color(self) -> None:
        """Color operators like their slices; without a profile each operator has its own color."""
        raise NotImplementedError

    def no_costs(self, answer: CostAnswer) -> Sentence:
        """Explain why a profile has no costs to show, with a button that helps."""
        return no_costs(self.host, answer)

    def show_subject(self, answer: CostAnswer) -> None:
        """Show above the table which trace and time range the costs are for."""
        open_trace, name = answer.open_trace, display_name(answer.open_trace.trace.path)
        where = scope_text(open_trace, answer.scope, per_inference=True)
        outliers = open_trace.findings.outliers
        is_sum = answer.scope.is_whole and open_trace.trace is open_trace.file
        if is_sum and outliers and not outliers.name:
            # Means of all inferences say little about a usual one.
            where += f", {group_digits(outliers.slow)} of them slow"
        self.subtitle.setText(f"{where} · {name}")

    def show_record(self, program: Program, counts: str, others: int) -> None:
        """Show above and below the table that it lists a program without costs.

        counts: the number of its modules or operators, as text. others: how many more programs are
        open.
        """
        self.footer.clear()
        self.subtitle.setText(display_name(program.path))
        more = f" {counted(others, 'more ETRecord')} open." if others else ""
        self.note.setText(
            f"{counts}. This file has no timing data: open a profile to see times.{more}"
        )
        self.note.show()


def no_costs(host: PanelHost, answer: CostAnswer) -> Sentence:
    """Explain why no operator has a cost, with a button that links the profile or opens files."""
    why = _why(host.session, answer)
    if host.session.workspace.candidates(answer.open_trace.file):
        return Sentence(why, "Choose ETRecord…", partial(host.show_panel, "links"))
    return Sentence(why, "Open files…", host.open_files)


def _why(session: Session, answer: CostAnswer) -> str:
    open_trace = answer.open_trace
    warnings = session.workspace.warnings(open_trace.file)
    if warnings:
        return warnings[0]
    if open_trace.table.program is None:
        return (
            f"Open the ETRecord that matches {display_name(open_trace.trace.path)} to see the cost "
            f"per operator."
        )
    where = scope_text(open_trace, answer.scope)
    return f"Nothing in {where} is linked to an operator. Links shows why."
