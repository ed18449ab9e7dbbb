"""Base classes of panels about the current trace, in the current inference or selected range.

`TraceTablePanel` has one table with a filter and a subtitle. In an `OperatorTracePanel`, the rows
are operators, or slices of operators. A `CostPanel` has a table of costs with its totals and a
note; a `GroupedPanel`, one of groups with a key selector and a summary.
"""

from __future__ import annotations

from functools import partial
from typing import TypeVar

from PySide6.QtCore import QModelIndex, Qt, Slot
from PySide6.QtWidgets import QComboBox, QHBoxLayout, QTableView, QWidget

from viewer.arrays import Ints
from viewer.gui.panels.base.cost_painting import CostFooter
from viewer.gui.panels.base.file_caption import FileCaption
from viewer.gui.panels.base.operator_model import OperatorModel
from viewer.gui.panels.base.operator_view import OperatorView, TotalsRow
from viewer.gui.panels.base.panel import (
    AnswerPanel,
    FadingWidget,
    PanelHost,
    Sentence,
    head_row,
    plain_column,
)
from viewer.gui.panels.base.slice_facts import scope_text
from viewer.gui.panels.base.table import ArrangedView, TableModel
from viewer.gui.qt.widgets.controls import ComboBox
from viewer.gui.qt.widgets.labels import ElidedLabel, label
from viewer.gui.qt.widgets.tables import FilterLine, NoRows, QuietTree, RowTable
from viewer.gui.session import navigation
from viewer.gui.session.feeds.feed import CostAnswer, CostFeed
from viewer.gui.session.navigation import TraceScope, current_scope
from viewer.gui.session.selection import longest_slice, selected_operators
from viewer.gui.session.session import Session
from viewer.model.figures import WHOLE
from viewer.model.inference_views import Inferences
from viewer.model.text import display_name
from viewer.model.times import counted, group_digits
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
        self.head = head_row(theme, 12, (self.filter, 1), (self.subtitle, 1))
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
        if (number := self._session.number_of(open_trace)) is not None:
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
        """Select slices of a trace, the longest as the current one, and scroll to a single one."""
        longest = SliceRef(number, longest_slice(open_trace, slices))
        if len(slices) == 1:
            self._session.select_slice(longest, reveal=True, keep_area=True)
        else:
            self._session.select_slices(SliceSet({number: slices}), longest, keep_area=True)


FILTER_HINT = "Filter by module, operator or line"


class CostPanel(AnswerPanel[Answer]):
    """A filter above a cost table, with a footer and a note below it.

    The panel follows the costs of the session. A click selects; without a profile it shows the
    source line instead.
    """

    def __init__(self, host: PanelHost, table: QTableView | QuietTree, name: str) -> None:
        super().__init__(host)
        session, theme = host.session, host.theme
        self._costs = CostFeed.of(session)
        self.filter = FilterLine(FILTER_HINT, name, table, theme)
        self.filter.textChanged.connect(self._filter)
        self.subtitle = FileCaption(host)
        self.footer = CostFooter(theme)
        self.note = ElidedLabel("", theme, "caption", "text2")
        self.note.setContentsMargins(theme.px(12), theme.px(4), theme.px(12), theme.px(8))
        head = head_row(theme, 12, (self.filter, 1), (self.subtitle, 1))
        page = QWidget()
        column = plain_column(page)
        column.addLayout(NoRows(table, self.filter, theme).over_table(), 1)
        column.addWidget(self.footer)
        column.addWidget(self.note)
        assert isinstance(table, FadingWidget)
        self.set_page(page, head=head, fading=(table, self.footer))
        session.selection_changed.connect(self._select)
        session.coloring_changed.connect(self._color)
        self._costs.late.connect(self.show_stale)
        self.refresh_on(session.workspace_changed, self._costs.changed)

    @Slot(str)
    def _filter(self, text: str) -> None:
        raise NotImplementedError

    @Slot()
    def _select(self) -> None:
        """Highlight the rows that are selected in the session."""
        raise NotImplementedError

    @Slot()
    def _color(self) -> None:
        """Color operators like their slices; without a profile each operator has its own color."""
        raise NotImplementedError

    def no_costs(self, answer: CostAnswer) -> Sentence:
        """Explain why a profile has no costs to show, with a button that helps."""
        return no_costs(self.host, answer)

    def show_subject(self, answer: CostAnswer) -> None:
        """Show above the table which trace and time range the costs are for."""
        open_trace, name = answer.open_trace, display_name(answer.open_trace.trace.path)
        where = scope_text(open_trace, answer.scope, per_inference=True)
        outliers = open_trace.findings.outliers
        is_sum = answer.scope.is_whole and open_trace.trace is open_trace.file
        if is_sum and outliers and not outliers.name:
            # Means of all inferences say little about a usual one.
            where += f", {group_digits(outliers.slow)} of them slow"
        self.subtitle.setText(f"{where} · {name}")

    def show_record(self, program: Program, counts: str, others: int) -> None:
        """Show above and below the table that it lists a program without costs.

        counts: the number of its modules or operators, as text. others: how many more programs are
        open.
        """
        self.footer.clear()
        self.subtitle.setText(display_name(program.path))
        more = f" {counted(others, 'more ETRecord')} open." if others else ""
        self.note.setText(
            f"{counts}. This file has no timing data: open a profile to see times.{more}"
        )
        self.note.show()


