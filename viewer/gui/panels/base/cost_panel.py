"""A panel with one table of costs: a filter above it, below it the bar that adds up and a note."""

from __future__ import annotations

from typing import TypeVar

from PySide6.QtCore import Signal, Slot
from PySide6.QtWidgets import QTableView, QWidget

from viewer.gui.panels.base.answer_panel import AnswerPanel
from viewer.gui.panels.base.cost_footer import CostFooter
from viewer.gui.panels.base.no_costs import no_costs
from viewer.gui.panels.base.page_panel import (
    FadingWidget,
    Sentence,
    head_row,
    plain_column,
    subtitle_label,
)
from viewer.gui.panels.base.slice_facts import scope_text
from viewer.gui.qt.theme.theme import Theme
from viewer.gui.qt.widgets.labels import ElidedLabel
from viewer.gui.qt.widgets.tables import FilterLine, NoRows, QuietTree
from viewer.gui.session.costs import CostAnswer, CostFeed
from viewer.gui.session.session import Session
from viewer.model.text import display_name
from viewer.program.program import Program

Answer = TypeVar("Answer")


class CostPanel(AnswerPanel[Answer]):
    """The frame; it follows the costs of the session. A click selects; in a record alone it asks
    for the source line instead.

    `source_requested(path, line)`: a recorded place. `open_dialog_requested()`: open more files.
    `links_requested()`: choose what belongs together.
    """

    source_requested = Signal(str, int)
    open_dialog_requested = Signal()
    links_requested = Signal()

    def __init__(
        self,
        session: Session,
        table: QTableView | QuietTree,
        theme: Theme,
        name: str,
        parent: QWidget | None = None,
    ) -> None:
        """name: what a screen reader calls the filter."""
        super().__init__(session, theme, parent)
        self._costs = CostFeed.of(session)
        hint = "Filter by module, operator or line"
        self.filter = FilterLine(hint, name, table, theme)
        self.filter.textChanged.connect(self._filter)
        self.subtitle = subtitle_label(theme)
        self.footer = CostFooter(theme)
        self.note = ElidedLabel("", theme, "caption", "text2")
        self.note.setContentsMargins(theme.px(12), theme.px(4), theme.px(12), theme.px(8))
        head = head_row(theme)
        head.addWidget(self.filter, 1)
        head.addWidget(self.subtitle, 1)
        page = QWidget()
        column = plain_column(page)
        column.addLayout(head)
        column.addLayout(NoRows(table, self.filter, theme).over_table(), 1)
        column.addWidget(self.footer)
        column.addWidget(self.note)
        assert isinstance(table, FadingWidget)
        self.set_page(page, fading=(table, self.footer))
        session.selection_changed.connect(self._select)
        session.coloring_changed.connect(self._color)
        self._costs.late.connect(self.show_stale)
        self.refresh_on(session.workspace_changed, self._costs.changed, theme.changed)

    @Slot(str)
    def _filter(self, text: str) -> None:
        """Show only rows that have every word of a text."""
        raise NotImplementedError

    @Slot()
    def _select(self) -> None:
        """Let the table follow what is selected."""
        raise NotImplementedError

    @Slot()
    def _color(self) -> None:
        """Color operators as their slices are; those of a record alone have their own colors."""
        raise NotImplementedError

    def no_costs(self, answer: CostAnswer) -> Sentence:
        """Why a profile has no costs to show, and what helps."""
        return no_costs(self._session, answer, self.open_dialog_requested, self.links_requested)

    def show_subject(self, answer: CostAnswer) -> None:
        """State above the table what its costs are of."""
        name = display_name(answer.shown.trace.path)
        self.subtitle.setText(f"{scope_text(answer.shown, answer.scope)} · {name}")

    def show_record(self, program: Program, counts: str, others: int) -> None:
        """State above and below the table that it lists a record alone.

        counts: how many parts it has. others: how many more records are open.
        """
        self.footer.clear()
        self.subtitle.setText(display_name(program.path))
        more = f" {others} more records are open." if others else ""
        self.note.setText(
            f"{counts}. A {program.noun} holds the model, not a run: open a profile to see what "
            f"they cost.{more}"
        )
        self.note.show()
