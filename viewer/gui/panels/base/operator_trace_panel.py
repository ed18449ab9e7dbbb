"""Base class of panels with a table of operators, or of operators' slices, of the current trace."""

from __future__ import annotations

from typing import TypeVar

from PySide6.QtCore import QModelIndex, Signal, Slot
from PySide6.QtWidgets import QWidget

from viewer.arrays import Ints
from viewer.gui.panels.base.operator_tables.model import OperatorModel
from viewer.gui.panels.base.operator_tables.view import OperatorView
from viewer.gui.panels.base.page_panel import FadingWidget
from viewer.gui.panels.base.slice_facts import longest_slice
from viewer.gui.panels.base.trace_panel import selected_operators
from viewer.gui.panels.base.trace_table_panel import TraceTablePanel
from viewer.gui.qt.copy_formats import CopyFormat
from viewer.gui.qt.theme.theme import Theme
from viewer.gui.session import navigation
from viewer.gui.session.session import Session
from viewer.program.program import Program
from viewer.view.open_trace import OpenTrace
from viewer.view.state import SliceRef, SliceSet

Answer = TypeVar("Answer")


class OperatorTracePanel(TraceTablePanel[Answer]):
    """A table of operators that follows the current trace, its inference or the selected range.

    Without a profile it lists the first ETRecord instead; a click then emits
    `source_requested(path, line)`.
    """

    source_requested = Signal(str, int)

    def __init__(
        self,
        session: Session,
        view: OperatorView,
        model: OperatorModel,
        theme: Theme,
        hint: str,
        name: str,
        parent: QWidget | None = None,
        *,
        fading: tuple[FadingWidget, ...] = (),
    ) -> None:
        """Like `TraceTablePanel`. fading: more widgets besides the table that can be stale."""
        super().__init__(
            session, view, theme, hint, name, parent, ranges=True, fading=(view, *fading)
        )
        self.view = view
        self.model = model
        model.setParent(self)
        view.chosen.connect(self._choose)
        view.doubleClicked.connect(self._fit)
        self.filter.textChanged.connect(model.set_filter)
        session.selection_changed.connect(self._tint)

    @property
    def shown_trace(self) -> OpenTrace | None:
        """The trace that the answer is about."""
        raise NotImplementedError

    @property
    def first_record(self) -> Program | None:
        """The first open program that has methods and is not MLIR."""
        programs = self._session.workspace.programs
        return next((p for p in programs if p.methods and not p.is_mlir), None)

    @Slot()
    def _color(self) -> None:
        self.view.color_operators(self._operator_colors())

    @Slot()
    def _tint(self) -> None:
        """Tint the rows that share a selected operator."""
        shown = self.shown_trace
        self.model.set_selected(() if shown is None else selected_operators(self._session, shown))

    def copy(self, form: CopyFormat = CopyFormat.TEXT) -> None:
        """Copy the selected rows, or all rows if none is selected."""
        self.view.copy(form)

    @Slot(int)
    def _choose(self, row: int) -> None:
        """Select what a row shows."""
        raise NotImplementedError

    @Slot(QModelIndex)
    def _fit(self, index: QModelIndex) -> None:
        navigation.fit_selection(self._session)

    def _ask_for_source(self, operators: tuple[int, ...]) -> None:
        """Request the recorded source location of the first of some operators, if it has one."""
        place = self.model.contents.place(operators[0]) if operators else None
        if place is not None:
            self.source_requested.emit(*place)

    def _select_slices(self, shown: OpenTrace, number: int, found: Ints) -> None:
        """Select slices of a trace, given by their indices, with the longest as the current one.

        A single slice is also scrolled into view.
        """
        longest = SliceRef(number, longest_slice(shown, found))
        if len(found) == 1:
            self._session.select_slice(longest, reveal=True, keep_area=True)
        else:
            self._session.select_slices(SliceSet({number: found}), longest, keep_area=True)