def no_costs(host: PanelHost, answer: CostAnswer) -> Sentence:
    """Explain why no operator has a cost, with a button that links the profile or opens files."""
    why = _why(host.session, answer)
    if host.session.workspace.candidates(answer.open_trace.file):
        return Sentence(why, "Choose ETRecord…", partial(host.show_panel, "links"))
    return Sentence(why, "Open files…", host.open_files)


def _why(session: Session, answer: CostAnswer) -> str:
    open_trace = answer.open_trace
    if warnings := session.workspace.warnings(open_trace.file):
        return warnings[0]
    if open_trace.table.program is None:
        return (
            f"Open the ETRecord that matches {display_name(open_trace.trace.path)} to see the cost "
            f"per operator."
        )
    where = scope_text(open_trace, answer.scope)
    return f"Nothing in {where} is linked to an operator. Links shows why."


# The role in which a combo box stores the flags of an entry. The code never accesses the items
# themselves: their Python wrappers outlive the box and crash the program.
_FLAGS_ROLE = Qt.ItemDataRole.UserRole - 1


class GroupedFrame(AnswerPanel[Answer]):
    """The frame around a table of groups.

    `by` selects the grouping key. `head` is the line above the table; a subclass can add to it.
    """

    def __init__(
        self, host: PanelHost, table: RowTable, name: str, hint: str, below: QWidget
    ) -> None:
        """name: accessible name of the table. hint: placeholder of the filter. below: a widget."""
        super().__init__(host)
        theme = host.theme
        self.by = ComboBox(theme)
        self.by.setAccessibleName(f"{name} by")
        self.by.setSizeAdjustPolicy(QComboBox.SizeAdjustPolicy.AdjustToContents)
        self.filter = FilterLine(hint, f"Filter {name.lower()}", table, theme)
        self.subtitle = FileCaption(host)
        self.head = head_row(theme, 8)
        self.by_line = QWidget()  # a panel around this page may take it as its switch
        line = QHBoxLayout(self.by_line)
        line.setContentsMargins(0, 0, 0, 0)
        line.setSpacing(theme.px(8))
        line.addWidget(label("By", theme, tone="text2"))
        line.addWidget(self.by)
        self.head.addWidget(self.by_line)
        self.head.addWidget(self.filter, 1)
        self.head.addWidget(self.subtitle, 2)
        page = QWidget()
        plain_column(page, (NoRows(table, self.filter, theme).over_table(), 1), below)
        self.set_page(page, head=self.head)

    def offer_key(self, key: str, missing: str, tooltip: str | None) -> None:
        """Enable a key, or disable it and set its tooltip. missing: why it is not available."""
        index = self.by.findData(key)
        self.by.setItemData(index, 0 if missing else None, _FLAGS_ROLE)
        self.by.setItemData(index, tooltip, Qt.ItemDataRole.ToolTipRole)


class GroupedPanel(GroupedFrame[Answer]):
    """A frame around a table of operators and other groups; a subclass fills `model`."""

    def __init__(self, host: PanelHost, name: str, hint: str, below: QWidget) -> None:
        """Like `GroupedFrame`, with its own `OperatorView` as the table."""
        self.model = OperatorModel()
        self.table = OperatorView(self.model, host.theme, name)
        self.table.keep_swatch_room()
        foot = QWidget()
        plain_column(foot, TotalsRow(self.table, self.model, host.theme), below)
        super().__init__(host, self.table, name, hint, foot)
        self.model.setParent(self)
        self.filter.textChanged.connect(self.model.set_filter)

    def clear_page(self) -> None:
        self.model.clear()
