"""The statistics panel: how long each event took over the runs, p10 to p90, as `opscope inspect`.

Always over all runs; of a picked run it says beside them what it took in that one. A click selects
the longest slice of an event; the filter finds events by name, operator, runs and by the metadata
that was logged with them.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from PySide6.QtCore import Qt, Slot
from PySide6.QtGui import QGuiApplication
from PySide6.QtWidgets import (
    QHBoxLayout,
    QStackedWidget,
    QVBoxLayout,
    QWidget,
)

from viewer.background import Latest
from viewer.model.queries import run_of_slices
from viewer.model.times import group_digits
from viewer.model.trace import RunKind
from viewer.opening import Inferences, OpenTrace
from viewer.panels.statistics_table import CELLS, Cell, Contents, StatisticsModel, contents_of
from viewer.panels.table_style import (
    FilterLine,
    NoRows,
    RowTable,
    fit_columns,
    let_copy,
    marked_rows,
)
from viewer.panels.widgets import ElidedLabel, EmptyPlace
from viewer.program.event_statistics import event_statistics
from viewer.program.labels import run_label
from viewer.session import Session, SliceRef
from viewer.theme import Theme

NOTHING = "Open a profile to see how long each of its events took over the runs."
NO_EVENTS = "This profile has no events with a time."
MOST_COPIED = 2000  # rows; writing so many takes 50 ms
# Up to here the answer takes less than 20 ms: no thread, and no flicker of old figures.
AT_ONCE = 20_000
_LEAST_EVENT = 240  # px
_DISPENSABLE = (Cell.AVG, Cell.P10, Cell.MIN, Cell.BLOCK, Cell.TOTAL, Cell.SPREAD, Cell.MAX)


class StatisticsPanel(QWidget):
    """Statistics of the events of the current trace, in the picked run or in all."""

    def __init__(self, session: Session, theme: Theme, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._session = session
        self._of: tuple[OpenTrace | None, int | None] = (None, None)
        self._answer: Answer | None = None
        self._latest = Latest(self)
        self._latest.answered.connect(self._take)
        self.model = StatisticsModel(theme, self)
        self.table = StatisticsView(self.model, theme)
        self.table.chosen.connect(self._choose)
        let_copy(self.table, self.copy)
        self.filter = FilterLine(
            "Filter by event, operator or metadata", "Filter statistics", self.table, theme
        )
        self.filter.textChanged.connect(self.model.set_filter)
        self.subtitle = ElidedLabel("", theme, "caption", "text2")
        self.subtitle.setAlignment(Qt.AlignmentFlag.AlignRight | Qt.AlignmentFlag.AlignVCenter)
        head = QHBoxLayout()
        head.setContentsMargins(theme.px(12), theme.px(6), theme.px(12), theme.px(6))
        head.setSpacing(theme.px(12))
        head.addWidget(self.filter, 1)
        head.addWidget(self.subtitle, 1)
        page = QWidget()
        column = QVBoxLayout(page)
        column.setContentsMargins(0, 0, 0, 0)
        column.setSpacing(0)
        column.addLayout(head)
        column.addLayout(NoRows(self.table, self.filter, theme).over_table(), 1)
        self.empty = EmptyPlace(NOTHING, theme)
        self._stack = QStackedWidget()
        self._stack.addWidget(page)
        self._stack.addWidget(self.empty)
        outer = QVBoxLayout(self)
        outer.setContentsMargins(0, 0, 0, 0)
        outer.addWidget(self._stack)
        session.opened.connect(self.refresh)
        session.run_picked.connect(self._follow)
        session.selected.connect(self._follow)
        session.selected.connect(self._mark)
        theme.changed.connect(self.refresh)
        self.refresh()

    @Slot()
    def refresh(self) -> None:
        """Work the statistics of the present trace and run out anew."""
        self._of = shown, run = self._wanted()
        if shown is None:
            self._latest.cancel()
            self._say(NOTHING)
            return
        known = self._answer.contents if self._answer and self._answer.shown is shown else None
        if len(shown.trace.slices) <= AT_ONCE:
            self._latest.cancel()
            self._take(_answer(shown, run, known))
        else:
            self._latest.submit(_answer, shown, run, known)

    def _wanted(self) -> tuple[OpenTrace | None, int | None]:
        trace, picked = self._session.current_trace, self._session.state.run
        if trace is None:
            return None, None
        mine = picked is not None and picked[0] == trace
        # Statistics are of what the file logged, however its inferences are shown.
        return self._session.as_run(trace), picked[1] if picked is not None and mine else None

    @Slot()
    def _follow(self) -> None:
        shown, run = self._wanted()
        if shown is not self._of[0] or run != self._of[1]:
            self.refresh()

    @Slot(object)
    def _take(self, answer: Answer) -> None:
        self._answer = answer
        shown, found, run = answer.shown, answer.contents.found, answer.run
        if not len(found):
            self._say(NO_EVENTS)
            return
        self._stack.setCurrentIndex(0)
        picked = ""
        if run is not None:
            title = run_label(shown.table, shown.trace.runs[run]).rpartition(" · ")[2]
            picked = title.partition(" of ")[0].capitalize()
        self.model.show(shown, answer.contents, picked)
        self.table.fit_columns()
        count = sum(r.kind is RunKind.INFERENCE for r in shown.trace.runs)
        where = f"all {group_digits(count)} runs" if count > 1 else "the whole trace"
        events = f"{group_digits(len(found))} event{'s' if len(found) != 1 else ''}"
        self.subtitle.setText(f"{events} · {where}")

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

    def _say(self, sentence: str) -> None:
        self.empty.sentence.setText(sentence)
        self._stack.setCurrentIndex(1)

    @Slot(int)
    def _choose(self, row: int) -> None:
        if self._answer is None:
            return
        shown, index = self._answer.shown, self.model.longest_slice(row)
        self._session.show_inferences(Inferences.AS_RUN)
        number = self._session.number_of(shown)
        if number is not None:
            self._session.select_slice(SliceRef(number, index), reveal=True)

    @Slot()
    def copy(self) -> None:
        """Put the marked rows on the clipboard; of very many the first, and how many are not."""
        rows = marked_rows(self.table)
        if not rows:
            return
        text = self.model.tsv(rows[:MOST_COPIED])
        if len(rows) > MOST_COPIED:
            rest = len(rows) - MOST_COPIED
            text += f"{rest} more rows: opscope inspect --tsv_path writes all of them\n"
        QGuiApplication.clipboard().setText(text)


@dataclass(frozen=True, slots=True)
class Answer:
    """What is shown of a trace, and which run is picked."""

    shown: OpenTrace
    contents: Contents
    run: int | None


def _answer(shown: OpenTrace, run: int | None, known: Contents | None) -> Answer:
    found = event_statistics(shown.table) if known is None else known.found
    in_run = np.full(len(found), -1)
    if run is not None:
        row = np.repeat(np.arange(len(found)), np.diff(found.row_ptr))
        inside = run_of_slices(shown.trace)[found.slices] == run
        in_run[row[inside]] = 0
        np.add.at(in_run, row[inside], found.duration[inside])
    return Answer(shown, contents_of(found, in_run, known), run)


class StatisticsView(RowTable):
    """The table, in the order of the file until a column is chosen."""

    def __init__(self, model: StatisticsModel, theme: Theme) -> None:
        super().__init__(model, "Statistics", theme)
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
            [CELLS.index(cell) for cell in _DISPENSABLE], CELLS.index(Cell.EVENT),
        )  # fmt: skip
