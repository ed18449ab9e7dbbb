"""The panel of events without a time: allocations and logged values, in the order of the file.

Their order is known and their time is not, so they are a table and never a curve. It follows the
picked run; a click selects the slice that an event follows.
"""

from __future__ import annotations

import numpy as np
from PySide6.QtCore import Slot
from PySide6.QtWidgets import QWidget

from viewer.analysis.links.labels import run_label
from viewer.analysis.links.untimed_links import HOW_TO_LOG
from viewer.arrays import Ints
from viewer.gui.panels.base.trace_table_panel import TraceTablePanel
from viewer.gui.panels.untimed.table import CELLS, MiddleElided, UntimedColumn, UntimedModel
from viewer.gui.qt.theme.theme import Theme
from viewer.gui.qt.widgets.tables import RowTable, copy_rows, fit_columns
from viewer.gui.session.session import Session
from viewer.model.times import group_digits
from viewer.model.untimed import counts_text

NOTHING = f"No allocation or debug events here. {HOW_TO_LOG}"
ORDER = "order known, time not"
MOST_COPIED = 5000  # rows; writing so many takes 85 ms
_LEAST_OPERATOR = 130  # px
# What goes first where a table is narrow; the value and whose it is stay.
_DISPENSABLE = (
    UntimedColumn.OFFSET,
    UntimedColumn.KIND,
    UntimedColumn.AFTER,
    UntimedColumn.RUN,
    UntimedColumn.SIZE,
)


class UntimedPanel(TraceTablePanel):
    """Allocation and debug events of the current trace, of the picked run or of all."""

    def __init__(self, session: Session, theme: Theme, parent: QWidget | None = None) -> None:
        self.model = UntimedModel(theme)
        super().__init__(
            session, UntimedView(self.model, theme), theme,
            "Filter by operator, name, shape or type", "Filter events without a time", parent,
        )  # fmt: skip
        self.model.setParent(self)
        self.table.chosen.connect(self._choose)
        self.filter.textChanged.connect(self.model.set_filter)
        self.refresh()

    @Slot()
    def refresh(self) -> None:
        """Show the events of the present trace and run anew."""
        self._of = shown, scope = self._wanted()
        events = None if shown is None else shown.trace.untimed
        if shown is None or events is None or not len(events):
            self._say(NOTHING)
            return
        rows: Ints = np.arange(len(events))
        if scope.run is not None:
            rows = np.flatnonzero(events.run == shown.trace.runs.index(scope.run))
        if scope.run is not None and not len(rows):
            label = run_label(shown.table, scope.run)
            self._say(f"None in {label}; {counts_text(events)} in other runs.")
            return
        self._color()
        self.model.show(shown, rows)
        self.table.fit_columns()
        where = "all runs" if scope.run is None else run_label(shown.table, scope.run)
        count = group_digits(len(rows))
        of = "" if len(rows) == len(events) else f" of {group_digits(len(events))}"
        self._show_table(f"{count}{of} events · {where} · {ORDER}")

    def _forget(self) -> None:
        self.model.clear()

    @Slot(int)
    def _choose(self, row: int) -> None:
        shown, index = self._of[0], self.model.slice_of(row)
        if shown is not None and index >= 0:
            self._select(shown, index)

    @Slot()
    def _color(self) -> None:
        self.model.colors = self._operator_colors()
        self.table.viewport().update()

    @Slot()
    def copy(self) -> None:
        """Put the marked rows on the clipboard; of very many the first, and how many are not."""
        rest = "opscope export --table untimed writes all of them"
        copy_rows(self.table, self.model.tsv, MOST_COPIED, rest)


class UntimedView(RowTable):
    """The table, in the order of the file."""

    def __init__(self, model: UntimedModel, theme: Theme) -> None:
        super().__init__(model, "Events without a time", theme)
        self._model = model
        self.setItemDelegate(MiddleElided(self))
        header = self.horizontalHeader()
        for i, cell in enumerate(CELLS):
            header.resizeSection(i, theme.px(cell.width))

    def fit_columns(self) -> None:
        """Show the columns that tell something, and of them what there is room for."""
        silent = {CELLS.index(cell) for cell in self._model.silent}
        wide = CELLS.index(UntimedColumn.OPERATOR)
        fit_columns(
            self, self._theme,
            {i: cell.width or _LEAST_OPERATOR for i, cell in enumerate(CELLS)},
            silent, [CELLS.index(cell) for cell in _DISPENSABLE],
            CELLS.index(UntimedColumn.VALUE) if wide in silent else wide,
        )  # fmt: skip
