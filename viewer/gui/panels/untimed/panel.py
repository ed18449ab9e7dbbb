"""The panel of untimed events: allocations and logged values, in file order.

Their order is known, but not their time, so they are shown as a table and never as a curve. The
panel follows the current inference. A click selects the slice that precedes an event.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from PySide6.QtCore import Slot

from viewer.analysis.links.labels import run_label
from viewer.analysis.links.untimed_links import HOW_TO_LOG
from viewer.arrays import Ints
from viewer.gui.panels.base.answer_panel import Question
from viewer.gui.panels.base.page_panel import Sentence
from viewer.gui.panels.base.panel_host import PanelHost
from viewer.gui.panels.base.tables.model import TableModel
from viewer.gui.panels.base.tables.view import TableView
from viewer.gui.panels.base.trace_panel import TraceTablePanel
from viewer.gui.panels.untimed.table import EVENTS, UntimedRows
from viewer.model.scope import TimeScope
from viewer.model.times import group_digits
from viewer.model.untimed import counts_text
from viewer.view.open_trace import OpenTrace

NOTHING = f"No allocation or debug events here. {HOW_TO_LOG}"
ORDER = "in order, without times"


@dataclass(frozen=True, eq=False)
class UntimedAnswer:
    """The listed events of a trace, as indices into its untimed events."""

    shown: OpenTrace
    rows: Ints


class UntimedPanel(TraceTablePanel[UntimedAnswer]):
    """Allocation and debug events of the current trace, in the current inference or in all."""

    def __init__(self, host: PanelHost) -> None:
        theme = host.theme
        self.model = TableModel(EVENTS, theme)
        super().__init__(
            host,
            TableView(self.model, theme),
            "Filter by operator, name, shape or type",
            "Filter events without a time",
        )
        self.refresh()

    def question(self) -> Question | None:
        """Return the question for the events in the scope; it is answered synchronously."""
        self._of = open_trace, scope = self.current_scope()
        if open_trace is None or not len(open_trace.trace.untimed):
            return None
        return Question(_answer, (open_trace, scope))

    def empty_state(self) -> Sentence:
        """Explain how to log such events."""
        return Sentence(NOTHING)

    def clear_page(self) -> None:
        self.model.clear()

    def show_answer(self, answer: UntimedAnswer) -> None:
        """List the events, or count those of other inferences."""
        open_trace, rows, scope = answer.shown, answer.rows, self._of[1]
        events = open_trace.trace.untimed
        unit = open_trace.file.unit
        where = (
            f"all {unit.plural}" if scope.run is None else run_label(open_trace.table, scope.run)
        )
        if not len(rows):
            self.show_sentence(f"None in {where}; {counts_text(events)} in other {unit.plural}.")
            return
        self._color()
        self.model.show(UntimedRows(open_trace, rows, self.model.contents))
        count = group_digits(len(rows))
        of = "" if len(rows) == len(events) else f" of {group_digits(len(events))}"
        self._show_table(f"{count}{of} events · {where} · {ORDER}")

    @Slot(int)
    def _choose(self, row: int) -> None:
        rows = self.model.contents
        index = -1 if rows is None else rows.slice_of(self.model.item_of(row))
        if rows is not None and index >= 0:
            self._select(rows.shown, index)


def _answer(open_trace: OpenTrace, scope: TimeScope) -> UntimedAnswer:
    events = open_trace.trace.untimed
    if scope.run is None:
        return UntimedAnswer(open_trace, np.arange(len(events)))
    run = open_trace.trace.runs.index(scope.run)
    return UntimedAnswer(open_trace, np.flatnonzero(events.run == run))
