"""Base class of panels about the current trace, in the current inference or selected range."""

from __future__ import annotations

from typing import TypeVar

from PySide6.QtCore import Slot
from PySide6.QtWidgets import QWidget

from viewer.gui.panels.base.answer_panel import AnswerPanel
from viewer.gui.qt.theme.theme import Theme
from viewer.gui.session.session import Session
from viewer.model.inferences.inference_views import Inferences, has_run_views
from viewer.model.inferences.logged_methods import median_of_methods
from viewer.model.scope import WHOLE, TimeScope
from viewer.view.cost_scope import per_inference
from viewer.view.open_trace import OpenTrace

Answer = TypeVar("Answer")
TraceScope = tuple[OpenTrace | None, TimeScope]


def current_scope(session: Session, *, ranges: bool, by_inference: bool = False) -> TraceScope:
    """Return the current trace, with inferences as they ran, and the scope of its figures.

    ranges: whether the scope may be a selected range, not only an inference. by_inference: whether
    the figures are per inference, so that the warm-up is left out unless it is included, and the
    median is the inference that it is.
    """
    trace = session.current_trace
    if trace is None:
        return None, WHOLE
    shown, scope = session.as_run(trace), session.scope(trace, ranges=ranges)
    if not by_inference:
        return shown, scope
    if scope.is_whole and session.state.inferences is Inferences.MEDIAN:
        of_methods = median_of_methods(shown.file) if has_run_views(shown.file) else {}
        if len(of_methods) == 1:  # no one inference stands for several methods
            ((run, count),) = of_methods.values()
            return shown, TimeScope(run=run, median_of=count)
    return shown, per_inference(scope, session.state)


def selected_operators(session: Session, shown: OpenTrace) -> tuple[int, ...]:
    """Return the selected operators, () if they belong to another trace."""
    selected = session.state.operators
    is_of_trace = selected is not None and session.as_run(selected[0]) is shown
    return selected[1] if selected is not None and is_of_trace else ()


class TracePanel(AnswerPanel[Answer]):
    """A panel that refreshes when the trace or scope changes, not on every selection."""

    # Whether its figures are per inference (`current_scope`).
    BY_INFERENCE = False

    def __init__(
        self, session: Session, theme: Theme, parent: QWidget | None = None, *, ranges: bool = False
    ) -> None:
        """ranges: whether the scope may be a selected range, not only an inference."""
        super().__init__(session, theme, parent)
        self._ranges = ranges
        self._of: TraceScope = (None, WHOLE)
        session.run_picked.connect(self._follow)
        session.selection_changed.connect(self._follow)

    def current_scope(self) -> TraceScope:
        """Return the trace and scope that the panel shows now."""
        return current_scope(self._session, ranges=self._ranges, by_inference=self.BY_INFERENCE)

    @Slot()
    def _follow(self) -> None:
        """Refresh if the trace or scope changed; otherwise keep selected rows and scroll offset."""
        shown, scope = self.current_scope()
        if shown is not self._of[0] or scope != self._of[1]:
            self.refresh()
