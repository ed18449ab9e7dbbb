"""What panels with one table about the current trace have in common.

A filter and a line on what is listed above the table, a sentence in its place where there is
nothing; it follows the current trace and what costs are of, copies marked rows, and a chosen row
selects a slice of the file.
"""

from __future__ import annotations

from PySide6.QtCore import Qt, Slot
from PySide6.QtWidgets import QHBoxLayout, QStackedWidget, QVBoxLayout, QWidget

from viewer.gui.qt.theme.theme import Theme
from viewer.gui.qt.widgets.labels import ElidedLabel, EmptyPlace
from viewer.gui.qt.widgets.tables import FilterLine, NoRows, RowTable, let_copy
from viewer.gui.session.session import Session
from viewer.model.inference_views import Inferences
from viewer.model.scope import WHOLE, TimeScope
from viewer.render.palette import Palette
from viewer.view.open_trace import OpenTrace
from viewer.view.state import SliceRef


class TraceTablePanel(QWidget):
    """The frame; a subclass fills the table in `refresh` and says what a row stands for."""

    def __init__(
        self, session: Session, table: RowTable, theme: Theme, hint: str, name: str,
        parent: QWidget | None = None, *, ranges: bool = False,
    ) -> None:  # fmt: skip
        """hint, name: what the filter takes, and what a screen reader calls it. ranges: whether the
        table can be of a selected range, not only of runs.

        `head` is the line above the table and `column` all of the page, for what a subclass adds.
        """
        super().__init__(parent)
        self._session = session
        self._ranges = ranges
        self._of: tuple[OpenTrace | None, TimeScope] = (None, WHOLE)
        self.table = table
        if not table.actions():  # some tables copy by themselves
            let_copy(table, self.copy)
        self.filter = FilterLine(hint, name, table, theme)
        self.subtitle = ElidedLabel("", theme, "caption", "text2")
        self.subtitle.setAlignment(Qt.AlignmentFlag.AlignRight | Qt.AlignmentFlag.AlignVCenter)
        self.head = head = QHBoxLayout()
        head.setContentsMargins(theme.px(12), theme.px(6), theme.px(12), theme.px(6))
        head.setSpacing(theme.px(12))
        head.addWidget(self.filter, 1)
        head.addWidget(self.subtitle, 1)
        page = QWidget()
        self.column = column = QVBoxLayout(page)
        column.setContentsMargins(0, 0, 0, 0)
        column.setSpacing(0)
        column.addLayout(head)
        column.addLayout(NoRows(table, self.filter, theme).over_table(), 1)
        self.empty = EmptyPlace("", theme)
        self._stack = QStackedWidget()
        self._stack.addWidget(page)
        self._stack.addWidget(self.empty)
        outer = QVBoxLayout(self)
        outer.setContentsMargins(0, 0, 0, 0)
        outer.addWidget(self._stack)
        session.workspace_changed.connect(self.refresh)
        session.run_picked.connect(self._follow)
        session.selection_changed.connect(self._follow)
        session.coloring_changed.connect(self._color)
        # Not `refresh`: what a subclass overrides, PySide calls as long as Python knows the panel,
        # and the theme outlives its window.
        theme.changed.connect(self._retheme)

    @property
    def is_empty(self) -> bool:
        """Whether a sentence stands in place of the table."""
        return self._stack.currentIndex() == 1

    @Slot()
    def refresh(self) -> None:
        """Show what the current trace and the picked run have, or `_say` why there is nothing."""
        raise NotImplementedError

    @Slot()
    def _retheme(self) -> None:
        self.refresh()

    @Slot()
    def copy(self) -> None:
        """Put the marked rows on the clipboard."""
        raise NotImplementedError

    @Slot()
    def _color(self) -> None:
        """Paint operators in the colors that their slices have now."""
        raise NotImplementedError

    def _operator_colors(self) -> Palette | None:
        """The palette index of every operator of the trace that is shown."""
        shown = self._of[0]
        return None if shown is None else shown.operator_colors(self._session.state.scheme)

    def _wanted(self) -> tuple[OpenTrace | None, TimeScope]:
        """The current trace as it ran, however it is shown, and what of it is asked for."""
        trace = self._session.current_trace
        if trace is None:
            return None, WHOLE
        return self._session.as_run(trace), self._session.scope(trace, ranges=self._ranges)

    @Slot()
    def _follow(self) -> None:
        """Refresh if another trace or scope is meant now; marks and place stay otherwise."""
        shown, scope = self._wanted()
        if shown is not self._of[0] or scope != self._of[1]:
            self.refresh()

    def _show_table(self, subtitle: str) -> None:
        self._stack.setCurrentIndex(0)
        self.subtitle.setText(subtitle)

    def _say(self, sentence: str) -> None:
        self.empty.sentence.setText(sentence)
        self._stack.setCurrentIndex(1)
        self._forget()

    def _forget(self) -> None:
        """Let go of what the table showed: it may be all that keeps a closed trace in memory."""
        raise NotImplementedError

    def _select(self, shown: OpenTrace, index: int) -> None:
        """Select a slice of the file, with the inferences as they ran."""
        self._session.show_inferences(Inferences.AS_RUN)
        number = self._session.number_of(shown)
        if number is not None:
            self._session.select_slice(SliceRef(number, index), reveal=True, keep_area=True)
