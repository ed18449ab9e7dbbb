"""The panel of untimed events: allocations and logged values, in file order.

Their order is known, but not their time, so they are shown as a table and never as a curve. The
panel follows the current inference. A click selects the slice that precedes an event.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass

import numpy as np
from PySide6.QtCore import Slot
from PySide6.QtWidgets import QWidget

from viewer.analysis.links.labels import run_label
from viewer.analysis.links.untimed_links import HOW_TO_LOG
from viewer.arrays import Ints
from viewer.gui.panels.base.answer_panel import Question
from viewer.gui.panels.base.page_panel import Sentence
from viewer.gui.panels.base.trace_panel import TraceTablePanel
from viewer.gui.panels.untimed.table import COLUMNS, MiddleElided, UntimedColumn, UntimedModel
from viewer.gui.qt.clipboard import CopyFormat
from viewer.gui.qt.theme.theme import Theme
from viewer.gui.qt.widgets.column_table import ColumnTable
from viewer.gui.qt.widgets.tables import copy_rows
from viewer.gui.session.session import Session
from viewer.model.scope import TimeScope
from viewer.model.times import group_digits
from viewer.model.untimed import counts_text
from viewer.view.open_trace import OpenTrace

NOTHING = f"No allocation or debug events here. {HOW_TO_LOG}"
ORDER = "order known, time not"
MOST_COPIED = 5000  # rows; writing that many takes 85 ms
_LEAST_OPERATOR = 130  # px
# Columns that are hidden first in a narrow table; value and operator always stay.
_DISPENSABLE = (
    UntimedColumn.OFFSET,
    UntimedColumn.KIND,
    UntimedColumn.AFTER,
    UntimedColumn.RUN,
    UntimedColumn.SIZE,
)


@dataclass(frozen=True, eq=False)
class UntimedAnswer:
    """The listed events of a trace, as indices into its untimed events."""

    shown: OpenTrace
    rows: Ints


class UntimedPanel(TraceTablePanel[UntimedAnswer]):
    """Allocation and debug events of the current trace, in the current inference or in all."""

    def __init__(self, session: Session, theme: Theme, parent: QWidget | None = None) -> None:
        self.model = UntimedModel(theme)
        super().__init__(
            session,
            UntimedView(self.model, theme),
            theme,
            "Filter by operator, name, shape or type",
            "Filter events without a time",
            parent,
        )
        self.model.setParent(self)
        self.table.chosen.connect(self._choose)
        self.filter.textChanged.connect(self.model.set_filter)
        self.refresh()

    def question(self) -> Question | None:
        """Return the question for the events in the scope; it is answered synchronously."""
        self._of = shown, scope = self.current_scope()
        if shown is None or not len(shown.trace.untimed):
            return None
        return Question(_answer, (shown, scope))

    def empty_state(self) -> Sentence:
        """Explain how to log such events."""
        return Sentence(NOTHING)

    def clear_page(self) -> None:
        self.model.clear()

    def show_answer(self, answer: UntimedAnswer) -> None:
        """List the events, or count those of other inferences."""
        shown, rows, scope = answer.shown, answer.rows, self._of[1]
        events = shown.trace.untimed
        where = "all inferences" if scope.run is None else run_label(shown.table, scope.run)
        if not len(rows):
            self.show_sentence(f"None in {where}; {counts_text(events)} in other inferences.")
            return
        self._color()
        self.model.show(shown, rows)
        self.table.fit_columns()
        count = group_digits(len(rows))
        of = "" if len(rows) == len(events) else f" of {group_digits(len(events))}"
        self._show_table(f"{count}{of} events · {where} · {ORDER}")

    @Slot(int)
    def _choose(self, row: int) -> None:
        shown, index = self._of[0], self.model.slice_of(row)
        if shown is not None and index >= 0:
            self._select(shown, index)

    @Slot()
    def _color(self) -> None:
        self.model.colors = self._operator_colors()
        self.table.viewport().update()

    def copy(self, form: CopyFormat = CopyFormat.TEXT) -> None:
        """Copy the selected rows, or the first `MOST_COPIED` of them and a note about the rest."""
        rest = "opscope export --table untimed writes all rows"
        copy_rows(self.table, self.model.tsv, MOST_COPIED, rest, form)


def _answer(shown: OpenTrace, scope: TimeScope) -> UntimedAnswer:
    events = shown.trace.untimed
    if scope.run is None:
        return UntimedAnswer(shown, np.arange(len(events)))
    run = shown.trace.runs.index(scope.run)
    return UntimedAnswer(shown, np.flatnonzero(events.run == run))


class UntimedView(ColumnTable[UntimedColumn]):
    """The table, in file order."""

    def __init__(self, model: UntimedModel, theme: Theme) -> None:
        super().__init__(
            model, "Events without a time", theme, COLUMNS, _LEAST_OPERATOR, _DISPENSABLE
        )
        self._model = model
        self.setItemDelegate(MiddleElided(self))

    def hidden(self) -> Collection[UntimedColumn]:
        return self._model.unused

    def wide(self) -> UntimedColumn:
        is_unused = UntimedColumn.OPERATOR in self._model.unused
        return UntimedColumn.VALUE if is_unused else UntimedColumn.OPERATOR
