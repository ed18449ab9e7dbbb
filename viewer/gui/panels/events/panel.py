"""The events panel: how long each event took over the runs, p10 to p90, as `opscope inspect`.

Always over all runs; of a picked run it says beside them what it took in that one. A click selects
the longest slice of an event; the filter finds events by name, operator, runs and by the metadata
that was logged with them.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from PySide6.QtCore import Qt, Slot
from PySide6.QtWidgets import QWidget

from viewer.analysis.links.labels import run_label
from viewer.analysis.statistics.events import event_statistics
from viewer.gui.panels.base.trace_table_panel import TraceTablePanel
from viewer.gui.panels.events.table import (
    CELLS,
    EventColumn,
    EventsContents,
    EventsModel,
    contents_of,
)
from viewer.gui.qt.background import Latest
from viewer.gui.qt.theme.theme import Theme
from viewer.gui.qt.when_visible import BEING_COUNTED, WhenVisible
from viewer.gui.qt.widgets.tables import RowTable, copy_rows, fit_columns, marked_rows
from viewer.gui.session.session import Session
from viewer.model.queries import run_of_slices
from viewer.model.times import counted, group_digits
from viewer.model.trace import RunKind
from viewer.view.open_trace import AT_ONCE, OpenTrace

NOTHING = "Open a profile to see how long each of its events took over the runs."
NO_EVENTS = "This profile has no events with a time."
MOST_COPIED = 2000  # rows; writing so many takes 50 ms
_LEAST_EVENT = 240  # px
_DISPENSABLE = (
    EventColumn.AVG,
    EventColumn.P10,
    EventColumn.MIN,
    EventColumn.BLOCK,
    EventColumn.TOTAL,
    EventColumn.SPREAD,
    EventColumn.MAX,
)


class EventsPanel(TraceTablePanel):
    """Statistics of the events of the current trace, in the picked run or in all."""

    def __init__(self, session: Session, theme: Theme, parent: QWidget | None = None) -> None:
        self.model = EventsModel(theme)
        super().__init__(
            session, EventsView(self.model, theme), theme,
            "Filter by event, operator or metadata", "Filter events", parent,
        )  # fmt: skip
        self.model.setParent(self)
        self._answer: EventsAnswer | None = None
        self._latest = Latest(self)
        self._latest.answered.connect(self._take)
        self._seen = WhenVisible(self)
        self._seen.due.connect(self.refresh)
        self.table.chosen.connect(self._choose)
        self.filter.textChanged.connect(self.model.set_filter)
        session.selection_changed.connect(self._mark)
        self.refresh()

    @Slot()
    def refresh(self) -> None:
        """Work the statistics of the present trace and run out anew."""
        self._of = shown, scope = self._wanted()
        if shown is None:
            self._latest.cancel()
            self._say(NOTHING)
            return
        run = None if scope.run is None else shown.trace.runs.index(scope.run)
        known = self._answer.contents if self._answer and self._answer.shown is shown else None
        small = len(shown.trace.slices) <= AT_ONCE
        asked = self._seen.ask(self._latest, small, _answer, shown, run, known)
        if not asked and known is None:
            self._answer = None
            self._say(BEING_COUNTED)

    def _forget(self) -> None:
        self._answer = None
        self.model.clear()

    @Slot(object)
    def _take(self, answer: EventsAnswer) -> None:
        self._answer = answer
        shown, found, run = answer.shown, answer.contents.found, answer.run
        if not len(found):
            self._say(NO_EVENTS)
            return
        picked = ""
        if run is not None:
            title = run_label(shown.table, shown.trace.runs[run]).rpartition(" · ")[2]
            picked = title.partition(" of ")[0].capitalize()
        self._color()
        self.model.show(shown, answer.contents, picked)
        self.table.fit_columns()
        count = sum(r.kind is RunKind.INFERENCE for r in shown.trace.runs)
        where = f"all {group_digits(count)} runs" if count > 1 else "the whole trace"
        self._show_table(f"{counted(len(found), 'event')} · {where}")

    @Slot()
    def _mark(self) -> None:
        """Let the marked row follow the selected slice; a selection of rows is left alone."""
        ref, answer = self._session.state.slice, self._answer
        if ref is None or answer is None or len(marked_rows(self.table)) > 1:
            return
        if self._session.traces[ref.trace] is answer.shown:
            row = self.model.row_of(ref.index)
            if row < 0:
                self.table.clearSelection()
            elif row not in marked_rows(self.table):
                self.table.selectRow(row)

    @Slot(int)
    def _choose(self, row: int) -> None:
        if self._answer is not None:
            self._select(self._answer.shown, self.model.longest_slice(row))

    @Slot()
    def _color(self) -> None:
        self.model.colors = self._operator_colors()
        self.table.viewport().update()

    @Slot()
    def copy(self) -> None:
        """Put the marked rows on the clipboard; of very many the first, and how many are not."""
        rest = "opscope inspect --tsv_path writes all of them"
        copy_rows(self.table, self.model.tsv, MOST_COPIED, rest)


@dataclass(frozen=True, slots=True)
class EventsAnswer:
    """What is shown of a trace, and which run is picked."""

    shown: OpenTrace
    contents: EventsContents
    run: int | None


def _answer(shown: OpenTrace, run: int | None, known: EventsContents | None) -> EventsAnswer:
    found = event_statistics(shown.table) if known is None else known.found
    in_run = np.full(len(found), -1)
    if run is not None:
        row = np.repeat(np.arange(len(found)), np.diff(found.row_ptr))
        inside = run_of_slices(shown.trace)[found.slices] == run
        in_run[row[inside]] = 0
        np.add.at(in_run, row[inside], found.duration[inside])
    return EventsAnswer(shown, contents_of(found, in_run, known), run)


class EventsView(RowTable):
    """The table, in the order of the file until a column is chosen."""

    def __init__(self, model: EventsModel, theme: Theme) -> None:
        super().__init__(model, "Events", theme)
        self._model = model
        self._with_units: bool | None = None
        header = self.horizontalHeader()
        header.setSortIndicatorClearable(True)
        header.setSortIndicator(-1, Qt.SortOrder.DescendingOrder)
        self.setSortingEnabled(True)

    def fit_columns(self) -> None:
        """Show the columns that tell something, and of them what there is room for."""
        widths = [cell.room(self._model.with_units) for cell in CELLS]
        if self._with_units != self._model.with_units:
            self._with_units = self._model.with_units
            for i, width in enumerate(widths):
                self.horizontalHeader().resizeSection(i, self._theme.px(width))
        fit_columns(
            self, self._theme,
            {i: width or _LEAST_EVENT for i, width in enumerate(widths)},
            {CELLS.index(cell) for cell in self._model.silent},
            [CELLS.index(cell) for cell in _DISPENSABLE], CELLS.index(EventColumn.EVENT),
        )  # fmt: skip
