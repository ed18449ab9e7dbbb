"""A panel about the current trace, in the run or the selected range that costs are of."""

from __future__ import annotations

from typing import TypeVar

from PySide6.QtCore import Slot
from PySide6.QtWidgets import QWidget

from viewer.gui.panels.base.answer_panel import AnswerPanel
from viewer.gui.qt.theme.theme import Theme
from viewer.gui.session.session import Session
from viewer.model.scope import WHOLE, TimeScope
from viewer.view.open_trace import OpenTrace

Answer = TypeVar("Answer")
TraceScope = tuple[OpenTrace | None, TimeScope]


def current_scope(session: Session, *, ranges: bool) -> TraceScope:
    """The current trace as it ran, however it is shown, and what of it costs are of.

    ranges: whether that can be a selected range, not only a run.
    """
    trace = session.current_trace
    if trace is None:
        return None, WHOLE
    return session.as_run(trace), session.scope(trace, ranges=ranges)


def selected_operators(session: Session, shown: OpenTrace) -> tuple[int, ...]:
    """The selected operators, if they are of a trace."""
    selected = session.state.operators
    here = selected is not None and session.as_run(selected[0]) is shown
    return selected[1] if selected is not None and here else ()


class TracePanel(AnswerPanel[Answer]):
    """A panel that refreshes with another trace or scope, not with another selection."""

    def __init__(
        self, session: Session, theme: Theme, parent: QWidget | None = None, *, ranges: bool = False
    ) -> None:
        """ranges: whether it can be about a selected range, not only about runs."""
        super().__init__(session, theme, parent)
        self._ranges = ranges
        self._of: TraceScope = (None, WHOLE)
        session.run_picked.connect(self._follow)
        session.selection_changed.connect(self._follow)

    def current_scope(self) -> TraceScope:
        """The trace and the scope that the panel is about now."""
        return current_scope(self._session, ranges=self._ranges)

    @Slot()
    def _follow(self) -> None:
        """Refresh if another trace or scope is current; the marked rows and the place stay else."""
        shown, scope = self.current_scope()
        if shown is not self._of[0] or scope != self._of[1]:
            self.refresh()
