"""The panel of events without a time: allocations and logged values, in the order of the file.

Their order is known and their time is not, so they are a table and never a curve. It follows the
picked run; a click selects the slice that an event follows.
"""

from __future__ import annotations

import numpy as np
from PySide6.QtCore import Qt, Slot
from PySide6.QtGui import QGuiApplication
from PySide6.QtWidgets import (
    QHBoxLayout,
    QStackedWidget,
    QVBoxLayout,
    QWidget,
)

from viewer.model.times import group_digits
from viewer.model.trace import Ints
from viewer.model.untimed import counts_text
from viewer.opening import Inferences, OpenTrace
from viewer.panels.table_style import (
    FilterLine,
    NoRows,
    RowTable,
    fit_columns,
    let_copy,
    marked_rows,
)
from viewer.panels.untimed_table import CELLS, Cell, EndsShown, UntimedModel
from viewer.panels.widgets import ElidedLabel, EmptyPlace
from viewer.program.labels import run_label
from viewer.program.untimed import HOW_TO_LOG
from viewer.session import Session, SliceRef
from viewer.theme import Theme

NOTHING = f"No allocation or debug events here. {HOW_TO_LOG}"
ORDER = "order known, time not"
MOST_COPIED = 5000  # rows; writing so many takes 85 ms
_LEAST_OPERATOR = 130  # px
# What goes first where a table is narrow; the value and whose it is stay.
_DISPENSABLE = (Cell.OFFSET, Cell.KIND, Cell.AFTER, Cell.RUN, Cell.SIZE)


class UntimedPanel(QWidget):
    """Allocation and debug events of the current trace, of the picked run or of all."""

    def __init__(self, session: Session, theme: Theme, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._session = session
        self._theme = theme
        self._of: tuple[OpenTrace | None, int | None] = (None, None)
        self.model = UntimedModel(theme, self)
        self.table = UntimedView(self.model, theme)
        self.table.chosen.connect(self._choose)
        let_copy(self.table, self.copy)
        self.filter = FilterLine(
            "Filter by operator, name, shape or type",
            "Filter events without a time",
            self.table,
            theme,
        )
        self.filter.textChanged.connect(self._filter)
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
        theme.changed.connect(self.refresh)
        self.refresh()

    @property
    def is_empty(self) -> bool:
        """Whether a sentence stands in place of the table."""
        return self._stack.currentIndex() == 1

    @Slot()
    def refresh(self) -> None:
        """Show the events of the present trace and run anew."""
        shown, run = self._wanted()
        self._of = shown, run
        events = None if shown is None else shown.trace.untimed
        if shown is None or events is None or not len(events):
            self._say(NOTHING)
            return
        rows: Ints = np.arange(len(events))
        if run is not None:
            rows = np.flatnonzero(events.run == run)
        if run is not None and not len(rows):
            label = run_label(shown.table, shown.trace.runs[run])
            self._say(f"None in {label}; {counts_text(events)} in other runs.")
            return
        self._stack.setCurrentIndex(0)
        self.model.show(shown, rows)
        self.table.fit_columns()
        where = "all runs" if run is None else run_label(shown.table, shown.trace.runs[run])
        count = group_digits(len(rows))
        of = "" if len(rows) == len(events) else f" of {group_digits(len(events))}"
        self.subtitle.setText(f"{count}{of} events · {where} · {ORDER}")

    def _wanted(self) -> tuple[OpenTrace | None, int | None]:
        trace, picked = self._session.current_trace, self._session.state.run
        if trace is None:
            return None, None
        mine = picked is not None and picked[0] == trace
        # Events stand beside slices of the file, which other views of the inferences lack.
        return self._session.as_run(trace), picked[1] if picked is not None and mine else None

    @Slot()
    def _follow(self) -> None:
        """Refresh if another trace or run is meant now; marks and place stay otherwise."""
        shown, run = self._wanted()
        if shown is not self._of[0] or run != self._of[1]:
            self.refresh()

    def _say(self, sentence: str) -> None:
        self.empty.sentence.setText(sentence)
        self._stack.setCurrentIndex(1)

    @Slot(str)
    def _filter(self, text: str) -> None:
        self.model.set_filter(text)

    @Slot(int)
    def _choose(self, row: int) -> None:
        shown = self._of[0]
        index = self.model.slice_of(row)
        if shown is None or index < 0:
            return
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
            text += f"{rest} more rows: opscope export --table untimed writes all of them\n"
        QGuiApplication.clipboard().setText(text)


class UntimedView(RowTable):
    """The table, in the order of the file."""

    def __init__(self, model: UntimedModel, theme: Theme) -> None:
        super().__init__(model, "Events without a time", theme)
        self._model = model
        self.setItemDelegate(EndsShown(self))
        header = self.horizontalHeader()
        for i, cell in enumerate(CELLS):
            header.resizeSection(i, theme.px(cell.width))

    def fit_columns(self) -> None:
        """Show the columns that tell something, and of them what there is room for."""
        silent = {CELLS.index(cell) for cell in self._model.silent}
        wide = CELLS.index(Cell.OPERATOR)
        fit_columns(
            self, self._theme,
            {i: cell.width or _LEAST_OPERATOR for i, cell in enumerate(CELLS)},
            silent, [CELLS.index(cell) for cell in _DISPENSABLE],
            CELLS.index(Cell.VALUE) if wide in silent else wide,
        )  # fmt: skip
