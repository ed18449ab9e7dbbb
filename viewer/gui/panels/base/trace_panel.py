"""Base classes of panels about the current trace, in the current inference or selected range.

`TraceTablePanel` has one table, with a filter and a subtitle above it: a click on a row selects a
slice of the file. In an `OperatorTracePanel`, the rows are operators, or slices of operators.
"""

from __future__ import annotations

from typing import TypeVar

from PySide6.QtCore import QModelIndex, Slot
from PySide6.QtWidgets import QWidget

from viewer.arrays import Ints
from viewer.gui.panels.base.answer_panel import AnswerPanel
from viewer.gui.panels.base.file_caption import FileCaption
from viewer.gui.panels.base.operator_tables.model import OperatorModel
from viewer.gui.panels.base.operator_tables.view import OperatorView
from viewer.gui.panels.base.page_panel import FadingWidget, head_row, plain_column
from viewer.gui.panels.base.panel_host import PanelHost
from viewer.gui.panels.base.tables.model import TableModel
from viewer.gui.panels.base.tables.view import ArrangedView
from viewer.gui.qt.widgets.tables import FilterLine, NoRows
from viewer.gui.session import navigation
from viewer.gui.session.inferences import TraceScope, current_scope
from viewer.gui.session.selection import longest_slice, selected_operators
from viewer.model.inferences.inference_views import Inferences
from viewer.model.scope import WHOLE
from viewer.program.program import Program
from viewer.render.palette import Palette
from viewer.view.open_trace import OpenTrace
from viewer.view.state import SliceRef, SliceSet

Answer = TypeVar("Answer")


class TracePanel(AnswerPanel[Answer]):
    """A panel that refreshes when the trace or scope changes, not on every selection."""

    # Whether its figures are per inference (`current_scope`).
    BY_INFERENCE = False

    def __init__(self, host: PanelHost, *, ranges: bool = False) -> None:
        """ranges: whether the scope may be a selected range, not only an inference."""
        super().__init__(host)
        self._ranges = ranges
        self._of: TraceScope = (None, WHOLE)
        self._session.run_picked.connect(self._follow)
        self._session.selection_changed.connect(self._follow)

    def current_scope(self) -> TraceScope:
        """Return the trace and scope that the panel shows now."""
        return current_scope(self._session, ranges=self._ranges, by_inference=self.BY_INFERENCE)

    @Slot()
    def _follow(self) -> None:
        """Refresh if the trace or scope changed; otherwise keep selected rows and scroll offset."""
        open_trace, scope = self.current_scope()
        if open_trace is not self._of[0] or scope != self._of[1]:
            self.refresh()


class TraceTablePanel(TracePanel[Answer]):
    """The frame; a subclass fills the table and handles its rows."""

    def __init__(
        self,
        host: PanelHost,
        table: ArrangedView,
        hint: str,
        name: str,
        *,
        ranges: bool = False,
        fading: tuple[FadingWidget, ...] = (),
    ) -> None:
        """hint, name: the filter's placeholder and accessible name. fading: what can be stale.

        A subclass can add to `head`, the line above the table, and to `column`, the layout of the
        page.
        """
        super().__init__(host, ranges=ranges)
        session, theme = host.session, host.theme
        self.table = table
        rows = table.arranged
        rows.setParent(self)
        table.chosen.connect(self._choose)
        self.filter = FilterLine(hint, name, table, theme)
        self.filter.textChanged.connect(rows.set_filter)
        self.subtitle = FileCaption(host)
        self.head = head_row(theme)
        self.head.addWidget(self.filter, 1)
        self.head.addWidget(self.subtitle, 1)
        page = QWidget()
        self.column = plain_column(page)
        self.column.addLayout(NoRows(table, self.filter, theme).over_table(), 1)
        self.set_page(page, head=self.head, fading=fading)
        self.refresh_on(session.workspace_changed)
        session.coloring_changed.connect(self._color)

    @Slot(int)
    def _choose(self, row: int) -> None:
        """Select what a row shows."""
        raise NotImplementedError

    @Slot()
    def _color(self) -> None:
        """Paint operators in the current colors of their slices."""
        rows = self.table.arranged
        assert isinstance(rows, TableModel)
        rows.color(self._operator_colors())

    def _operator_colors(self) -> Palette | None:
        """Return the palette index of every operator of the shown trace."""
        open_trace = self._of[0]
        return (
            None if open_trace is None else open_trace.operator_colors(self._session.state.scheme)
        )

    def _show_table(self, subtitle: str) -> None:
        self.show_page()
        self.subtitle.setText(subtitle)

    def _select(self, open_trace: OpenTrace, index: int) -> None:
        """Select a slice of the file, and show the inferences as they ran."""
        self._session.show_inferences(Inferences.AS_RUN)
        number = self._session.number_of(open_trace)
        if number is not None:
            self._session.select_slice(SliceRef(number, index), reveal=True, keep_area=True)


class OperatorTracePanel(TraceTablePanel[Answer]):
    """A table of operators that follows the current trace, its inference or the selected range.

    Without a profile it lists the first ETRecord instead; a click then shows the source line.
    """

    def __init__(
        self,
        host: PanelHost,
        view: OperatorView,
        model: OperatorModel,
        hint: str,
        name: str,
        *,
        fading: tuple[FadingWidget, ...] = (),
    ) -> None:
        """Like `TraceTablePanel`. fading: more widgets besides the table that can be stale."""
        super().__init__(host, view, hint, name, ranges=True, fading=(view, *fading))
        self.view = view
        self.model = model
        view.doubleClicked.connect(self._fit)
        host.session.selection_changed.connect(self._tint)

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
        open_trace = self.shown_trace
        self.model.set_selected(
            () if open_trace is None else selected_operators(self._session, open_trace)
        )

    @Slot(QModelIndex)
    def _fit(self, index: QModelIndex) -> None:
        navigation.fit_selection(self._session)

    def _ask_for_source(self, operators: tuple[int, ...]) -> None:
        """Request the recorded source location of the first of some operators, if it has one."""
        place = self.model.contents.place(operators[0]) if operators else None
        if place is not None:
            self.host.show_source(*place)

    def _select_slices(self, open_trace: OpenTrace, number: int, slices: Ints) -> None:
        """Select slices of a trace, given by their indices, with the longest as the current one.

        A single slice is also scrolled into view.
        """
        longest = SliceRef(number, longest_slice(open_trace, slices))
        if len(slices) == 1:
            self._session.select_slice(longest, reveal=True, keep_area=True)
        else:
            self._session.select_slices(SliceSet({number: slices}), longest, keep_area=True)
