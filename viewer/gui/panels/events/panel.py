"""The Events panel: duration statistics of each event over all inferences, as `opscope inspect`.

The statistics always cover all inferences; an extra column shows the current inference. A click
selects the longest slice of an event. The filter searches names, operators, event blocks and logged
metadata.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from PySide6.QtCore import Slot

from viewer.analysis.links.labels import run_label
from viewer.analysis.statistics.events import event_statistics
from viewer.gui.panels.base.answer_panel import Question
from viewer.gui.panels.base.page_panel import Sentence
from viewer.gui.panels.base.panel_host import PanelHost
from viewer.gui.panels.base.tables.model import TableModel
from viewer.gui.panels.base.tables.view import TableView
from viewer.gui.panels.base.trace_panel import TraceTablePanel
from viewer.gui.panels.events.table import EVENTS, EventRows, rows_of
from viewer.gui.qt.widgets.tables import marked_rows
from viewer.model.queries import run_of_slices
from viewer.model.times import counted
from viewer.model.trace import RunKind
from viewer.view.open_trace import AT_ONCE, OpenTrace

NOTHING = "Open a profile to see the duration of each event over all inferences."
NO_EVENTS = "This profile has no events with a time."


class EventsPanel(TraceTablePanel["EventsAnswer"]):
    """Statistics of the current trace's events over all inferences, and in the current one."""

    SYNC_LIMIT = AT_ONCE  # slices; the same limit as for views and rasters of a trace

    def __init__(self, host: PanelHost) -> None:
        session, theme = host.session, host.theme
        self.model = TableModel(EVENTS, theme)
        super().__init__(
            host,
            TableView(self.model, theme),
            "Filter by event, operator or metadata",
            "Filter events",
        )
        session.selection_changed.connect(self._mark)
        self.refresh()

    def question(self) -> Question | None:
        """Return the question for the statistics over all inferences and in the current one."""
        self._of = open_trace, scope = self.current_scope()
        if open_trace is None:
            return None
        run = None if scope.run is None else open_trace.trace.runs.index(scope.run)
        event_rows = self.answer.rows if self.answer and self.answer.shown is open_trace else None
        size = len(open_trace.trace.slices)
        return Question(_answer, (open_trace, run, event_rows), size, stays=event_rows is not None)

    def empty_state(self) -> Sentence:
        """Return the sentence shown without a profile."""
        return Sentence(NOTHING)

    def clear_page(self) -> None:
        self.answer = None
        self.model.clear()

    def show_answer(self, answer: EventsAnswer) -> None:
        """Show the statistics."""
        open_trace, statistics = answer.shown, answer.rows.found
        if not len(statistics):
            self.show_sentence(NO_EVENTS)
            return
        self._color()
        before = self.model.contents
        self.model.show(answer.rows, stays=before is not None and before.found is statistics)
        count = sum(r.kind is RunKind.INFERENCE for r in open_trace.trace.runs)
        where = f"all {open_trace.file.unit.counted(count)}" if count > 1 else "the whole trace"
        self._show_table(f"{counted(len(statistics), 'event')} · {where}")

    @Slot()
    def _mark(self) -> None:
        """Highlight the row of the selected slice, unless several rows are selected."""
        ref, answer = self._session.state.slice, self.answer
        if ref is None or answer is None or len(marked_rows(self.table)) > 1:
            return
        if self._session.traces[ref.trace] is answer.shown:
            row = self.model.row_of_item(answer.rows.event_of(ref.index))
            if row < 0:
                self.table.clearSelection()
            elif row not in marked_rows(self.table):
                self.table.selectRow(row)

    @Slot(int)
    def _choose(self, row: int) -> None:
        if self.answer is not None:
            longest = self.answer.rows.longest_slice(self.model.item_of(row))
            self._select(self.answer.shown, longest)


@dataclass(frozen=True, slots=True)
class EventsAnswer:
    """The statistics of a trace, with those of the current inference."""

    shown: OpenTrace
    rows: EventRows


def _answer(open_trace: OpenTrace, run: int | None, event_rows: EventRows | None) -> EventsAnswer:
    statistics = event_statistics(open_trace.table) if event_rows is None else event_rows.found
    in_run, picked = np.full(len(statistics), -1), ""
    if run is not None:
        row = np.repeat(np.arange(len(statistics)), np.diff(statistics.row_ptr))
        inside = run_of_slices(open_trace.trace)[statistics.slices] == run
        in_run[row[inside]] = 0
        np.add.at(in_run, row[inside], statistics.duration[inside])
        title = run_label(open_trace.table, open_trace.trace.runs[run]).rpartition(" · ")[2]
        picked = title.partition(" of ")[0].capitalize()
    rate = float(open_trace.axis.ns_per_tick)
    return EventsAnswer(open_trace, rows_of(statistics, in_run, picked, rate, event_rows))
